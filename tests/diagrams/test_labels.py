"""What a row says in a label, and how it is broken into lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagrams.parsed import TABLES, row_from, row_of
from turnwheel.control import chain, hard_stop
from turnwheel.rules import Ask, Emit, Rule, State, Trigger
from turnwheel_diagrams.labels import asks_of, lines_of, said, sets_of

RULES = [rule for _, table in TABLES for rule in table.rules]


def rule(**changes: Any) -> Rule:
    """Return a row that says everything, with changes."""
    whole: dict[str, Any] = {
        "source": State.TurnEnd,
        "trigger": Trigger.stop,
        "when": [~hard_stop, chain],
        "dest": State.AwaitSteering,
        "emits": [Emit.turn_end, Emit.pending],
        "asks": Ask.poll_steering,
        "sets": {"chain": True, "pending": 0},
        "why": "Because.",
    }
    return Rule(**whole | changes)


class TestSaid:
    """A row in one line."""

    def test_in_its_order(self) -> None:
        """Trigger, guards, events, facts and what is asked for follow each other, each with its sign."""
        assert (
            said(rule(), asks=True) == "stop [!hard_stop chain] / turn_end, pending messages {chain=yes} → PollSteering"
        )

    def test_says_no_more_than_there_is(self) -> None:
        """A row without guards, events, facts and effect is its trigger."""
        assert said(rule(when=[], emits=[], sets={}, asks=None), asks=True) == "stop"

    def test_keeps_the_effect_back(self) -> None:
        """What is asked for is left out where it is not wanted; a second look asks nobody."""
        assert "→" not in said(rule(), asks=False)
        assert asks_of(rule(asks=Ask.look_again)) == ""

    def test_tells_only_facts_that_steer(self) -> None:
        """Counts that are taken down and marks that say nothing to a reader are left out."""
        assert sets_of(rule(sets={"pending": 0, "shown": True})) == ""
        assert sets_of(rule(sets={"result": "failed", "chain": False})) == "{result=failed, chain=no}"

    @pytest.mark.parametrize("each", RULES, ids=lambda each: f"{each.name}-{each.dest}")
    def test_can_be_read_back(self, each: Rule) -> None:
        """From the line of any row of any table its trigger, guards and events can be read."""
        assert row_from(str(each.source), str(each.dest), said(each, asks=True)) == row_of(each)


class TestLines:
    """A row in lines of a given width."""

    @given(st.sampled_from(RULES), st.integers(1, 80), st.booleans())
    def test_say_the_same(self, each: Rule, width: int, asks: bool) -> None:
        """Put together again, the lines are what the row says in one line."""
        lines = lines_of(each, width, asks=asks)

        assert " ".join(piece.text for line in lines for piece in line) == said(each, asks=asks)

    @given(st.sampled_from(RULES), st.integers(1, 80))
    def test_are_no_longer_than_wanted(self, each: Rule, width: int) -> None:
        """A line longer than the width holds a single piece; none is empty."""
        for line in lines_of(each, width, asks=True):
            assert len(line) == 1 or len(" ".join(piece.text for piece in line)) <= width

    def test_break_between_parts(self) -> None:
        """Events that do not fit behind the guards begin a line of their own, as do facts and effect."""
        lines = [" ".join(piece.text for piece in line) for line in lines_of(rule(), 36, asks=True)]

        assert lines == ["stop [!hard_stop chain]", "/ turn_end, pending messages", "{chain=yes} → PollSteering"]

    def test_have_tones(self) -> None:
        """Trigger and events are loud, guards and facts quiet, the effect has a tone of its own."""
        (line,) = lines_of(rule(), 200, asks=True)

        assert [piece.tone for piece in line] == ["text", "quiet", "quiet", "text", "text", "quiet", "asks"]
