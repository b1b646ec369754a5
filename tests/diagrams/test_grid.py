"""The grid is Markdown, and each row of the table stands in exactly one of its cells."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from attrs import evolve

from tests.diagrams.parsed import TABLES, name_of, row_of
from turnwheel.rules import Dialect, Guard, State, Table
from turnwheel.table import dialect
from turnwheel_diagrams.grid import to_grid

CELL = re.compile(
    r"(?:\[(?P<guards>[^]]*)\] )?(?:\*\*(?P<dest>\w+)\*\*|stays)(?: / (?P<emits>[^→{]*?))?(?: \{[^}]*\})?(?: → .*)?"
)


def cells(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table, as it is read on GitHub."""
    assert line.startswith("|")
    assert line.endswith("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def told(table: Table) -> Counter[tuple[str, str, str, tuple[str, ...], tuple[str, ...]]]:
    """Return the rows that the cells of a grid tell of."""
    head, _, *lines = map(cells, to_grid(table).splitlines())
    rows = []
    for state, *line in lines:
        source = state.strip("*")
        for trigger, cell in zip(head[1:], line, strict=True):
            for text in cell.split("<br>") if cell != "·" else ():
                found = CELL.fullmatch(text)
                assert found, text
                guards, emits = (found["guards"] or "").split(), found["emits"]
                rows.append(
                    (source, found["dest"] or source, trigger, tuple(guards), tuple(emits.split(", ") if emits else ()))
                )
    return Counter(rows)


@pytest.mark.parametrize("case", TABLES, ids=name_of)
class TestGrid:
    """The grid of each table."""

    def test_each_row_once(self, case: tuple[Dialect, Table]) -> None:
        """Each row is in exactly one cell: that of its state and trigger; nothing else is in the grid."""
        _, table = case

        assert told(table) == Counter(tuple(row_of(rule)) for rule in table.rules)

    def test_is_a_markdown_table(self, case: tuple[Dialect, Table]) -> None:
        """Every line has as many cells as the head; below that stands a line of dashes."""
        _, table = case
        head, dashes, *lines = map(cells, to_grid(table).splitlines())

        assert dashes == ["---"] * len(head)
        assert {len(line) for line in lines} == {len(head)}
        assert [line[0] for line in lines] == [f"**{state}**" for state in table.states]


class TestOddCharacters:
    """What a guard could be called."""

    def test_a_bar_is_escaped(self) -> None:
        """A bar in the name of a guard does not end its cell."""
        odd = Guard("a|b", "odd", lambda c: True)
        first, *rest = dialect().loop.rules
        table = evolve(dialect().loop, rules=(evolve(first, when=[odd]), *rest))
        line = next(line for line in to_grid(table).splitlines() if line.startswith(f"| **{State.AwaitSteering}**"))

        assert r"[a\|b]" in line
        assert "[a|b]" in cells(line)[1]
