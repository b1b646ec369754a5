"""In what two dialects differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from turnwheel.difference import TableDifference, diff
from turnwheel.rules import Ask, Dialect, Emit, Rule, State, Trigger
from turnwheel.table import DIALECTS, dialect

NOW = dialect("pi-0.85.1")
STOPS = "TurnEnd stop stop_wanted"


def changed(name: str, change: Callable[[Rule], list[Rule]]) -> Dialect:
    """Return the later dialect with one row of the loop replaced."""
    rules = [new for rule in NOW.loop.rules for new in (change(rule) if rule.name == name else [rule])]
    return evolve(NOW, name="other", loop=evolve(NOW.loop, rules=rules))


def only_table(other: Dialect) -> TableDifference:
    """Return the one table that differs."""
    (table,) = diff(NOW, other).tables
    return table


class TestDiff:
    @pytest.mark.parametrize("name", DIALECTS)
    def test_no_difference_from_itself(self, name: str) -> None:
        """A dialect does not differ from itself: nothing is listed, and the difference counts as none."""
        difference = diff(dialect(name), dialect(name))

        assert not difference
        assert (difference.tables, difference.switches) == ((), ())

    def test_names_both(self) -> None:
        """A difference says from which dialect to which."""
        difference = diff(dialect("pi-0.80.2"), NOW)

        assert (difference.before, difference.after) == ("pi-0.80.2", "pi-0.85.1")

    def test_a_row_that_is_gone(self) -> None:
        """A row that the later table lacks is gone."""
        table = only_table(changed(STOPS, lambda _: []))

        assert [rule.name for rule in table.gone] == [STOPS]
        assert (table.added, table.changed) == ((), ())

    def test_a_row_that_is_new(self) -> None:
        """A row under a name that the earlier table lacks is new."""
        new = Rule(State.Done, Trigger.begin, [], State.Done, why="Again.")
        table = only_table(changed(STOPS, lambda rule: [rule, new]))

        assert table.added == (new,)
        assert (table.gone, table.changed) == ((), ())

    @pytest.mark.parametrize(
        "change",
        [
            {"dest": State.AwaitSteering},
            {"emits": [Emit.agent_end, Emit.turn_end]},
            {"asks": Ask.poll_steering},
            {"sets": {"chain": False}},
        ],
    )
    def test_a_row_that_does_other_things(self, change: dict[str, Any]) -> None:
        """A row of the same name that goes, emits, asks or sets otherwise has changed: both are told."""
        table = only_table(changed(STOPS, lambda rule: [evolve(rule, **change)]))
        ((before, after),) = table.changed

        assert before.name == after.name == STOPS
        assert not before.same_as(after)
        assert (table.gone, table.added) == ((), ())

    def test_words_make_no_difference(self) -> None:
        """A row whose reason alone is put in other words has not changed."""
        assert not diff(NOW, changed(STOPS, lambda rule: [evolve(rule, why="Other words.")]))

    def test_switches(self) -> None:
        """A switch that was turned is told with both values, its version and what it is about."""
        (switch,) = diff(evolve(NOW, switches=evolve(NOW.switches, fields_kept=False)), NOW).switches

        assert (switch.name, switch.before, switch.after) == ("fields_kept", False, True)
        assert switch.since == "0.80.7"
        assert "after hook" in switch.why

    def test_backwards(self) -> None:
        """Seen from the other side, what is new is gone, and the same rows changed."""
        forth, back = diff(dialect("pi-0.80.2"), NOW), diff(NOW, dialect("pi-0.80.2"))

        for there, here in zip(forth.tables, back.tables, strict=True):
            assert there.gone == here.added
            assert there.added == here.gone
            assert {new.name for _, new in there.changed} == {new.name for _, new in here.changed}

    def test_tells_of_the_preparation(self) -> None:
        """Between the two versions of Pi the turn's hooks changed places: the rows that say so are found."""
        loop, batch, call = diff(dialect("pi-0.80.2"), NOW).tables

        assert "TurnEnd prepared" in [rule.name for rule in loop.gone]
        assert "AwaitSteering prepared pending" in [rule.name for rule in loop.added]
        assert [rule.name for rule in batch.gone] == ["Running ready prepared"]
        assert "Prepared cancel" in [rule.name for rule in call.added]
