"""Every row of a table is exactly one edge of its full picture, and the reverse: read back from the picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.diagrams.parsed import TABLES, Drawn, dot_edges, mermaid_edges, name_of, row_of, svg_edges
from turnwheel.rules import Dialect, Table
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import ENTRY, Graph, graph_of
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.render import rendered
from turnwheel_diagrams.themes import THEMES, Theme

cases = pytest.mark.parametrize("case", TABLES, ids=name_of)
themes = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)


def in_dot(graph: Graph, theme: Theme) -> list[Drawn]:
    """Return the edges of the picture in DOT."""
    return dot_edges(to_dot(graph, theme))


def in_svg(graph: Graph, theme: Theme) -> list[Drawn]:
    """Return the edges of the picture as SVG."""
    return svg_edges(rendered(to_dot(graph, theme), "svg"))


def in_mermaid(graph: Graph, theme: Theme) -> list[Drawn]:
    """Return the edges of the picture in Mermaid."""
    return mermaid_edges(to_mermaid(graph, theme))


@cases
@themes
class TestFull:
    """A full picture."""

    @pytest.mark.parametrize("read", [in_dot, in_svg], ids=["dot", "svg"])
    def test_dot_and_svg(
        self, case: tuple[Dialect, Table], theme: Theme, read: Callable[[Graph, Theme], list[Drawn]]
    ) -> None:
        """Each edge but the entry is the row of its id: same ends, trigger, guards and events; none is missing."""
        each, table = case
        edges = [edge for edge in read(graph_of(table, each.name, full=True), theme) if edge.source != ENTRY]

        assert {edge.id: edge.hovered for edge in edges} == {
            f"row-{number}": [row_of(rule)] for number, rule in enumerate(table.rules)
        }
        assert len(edges) == len(table.rules)

    def test_mermaid(self, case: tuple[Dialect, Table], theme: Theme) -> None:
        """The edges behind the entry are the rows, in their order, each with its ends, trigger, guards and events."""
        each, table = case
        entry, *edges = in_mermaid(graph_of(table, each.name, full=True), theme)

        assert (entry.source, entry.dest, entry.lines) == (ENTRY, table.initial, [])
        assert [edge.rows for edge in edges] == [[row_of(rule)] for rule in table.rules]

    def test_labels(self, case: tuple[Dialect, Table], theme: Theme) -> None:
        """Each row stands on exactly one line of a label, beside an edge with its ends."""
        each, table = case
        edges = in_dot(graph_of(table, each.name, full=True), theme)

        assert Counter(row for edge in edges for row in edge.rows) == Counter(map(row_of, table.rules))


@cases
class TestReaders:
    """The picture for a reader."""

    @pytest.mark.parametrize("read", [in_dot, in_mermaid], ids=["dot", "mermaid"])
    def test_each_row_once(self, case: tuple[Dialect, Table], read: Callable[[Graph, Theme], list[Drawn]]) -> None:
        """Each row that is not a way to fail stands on exactly one line of a label, beside an edge with its ends."""
        each, table = case
        edges = read(graph_of(table, each.name), THEMES["light"])
        told = [rule for rule in table.rules if rule.trigger != "failed" and not rule.sets.get("failed")]

        assert Counter(row for edge in edges for row in edge.rows) == Counter(map(row_of, told))

    def test_one_edge_for_each_pair(self, case: tuple[Dialect, Table]) -> None:
        """Between the same two states there is one edge, and one more where a hard stop goes the same way."""
        each, table = case
        edges = in_dot(graph_of(table, each.name), THEMES["light"])

        assert Counter((edge.source, edge.dest, edge.attributes["style"]) for edge in edges).most_common(1)[0][1] == 1

    def test_svg_has_the_same_edges(self, case: tuple[Dialect, Table]) -> None:
        """The SVG has the edges of the DOT, under the same ids."""
        each, table = case
        graph = graph_of(table, each.name)
        edges = {edge.id: (edge.source, edge.dest) for edge in in_dot(graph, THEMES["light"]) if edge.id}

        assert {edge.id: (edge.source, edge.dest) for edge in in_svg(graph, THEMES["light"])} == edges
