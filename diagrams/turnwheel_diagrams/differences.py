"""The picture of a difference: what is added, gone and moved from one dialect's table to another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve

from turnwheel.difference import diff
from turnwheel.rules import Dialect, Rule
from turnwheel_diagrams.graph import Change, Edge, Graph, entry_of, merged, nodes_of, row_edges
from turnwheel_diagrams.labels import asks_of, emits_of, in_words, sets_of

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
    rows = [
        _marked(edge, "added" if _name(edge) in added else "changed" if _name(edge) in changed else "kept")
        for edge in row_edges(new)
    ]
    lost = [_marked(edge, "gone") for edge in row_edges(old) if _name(edge) in gone]
    rows += [evolve(edge, numbers=(len(rows) + at,)) for at, edge in enumerate(lost)]
    edges, notes = _numbered(rows, changed)
    shown = edges if full else merged(map(_quiet, (edge for edge in edges if (edge.kind, edge.change) != _NO_NEWS)))
    return Graph(f"{before.name} → {after.name}", machine, nodes_of(new), (entry_of(new), *shown), full, tuple(notes))


def _name(edge: Edge) -> str:
    return edge.rules[0].name


def _marked(edge: Edge, change: Change) -> Edge:
    return evolve(edge, change=change)


def _quiet(edge: Edge) -> Edge:
    return evolve(edge, rules=()) if edge.change == "kept" else edge


def _numbered(rows: Sequence[Edge], before: Mapping[str, Rule]) -> tuple[list[Edge], list[str]]:
    """Return the rows with the numbers of their notes, and the notes; `before` has what the changed rows were."""
    edges: list[Edge] = []
    notes: list[str] = []
    for edge in rows:
        if edge.change == "kept":
            edges.append(edge)
            continue
        (rule,) = edge.rules
        was = f" (before: {_old(before[rule.name], rule)})" if edge.change == "changed" else ""
        notes.append(f"{edge.change}: {rule.name} → {rule.dest}{was}. {rule.why}")
        edges.append(evolve(edge, notes=(len(notes),)))
    return edges, notes


def _old(was: Rule, now: Rule) -> str:
    """Return what a row did that it does no longer."""
    does = zip(_does(was), _does(now), strict=True)
    return " ".join(old for old, new in does if old != new) or f"{{{in_words(was.sets)}}}"


def _does(rule: Rule) -> tuple[str, str, str, str]:
    return f"to {rule.dest}", emits_of(rule) or "/ nothing", sets_of(rule) or "{}", asks_of(rule) or "→ nothing"
