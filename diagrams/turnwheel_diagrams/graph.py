"""A table as a graph: states are nodes, rows are edges. What is drawn, before anybody says how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, final

from attrs import evolve, frozen

from turnwheel.rules import Ask, Rule, Table, Trigger

EdgeKind = Literal["entry", "go", "stay", "end", "hard stop", "fail"]
"""What an edge means: the way in, on, back into the same state, to the end, on from a failed answer, out."""

Change = Literal["kept", "added", "gone", "changed"]
"""What became of a row from one dialect to another."""

HARD_STOP: Final = "hard_stop"
"""The guard that says that the answer failed or was aborted."""
ENTRY: Final = "entry"
"""The name of the point at which a trace begins."""


@final
@frozen
class Node:
    """A state. `asks` are the effects that are outstanding while the machine waits there; `lit` marks where it is."""

    name: str
    asks: Sequence[str] = ()
    final: bool = False
    lit: bool = False


@final
@frozen
class Edge:
    """One row, or in a reader's picture all rows between the same two states that mean the same kind of step.

    `numbers` are the places of the rows in their table. `change` is set in the picture of a difference; `fired`, how
    often the rows fired, and `last`, whether the last decision was one of them, in the picture of runs. `notes` are
    the numbers, from 1, of the notes of the graph that say more about each of the rows; there may be none.
    """

    source: str
    dest: str
    kind: EdgeKind
    rules: Sequence[Rule] = ()
    numbers: Sequence[int] = ()
    change: Change | None = None
    fired: int | None = None
    last: bool = False
    notes: Sequence[int] = ()


@final
@frozen
class Graph:
    """What there is to draw of one table; `full` where every row is an edge of its own, `notes` for what has none.

    In the picture of a difference the notes say what became of each row that changed. `marked` says what it means that
    an edge is marked as the last one.
    """

    dialect: str
    machine: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    full: bool = False
    notes: Sequence[str] = ()
    marked: str = "fired last"

    @property
    def title(self) -> str:
        """The name of the picture."""
        return f"{self.dialect} {self.machine}"


def graph_of(table: Table, dialect: str, *, full: bool = False) -> Graph:
    """Return the graph of a table: for a reader, or in full, where each row is exactly one edge.

    A reader's picture merges the rows between two states, and says of the ways to fail in a note only.
    """
    rows = row_edges(table)
    notes: tuple[str, ...] = ()
    if not full:
        failing = [edge for edge in rows if edge.kind == "fail"]
        notes = ("A run that fails goes from any state straight to Done, without an event.",) if failing else ()
        rows = merged(edge for edge in rows if edge.kind != "fail")
    return Graph(dialect, table.name, nodes_of(table), (entry_of(table), *rows), full, notes)


def entry_of(table: Table) -> Edge:
    """Return the edge by which a trace comes in; it is no row."""
    return Edge(ENTRY, str(table.initial), "entry")


def nodes_of(table: Table) -> list[Node]:
    """Return the states of a table."""
    return [Node(str(state), _asked_in(table, str(state)), state is table.final) for state in table.states]


def row_edges(table: Table) -> list[Edge]:
    """Return one edge for each row of a table, in its order."""
    return [
        Edge(str(rule.source), str(rule.dest), _kind(rule, table), (rule,), (number,))
        for number, rule in enumerate(table.rules)
    ]


def merged(rows: Iterable[Edge]) -> list[Edge]:
    """Return the edges with those put together that lead between the same states and mean the same."""
    together: dict[tuple[str, str, EdgeKind, Change | None], Edge] = {}
    for row in rows:
        at = (row.source, row.dest, row.kind, row.change)
        first = together.get(at)
        together[at] = (
            row
            if first is None
            else evolve(
                first,
                rules=(*first.rules, *row.rules),
                numbers=(*first.numbers, *row.numbers),
                fired=first.fired if row.fired is None else row.fired + (first.fired or 0),
                last=first.last or row.last,
                notes=(*first.notes, *row.notes),
            )
        )
    return list(together.values())


def _asked_in(table: Table, state: str) -> tuple[str, ...]:
    asked = [rule.asks for rule in table.rules if rule.dest == state and rule.asks is not None]
    return tuple(dict.fromkeys(str(ask) for ask in asked if ask is not Ask.look_again))


def _kind(rule: Rule, table: Table) -> EdgeKind:
    if rule.trigger is Trigger.failed or rule.sets.get("failed"):
        return "fail"
    if rule.requires().get(HARD_STOP):
        return "hard stop"
    if rule.dest is table.final and rule.source is not table.final:
        return "end"
    return "stay" if rule.source is rule.dest else "go"
