"""`turnwheel dialects`: the list, the tables and the differences."""

from __future__ import annotations

from itertools import takewhile

import pytest
from attrs import evolve

from tests.adapters.commands import Command
from turnwheel.difference import diff
from turnwheel.rules import State
from turnwheel.table import DIALECTS, dialect
from turnwheel_adapters.cli.dialects import differences
from turnwheel_adapters.cli.markdown import as_markdown


def rows(name: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading."""
    lines = list(as_markdown(dialect(name)))
    start = lines.index(f"## {heading}")
    table = [line for line in takewhile(lambda line: line, lines[start + 4 :]) if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


class TestOverview:
    def test_lists_dialects(self, turnwheel: Command) -> None:
        """Every dialect is there, with the rows of its tables; the default is marked."""
        ended = turnwheel("dialects")
        first, second = ended.out.splitlines()[:2]
        counts = [len(table.rules) for table in dialect("pi-0.80.2").tables]

        assert (ended.status, ended.err) == (0, "")
        assert (
            first == f"pi-0.80.2    {sum(counts)} rows: {counts[0]} (loop), {counts[1]} (batch) and {counts[2]} (call)"
        )
        assert second.startswith("pi-0.85.1 ")
        assert second.endswith("; the default")

    def test_tells_neighbours_apart(self, turnwheel: Command) -> None:
        """Behind the list stands what changed from each dialect to the next."""
        assert turnwheel("dialects", "--diff", *DIALECTS).out in turnwheel("dialects").out


class TestDifferences:
    LINES = tuple(differences(diff(dialect("pi-0.80.2"), dialect("pi-0.85.1"))))

    def test_rows_with_their_reasons(self) -> None:
        """A row that is gone, new or changed is told with what it does and why."""
        gone = self.LINES.index("    - TurnEnd, on prepared: to TurnEnd; asks AskToStop")
        new = self.LINES.index("    + AwaitSteering, on prepared [!pending]: to AwaitSteering; asks PollSteeringAgain")
        changed = self.LINES.index("    ~ CheckStop, on ready [!hard_stop !calls]")

        assert self.LINES[gone + 1].strip().startswith("The stop hook sees")
        assert self.LINES[new + 1].strip().startswith("Preparation can take long")
        assert [line.strip()[:4] for line in self.LINES[changed + 1 : changed + 3]] == ["was:", "now:"]

    def test_switches_with_their_reasons(self) -> None:
        """A switch is told with both values, the version that set it, and what it is about."""
        at = self.LINES.index("    ~ fields_kept: no → yes, since 0.80.7")

        assert "after hook" in self.LINES[at + 1]

    def test_no_difference(self) -> None:
        """Dialects that are the same are said to be."""
        same = evolve(dialect(), name="twin")

        assert list(differences(diff(dialect(), same))) == ["pi-0.85.1 and twin have the same rows and switches."]


class TestTable:
    @pytest.mark.parametrize("name", DIALECTS)
    def test_every_rule_is_there(self, name: str) -> None:
        """Every reason stands in the page, and every guard in a glossary."""
        page = "\n".join(as_markdown(dialect(name)))
        rules = [rule for table in dialect(name).tables for rule in table.rules]

        assert all(f"| {rule.why} |" in page for rule in rules)
        assert all(f"\n- `{guard}`: " in page for rule in rules for guard in rule.requires())

    def test_rows_are_cells(self) -> None:
        """A row says its source, trigger, guards, destination, events, effect, facts and reason, in this order."""
        head, *table = rows("pi-0.85.1", "The loop")
        row = next(cells for cells in table if cells[1:3] == ["steering", "first_turn"])

        assert head == ["source", "trigger", "guards", "destination", "emits", "asks", "sets", "why"]
        assert row[:4] == ["AwaitSteering", "steering", "first_turn", "Streaming"]
        assert row[4:7] == ["pending messages", "CallModel", "first_turn=no, pending=0"]

    def test_in_the_order_of_the_states(self) -> None:
        """Rows of a state stand together, in the order of the states, and what holds in all of them comes last."""
        sources = [cells[0] for cells in rows("pi-0.85.1", "The loop")[1:]]
        live = [str(state) for state in State if state is not State.Done]

        assert list(dict.fromkeys(sources)) == [*live, "every live state"]

    def test_rows_that_say_the_same(self) -> None:
        """A row that two states share is told once."""
        sources = [cells[0] for cells in rows("pi-0.85.1", "A tool call")[1:]]

        assert sources.count("Finalizing, Ended") == 1

    def test_switches(self) -> None:
        """The switches stand at the end, with values, versions and reasons."""
        head, *table = rows("pi-0.80.2", "Switches")

        assert head == ["switch", "value", "since", "why"]
        assert ["fields_kept", "no", "0.80.7"] in [cells[:3] for cells in table]

    @pytest.mark.parametrize("arguments", [["--table", "pi-9"], ["--diff", "pi-0.80.2", "pi-9"]])
    def test_an_unknown_dialect_is_status_2(self, turnwheel: Command, arguments: list[str]) -> None:
        """A dialect that there is not is told of, with those that there are."""
        ended = turnwheel("dialects", *arguments)

        assert (ended.status, ended.out) == (2, "")
        assert ended.err == "turnwheel: there is no dialect 'pi-9'; there are pi-0.80.2, pi-0.85.1, pi-1.6.0\n"
