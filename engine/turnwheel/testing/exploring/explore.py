"""Explores every run of a dialect in a finite world, and reports what fires, what gets stuck and which claims break.

What states and edges are, `exploring.graph` says; what the world may do, `exploring.world`. The same bounds give the
same report, figure by figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from attrs import define, field, frozen

from turnwheel.rules import QUIET, Dialect
from turnwheel.testing.exploring.claims import Claim
from turnwheel.testing.exploring.graph import Arrow, Graph, Path
from turnwheel.testing.exploring.ways import GO_ON, Bounds

Progress = Callable[[int, int], object]
"""Hears from time to time how many states were found, and how many of them were walked."""
_EVERY: Final = 1000
GOES_ROUND: Final = "the machine goes round in circles, and nothing comes in from outside"


@final
@frozen
class Finding:
    """Something that is wrong, and the shortest path to it (numbers; `exploring.walk` puts it into words).

    `states` is the number of states in which it is wrong; 0 where they were not counted.
    """

    problem: str
    path: Path
    states: int = 0


@final
@frozen
class Report:
    """What exploring a dialect found.

    `paths` is the number of different runs, None where there are cycles; `depth` the number of edges to the state that
    is farthest from the start; `fired` the number of edges on which each rule fired, by table and name.
    """

    dialect: str
    bounds: Bounds
    places: int
    states: int
    edges: int
    paths: int | None
    depth: int
    fired: Mapping[str, Mapping[str, int]]
    dead_ends: Sequence[Finding]
    cycles: Sequence[Finding]
    claims: Sequence[Claim]
    broken: Mapping[Claim, Finding]
    """The claims that do not hold, each with what breaks it."""

    @property
    def never_fired(self) -> list[tuple[str, str]]:
        """The rules that never fired: table and name. Rows that leave no decision are not meant to."""
        return [(table, name) for table, rules in self.fired.items() for name, times in rules.items() if not times]

    @property
    def holds(self) -> bool:
        """Whether all claims hold, no run gets stuck, and none goes round in circles by itself."""
        return not (self.dead_ends or self.cycles or self.broken)


def explore(
    dialect: Dialect, bounds: Bounds | None = None, claims: Sequence[Claim] = (), progress: Progress | None = None
) -> Report:
    """Walk every run of `dialect` in a world of these bounds, and hold the claims against it.

    Raises Misuse where the dialect asks for an effect that the world does not know.
    """
    bounds = bounds if bounds is not None else Bounds()
    graph = Graph(dialect, bounds, claims)
    survey = _survey(graph, progress if progress is not None else lambda found, walked: None)
    return Report(
        dialect.name,
        bounds,
        graph.places,
        len(survey.found),
        survey.edges,
        _paths(graph, survey),
        max(survey.found.values()),
        _fired(graph, dialect),
        _dead_ends(graph, survey),
        _cycles(graph),
        tuple(claims),
        {claim: found for bit, claim in enumerate(claims) if (found := _broken(graph, claim, bit)) is not None},
    )


# --- walking the graph --------------------------------------------------------------------------------------------


@final
@define(eq=False)
class _Survey:
    """Every state with its distance from the start, how many edges lead to it, and the states without a way on."""

    found: dict[int, int]
    arrivals: dict[int, int] = field(factory=dict)
    ends: list[int] = field(factory=list)
    edges: int = 0


def _survey(graph: Graph, progress: Progress) -> _Survey:
    """Walk the graph breadth first."""
    size, arrows_of = graph.size, graph.arrows
    found = {graph.start: 0}
    survey = _Survey(found)
    arrivals, order = survey.arrivals, [graph.start]
    for walked, state in enumerate(order):
        if walked % _EVERY == 0:
            progress(len(order), walked)
        place, budget = divmod(state, size)
        farther, ends = found[state] + 1, True
        for arrow in arrows_of(place):
            left = arrow.left[budget]
            if left < 0:
                continue
            arrow.used += 1
            ends = ends and not arrow.goes_on
            target = arrow.target * size + left
            arrivals[target] = arrivals.get(target, 0) + 1
            if target not in found:
                found[target] = farther
                order.append(target)
        if ends:
            survey.ends.append(state)
    survey.edges = sum(arrivals.values())
    return survey


def _paths(graph: Graph, survey: _Survey) -> int | None:
    """Return the number of paths from the start to an end, or None where a state can be reached from itself."""
    size, arrows_of = graph.size, graph.arrows
    missing = dict(survey.arrivals)
    ways = {graph.start: 1}
    ready, ended, walked = [graph.start] if not missing.get(graph.start) else [], 0, 0
    while ready:
        state = ready.pop()
        walked += 1
        number, last = ways.pop(state), True
        place, budget = divmod(state, size)
        for arrow in arrows_of(place):
            left = arrow.left[budget]
            if left < 0:
                continue
            last = False
            target = arrow.target * size + left
            ways[target] = ways.get(target, 0) + number
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
        ended += number if last else 0
    return ended if walked == len(survey.found) else None


def _fired(graph: Graph, dialect: Dialect) -> dict[str, dict[str, int]]:
    fired = {
        table.name: {rule.name: 0 for rule in table.rules if rule.trigger not in QUIET and not rule.waits}
        for table in dialect.tables
    }
    for _, arrow in graph.all_arrows():
        for table, rule in arrow.fired:
            fired[table][rule] += arrow.used
    return fired


# --- what is wrong ------------------------------------------------------------------------------------------------


def _dead_ends(graph: Graph, survey: _Survey) -> list[Finding]:
    """Return each reason why a state that is not done has no way on, with the shortest path to such a state."""
    stuck: dict[str, list[int]] = {}
    for state in survey.ends:
        if problem := graph.dead_end(state):
            stuck.setdefault(problem, []).append(state)
    # States were found in the order of their distance, so the first one is as near as any.
    return [Finding(problem, _path_to(graph, states[0]), len(states)) for problem, states in stuck.items()]


def _cycles(graph: Graph) -> list[Finding]:
    """Return a cycle in which the machine goes on for ever and the world does nothing, if there is one."""
    onwards = {place: arrow.target for place, arrow in graph.all_arrows() if place and arrow.way is GO_ON}
    over: set[int] = set()
    for start in onwards:
        place, trail = start, set[int]()
        while place in onwards and place not in over:
            over.add(place)
            trail.add(place)
            place = onwards[place]
        if place in trail:
            return [Finding(GOES_ROUND, _path_to(graph, place * graph.size, graph.size))]
    return []


def _path_to(graph: Graph, first: int, number: int = 1) -> Path:
    """Return the shortest path to one of so many states, counted from the first one on."""
    return graph.search(lambda _, state: first <= state < first + number) or ()


def _broken(graph: Graph, claim: Claim, bit: int) -> Finding | None:
    """Return the shortest path that breaks a claim: one that a scenario can play, if there is one."""
    mark = 1 << bit

    def says(arrow: Arrow, wanted: bool) -> bool:
        return arrow.claims is not None and bool(arrow.claims & mark) is wanted

    def avoids(arrow: Arrow) -> bool:
        return not says(arrow, wanted=True)

    def playable(arrow: Arrow) -> bool:
        return not arrow.way.unplayable

    if claim.kind == "eventually":
        found = (
            graph.search(lambda _, state: graph.ends(state), lambda arrow: avoids(arrow) and playable(arrow))
            or graph.search(lambda _, state: graph.ends(state), avoids)
            or graph.cycle(avoids)
        )
    else:
        wrong = claim.kind == "never"
        found = graph.search(lambda arrow, _: says(arrow, wrong), playable) or graph.search(
            lambda arrow, _: says(arrow, wrong)
        )
    return None if found is None else Finding(f"{claim.kind} {claim.name}", found)
