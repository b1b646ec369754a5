"""The machine that runs, exported by transitions itself, has the edges of the pictures."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from transitions.extensions.markup import MarkupMachine

from tests.diagrams.parsed import TABLES, agraph, dot_edges, mermaid_edges, name_of
from turnwheel.rules import Dialect, Table
from turnwheel.wheel import TableMachine, wheel
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import ENTRY, graph_of
from turnwheel_diagrams.mermaid import to_mermaid

Edge = tuple[str, str, str, tuple[str, ...]]


def exported(machine: TableMachine) -> dict[str, Any]:
    """Return what transitions exports of a machine that is loaded."""
    exporter = MarkupMachine(model=None, states=["none"], initial="none", auto_transitions=False)
    exporter.states = machine.states
    exporter.events = machine.events
    return dict(exporter.markup)


def edges_of(markup: dict[str, Any]) -> Counter[Edge]:
    """Return trigger, source, destination and guards of each exported transition."""
    return Counter(
        (row["trigger"], row["source"], row["dest"], (*map(_guard, row.get("conditions", ())), *_unless(row)))
        for row in markup["transitions"]
    )


def _guard(condition: str) -> str:
    return condition.removeprefix("_says(").removesuffix(")")


def _unless(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"!{_guard(condition)}" for condition in row.get("unless", ()))


@pytest.mark.parametrize("case", TABLES, ids=name_of)
class TestExport:
    """transitions' markup of the loaded machine of a table."""

    def test_edges(self, case: tuple[Dialect, Table]) -> None:
        """It has the edges of the full picture, with their triggers and guards."""
        each, table = case
        graph = graph_of(table, each.name, full=True)
        loaded = edges_of(exported(getattr(wheel(each), table.name)))
        drawn = [row for edge in dot_edges(to_dot(graph)) for row in edge.hovered]
        mermaid = [row for edge in mermaid_edges(to_mermaid(graph)) for row in edge.rows]

        assert loaded == Counter((row.trigger, row.source, row.dest, row.guards) for row in drawn)
        assert loaded == Counter((row.trigger, row.source, row.dest, row.guards) for row in mermaid)

    def test_states(self, case: tuple[Dialect, Table]) -> None:
        """It has the states of the picture; the final one is drawn with two borders."""
        each, table = case
        markup = exported(getattr(wheel(each), table.name))
        graph = agraph(to_dot(graph_of(table, each.name)))
        drawn = [node for node in graph.nodes() if node != ENTRY]

        assert {state["name"] for state in markup["states"]} == set(drawn)
        assert [state["name"] for state in markup["states"] if state.get("final")] == [
            node for node in drawn if node.attr["peripheries"] == "2"
        ]
