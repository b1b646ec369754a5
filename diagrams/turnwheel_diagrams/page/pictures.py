"""The diagrams of the page: small ones, without words at the edges, whose parts the page can light up.

What Graphviz draws is taken apart and put together again from a short list of elements and attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from xml.etree import ElementTree as ET

from turnwheel.rules import Dialect, Table
from turnwheel_diagrams.graph import ENTRY, Edge, Graph, graph_of
from turnwheel_diagrams.render import rendered

Pictures = Mapping[tuple[str, str], str]
"""SVG by the names of dialect and machine."""

_SVG: Final = "{http://www.w3.org/2000/svg}"
_SHAPES: Final = {"path": ("d",), "polygon": ("points",), "ellipse": ("cx", "cy", "rx", "ry"), "text": ("x", "y")}
"""What is taken over of Graphviz: these elements with these attributes. Colours and letters are the page's own."""
_HEAD: Final = (
    "graph [rankdir=LR, nodesep=0.25, ranksep=0.35]",
    'node [shape=box, style=rounded, fontname="Helvetica,Arial,sans-serif", fontsize=13, margin="0.12,0.06", height=0]',
    "edge [arrowsize=0.7]",
    f'{ENTRY} [shape=circle, width=0.12, margin=0, label=""]',
)


def pictures_of(dialects: Iterable[Dialect]) -> Pictures:
    """Return the pictures of all machines of these dialects. Raises NoGraphviz where nothing is there to draw them."""
    return {(each.name, table.name): _picture(each, table) for each in dialects for table in each.tables}


def _picture(dialect: Dialect, table: Table) -> str:
    graph = graph_of(table, dialect.name)
    root = ET.fromstring(rendered("\n".join(_dot(graph)), "svg"))
    drawing = root.find(f"{_SVG}g")
    picture = ET.Element("svg", {"viewBox": root.get("viewBox", ""), "role": "img"})
    picture.set("aria-label", f"The {table.name} of {dialect.name}")
    if drawing is not None:
        inner = ET.SubElement(picture, "g", {"transform": drawing.get("transform", "")})
        edges = {f"row-{edge.numbers[0]}": edge for edge in graph.edges if edge.numbers}
        final = {f"state-{node.name}" for node in graph.nodes if node.final}
        for group in drawing.iter(f"{_SVG}g"):
            if group is not drawing:
                _add(inner, group, edges.get(group.get("id", "")), final)
    return ET.tostring(picture, encoding="unicode", short_empty_elements=False)


def _dot(graph: Graph) -> Iterator[str]:
    yield "digraph {"
    yield from _HEAD
    for node in graph.nodes:
        yield f'{node.name} [id="state-{node.name}", label="{node.name}"]'
    for edge in graph.edges:
        name = f' [id="row-{edge.numbers[0]}"]' if edge.numbers else ""
        yield f"{edge.source} -> {edge.dest}{name}"
    yield "}"


def _add(picture: ET.Element, group: ET.Element, edge: Edge | None, final: set[str]) -> None:
    """Put a group of Graphviz's into the picture, under names of ours."""
    name = group.get("id", "")
    if edge is not None:
        inner = ET.SubElement(picture, "g", {"class": f"edge {edge.kind.replace(' ', '-')}"})
        told = ET.SubElement(inner, "title")
        told.text = "\n".join(f"{rule.name}: {rule.why}" for rule in edge.rules)
        for number in edge.numbers:
            inner = ET.SubElement(inner, "g", {"data-row": str(number)})
    elif name.startswith("state-"):
        inner = ET.SubElement(picture, "g", {"class": "node final" if name in final else "node"})
        inner.set("data-state", name.removeprefix("state-"))
    else:
        inner = ET.SubElement(picture, "g", {"class": "edge entry"})
    for shape in group:
        kind = shape.tag.removeprefix(_SVG)
        if kind in _SHAPES:
            attributes = {key: shape.get(key, "") for key in _SHAPES[kind]}
            ET.SubElement(inner, kind, attributes).text = shape.text if kind == "text" else None
