"""The tables, held against a grid that was written down independently: where each state can go on which trigger."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import pytest

from turnwheel import table as groups
from turnwheel.difference import diff
from turnwheel.folds import hooks_of
from turnwheel.outcomes import HOOKS
from turnwheel.rules import Ask, Dialect, Emit, Rule, Switches, Table, Trigger
from turnwheel.table import DEFAULT_DIALECT, DIALECTS, dialect

OLD, NEW, LATEST = "pi-0.80.2", "pi-0.85.1", "pi-1.6.0"
NEIGHBOURS = ((OLD, NEW), (NEW, LATEST))

# One line for each source and trigger that has rows at all: source, trigger, every possible destination.
LOOP = """
    AwaitSteering   begin             AwaitSteering Done
    AwaitSteering   failed            Done
    Streaming       started           Streaming
    Streaming       delta             Streaming
    Streaming       finished          CheckStop
    Streaming       failed            Done
    CheckStop       failed            Done
    ExecutingTools  ready             TurnEnd
    ExecutingTools  failed            Done
    TurnEnd         failed            Done
    AwaitFollowUp   failed            Done
"""
LOOP_WITH_STOP = """
    CheckStop       ready             ExecutingTools TurnEnd Done
    TurnEnd         stop              AwaitSteering Done
"""
LOOP_OLD = """
    AwaitSteering   steering          Streaming AwaitFollowUp
    TurnEnd         prepared          TurnEnd
    AwaitFollowUp   follow_up         Streaming Done
"""
LOOP_PREPARED = """
    AwaitSteering   steering          Streaming AwaitSteering AwaitFollowUp
    AwaitSteering   prepared          Streaming AwaitSteering
    AwaitSteering   steering_again    Streaming
    AwaitFollowUp   follow_up         AwaitSteering Done
"""
LOOP_WITH_FINISH = """
    CheckStop       ready             ExecutingTools TurnEnd
    TurnEnd         turn_finished     AwaitSteering Done
    Streaming       request_prepared  Streaming
"""
BATCH = """
    Announcing      ready             Announcing Running Over
    Running         ready             Running Announcing
"""
CALL = """
    Announced       arguments         Announced
    Announced       call_failed       Ended
    Announced       before            Prepared Ended
    Prepared        execute           Executing
    Executing       update            Executing
    Executing       returned          Finalizing
    Executing       call_failed       Finalizing
    Finalizing      after             Ended
    Finalizing      call_failed       Ended
    Finalizing      update            Finalizing
    Ended           update            Ended
"""
CALL_OLD = """
    Listed          announce          Announced Ended
"""
CALL_CANCELLED = """
    Prepared        cancel            Ended
"""
CALL_LATEST = """
    Listed          announce          Announced
    Announced       looked            Announced Ended
"""
GRID = {
    (OLD, "loop"): LOOP + LOOP_WITH_STOP + LOOP_OLD,
    (NEW, "loop"): LOOP + LOOP_WITH_STOP + LOOP_PREPARED,
    (LATEST, "loop"): LOOP + LOOP_WITH_FINISH + LOOP_PREPARED,
    (OLD, "batch"): BATCH,
    (NEW, "batch"): BATCH,
    (LATEST, "batch"): BATCH,
    (OLD, "call"): CALL + CALL_OLD,
    (NEW, "call"): CALL + CALL_OLD + CALL_CANCELLED,
    (LATEST, "call"): CALL + CALL_LATEST + CALL_CANCELLED,
}

# What each row of the loop asks the world for, by source, trigger and destination.
ASKED = """
    AwaitSteering   begin             AwaitSteering   PollSteering
    AwaitSteering   steering          AwaitFollowUp   PollFollowUp
    CheckStop       ready             ExecutingTools  start_the_batch
"""
ASKED_OLD = """
    AwaitSteering   steering          Streaming       CallModel
    CheckStop       ready             TurnEnd         PrepareNextTurn
    ExecutingTools  ready             TurnEnd         PrepareNextTurn
    TurnEnd         prepared          TurnEnd         AskToStop
    TurnEnd         stop              AwaitSteering   PollSteering
    AwaitFollowUp   follow_up         Streaming       CallModel
"""
ASKED_PREPARED = """
    AwaitSteering   steering          AwaitSteering   PrepareNextTurn
    AwaitSteering   prepared          AwaitSteering   PollSteeringAgain
    AwaitFollowUp   follow_up         AwaitSteering   PrepareNextTurn
"""
ASKED_NEW = """
    CheckStop       ready             TurnEnd         AskToStop
    ExecutingTools  ready             TurnEnd         AskToStop
    TurnEnd         stop              AwaitSteering   PollSteering
    AwaitSteering   steering          Streaming       CallModel
    AwaitSteering   prepared          Streaming       CallModel
    AwaitSteering   steering_again    Streaming       CallModel
"""
ASKED_LATEST = """
    CheckStop       ready             TurnEnd         FinishTurn
    ExecutingTools  ready             TurnEnd         FinishTurn
    TurnEnd         turn_finished     AwaitSteering   PollSteering
    AwaitSteering   steering          Streaming       PrepareRequest
    AwaitSteering   prepared          Streaming       PrepareRequest
    AwaitSteering   steering_again    Streaming       PrepareRequest
    Streaming       request_prepared  Streaming       CallModel
"""
ASKS = {
    OLD: ASKED + ASKED_OLD,
    NEW: ASKED + ASKED_PREPARED + ASKED_NEW,
    LATEST: ASKED + ASKED_PREPARED + ASKED_LATEST,
}

GONE = {
    (OLD, NEW): (
        *groups.PREPARATION_AFTER_EVERY_TURN,
        *groups.CUT_OFF_CALLS_RUN,
        *groups.LAUNCH_WITHOUT_LOOKING,
        *groups.BLOCKED,
    ),
    (NEW, LATEST): (
        *groups.STOP_HOOK,
        *groups.STOP_QUESTION_FIRST,
        *groups.ABORT_DROPS_THE_REST,
        *groups.LAUNCH_LOOKS_AT_ABORT,
        *groups.ABORT_COUNTS_AFTER_PREPARATION,
    ),
}
ADDED = {
    (OLD, NEW): (
        *groups.STOP_QUESTION_FIRST,
        *groups.PREPARATION_BEFORE_THE_NEXT_TURN,
        *groups.CUT_OFF_CALLS_FAIL,
        *groups.LAUNCH_LOOKS_AT_ABORT,
        *groups.BLOCKED_MAY_TERMINATE,
        *groups.CANCELLED,
    ),
    (NEW, LATEST): (
        *groups.FINISH_HOOK,
        *groups.EVERY_CALL_IS_ANSWERED,
        *groups.PARALLEL_LAUNCH_LOOKS_AT_ABORT,
        *groups.ABORT_COUNTS_BEFORE_PREPARATION,
    ),
}


def grid(text: str) -> dict[tuple[str, str], set[str]]:
    """Read a grid."""
    return {(source, trigger): {*dests} for source, trigger, *dests in words(text)}


def words(text: str) -> list[list[str]]:
    """Return the words of each line that has any."""
    return [line.split() for line in text.splitlines() if line.strip()]


def in_table(table: Table) -> dict[tuple[str, str], set[str]]:
    """Return the grid that the rows of a table make."""
    found: dict[tuple[str, str], set[str]] = {}
    for rule in table.rules:
        found.setdefault((str(rule.source), str(rule.trigger)), set()).add(str(rule.dest))
    return found


def table_of(name: str, machine: str) -> Table:
    """Return one table of a dialect."""
    found: Table = getattr(dialect(name), machine)
    return found


def names(rules: Iterable[Rule]) -> set[str]:
    """Return the names of rows."""
    return {rule.name for rule in rules}


def rows(which: Dialect) -> list[Rule]:
    """Return all rows of a dialect."""
    return [rule for table in which.tables for rule in table.rules]


class TestGrid:
    """Where it can go."""

    @pytest.mark.parametrize(("name", "machine"), GRID)
    def test_destinations(self, name: str, machine: str) -> None:
        """From every state, every trigger leads where the grid says, and nowhere else."""
        assert in_table(table_of(name, machine)) == grid(GRID[name, machine])

    @pytest.mark.parametrize(("name", "text"), ASKS.items())
    def test_what_is_asked(self, name: str, text: str) -> None:
        """Every way through the loop asks for the one thing that the list says, and the other ways for nothing."""
        found = {
            (rule.source, rule.trigger, rule.dest, rule.asks.replace(" ", "_"))
            for rule in dialect(name).loop.rules
            if rule.asks is not None
        }

        assert found == set(map(tuple, words(text)))

    @pytest.mark.parametrize("name", DIALECTS)
    def test_every_live_state_can_fail(self, name: str) -> None:
        """`failed` leads from every live state to Done, without an event, and marks the run as failed."""
        found = [rule for rule in dialect(name).loop.rules if rule.trigger is Trigger.failed]

        assert {rule.source for rule in found} == {*dialect(name).loop.states} - {dialect(name).loop.final}
        assert all((rule.emits, rule.asks, rule.sets) == ((), None, {"failed": True}) for rule in found)

    @pytest.mark.parametrize("name", DIALECTS)
    def test_who_ends_the_trace(self, name: str) -> None:
        """agent_end comes with every way into Done that is no failure, and with no other row."""
        loop = dialect(name).loop
        ending = names(rule for rule in loop.rules if Emit.agent_end in rule.emits)

        assert ending == names(rule for rule in loop.rules if rule.dest is loop.final and "failed" not in rule.sets)

    @pytest.mark.parametrize("name", DIALECTS)
    def test_who_begins_a_turn(self, name: str) -> None:
        """A way to the model begins a turn, but for the first: its turn_start came with agent_start."""
        into = [rule for rule in dialect(name).loop.rules if rule.dest == "Streaming" != rule.source]
        silent = [rule.name for rule in into if Emit.turn_start not in rule.emits]

        assert silent == ["AwaitSteering steering first_turn"]


class TestRows:
    """Every row by itself."""

    @pytest.mark.parametrize("name", DIALECTS)
    def test_every_row_has_a_reason(self, name: str) -> None:
        """Each row says why it is there, in a sentence."""
        assert [rule.name for rule in rows(dialect(name)) if not rule.why.strip().endswith(".")] == []

    @pytest.mark.parametrize("name", [OLD, NEW])
    def test_a_turn_ends_with_its_event(self, name: str) -> None:
        """Every row into TurnEnd from elsewhere tells that the turn is over, as its last event."""
        into = [rule for rule in dialect(name).loop.rules if rule.dest == "TurnEnd" and rule.source != "TurnEnd"]

        assert into
        assert all(rule.emits[-1] is Emit.turn_end for rule in into)

    def test_a_turn_ends_once_the_hook_has_heard(self) -> None:
        """Where a hook hears of the turn first, every row out of TurnEnd tells that it is over, before all else."""
        out = [r for r in dialect(LATEST).loop.rules if r.source == "TurnEnd" and r.trigger is not Trigger.failed]

        assert len(out) == 3
        assert all(rule.emits[0] is Emit.turn_end for rule in out)


class TestDialects:
    """In what they differ."""

    def test_there_are_three(self) -> None:
        """All descriptions of Pi's loop are there, in the order of versions, and the middle one is the default."""
        assert ([*DIALECTS], DEFAULT_DIALECT) == ([OLD, NEW, LATEST], NEW)

    @pytest.mark.parametrize("name", DIALECTS)
    def test_each_is_built_once(self, name: str) -> None:
        """A dialect knows its name, and is the same object every time."""
        assert dialect(name) is dialect(name)
        assert dialect(name).name == name

    def test_an_unknown_one(self) -> None:
        """Who asks for another one is told which there are."""
        with pytest.raises(
            ValueError, match=r"there is no dialect 'pi-9'; there are pi-0\.80\.2, pi-0\.85\.1, pi-1\.6\.0"
        ):
            dialect("pi-9")

    @pytest.mark.parametrize("pair", NEIGHBOURS)
    def test_only_the_named_groups_differ(self, pair: tuple[str, str]) -> None:
        """Each dialect is the rows that it shares with its neighbour and its own groups: no row is edited for one."""
        before, after = (rows(dialect(name)) for name in pair)

        assert [rule for rule in before if rule not in after] == [rule for rule in before if rule in GONE[pair]]
        assert [rule for rule in after if rule not in before] == [rule for rule in after if rule in ADDED[pair]]
        assert all(rule in before for rule in GONE[pair])
        assert all(rule in after for rule in ADDED[pair])

    @pytest.mark.parametrize("pair", NEIGHBOURS)
    def test_what_the_difference_tells(self, pair: tuple[str, str]) -> None:
        """The difference of two neighbours names no row outside of the groups."""
        before, after = pair
        told = diff(dialect(before), dialect(after)).tables
        gone, added = names(GONE[pair]), names(ADDED[pair])

        assert [table.table for table in told] == ["loop", "batch", "call"]
        assert {name for table in told for name in names(table.gone)} <= gone
        assert {name for table in told for name in names(table.added)} <= added
        assert {changed[0].name for table in told for changed in table.changed} <= gone & added

    def test_only_the_later_ones_poll_again(self) -> None:
        """The second steering poll belongs to the later dialects alone, and only where nothing is pending."""
        asking = {name: names(r for r in rows(dialect(name)) if r.asks is Ask.poll_steering_again) for name in DIALECTS}
        again = {"AwaitSteering prepared !pending"}

        assert asking == {OLD: set(), NEW: again, LATEST: again}

    def test_every_switch_differs(self) -> None:
        """Each switch has a version since which it holds, a reason, and another value in some neighbour."""
        told = [s for before, after in NEIGHBOURS for s in diff(dialect(before), dialect(after)).switches]

        assert {switch.name for switch in told} == {switch.name for switch in attrs.fields(Switches)}
        assert all(switch.since and switch.why for switch in told)

    def test_the_hooks_of_each(self) -> None:
        """A dialect asks the hooks that its rows name: one to stop up to 0.86, two others in its place since 0.87."""
        first, *later = (hooks_of(dialect(name)) for name in DIALECTS)

        assert first == [hook for hook in HOOKS if hook not in ("prepare_request", "finish_turn")]
        assert later == [first, [hook for hook in HOOKS if hook != "should_stop"]]
