"""A machine in the finite world: what may happen next, and what follows until the next decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final, final, get_args

from attrs import evolve, frozen

from turnwheel.control import Control
from turnwheel.effects import AfterToolCall, CallModel, Effect, ExecuteTool
from turnwheel.errors import TableError
from turnwheel.events import Event
from turnwheel.machine import DONE, WAITING, Machine, Pause
from turnwheel.rules import Decision, Dialect, Guard, State, Table, Trigger
from turnwheel.testing.exploring.ways import ABORT, BREAK_OFF, GO_ON, Bounds, Scene, Way
from turnwheel.testing.exploring.world import BROKEN, STARTS, begun, kind_of

EFFECTS: Final = get_args(Effect)
_ENDLESS: Final = 1000
"""A step that takes more decisions than this one is taken for one that never comes."""


@final
@frozen
class Moment:
    """What the machine does between two points at which the world may do something.

    `control` are the facts after the decisions that were taken, `awaited` the effects that are not answered yet. The
    steps all follow from the decisions; where the run is aborted, there are neither.
    """

    control: Control
    decisions: Sequence[Decision]
    events: Sequence[Event]
    effects: Sequence[Effect]
    awaited: Sequence[Effect]

    @property
    def state(self) -> State:
        """The state after it."""
        return self.control.state


class Endless(TableError):
    """The machine decides and decides, and neither hands out a step nor waits."""


@final
class Watched:
    """A dialect whose machines are stopped where they would decide for ever without handing out a step."""

    def __init__(self, dialect: Dialect) -> None:
        guard = Guard("watched", "counts decisions, and is never true", self._count)
        loop, batch, call = (self._table(table, guard) for table in dialect.tables)
        self.dialect = evolve(dialect, loop=loop, batch=batch, call=call)
        self._decisions = 0

    def next(self, machine: Machine) -> Any:
        """Return the machine's next step. Raises Endless, and TableError where there is no row."""
        self._decisions = 0
        try:
            return machine.next()
        except KeyError as error:
            if not isinstance(error.args[0], Trigger):
                raise
            raise TableError(f"no table has a row for {error.args[0]}") from error

    def _table(self, table: Table, guard: Guard) -> Table:
        # The last guard is the highest bit: that it is never set leaves the verdicts where they are.
        choices = {at: evolve(choice, guards=(*choice.guards, guard)) for at, choice in table.choices.items()}
        return evolve(table, choices=choices)

    def _count(self, _: Any) -> bool:
        self._decisions += 1
        if self._decisions > _ENDLESS:
            raise Endless("the machine goes round in circles without handing out a step")
        return False


@cache
def watched(dialect: Dialect) -> Watched:
    """Return the dialect, watched; made once, since its tables are loaded anew."""
    return Watched(dialect)


@final
class Standing:
    """Where a run stands: its machine, at a point where the world may do something."""

    def __init__(self, under: Watched, machine: Machine, executions: Mapping[str, int]) -> None:
        self.machine = machine
        self._under = under
        self._executions = executions

    @cached_property
    def pause(self) -> Pause | None:
        """Whether it waits for the world, or is done; None where a decision is due."""
        ahead = self.machine.copy()
        try:
            step = self._under.next(ahead)
        except TableError:
            return None
        return step if isinstance(step, Pause) and not ahead.decided else None

    def ways(self, bounds: Bounds) -> Iterator[Way]:
        """Yield what the world may do. Raises Misuse for an effect that it does not know."""
        if self.pause is DONE:
            return
        machine = self.machine
        if self.pause is WAITING:
            awaited = machine.awaited
            control = machine.control
            hook_waits = any(isinstance(effect, AfterToolCall) for effect in awaited)
            scene = Scene(bounds, control.shown, hook_waits, self._executions)
            for effect in awaited:
                yield from kind_of(effect).ways(effect, scene)
        else:
            yield GO_ON
        if not machine.control.aborted:
            yield ABORT
        if bounds.failures:
            yield BREAK_OFF

    def after(self, way: Way) -> tuple[Standing, Moment]:
        """Return where the run stands after the world did this, and what happened.

        Raises TableError where the machine cannot go on.
        """
        machine = self.machine.copy()
        if way is ABORT:
            machine.abort()
            return self._stands(machine, (), ())
        if way is BREAK_OFF:
            machine.fail(BROKEN)
        for outcome in way.outcomes:
            machine.send(outcome)
        return self._stands(*self._burst(machine))

    def _burst(self, machine: Machine) -> tuple[Machine, list[Decision], list[Any]]:
        """Take the decision that is due, and all steps that follow from it."""
        decisions: list[Decision] = []
        steps: list[Any] = []
        while True:
            ahead = machine.copy()
            try:
                step = self._under.next(ahead)
            except TableError:
                if decisions or steps:
                    return machine, decisions, steps
                raise
            if ahead.decided and (decisions or steps):
                return machine, decisions, steps
            decisions += ahead.decided
            machine = ahead
            if isinstance(step, Pause):
                return machine, decisions, steps
            steps.append(step)

    def _stands(self, machine: Machine, decisions: Sequence[Decision], steps: Sequence[Any]) -> tuple[Standing, Moment]:
        effects = [step for step in steps if isinstance(step, EFFECTS)]
        executions = self._executions
        for effect in effects:
            if isinstance(effect, CallModel):
                executions = {}
            elif isinstance(effect, ExecuteTool):
                executions = {**executions, effect.call.id: effect.id}
        events = [step for step in steps if not isinstance(step, EFFECTS)]
        moment = Moment(machine.control, decisions, events, effects, machine.awaited)
        return Standing(self._under, machine, executions), moment


def standing_at_start(dialect: Dialect) -> list[Standing]:
    """Return where a run stands before it has begun, for each way in which it may begin."""
    under = watched(dialect)
    machines = [Machine(begun(start, under.dialect), under.dialect) for start in range(len(STARTS))]
    return [Standing(under, machine, {}) for machine in machines]
