"""Walks one path through the finite world again: step by step, in words, and as a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, final

from attrs import frozen

from turnwheel.effects import CallModel
from turnwheel.errors import TableError, UnexpectedOutcome
from turnwheel.messages import ABSENT
from turnwheel.rules import Dialect
from turnwheel.testing.exploring.graph import Path
from turnwheel.testing.exploring.script import call_of
from turnwheel.testing.exploring.standing import Moment, Standing, standing_at_start
from turnwheel.testing.exploring.ways import ABORT, Bounds, Way
from turnwheel.testing.exploring.world import STARTS, kind_of, script


class Unplayable(Exception):
    """No scenario can bring this path about. The text says which step is to blame."""


@final
@frozen
class Step:
    """One thing that the world did, and what happened then; `moment` None where the machine could not go on."""

    way: Way
    moment: Moment | None
    standing: Standing


def walk(dialect: Dialect, bounds: Bounds, path: Path) -> Iterator[Step]:
    """Yield the steps of a path, the first of which says how the run begins. Raises IndexError for one that is none."""
    start, *numbers = path
    standing = standing_at_start(dialect)[start]
    machine = standing.machine
    yield Step(Way(STARTS[start][0]), Moment(machine.control, (), (), (), ()), standing)
    for number in numbers:
        way = next(islice(standing.ways(bounds), number, None), None)
        if way is None:
            raise IndexError(
                f"{standing.machine} has no way {number}: another world, or a key that leaves something out"
            )
        try:
            standing, moment = standing.after(way)
        except (TableError, UnexpectedOutcome):
            yield Step(way, None, standing)
            return
        yield Step(way, moment, standing)


# --- in words -----------------------------------------------------------------------------------------------------


def in_words(dialect: Dialect, bounds: Bounds, path: Path) -> Iterator[str]:
    """Yield the steps of a path, a line each: what the world does, and what follows from it."""
    for step in walk(dialect, bounds, path):
        yield f"{step.way.name}{_consequence(step)}"


def _consequence(step: Step) -> str:
    if step.moment is None:
        return " → the machine cannot go on"
    moment = step.moment
    parts = []
    if moment.events:
        parts.append(f"emits {', '.join(event.type for event in moment.events)}")
    parts += [f"asks {_effect(effect)}" for effect in moment.effects]
    if moment.decisions:
        parts.append(f"in {moment.state}")
    return f" → {'; '.join(parts)}" if parts else ""


def _effect(effect: Any) -> str:
    call = call_of(effect)
    return f"{type(effect).__name__} of {call}" if call else type(effect).__name__


# --- as a scenario ------------------------------------------------------------------------------------------------


def as_scenario(dialect: Dialect, bounds: Bounds, path: Path, name: str = "") -> dict[str, Any]:
    """Return the scenario, as JSON data, that plays this path: its run takes the same decisions, and ends somehow.

    Raises Unplayable where a step of it is none that the sync driver can be brought to.
    """
    steps = list(walk(dialect, bounds, path))
    written = script(name, dialect)
    written.begin(STARTS[path[0]][2])
    for step in steps:
        way = step.way
        if way.unplayable:
            raise Unplayable(f"no scenario can say this: {way.name} ({way.unplayable})")
        if way is ABORT:
            written.abort()
        elif way.effect is not None and way.said is not ABSENT:
            kind = kind_of(way.effect)
            kind.note(written, kind.where, way.effect, way.said)
        for _ in step.moment.events if step.moment else ():
            written.emitted()
        for effect in step.moment.effects if step.moment else ():
            written.asked(effect, kind_of(effect).call)
    last = steps[-1].standing.machine
    answering = any(isinstance(effect, CallModel) for effect in last.awaited)
    return written.finish(shown=answering and last.control.shown)
