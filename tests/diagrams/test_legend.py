"""The legend: every guard, fact and kind of line of a picture is explained in it, and nothing else."""

from __future__ import annotations

import re
from html import unescape

import pytest
from attrs import evolve

from tests.diagrams.parsed import TABLES, agraph, name_of
from turnwheel.control import Control, meanings
from turnwheel.rules import Dialect, Not, Table
from turnwheel.table import dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import graph_of
from turnwheel_diagrams.legend import legend_of
from turnwheel_diagrams.mermaid import to_mermaid


def words_of(table: Table) -> dict[str, str]:
    """Return the guards of a table with their meanings."""
    conditions = [condition for rule in table.rules for condition in rule.when]
    guards = [each.guard if isinstance(each, Not) else each for each in conditions]
    return {guard.name: guard.meaning for guard in guards}


def text_of(markup: str) -> str:
    """Return the words of a piece of markup, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())


class TestGuards:
    """The words of a legend."""

    @pytest.mark.parametrize("case", TABLES, ids=name_of)
    def test_all_of_the_table(self, case: tuple[Dialect, Table]) -> None:
        """A full picture explains exactly the guards of the table, as turnwheel.control does, and facts besides."""
        each, table = case
        legend = legend_of(graph_of(table, each.name, full=True))
        guards = {term.word: term.meaning for term in legend.guards if not term.word.startswith("{")}

        assert guards == words_of(table)

    def test_facts_that_are_no_guards(self) -> None:
        """A fact that rows set is explained too: under its guard, or under a name in braces."""
        loop, call = (
            {term.word: term.meaning for term in legend_of(graph_of(table, "x")).guards}
            for table in (dialect().loop, dialect().call)
        )

        assert "{chain}" not in loop
        assert loop["chain"] == "tool results wait for the model's answer"
        assert call["{result}"] == "where the result comes from"

    def test_a_fact_without_its_guard(self) -> None:
        """Where no row of the picture asks for a fact that another one sets, the fact itself is explained."""
        graph = graph_of(dialect().loop, "x")
        few = evolve(graph, edges=[edge for edge in graph.edges if edge.source == "ExecutingTools"])

        assert {term.word: term.meaning for term in legend_of(few).guards}["{chain}"] == meanings(Control)["chain"]

    def test_only_what_is_drawn(self) -> None:
        """An empty picture has nothing to explain."""
        graph = evolve(graph_of(dialect().loop, "x"), edges=[], nodes=[])

        assert legend_of(graph) == type(legend_of(graph))((), (), ())


class TestStrokes:
    """The lines of a legend."""

    def test_kinds(self) -> None:
        """Each kind of edge that is drawn has its words; ways to fail are drawn in full only."""
        reader, full = (legend_of(graph_of(dialect().loop, "x", full=full)) for full in (False, True))

        assert [stroke for stroke, _ in reader.strokes] == ["hard stop", "end", "stay"]
        assert [stroke for stroke, _ in full.strokes] == ["hard stop", "end", "stay", "fail"]

    def test_changes(self) -> None:
        """A difference explains what its colours say of change."""
        legend = legend_of(difference_of(dialect("pi-0.80.2"), dialect("pi-0.85.1"), "loop"))

        assert legend.strokes == (("added", "new"), ("changed", "changed"), ("gone", "gone"), ("kept", "as before"))

    def test_runs(self) -> None:
        """The picture of a run explains what fired, what never did and what was last."""
        graph = graph_of(dialect().loop, "x")
        run = evolve(graph, edges=[evolve(edge, fired=at % 2, last=at == 3) for at, edge in enumerate(graph.edges)])

        assert [stroke for stroke, _ in legend_of(run).strokes][:3] == ["fired", "cold", "last"]


@pytest.mark.parametrize("full", [False, True], ids=["reader", "full"])
class TestDrawn:
    """The legend in a picture."""

    def test_in_dot(self, full: bool) -> None:
        """Name, signs, guards, lines and notes stand below the picture in DOT."""
        graph = graph_of(dialect().loop, "pi-0.85.1", full=full)
        legend = legend_of(graph)
        drawn = agraph(to_dot(graph))
        text = text_of(drawn.graph_attr["label"])

        assert text.startswith("pi-0.85.1 loop trigger ")
        assert all(f"{term.word} {term.meaning}" in text for term in (*legend.signs, *legend.guards))
        assert all(words in text for _, words in legend.strokes)
        assert all(note in text for note in graph.notes)

    def test_in_mermaid(self, full: bool) -> None:
        """In Mermaid they stand in a box below the last state."""
        graph = graph_of(dialect().loop, "pi-0.85.1", full=full)
        legend = legend_of(graph)
        (box,) = re.findall(r'^  legend\["(.*)"\]$', to_mermaid(graph), re.MULTILINE)
        text = text_of(re.sub(r"#(\d+);", r"&#\1;", box))

        assert all(f"{term.word} {term.meaning}" in text for term in (*legend.signs, *legend.guards))
        assert all(words in text for words in (*(words for _, words in legend.strokes), *graph.notes))
        assert "  Done ~~~ legend" in to_mermaid(graph).splitlines()
