"""Which edges of a graph lead back up: those that close a circle for who walks it from its entry."""

from __future__ import annotations

from collections.abc import Sequence

from turnwheel_diagrams.graph import ENTRY, Edge


def upward(edges: Sequence[Edge]) -> set[tuple[str, str]]:
    """Return source and destination of the edges that lead back to a state on the way that led there.

    Graphviz breaks circles in the same way, so these are the ones that it draws from below.
    """
    found: set[tuple[str, str]] = set()
    seen: set[str] = set()

    def walk(state: str, way: frozenset[str]) -> None:
        seen.add(state)
        for edge in edges:
            if edge.source == state:
                if edge.dest in way:
                    found.add((state, edge.dest))
                elif edge.dest not in seen:
                    walk(edge.dest, way | {edge.dest})

    walk(ENTRY, frozenset({ENTRY}))
    return found
