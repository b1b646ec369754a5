"""A graph as DOT, the language of Graphviz. The same graph and theme give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain
from textwrap import wrap
from typing import Final

from turnwheel_diagrams.graph import ENTRY, Edge, Graph, Node, Row
from turnwheel_diagrams.labels import asks_of, emits_of, guards_of, said, sets_of
from turnwheel_diagrams.themes import LIGHT, Theme

FONT: Final = "Helvetica,Arial,sans-serif"
_STYLES: Final = {"hard stop": "bold", "fail": "dotted", "stay": "dashed"}
_LINE: Final = 38
"""The number of characters from which on a row takes two lines."""
_NOTE: Final = 100
"""The most characters in a line of a note."""


def to_dot(graph: Graph, theme: Theme = LIGHT) -> str:
    """Return the graph in DOT. Edges have the ids `row-N`, N being the place of the (first) row in its table."""
    return "".join(f"{line}\n" for line in _lines(graph, theme))


def _lines(graph: Graph, theme: Theme) -> Iterator[str]:
    notes = _quoted("".join(f"{line}\n" for note in graph.notes for line in wrap(note, _NOTE)))
    yield f"digraph {_quoted(graph.title)} {{"
    yield (
        f'  graph [rankdir=TB, bgcolor="{theme.background}", nodesep=0.3, ranksep=0.3, fontname="{FONT}", '
        f'fontsize=10, fontcolor="{theme.quiet}", labeljust=l, label={notes}]'
    )
    yield (
        f'  node [shape=box, style="rounded,filled", fontname="{FONT}", fontsize=10, '
        f'fillcolor="{theme.node}", color="{theme.node_border}", fontcolor="{theme.text}"]'
    )
    yield f'  edge [fontname="{FONT}", fontsize=10, arrowsize=0.7]'
    yield f'  {ENTRY} [shape=circle, style=filled, width=0.14, label="", fillcolor="{theme.text}"]'
    for node in graph.nodes:
        yield f"  {_quoted(node.name)} [{_node(node, graph, theme)}]"
    for edge in graph.arrows:
        yield f"  {_quoted(edge.source)} -> {_quoted(edge.dest)} [{_edge(edge, theme)}]"
    yield "}"


def _node(node: Node, graph: Graph, theme: Theme) -> str:
    name = f'<FONT POINT-SIZE="13"><B>{escape(node.name)}</B></FONT>'
    rows = list(chain.from_iterable(_cells(edge, theme) for edge in graph.inside(node)))
    label = _table([f'<TR><TD ALIGN="CENTER">{name}</TD></TR>', *rows]) if rows else name
    parts = [f'id="state-{node.name}"', f"label=<{label}>"]
    if node.final:
        parts += ["peripheries=2", f'fillcolor="{theme.final}"']
    if node.lit:
        parts += [f'color="{theme.hot}"', "penwidth=3"]
    return ", ".join(parts)


def _edge(edge: Edge, theme: Theme) -> str:
    style = "dashed" if edge.change == "gone" else _STYLES.get(edge.kind, "solid")
    parts = [f'color="{_color(edge, theme)}"', f'style="{style}"', f"penwidth={_width(edge):g}"]
    if edge.rows:
        parts += [
            f'id="row-{edge.rows[0].number}"',
            f"label=<{_table(_cells(edge, theme))}>",
            f"tooltip={_quoted(' | '.join(row.rule.why for row in edge.rows))}",
        ]
    return ", ".join(parts)


def _color(edge: Edge, theme: Theme) -> str:
    if edge.marked:
        return theme.hot
    if edge.change is not None:
        return theme.changes[edge.change]
    return theme.cold if edge.fired == 0 else theme.edges[edge.kind]


def _width(edge: Edge) -> float:
    """Return how thick an edge is: the more often it fired, the thicker."""
    bold = edge.kind == "hard stop" or edge.marked or edge.change in ("added", "changed")
    return (2 if bold else 1) + (round(math.log2(edge.fired + 1) / 2, 2) if edge.fired else 0)


# --- labels -------------------------------------------------------------------------------------------------------


def _table(rows: Iterable[str]) -> str:
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="1" CELLSPACING="0">{"".join(rows)}</TABLE>'


def _cells(edge: Edge, theme: Theme) -> Iterator[str]:
    """Yield the lines of a label, as rows of a table of Graphviz."""
    for row in edge.rows:
        for line in _row(row, edge, theme):
            yield f'<TR><TD ALIGN="LEFT">{line}</TD></TR>'


def _row(row: Row, edge: Edge, theme: Theme) -> Iterator[str]:
    """Yield one line, or two: what decides, and what follows."""
    rule = row.rule
    text, quiet, asks = (theme.cold,) * 3 if row.fired == 0 else (theme.text, theme.quiet, theme.asks)
    if edge.kind == "stay" and edge.change is not None:
        text = theme.changes[edge.change]
    told = f"({row.mark})" if row.mark else ""
    count = f"×{row.fired}" if row.fired else ""
    decides = [(str(rule.trigger), text), (guards_of(rule), quiet), (count, theme.hot), (told, theme.hot)]
    follows = [(emits_of(rule), text), (asks_of(rule), asks), (sets_of(rule), quiet)]
    if len(said(rule)) <= _LINE:
        yield _coloured([*decides, *follows])
        return
    yield _coloured(decides)
    if any(part for part, _ in follows):
        yield f"&nbsp;&nbsp;&nbsp;{_coloured(follows)}"


def _coloured(parts: Iterable[tuple[str, str]]) -> str:
    return " ".join(f'<FONT COLOR="{color}">{escape(part)}</FONT>' for part, color in parts if part)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}"'
