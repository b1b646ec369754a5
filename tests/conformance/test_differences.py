"""Two dialects differ only where their rows or switches do: each difference between two goldens has its explanation."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, zip_longest
from typing import Any, Final

import pytest
from attrs import evolve

from tests.conformance import playing
from tests.conformance.traces import GOLDEN, difference, golden, scenario
from turnwheel.difference import diff
from turnwheel.messages import Json
from turnwheel.rules import Dialect
from turnwheel.table import DIALECTS, dialect

NEIGHBOURS: Final = list(pairwise(DIALECTS))
BOTH: Final = [
    (before, after, which)
    for before, after in NEIGHBOURS
    for name, which in GOLDEN
    if name == before and (after, which) in GOLDEN
]


def rows_of_difference(before: Dialect, after: Dialect) -> set[tuple[str, str]]:
    """Return the rows that are gone, new or changed, by table and name."""
    return {
        (table.table, rule.name)
        for table in diff(before, after).tables
        for rule in (*table.gone, *table.added, *(rule for pair in table.changed for rule in pair))
    }


@cache
def rows_that_explain(which: str, before: Dialect, after: Dialect) -> set[tuple[str, str]]:
    """Return the rows of the difference that fire in the first place where the decisions of the two part."""
    ours, theirs = (playing.in_sync(scenario(which), language).decisions for language in (before, after))
    changed = rows_of_difference(before, after)
    for pair in zip_longest(ours, theirs):
        fired = {(decision.machine, decision.rule.name) for decision in pair if decision is not None}
        if explained := fired & changed:
            return explained
        assert len(fired) == 1, f"{which}: {fired} part, and none of them is in the difference"
    return set()


@cache
def switched(language: Dialect, **values: Any) -> Dialect:
    """Return the dialect with other values of these switches."""
    return evolve(language, switches=evolve(language.switches, **values))


@cache
def trace(which: str, language: Dialect) -> list[Json]:
    """Return our trace of a scenario."""
    return playing.in_sync(scenario(which), language).trace


@cache
def switches_that_explain(which: str, before: Dialect, after: Dialect) -> set[str]:
    """Return the switches that alone, set as in the other dialect, change a trace of either."""
    return {
        switch.name
        for switch in diff(before, after).switches
        if difference(trace(which, before), trace(which, switched(before, **{switch.name: switch.after})))
        or difference(trace(which, after), trace(which, switched(after, **{switch.name: switch.before})))
    }


class TestNeighbours:
    """Each dialect and the next one."""

    @pytest.mark.parametrize(("before", "after", "which"), BOTH)
    def test_every_difference_is_explained(self, before: str, after: str, which: str) -> None:
        """Where the traces of two dialects differ, a row or a switch of their difference is to be named."""
        if difference(golden(before, which), golden(after, which)) is None:
            return
        old, new = dialect(before), dialect(after)
        rows, switches = rows_that_explain(which, old, new), switches_that_explain(which, old, new)

        assert rows or switches, f"nothing explains why {which} differs"

    @pytest.mark.parametrize(("before", "after", "which"), BOTH)
    def test_the_tables_alone(self, before: str, after: str, which: str) -> None:
        """Where no row of the difference fires, the switches alone make the one dialect's trace of the other's."""
        old, new = dialect(before), dialect(after)
        if rows_that_explain(which, old, new):
            return
        values = {switch.name: switch.after for switch in diff(old, new).switches}

        assert difference(trace(which, switched(old, **values)), golden(after, which)) is None

    @pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
    def test_every_group_is_met(self, before: str, after: str) -> None:
        """The corpus reaches differences in each of the three tables, and in every switch."""
        old, new = dialect(before), dialect(after)
        names = [which for one, other, which in BOTH if (one, other) == (before, after)]
        tables = {table for which in names for table, _ in rows_that_explain(which, old, new)}
        switches = {name for which in names for name in switches_that_explain(which, old, new)}

        assert "loop" in tables
        assert switches == {switch.name for switch in diff(old, new).switches}
