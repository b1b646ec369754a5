"""The hooks that 1.6.0 asks and earlier dialects do not, and what its preparation of a turn may bring."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.agents import roles, text_of
from tests.engine.by_hand import BOTH, LATEST, QUEUES, Hand, asked, begin, calls, results
from turnwheel.messages import user
from turnwheel.outcomes import NextRequest, NextTurn, TurnAction
from turnwheel.tool import Context
from turnwheel.transcript import Transcript

WHOLE_ANSWER = ["start assistant", "end assistant"]
INJECTED = ["start user", "end user"]
ACTIONS: tuple[TurnAction | None, ...] = (None, "end", "continue")


def latest(*content: Any, **setup: Any) -> Hand:
    """Return a run of 1.6.0 of which the first answer is `content`, drained."""
    return asked(*content, dialect=LATEST, **setup)


class TestFinishTurn:
    """The hook that hears of every turn."""

    def test_before_the_end_of_the_turn(self) -> None:
        """It is asked when the answer is there, and turn_end follows what it says."""
        hand = Hand(begin(dialect=LATEST))
        said = [hand.drain(), hand.polled(), hand.request(), hand.answered("hi"), hand.finished()]

        assert said[2:] == [["CallModel"], [*WHOLE_ANSWER, "FinishTurn"], ["turn_end", "PollSteering"]]

    def test_the_results_are_in_its_context(self) -> None:
        """It sees the results of the batch, as part of the context and of what the trace has added."""
        hand = latest(*calls("c1"), hooks=["finish_turn"])
        hand.valid("c1")
        assert hand.returned("c1") == ["done c1", *results("c1"), "FinishTurn"]
        turn = hand.effect("FinishTurn").turn

        assert turn.context.messages[-1] == turn.new_messages[-1] == turn.tool_results[0]
        assert roles(turn.new_messages) == ["user", "assistant", "toolResult"]

    def test_no_wish(self) -> None:
        """Where it says nothing, results and queues decide as ever."""
        hand = latest("hi")

        assert [hand.finished(), hand.polled(), hand.polled()] == [
            ["turn_end", "PollSteering"],
            ["PollFollowUp"],
            ["agent_end"],
        ]

    def test_the_end(self) -> None:
        """It may end the run, though results wait for the model; no queue is polled then."""
        hand = latest(*calls("c1"), hooks=[*QUEUES, "finish_turn"])
        hand.valid("c1")
        hand.returned("c1")

        assert hand.finished("end") == ["turn_end", "agent_end"]

    def test_one_more_turn(self) -> None:
        """Where nothing else causes a turn it may ask for one, which is prepared and has no message of its own."""
        hand = latest("hi")

        assert [hand.finished("continue"), hand.polled(), hand.polled(), hand.prepared(), hand.polled()] == [
            ["turn_end", "PollSteering"],
            ["PollFollowUp"],
            ["PrepareNextTurn"],
            ["PollSteeringAgain"],
            ["turn_start", "PrepareRequest"],
        ]
        assert hand.effect("PrepareRequest").request.context.messages[-1].role == "assistant"

    @pytest.mark.parametrize("queue", ["steering", "follow up"])
    def test_a_message_takes_the_place_of_the_wish(self, queue: str) -> None:
        """Where a message causes a turn, the wish is spent on it: after that turn the run ends by itself."""
        hand = latest("hi", hooks=[*QUEUES, "finish_turn"])
        hand.finished("continue")
        if queue == "follow up":
            hand.polled()

        assert hand.polled("psst") == ["turn_start", *INJECTED, "CallModel"]
        hand.answered("well")
        assert [hand.finished(), hand.polled(), hand.polled()][-1] == ["agent_end"]

    def test_results_take_the_place_of_the_wish(self) -> None:
        """Where results wait for the model there is one more turn, not two."""
        hand = latest(*calls("c1"), hooks=["finish_turn"])
        hand.valid("c1")
        hand.returned("c1")

        assert hand.finished("continue") == ["turn_end", "turn_start", "CallModel"]
        hand.answered("well")
        assert hand.finished() == ["turn_end", "agent_end"]

    def test_terminate_does_not_outrank_the_wish(self) -> None:
        """A batch that ends the chain leaves room for the turn that the hook asks for."""
        hand = latest(*calls("c1"), hooks=["finish_turn"])
        hand.valid("c1")
        hand.returned("c1", terminate=True)

        assert hand.finished("continue") == ["turn_end", "turn_start", "CallModel"]

    @pytest.mark.parametrize("action", ACTIONS)
    @pytest.mark.parametrize("reason", ["error", "aborted"])
    def test_of_an_answer_that_failed(self, reason: Any, action: TurnAction | None) -> None:
        """It hears of an answer with error or aborted, and the run ends whatever it says: no tool, no queue."""
        hand = latest(*calls("c1"), stop_reason=reason)

        assert [type(effect).__name__ for effect in hand.machine.awaited] == ["FinishTurn"]
        assert hand.finished(action) == ["turn_end", "agent_end"]

    @pytest.mark.parametrize("reason", ["error", "aborted"])
    def test_an_answer_that_failed_without_it(self, reason: Any) -> None:
        """Without the hook a failed answer ends the run at once, as in earlier dialects."""
        hand = Hand(begin(dialect=LATEST, hooks=()))
        hand.drain()

        assert hand.answered(*calls("c1"), stop_reason=reason) == [*WHOLE_ANSWER, "turn_end", "agent_end"]

    def test_after_calls_that_were_cut_off(self) -> None:
        """Calls that are refused have their results before the hook is asked."""
        hand = Hand(begin(dialect=LATEST, hooks=["finish_turn"]))
        hand.drain()
        said = hand.answered(*calls("c1"), stop_reason="length")

        assert said == [*WHOLE_ANSWER, "call c1", "failed c1", *results("c1"), "FinishTurn"]
        assert hand.finished() == ["turn_end", "turn_start", "CallModel"]

    def test_one_that_fails(self) -> None:
        """Where it fails the run does: there is neither turn_end nor agent_end."""
        hand = latest("hi")

        assert (hand.failed("FinishTurn", "no idea"), hand.machine.failure) == ([], "no idea")


class TestPrepareRequest:
    """The hook that prepares every request."""

    def test_after_the_injection(self) -> None:
        """It is asked when the messages of the turn have gone in, and sees them; the model is asked after it."""
        hand = Hand(begin(dialect=LATEST))
        hand.drain()

        assert hand.polled("psst") == [*INJECTED, "PrepareRequest"]
        assert text_of(hand.effect("PrepareRequest").request.context.messages[-1]) == "psst"
        assert hand.request() == ["CallModel"]

    def test_in_every_turn(self) -> None:
        """It is asked in the first turn and in each one after it."""
        hand = latest(*calls("c1"), hooks=["prepare_request"])
        hand.valid("c1")

        assert hand.returned("c1")[-2:] == ["turn_start", "PrepareRequest"]

    def test_changes_are_for_good(self) -> None:
        """Context, model and thinking level that it puts in place hold for this request and for those after it."""
        hand = Hand(begin(dialect=LATEST, hooks=["prepare_request", "steering"]))
        hand.drain()
        hand.polled()
        hand.request(NextRequest(Context("new", Transcript([user("short")])), "m1", "high"))
        first = hand.effect("CallModel").request
        hand.answered("hi")
        hand.polled("more")
        second = hand.effect("PrepareRequest").request

        assert (first.model, first.thinking_level, first.context.system_prompt) == ("m1", "high", "new")
        assert roles(first.context.messages) == ["user"]
        assert (second.model, second.thinking_level, second.context.system_prompt) == ("m1", "high", "new")

    def test_no_changes(self) -> None:
        """What it says nothing of stays as it was."""
        hand = Hand(begin(dialect=LATEST, hooks=["prepare_request"]))
        hand.drain()
        before = hand.effect("PrepareRequest").request
        hand.request(NextRequest())

        assert hand.effect("CallModel").request == before

    def test_what_the_trace_has_added_stays(self) -> None:
        """Another context does not change what the run gives back."""
        hand = Hand(begin(dialect=LATEST, hooks=["prepare_request"]))
        hand.drain()
        hand.request(NextRequest(Context("", Transcript([user("short")]))))
        hand.answered("hi")

        assert [text_of(message) for message in hand.machine.new_messages] == ["go", "hi"]

    def test_tools_that_it_takes_away(self) -> None:
        """Calls of the answer are looked up in the context that it has left."""
        hand = Hand(begin(dialect=LATEST, hooks=["prepare_request"]))
        hand.drain()
        hand.request(NextRequest(Context(messages=hand.machine.context.messages)))
        hand.answered(*calls("c1"))

        assert hand.ends() == {"c1": "Tool work not found"}


class TestPreparedMessages:
    """Messages that the preparation of a turn brings."""

    def test_go_in_before_those_that_wait(self) -> None:
        """They stand in front of what the queue has brought."""
        hand = latest("hi", hooks=[*QUEUES, "prepare_next_turn"])
        hand.polled("psst")

        assert hand.prepared(NextTurn(messages=(user("first"),))) == ["turn_start", *INJECTED, *INJECTED, "CallModel"]
        assert [text_of(message) for message in hand.machine.new_messages][-2:] == ["first", "psst"]

    def test_do_not_stand_for_steering(self) -> None:
        """The queue is looked at again although they are there, since nothing of it is pending."""
        hand = latest(*calls("c1"), hooks=[*QUEUES, "prepare_next_turn"])
        hand.valid("c1")
        hand.returned("c1")
        hand.polled()

        assert hand.prepared(NextTurn(messages=(user("first"),))) == ["PollSteeringAgain"]
        assert hand.polled("late") == ["turn_start", *INJECTED, *INJECTED, "CallModel"]
        assert [text_of(message) for message in hand.machine.new_messages][-2:] == ["first", "late"]

    def test_go_in_once(self) -> None:
        """The turn after has them in its context, and does not tell of them again."""
        hand = latest("hi", hooks=["steering", "prepare_next_turn"])
        hand.polled("psst")
        hand.prepared(NextTurn(messages=(user("first"),)))
        hand.answered("well")
        hand.polled("more")

        assert hand.prepared() == ["turn_start", *INJECTED, "CallModel"]

    @pytest.mark.parametrize("dialect", BOTH)
    def test_are_no_part_of_earlier_dialects(self, dialect: str) -> None:
        """Up to 0.85.1 they are left out."""
        hand = asked(*calls("c1"), dialect=dialect, hooks=["prepare_next_turn"])
        hand.valid("c1")
        hand.returned("c1")

        assert INJECTED[0] not in hand.prepared(NextTurn(messages=(user("first"),)))
