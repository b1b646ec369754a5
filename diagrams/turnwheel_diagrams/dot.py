"""A graph as DOT, the language of Graphviz. The same graph and theme give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Final

from turnwheel.rules import Rule
from turnwheel_diagrams.graph import ENTRY, Edge, Graph, Node
from turnwheel_diagrams.labels import emits_of, guards_of, sets_of
from turnwheel_diagrams.themes import LIGHT, Theme

FONT: Final = "Helvetica,Arial,sans-serif"
_STYLES: Final = {"hard stop": "bold", "fail": "dotted", "stay": "dashed"}


def to_dot(graph: Graph, theme: Theme = LIGHT) -> str:
    """Return the graph in DOT. Edges have the ids `row-N`, N being the place of the (first) row in its table."""
    return "".join(f"{line}\n" for line in _lines(graph, theme))


def _lines(graph: Graph, theme: Theme) -> Iterator[str]:
    notes = _quoted("".join(f"{note}\n" for note in graph.notes))
    yield f"digraph {_quoted(graph.title)} {{"
    yield (
        f'  graph [rankdir=TB, bgcolor="{theme.background}", nodesep=0.45, ranksep=0.5, fontname="{FONT}", '
        f'fontsize=10, fontcolor="{theme.quiet}", labeljust=l, label={notes}]'
    )
    yield (
        f'  node [shape=box, style="rounded,filled", fontname="{FONT}", fontsize=13, '
        f'fillcolor="{theme.node}", color="{theme.node_border}", fontcolor="{theme.text}"]'
    )
    yield f'  edge [fontname="{FONT}", fontsize=10, arrowsize=0.7]'
    yield f'  {ENTRY} [shape=circle, style=filled, width=0.16, label="", fillcolor="{theme.text}"]'
    for node in graph.nodes:
        yield f"  {node.name} [{_node(node, theme)}]"
    for edge in graph.edges:
        yield f"  {edge.source} -> {edge.dest} [{_edge(edge, theme)}]"
    yield "}"


def _node(node: Node, theme: Theme) -> str:
    asks = "".join(f'<BR/><FONT POINT-SIZE="9" COLOR="{theme.asks}">{escape(ask)}</FONT>' for ask in node.asks)
    parts = [f'id="state-{node.name}"', f"label=<<B>{node.name}</B>{asks}>"]
    if node.final:
        parts += ["peripheries=2", f'fillcolor="{theme.final}"']
    if node.lit:
        parts += [f'color="{theme.hot}"', "penwidth=3"]
    return ", ".join(parts)


def _edge(edge: Edge, theme: Theme) -> str:
    color = _color(edge, theme)
    style = "dashed" if edge.change == "gone" else _STYLES.get(edge.kind, "solid")
    parts = [f'color="{color}"', f'style="{style}"', f"penwidth={_width(edge):g}"]
    if edge.rules:
        parts += [
            f'id="row-{edge.numbers[0]}"',
            f"label=<{_table(edge, theme)}>",
            f"tooltip={_quoted(' | '.join(rule.why for rule in edge.rules))}",
        ]
    return ", ".join(parts)


def _color(edge: Edge, theme: Theme) -> str:
    if edge.last:
        return theme.hot
    if edge.change is not None:
        return theme.changes[edge.change]
    return theme.cold if edge.fired == 0 else theme.edges[edge.kind]


def _width(edge: Edge) -> float:
    """Return how thick an edge is: the more often it fired, the thicker."""
    bold = edge.kind == "hard stop" or edge.last or edge.change in ("added", "changed")
    return (2 if bold else 1) + (round(math.log2(edge.fired + 1) / 2, 2) if edge.fired else 0)


def _table(edge: Edge, theme: Theme) -> str:
    pale = edge.fired == 0 or edge.change == "kept"
    lines = [_label(rule, theme, pale=pale) for rule in edge.rules]
    if edge.fired:
        lines.append(f'<FONT COLOR="{theme.hot}">fired {edge.fired} times</FONT>')
    rows = "".join(f'<TR><TD ALIGN="LEFT">{line}</TD></TR>' for line in lines)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="1" CELLSPACING="0">{rows}</TABLE>'


def _label(rule: Rule, theme: Theme, *, pale: bool) -> str:
    text, quiet = (theme.cold, theme.cold) if pale else (theme.text, theme.quiet)
    parts = [(str(rule.trigger), text), (guards_of(rule), quiet), (emits_of(rule), text), (sets_of(rule), quiet)]
    return " ".join(f'<FONT COLOR="{color}">{escape(part)}</FONT>' for part, color in parts if part)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}"'
