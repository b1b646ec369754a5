"""In what two dialects differ: the rows and switches that are gone, new or changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import attrs
from attrs import frozen

from turnwheel.messages import Json
from turnwheel.rules import Dialect, Rule, Table


@final
@frozen
class TableDifference:
    """How a table changed. A row is known by its name (source, trigger and guards), so `changed` rows do other things.

    Rows are in the order of their table; what is said in words only, `why`, makes no difference.
    """

    table: str
    gone: Sequence[Rule]
    added: Sequence[Rule]
    changed: Sequence[tuple[Rule, Rule]]

    def __bool__(self) -> bool:
        return bool(self.gone or self.added or self.changed)


@final
@frozen
class SwitchDifference:
    """How a switch changed: its values, the version of Pi that changed it, and what it is about."""

    name: str
    before: Json
    after: Json
    since: str
    why: str


@final
@frozen
class Difference:
    """How the dialect named `before` became the one named `after`; tables that did not change are left out."""

    before: str
    after: str
    tables: Sequence[TableDifference]
    switches: Sequence[SwitchDifference]

    def __bool__(self) -> bool:
        return bool(self.tables or self.switches)


def diff(before: Dialect, after: Dialect) -> Difference:
    """Return in what `after` differs from `before`."""
    tables = (_table(*pair) for pair in zip(before.tables, after.tables, strict=True))
    return Difference(before.name, after.name, tuple(filter(None, tables)), tuple(_switches(before, after)))


def _table(before: Table, after: Table) -> TableDifference:
    old = {rule.name: rule for rule in before.rules}
    new = {rule.name: rule for rule in after.rules}
    return TableDifference(
        after.name,
        gone=tuple(rule for name, rule in old.items() if name not in new),
        added=tuple(rule for name, rule in new.items() if name not in old),
        changed=tuple((old[name], rule) for name, rule in new.items() if name in old and not old[name].same_as(rule)),
    )


def _switches(before: Dialect, after: Dialect) -> list[SwitchDifference]:
    values = [
        (switch, getattr(before.switches, switch.name), getattr(after.switches, switch.name))
        for switch in attrs.fields(type(after.switches))
    ]
    return [
        SwitchDifference(switch.name, old, new, switch.metadata["since"], switch.metadata["why"])
        for switch, old, new in values
        if old != new
    ]
