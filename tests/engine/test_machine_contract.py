"""The machine's contract: which outcomes are refused, what a pause is, and how a run is broken off."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from attrs import evolve

from tests.engine.by_hand import (
    ALL,
    QUEUES,
    Hand,
    answer,
    asked,
    asked_for_model,
    begin,
    calls,
    drained,
    positions,
    possible,
    word,
)
from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.errors import Misuse, UnexpectedOutcome
from turnwheel.machine import DONE, WAITING
from turnwheel.messages import ToolResult, user
from turnwheel.outcomes import Begun, Outcome, Polled, Progress
from turnwheel.rules import State
from turnwheel.stream import Retry, Started, TextDelta

ALL_KINDS: list[Any] = [
    Begun(),
    Started(),
    TextDelta(0, "x"),
    Retry(1, 3, 500),
    answer("hi"),
    oc.Polled(0),
    oc.NextTurnPrepared(0),
    oc.RequestPrepared(0),
    oc.StopDecided(0),
    oc.TurnFinished(0),
    oc.ArgumentsPrepared(0, {}),
    oc.BeforeAnswered(0),
    oc.Progress(0, ToolResult()),
    oc.Returned(0, ToolResult()),
    oc.AfterAnswered(0),
    oc.Raised(0, "e"),
    oc.Failed(0, "e"),
]
RIGHT = {
    "PollSteering": {"Polled", "Failed"},
    "PollSteeringAgain": {"Polled", "Failed"},
    "PollFollowUp": {"Polled", "Failed"},
    "CallModel": {"Started", "TextDelta", "Retry", "Finished", "Failed"},
    "PrepareNextTurn": {"NextTurnPrepared", "Failed"},
    "PrepareRequest": {"RequestPrepared", "Failed"},
    "AskToStop": {"StopDecided", "Failed"},
    "FinishTurn": {"TurnFinished", "Failed"},
    "PrepareArguments": {"ArgumentsPrepared", "Raised"},
    "BeforeToolCall": {"BeforeAnswered", "Raised"},
    "ExecuteTool": {"Progress", "Returned", "Raised"},
    "AfterToolCall": {"AfterAnswered", "Raised"},
}
"""Which outcomes answer an effect: written down from the effects' own words, not taken from the machine's tables."""


class TestRefusals:
    """Outcomes that nothing has asked for."""

    def test_every_position_is_met(self) -> None:
        """The loop below visits every kind of effect."""
        assert {name for name, _ in positions()} == {*RIGHT} == {kind.__name__ for kind in get_args(fx.Effect)}

    @pytest.mark.parametrize("outcome", ALL_KINDS, ids=lambda outcome: type(outcome).__name__)
    def test_each_kind_in_each_position(self, outcome: Any) -> None:
        """An outcome of the wrong kind raises, naming itself, the state and what is awaited; nothing changes."""
        for name, hand in positions():
            hand.drain()
            machine, (effect,) = hand.machine, hand.machine.awaited
            if type(outcome).__name__ in RIGHT[name]:
                continue
            before = machine.key(), machine.position, machine.awaited
            wrong = evolve(outcome, effect=effect.id) if hasattr(outcome, "effect") else outcome
            with pytest.raises(UnexpectedOutcome) as caught:
                machine.send(wrong)

            assert caught.value.outcome.startswith(type(outcome).__name__)
            assert caught.value.state == str(machine.state)
            assert caught.value.awaited == f"{name} {effect.id}"
            assert caught.value.cause
            assert (machine.key(), machine.position, machine.awaited) == before
            assert machine.next() is WAITING

    def test_each_right_kind_in_each_position(self) -> None:
        """Every outcome that does answer is taken, on a copy each."""
        for name, hand in positions():
            hand.drain()
            (effect,) = hand.machine.awaited
            for outcome in ALL_KINDS:
                if type(outcome).__name__ in RIGHT[name]:
                    right = evolve(outcome, effect=effect.id) if hasattr(outcome, "effect") else outcome
                    hand.machine.copy().send(right)

    def test_the_steps_after_a_refusal(self) -> None:
        """A run with a refused outcome in every pause goes on like one without."""
        calm, disturbed = Hand(begin()), Hand(begin())
        for hand in (calm, disturbed):
            for move in (Hand.drain, Hand.polled, lambda h: h.answered("hi"), Hand.decided, Hand.polled, Hand.polled):
                move(hand)
                if hand is disturbed:
                    with pytest.raises(UnexpectedOutcome):
                        hand.machine.send(oc.Returned(99, ToolResult()))

        assert calm.steps == disturbed.steps
        assert calm.decisions == disturbed.decisions

    def test_before_it_was_handed_out(self) -> None:
        """An outcome for an effect that is still to come says that next() comes first."""
        machine = begin()
        machine.next()

        with pytest.raises(UnexpectedOutcome, match="effect 1 was not handed out yet; call next"):
            machine.send(Polled(1))

    def test_a_step_of_an_answer_before_it_was_asked_for(self) -> None:
        """A step before the model was called, or behind the end of its answer, says so."""
        machine = drained(begin())
        with pytest.raises(UnexpectedOutcome, match="no model call is outstanding"):
            machine.send(Started())

        hand = asked_for_model()
        hand.machine.send(answer("hi"))
        with pytest.raises(UnexpectedOutcome, match="no model call is outstanding: its answer has ended"):
            hand.machine.send(TextDelta(0, "more"))

    @pytest.mark.parametrize(
        ("outcome", "cause"),
        [
            (Polled(7), "no effect 7 was handed out; an outcome carries the id of the effect that it answers"),
            (Polled(1), "effect 1 has been answered already"),
            (Polled(2), "effect 2 is CallModel, which takes another kind of outcome"),
            (Begun(), "the run has begun already; a new trace is a new machine"),
            (Polled(-1), "no effect -1 was handed out"),
            (Progress(7, ToolResult()), "no effect 7 was handed out"),
        ],
    )
    def test_the_likely_cause(self, outcome: Any, cause: str) -> None:
        """The error says what is probably wrong in the caller's code."""
        with pytest.raises(UnexpectedOutcome) as caught:
            asked_for_model().machine.send(outcome)

        assert cause in str(caught.value)

    @pytest.mark.parametrize("outcome", [Polled(1), Started(), answer("hi"), oc.Returned(2, ToolResult())])
    def test_after_the_end(self, outcome: Outcome) -> None:
        """When the run is over every outcome but late progress is refused, and it stays over."""
        machine = asked("hi", hooks=()).machine

        with pytest.raises(UnexpectedOutcome, match=r"in state Done: awaited is nothing.*the run is over"):
            machine.send(outcome)
        assert machine.next() is DONE

    def test_an_answer_twice(self) -> None:
        """The second answer to one effect is refused, before the first was folded too."""
        machine = drained(begin())
        machine.send(Polled(1))

        with pytest.raises(UnexpectedOutcome, match="effect 1 has been answered already"):
            machine.send(Polled(1))

    @pytest.mark.parametrize("junk", [None, 5, "polled", {}, fx.PollSteering(1), user("x"), oc.Polled, ToolResult()])
    def test_what_is_no_outcome(self, junk: Any) -> None:
        """Something that is no outcome at all is misuse of another kind; nothing changes."""
        machine = drained(begin())
        key = machine.key()

        with pytest.raises(Misuse, match="is no outcome") as caught:
            machine.send(junk)
        assert not isinstance(caught.value, UnexpectedOutcome)
        assert machine.key() == key

    @pytest.mark.parametrize("effect", [1, 2])
    def test_progress_of_what_is_no_tool(self, effect: int) -> None:
        """Progress that names an effect which was no tool's is not late: nothing has asked for it."""
        hand = asked("hi", hooks=QUEUES)
        assert [word(effect) for effect in hand.steps if hasattr(effect, "id")][:2] == ["PollSteering", "CallModel"]

        with pytest.raises(UnexpectedOutcome):
            hand.machine.send(Progress(effect, ToolResult()))

    def test_progress_before_it_was_handed_out(self) -> None:
        """Progress of an effect that is still to come is refused like any other outcome."""
        machine = begin()
        machine.next()

        with pytest.raises(UnexpectedOutcome, match="call next"):
            machine.send(Progress(1, ToolResult()))

    @pytest.mark.parametrize("outcome", [Polled([]), Progress("1", ToolResult())])  # type: ignore[arg-type]
    def test_an_id_of_the_wrong_type(self, outcome: Outcome) -> None:
        """An id that is no number is refused like one that is unknown."""
        with pytest.raises(Misuse):
            drained(begin()).send(outcome)


class TestPauses:
    """What next() says where there is no step."""

    def test_waiting_stays_waiting(self) -> None:
        """Asking again at a pause changes nothing."""
        machine = drained(begin())

        assert {machine.next() for _ in range(3)} == {WAITING}
        assert machine.position == 5

    def test_done_stays_done(self) -> None:
        """A run that is over stays over, and knows its messages."""
        machine = asked("hi", hooks=()).machine

        assert {machine.next() for _ in range(3)} == {DONE}
        assert len(machine.new_messages) == 2

    def test_send_decides_nothing(self) -> None:
        """Sending moves nothing, whatever is sent: state, position and decisions stay until next() is called."""
        for _, hand in positions():
            hand.drain()
            for outcome in possible(hand.machine).values():
                machine = hand.machine.copy()
                before = machine.control, machine.position, machine.decided, len(machine.new_messages)
                machine.send(outcome)

                assert (machine.control, machine.position, machine.decided, len(machine.new_messages)) == before

    def test_a_decision_comes_after_all_events(self) -> None:
        """Whoever aborts while an event before a decision is handed out, is heard in that decision."""
        machine = begin(hooks=())
        hand = Hand(machine)
        hand.drain()
        machine.send(answer(*calls("c1", "c2")))
        for _ in range(3):
            step = machine.next()
        assert word(step) == "call c1"
        machine.abort()
        hand.drain()
        hand.valid("c1")

        assert hand.ends() == {"c1": "Operation aborted"}

    def test_repr(self) -> None:
        """Printing a machine says where it is and what it waits for."""
        assert repr(asked_for_model().machine) == "<Machine pi-0.85.1 in Streaming, 6 steps, awaits CallModel 2>"


class TestFailing:
    """Breaking off."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_while_events_are_queued(self, dialect: str) -> None:
        """Events that were not handed out yet are dropped, and the run is over without agent_end."""
        machine = begin(dialect=dialect)
        machine.next()
        machine.fail(RuntimeError("listener"))

        assert (machine.next(), machine.state, machine.failure) == (DONE, State.Done, "listener")
        assert [decision.rule.name for decision in machine.decided] == ["AwaitSteering failed"]

    def test_in_every_position(self) -> None:
        """Whatever the run waits for, `failed` fires from there, and no effect is outstanding any more."""
        for name, hand in positions():
            hand.drain()
            state = hand.machine.state
            hand.machine.fail("down")
            after = len(hand.decisions)

            assert (hand.drain(), hand.machine.awaited, hand.machine.failure) == ([], [], "down"), name
            (decision,) = hand.decisions[after:]
            assert (decision.rule.source, decision.rule.trigger) == (state, "failed")

    def test_before_it_began(self) -> None:
        """A run that is broken off before its first step has no event at all."""
        machine = begin()
        machine.fail("cancelled")

        assert (machine.next(), machine.failure) == (DONE, "cancelled")

    def test_noted_outcomes_are_dropped(self) -> None:
        """An outcome that was sent before, or is sent after, is not folded any more."""
        hand = asked_for_model()
        hand.machine.send(answer("hi"))
        hand.machine.fail("down")

        assert hand.drain() == []
        with pytest.raises(UnexpectedOutcome, match="the run is over"):
            hand.machine.send(Started())

    def test_after_done(self) -> None:
        """A run that is over has nothing left to break off; that it failed is known all the same."""
        machine = asked("hi", hooks=()).machine
        machine.fail("listener of agent_end")

        assert (machine.next(), machine.decided, machine.failure) == (DONE, [], "listener of agent_end")

    def test_while_the_last_events_are_queued(self) -> None:
        """In Done, but before agent_end was handed out, agent_end is dropped."""
        hand = Hand(begin(hooks=()))
        hand.drain()
        hand.machine.send(answer("hi", stop_reason="error"))
        while word(hand.machine.next()) != "turn_end":
            pass
        assert hand.machine.state is State.Done
        hand.machine.fail("listener of turn_end")

        assert hand.machine.next() is DONE

    def test_the_first_error_is_kept(self) -> None:
        """Of two errors the first one is why the run failed."""
        machine = drained(begin())
        machine.fail("first")
        machine.fail("second")

        assert (machine.next(), machine.failure) == (DONE, "first")

    def test_an_error_without_text(self) -> None:
        """An exception that says nothing is known by its type."""
        machine = drained(begin())
        machine.fail(KeyError())

        assert (machine.next(), machine.failure) == (DONE, "KeyError")

    @pytest.mark.parametrize(
        "effect",
        [
            *("PollSteering", "PrepareRequest", "CallModel"),
            *("AskToStop", "FinishTurn", "PrepareNextTurn", "PollFollowUp"),
        ],
    )
    def test_an_effect_that_failed(self, effect: str) -> None:
        """An effect of the run that fails ends it with that error, without turn_end and agent_end."""
        hand = next(hand for name, hand in positions() if name == effect)
        hand.drain()

        assert (hand.failed(effect, "down"), hand.machine.failure, hand.machine.next()) == ([], "down", DONE)

    def test_an_effect_that_failed_without_text(self) -> None:
        """A failure without text is not taken for a context that cannot be gone on from."""
        hand = Hand(begin())
        hand.drain()
        hand.failed("PollSteering", "")

        assert hand.machine.failure is not None
        assert "Cannot continue" not in hand.machine.failure
