"""Answers and tool calls in 1.6.0: what they carry, and what becomes of a batch that is aborted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.by_hand import ALL, BOTH, LATEST, Hand, answer, asked, begin, calls, flat, results, word
from turnwheel import outcomes as oc
from turnwheel.events import ToolExecutionEnd
from turnwheel.messages import ABSENT, AssistantMessage, TextContent, ToolResult
from turnwheel.outcomes import NextTurn, ResultChanges
from turnwheel.rules import State

ABORTED = "Operation aborted"
NEW_CONTENT = (TextContent("new"),)
GOES_ON = ["turn_end", "turn_start", "CallModel"]


def latest(*content: Any, **setup: Any) -> Hand:
    """Return a run of 1.6.0 of which the first answer is `content`, drained."""
    return asked(*content, dialect=LATEST, **setup)


def ended(result: ToolResult, changes: ResultChanges | None = None, dialect: str = LATEST) -> ToolExecutionEnd:
    """Return the end of a call whose tool gives this result, and whose after hook says this."""
    hand = asked(*calls("c1"), dialect=dialect, hooks=["after_tool_call"])
    hand.valid("c1")
    hand.send(oc.Returned(hand.effect("ExecuteTool").id, result))
    hand.after("c1", changes)
    (end,) = (step for step in hand.steps if isinstance(step, ToolExecutionEnd))
    return end


class TestThinkingLevels:
    """The thinking level in an answer."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_of_the_run(self, dialect: str) -> None:
        """In 1.6.0 an answer carries the level that was asked for, `off` included; before, it carries none."""
        message = asked("hi", dialect=dialect, hooks=()).machine.new_messages[-1]

        assert isinstance(message, AssistantMessage)
        assert message.thinking_level == ("off" if dialect == LATEST else None)

    def test_after_a_change(self) -> None:
        """A level that a preparation put in place is the one that later answers carry."""
        hand = latest("hi", hooks=["steering", "prepare_next_turn"])
        hand.polled("more")
        hand.prepared(NextTurn(thinking_level="high"))
        hand.answered("well")
        levels = [m.thinking_level for m in hand.machine.new_messages if isinstance(m, AssistantMessage)]

        assert levels == ["off", "high"]


class TestErrorFlags:
    """A result that says that it is an error."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_is_one(self, dialect: str) -> None:
        """In 1.6.0 a result with is_error is an error though nothing was raised; before, it is not."""
        assert ended(ToolResult.of("no"), dialect=dialect).is_error is False
        assert ended(ToolResult(is_error=True), dialect=dialect).is_error is (dialect == LATEST)

    @pytest.mark.parametrize("value", [1, "true", [True], False, None])
    def test_is_true_and_nothing_else(self, value: object) -> None:
        """Only `true` itself makes an error."""
        assert ended(ToolResult(is_error=value)).is_error is False

    def test_the_after_hook_hears_of_it(self) -> None:
        """The after hook is told of the error, and may take it back."""
        hand = latest(*calls("c1"), hooks=["after_tool_call"])
        hand.valid("c1")
        hand.send(oc.Returned(hand.effect("ExecuteTool").id, ToolResult(is_error=True)))

        assert hand.effect("AfterToolCall").is_error is True
        assert hand.after("c1", ResultChanges(is_error=False))[0] == "done c1"

    def test_of_one_call_is_not_of_the_next(self) -> None:
        """The other calls of the batch are no errors for it."""
        hand = latest(*calls("c1", "c2"), mode="sequential", hooks=())
        hand.valid("c1")
        hand.send(oc.Returned(hand.effect("ExecuteTool").id, ToolResult(is_error=True)))
        hand.valid("c2")

        assert hand.returned("c2")[0] == "done c2"


class TestStructuredContent:
    """What becomes of it when the after hook changes a result."""

    @pytest.mark.parametrize(
        ("changes", "left"),
        [
            (None, {"n": 1}),
            (ResultChanges(), {"n": 1}),
            (ResultChanges(details={}), {"n": 1}),
            (ResultChanges(content=None), {"n": 1}),
            (ResultChanges(structured_content=None), {"n": 1}),
            (ResultChanges(content=NEW_CONTENT), ABSENT),
            (ResultChanges(content=NEW_CONTENT, structured_content={"n": 2}), {"n": 2}),
            (ResultChanges(structured_content={"n": 2}), {"n": 2}),
        ],
    )
    def test_after_a_hook(self, changes: ResultChanges | None, left: object) -> None:
        """It is kept, replaced, or, where new content comes without it, dropped."""
        assert ended(ToolResult(structured_content={"n": 1}), changes).result.structured_content == left

    def test_before_there_were_rules(self) -> None:
        """In 0.85.1 it is a field like any other that the hook does not name: it is kept, and cannot be replaced."""
        changes = ResultChanges(content=NEW_CONTENT, structured_content={"n": 2})

        assert ended(ToolResult(structured_content={"n": 1}), changes, BOTH[1]).result.structured_content == {"n": 1}


class TestAbortedBatch:
    """Every call has a result."""

    def test_while_its_start_is_heard(self) -> None:
        """An abort by whoever hears of the start counts: the call ends before its arguments are looked at."""
        hand = Hand(begin(dialect=LATEST, hooks=["before_tool_call"]))
        hand.drain()
        hand.machine.send(answer(*calls("c1")))
        while word(hand.machine.next()) != "call c1":
            pass
        hand.machine.abort()

        assert hand.drain() == ["failed c1", *results("c1"), *GOES_ON]
        assert hand.ends() == {"c1": ABORTED}

    def test_side_by_side(self) -> None:
        """Of a parallel batch each later call starts and ends at once; the one at hand is prepared to its end."""
        hand = latest(*calls("c1", "c2", "c3"), hooks=())
        hand.machine.abort()

        assert hand.valid("c1") == [
            *["call c2", "failed c2", "call c3", "failed c3", "failed c1"],
            *results("c1", "c2", "c3"),
            *GOES_ON,
        ]
        assert {*hand.ends().values()} == {ABORTED}

    def test_one_after_the_other(self) -> None:
        """Of a sequential batch each later call has start, end and result, one call after the other."""
        hand = latest(*calls("c1", "c2", "c3"), mode="sequential", hooks=["before_tool_call"])
        hand.valid("c1")
        hand.machine.abort()
        late = [["call " + name, "failed " + name, *results(name)] for name in ("c2", "c3")]

        assert hand.before("c1") == ["failed c1", *results("c1"), *flat(*late), *GOES_ON]

    def test_from_the_beginning(self) -> None:
        """A batch that begins after the abort prepares none of its calls, and tells of all."""
        hand = Hand(begin(dialect=LATEST, hooks=()))
        hand.drain()
        hand.machine.abort()
        said = hand.answered(*calls("c1", "c2"))

        assert said[2:] == ["call c1", "failed c1", "call c2", "failed c2", *results("c1", "c2"), *GOES_ON]

    def test_an_unknown_tool(self) -> None:
        """A call that comes after the abort is not looked up: it is aborted, not unknown."""
        hand = latest(*calls("c1"), *calls("c2", tool="nobody"), hooks=())
        hand.machine.abort()
        hand.valid("c1")

        assert hand.ends()["c2"] == ABORTED

    def test_bad_arguments_of_the_call_at_hand(self) -> None:
        """A call whose preparation had begun ends with what is wrong with it."""
        hand = latest(*calls("c1"), hooks=())
        hand.machine.abort()
        hand.raised("PrepareArguments c1", "bad")

        assert hand.ends() == {"c1": "bad"}

    def test_the_hook_of_the_call_at_hand(self) -> None:
        """It is asked although the abort came before, and a failure of it outranks the abort."""
        hand = latest(*calls("c1"), hooks=["before_tool_call"])
        hand.machine.abort()

        assert hand.valid("c1") == ["BeforeToolCall c1"]
        hand.raised("BeforeToolCall c1", "hook down")
        assert hand.ends() == {"c1": "hook down"}

    def test_all_have_a_vote(self) -> None:
        """Aborted calls never say terminate, so the chain goes on though the tool that ran does."""
        hand = latest(*calls("c1", "c2"), mode="sequential", hooks=())
        hand.valid("c1")
        hand.machine.abort()

        assert hand.returned("c1", terminate=True)[-1] == "CallModel"

    def test_nobody_watches_a_sequential_call(self) -> None:
        """Without a before hook, a sequential call whose preparation had begun is executed after the abort."""
        hand = latest(*calls("c1"), mode="sequential", hooks=())
        hand.machine.abort()

        assert hand.valid("c1") == ["ExecuteTool c1"]
        assert hand.returned("c1")[:3] == ["done c1", *results("c1")]

    def test_the_launch_watches_a_parallel_call(self) -> None:
        """Without a before hook, a parallel call whose preparation had begun is cancelled when it would be launched."""
        hand = latest(*calls("c1"), hooks=())
        hand.machine.abort()

        assert hand.valid("c1")[0] == "failed c1"
        assert [d.rule.name for d in hand.decisions if d.rule.trigger == "cancel"] == ["Prepared cancel"]

    @pytest.mark.parametrize("mode", ["parallel", "sequential"])
    def test_the_hook_watches_every_call(self, mode: str) -> None:
        """With a before hook a call that was not executed yet is stopped, whatever the mode; abort outranks a block."""
        hand = latest(*calls("c1"), mode=mode, hooks=["before_tool_call"])
        hand.valid("c1")
        hand.machine.abort()
        hand.before("c1", block=True, reason="blocked")

        assert hand.ends() == {"c1": ABORTED}

    def test_a_running_tool_is_not_interrupted(self) -> None:
        """A tool that runs comes back as usual, and the calls after it have their results."""
        hand = latest(*calls("c1", "c2"), mode="sequential", hooks=())
        hand.valid("c1")
        hand.machine.abort()
        hand.returned("c1")

        assert hand.ends() == {"c1": "c1", "c2": ABORTED}
        assert hand.machine.state is State.Streaming
