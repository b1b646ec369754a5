"""Runs drawn on the machine: counts, the last decision, and where two runs part."""

from __future__ import annotations

import pytest
from attrs import evolve

from tests.engine.recordings import CASES, record
from turnwheel.counting import MACHINES, Counts
from turnwheel.recorded import RecordedDecision, Recording, read_recording
from turnwheel.rules import QUIET, Table
from turnwheel.table import dialect
from turnwheel_diagrams.comparing import first_difference
from turnwheel_diagrams.graph import Graph
from turnwheel_diagrams.overlays import FAILING, counted, parted, place_of

LANGUAGE = dialect("pi-0.85.1")


def run(name: str, language: str = "pi-0.85.1") -> Recording:
    return read_recording(record(name, language))


def table(machine: str, language: str = "pi-0.85.1") -> Table:
    return {table.name: table for table in dialect(language).tables}[machine]


def drawn(name: str, machine: str = "loop", language: str = "pi-0.85.1", *, full: bool = True) -> Graph:
    recording = run(name, language)
    place = place_of(recording, dialect(language), machine)
    return counted(table(machine, language), language, Counts.of(recording), place=place, full=full)


class TestCounted:
    @pytest.mark.parametrize("machine", MACHINES)
    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_every_row_has_its_count(self, name: str, language: str, machine: str) -> None:
        """In a full picture each edge says how often its row fired; all of them together are all decisions."""
        counts = Counts.of(run(name, language)).of_machine(machine)
        edges = [edge for edge in drawn(name, machine, language).edges if edge.rules]

        for edge in edges:
            (rule,) = edge.rules
            assert edge.fired == (None if rule.trigger in QUIET or rule.waits else counts.get(rule.name, 0))
        assert sum(edge.fired or 0 for edge in edges) == sum(counts.values())

    @pytest.mark.parametrize("machine", MACHINES)
    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_a_readers_picture_loses_none(self, name: str, language: str, machine: str) -> None:
        """Merged edges say the sum of their rows, and a way to fail that was taken is drawn."""
        counts = Counts.of(run(name, language)).of_machine(machine)
        edges = drawn(name, machine, language, full=False).edges

        assert sum(edge.fired or 0 for edge in edges) == sum(counts.values())

    def test_where_it_is(self) -> None:
        """The state that the run came to is lit, and the row that fired last is marked: one each."""
        graph = drawn("hard stop")

        assert [node.name for node in graph.nodes if node.lit] == ["Done"]
        assert [edge.rules[0].name for edge in graph.edges if edge.last] == ["CheckStop ready hard_stop"]

    def test_a_run_that_breaks_off(self) -> None:
        """Of a torn recording the state is lit that it came to."""
        whole = run("follow-up")
        torn = evolve(whole, entries=whole.entries[:8])
        place = place_of(torn, LANGUAGE, "loop")

        assert place is not None
        assert place.state != "Done"

    def test_a_machine_that_did_nothing(self) -> None:
        """Where no tool was called, the call's machine has no place, and all its rows are pale."""
        graph = drawn("hard stop", "call")

        assert not [node for node in graph.nodes if node.lit]
        assert {edge.fired for edge in graph.edges if edge.rules} <= {0, None}

    def test_the_ways_to_fail(self) -> None:
        """A note stands for the ways to fail that were not taken; the one that was is an edge."""
        assert drawn("follow-up", full=False).notes == (FAILING,)
        failed = [edge for edge in drawn("failing listener", full=False).edges if edge.kind == "fail"]
        assert [edge.fired for edge in failed] == [1]

    def test_an_unknown_decision(self) -> None:
        """A decision that the dialect does not know is refused with its position."""
        odd = evolve(run("hard stop"), entries=(RecordedDecision(3, None, "loop", "no such row", {}),))

        with pytest.raises(ValueError, match=r"position 3: the loop of pi-0\.85\.1 has no row 'no such row'"):
            place_of(odd, LANGUAGE, "loop")


class TestParted:
    def test_both_rows_are_marked(self) -> None:
        """The two rows in which the runs part are marked, and the state in which they do is lit."""
        a, b = run("parallel tools"), run("follow-up")
        counts = Counts.of(a)
        counts.update(Counts.of(b))
        graph = parted(table("loop"), "pi-0.85.1", counts, first_difference(a, b), full=True, notes=["x"])

        marked = {edge.rules[0].name for edge in graph.edges if edge.last}
        assert marked == {"CheckStop ready !hard_stop calls !cut_off", "CheckStop ready !hard_stop !calls"}
        assert [node.name for node in graph.nodes if node.lit] == ["CheckStop"]
        assert graph.notes[0] == "x"

    def test_equal_runs(self) -> None:
        """Equal runs have no mark."""
        a = run("follow-up")
        graph = parted(table("loop"), "pi-0.85.1", Counts.of(a), first_difference(a, a), full=True, notes=[])

        assert not any(edge.last for edge in graph.edges)
        assert not any(node.lit for node in graph.nodes)
