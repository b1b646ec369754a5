"""The graph of all runs in the finite world: the places of the machine, times what the world has left to give.

A *place* is a control state of the machine (Machine.key) at a point where the world may do something: answer, abort,
break the run off, or let the machine take its next decision. A *state* is a place and what the world still has to give.
An *edge* is one thing that the world does in a state, with all that the machine does up to its next decision. Machines
of one place have the same future, so each place is walked once, however much the world has left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import product
from typing import Final, final

from attrs import define

from turnwheel.errors import TableError, UnexpectedOutcome
from turnwheel.machine import DONE
from turnwheel.rules import Dialect
from turnwheel.testing.exploring.claims import Claim
from turnwheel.testing.exploring.standing import Moment, Standing, standing_at_start
from turnwheel.testing.exploring.ways import ABORT, BREAK_OFF, GO_ON, Bounds, Budget, Way

Path = tuple[int, ...]
"""A way through the graph: which of the ways was taken, time after time; the first number says how the run begins."""
NOTHING_OUTSTANDING: Final = "the machine waits, and nothing is outstanding that the world could answer"


@final
@define(eq=False)
class Arrow:
    """An edge of a place: it leads to `target` wherever the budget allows it, and leaves `left` of that."""

    number: int
    target: int
    left: Sequence[int]
    """For each budget what is left after it, as a number; -1 where it cannot be taken."""
    fired: Sequence[tuple[str, str]] = ()
    """The rules that fired: table and name."""
    claims: int | None = None
    """The claims that hold on it, as bits; None where nothing happens."""
    way: Way = GO_ON
    used: int = 0
    """In how many states it was taken."""

    @property
    def goes_on(self) -> bool:
        """Whether it is a way on: an abort or a break-off happens to a run, and leads it nowhere by itself."""
        return self.way is not ABORT and self.way is not BREAK_OFF


@final
class Graph:
    """All states and edges; state numbers are stable within one graph."""

    def __init__(self, dialect: Dialect, bounds: Bounds, claims: Sequence[Claim] = ()) -> None:
        self._bounds = bounds
        self._claims = claims
        left = Budget(bounds.turns, bounds.queue, bounds.queue)
        self._budgets = [Budget(*parts) for parts in product(*(range(most + 1) for most in left))]
        self._numbers = {budget: number for number, budget in enumerate(self._budgets)}
        self._tables: dict[tuple[Budget, bool, bool], Sequence[int]] = {}
        self._places: dict[Hashable, int] = {"the start": 0}
        self._standings: list[Standing | None] = [None]
        self._problems: dict[int, str] = {}
        """Why the machine cannot go on, for places that stand for that."""
        self._arrows: list[list[Arrow] | None] = [None]
        self._arrows[0] = self._begin(dialect)
        self.size: Final = len(self._budgets)
        """How many budgets there are; a state's number is that of its place times this, plus that of its budget."""
        self.start: Final = self._numbers[left]
        """The state before the run begins."""

    @property
    def places(self) -> int:
        """How many places were found so far, the one before the run begins not counted."""
        return len(self._standings) - 1

    def arrows(self, place: int) -> list[Arrow]:
        """Return the edges of a place."""
        found = self._arrows[place]
        if found is None:
            found = self._arrows[place] = self._walk(place)
        return found

    def all_arrows(self) -> Iterator[tuple[int, Arrow]]:
        """Yield each edge of the places that were walked, with its place."""
        for place, arrows in enumerate(self._arrows):
            for arrow in arrows or ():
                yield place, arrow

    def edges(self, state: int) -> Iterator[tuple[Arrow, int]]:
        """Yield the edges of a state, with the state that each leads to."""
        place, budget = divmod(state, self.size)
        for arrow in self.arrows(place):
            if (left := arrow.left[budget]) >= 0:
                yield arrow, arrow.target * self.size + left

    def done(self, state: int) -> bool:
        """Say whether the run is over in this state."""
        standing = self._standings[state // self.size]
        return standing is not None and standing.pause is DONE

    def dead_end(self, state: int) -> str:
        """Return why there is no way on from a state that is not done; nothing where there is one."""
        if self.done(state) or any(arrow.goes_on for arrow, _ in self.edges(state)):
            return ""
        return self._problems.get(state // self.size, NOTHING_OUTSTANDING)

    def ends(self, state: int) -> bool:
        """Say whether a run that is in this state comes to no other one by itself: it is done, or a dead end."""
        return self.done(state) or self.dead_end(state) != ""

    def search(
        self, goal: Callable[[Arrow, int], bool], allowed: Callable[[Arrow], bool] = lambda _: True
    ) -> Path | None:
        """Return the shortest path over edges that are `allowed`, up to an edge and state that are the `goal`."""
        came: dict[int, tuple[int, int]] = {self.start: (self.start, 0)}
        waiting = deque([self.start])
        while waiting:
            state = waiting.popleft()
            for arrow, target in self.edges(state):
                if not allowed(arrow):
                    continue
                if goal(arrow, target):
                    return (*self._back(came, state), arrow.number)
                if target not in came:
                    came[target] = (state, arrow.number)
                    waiting.append(target)
        return None

    def cycle(self, allowed: Callable[[Arrow], bool]) -> Path | None:
        """Return a path over edges that are `allowed` that comes back to a state of its own; None if there is none."""
        on_path = {self.start}
        seen = {self.start}
        trail = [(self.start, 0, self.edges(self.start))]
        while trail:
            state, _, rest = trail[-1]
            for arrow, target in rest:
                if allowed(arrow) and target in on_path:
                    return (*(number for _, number, _ in trail[1:]), arrow.number)
                if allowed(arrow) and target not in seen:
                    seen.add(target)
                    on_path.add(target)
                    trail.append((target, arrow.number, self.edges(target)))
                    break
            else:
                trail.pop()
                on_path.remove(state)
        return None

    def _back(self, came: dict[int, tuple[int, int]], state: int) -> Path:
        path: list[int] = []
        while state != self.start:
            state, number = came[state]
            path.append(number)
        return tuple(reversed(path))

    # --- walking --------------------------------------------------------------------------------------------------

    def _begin(self, dialect: Dialect) -> list[Arrow]:
        free = self._left(GO_ON)
        return [
            Arrow(number, self._place(standing.machine.key(), standing), free)
            for number, standing in enumerate(standing_at_start(dialect))
        ]

    def _walk(self, place: int) -> list[Arrow]:
        standing = self._standings[place]
        if standing is None:
            return []
        return [self._arrow(standing, number, way) for number, way in enumerate(standing.ways(self._bounds))]

    def _arrow(self, standing: Standing, number: int, way: Way) -> Arrow:
        left = self._left(way)
        try:
            after, moment = standing.after(way)
        except (TableError, UnexpectedOutcome) as error:
            place = self._place(("stuck", str(error)), None)
            self._problems[place] = str(error)
            return Arrow(number, place, left, way=way)
        fired = tuple((decision.machine, decision.rule.name) for decision in moment.decisions)
        target = self._place(after.machine.key(), after)
        return Arrow(number, target, left, fired, self._holding(moment), way)

    def _place(self, key: Hashable, standing: Standing | None) -> int:
        place = self._places.setdefault(key, len(self._standings))
        if place == len(self._standings):
            self._standings.append(standing)
            self._arrows.append(None)
        return place

    def _holding(self, moment: Moment) -> int:
        return sum(1 << bit for bit, claim in enumerate(self._claims) if claim.holds(moment))

    def _left(self, way: Way) -> Sequence[int]:
        kind = (way.spends, way.needs_turn, way.exhausted)
        if kind not in self._tables:
            after = [way.left(budget) for budget in self._budgets]
            self._tables[kind] = [-1 if left is None else self._numbers[left] for left in after]
        return self._tables[kind]
