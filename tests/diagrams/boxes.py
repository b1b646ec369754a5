"""Where Graphviz puts what: the boxes of the texts and the points of the lines of a picture, in points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from tests.diagrams.parsed import agraph


class Box(NamedTuple):
    """A piece of text in a picture."""

    left: float
    bottom: float
    right: float
    top: float
    text: str

    def holds(self, point: tuple[float, float]) -> bool:
        """Say whether a point lies in it."""
        return self.left < point[0] < self.right and self.bottom < point[1] < self.top


class Laid(NamedTuple):
    """A picture as it is laid out: its size, its texts, and points along each of its edges."""

    width: float
    height: float
    labels: list[Box]
    others: list[Box]
    lines: list[tuple[float, float]]


def laid(dot: str) -> Laid:
    """Lay a graph in DOT out."""
    drawn = json.loads(agraph(dot).draw(format="json", prog="dot"))
    _, _, width, height = (float(number) for number in drawn["bb"].split(","))
    labels = [box for edge in drawn["edges"] for box in _texts(edge)]
    others = [*_texts(drawn), *(box for node in drawn["objects"] for box in _texts(node))]
    points = [point for edge in drawn["edges"] for op in edge["_draw_"] if op["op"] == "b" for point in _along(op)]
    return Laid(width, height, labels, others, points)


def _texts(drawn: dict[str, Any]) -> Iterator[Box]:
    size = 0.0
    for op in drawn.get("_ldraw_", ()):
        if op["op"] == "F":
            size = op["size"]
        if op["op"] == "T" and op["text"].strip():
            (x, y), width = op["pt"], op["width"]
            left = {"l": x, "c": x - width / 2, "r": x - width}[op["align"]]
            yield Box(left, y - 0.2 * size, left + width, y + 0.7 * size, op["text"])


def _along(op: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """Yield points along a line of cubic Bézier curves."""
    ends = range(0, len(op["points"]), 3)
    for start, end in pairwise(ends):
        a, b, c, d = op["points"][start : end + 1]
        for step in range(33):
            t = step / 32
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
            x, y = (sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            yield x, y
