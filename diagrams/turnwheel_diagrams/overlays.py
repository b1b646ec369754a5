"""Runs drawn on the machine: how often each row fired, where a run is, and where two runs part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from attrs import evolve, frozen

from turnwheel.counting import Counts
from turnwheel.explaining import row_of
from turnwheel.recorded import RecordedDecision, Recording
from turnwheel.rules import QUIET, Dialect, Rule, Table
from turnwheel_diagrams.comparing import Divergence, decisions_of
from turnwheel_diagrams.graph import Edge, Graph, entry_of, merged, nodes_of, row_edges

FAILING: Final = "A run that fails goes from any state straight to Done, without an event."


@final
@frozen
class Place:
    """Where a run is in one machine: the state that it came to, and the row that fired last."""

    state: str
    rule: str


def place_of(recording: Recording, dialect: Dialect, machine: str) -> Place | None:
    """Return where a recorded run is, or ended; None where that machine took no decision.

    Raises ValueError, naming the position, for a decision that the dialect does not know.
    """
    last = None
    for decision in decisions_of(recording):
        rule = rule_of(decision, dialect)
        if decision.machine == machine:
            last = rule
    return None if last is None else Place(str(last.dest), last.name)


def rule_of(decision: RecordedDecision, dialect: Dialect) -> Rule:
    """Return the row that a decision is of. Raises ValueError, naming the position, where the dialect has none such."""
    try:
        return row_of(dialect, decision.machine, decision.rule)[1]
    except ValueError as error:
        raise ValueError(f"position {decision.at}: {error}") from error


def counted(
    table: Table,
    dialect: str,
    counts: Counts,
    *,
    place: Place | None = None,
    full: bool = False,
    notes: Sequence[str] = (),
) -> Graph:
    """Return the graph of a table with how often each row fired, and where a run is if `place` says so.

    Rows that leave no decision (those of a streaming delta, and those that only wait) have no count. In a reader's
    picture, ways to fail are drawn if they were taken.
    """
    fired = counts.of_machine(table.name)
    rows = [_counted(edge, fired, place) for edge in row_edges(table)]
    shown = rows if full else merged(row for row in rows if row.kind != "fail" or row.fired)
    hidden = () if len(shown) == len(rows) or all(row.kind != "fail" or row.fired for row in rows) else (FAILING,)
    nodes = [evolve(node, lit=place is not None and node.name == place.state) for node in nodes_of(table)]
    return Graph(dialect, table.name, nodes, (entry_of(table), *shown), full, (*notes, *hidden))


def _counted(edge: Edge, fired: Mapping[str, int], place: Place | None) -> Edge:
    (rule,) = edge.rules
    if rule.trigger in QUIET or rule.waits:
        return edge
    return evolve(edge, fired=fired.get(rule.name, 0), last=place is not None and place.rule == rule.name)


def parted(
    table: Table, dialect: str, counts: Counts, divergence: Divergence | None, *, full: bool, notes: Iterable[str]
) -> Graph:
    """Return the graph of two runs: what both fired together; the rows in which they part marked, their state lit."""
    graph = counted(table, dialect, counts, full=full, notes=tuple(notes))
    if divergence is None:
        return graph
    told = [each for each in (divergence.a, divergence.b) if each is not None and each.machine == table.name]
    names = {each.rule for each in told}
    edges = [evolve(edge, last=any(rule.name in names for rule in edge.rules)) for edge in graph.edges]
    sources = {str(rule.source) for rule in table.rules if rule.name in names}
    nodes = [evolve(node, lit=node.name in sources) for node in graph.nodes]
    return evolve(graph, edges=tuple(edges), nodes=nodes, marked="where the runs part")
