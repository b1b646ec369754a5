"""The loadout: what system messages say of tools, and when a run of 1.6.0 tells of a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.agents import roles
from tests.engine.by_hand import BOTH, LATEST, TOOLS, Hand, asked, begin, calls
from turnwheel.loadout import announced, declaration, declared, is_system, led, led_anew
from turnwheel.machine import Machine
from turnwheel.messages import CustomMessage, Message, user
from turnwheel.outcomes import Begun, NextTurn, RunConfig
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

READ, WRITE, ASK = Tool("read", "Reads."), Tool("write", "Writes."), Tool("ask", "Asks.")
WORK = TOOLS[0]
OTHER_READ = Tool("read", "Reads more.")
SYSTEM_WORDS = ["start system", "end system"]


def system(content: Any = "", **tools: Sequence[Any]) -> CustomMessage:
    """Return a system message that says this of tools."""
    return CustomMessage("system", content, extra=tools)


def added(*tools: Tool) -> CustomMessage:
    """Return a system message that adds tools."""
    return system(toolsAdded=[declaration(tool) for tool in tools])


def names(messages: Sequence[Message]) -> list[str]:
    """Return the names of the tools that messages declare."""
    return [*declared(messages)]


tools = st.lists(st.sampled_from([READ, WRITE, ASK, OTHER_READ]), unique_by=lambda tool: tool.name, max_size=3)
pending = st.lists(
    st.just(user("x"))
    | tools.map(lambda some: added(*some))
    | st.sampled_from(["read", "ask"]).map(lambda name: system(toolsRemoved=[{"name": name}])),
    max_size=4,
)


class TestDeclared:
    """Which tools a transcript declares."""

    def test_what_was_added(self) -> None:
        """Later messages add to what earlier ones declare."""
        assert names([added(READ), user("x"), added(WRITE)]) == ["read", "write"]

    def test_what_was_removed(self) -> None:
        """A tool that a later message removes is not declared any more."""
        assert names([added(READ, WRITE), system(toolsRemoved=[{"name": "read"}])]) == ["write"]

    def test_removed_and_added(self) -> None:
        """Within one message what is removed goes first, so that a tool can change."""
        change = system(toolsAdded=[declaration(OTHER_READ)], toolsRemoved=[{"name": "read"}])

        assert declared([added(READ), change]) == {"read": declaration(OTHER_READ)}

    def test_on_top_of_others(self) -> None:
        """What was declared before counts, and is left as it was."""
        before = {"ask": declaration(ASK)}

        assert [*declared([added(READ)], before)] == ["ask", "read"]
        assert [*before] == ["ask"]

    @pytest.mark.parametrize("junk", [None, "read", 5, [None], ["read"], [{}], [{"name": 5}]])
    def test_what_is_no_tool(self, junk: Any) -> None:
        """A message of the role that says something else of tools says nothing."""
        assert names([system(toolsAdded=junk, toolsRemoved=junk)]) == []

    def test_other_roles(self) -> None:
        """Only messages of the role system count."""
        assert names([CustomMessage("note", "", extra={"toolsAdded": [declaration(READ)]})]) == []


class TestDeclaration:
    """What a model is told of a tool."""

    def test_name_description_and_parameters(self) -> None:
        """Nothing else of a tool is told."""
        tool = Tool("read", "Reads.", {"type": "object"}, execution_mode="sequential", extra={"label": "R"})

        assert declaration(tool) == {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}

    def test_constrained_sampling(self) -> None:
        """How a provider is to sample the arguments is told where a tool has it."""
        tool = Tool("read", extra={"constrainedSampling": {"mode": "strict"}})

        assert declaration(tool)["constrainedSampling"] == {"mode": "strict"}


class TestAnnounced:
    """What is said of a change."""

    @given(pending, tools, tools)
    def test_what_is_declared_then(self, messages: list[Message], before: list[Tool], now: list[Tool]) -> None:
        """Whatever the messages say, with the announcement exactly the tools that there are are declared."""
        known = declared([added(*before)])

        assert declared(announced(messages, known, now, None), known) == declared([added(*now)])

    @given(pending, tools, tools)
    def test_no_message_is_lost(self, messages: list[Message], before: list[Tool], now: list[Tool]) -> None:
        """The messages go in as they are, in their order, but for what system messages say of tools."""
        said = announced(messages, declared([added(*before)]), now, None)
        extra = len(said) - len(messages)

        assert extra in (0, 1)
        assert roles(said[extra:]) == roles(messages)
        assert extra == 0 or not any(map(is_system, messages))

    def test_no_change(self) -> None:
        """Where the tools are those that are declared, nothing is said."""
        messages = [user("x")]

        assert announced(messages, declared([added(READ)]), [READ], None) is messages

    def test_a_message_of_its_own(self) -> None:
        """Without a system message among those that go in, an empty one with the time goes ahead of them."""
        said = announced([user("x")], {}, [READ], 7)

        assert said[0] == CustomMessage("system", "", 7, extra={"toolsAdded": [declaration(READ)]})
        assert said[1:] == (user("x"),)

    def test_the_last_system_message(self) -> None:
        """The change is said by the last system message that goes in, in its place and with its content."""
        said = announced([system("a"), system("b"), user("x")], {}, [READ], 7)

        assert said == (system("a"), system("b", toolsAdded=[declaration(READ)]), user("x"))

    def test_in_place_of_what_it_says(self) -> None:
        """What the last system message itself says of tools gives way to what is true; the rest of it stays."""
        said = announced([CustomMessage("system", "b", extra={"mine": 1, "toolsAdded": [{"name": "x"}]})], {}, [], None)

        assert said == (CustomMessage("system", "b", extra={"mine": 1}),)

    def test_another_definition(self) -> None:
        """A tool whose description or parameters have changed is removed and added."""
        (said,) = announced([], declared([added(READ, WRITE)]), [OTHER_READ, WRITE], None)

        assert said.extra == {"toolsAdded": [declaration(OTHER_READ)], "toolsRemoved": [{"name": "read"}]}


class TestLed:
    """A context with its leading system message."""

    def test_prompt_and_tools(self) -> None:
        """It has the prompt, the tools, and no time; the prompt and the tools of the context stay."""
        context = led(Context("Be brief.", Transcript([user("x")]), (READ,)))

        assert context.messages[0] == CustomMessage("system", "Be brief.", 0, extra=added(READ).extra)
        assert (roles(context.messages), context.system_prompt) == (["system", "user"], "Be brief.")

    def test_without_tools(self) -> None:
        """Without tools it says nothing of tools."""
        assert led(Context("Be brief.")).messages == Transcript([CustomMessage("system", "Be brief.", 0)])

    @pytest.mark.parametrize("context", [Context(), Context("p", Transcript([system("mine")]), (READ,))])
    def test_where_none_is_needed(self, context: Context) -> None:
        """A context with neither prompt nor tools, or with a leading system message, stays as it is."""
        assert led(context) is context

    def test_another_one(self) -> None:
        """A new one takes the place of the one that leads; later system messages stay."""
        context = Context("new", Transcript([system("old"), user("x"), system("late")]))

        assert [m.content for m in led_anew(context).messages if isinstance(m, CustomMessage)] == ["new", "late"]

    def test_another_one_where_there_was_none(self) -> None:
        """Without an older one nothing is taken away."""
        assert roles(led_anew(Context("new", Transcript([user("x")]))).messages) == ["system", "user"]

    def test_none_instead_of_an_older_one(self) -> None:
        """Where neither prompt nor tools are left, the older one goes."""
        assert roles(led_anew(Context("", Transcript([system("old"), user("x")]))).messages) == ["user"]


class TestRuns:
    """When a run tells of tools."""

    def test_of_what_is_not_declared(self) -> None:
        """Tools of which the transcript knows nothing are announced ahead of the prompts, as a message of the trace."""
        machine = Machine(Begun(Context(tools=(READ,)), [user("go")], RunConfig(hooks=frozenset())), LATEST)

        assert Hand(machine).drain()[:6] == ["agent_start", "turn_start", *SYSTEM_WORDS, "start user", "end user"]
        assert machine.new_messages[0] == added(READ)

    def test_not_of_what_is_declared(self) -> None:
        """A context whose leading message declares its tools is told nothing more."""
        assert SYSTEM_WORDS[0] not in Hand(begin(dialect=LATEST)).drain()

    def test_before_the_next_request(self) -> None:
        """Tools that a preparation changes are announced when the next messages go in, even if there are none."""
        hand = batch()
        context = Context("", hand.machine.context.messages, (WORK, READ))

        assert hand.prepared(NextTurn(context)) == ["turn_start", *SYSTEM_WORDS, "CallModel"]
        assert hand.machine.new_messages[-1].extra["toolsAdded"] == [declaration(READ)]

    def test_once(self) -> None:
        """What was announced is declared from then on."""
        hand = batch()
        hand.prepared(NextTurn(Context("", hand.machine.context.messages, (WORK, READ))))
        hand.answered(*calls("c2"))
        hand.valid("c2")
        hand.returned("c2")

        assert hand.prepared() == ["turn_start", "CallModel"]

    def test_in_a_message_that_waits(self) -> None:
        """A system message among those that go in carries the change."""
        hand = batch()
        context = Context("", hand.machine.context.messages, ())
        hand.prepared(NextTurn(context, messages=(user("x"), system("Do without."))))
        last = hand.machine.new_messages[-1]

        assert roles(hand.machine.new_messages)[-2:] == ["user", "system"]
        assert (last.extra, last.role) == ({"toolsRemoved": [{"name": tool.name} for tool in TOOLS]}, "system")

    def test_after_the_transcript_was_cut(self) -> None:
        """In a context that has lost its declarations the tools are announced again."""
        hand = batch()
        hand.prepared(NextTurn(Context("", Transcript([user("short")]), TOOLS)))

        assert names(hand.effect("CallModel").request.context.messages) == [tool.name for tool in TOOLS]

    def test_with_the_time(self) -> None:
        """The message has the time of the last outcome."""
        machine = Machine(Begun(Context(tools=(READ,)), [user("go")], RunConfig(hooks=frozenset()), 5), LATEST)
        Hand(machine).drain()

        assert machine.new_messages[0].timestamp == 5

    @pytest.mark.parametrize("dialect", BOTH)
    def test_not_in_earlier_dialects(self, dialect: str) -> None:
        """Up to 0.85.1 nothing is announced; a system message is somebody's data."""
        machine = Machine(Begun(Context(tools=(READ,)), [system("x")], RunConfig(hooks=frozenset())), dialect)
        Hand(machine).drain()

        assert [*machine.new_messages] == [system("x")]


def batch() -> Hand:
    """Return a run of 1.6.0 that waits for the preparation of the turn behind a batch."""
    hand = asked(*calls("c1"), dialect=LATEST, hooks=["prepare_next_turn"])
    hand.valid("c1")
    hand.returned("c1")
    return hand
