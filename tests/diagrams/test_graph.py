"""A table as a graph: kinds of edges, what is merged, what the states wait for."""

from __future__ import annotations

from attrs import evolve

from turnwheel.table import dialect
from turnwheel_diagrams.graph import Edge, graph_of, merged, row_edges


def kinds(name: str) -> dict[str, str]:
    """Return the kind of each row of a loop, by the row's name."""
    return {edge.rules[0].name: edge.kind for edge in row_edges(dialect(name).loop)}


class TestKinds:
    """What the edges mean."""

    def test_of_rows(self) -> None:
        """A row stays, goes on, ends, stops hard or fails."""
        found = kinds("pi-0.85.1")

        assert found["AwaitSteering prepared !pending"] == "stay"
        assert found["AwaitFollowUp follow_up pending"] == "go"
        assert found["AwaitFollowUp follow_up !pending"] == "end"
        assert found["CheckStop ready hard_stop"] == "hard stop"
        assert found["AwaitSteering begin !prompt !continuable"] == found["Streaming failed"] == "fail"

    def test_a_hard_stop_need_not_end(self) -> None:
        """After an answer that failed, a hook may hear of it first: both rows are hard stops."""
        found = kinds("pi-1.6.0")

        assert found["CheckStop ready hard_stop"] == found["TurnEnd turn_finished hard_stop"] == "hard stop"


class TestReaders:
    """The graph for a reader."""

    def test_leaves_failing_to_a_note(self) -> None:
        """Ways to fail are no edges, but one note; a table without them has no note."""
        loop, call = (graph_of(table, "x") for table in (dialect().loop, dialect().call))

        assert "fail" not in {edge.kind for edge in loop.edges}
        assert loop.notes == ("A run that fails goes from any state straight to Done, without an event.",)
        assert call.notes == ()

    def test_begins_with_the_entry(self) -> None:
        """The first edge leads from the point of entry to the state in which a trace begins, and is no row."""
        entry, *others = graph_of(dialect().loop, "x").edges

        assert (entry.source, entry.dest, entry.kind, entry.rules) == ("entry", "AwaitSteering", "entry", ())
        assert all(edge.rules for edge in others)

    def test_states_say_what_they_wait_for(self) -> None:
        """Each effect once, in the order of the rows; a second look asks nobody."""
        asks = {node.name: node.asks for node in graph_of(dialect("pi-1.6.0").loop, "x").nodes}
        call = {node.name: node.asks for node in graph_of(dialect("pi-1.6.0").call, "x").nodes}

        assert asks["Streaming"] == ("PrepareRequest", "CallModel")
        assert asks["CheckStop"] == ()
        assert set(call["Announced"]) == {"PrepareArguments", "BeforeToolCall"}


class TestMerged:
    """Rows put together."""

    def test_keeps_everything(self) -> None:
        """Rules, numbers, numbers of notes and counts of all rows are there; the last decision is not lost."""
        first, second, *_ = (edge for edge in row_edges(dialect().loop) if edge.kind == "stay")
        rows = [evolve(first, fired=2, notes=(1,)), evolve(second, fired=3, notes=(2,), last=True)]
        (edge,) = merged(rows)

        assert (edge.rules, edge.numbers) == ((*first.rules, *second.rules), (*first.numbers, *second.numbers))
        assert (edge.fired, edge.last, edge.notes) == (5, True, (1, 2))

    def test_keeps_apart_what_differs(self) -> None:
        """Other ends, another kind or another change make another edge."""
        edges = [
            Edge("A", "B", "go"),
            Edge("A", "C", "go"),
            Edge("A", "B", "hard stop"),
            Edge("A", "B", "go", change="gone"),
        ]

        assert merged(edges) == edges
