"""The legend of a picture: how a row reads, what its guards and facts mean, what the lines are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, final

from attrs import frozen

from turnwheel.control import CallControl, Control, meanings
from turnwheel.rules import Not, Rule, Trigger
from turnwheel_diagrams.graph import Change, EdgeKind, Graph
from turnwheel_diagrams.labels import told_facts
from turnwheel_diagrams.themes import Theme

Stroke = EdgeKind | Change | Literal["fired", "cold", "last"]
"""What an edge is drawn for: its kind, what became of it, or how a run went along it."""

STROKES: Final[Mapping[Stroke, str]] = {
    "stay": "\N{EN DASH} \N{EN DASH}",
    "gone": "\N{EN DASH} \N{EN DASH}",
    "fail": "· · ·",
}
"""What the lines that are not whole look like in a legend."""

_KINDS: Final[Mapping[EdgeKind, str]] = {
    "hard stop": "after an answer that failed or was aborted",
    "end": "on to the end",
    "stay": "stays in the state",
    "fail": "out, without an event",
}
_CHANGES: Final[Mapping[Change, str]] = {"added": "new", "changed": "changed", "gone": "gone", "kept": "as before"}


class Term(NamedTuple):
    """A word or sign of the picture, and what it means."""

    word: str
    meaning: str


@final
@frozen
class Legend:
    """What a picture has to say about itself: its signs, then its guards and facts, then its lines."""

    signs: Sequence[Term]
    guards: Sequence[Term]
    strokes: Sequence[tuple[Stroke, str]]


def legend_of(graph: Graph) -> Legend:
    """Return the legend of a graph: only of what is drawn in it."""
    rules = [rule for edge in graph.edges for rule in edge.rules]
    return Legend(tuple(_signs(graph, rules)), tuple(_guards(rules)), tuple(_strokes(graph)))


def stroke_color(stroke: Stroke, theme: Theme) -> str:
    """Return the colour of a line of the legend."""
    runs = [("fired", theme.edges["go"]), ("cold", theme.cold), ("last", theme.hot)]
    return dict[str, str]([*runs, *theme.edges.items(), *theme.changes.items()])[stroke]


def _signs(graph: Graph, rules: Sequence[Rule]) -> Iterator[Term]:
    if rules:
        ready = any(rule.trigger is Trigger.ready for rule in rules)
        yield Term("trigger", "what came; ready: nothing is left to hand out" if ready else "what came")
    if any(rule.when for rule in rules):
        yield Term("[a !b]", "if a holds and b does not")
    if any(rule.emits for rule in rules):
        yield Term("/ x", "then the event x is handed out")
    if any(told_facts(rule) for rule in rules):
        yield Term("{a=yes}", "and a is noted, for guards to come")
    if any(node.asks for node in graph.nodes):
        yield Term("→ Y", "and Y is asked for; at a state: what it waits for")


def _guards(rules: Sequence[Rule]) -> Iterator[Term]:
    guards = {}
    for rule in rules:
        for condition in rule.when:
            guard = condition.guard if isinstance(condition, Not) else condition
            guards[guard.name] = guard.meaning
    yield from (Term(name, meaning) for name, meaning in guards.items())
    facts = {fact for rule in rules for fact in told_facts(rule)} - set(guards)
    known = {**meanings(Control), **meanings(CallControl)}
    yield from (Term(f"{{{fact}}}", known[fact]) for fact in sorted(facts))


def _strokes(graph: Graph) -> Iterator[tuple[Stroke, str]]:
    edges = graph.edges
    changes = {edge.change for edge in edges}
    if changes - {None}:
        yield from ((change, words) for change, words in _CHANGES.items() if change in changes)
        return
    fired = {edge.fired for edge in edges} - {None}
    if fired:
        yield "fired", "fired; the thicker, the more often"
        if 0 in fired:
            yield "cold", "never fired"
    if any(edge.last for edge in edges):
        yield "last", graph.marked
    kinds = {edge.kind for edge in edges}
    yield from ((kind, words) for kind, words in _KINDS.items() if kind in kinds)
