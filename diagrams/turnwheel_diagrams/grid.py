"""A table as a grid in Markdown: what each state does on each trigger."""

from __future__ import annotations

from collections.abc import Iterator

from turnwheel.rules import Rule, Table
from turnwheel_diagrams.labels import asks_of, emits_of, guards_of, sets_of


def to_grid(table: Table) -> str:
    """Return a Markdown table: a row for each state, a column for each trigger.

    A cell says where that leads, and under which guards, with which events and facts, and what is asked for.
    """
    return "".join(f"{line}\n" for line in _lines(table))


def _lines(table: Table) -> Iterator[str]:
    triggers = list(dict.fromkeys(rule.trigger for rule in table.rules))
    yield f"| {table.name} | {' | '.join(map(str, triggers))} |"
    yield f"|{'---|' * (len(triggers) + 1)}"
    for state in table.states:
        cells = [_cell([r for r in table.rules if r.source is state and r.trigger is on]) for on in triggers]
        yield f"| **{state}** | {' | '.join(cells)} |"


def _cell(rules: list[Rule]) -> str:
    told = "<br>".join(" ".join(part for part in _parts(rule) if part) for rule in rules)
    return told.replace("|", "\\|") or "·"


def _parts(rule: Rule) -> tuple[str, ...]:
    dest = f"**{rule.dest}**" if rule.dest is not rule.source else "stays"
    return guards_of(rule), dest, emits_of(rule), sets_of(rule), asks_of(rule)
