"""Aborting a run at every one of its moments: whatever it was doing, it ends, and in the way that Pi ends."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Final

import pytest
from attrs import evolve

from tests.engine.abort_judge import judged
from tests.engine.abort_traces import LATEST, NEVER, Run, aborted, kind
from turnwheel.table import DIALECTS
from turnwheel.testing.scenario import Scenario, read_scenario_text

CORPUS: Final = Path(__file__).parents[1] / "conformance" / "corpus"
NAMES: Final = sorted(path.stem for path in CORPUS.glob("*.json"))


@cache
def scenario(which: str) -> Scenario:
    """Return a scenario of the corpus."""
    return read_scenario_text((CORPUS / f"{which}.json").read_bytes())


def second_call_starts(name: str) -> Run:
    """Return a run that is aborted while the second of two parallel calls is announced."""
    moments = aborted(scenario("abort-while-second-call-starts"), name, "event")
    return next(run for _, run in moments if run.at == 11)


class TestEveryMoment:
    """All scenarios, all moments."""

    @pytest.mark.parametrize("name", DIALECTS)
    @pytest.mark.parametrize("which", NAMES)
    def test_at_every_event(self, which: str, name: str) -> None:
        """Aborted while any event is told, the run obeys all rules."""
        found = [(when, judged(run)) for when, run in aborted(scenario(which), name, "event")]

        assert [(when, complaints) for when, complaints in found if complaints] == []

    @pytest.mark.parametrize("name", DIALECTS)
    @pytest.mark.parametrize("which", NAMES)
    def test_in_every_callback(self, which: str, name: str) -> None:
        """Aborted while any callback is called, the run obeys all rules."""
        found = [(when, judged(run)) for when, run in aborted(scenario(which), name, "call")]

        assert [(when, complaints) for when, complaints in found if complaints] == []

    @pytest.mark.parametrize("name", DIALECTS)
    @pytest.mark.parametrize("which", NAMES)
    def test_a_model_that_does_not_listen(self, which: str, name: str) -> None:
        """Where the model goes on in spite of the abort, so does the loop, batch after batch, by the same rules."""
        deaf = evolve(scenario(which), config=evolve(scenario(which).config, model_on_abort="ignore"))
        found = [(when, judged(run)) for when, run in aborted(deaf, name, "event")]

        assert [(when, complaints) for when, complaints in found if complaints] == []


class TestJudge:
    """The judge itself: no complaint means something only if it complains where it should."""

    @pytest.mark.parametrize("name", DIALECTS)
    def test_no_line_is_missed(self, name: str) -> None:
        """Whichever event after the abort is taken out or told twice, some rule complains; progress is free."""
        run = second_call_starts(name)
        assert judged(run) == []
        for at in range(run.at + 1, len(run.lines)):
            if "event" in run.lines[at] and kind(run.lines[at]) != "tool_execution_update":
                lines = list(run.lines)
                assert judged(evolve(run, lines=[*lines[:at], *lines[at + 1 :]])), kind(lines[at])
                assert judged(evolve(run, lines=[*lines[:at], lines[at], *lines[at:]])), kind(lines[at])

    @pytest.mark.parametrize(("name", "other"), [*permutations(DIALECTS, 2)])
    def test_dialects_are_told_apart(self, name: str, other: str) -> None:
        """A trace of one dialect that was aborted after a preparation does not pass for another."""
        run = second_call_starts(name)
        rules = {complaint.partition(":")[0] for complaint in judged(evolve(run, name=other))}

        assert {"prepared_calls", "the_loop_goes_on_as_ever", "late_preparation_fails", "hook_is_asked_or_not"} & rules

    @pytest.mark.parametrize("name", DIALECTS)
    def test_every_kind_of_moment_is_met(self, name: str) -> None:
        """The corpus has moments at which a call is prepared late, waits, runs, and, up to 0.85.1, is dropped."""
        met: set[str] = set()
        for which in NAMES:
            for _, run in aborted(scenario(which), name, "event"):
                for turn in run.turns:
                    met |= {"dropped"} if len(turn.starts) < len(turn.calls) and not turn.hard_stop else set()
                    for call in turn.starts:
                        started, end = turn.executed.get(call, NEVER), turn.ends.get(call, NEVER)
                        met |= {"late"} if turn.prepared(call) > run.at else set()
                        met |= {"waits"} if turn.prepared(call) <= run.at < min(started, end) else set()
                        met |= {"runs"} if started < run.at < end else set()

        assert met == {"late", "waits", "runs", *(() if name == LATEST else ("dropped",))}
