"""Copies go their own ways, the same outcomes give the same steps, and every rule that fires leaves a decision."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.by_hand import (
    ALL,
    Hand,
    asked,
    asked_for_model,
    begin,
    calls,
    possible,
    walk,
    word,
)
from turnwheel.machine import DONE, WAITING
from turnwheel.stream import Started, TextDelta

Moves = list[int]
moves = st.lists(st.integers(0, 30), max_size=40)


class TestCopies:
    """Two machines out of one."""

    @pytest.mark.parametrize("at", [0, 2, 5, 9, 14])
    def test_both_go_on_differently(self, at: int) -> None:
        """One half of a pair is aborted and stopped, the other goes on: neither notices."""
        one = begin()
        list(walk(one, [0] * at))
        other, untouched = one.copy(), one.copy()
        one.abort()
        one.fail("stop")
        one.next()

        assert other.key() == untouched.key()
        assert list(walk(other, range(30))) == list(walk(untouched, range(30)))
        assert other.failure is None or "stop" not in other.failure

    def test_in_the_middle_of_an_answer(self) -> None:
        """Both copies let the answer grow on their own."""
        hand = asked_for_model()
        hand.send(Started(), TextDelta(0, "a"))
        other = Hand(hand.machine.copy())
        hand.send(TextDelta(0, "b"))
        other.send(TextDelta(0, "c"))

        assert [h.steps[-1].message.text for h in (hand, other)] == ["ab", "ac"]

    def test_in_the_middle_of_a_batch(self) -> None:
        """Outcomes of one copy do not reach the calls of the other."""
        hand = asked(*calls("c1", "c2"), hooks=())
        hand.valid("c1")
        hand.valid("c2")
        other = Hand(hand.machine.copy())
        hand.returned("c2")
        hand.returned("c1")

        assert other.returned("c1") == ["done c1"]
        assert [word(effect) for effect in other.machine.awaited] == ["ExecuteTool c2"]

    def test_with_an_effect_to_hand_out(self) -> None:
        """An effect that was asked for and not handed out is handed out by both."""
        machine = begin(prompts=())
        machine.next()
        machine.next()
        other = machine.copy()

        assert [word(machine.next()), word(other.next())] == ["PollSteering", "PollSteering"]

    @given(moves, moves, st.integers(0, 40), st.sampled_from(ALL))
    def test_at_any_step(self, first: Moves, then: Moves, at: int, dialect: str) -> None:
        """A copy that is taken at any step goes on exactly like the original, whatever happens."""
        machine = begin(dialect=dialect)
        list(walk(machine, first[:at]))
        other = machine.copy()

        assert machine.key() == other.key()
        assert list(walk(machine, then)) == list(walk(other, then))
        assert machine.key() == other.key()

    @given(moves, moves, moves)
    def test_the_original_does_not_notice(self, first: Moves, then: Moves, elsewhere: Moves) -> None:
        """What a copy goes through does not change the original."""
        machine, twin = begin(), begin()
        list(walk(machine, first))
        list(walk(twin, first))
        list(walk(machine.copy(), elsewhere))

        assert list(walk(machine, then)) == list(walk(twin, then))

    def test_arguments_that_a_hook_changes(self) -> None:
        """A before hook of one copy that changes the arguments in place does not change those of the other."""
        hand = asked(*calls("c1"))
        hand.valid("c1", {"n": 1})
        other = Hand(hand.machine.copy())
        hand.effect("BeforeToolCall").arguments["n"] = 2
        other.before("c1")

        assert other.effect("ExecuteTool").arguments == {"n": 1}


class TestDeterminism:
    """The same again."""

    @given(moves, st.sampled_from(ALL))
    def test_same_outcomes_same_steps(self, moves: Moves, dialect: str) -> None:
        """The same outcomes at the same positions give the same steps, decisions and messages."""
        one, other = begin(dialect=dialect), begin(dialect=dialect)

        assert list(walk(one, moves)) == list(walk(other, moves))
        assert one.new_messages == other.new_messages
        assert one.failure == other.failure

    @given(moves, st.sampled_from(ALL))
    def test_every_run_can_end(self, moves: Moves, dialect: str) -> None:
        """From wherever a run has come, it ends when all that is awaited comes and nothing more is asked for."""
        machine = begin(dialect=dialect, hooks=())
        list(walk(machine, moves))
        for _ in range(200):
            if (step := machine.next()) is DONE:
                break
            if step is WAITING:
                answers = possible(machine)
                good = [name for name in sorted(answers) if name.endswith((": text", ": valid", ": result"))]
                machine.send(answers[good[0]])

        assert machine.next() is DONE


class TestDecisions:
    """The record of what fired."""

    def test_positions_and_rows(self) -> None:
        """Each decision says how many steps had been handed out, which row fired and what its guards said."""
        hand = asked("hi", hooks=())
        told = [(d.at, d.rule.name, dict(d.guards)) for d in hand.decisions]
        nothing_left = {"first_turn": False, "chain": False, "pending": False}

        assert told == [
            (0, "AwaitSteering begin prompt", {"prompt": True, "continuable": False}),
            (4, "AwaitSteering steering first_turn", {"first_turn": True, "chain": False, "pending": False}),
            (5, "Streaming finished !shown", {"shown": False}),
            (7, "CheckStop ready !hard_stop !calls", {"hard_stop": False, "calls": False, "cut_off": False}),
            (8, "TurnEnd stop !stop_wanted", {"stop_wanted": False}),
            (8, "AwaitSteering steering !first_turn !chain !pending", nothing_left),
            (8, "AwaitFollowUp follow_up !pending", {"pending": False}),
        ]

    def test_which_machine_and_which_call(self) -> None:
        """Decisions of the loop, the batch and each call are told apart; a call is known by its position."""
        hand = asked(*calls("c1", "c2"), hooks=())
        hand.valid("c1")
        told = [(d.machine, d.call) for d in hand.decisions]

        assert {*told} == {("loop", None), ("batch", None), ("call", 0), ("call", 1)}
        assert [str(d.rule.trigger) for d in hand.decisions if d.call == 0] == ["announce", "arguments", "before"]

    def test_they_are_of_the_last_step(self) -> None:
        """`decided` holds what the last call of next() decided, and nothing older."""
        machine = begin(hooks=())
        machine.next()
        first = machine.decided
        machine.next()

        assert (len(first), machine.decided) == (1, [])

    def test_deltas_decide_nothing(self) -> None:
        """A delta makes an event and no decision."""
        hand = asked_for_model()
        hand.send(Started())
        before = len(hand.decisions)
        hand.send(TextDelta(0, "x"), TextDelta(0, "y"))

        assert len(hand.decisions) == before

    def test_verdicts_are_shared(self) -> None:
        """Two runs that decide the same have the very same row and guard values, not copies."""
        one, other = (asked("hi", hooks=()) for _ in range(2))

        assert [id(d.verdict) for d in one.decisions] == [id(d.verdict) for d in other.decisions]

    @given(moves, st.sampled_from(ALL))
    def test_a_rule_that_fired_held(self, moves: Moves, dialect: str) -> None:
        """Whatever happens, a row that fires is one whose guards said what it requires, in the order of positions."""
        machine, decisions = begin(dialect=dialect), list[Any]()
        for seen in walk(machine, moves):
            decisions += seen[1] if len(seen) > 1 else []

        assert all(d.rule.requires().items() <= d.guards.items() for d in decisions)
        assert [d.at for d in decisions] == sorted(d.at for d in decisions)
