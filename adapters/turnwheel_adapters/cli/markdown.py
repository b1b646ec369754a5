"""The tables of a dialect as Markdown, to be read on one screen each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import attrs
from attrs import frozen

from turnwheel.rules import AnyState, Dialect, Guard, Not, Rule, Switches, Table

COLUMNS = ("source", "trigger", "guards", "destination", "emits", "asks", "sets", "why")
TITLES = {
    "loop": ("The loop", "One run, from its beginning to its end."),
    "batch": ("The batch", "Which tool call comes next, while the loop is in ExecutingTools."),
    "call": ("A tool call", "Walked once by every call of a batch."),
}


def as_markdown(dialect: Dialect) -> Iterator[str]:
    """Yield the lines of a page: the three tables, each with a glossary of its guards, and the switches."""
    yield f"# {dialect.name}"
    yield ""
    yield "In this state, on this trigger, where these guards hold (`!x`: x does not), go to that state; emit these"
    yield "events, then ask for this one thing, and set these facts. For each state and trigger exactly one row holds."
    for table in dialect.tables:
        yield ""
        yield from _table(table)
    yield ""
    yield "## Switches"
    yield ""
    yield "What differs between dialects and is no decision."
    yield ""
    yield from _grid(("switch", "value", "since", "why"), [_switch(dialect, at) for at in attrs.fields(Switches)])


def _switch(dialect: Dialect, switch: attrs.Attribute[Any]) -> tuple[str, ...]:
    value = in_words(getattr(dialect.switches, switch.name))
    return switch.name, value, switch.metadata["since"], switch.metadata["why"]


def known(rule: Rule) -> str:
    """Return by what a row is known, in words."""
    return " ".join([f"{rule.source}, on {rule.trigger}", *([f"[{guards(rule)}]"] if rule.when else [])])


def guards(rule: Rule) -> str:
    """Return the guards of a row."""
    return " ".join(map(str, rule.when))


def emitted(rule: Rule) -> str:
    """Return what a row emits."""
    return ", ".join(map(str, rule.emits))


def in_words(value: Any) -> str:
    """Return the value of a fact or a switch; a flag says yes or no."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _table(table: Table) -> Iterator[str]:
    title, about = TITLES[table.name]
    yield f"## {title}"
    yield ""
    yield about
    yield ""
    yield from _grid(COLUMNS, [_cells(row, table) for row in _rows(table)])
    glossary = {guard.name: guard.meaning for rule in table.rules for guard in map(_guard, rule.when)}
    yield ""
    yield "Guards:"
    yield ""
    for name, meaning in glossary.items():
        yield f"- `{name}`: {meaning}"


def _guard(condition: Guard | Not) -> Guard:
    return condition.guard if isinstance(condition, Not) else condition


# --- rows ---------------------------------------------------------------------------------------------------------


@final
@frozen
class _Row:
    """Rules that say the same for several states, or just one rule."""

    sources: Sequence[AnyState]
    rule: Rule


def _rows(table: Table) -> list[_Row]:
    """Return the rows in the order of the states; one that holds in every live state comes last."""
    groups: dict[Any, list[Rule]] = {}
    for rule in table.rules:
        dest = None if rule.dest is rule.source else rule.dest
        said = (rule.trigger, guards(rule), dest, tuple(rule.emits), rule.asks, tuple(rule.sets.items()), rule.why)
        groups.setdefault(said, []).append(rule)
    order = table.states.index
    rows = [_Row(sorted((rule.source for rule in group), key=order), group[0]) for group in groups.values()]
    return sorted(rows, key=lambda row: (_everywhere(row, table), order(row.sources[0])))


def _everywhere(row: _Row, table: Table) -> bool:
    return len(row.sources) == len(table.states) - 1


def _cells(row: _Row, table: Table) -> tuple[str, ...]:
    rule = row.rule
    several = len(row.sources) > 1
    return (
        "every live state" if _everywhere(row, table) else ", ".join(row.sources),
        str(rule.trigger),
        guards(rule),
        "the same" if several and rule.dest is rule.source else str(rule.dest),
        emitted(rule),
        str(rule.asks or ""),
        ", ".join(f"{fact}={in_words(value)}" for fact, value in rule.sets.items()),
        rule.why,
    )


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') or '-' for cell in row)} |"
