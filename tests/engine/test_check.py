"""A bad table is refused when it is built, with the row that is to blame; and nothing of the vocabulary lies idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from turnwheel import control
from turnwheel.check import build, check_vocabulary, reads
from turnwheel.control import CallControl, Control, aborted, busy, facts, pending, prepared, stop_wanted
from turnwheel.errors import TableError
from turnwheel.rules import Ask, BatchState, CallState, Dialect, Emit, Guard, Rule, State, Table, Trigger
from turnwheel.table import DIALECTS

Announcing, Running, Over = BatchState
GUARDS = [named for named in vars(control).values() if isinstance(named, Guard)]


def row(source: Any, when: Sequence[Any], dest: Any, **more: Any) -> Rule:
    """Return a row on `ready`, with a reason."""
    return Rule(source, Trigger.ready, when, dest, **{"why": "It is so.", **more})


def batch(*rules: Rule) -> Table:
    """Return a table over the three states of a batch."""
    return build("batch", Control, Announcing, Over, rules)


def with_row(rule: Rule) -> Table:
    """Return a table that is good but for `rule`, which leads from Announcing to Running."""
    return batch(rule, row(Running, [], Over))


def blamed(*rules: Rule) -> tuple[str | None, str]:
    """Return the row that building blames, and what it says of it."""
    with pytest.raises(TableError) as caught:
        batch(*rules)
    return caught.value.rule, caught.value.problem


def replaced(name: str, **change: Any) -> list[Rule]:
    """Return the loop of 0.85.1 with one row changed."""
    rules = DIALECTS["pi-0.85.1"]().loop.rules
    assert name in [rule.name for rule in rules]
    return [evolve(rule, **change) if rule.name == name else rule for rule in rules]


class TestOneRow:
    """What is wrong with a row by itself."""

    @pytest.mark.parametrize("why", ["", "  \n"])
    def test_no_reason(self, why: str) -> None:
        """A row without a reason is refused."""
        assert blamed(row(Announcing, [], Running, why=why)) == ("Announcing ready", "the row has no reason")

    def test_foreign_destination(self) -> None:
        """A row may only lead to a state of its own table."""
        assert blamed(row(Announcing, [], State.Done)) == ("Announcing ready", "Done is no state of this table")

    def test_foreign_source(self) -> None:
        """A row may only start in a state of its own table."""
        assert blamed(row(CallState.Ended, [], Over)) == ("Ended ready", "Ended is no state of this table")

    @pytest.mark.parametrize("dest", [State.AwaitSteering, State.Done])
    def test_done_has_no_way_out(self, dest: State) -> None:
        """The loop ends in Done: no row starts there, not even one that stays."""
        late = row(State.Done, [], dest)

        with pytest.raises(TableError, match="Done ready: Done is final, and has no way out"):
            build("loop", Control, State.AwaitSteering, State.Done, [*DIALECTS["pi-0.85.1"]().loop.rules, late])

    def test_over_has_no_way_out(self) -> None:
        """A batch that is over does not begin again."""
        again = row(Over, [], Announcing)

        assert blamed(row(Announcing, [], Running), row(Running, [], Over), again) == (
            "Over ready",
            "Over is final, and has no way out",
        )

    def test_an_ended_call_may_hear_of_progress(self) -> None:
        """A call alone may have rows at its end, as long as they stay there."""
        call = DIALECTS["pi-0.85.1"]().call
        wrong = [evolve(rule, dest=CallState.Listed) if rule.name == "Ended update" else rule for rule in call.rules]

        assert "Ended update" in [rule.name for rule in call.rules]
        with pytest.raises(TableError, match="Ended update: Ended is final, and has no way out"):
            build("call", CallControl, CallState.Listed, CallState.Ended, wrong)

    @pytest.mark.parametrize("when", [[busy, busy], [busy, ~busy]])
    def test_a_guard_twice(self, when: Sequence[Any]) -> None:
        """A guard stands once in a row, whether it would repeat or contradict itself."""
        rule = row(Announcing, when, Running)

        assert blamed(rule) == (rule.name, "a guard stands twice in the row")

    def test_an_unknown_fact(self) -> None:
        """A row may only set what is a fact of its control view."""
        assert blamed(row(Announcing, [], Running, sets={"mood": True})) == (
            "Announcing ready",
            "the row sets 'mood', which is no fact of this table",
        )

    def test_a_state_is_no_fact(self) -> None:
        """A row changes state by its destination, never by setting it."""
        assert blamed(row(Announcing, [], Running, sets={"batch": Over}))[0] == "Announcing ready"

    def test_a_value_outside_of_its_domain(self) -> None:
        """A row may only set a fact to a value that the fact can take."""
        assert blamed(row(Announcing, [], Running, sets={"pending": 3})) == (
            "Announcing ready",
            "the row sets pending to 3, which is none of (0, 1, 2)",
        )

    @pytest.mark.parametrize("sets", [{"chain": 1}, {"pending": True}])
    def test_a_flag_is_no_count(self, sets: dict[str, Any]) -> None:
        """A flag is True or False, and a count is a number."""
        assert blamed(row(Announcing, [], Running, sets=sets), row(Running, [], Over))[0] == "Announcing ready"

    def test_a_fact_of_another_view(self) -> None:
        """A row of a call cannot set what belongs to the run."""
        call = DIALECTS["pi-0.85.1"]().call
        wrong = [
            evolve(rule, sets={"aborted": True}) if rule.name == "Listed announce known" else rule
            for rule in call.rules
        ]

        with pytest.raises(TableError, match="Listed announce known: "):
            build("call", CallControl, CallState.Listed, CallState.Ended, wrong)

    def test_over_has_no_row_at_all(self) -> None:
        """A batch that is over has no row, not even one that stays."""
        assert blamed(row(Announcing, [], Running), row(Running, [], Over), row(Over, [], Over))[0] == "Over ready"

    @pytest.mark.parametrize("change", [{"asks": Ask.execute_tool}, {"emits": (Emit.call_end,)}])
    def test_what_another_table_does(self, change: dict[str, Any]) -> None:
        """A row of the loop asks for and emits only what the loop can: else a run would break in the middle."""
        name = "AwaitSteering begin prompt"

        with pytest.raises(TableError, match=name):
            build("loop", Control, State.AwaitSteering, State.Done, replaced(name, **change))

    @pytest.mark.parametrize("change", [{"sets": {"chain": True}}, {"asks": Ask.poll_steering}])
    def test_a_quiet_row_does_nothing(self, change: dict[str, Any]) -> None:
        """A delta fires nothing, so its row may neither set a fact nor ask for anything."""
        with pytest.raises(TableError, match="Streaming delta shown"):
            build("loop", Control, State.AwaitSteering, State.Done, replaced("Streaming delta shown", **change))


class TestSeveralRows:
    """What is wrong with rows together."""

    def test_a_row_twice(self) -> None:
        """The same source, trigger and guards stand in one row only."""
        rule = row(Announcing, [busy], Running)

        assert blamed(rule, evolve(rule, dest=Over)) == (rule.name, "the row stands twice in the table")

    def test_an_unreachable_state(self) -> None:
        """Every state is reached from the first one."""
        assert blamed(row(Announcing, [], Over), row(Running, [], Over)) == (
            None,
            "state Running is reached by no row",
        )

    def test_no_row_holds(self) -> None:
        """Where one valuation is left without a row, source, trigger and valuation are named."""
        assert blamed(row(Announcing, [busy], Running), row(Running, [], Over)) == (
            "Announcing ready",
            "no row holds where !busy",
        )

    def test_two_rows_hold(self) -> None:
        """Where two rows hold at once, both and the valuation are named."""
        rows = row(Announcing, [busy], Running), row(Announcing, [~busy], Running), row(Announcing, [aborted], Over)
        found = blamed(*rows, row(Running, [], Over))

        assert found == (rows[1].name, "the row and Announcing ready aborted both hold where !busy, aborted")

    def test_guards_in_another_order(self) -> None:
        """Two rows with the same guards in different order are two rows that hold at once."""
        rows = row(Announcing, [busy, prepared], Running), row(Announcing, [prepared, busy], Over)
        rest = row(Announcing, [~busy], Running), row(Announcing, [busy, ~prepared], Running)

        assert "both hold where busy, prepared" in blamed(*rows, *rest, row(Running, [], Over))[1]

    def test_a_row_that_never_holds(self) -> None:
        """A row whose guards exclude each other for every value of the facts is named."""
        none = Guard("none", "nothing is pending", lambda c: c.pending == 0)
        never = row(Announcing, [pending, none], Over)
        rest = row(Announcing, [pending, ~none], Running), row(Announcing, [~pending], Running)

        assert blamed(never, *rest, row(Running, [], Over)) == (never.name, "the row can never hold")

    def test_a_live_state_that_cannot_fail(self) -> None:
        """Every live state of the loop has a row for `failed`: else a listener's error ends in a TableError."""
        rules = [rule for rule in DIALECTS["pi-0.85.1"]().loop.rules if rule.name != "TurnEnd failed"]

        with pytest.raises(TableError, match="TurnEnd failed"):
            build("loop", Control, State.AwaitSteering, State.Done, rules)

    def test_valuations_that_cannot_occur(self) -> None:
        """No row is needed for a valuation that no values of the facts bring about."""
        none = Guard("none", "nothing is pending", lambda c: c.pending == 0)
        table = batch(
            row(Announcing, [pending, ~none], Running),
            row(Announcing, [~pending, none], Running),
            row(Running, [], Over),
        )

        assert [verdict is None for verdict in table.choices[Announcing, Trigger.ready].verdicts] == [
            True,
            False,
            False,
            True,
        ]

    def test_two_guards_of_one_name(self) -> None:
        """Two different guards cannot have one name where both decide."""
        other = Guard("busy", "another meaning", lambda c: c.aborted)
        rows = row(Announcing, [busy], Running), row(Announcing, [~busy, prepared], Running)

        assert blamed(*rows, row(Announcing, [~other, ~prepared], Over))[1] == "two guards have the same name"


class TestGuards:
    """What a guard may look at."""

    def test_an_unknown_fact(self) -> None:
        """A guard that reads what is no fact is named, with its row."""
        bad = Guard("bad", "reads the transcript", lambda c: len(c.messages) > 0)

        with pytest.raises(TableError, match="Announcing ready bad: guard bad reads 'messages', which is no fact"):
            with_row(row(Announcing, [bad], Running))

    def test_an_unknown_fact_behind_another(self) -> None:
        """What a guard reads only for some values of another fact is found, too."""
        bad = Guard("bad", "looks further where something is pending", lambda c: c.pending == 2 and c.secret)

        with pytest.raises(TableError, match="guard bad reads 'secret'"):
            with_row(row(Announcing, [bad], Running))

    def test_the_state_is_no_fact(self) -> None:
        """A guard does not ask for the state: the row's source says it."""
        bad = Guard("bad", "asks for the state", lambda c: c.state is State.Done)

        with pytest.raises(TableError, match="guard bad reads 'state'"):
            with_row(row(Announcing, [bad], Running))

    def test_facts_of_a_call_are_its_own(self) -> None:
        """A guard of the loop reads no fact of a tool call."""
        with pytest.raises(TableError, match="guard known reads 'known'"):
            with_row(row(Announcing, [control.known], Running))

    def test_the_row_with_the_guard_is_named(self) -> None:
        """The row that is named is one that the guard stands in, not merely the first of its group."""
        bad = Guard("bad", "reads nonsense", lambda c: c.nonsense)
        first, second = row(Announcing, [~busy], Running), row(Announcing, [busy, bad], Running)

        assert blamed(first, second, row(Announcing, [busy, ~bad], Over))[0] == second.name

    def test_reads_finds_all_facts(self) -> None:
        """What a guard reads is found, whatever it reads first."""
        assert set(reads(control.another, facts(Control))) == {"listed", "fresh", "aborted", "sequential", "taken"}


class TestVocabulary:
    """Nothing is declared in vain."""

    def test_all_of_it_is_used(self) -> None:
        """Every guard of the control view, every event and every trigger stands in a row of some dialect."""
        assert len(GUARDS) >= 15
        check_vocabulary(self.dialects(), GUARDS)

    def test_every_ask_is_used(self) -> None:
        """Everything that a row can ask for is asked for by some row."""
        tables = [table for dialect in self.dialects() for table in dialect.tables]

        assert {rule.asks for table in tables for rule in table.rules} == {*Ask, None}

    def test_an_unused_guard(self) -> None:
        """A guard that no row asks is named."""
        planted = Guard("planted", "nobody asks", lambda c: c.pending == 2)

        with pytest.raises(TableError, match="guard planted is used by no row"):
            check_vocabulary(self.dialects(), [*GUARDS, planted])

    def test_an_unused_event(self) -> None:
        """An event that no row emits is named."""
        with pytest.raises(TableError, match="refusals is emitted by no row"):
            check_vocabulary([DIALECTS["pi-0.80.2"]()], [stop_wanted])

    def test_an_unused_trigger(self) -> None:
        """A trigger that fires nothing is named."""
        dialects = [
            evolve(made, call=evolve(made.call, rules=[r for r in made.call.rules if r.trigger is not Trigger.cancel]))
            for made in self.dialects()
        ]

        with pytest.raises(TableError, match="trigger cancel fires no row"):
            check_vocabulary(dialects, [])

    @staticmethod
    def dialects() -> list[Dialect]:
        """Return all dialects."""
        return [make() for make in DIALECTS.values()]
