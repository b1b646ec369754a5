"""Why a rule fired: which of its guards held, and what would have had to be different for another one to fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

from attrs import frozen

from turnwheel.rules import Dialect, Guard, Not, Rule, State, Table, Trigger


@final
@frozen
class Alternative:
    """A rule of the same state and trigger that did not fire, and the conditions of it that did not hold."""

    rule: Rule
    lacked: Sequence[Guard | Not]


@final
@frozen
class Explanation:
    """One fired rule, the guards that held, those that did not, and the rules that could have fired instead."""

    machine: str
    rule: Rule
    held: Sequence[Guard]
    not_held: Sequence[Guard]
    alternatives: Sequence[Alternative]


def explain(dialect: Dialect, machine: str, rule: str, guards: Mapping[str, bool]) -> Explanation:
    """Explain a decision, live or recorded: the machine and the name of the rule, and what each guard said.

    Raises ValueError where the dialect has no such rule, or where the guards are not those that lead to it.
    """
    table, row = row_of(dialect, machine, rule)
    choice = table.choices[row.source, row.trigger].guards
    if guards.keys() != {guard.name for guard in choice} or _lacked(row, guards):
        said = ", ".join(name if value else f"!{name}" for name, value in guards.items()) or "no guard"
        raise ValueError(f"the row {rule!r} of {dialect.name} does not fire where the guards say: {said}")
    return Explanation(
        machine,
        row,
        [guard for guard in choice if guards[guard.name]],
        [guard for guard in choice if not guards[guard.name]],
        [Alternative(other, _lacked(other, guards)) for other in _beside(row, table)],
    )


def row_of(dialect: Dialect, machine: str, rule: str) -> tuple[Table, Rule]:
    """Return the table of a machine and its row of that name. Raises ValueError where the dialect has no such row."""
    table = next((table for table in dialect.tables if table.name == machine), None)
    row = None if table is None else next((row for row in table.rules if row.name == rule), None)
    if table is None or row is None:
        raise ValueError(f"the {machine} of {dialect.name} has no row {rule!r}")
    return table, row


def _beside(row: Rule, table: Table) -> list[Rule]:
    """Return the other rules of the same state and trigger."""
    return [
        other
        for other in table.rules
        if other is not row and (other.source, other.trigger) == (row.source, row.trigger)
    ]


def _lacked(rule: Rule, guards: Mapping[str, bool]) -> list[Guard | Not]:
    """Return the conditions of a rule that do not hold where the guards say this."""
    return [
        condition
        for condition in rule.when
        if (isinstance(condition, Not) == guards[(condition.guard if isinstance(condition, Not) else condition).name])
    ]


_DECIDING: Final = frozenset({State.CheckStop, State.TurnEnd, State.AwaitFollowUp})
_ASKING: Final = frozenset({Trigger.steering, Trigger.prepared})


def decides_to_stop(rule: Rule) -> bool:
    """Say whether a rule is one of those by which a run stops or goes on: the rows of the loop that judge a turn."""
    return (
        rule.dest is State.Done
        or rule.source in _DECIDING
        or (rule.source is State.AwaitSteering and rule.trigger in _ASKING)
        or (rule.source is State.ExecutingTools and rule.dest is State.TurnEnd)
    )
