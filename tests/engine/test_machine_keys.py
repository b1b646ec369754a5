"""Keys: machines that have the same one have the same futures, whatever was said to get there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.by_hand import (
    ALL,
    QUEUES,
    Hand,
    asked,
    begin,
    calls,
    drained,
    positions,
    possible,
    walk,
)
from turnwheel import outcomes as oc
from turnwheel.machine import DONE, WAITING, Machine
from turnwheel.messages import UserMessage, user
from turnwheel.outcomes import NextTurn, Polled
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

Moves = list[int]
moves = st.lists(st.integers(0, 30), max_size=40)


class TestKeys:
    """Which machines have the same future."""

    def test_texts_do_not_matter(self) -> None:
        """Machines whose messages differ in their texts only have equal keys at every pause."""
        one, other = Hand(begin(prompts=["a"])), Hand(begin(prompts=["something else"]))
        for texts in ("x", "yy"):
            hand = one if texts == "x" else other
            hand.drain()
            hand.polled()
            hand.answered(texts, *calls(texts))

        assert one.machine.key() == other.machine.key()

    def test_history_does_not_matter(self) -> None:
        """The length of the conversation before, and the model's name, do not count."""
        old = [user("a"), UserMessage("b")]
        one, other = begin(messages=old), begin()

        assert drained(one).key() == drained(begin(messages=[user("z")])).key()
        assert {type(machine.key()) for machine in (one, other)} == {tuple}

    def test_every_position_has_its_own(self) -> None:
        """Machines that wait for different things have different keys."""
        keys = [(drained(hand.machine).key(), name) for name, hand in positions()]

        assert len({key for key, _ in keys}) == len(keys)

    def test_abort_counts(self) -> None:
        """An aborted run is another one."""
        machine = drained(begin())
        aborted = machine.copy()
        aborted.abort()

        assert machine.key() != aborted.key()

    def test_what_was_noted_counts(self) -> None:
        """A machine with an outcome that it has not folded yet is another one, and it counts which."""
        machines = [drained(begin()) for _ in range(3)]
        machines[1].send(Polled(1))
        machines[2].send(Polled(1, (user("x"),)))

        assert len({machine.key() for machine in machines}) == 3

    def test_what_is_queued_counts(self) -> None:
        """Each step that is handed out changes the key, until the pause."""
        machine = begin()
        keys = [machine.key()]
        while machine.next() is not WAITING:
            keys.append(machine.key())

        assert len({*keys}) == len(keys)

    def test_the_tools_count(self) -> None:
        """Another tool, or another mode of one, is another future."""
        tools = [(Tool("work"),), (Tool("work", execution_mode="sequential"),), (Tool("walk"),)]

        assert len({drained(begin(tools=some)).key() for some in tools}) == 3

    @given(moves, st.sampled_from(ALL))
    def test_hashable_everywhere(self, moves: Moves, dialect: str) -> None:
        """At every step the key can be hashed, and reading it changes nothing."""
        machine = begin(dialect=dialect)
        for _ in walk(machine, moves):
            assert hash(machine.key()) == hash(machine.copy().key())

    @pytest.mark.parametrize(
        "other", [{"mode": "sequential"}, {"hooks": QUEUES}, {"dialect": "pi-0.80.2"}], ids=["mode", "hooks", "dialect"]
    )
    def test_the_setup_counts(self, other: Any) -> None:
        """Two runs that were set up differently do not have the same futures."""
        assert drained(begin()).key() != drained(begin(**other)).key()

    def test_terminate_counts_before_the_call_has_ended(self) -> None:
        """Whether a result says terminate decides the future, also while the after hook is asked."""
        hands = [self.executing(), self.executing()]
        hands[0].returned("c1", terminate=True)
        hands[1].returned("c1")
        keys = [hand.machine.key() for hand in hands]
        for hand in hands:
            hand.after("c1")

        assert hands[0].machine.control.chain != hands[1].machine.control.chain
        assert keys[0] != keys[1]

    def test_terminate_is_true_and_nothing_else(self) -> None:
        """Two noted answers of the after hook, one with true and one with 1, are different futures."""
        hands = [self.executing(), self.executing()]
        for hand, value in zip(hands, (True, 1), strict=True):
            hand.returned("c1")
            effect = hand.effect("AfterToolCall").id
            hand.machine.send(oc.AfterAnswered(effect, oc.ResultChanges(terminate=value)))

        assert hands[0].machine.key() != hands[1].machine.key()

    def test_hashable_whatever_a_hook_says(self) -> None:
        """The key can be hashed, though the after hook put a list where a flag belongs."""
        hand = self.executing()
        hand.returned("c1")
        effect = hand.effect("AfterToolCall").id
        hand.machine.send(oc.AfterAnswered(effect, oc.ResultChanges(terminate=[])))

        assert hash(hand.machine.key()) is not None

    def test_a_noted_change_of_tools_counts(self) -> None:
        """A preparation that was noted, and that will replace the tools, is another future than one that will not."""
        context = Context("", Transcript(), (Tool("work", execution_mode="sequential"),))
        machines = [self.preparing() for _ in range(2)]
        for machine, changes in zip(machines, (None, NextTurn(context)), strict=True):
            machine.send(oc.NextTurnPrepared(machine.awaited[0].id, changes))

        assert machines[0].key() != machines[1].key()

    @staticmethod
    def executing() -> Hand:
        """Return a run whose only tool runs."""
        hand = asked(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")
        return hand

    @staticmethod
    def preparing() -> Machine:
        """Return a run that waits for the preparation of its next turn."""
        return next(drained(hand.machine) for name, hand in positions() if name == "PrepareNextTurn")


class TestFutures:
    """The promise of a key, tried out: from equal keys, equal things follow."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_equal_keys_equal_futures(self, dialect: str) -> None:
        """Of all runs that there are, explored to the last state, those with equal keys go on alike."""
        found, wrong = explored(begin(dialect=dialect), 5000)

        assert wrong == []
        assert 500 < found < 5000

    @pytest.mark.parametrize("dialect", ALL)
    def test_with_noted_outcomes(self, dialect: str) -> None:
        """The same where an outcome was sent and not folded yet; there is no end to these."""
        assert explored(begin(dialect=dialect, hooks=["steering", "prepare_next_turn"]), 1500, noted=True) == (1500, [])


def explored(start: Machine, most: int, *, noted: bool = False) -> tuple[int, list[str]]:
    """Return how many keys were met, and a line for each two machines of one key that do not go on alike."""
    futures: dict[Any, dict[str, Any]] = {}
    waiting, wrong = deque([start]), list[str]()
    while waiting and len(futures) < most:
        machine = waiting.popleft()
        after = dict(ways_on(machine, noted=noted))
        told = {name: (said, other.key()) for name, (said, other) in after.items()}
        known = futures.setdefault(machine.key(), told)
        if known is told:
            waiting += [other for _, other in after.values()]
        elif known != told:
            wrong.append(f"{machine}: {[name for name in told if told[name] != known.get(name)]}")
    return len(futures), wrong


def ways_on(machine: Machine, *, noted: bool) -> Iterator[tuple[str, tuple[str, Machine]]]:
    """Yield what can happen next, what is handed out then, and the machine after it.

    Where machines with `noted` outcomes do not count, a step is taken right after an outcome was sent.
    """
    aborted = machine.copy()
    aborted.abort()
    if aborted.key() != machine.key():
        yield "abort", ("", aborted)
    stepped = machine.copy()
    if (step := stepped.next()) is not WAITING:
        yield "next", (name_of(step), stepped)
        return
    for name, outcome in possible(machine).items():
        sent = machine.copy()
        sent.send(outcome)
        yield name, ("" if noted else name_of(sent.next()), sent)


def name_of(step: Any) -> str:
    """Return the kind of a step or pause: what an observer sees of control, without what was said."""
    return repr(step) if step is WAITING or step is DONE else str(step.type)
