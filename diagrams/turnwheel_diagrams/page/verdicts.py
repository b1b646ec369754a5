"""The decisions of a page, explained: each pair of a rule and what its guards said is told once."""

from __future__ import annotations

from typing import final

from turnwheel.errors import ParseError
from turnwheel.explaining import Alternative, Explanation, decides_to_stop, explain, row_of
from turnwheel.messages import Json
from turnwheel.recorded import RecordedDecision
from turnwheel.rules import Dialect, Guard, Not, Rule


@final
class Verdicts:
    """All explanations of a page; each has a place."""

    def __init__(self) -> None:
        self.values: list[Json] = []
        self._places: dict[tuple[object, ...], int] = {}

    def place(self, decision: RecordedDecision, dialect: Dialect, source: str) -> int:
        """Return the place of a decision's explanation. Raises ParseError for one that the dialect does not know."""
        key = (dialect.name, decision.machine, decision.rule, *sorted(decision.guards.items()))
        found = self._places.get(key)
        if found is None:
            try:
                why = explain(dialect, decision.machine, decision.rule, decision.guards)
            except ValueError as error:
                raise ParseError(str(error), path=f"position {decision.at}", source=source) from error
            table, rule = row_of(dialect, decision.machine, decision.rule)
            found = self._places[key] = len(self.values)
            self.values.append(_told(why, [row.name for row in table.rules].index(rule.name)))
        return found


def _told(why: Explanation, row: int) -> Json:
    rule = why.rule
    return {
        "machine": why.machine,
        "row": row,
        **_way(rule),
        "emits": [*map(str, rule.emits)],
        "held": [*map(_guard, why.held)],
        "notHeld": [*map(_guard, why.not_held)],
        "others": [_other(other) for other in why.alternatives],
        "stops": why.machine == "loop" and decides_to_stop(rule),
    }


def _way(rule: Rule) -> dict[str, Json]:
    return {
        "name": rule.name,
        "source": str(rule.source),
        "trigger": str(rule.trigger),
        "guards": [*map(str, rule.when)],
        "dest": str(rule.dest),
        "asks": None if rule.asks is None else str(rule.asks),
        "why": rule.why,
    }


def _guard(guard: Guard) -> Json:
    return {"name": guard.name, "meaning": guard.meaning}


def _other(other: Alternative) -> Json:
    return {**_way(other.rule), "lacked": [_lacked(condition) for condition in other.lacked]}


def _lacked(condition: Guard | Not) -> Json:
    if isinstance(condition, Not):
        return {"wanted": False, **_guard(condition.guard)}
    return {"wanted": True, **_guard(condition)}
