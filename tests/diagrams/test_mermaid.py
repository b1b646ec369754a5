"""Mermaid: the text alone."""

from __future__ import annotations

import json
import re

from attrs import evolve

from tests.diagrams.parsed import mermaid_edges
from turnwheel.table import dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.graph import Graph, graph_of
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.themes import DARK


def loop() -> Graph:
    """Return the graph of the loop."""
    return graph_of(dialect().loop, "pi-0.85.1")


class TestText:
    """The text."""

    def test_has_explicit_labels(self) -> None:
        """Every state has a label that begins with its name; the final one is round."""
        nodes = re.findall(r'^  (\w+)(\(+)"<b>(\w+)</b>', to_mermaid(loop()), re.MULTILINE)

        assert [(name, label) for name, _, label in nodes] == [(state, state) for state in dialect().loop.states]
        assert [name for name, bracket, _ in nodes if bracket == "(("] == ["Done"]

    def test_escapes_odd_characters(self) -> None:
        """Nothing in a note ends the text that it stands in."""
        text = to_mermaid(evolve(loop(), notes=['"quote" #35; [x] {y} <b>|`z` \\']))
        (box,) = re.findall(r'^  legend\["(.*)"\]$', text, re.MULTILINE)

        assert box.endswith("#34;quote#34; #35;35; #91;x#93; #123;y#125; #60;b#62;#124;#96;z#96; #92;")

    def test_brings_its_colors(self) -> None:
        """The settings, which are JSON, hold the colours of the theme."""
        (settings,) = re.findall(r"^%%\{init: (.*)\}%%$", to_mermaid(loop(), DARK), re.MULTILINE)
        colors = json.loads(settings)["themeVariables"]

        assert (colors["background"], colors["primaryTextColor"]) == (DARK.background, DARK.text)

    def test_marks_what_is_lit(self) -> None:
        """A state that is lit has a class of its own."""
        nodes = [evolve(node, lit=node.name == "TurnEnd") for node in loop().nodes]
        lines = to_mermaid(evolve(loop(), nodes=nodes)).splitlines()

        assert [line for line in lines if line.endswith(" lit")] == ["  class TurnEnd lit"]
        assert [line for line in lines if line.endswith(" final")] == ["  class Done final"]

    def test_says_how_often(self) -> None:
        """An edge that fired says how often."""
        edges = [evolve(edge, fired=7 if edge.dest == "Done" else None) for edge in loop().edges]
        lines = [
            edge.lines[-1] for edge in mermaid_edges(to_mermaid(evolve(loop(), edges=edges))) if edge.dest == "Done"
        ]

        assert lines == ["fired 7 times"] * 3


class TestSelfEdges:
    """Several edges from a state to itself, of which Mermaid before 12 draws the last one only."""

    def test_the_last_tells_of_all(self) -> None:
        """In a difference the last of them has the rows of all."""
        graph = difference_of(dialect("pi-0.80.2"), dialect("pi-0.85.1"), "loop")
        loops = [edge for edge in mermaid_edges(to_mermaid(graph)) if edge.source == edge.dest == "AwaitSteering"]

        assert [len(edge.lines) for edge in loops] == [0, 0, 3]

    def test_each_tells_of_itself_in_full(self) -> None:
        """In full each has its own row."""
        graph = graph_of(dialect().loop, "x", full=True)
        loops = [edge for edge in mermaid_edges(to_mermaid(graph)) if edge.source == edge.dest == "AwaitSteering"]

        assert [len(edge.lines) for edge in loops] == [1] * 5
