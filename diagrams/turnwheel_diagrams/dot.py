"""A graph as DOT, the language of Graphviz. The same graph and theme give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from turnwheel.rules import Rule
from turnwheel_diagrams.graph import ENTRY, Edge, Graph, Node
from turnwheel_diagrams.labels import Piece, lines_of, said, times
from turnwheel_diagrams.layout import upward
from turnwheel_diagrams.legend import STROKES, Stroke, Term, legend_of, stroke_color
from turnwheel_diagrams.themes import LIGHT, Theme, edge_color, edge_width

FONT: Final = "Helvetica,Arial,sans-serif"
_STYLES: Final = {"hard stop": "bold", "fail": "dotted", "stay": "dashed"}

# Widths in characters, heights in inches: what keeps a picture of the loop readable in a page 830 pixels wide.
_LINE: Final = 24
_STAY_LINE: Final = 38
_LINE_HEIGHT: Final = 0.17
_MEANING: Final = 66
_NOTE: Final = 120


def to_dot(graph: Graph, theme: Theme = LIGHT) -> str:
    """Return the graph in DOT. Edges have the ids `row-N`, N being the place of the (first) row in its table."""
    return "".join(f"{line}\n" for line in _Drawing(graph, theme).lines())


class _Drawing:
    """One graph in one theme."""

    def __init__(self, graph: Graph, theme: Theme) -> None:
        self.graph = graph
        self.theme = theme
        self.asks = {node.name: node.asks for node in graph.nodes}
        self.upward = upward(graph.edges)
        self.loops: dict[str, list[Edge]] = {}
        for edge in graph.edges:
            if edge.source == edge.dest:
                self.loops.setdefault(edge.source, []).append(edge)

    def lines(self) -> Iterator[str]:
        theme = self.theme
        yield f"digraph {_quoted(self.graph.title)} {{"
        yield (
            f'  graph [rankdir=TB, bgcolor="{theme.background}", nodesep=0.2, ranksep=0.3, fontname="{FONT}", '
            f'fontsize=9, fontcolor="{theme.quiet}", labeljust=l, label=<{_legend(self.graph, theme)}>]'
        )
        yield (
            f'  node [shape=box, style="rounded,filled", fontname="{FONT}", fontsize=13, margin="0.1,0.04", '
            f'fillcolor="{theme.node}", color="{theme.node_border}", fontcolor="{theme.text}"]'
        )
        yield f'  edge [fontname="{FONT}", fontsize=10, arrowsize=0.7]'
        yield f'  {ENTRY} [shape=circle, style=filled, width=0.16, label="", fillcolor="{theme.text}"]'
        for node in self.graph.nodes:
            yield f"  {node.name} [{self._node(node)}]"
        for edge in self.graph.edges:
            yield f"  {edge.source} -> {edge.dest} [{self._edge(edge)}]"
        yield "}"

    def _node(self, node: Node) -> str:
        theme = self.theme
        asks = "".join(f'<BR/><FONT POINT-SIZE="9" COLOR="{theme.asks}">{escape(ask)}</FONT>' for ask in node.asks)
        asks = asks.replace("<BR/>", '<BR/><FONT POINT-SIZE="12">&#160;</FONT>', 1)
        parts = [f'id="state-{node.name}"', f"label=<<B>{node.name}</B>{asks}>"]
        if node.name in self.loops:
            # As high as the label beside it, so that no edge from below crosses that.
            parts.append(f"height={max(0.5, len(self._label(self.loops[node.name][-1])) * _LINE_HEIGHT):.2f}")
        if node.final:
            parts += ["peripheries=2", f'fillcolor="{theme.final}"']
        if node.lit:
            parts += [f'color="{theme.hot}"', "penwidth=3"]
        return ", ".join(parts)

    def _edge(self, edge: Edge) -> str:
        style = "dashed" if edge.change == "gone" else _STYLES.get(edge.kind, "solid")
        parts = [
            f'color="{edge_color(edge, self.theme)}"',
            f'style="{style}"',
            f"penwidth={edge_width(edge):g}",
            *self._ports(edge),
        ]
        if edge.rules:
            told = " | ".join(f"{said(rule, asks=True)}: {rule.why}" for rule in edge.rules)
            parts += [f'id="row-{edge.numbers[0]}"', f"tooltip={_quoted(told)}"]
        if rows := self._label(edge):
            parts.append(f"label=<{_table(map(_left, rows))}>")
        return ", ".join(parts)

    def _label(self, edge: Edge) -> list[str]:
        """Return the lines beside an edge. Of those that stay in a state, the outermost has what all of them say."""
        loops = self.loops.get(edge.source, []) if edge.source == edge.dest else [edge]
        return [row for other in loops for row in self._rows(other)] if edge is loops[-1] else []

    def _ports(self, edge: Edge) -> Iterator[str]:
        """Yield where an edge touches states that have an edge to themselves, which is drawn at the right."""
        if edge.source != edge.dest:
            tail, head = "ns" if (edge.source, edge.dest) in self.upward else "sn"
            if edge.source in self.loops:
                yield f"tailport={tail}"
            if edge.dest in self.loops:
                yield f"headport={head}"

    def _rows(self, edge: Edge) -> list[str]:
        width = _STAY_LINE if edge.source == edge.dest else _LINE
        lines = [line for at, rule in enumerate(edge.rules) for line in self._row(edge, at, rule, width)]
        if edge.fired:
            lines.append(f'&#160;<FONT COLOR="{self.theme.hot}">{times(edge.fired)}</FONT>')
        return lines

    def _row(self, edge: Edge, at: int, rule: Rule, width: int) -> Iterator[str]:
        asks = self._tells_asks(edge, rule)
        pale = edge.fired == 0 or edge.change == "kept"
        number = _number(edge.notes[at], edge, self.theme) if edge.notes else ""
        for first, line in enumerate(lines_of(rule, width, asks=asks)):
            indent = "&#160;" * 4 if first else f"&#160;{number}"
            yield f"{indent}{' '.join(_font(piece, self.theme, pale=pale) for piece in line)}&#160;"

    def _tells_asks(self, edge: Edge, rule: Rule) -> bool:
        """Say whether a row has to tell what it asks for, where the state that it leads to does not say it all."""
        changes = edge.change not in (None, "kept")
        return changes or edge.source == edge.dest or tuple(self.asks[edge.dest]) != (str(rule.asks),)


def _font(piece: Piece, theme: Theme, *, pale: bool) -> str:
    color = theme.quiet if pale else {"text": theme.text, "quiet": theme.quiet, "asks": theme.asks}[piece.tone]
    return f'<FONT COLOR="{color}">{escape(piece.text)}</FONT>'


def _legend(graph: Graph, theme: Theme) -> str:
    """Return the legend as a table: signs and lines at the left, guards at the right, notes below."""
    legend = legend_of(graph)
    strokes = [_cells(_stroke(stroke, theme), words) for stroke, words in legend.strokes]
    left = [_cells(_word(term, theme), term.meaning) for term in legend.signs] + strokes
    right = [_cells(_word(term, theme), term.meaning) for term in legend.guards]
    rows = [f'{a}<TD WIDTH="16"></TD>{b}' for a, b in zip_longest(left, right, fillvalue="<TD></TD><TD></TD>")]
    title = f'<FONT COLOR="{theme.text}"><B>{escape(graph.title)}</B></FONT>'
    notes = (_left(_note(number, note, graph, theme), 5) for number, note in enumerate(graph.notes, 1))
    return _table(('<TD HEIGHT="8"></TD>', _left(title, 5), *rows, *notes))


def _left(line: str, columns: int = 1) -> str:
    return f'<TD ALIGN="LEFT" COLSPAN="{columns}">{line}</TD>'


def _table(rows: Iterable[str]) -> str:
    table = 'TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"'
    return f"<{table}>{''.join(f'<TR>{row}</TR>' for row in rows)}</TABLE>"


def _note(number: int, note: str, graph: Graph, theme: Theme) -> str:
    about = [edge for edge in graph.edges if number in edge.notes]
    return (_number(number, about[0], theme) if about else "") + _broken(note, _NOTE)


def _number(number: int, edge: Edge, theme: Theme) -> str:
    return f'<FONT COLOR="{edge_color(edge, theme)}"><B>{number}</B></FONT> '


def _cells(sign: str, meaning: str) -> str:
    return (
        f'<TD ALIGN="LEFT" VALIGN="TOP">{sign}&#160;&#160;</TD>'
        f'<TD ALIGN="LEFT" VALIGN="TOP">{_broken(meaning, _MEANING)}</TD>'
    )


def _word(term: Term, theme: Theme) -> str:
    color = theme.asks if term.word.startswith("→") else theme.text
    return f'<FONT COLOR="{color}">{escape(term.word)}</FONT>'


def _stroke(stroke: Stroke, theme: Theme) -> str:
    return f'<FONT COLOR="{stroke_color(stroke, theme)}"><B>{STROKES.get(stroke, "——")}</B></FONT>'


def _broken(text: str, width: int) -> str:
    return "".join(f'{escape(line)}<BR ALIGN="LEFT"/>' for line in wrap(text, width))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}"'
