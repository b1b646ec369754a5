"""agent_loop in the dialect 1.6.0: what the model gets, and which hooks are asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.agents import Model, both, roles, script, work
from tests.engine.by_hand import LATEST, word
from turnwheel.events import AgentEnd, Event
from turnwheel.loadout import declared
from turnwheel.loop import LoopConfig, agent_loop, agent_loop_continue
from turnwheel.messages import CustomMessage, Message, user
from turnwheel.outcomes import NextRequest, NextTurn
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.tool import Context
from turnwheel.transcript import Transcript

TOOLS = (work(lambda arguments: "ok"),)


async def requests(*answers: Any, context: Context, dialect: str = LATEST, **config: Any) -> list[Any]:
    """Return what the model is asked in a run."""
    model = Model(*answers)
    async for _ in agent_loop([user("go")], context, LoopConfig(model, dialect=dialect, **config)):
        pass
    return model.requests


def contents(messages: Any) -> list[Any]:
    """Return what the system messages say."""
    return [message.content for message in messages if isinstance(message, CustomMessage)]


class TestLeading:
    """The system message in front."""

    @both
    async def test_instead_of_the_prompt(self) -> None:
        """Prompt and tools of the context lead the messages of the request, which has no prompt beside them."""
        (request,) = await requests("hi", context=Context("Be brief.", tools=TOOLS))

        assert (request.system_prompt, roles(request.messages)) == ("", ["system", "user"])
        assert (contents(request.messages), [*declared(request.messages)]) == (["Be brief."], ["work"])

    @both
    async def test_not_in_earlier_dialects(self) -> None:
        """In 0.85.1 the request has the prompt, and no system message."""
        (request,) = await requests("hi", context=Context("Be brief.", tools=TOOLS), dialect=DEFAULT_DIALECT)

        assert (request.system_prompt, roles(request.messages)) == ("Be brief.", ["user"])

    @both
    async def test_is_not_new(self) -> None:
        """It is part of the context, not of what the trace has added, and no event tells of it."""
        config = LoopConfig(script("hi"), dialect=LATEST)
        seen: list[Event] = [event async for event in agent_loop([user("go")], Context("Be brief."), config)]

        assert isinstance(seen[-1], AgentEnd)
        assert roles(seen[-1].messages) == ["user", "assistant"]
        assert "start system" not in map(word, seen)

    @both
    async def test_one_is_enough(self) -> None:
        """A context that brings its own system message keeps that one."""
        context = Context("Be brief.", Transcript([CustomMessage("system", "mine")]))
        (request,) = await requests("hi", context=context)

        assert contents(request.messages) == ["mine"]

    @both
    async def test_other_roles_are_left_out(self) -> None:
        """The role system is a standard one here; what has another role stays with us, in both dialects."""
        context = Context("", Transcript([CustomMessage("system", "s"), CustomMessage("note", "n")]))
        (late,) = await requests("hi", context=context)
        (early,) = await requests("hi", context=context, dialect=DEFAULT_DIALECT)

        assert (roles(late.messages), roles(early.messages)) == (["system", "user"], ["user"])

    @both
    async def test_nothing_to_go_on_from(self) -> None:
        """It is no message to go on from: an empty context is an error, tools or not."""
        events = agent_loop_continue(Context("p", tools=TOOLS), LoopConfig(script("hi"), dialect=LATEST))
        with pytest.raises(ValueError, match="Cannot continue: no messages in context"):
            await anext(events)

    @both
    async def test_another_prompt(self) -> None:
        """A preparation with another prompt puts another message in front, in place of the old one."""

        def switch(turn: Any) -> NextTurn:
            return NextTurn(Context("New.", turn.context.messages, turn.context.tools))

        _, second = await requests(["a"], "hi", context=Context("Old.", tools=TOOLS), prepare_next_turn=switch)

        assert contents(second.messages) == ["New."]

    @both
    async def test_other_messages(self) -> None:
        """A preparation that brings messages of its own has the prompt put in front of them."""

        def cut(asked: Any) -> NextRequest:
            return NextRequest(Context(asked.context.system_prompt, Transcript([user("short")]), asked.context.tools))

        (request,) = await requests("hi", context=Context("Be brief.", tools=TOOLS), prepare_request=cut)

        assert (contents(request.messages), roles(request.messages)) == (["Be brief."], ["system", "user"])


class TestHooks:
    """Which hooks are asked."""

    @both
    async def test_each_in_its_place(self) -> None:
        """All hooks of the dialect are asked: a request is prepared in every turn, and every turn is finished."""
        asked: list[str] = []

        def note(name: str) -> Any:
            return lambda *_: asked.append(name)

        names = ("steering", "follow_up", "prepare_next_turn", "prepare_request", "finish_turn", "before_tool_call")
        hooks = {name: note(name) for name in (*names, "after_tool_call")}
        await requests(["a"], "hi", context=Context(tools=TOOLS), **hooks)

        assert asked == [
            *("steering", "prepare_request", "before_tool_call", "after_tool_call", "finish_turn"),
            *("steering", "prepare_next_turn", "steering", "prepare_request", "finish_turn"),
            *("steering", "follow_up"),
        ]

    @pytest.mark.parametrize(
        ("dialect", "hook", "instead"),
        [
            (LATEST, "should_stop", "finish_turn"),
            (DEFAULT_DIALECT, "finish_turn", "should_stop"),
            (DEFAULT_DIALECT, "prepare_request", "prepare_next_turn"),
        ],
    )
    def test_one_that_is_never_asked(self, dialect: str, hook: str, instead: str) -> None:
        """A hook that the dialect never asks is refused, with those that it asks."""
        hooks: dict[str, Any] = {hook: lambda given: None}
        config = LoopConfig(script("hi"), dialect=dialect, **hooks)

        with pytest.raises(ValueError, match=f"{dialect} never asks {hook}; it asks steering, .*{instead}"):
            agent_loop([user("go")], Context(), config)

    @both
    async def test_ending_a_run(self) -> None:
        """What the finish hook returns reaches the loop: here the first turn is the last."""
        asked = await requests(["a"], "hi", context=Context(tools=TOOLS), finish_turn=lambda turn: "end")

        assert len(asked) == 1

    @both
    async def test_messages_of_a_preparation(self) -> None:
        """Messages that a preparation brings are told and asked with."""
        more: list[Message] = [user("and?")]
        _, second = await requests(
            ["a"], "hi", context=Context(tools=TOOLS), prepare_next_turn=lambda turn: NextTurn(messages=more)
        )

        assert roles(second.messages) == ["system", "user", "assistant", "toolResult", "user"]
