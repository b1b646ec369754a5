"""The picture of a difference: what is added, gone and moved from one dialect's table to another's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from turnwheel.difference import diff
from turnwheel.rules import Dialect, Rule
from turnwheel_diagrams.graph import Change, Edge, Graph, entry_of, merged, nodes_of, row_edges

_NO_NEWS: Final = ("fail", "kept")


def difference_of(before: Dialect, after: Dialect, machine: str, *, full: bool = False) -> Graph:
    """Return one graph of both tables of that name (`loop`, `batch`, `call`); the notes say why each row changed.

    Rows that are `gone` are numbered behind those of the later table. Unless `full`, what is kept has no label.
    """
    old, new = ({table.name: table for table in dialect.tables}[machine] for dialect in (before, after))
    told = {table.table: table for table in diff(before, after).tables}.get(machine)
    added = {rule.name for rule in told.added} if told else set()
    changed = {rule.name: was for was, rule in told.changed} if told else {}
    gone = {rule.name for rule in told.gone} if told else set()
    edges = [
        _marked(edge, "added" if _name(edge) in added else "changed" if _name(edge) in changed else "kept")
        for edge in row_edges(new)
    ]
    lost = [edge for edge in row_edges(old) if _name(edge) in gone]
    edges += [evolve(edge, change="gone", numbers=(len(edges) + at,)) for at, edge in enumerate(lost)]
    shown = edges if full else merged(map(_quiet, (edge for edge in edges if (edge.kind, edge.change) != _NO_NEWS)))
    notes = list(_notes(edges, changed))
    return Graph(f"{before.name} → {after.name}", machine, nodes_of(new), (entry_of(new), *shown), full, notes)


def _name(edge: Edge) -> str:
    return edge.rules[0].name


def _marked(edge: Edge, change: Change) -> Edge:
    return evolve(edge, change=change)


def _quiet(edge: Edge) -> Edge:
    return evolve(edge, rules=()) if edge.change == "kept" else edge


def _notes(edges: Iterable[Edge], changed: dict[str, Rule]) -> Iterable[str]:
    for edge in edges:
        (rule,) = edge.rules
        if edge.change == "changed":
            yield f"changed: {rule.name}: {_did(changed[rule.name])} before, now {_did(rule)}. {rule.why}"
        elif edge.change != "kept":
            yield f"{edge.change}: {rule.name}: {_did(rule)}. {rule.why}"


def _did(rule: Rule) -> str:
    """Return what a row does, in short."""
    emits = f", emits {', '.join(map(str, rule.emits))}" if rule.emits else ""
    asks = f", asks {rule.asks}" if rule.asks is not None else ""
    return f"to {rule.dest}{emits}{asks}"
