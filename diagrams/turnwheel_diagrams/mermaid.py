"""A graph as Mermaid, which GitHub and many editors show. The same graph and theme give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from turnwheel_diagrams.graph import ENTRY, Edge, Graph, Node
from turnwheel_diagrams.labels import said
from turnwheel_diagrams.themes import LIGHT, Theme

_ARROWS: Final = {"hard stop": "==>", "fail": "-.->"}
_ESCAPED: Final = {
    "&": "#amp;",
    '"': "#quot;",
    "<": "#lt;",
    ">": "#gt;",
    "[": "#91;",
    "]": "#93;",
    "{": "#123;",
    "}": "#125;",
}


def to_mermaid(graph: Graph, theme: Theme = LIGHT) -> str:
    """Return the graph as a Mermaid flowchart: a line for each edge, its rows one below the other in its label."""
    return "".join(f"{line}\n" for line in _lines(graph, theme))


def _lines(graph: Graph, theme: Theme) -> Iterator[str]:
    yield f"%%{{init: {{'theme': '{'dark' if theme.name == 'dark' else 'default'}'}}}}%%"
    yield "flowchart TD"
    yield f'  {ENTRY}((" "))'
    for node in graph.nodes:
        yield f"  {_node(node)}"
    for edge in graph.edges:
        yield f"  {_edge(edge)}"
    yield f"  classDef default fill:{theme.node},stroke:{theme.node_border},color:{theme.text}"
    yield f"  classDef final fill:{theme.final},stroke:{theme.node_border},color:{theme.text},stroke-width:3px"
    for node in graph.nodes:
        if node.final:
            yield f"  class {node.name} final"
    for number, edge in enumerate(graph.edges):
        yield f"  linkStyle {number} stroke:{_color(edge, theme)}"
    for note in graph.notes:
        yield f"  %% {note}"


def _node(node: Node) -> str:
    asks = "".join(f"<br/><small>{ask}</small>" for ask in node.asks)
    text = f'"<b>{node.name}</b>{asks}"'
    return f"{node.name}(({text}))" if node.final else f"{node.name}({text})"


def _edge(edge: Edge) -> str:
    arrow = _ARROWS.get(edge.kind, "-->")
    label = "<br/>".join(_escaped(said(rule)) for rule in edge.rules)
    return f'{edge.source} {arrow}|"{label}"| {edge.dest}' if label else f"{edge.source} {arrow} {edge.dest}"


def _color(edge: Edge, theme: Theme) -> str:
    return theme.changes[edge.change] if edge.change is not None else theme.edges[edge.kind]


def _escaped(text: str) -> str:
    return "".join(_ESCAPED.get(character, character) for character in text)
