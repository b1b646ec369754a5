"""A graph as Mermaid, which GitHub and many editors show. The same graph and theme give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from turnwheel_diagrams.graph import ENTRY, Edge, Graph, Node
from turnwheel_diagrams.labels import said, times
from turnwheel_diagrams.legend import STROKES, Stroke, legend_of, stroke_color
from turnwheel_diagrams.themes import LIGHT, Theme, edge_color, edge_width

LEGEND: Final = "legend"
"""The name of the node below the picture that says how to read it."""

_ARROWS: Final = {"hard stop": "==>", "fail": "-.->"}
_ESCAPED: Final = str.maketrans({sign: f"#{ord(sign)};" for sign in "#&\"'<>[]{}|`\\"})
_NOTE: Final = 84


def to_mermaid(graph: Graph, theme: Theme = LIGHT) -> str:
    """Return the graph as a Mermaid flowchart: a line for each edge, its rows one below the other in its label.

    Of a full graph, Mermaid before 12 draws only one of the edges that stay in the same state.
    """
    return "".join(f"{line}\n" for line in _lines(graph, theme))


def _lines(graph: Graph, theme: Theme) -> Iterator[str]:
    yield f"%%{{init: {json.dumps(_settings(theme))}}}%%"
    yield "flowchart TD"
    yield f'  {ENTRY}((" "))'
    for node in graph.nodes:
        yield f"  {_node(node)}"
    for edge in graph.edges:
        yield f"  {_edge(edge, _told(edge, graph))}"
    yield f'  {LEGEND}["{_legend(graph, theme)}"]'
    yield f"  {_last(graph)} ~~~ {LEGEND}"
    yield f"  classDef final fill:{theme.final},stroke-width:3px"
    yield f"  classDef lit stroke:{theme.hot},stroke-width:4px"
    yield f"  style {LEGEND} fill:{theme.background},stroke:{theme.quiet},color:{theme.quiet},text-align:left"
    yield f"  style {ENTRY} fill:{theme.text}"
    for node in graph.nodes:
        yield from (f"  class {node.name} {name}" for name in ("final", "lit") if getattr(node, name))
    for number, edge in enumerate(graph.edges):
        yield f"  linkStyle {number} {_style(edge, theme)}"


def _settings(theme: Theme) -> dict[str, object]:
    colors = {
        "background": theme.background,
        "primaryColor": theme.node,
        "primaryBorderColor": theme.node_border,
        "primaryTextColor": theme.text,
        "textColor": theme.text,
        "lineColor": theme.edges["go"],
        "edgeLabelBackground": theme.background,
    }
    return {"theme": "base", "themeVariables": colors, "flowchart": {"wrappingWidth": 700}}


def _node(node: Node) -> str:
    asks = "".join(f"<br/><small>{_escaped(ask)}</small>" for ask in node.asks)
    text = f'"<b>{node.name}</b>{asks}"'
    return f"{node.name}(({text}))" if node.final else f"{node.name}({text})"


def _edge(edge: Edge, told: Sequence[Edge]) -> str:
    arrow = _ARROWS.get(edge.kind, "-->")
    label = "<br/>".join(line for other in told for line in _rows(other))
    return f'{edge.source} {arrow}|"{label}"| {edge.dest}' if label else f"{edge.source} {arrow} {edge.dest}"


def _told(edge: Edge, graph: Graph) -> list[Edge]:
    """Return the edges whose rows stand beside an edge: its own.

    Not in full, the last of the edges that stay in a state tells of them all, since Mermaid before 12 draws only that.
    """
    if graph.full or edge.source != edge.dest:
        return [edge]
    loops = [other for other in graph.edges if other.source == other.dest == edge.source]
    return loops if edge is loops[-1] else []


def _rows(edge: Edge) -> Iterator[str]:
    for at, rule in enumerate(edge.rules):
        number = f"{edge.notes[at]}: " if edge.notes else ""
        trigger, space, rest = said(rule, asks=True).partition(" ")
        yield f"{number}<b>{trigger}</b>{space}{_escaped(rest)}"
    if edge.fired:
        yield times(edge.fired)


def _style(edge: Edge, theme: Theme) -> str:
    dashed = ",stroke-dasharray:6 4" if edge.kind == "stay" or edge.change == "gone" else ""
    return f"stroke:{edge_color(edge, theme)},stroke-width:{edge_width(edge):g}px{dashed}"


def _legend(graph: Graph, theme: Theme) -> str:
    """Return the legend, a line for each of its terms, then the notes."""
    legend = legend_of(graph)
    terms = [f"<b>{_escaped(word)}</b> {_escaped(meaning)}" for word, meaning in (*legend.signs, *legend.guards)]
    terms += [f"{_line(stroke, theme)} {words}" for stroke, words in legend.strokes]
    numbered = any(edge.notes for edge in graph.edges)
    notes = [f"{number}: {note}" if numbered else note for number, note in enumerate(graph.notes, 1)]
    lines = [_escaped(line) for note in notes for line in wrap(note, _NOTE)]
    return "<br/>".join([f"<b>{_escaped(graph.title)}</b>", *terms, *lines])


def _line(stroke: Stroke, theme: Theme) -> str:
    line = STROKES.get(stroke, "——")
    return f"<font color='{stroke_color(stroke, theme)}'><b>{line}</b></font>"


def _last(graph: Graph) -> str:
    """Return the state below which the legend is put."""
    return next(node.name for node in graph.nodes if node.final)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)
