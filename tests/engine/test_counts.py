"""Counting decisions: over runs and agents, and as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.coverage import corpus_counts
from tests.engine.recordings import CASES, record
from turnwheel.agent import Agent
from turnwheel.counting import Counts
from turnwheel.errors import ParseError
from turnwheel.recorded import RecordedDecision, read_recording
from turnwheel.rules import Decision
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedModel

SOME: dict[str, Any] = {
    "turnwheel": "counts",
    "version": 1,
    "dialect": "pi-0.85.1",
    "runs": 1,
    "fired": {"loop": {"a": 2}},
}


class TestCounting:
    def test_agents_add_up(self) -> None:
        """One object observes several agents, and counts their decisions and runs together."""
        counts, seen = Counts("pi-0.85.1"), list[Decision]()
        for _ in range(3):
            Agent(ScriptedModel([ScriptedAnswer(text="hi")]), on_decision=counts).run_sync("hello")
        Agent(ScriptedModel([ScriptedAnswer(text="hi")]), on_decision=seen.append).run_sync("hello")

        assert counts.runs == 3
        assert counts.decisions == 3 * len(seen)

    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_a_recording(self, name: str, language: str) -> None:
        """The counts of a recording are those of its decisions, each of one row of the dialect."""
        recording = read_recording(record(name, language))
        decisions = [entry for entry in recording.entries if isinstance(entry, RecordedDecision)]
        counts = Counts.of(recording)

        assert (counts.runs, counts.decisions) == (1, len(decisions))
        for decision in decisions:
            assert counts.of_machine(decision.machine)[decision.rule] > 0

    def test_adding(self) -> None:
        """Counts of one dialect are added row by row; those of another one are refused."""
        one, other = Counts.from_json(SOME), Counts.from_json({**SOME, "fired": {"loop": {"a": 1, "b": 1}}})
        one.update(other)

        assert (one.runs, dict(one.of_machine("loop"))) == (2, {"a": 3, "b": 1})
        with pytest.raises(ValueError, match=r"counts of pi-1\.6\.0 cannot be added to those of pi-0\.85\.1"):
            one.update(Counts("pi-1.6.0"))

    def test_what_is_missing(self) -> None:
        """Without a decision every row is missing but those that leave none; with them those that fired are not."""
        language = dialect("pi-0.85.1")
        nothing = Counts(language).missing(language)
        some = Counts.of(read_recording(record("hard stop", "pi-0.85.1")))

        assert ("loop", "CheckStop ready hard_stop") in nothing
        assert not any("delta" in rule for _, rule in nothing)
        assert set(nothing) - set(some.missing(language)) == {("loop", rule) for rule in some.of_machine("loop")}


class TestCorpus:
    @pytest.mark.parametrize("name", DIALECTS)
    def test_the_corpus_fires_nearly_all(self, name: str) -> None:
        """The scenarios of a dialect fire every row, but for failures that no callback causes, and late progress."""
        assert corpus_counts(name).missing(dialect(name)) == [
            ("loop", "CheckStop failed"),
            ("loop", "ExecutingTools failed"),
            ("call", "Finalizing update"),
        ]


class TestJson:
    def test_there_and_back(self) -> None:
        """What is written is read back, and is the same bytes for the same counts."""
        counts = Counts.of(read_recording(record("parallel tools", "pi-0.85.1")))

        assert Counts.from_json(counts.to_json()).to_json() == counts.to_json()
        assert list(counts.to_json()["fired"]["loop"]) == sorted(counts.of_machine("loop"))

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            ([], "expected counts"),
            ({"turnwheel": "recording"}, "expected counts"),
            ({**SOME, "version": 2}, "expected version 1 of counts, got 2"),
            ({**SOME, "dialect": 1}, "expected a text as `dialect`"),
            ({**SOME, "runs": True}, "a whole number as `runs`"),
            ({**SOME, "fired": {"other": {}}}, "fired: expected an object with loop, batch, call"),
            ({**SOME, "fired": {"loop": []}}, "fired.loop: expected an object"),
            ({**SOME, "fired": {"loop": {"a": -1}}}, "fired.loop.a: expected a number, got -1"),
        ],
    )
    def test_what_does_not_fit(self, data: Any, complaint: str) -> None:
        """The error names the file, the place and what was expected."""
        with pytest.raises(ParseError, match=r"c\.json") as caught:
            Counts.from_json(data, "c.json")
        assert complaint in str(caught.value)
