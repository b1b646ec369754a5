"""The steps of a trace, one scenario a test: what the bare machine hands out, from the first event to the last."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.by_hand import ALL, BOTH, QUEUES, TOOLS, Hand, asked, begin, calls, flat, results
from turnwheel.machine import DONE, WAITING
from turnwheel.messages import ABSENT, AssistantMessage, ToolResult, ToolResultMessage, user
from turnwheel.outcomes import NextTurn, ResultChanges
from turnwheel.stream import Started, TextDelta, TextEnd, TextStart
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

OLD, NEW = BOTH
BEGINNING = ["agent_start", "turn_start", "start user", "end user", "PollSteering"]
WHOLE_ANSWER = ["start assistant", "end assistant"]


class TestTextTurn:
    """An answer without calls."""

    def test_whole_trace(self) -> None:
        """A prompt, a streamed answer, nothing in the queues: in 0.85.1 the stop hook is asked, then both queues."""
        hand = Hand(begin())
        said = [hand.drain(), hand.polled(), hand.send(Started()), hand.send(TextStart(0), TextDelta(0, "hi"))]
        said += [hand.send(TextEnd(0)), hand.answered("hi"), hand.decided(), hand.polled(), hand.polled()]

        assert said == [
            BEGINNING,
            ["CallModel"],
            ["start assistant"],
            ["update text_start", "update text_delta"],
            ["update text_end"],
            ["end assistant", "turn_end", "AskToStop"],
            ["PollSteering"],
            ["PollFollowUp"],
            ["agent_end"],
        ]
        assert hand.machine.next() is DONE

    def test_the_order_of_0_80_2(self) -> None:
        """In 0.80.2 the next turn is prepared after every turn, then the stop hook is asked, then the queues."""
        hand = asked("hi", dialect=OLD)

        assert [hand.drain(), hand.prepared(), hand.decided(), hand.polled(), hand.polled()] == [
            [],
            ["AskToStop"],
            ["PollSteering"],
            ["PollFollowUp"],
            ["agent_end"],
        ]

    @pytest.mark.parametrize("dialect", ALL)
    def test_without_hooks(self, dialect: str) -> None:
        """Hooks that are not configured hand out no effect: only the model is asked."""
        hand = Hand(begin(dialect=dialect, hooks=()))

        assert hand.drain() == [*BEGINNING[:-1], "CallModel"]
        assert hand.answered("hi") == [*WHOLE_ANSWER, "turn_end", "agent_end"]

    @pytest.mark.parametrize("dialect", ALL)
    def test_queues_alone(self, dialect: str) -> None:
        """With the queues alone, both are polled and no hook is asked."""
        hand = asked("hi", dialect=dialect, hooks=QUEUES)

        assert [hand.polled(), hand.polled()] == [["PollFollowUp"], ["agent_end"]]

    def test_updates_show_the_moment(self) -> None:
        """Each update shows the answer as it was then, also when it is read at the end."""
        hand = Hand(begin(hooks=()))
        hand.drain()
        hand.send(Started(), TextDelta(0, "a"), TextDelta(0, "b"))
        updates = [step for step in hand.steps if step.type == "message_update"]
        hand.answered("ab!")

        assert [update.message.text for update in reversed(updates)] == ["ab", "a"]

    def test_steps_before_the_start_are_not_shown(self) -> None:
        """Deltas before the start give no event, but they are in the message that the start shows."""
        hand = Hand(begin(hooks=()))
        hand.drain()

        assert hand.send(TextDelta(0, "a")) == []
        assert hand.send(Started()) == ["start assistant"]
        assert hand.steps[-1].message == AssistantMessage(hand.steps[-1].message.content)
        assert hand.steps[-1].message.text == "a"

    def test_agent_end_carries_what_is_new(self) -> None:
        """agent_end has the prompts and the answer, but not what was in the context before."""
        hand = asked("hi", messages=[user("old"), AssistantMessage()], hooks=())

        assert [message.role for message in hand.steps[-1].messages] == ["user", "assistant"]
        assert [message.role for message in hand.machine.context.messages] == [
            "user",
            "assistant",
            "user",
            "assistant",
        ]


class TestBegin:
    """How a run begins, or does not."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_going_on(self, dialect: str) -> None:
        """A run that goes on from its context tells nothing of the old messages."""
        hand = Hand(begin(dialect=dialect, prompts=None, messages=[user("old")]))

        assert hand.drain() == ["agent_start", "turn_start", "PollSteering"]

    def test_several_prompts(self) -> None:
        """Every prompt has its two events, in order."""
        hand = Hand(begin(prompts=["a", "b"]))

        assert hand.drain() == ["agent_start", "turn_start", *["start user", "end user"] * 2, "PollSteering"]

    @pytest.mark.parametrize("dialect", ALL)
    @pytest.mark.parametrize(
        ("messages", "failure"),
        [
            ([], "Cannot continue: no messages in context"),
            ([user("a"), AssistantMessage()], "Cannot continue from message role: assistant"),
        ],
    )
    def test_nothing_to_go_on_from(self, dialect: str, messages: list[object], failure: str) -> None:
        """Without a message to answer there is no event at all: the run has failed."""
        hand = Hand(begin(dialect=dialect, prompts=None, messages=messages))

        assert (hand.drain(), hand.machine.next(), hand.machine.failure) == ([], DONE, failure)

    def test_going_on_from_a_tool_result(self) -> None:
        """A context that ends with a result can be gone on from."""
        hand = Hand(begin(prompts=None, messages=[ToolResultMessage("c1", "work", ())]))

        assert hand.drain() == ["agent_start", "turn_start", "PollSteering"]

    def test_an_unknown_hook(self) -> None:
        """A hook that is not one of Pi's is refused before anything happens."""
        with pytest.raises(ValueError, match="there is no hook finish; there are steering, "):
            begin(hooks=["finish", "steering"])


class TestOneCall:
    """An answer with one call."""

    @pytest.mark.parametrize("dialect", BOTH)
    def test_whole_batch(self, dialect: str) -> None:
        """Start, arguments, before hook, tool, progress, after hook, end, result, end of the turn."""
        hand = Hand(begin(dialect=dialect))
        hand.drain()
        hand.polled()
        said = [hand.answered(*calls("c1")), hand.valid("c1"), hand.before("c1"), hand.progress("c1")]
        said += [hand.returned("c1"), hand.after("c1")]

        first_hook = "PrepareNextTurn" if dialect == OLD else "AskToStop"
        assert said == [
            [*WHOLE_ANSWER, "call c1", "PrepareArguments c1"],
            ["BeforeToolCall c1"],
            ["ExecuteTool c1"],
            ["progress c1"],
            ["AfterToolCall c1"],
            ["done c1", *results("c1"), "turn_end", first_hook],
        ]

    def test_without_hooks(self) -> None:
        """With no hook configured, only arguments and tool are asked for."""
        hand = asked(*calls("c1"), hooks=())

        assert hand.valid("c1") == ["ExecuteTool c1"]
        assert hand.returned("c1") == ["done c1", *results("c1"), "turn_end", "turn_start", "CallModel"]

    def test_the_next_request_has_the_result(self) -> None:
        """The model is asked again with the call and its result in the context."""
        hand = asked(*calls("c1"), hooks=())
        hand.valid("c1")
        hand.returned("c1")

        messages = hand.effect("CallModel").request.context.messages
        assert [message.role for message in messages] == ["user", "assistant", "toolResult"]

    def test_arguments_reach_hook_and_tool(self) -> None:
        """Hook and tool get the prepared arguments, the observer those of the model."""
        hand = asked(*calls("c1"))
        arguments = {"n": 5}
        hand.valid("c1", arguments)
        seen = hand.effect("BeforeToolCall").arguments
        hand.before("c1")

        assert seen is arguments
        assert hand.effect("ExecuteTool").arguments is arguments
        assert [step.args for step in hand.steps if step.type == "tool_execution_start"] == [{}]

    def test_an_unknown_tool(self) -> None:
        """A call of a tool that the context does not have ends at once, with an error result."""
        hand = asked(*calls("c1", tool="nobody"), hooks=())

        assert hand.ends() == {"c1": "Tool nobody not found"}
        assert [step.type for step in hand.steps[-6:]] == [
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end",
            "turn_start",
            "call_model",
        ]

    @pytest.mark.parametrize(
        ("reason", "text"),
        [("no way", "no way"), (None, "Tool execution was blocked"), ("", "Tool execution was blocked")],
    )
    def test_a_blocked_call(self, reason: str | None, text: str) -> None:
        """A blocked call ends with the hook's reason, and its tool is not run."""
        hand = asked(*calls("c1"))
        hand.valid("c1")

        assert hand.before("c1", block=True, reason=reason)[:3] == ["failed c1", *results("c1")]
        assert hand.ends() == {"c1": text}

    @pytest.mark.parametrize("effect", ["PrepareArguments c1", "BeforeToolCall c1"])
    def test_preparation_fails(self, effect: str) -> None:
        """Bad arguments or a failing hook end the call with that error; no tool and no after hook follow."""
        hand = asked(*calls("c1"))
        if effect.startswith("Before"):
            hand.valid("c1")

        assert hand.raised(effect, "no good")[:3] == ["failed c1", *results("c1")]
        assert hand.ends() == {"c1": "no good"}

    def test_a_tool_that_raises(self) -> None:
        """What a tool raises is an error result, which the after hook sees."""
        hand = asked(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")

        assert hand.raised("ExecuteTool c1") == ["AfterToolCall c1"]
        assert hand.effect("AfterToolCall").is_error
        assert hand.after("c1")[0] == "failed c1"

    def test_an_after_hook_that_raises(self) -> None:
        """The error of the after hook takes the place of the result."""
        hand = asked(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")
        hand.returned("c1", terminate=True)

        assert hand.raised("AfterToolCall c1", "hook down")[0] == "failed c1"
        assert hand.ends() == {"c1": "hook down"}
        assert hand.machine.control.chain, "an error result never says terminate"

    @pytest.mark.parametrize("nothing", [None, ABSENT])
    def test_an_after_hook_that_leaves_a_field(self, nothing: Any) -> None:
        """A field that the after hook gives as null, or not at all, stays as the tool left it."""
        hand = asked(*calls("c1"), hooks=["after_tool_call"])
        hand.valid("c1")
        hand.returned("c1", terminate=True)
        said = hand.after("c1", ResultChanges(nothing, nothing, nothing, nothing, nothing))

        assert (said[0], said[-1], hand.ends()) == ("done c1", "agent_end", {"c1": "c1"})

    def test_an_after_hook_that_changes(self) -> None:
        """The after hook replaces field by field; what it leaves out stays."""
        hand = asked(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")
        hand.returned("c1")
        hand.after("c1", ResultChanges(details={"n": 1}, is_error=True))

        end = next(step for step in hand.steps if step.type == "tool_execution_end")
        assert (end.result, end.is_error) == (ToolResult.of("c1", details={"n": 1}), True)


class TestQueues:
    """Steering and follow-up."""

    def test_before_the_first_request(self) -> None:
        """What waits at the start goes in before the first request, without another turn_start."""
        hand = Hand(begin())
        hand.drain()

        assert hand.polled("a", "b") == ["start user", "end user", "start user", "end user", "CallModel"]

    def test_steering_alone_drives_a_turn_0_80_2(self) -> None:
        """In 0.80.2 a steering message after an answer begins the next turn at once."""
        hand = asked("hi", dialect=OLD, hooks=QUEUES)

        assert hand.polled("psst") == ["turn_start", "start user", "end user", "CallModel"]

    def test_steering_alone_drives_a_turn_0_85_1(self) -> None:
        """In 0.85.1 the turn is prepared first; the queue is not looked at again, since something is pending."""
        hand = asked("hi")
        hand.decided()

        assert hand.polled("psst") == ["PrepareNextTurn"]
        assert hand.prepared() == ["turn_start", "start user", "end user", "CallModel"]

    def test_second_poll(self) -> None:
        """In 0.85.1 the queue is looked at again after the preparation if nothing was pending."""
        hand = self.after_a_batch(NEW)

        assert hand.polled() == ["PrepareNextTurn"]
        assert hand.prepared() == ["PollSteeringAgain"]
        assert hand.polled("late") == ["turn_start", "start user", "end user", "CallModel"]

    def test_second_poll_without_preparation(self) -> None:
        """The second poll does not need the hook of preparation."""
        hand = self.after_a_batch(NEW, hooks=QUEUES)

        assert hand.polled() == ["PollSteeringAgain"]

    def test_no_second_poll_in_0_80_2(self) -> None:
        """0.80.2 polls once between two turns."""
        hand = self.after_a_batch(OLD, hooks=QUEUES)

        assert hand.polled() == ["turn_start", "CallModel"]

    @pytest.mark.parametrize(("dialect", "before_the_turn"), [(OLD, []), (NEW, ["PrepareNextTurn"])])
    def test_follow_up(self, dialect: str, before_the_turn: list[str]) -> None:
        """A follow-up message drives one more turn in the same trace, where it would have ended."""
        hand = asked("hi", dialect=dialect, hooks=[*QUEUES, "prepare_next_turn"])
        if dialect == OLD:
            hand.prepared()
        hand.polled()
        said = hand.polled("and?")
        if before_the_turn:
            assert said == before_the_turn
            said = hand.prepared()

        assert said == ["turn_start", "start user", "end user", "CallModel"]

    def test_the_stop_hook_outranks_the_queues(self) -> None:
        """Where the stop hook says stop, no queue is polled, though results wait for the model."""
        hand = self.after_a_batch(NEW, hooks=[*QUEUES, "should_stop"])

        assert hand.decided(stop=True) == ["agent_end"]

    def test_prepared_changes_last(self) -> None:
        """What a preparation changes holds for this request and for those after it."""
        hand = asked("hi", hooks=["steering", "prepare_next_turn"])
        hand.polled("more")
        context = Context("new", Transcript([user("short")]), ())
        hand.prepared(NextTurn(context, "m1", "high"))
        first = hand.effect("CallModel").request
        hand.answered("hi")
        hand.polled("again")
        hand.prepared()
        second = hand.effect("CallModel").request

        assert [(r.model, r.thinking_level, r.context.system_prompt) for r in (first, second)] == [
            ("m1", "high", "new")
        ] * 2
        assert [m.role for m in second.context.messages] == ["user", "user", "assistant", "user"]
        assert len(hand.machine.new_messages) == 5

    @staticmethod
    def after_a_batch(dialect: str, **setup: Any) -> Hand:
        """Return a run that stands behind a batch of one call."""
        hand = asked(*calls("c1"), dialect=dialect, **{"hooks": [*QUEUES, "prepare_next_turn"], **setup})
        hand.valid("c1")
        hand.returned("c1")
        return hand


class TestStopping:
    """What ends the chain of turns."""

    @pytest.mark.parametrize("dialect", BOTH)
    @pytest.mark.parametrize("reason", ["error", "aborted"])
    def test_hard_stop(self, dialect: str, reason: str) -> None:
        """An answer with error or aborted ends the trace: no tool, no hook, no queue."""
        hand = Hand(begin(dialect=dialect))
        hand.drain()
        hand.polled()

        assert hand.answered(*calls("c1"), stop_reason=reason) == [*WHOLE_ANSWER, "turn_end", "agent_end"]  # type: ignore[arg-type]

    @pytest.mark.parametrize("dialect", ALL)
    def test_no_call_ends_the_chain(self, dialect: str) -> None:
        """An answer without calls ends the chain, though its stop reason says toolUse."""
        hand = asked("hi", stop_reason="toolUse", dialect=dialect, hooks=())

        assert hand.machine.next() is DONE

    @pytest.mark.parametrize("dialect", ALL)
    def test_calls_go_on_whatever_the_reason(self, dialect: str) -> None:
        """An answer with calls is executed, though its stop reason says stop."""
        hand = asked(*calls("c1"), stop_reason="stop", dialect=dialect, hooks=())

        assert [type(effect).__name__ for effect in hand.machine.awaited] == ["PrepareArguments"]

    @pytest.mark.parametrize("mode", ["parallel", "sequential"])
    @pytest.mark.parametrize("dialect", ALL)
    @pytest.mark.parametrize(("said", "goes_on"), [("yes yes", False), ("yes no", True), ("no yes", True)])
    def test_terminate_is_every_not_some(self, mode: str, dialect: str, said: str, goes_on: bool) -> None:
        """The chain ends when every result of the batch says terminate; one that does not is enough to go on."""
        hand = asked(*calls("c1", "c2"), dialect=dialect, mode=mode, hooks=())
        terminate = dict(zip(("c1", "c2"), (word == "yes" for word in said.split()), strict=True))
        if mode == "parallel":
            hand.valid("c1")
            hand.valid("c2")
        for name in ("c1", "c2"):
            if mode == "sequential":
                hand.valid(name)
            hand.returned(name, terminate=terminate[name])

        assert (hand.machine.next() is WAITING) == goes_on

    @pytest.mark.parametrize("value", [1, "yes", "true", [True]])
    def test_terminate_is_true_and_nothing_else(self, value: object) -> None:
        """Only `true` itself ends the chain."""
        hand = asked(*calls("c1"), hooks=())
        hand.valid("c1")

        assert hand.returned("c1", terminate=value)[-1] == "CallModel"

    def test_terminate_of_the_after_hook(self) -> None:
        """The after hook may say terminate for a result that does not."""
        hand = asked(*calls("c1"), hooks=["after_tool_call"])
        hand.valid("c1")
        hand.returned("c1")

        assert hand.after("c1", ResultChanges(terminate=True))[-1] == "agent_end"

    @pytest.mark.parametrize(("dialect", "goes_on"), [(OLD, True), (NEW, False)])
    def test_blocked_for_good(self, dialect: str, goes_on: bool) -> None:
        """Since 0.84.1 a blocking hook may end the chain; before, a blocked call never says terminate."""
        hand = asked(*calls("c1"), dialect=dialect, hooks=["before_tool_call"])
        hand.valid("c1")
        said = hand.before("c1", block=True, terminate=True)

        assert said[-1] == ("CallModel" if goes_on else "agent_end")

    def test_terminate_without_block(self) -> None:
        """A before hook that says terminate but does not block ends nothing."""
        hand = asked(*calls("c1"), hooks=["before_tool_call"])
        hand.valid("c1")
        hand.before("c1", terminate=True)

        assert hand.returned("c1")[-1] == "CallModel"

    def test_cut_off_calls_run_in_0_80_2(self) -> None:
        """In 0.80.2 the calls of an answer that hit the output limit are run."""
        hand = asked(*calls("c1"), stop_reason="length", dialect=OLD, hooks=())

        assert [type(effect).__name__ for effect in hand.machine.awaited] == ["PrepareArguments"]

    def test_cut_off_calls_are_refused_since(self) -> None:
        """Later each of them gets an error result, one after the other, and the model is asked again."""
        hand = Hand(begin(hooks=()))
        hand.drain()
        said = hand.answered(*calls("c1", "c2"), stop_reason="length")

        refused = [["call " + name, "failed " + name, *results(name)] for name in ("c1", "c2")]
        assert said == [*WHOLE_ANSWER, *flat(*refused), "turn_end", "turn_start", "CallModel"]

    @pytest.mark.parametrize("dialect", ALL)
    def test_cut_off_text_ends_normally(self, dialect: str) -> None:
        """An answer in text that hit the limit ends the chain like any other."""
        assert asked("hi", stop_reason="length", dialect=dialect, hooks=()).machine.next() is DONE


class TestTimestamps:
    """When a message that the machine makes was made."""

    def test_of_a_result(self) -> None:
        """A result message has the time of the outcome that completed it."""
        hand = asked(*calls("c1"), hooks=(), at=1)
        hand.valid("c1")
        hand.returned("c1", at=7)

        assert [m.timestamp for m in hand.machine.new_messages if m.role == "toolResult"] == [7]

    def test_of_a_parallel_batch(self) -> None:
        """All results of a parallel batch have the time of the outcome that ended it."""
        hand = asked(*calls("c1", "c2"), hooks=())
        hand.valid("c1")
        hand.valid("c2")
        hand.returned("c2", at=5)
        hand.returned("c1", at=9)

        assert [m.timestamp for m in hand.machine.new_messages if m.role == "toolResult"] == [9, 9]

    def test_an_outcome_without_time(self) -> None:
        """An outcome that does not know the time leaves that of the one before."""
        hand = asked(*calls("c1", tool="nobody"), hooks=(), at=3)

        assert [m.timestamp for m in hand.machine.new_messages if m.role == "toolResult"] == [3]

    def test_no_clock_at_all(self) -> None:
        """Where no outcome knows the time, messages have none."""
        hand = asked(*calls("c1", tool="nobody"), hooks=())

        assert [m.timestamp for m in hand.machine.new_messages if m.role == "toolResult"] == [None]

    def test_messages_of_others_are_left_alone(self) -> None:
        """Prompts and answers keep the time that they were given, or none."""
        hand = asked("hi", hooks=(), at=3)

        assert [m.timestamp for m in hand.machine.new_messages] == [None, None]


class TestTools:
    """Which tool a call means."""

    def test_the_first_of_one_name(self) -> None:
        """Of two tools of one name the first one counts."""
        tools = (Tool("work", "first"), Tool("work", "second"), *TOOLS)
        hand = asked(*calls("c1"), tools=tools, hooks=())

        assert hand.effect("PrepareArguments").tool.description == "first"
