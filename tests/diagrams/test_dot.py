"""DOT: names, odd characters, and what an edge looks like that fired."""

from __future__ import annotations

from importlib import import_module
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve

from tests.diagrams.parsed import SVG, TABLES, agraph, dot_edges, name_of
from turnwheel.rules import Dialect, Guard, Table
from turnwheel.table import dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import ENTRY, Graph, graph_of
from turnwheel_diagrams.render import rendered
from turnwheel_diagrams.themes import LIGHT

ODD = 'a "quote", a \\ backslash, <b>tags</b>, an & and a {brace|bar}'


def loop() -> Graph:
    """Return the graph of the loop."""
    return graph_of(dialect().loop, "pi-0.85.1")


class TestStates:
    """The states."""

    @pytest.mark.parametrize("case", TABLES, ids=name_of)
    def test_have_explicit_labels_and_ids(self, case: tuple[Dialect, Table]) -> None:
        """Every state has a label that begins with its name, and the id `state-NAME`."""
        each, table = case
        graph = agraph(to_dot(graph_of(table, each.name)))
        nodes = {str(node): (node.attr["label"], node.attr["id"]) for node in graph.nodes() if node != ENTRY}

        assert list(nodes) == list(map(str, table.states))
        for name, (label, node_id) in nodes.items():
            assert label.startswith(f"<B>{name}</B>")
            assert node_id == f"state-{name}"

    def test_say_what_they_wait_for(self) -> None:
        """Below the name stand the effects that rows ask for on the way into the state."""
        graph = agraph(to_dot(loop()))
        label = graph.get_node("AwaitSteering").attr["label"]

        assert all(effect in label for effect in ("PollSteering", "PrepareNextTurn", "PollSteeringAgain"))
        assert "FONT" not in graph.get_node("CheckStop").attr["label"]

    def test_one_that_is_lit(self) -> None:
        """A state that is lit has a thick border."""
        graph = loop()
        nodes = [evolve(node, lit=node.name == "TurnEnd") for node in graph.nodes]
        drawn = agraph(to_dot(evolve(graph, nodes=nodes)))

        assert [node for node in drawn.nodes() if node.attr["penwidth"] == "3"] == ["TurnEnd"]


class TestEffects:
    """What rows ask for, beside an edge."""

    def test_told_where_the_state_does_not(self) -> None:
        """A row into a state with several effects says which one it asks for; with a single one, it need not."""
        lines = [line for edge in dot_edges(to_dot(loop())) for line in edge.lines]

        assert "follow_up [pending] → PrepareNextTurn" in lines
        assert "ready [!hard_stop calls !cut_off]" in lines

    def test_told_of_rows_that_stay(self) -> None:
        """Rows that stay differ in what they ask for, and some ask for nothing; so each of them says it."""
        lines = [line for edge in dot_edges(to_dot(graph_of(dialect().batch, "x"))) for line in edge.lines]

        assert {"ready [preparing]", "ready [!preparing another] → announce the next call"} <= set(lines)

    def test_told_of_rows_that_differ(self) -> None:
        """In a difference every row says it, since that may be the difference."""
        graph = difference_of(dialect("pi-0.80.2"), dialect("pi-0.85.1"), "loop")
        lines = [line for edge in dot_edges(to_dot(graph)) for line in edge.lines]

        assert "3 ready [all_terminate] / turn_end {chain=no} → AskToStop" in lines


class TestNotes:
    """The notes below."""

    def test_have_the_numbers_of_their_rows(self) -> None:
        """In a difference, a note begins with the number that stands before its row, in the same colour."""
        graph = difference_of(dialect("pi-0.80.2"), dialect("pi-0.85.1"), "loop")
        drawn = agraph(to_dot(graph))
        number = f'<FONT COLOR="{LIGHT.changes["gone"]}"><B>13</B></FONT> '

        assert f"{number}gone: CheckStop ready" in drawn.graph_attr["label"]
        assert number in "".join(edge.attr["label"] or "" for edge in drawn.edges())

    def test_are_not_numbered_without_rows(self) -> None:
        """A note about the whole picture has no number."""
        drawn = agraph(to_dot(loop()))

        assert '<TD ALIGN="LEFT" COLSPAN="5">A run that fails' in drawn.graph_attr["label"]


class TestOddCharacters:
    """Texts that mean something to DOT or to HTML."""

    def test_in_notes(self) -> None:
        """A note of odd characters is shown as it is."""
        svg = rendered(to_dot(evolve(loop(), notes=[ODD])), "svg")
        texts = "".join(text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text"))

        assert ODD in texts.replace("\xa0", " ")

    def test_in_labels(self) -> None:
        """The name of a guard, too."""
        first, *rest = dialect().loop.rules
        table = evolve(dialect().loop, rules=[evolve(first, when=[Guard("a<b&c", "odd", bool)]), *rest])
        svg = rendered(to_dot(graph_of(table, "x")), "svg")

        assert "[a<b&c]" in [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]

    def test_in_reasons(self) -> None:
        """A reason that is told where the mouse rests, too."""
        table = dialect().loop
        odd = evolve(table, rules=[evolve(rule, why=ODD) for rule in table.rules])
        root = ET.fromstring(rendered(to_dot(graph_of(odd, "x")), "svg"))
        hover = [link.get("{http://www.w3.org/1999/xlink}title", "") for link in root.iter(f"{SVG}a")]

        assert hover
        assert all(ODD in text for text in hover if text)


class TestRuns:
    """Edges of a run."""

    def test_the_more_often_the_thicker(self) -> None:
        """An edge that fired says how often, and is thicker than one that did so less often."""
        graph = loop()
        edges = [evolve(edge, fired=at) for at, edge in enumerate(graph.edges)]
        drawn = {edge.id: edge for edge in dot_edges(to_dot(evolve(graph, edges=edges)))}
        ways = [drawn[f"row-{edge.numbers[0]}"] for edge in edges if edge.kind == "go"]
        widths = [float(edge.attributes["penwidth"]) for edge in ways]

        assert widths == sorted(set(widths))
        assert ways[0].lines[-1] == f"fired {edges[2].fired} times"


class TestLegibleAlone:
    """The package that reads it."""

    def test_is_dot(self) -> None:
        """To pygraphviz the text is a directed graph that may have several edges between two states."""
        graph = import_module("pygraphviz").AGraph(string=to_dot(loop()))

        assert (graph.is_directed(), graph.is_strict()) == (True, False)
