"""The colours of the pictures, light and dark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, final

from attrs import frozen

from turnwheel_diagrams.graph import Change, Edge, EdgeKind


@final
@frozen
class Theme:
    """Colours, as #rrggbb: `edges` by what an edge means, `changes` by what became of a row.

    `hot` marks the last decision and the state that is lit; `cold` is for what never fired.
    """

    name: str
    background: str
    node: str
    node_border: str
    final: str
    text: str
    quiet: str
    asks: str
    hot: str
    cold: str
    edges: Mapping[EdgeKind, str]
    changes: Mapping[Change, str]


LIGHT: Final = Theme(
    name="light",
    background="#ffffff",
    node="#eef3fb",
    node_border="#4a6fa5",
    final="#e6f4ea",
    text="#16202c",
    quiet="#5d6772",
    asks="#8a5a00",
    hot="#b5179e",
    cold="#c3cad1",
    edges={
        "entry": "#16202c",
        "go": "#3d5a80",
        "stay": "#7c8894",
        "end": "#1a7f37",
        "hard stop": "#c4320a",
        "fail": "#b57f7f",
    },
    changes={"kept": "#c3cad1", "added": "#1a7f37", "gone": "#c4320a", "changed": "#a15c00"},
)
DARK: Final = Theme(
    name="dark",
    background="#0f141a",
    node="#1c2733",
    node_border="#6f9bd8",
    final="#17301f",
    text="#e8eef5",
    quiet="#a3b0bd",
    asks="#e3b341",
    hot="#ff7edb",
    cold="#45505b",
    edges={
        "entry": "#e8eef5",
        "go": "#8fb3e2",
        "stay": "#7b8793",
        "end": "#56d364",
        "hard stop": "#ff8a65",
        "fail": "#9a6a6a",
    },
    changes={"kept": "#45505b", "added": "#56d364", "gone": "#ff8a65", "changed": "#e3b341"},
)
THEMES: Final[Mapping[str, Theme]] = {theme.name: theme for theme in (LIGHT, DARK)}


def edge_color(edge: Edge, theme: Theme) -> str:
    """Return the colour of an edge: of the last decision, of a change, of what never fired, else of its kind."""
    if edge.last:
        return theme.hot
    if edge.change is not None:
        return theme.changes[edge.change]
    return theme.cold if edge.fired == 0 else theme.edges[edge.kind]


def edge_width(edge: Edge) -> float:
    """Return how thick an edge is, in points: the more often it fired, the thicker."""
    bold = edge.kind == "hard stop" or edge.last or edge.change in ("added", "changed")
    return (2 if bold else 1) + (round(math.log2(edge.fired + 1) / 2, 2) if edge.fired else 0)
