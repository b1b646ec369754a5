"""A picture as it is laid out: narrow enough for a page, and nothing lies on a label."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from attrs import evolve

from tests.diagrams.boxes import laid
from tests.diagrams.parsed import TABLES, name_of
from turnwheel.rules import Dialect, Table
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import Edge, Graph, graph_of
from turnwheel_diagrams.layout import upward

GALLERY = Path(__file__).parents[2] / "diagrams" / "gallery"
PAGE = 880
"""The width in pixels at which a picture is readable on a page that shows it 830 pixels wide."""


def with_a_run(graph: Graph) -> Graph:
    """Return a graph all of whose edges fired."""
    return evolve(graph, edges=[evolve(edge, fired=at + 1) for at, edge in enumerate(graph.edges)])


PICTURES = [
    *(graph_of(table, each.name, full=full) for each, table in TABLES for full in (False, True)),
    *(
        difference_of(dialect(before), dialect(after), machine)
        for before, after in combinations(DIALECTS, 2)
        for machine in ("loop", "batch", "call")
    ),
    *(with_a_run(graph_of(table, f"a run of {each.name}")) for each, table in TABLES),
]


def what(graph: Graph) -> str:
    """Return the name of a picture."""
    return f"{graph.title}{' in full' if graph.full else ''}"


class TestWidth:
    """The picture for a reader, as the gallery has it: how wide it is drawn depends on the fonts that there are."""

    @pytest.mark.parametrize("case", TABLES, ids=name_of)
    def test_fits_a_page(self, case: tuple[Dialect, Table]) -> None:
        """It is at most 880 pixels wide, three points being four pixels."""
        each, table = case
        svg = (GALLERY / f"{each.name}-{table.name}.svg").read_text(encoding="utf-8")
        width = re.search(r'<svg width="(\d+)pt"', svg)

        assert width
        assert int(width[1]) * 4 / 3 <= PAGE


@pytest.mark.parametrize("graph", PICTURES, ids=what)
class TestLabels:
    """The labels of every kind of picture."""

    def test_no_line_crosses_one(self, graph: Graph) -> None:
        """No edge, not even its own, runs through the text of a label."""
        picture = laid(to_dot(graph))

        assert picture.labels
        assert {box.text for box in picture.labels for point in picture.lines if box.holds(point)} == set()

    def test_all_text_is_inside(self, graph: Graph) -> None:
        """No text of a label, a state or the legend reaches over the border of the picture."""
        picture = laid(to_dot(graph))
        outside = [
            box.text
            for box in (*picture.labels, *picture.others)
            if box.left < 0 or box.bottom < 0 or box.right > picture.width or box.top > picture.height
        ]

        assert outside == []

    def test_none_lies_on_another(self, graph: Graph) -> None:
        """No two pieces of text lie on each other."""
        picture = laid(to_dot(graph))
        pieces = sorted((*picture.labels, *picture.others))
        over = [
            (one.text, other.text)
            for one, other in combinations(pieces, 2)
            if one.left + 1 < other.right and other.left + 1 < one.right
            if one.bottom + 1 < other.top and other.bottom + 1 < one.top
        ]

        assert over == []


class TestUpward:
    """Which edges lead back up."""

    def test_edges_that_close_a_circle(self) -> None:
        """From the entry on, an edge to a state on the way is found, one to a state seen elsewhere is not."""
        ways = [("entry", "A"), ("A", "B"), ("A", "C"), ("C", "B"), ("B", "A"), ("C", "C")]

        assert upward([Edge(source, dest, "go") for source, dest in ways]) == {("B", "A"), ("C", "C")}
