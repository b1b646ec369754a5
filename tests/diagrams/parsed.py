"""Pictures read back: DOT through pygraphviz, SVG as XML, Mermaid by a small parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

from turnwheel.rules import Dialect, Rule, Table
from turnwheel.table import DIALECTS, dialect

TABLES: Final = [
    (each, table)
    for each in map(dialect, DIALECTS)
    for table in each.tables
]  # fmt: skip
"""Each table of each dialect, with its dialect."""

SAID: Final = re.compile(
    # trigger [guards] / events {facts} → effect
    r"(?P<trigger>\w+)(?: \[(?P<guards>[^]]*)\])?(?: / (?P<emits>[^{→]*?))?"
    r"(?: \{(?P<sets>[^}]*)\})?(?: → (?P<asks>.*))?"
)
SVG: Final = "{http://www.w3.org/2000/svg}"


def name_of(case: tuple[Dialect, Table]) -> str:
    """Return the name of a case of TABLES."""
    each, table = case
    return f"{each.name}-{table.name}"


class Row(NamedTuple):
    """A row as a picture tells it."""

    source: str
    dest: str
    trigger: str
    guards: tuple[str, ...]
    emits: tuple[str, ...]


def row_of(rule: Rule) -> Row:
    """Return the row of a table."""
    return Row(
        str(rule.source), str(rule.dest), str(rule.trigger), tuple(map(str, rule.when)), tuple(map(str, rule.emits))
    )


def row_from(source: str, dest: str, text: str) -> Row:
    """Return the row that a line of text tells of."""
    told = SAID.fullmatch(text)
    assert told, text
    guards, emits = told["guards"], told["emits"]
    return Row(
        source,
        dest,
        told["trigger"],
        tuple(guards.split()) if guards else (),
        tuple(emits.split(", ")) if emits else (),
    )


class Drawn(NamedTuple):
    """An edge of a parsed picture: its id, its ends, what is told where the mouse rests, the rows beside it."""

    id: str
    source: str
    dest: str
    tooltip: str
    lines: list[str]
    attributes: dict[str, str]

    @property
    def rows(self) -> list[Row]:
        """The rows that the label tells of."""
        return [row_from(self.source, self.dest, line) for line in self.lines]

    @property
    def hovered(self) -> list[Row]:
        """The rows that the tooltip tells of."""
        told = [part.partition(": ")[0] for part in self.tooltip.split(" | ")] if self.tooltip else []
        return [row_from(self.source, self.dest, text) for text in told]


def agraph(dot: str) -> Any:
    """Return a graph in DOT as pygraphviz reads it."""
    return import_module("pygraphviz").AGraph(string=dot)


def dot_edges(dot: str) -> list[Drawn]:
    """Return the edges of a graph in DOT."""
    graph = agraph(dot)  # an edge lives no longer than its graph
    return [
        Drawn(
            edge.attr["id"] or "",
            str(edge[0]),
            str(edge[1]),
            edge.attr["tooltip"] or "",
            _label_rows(edge.attr["label"] or ""),
            {key: edge.attr[key] or "" for key in ("color", "style", "penwidth")},
        )
        for edge in graph.edges()
    ]


def _label_rows(label: str) -> list[str]:
    """Return the rows of a label; a line that is indented goes on with the row above it."""
    rows: list[str] = []
    for cell in re.findall(r"<TD[^>]*>(.*?)</TD>", label):
        text = unescape(re.sub(r"<[^>]*>", "", cell)).rstrip("\xa0")
        if text.startswith("\xa0\xa0"):
            rows[-1] += f" {text.strip()}"
        else:
            rows.append(text.strip())
    return rows


def svg_edges(svg: bytes) -> list[Drawn]:
    """Return the edges of an SVG that have an id of ours."""
    return [
        Drawn(group.get("id", ""), *_ends(group), _hover(group), [], {})
        for group in ET.fromstring(svg).iter(f"{SVG}g")
        if group.get("class") == "edge" and group.get("id", "").startswith("row-")
    ]


def _ends(group: ET.Element) -> tuple[str, str]:
    source, dest = group.findtext(f"{SVG}title", "").split("->")
    return source.partition(":")[0], dest.partition(":")[0]


def _hover(group: ET.Element) -> str:
    links = [link.get("{http://www.w3.org/1999/xlink}title", "") for link in group.iter(f"{SVG}a")]
    return links[0] if links else ""


def mermaid_edges(text: str) -> list[Drawn]:
    """Return the edges of a Mermaid flowchart, in its order."""
    edge = re.compile(r'  (\w+) (-->|==>|-\.->)(?:\|"(.*)"\|)? (\w+)')
    return [
        Drawn("", found[1], found[4], "", list(_mermaid_rows(found[3] or "")), {"arrow": found[2]})
        for found in map(edge.fullmatch, text.splitlines())
        if found
    ]


def _mermaid_rows(label: str) -> Iterator[str]:
    for line in filter(None, label.split("<br/>")):
        yield re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), re.sub(r"</?b>", "", line))
