"""The mutants of the engine: a machine that decides or hands out at the wrong moment, and tables of another order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast, final

from attrs import evolve

from turnwheel import table as rows
from turnwheel.check import build
from turnwheel.control import Control, all_terminate
from turnwheel.effects import ExecuteTool
from turnwheel.machine import DONE, WAITING, Machine
from turnwheel.outcomes import Outcome
from turnwheel.rules import Ask, Dialect, Emit, Guard, Not, Rule, State, Table, Trigger


class Wrapped:
    """A machine behind another one's face."""

    def __init__(self, machine: Machine) -> None:
        self._inner = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@final
class DecidesInSend(Wrapped):
    """Takes a decision as soon as an outcome is sent, before what was decided earlier has been handed out."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._steps: deque[Any] = deque()

    def next(self) -> Any:
        return self._steps.popleft() if self._steps else self._inner.next()

    def send(self, outcome: Outcome) -> None:
        self._inner.send(outcome)
        while (step := self._inner.next()) is not WAITING and step is not DONE:
            self._steps.append(step)

    def fail(self, error: BaseException | str) -> None:
        self._steps.clear()
        self._inner.fail(error)


@final
class StartsToolsLate(Wrapped):
    """Starts tools only when nothing else is left to do, and then all of them, as deferred tasks would."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._held: deque[ExecuteTool] = deque()
        self._due: deque[ExecuteTool] = deque()

    def next(self) -> Any:
        while not self._due:
            step = self._inner.next()
            if isinstance(step, ExecuteTool):
                self._held.append(step)
            elif step is WAITING and self._held:
                self._due, self._held = self._held, deque()
            else:
                return step
        return self._due.popleft()

    def fail(self, error: BaseException | str) -> None:
        self._held.clear()
        self._due.clear()
        self._inner.fail(error)


@final
class ReadsAbortOnceABatch(Wrapped):
    """Does not hear of an abort while a batch is executed."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._held: list[str | None] = []

    def next(self) -> Any:
        if self._inner.state is not State.ExecutingTools:
            while self._held:
                self._inner.abort(self._held.pop())
        return self._inner.next()

    def abort(self, reason: str | None = None) -> None:
        self._held.append(reason)


AROUND: Final[Mapping[str, Callable[[Machine], Machine]]] = {
    "decides in send": lambda machine: cast(Machine, DecidesInSend(machine)),
    "starts tools late": lambda machine: cast(Machine, StartsToolsLate(machine)),
    "reads abort once a batch": lambda machine: cast(Machine, ReadsAbortOnceABatch(machine)),
}
"""What is put in front of a machine."""


def of_tables(dialect: Dialect) -> Mapping[str, Dialect]:
    """Return the dialects of another order."""
    found = {
        "swaps the two polls": [_swapped(rule) for rule in dialect.loop.rules],
        "any instead of every": [_with_any(rule) for rule in dialect.loop.rules],
    }
    if dialect.name in _MOVED:
        found["moves prepareNextTurn"] = list(_MOVED[dialect.name])
    return {name: evolve(dialect, loop=_loop(rules)) for name, rules in found.items()}


def _loop(rules: Sequence[Rule]) -> Table:
    return build("loop", Control, State.AwaitSteering, State.Done, rules)


_POLLS: Final = {Ask.poll_steering: Ask.poll_follow_up, Ask.poll_follow_up: Ask.poll_steering}
_POLLED: Final = {Trigger.steering: Trigger.follow_up, Trigger.follow_up: Trigger.steering}


def _swapped(rule: Rule) -> Rule:
    asks = rule.asks if rule.asks is None else _POLLS.get(rule.asks, rule.asks)
    return evolve(rule, trigger=_POLLED.get(rule.trigger, rule.trigger), asks=asks)


_ANY: Final = Guard("any_terminates", "some result of the batch says terminate", lambda c: c.terminating > 0)


def _with_any(rule: Rule) -> Rule:
    def loose(condition: Guard | Not) -> Guard | Not:
        if isinstance(condition, Not):
            return Not(_ANY) if condition.guard is all_terminate else condition
        return _ANY if condition is all_terminate else condition

    return evolve(rule, when=[loose(condition) for condition in rule.when])


_COMMON: Final = (*rows.LOOP, *rows.STOP_HOOK)
_REFUSALS: Final = [rule for rule in rows.STOP_QUESTION_FIRST if Emit.refusals in rule.emits]
_MOVED: Final[Mapping[str, Sequence[Rule]]] = {
    "pi-0.80.2": (
        *_COMMON,
        *(rule for rule in rows.STOP_QUESTION_FIRST if rule not in _REFUSALS),
        *rows.PREPARATION_BEFORE_THE_NEXT_TURN,
        *rows.CUT_OFF_CALLS_RUN,
    ),
    "pi-0.85.1": (
        *_COMMON,
        *rows.PREPARATION_AFTER_EVERY_TURN,
        *(evolve(rule, asks=Ask.prepare_next_turn) for rule in _REFUSALS),
        *rows.CUT_OFF_CALLS_FAIL,
    ),
}
"""The loops of two dialects with each other's moment of preparation."""
