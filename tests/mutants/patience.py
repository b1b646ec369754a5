"""Ends runs that do not end: a guard that says nothing, counts how often it is asked, and has enough at some point."""

from __future__ import annotations

from typing import Any, Final, final

from attrs import evolve

from turnwheel.rules import Dialect, Guard, Table

MOST: Final = 2_000
"""So many rows may fire in a run; those of the scenarios that are played fire less than a tenth of it."""


class Endless(Exception):
    """The run has taken too many decisions."""


@final
class Patience:
    """Counts the decisions of one run at a time."""

    def __init__(self) -> None:
        self._left = MOST

    def renew(self) -> None:
        """Begin to count a new run."""
        self._left = MOST

    def tried_by(self, dialect: Dialect) -> Dialect:
        """Return the dialect with a last guard in every choice of its tables. Its runs may raise Endless."""
        guard = Guard("patience", "never holds", self._tried)
        loop, batch, call = (_with_guard(table, guard) for table in dialect.tables)
        return evolve(dialect, loop=loop, batch=batch, call=call)

    def _tried(self, control: Any) -> bool:
        self._left -= 1
        if self._left < 0:
            raise Endless
        return False


def _with_guard(table: Table, guard: Guard) -> Table:
    # The last guard is the highest bit: where it does not hold, the verdicts stay where they are.
    choices = {at: evolve(choice, guards=[*choice.guards, guard]) for at, choice in table.choices.items()}
    return evolve(table, choices=choices)
