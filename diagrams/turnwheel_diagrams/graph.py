"""A table as a graph: states are nodes, rows are edges. What is drawn, before anybody says how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, final

from attrs import evolve, frozen

from turnwheel.rules import Rule, Table, Trigger

EdgeKind = Literal["entry", "go", "stay", "end", "hard stop", "fail"]
"""What an edge means: the way in, on, back into the same state, to the end, on from a failed answer, out."""

Change = Literal["kept", "added", "gone", "changed"]
"""What became of a row from one dialect to another."""

HARD_STOP: Final = "hard_stop"
"""The guard that says that the answer failed or was aborted."""
ENTRY: Final = "entry"
"""The name of the point at which a trace begins."""
FAILURES: Final = "A run that fails goes from any state straight to Done, without an event."


@final
@frozen
class Row:
    """A row of the table; `number` is its place there.

    In the picture of runs, `fired` is how often it fired (None where its firing leaves no decision), and `mark` says
    in a word or two what is special about it.
    """

    number: int
    rule: Rule
    fired: int | None = None
    mark: str = ""


@final
@frozen
class Node:
    """A state; `final` is the one in which a trace ends, `lit` the one in which a run is."""

    name: str
    final: bool = False
    lit: bool = False


@final
@frozen
class Edge:
    """One row, or in a reader's picture all rows between the same two states that mean the same kind of step.

    `change` is set in the picture of a difference.
    """

    source: str
    dest: str
    kind: EdgeKind
    rows: Sequence[Row] = ()
    change: Change | None = None

    @property
    def fired(self) -> int | None:
        """How often its rows fired, or None where nobody has counted."""
        counted = [row.fired for row in self.rows if row.fired is not None]
        return sum(counted) if counted else None

    @property
    def marked(self) -> bool:
        """Whether one of its rows is special."""
        return any(row.mark for row in self.rows)


@final
@frozen
class Graph:
    """What there is to draw of one table; `full` where every row is an edge of its own.

    `notes` are for what has no place in the picture, `left_out` are edges that would only be in the way.
    """

    dialect: str
    machine: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    full: bool = False
    notes: Sequence[str] = ()
    left_out: Sequence[Edge] = ()

    @property
    def title(self) -> str:
        """The name of the picture."""
        return f"{self.dialect} {self.machine}"

    @property
    def arrows(self) -> list[Edge]:
        """The edges that are drawn as such: in full all of them, else those that lead to another state."""
        return [edge for edge in self.edges if self.full or edge.kind != "stay"]

    def inside(self, node: Node) -> list[Edge]:
        """Return the edges that a reader finds written inside a state, since they stay there."""
        return [] if self.full else [edge for edge in self.edges if edge.kind == "stay" and edge.source == node.name]


def graph_of(table: Table, dialect: str, *, full: bool = False) -> Graph:
    """Return the graph of a table: for a reader, or in full, where each row is exactly one edge.

    A reader's picture merges the rows between two states, and says of the ways to fail in a note only.
    """
    rows = row_edges(table)
    if full:
        return Graph(dialect, table.name, nodes_of(table), (entry_of(table), *rows), full)
    failing = merged(edge for edge in rows if edge.kind == "fail")
    shown = merged(edge for edge in rows if edge.kind != "fail")
    notes = (FAILURES,) if failing else ()
    return Graph(dialect, table.name, nodes_of(table), (entry_of(table), *shown), full, notes, failing)


def entry_of(table: Table) -> Edge:
    """Return the edge by which a trace comes in; it is no row."""
    return Edge(ENTRY, str(table.initial), "entry")


def nodes_of(table: Table) -> list[Node]:
    """Return the states of a table."""
    return [Node(str(state), state is table.final) for state in table.states]


def row_edges(table: Table) -> list[Edge]:
    """Return one edge for each row of a table, in its order."""
    return [
        Edge(str(rule.source), str(rule.dest), _kind(rule, table), (Row(number, rule),))
        for number, rule in enumerate(table.rules)
    ]


def merged(edges: Iterable[Edge]) -> list[Edge]:
    """Return the edges with those put together that lead between the same states and mean the same."""
    together: dict[tuple[str, str, EdgeKind, Change | None], Edge] = {}
    for edge in edges:
        at = (edge.source, edge.dest, edge.kind, edge.change)
        first = together.get(at)
        together[at] = edge if first is None else evolve(first, rows=(*first.rows, *edge.rows))
    return list(together.values())


def _kind(rule: Rule, table: Table) -> EdgeKind:
    if rule.trigger is Trigger.failed or rule.sets.get("failed"):
        return "fail"
    if rule.requires().get(HARD_STOP):
        return "hard stop"
    if rule.dest is table.final and rule.source is not table.final:
        return "end"
    return "stay" if rule.source is rule.dest else "go"
