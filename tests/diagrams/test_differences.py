"""The picture of a difference has exactly the rows that differ, and says why each is there."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

from tests.diagrams.parsed import Row, dot_edges, mermaid_edges, row_of
from turnwheel.difference import TableDifference, diff
from turnwheel.rules import Table
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import Change, Graph, graph_of
from turnwheel_diagrams.mermaid import to_mermaid

CASES = [
    (before, after, machine) for before, after in permutations(DIALECTS, 2) for machine in ("loop", "batch", "call")
]

cases = pytest.mark.parametrize(("before", "after", "machine"), CASES)


def told(before: str, after: str, machine: str) -> TableDifference:
    """Return in what the tables of that name differ, as the engine says."""
    tables = {table.table: table for table in diff(dialect(before), dialect(after)).tables}
    return tables.get(machine) or TableDifference(machine, (), (), ())


def drawn(before: str, after: str, machine: str, *, full: bool = False) -> Graph:
    """Return the picture of the difference."""
    return difference_of(dialect(before), dialect(after), machine, full=full)


def table_of(name: str, machine: str) -> Table:
    """Return a table of a dialect."""
    return {table.name: table for table in dialect(name).tables}[machine]


def with_change(graph: Graph, change: Change) -> Counter[Row]:
    """Return the rows of a picture that are marked with a change."""
    return Counter(row_of(rule) for edge in graph.edges if edge.change == change for rule in edge.rules)


@cases
class TestRows:
    """The rows of the picture."""

    @pytest.mark.parametrize("full", [False, True], ids=["reader", "full"])
    def test_are_those_of_the_difference(self, before: str, after: str, machine: str, full: bool) -> None:
        """Exactly the rows that are added, gone and changed are marked so; a changed one is drawn as it is now."""
        graph, table = drawn(before, after, machine, full=full), told(before, after, machine)

        assert with_change(graph, "added") == Counter(map(row_of, table.added))
        assert with_change(graph, "gone") == Counter(map(row_of, table.gone))
        assert with_change(graph, "changed") == Counter(row_of(rule) for _, rule in table.changed)

    def test_the_others_are_kept(self, before: str, after: str, machine: str) -> None:
        """In full, every row of the later table is drawn; those that do not differ are marked as kept."""
        graph, table = drawn(before, after, machine, full=True), told(before, after, machine)
        new = Counter(row_of(rule) for rule in (*table.added, *(rule for _, rule in table.changed)))

        assert with_change(graph, "kept") == Counter(map(row_of, table_of(after, machine).rules)) - new

    def test_can_be_read_in_dot_and_mermaid(self, before: str, after: str, machine: str) -> None:
        """The labels tell of exactly the rows that differ, each behind the number of its note."""
        graph, table = drawn(before, after, machine), told(before, after, machine)
        rows = (*table.added, *table.gone, *(rule for _, rule in table.changed))
        dot, mermaid = (
            sorted((edge.source, edge.dest, line) for edge in edges for line in edge.lines)
            for edges in (dot_edges(to_dot(graph)), mermaid_edges(to_mermaid(graph)))
        )

        assert len(dot) == len(mermaid) == len(rows) == len(graph.notes)
        assert sorted(int(line.split()[0]) for *_, line in dot) == list(range(1, len(rows) + 1))
        assert sorted(int(line.split(":")[0]) for *_, line in mermaid) == list(range(1, len(rows) + 1))

    def test_have_ids_of_their_own(self, before: str, after: str, machine: str) -> None:
        """No two edges have the same number; rows that are gone come behind those of the later table."""
        edges = drawn(before, after, machine, full=True).edges
        numbers = [number for edge in edges for number in edge.numbers]

        assert numbers == list(range(len(numbers)))
        assert all(
            (edge.change == "gone") == (edge.numbers[0] >= len(table_of(after, machine).rules))
            for edge in edges
            if edge.numbers
        )


@cases
class TestNotes:
    """The notes of the picture."""

    def test_one_for_each_change(self, before: str, after: str, machine: str) -> None:
        """The note under a row's number says what became of it, its name and its reason."""
        graph = drawn(before, after, machine)
        noted = [
            (graph.notes[number - 1], edge.change, rule)
            for edge in graph.edges
            for rule, number in zip(edge.rules, edge.notes, strict=True)
        ]

        assert len(noted) == len(graph.notes)
        for note, change, rule in noted:
            assert note.startswith(f"{change}: {rule.name} → {rule.dest}")
            assert note.endswith(f". {rule.why}")


class TestChangedRows:
    """The note of a row that does something else than before."""

    def test_says_what_it_did(self) -> None:
        """Only what is different is told, in the signs of the picture."""
        notes = drawn("pi-0.80.2", "pi-0.85.1", "loop").notes

        assert (
            "changed: ExecutingTools ready all_terminate → TurnEnd (before: → PrepareNextTurn). "
            "Every tool of the batch said that it was the last one: every, not some."
        ) in notes
        assert any("(before: to Streaming / turn_start, pending messages → CallModel)" in note for note in notes)

    def test_says_that_it_did_nothing(self) -> None:
        """Where a row emits or asks for something that it did not before, that is told."""
        notes = drawn("pi-1.6.0", "pi-0.85.1", "loop").notes

        assert any(
            "CheckStop ready !hard_stop !calls" in note and "(before: / nothing → FinishTurn)" in note for note in notes
        )


class TestNoDifference:
    """A dialect against itself."""

    def test_nothing_is_marked(self) -> None:
        """All edges are kept, none has a label, and there is no note."""
        graph = drawn("pi-0.85.1", "pi-0.85.1", "loop")
        pairs = {(edge.source, edge.dest) for edge in graph_of(dialect().loop, "x").edges}

        assert {edge.change for edge in graph.edges[1:]} == {"kept"}
        assert not any(edge.rules for edge in graph.edges)
        assert {(edge.source, edge.dest) for edge in graph.edges} == pairs
        assert graph.notes == ()
