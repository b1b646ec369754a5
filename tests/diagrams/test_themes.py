"""The colours: what is written can be read, and what differs in kind differs to the eye."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from attrs import evolve

from tests.diagrams.parsed import agraph, dot_edges, mermaid_edges
from turnwheel.table import dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import ENTRY, Edge, Graph, graph_of
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.themes import THEMES, Theme

READABLE = 4.5
"""The least contrast of text, from the Web Content Accessibility Guidelines, level AA."""

themes = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as the guidelines define it: from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def inks(label: str, default: str) -> Iterator[str]:
    """Yield the colours in which a label has words or numbers; a line in a legend is none."""
    pieces = re.split(r'<FONT[^>]*COLOR="(#\w+)"[^>]*>(.*?)</FONT>', label)
    for at, text in enumerate(pieces):
        if at % 3 != 1 and re.search(r"\w", re.sub(r"<[^>]*>|&#?\w+;", "", text)):
            yield pieces[at - 1] if at % 3 == 2 else default


def with_a_run(graph: Graph) -> Graph:
    """Return a graph of which half of the edges fired, with a state that is lit."""
    edges = [evolve(edge, fired=at % 2, last=at == 3) for at, edge in enumerate(graph.edges)]
    return evolve(graph, edges=edges, nodes=[evolve(node, lit=at == 2) for at, node in enumerate(graph.nodes)])


def pictures() -> list[Graph]:
    """Return one picture of each kind."""
    each = dialect("pi-1.6.0")
    graph = graph_of(each.loop, each.name, full=True)
    return [graph, with_a_run(graph), difference_of(dialect("pi-0.80.2"), each, "loop", full=True)]


class TestContrast:
    """The contrast of text against what it stands on."""

    def test_its_ends(self) -> None:
        """Black on white is 21, a colour on itself 1."""
        assert contrast("#000000", "#ffffff") == pytest.approx(21)
        assert contrast("#3d5a80", "#3d5a80") == 1

    @themes
    def test_states(self, theme: Theme) -> None:
        """The name of a state and what it waits for can be read on its colour."""
        for picture in pictures():
            graph = agraph(to_dot(picture, theme))
            for node in graph.nodes():
                ground = node.attr["fillcolor"] or graph.node_attr["fillcolor"]
                for ink in inks(node.attr["label"] or "", graph.node_attr["fontcolor"]):
                    assert contrast(ink, ground) >= READABLE, (node, ink)

    @themes
    def test_labels_and_legend(self, theme: Theme) -> None:
        """Every label, pale ones too, and the legend can be read on the background."""
        for picture in pictures():
            graph = agraph(to_dot(picture, theme))
            labels = [edge.attr["label"] or "" for edge in graph.edges()] + [graph.graph_attr["label"]]
            used = {ink for label in labels for ink in inks(label, graph.graph_attr["fontcolor"])}

            assert {ink for ink in used if contrast(ink, graph.graph_attr["bgcolor"]) < READABLE} == set()


@themes
class TestKinds:
    """The kinds of edges."""

    def test_differ_in_dot(self, theme: Theme) -> None:
        """The entry and edges that go on, stay, end, stop hard and fail differ in colour, and most in form too."""
        graph = graph_of(dialect().loop, "x", full=True)
        drawn = {edge.id: edge.attributes for edge in dot_edges(to_dot(graph, theme))}
        looks = {edge.kind: drawn[id_of(edge)] for edge in graph.edges}

        assert [looks[kind]["style"] for kind in ("stay", "hard stop", "fail")] == ["dashed", "bold", "dotted"]
        assert len({look["color"] for look in looks.values()}) == len(looks) == 6
        assert looks["hard stop"]["penwidth"] > looks["end"]["penwidth"]

    def test_differ_in_mermaid(self, theme: Theme) -> None:
        """In Mermaid a hard stop is thick and a way to fail dotted; each kind has its colour."""
        graph = graph_of(dialect().loop, "x", full=True)
        text = to_mermaid(graph, theme)
        arrows = {kind: edge.attributes["arrow"] for kind, edge in zip(_kinds(graph), mermaid_edges(text), strict=True)}
        colors = dict(zip(_kinds(graph), re.findall(r"linkStyle \d+ stroke:(#\w+)", text), strict=True))

        assert (arrows["hard stop"], arrows["fail"], arrows["end"]) == ("==>", "-.->", "-->")
        assert len(set(colors.values())) == 6

    def test_entry_and_end_are_marked(self, theme: Theme) -> None:
        """The point of entry is a small circle without a name, the final state has two borders and its own colour."""
        graph = agraph(to_dot(graph_of(dialect().loop, "x"), theme))
        entry, done, other = (graph.get_node(name).attr for name in (ENTRY, "Done", "TurnEnd"))

        assert (entry["shape"], entry["label"], done["peripheries"], other["peripheries"]) == ("circle", "", "2", "")
        assert done["fillcolor"] == theme.final != theme.node


def id_of(edge: Edge) -> str:
    """Return the id of an edge in DOT; the entry has none."""
    return f"row-{edge.numbers[0]}" if edge.numbers else ""


def _kinds(graph: Graph) -> list[str]:
    return [edge.kind for edge in graph.edges]


class TestDifference:
    """The colours of a difference."""

    @themes
    def test_changes_differ(self, theme: Theme) -> None:
        """What is new, changed, gone and kept has four colours; what is gone is dashed."""
        graph = difference_of(dialect("pi-0.80.2"), dialect("pi-0.85.1"), "loop")
        drawn = {edge.id: edge.attributes for edge in dot_edges(to_dot(graph, theme))}
        looks = {edge.change: drawn[id_of(edge)] for edge in graph.edges if edge.rules}

        assert {change: look["color"] for change, look in looks.items() if change} == {
            change: theme.changes[change] for change in ("added", "changed", "gone")
        }
        assert len(set(theme.changes.values())) == 4
        assert looks["gone"]["style"] == "dashed"
