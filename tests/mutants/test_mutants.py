"""The mutants: the corpus notices those of the engine and a fixed share of the others; the rest is explained.

`python -m tests.mutants.table` judges all of them, by all judges.
"""

from __future__ import annotations

from typing import Any, Final, cast

import pytest
from attrs import evolve

from tests.mutants import report
from tests.mutants.engines import Wrapped
from tests.mutants.equivalents import BY_HAND, EQUIVALENTS, Equivalent, reason
from tests.mutants.judges import JUDGES, Finding, breaks, differs, played, seen
from tests.mutants.mutants import KINDS, Mutant, mutants, unmutated
from tests.mutants.patience import MOST
from tests.mutants.samples import Sample, drawn, of_the_corpus
from turnwheel.effects import PrepareArguments
from turnwheel.machine import Machine
from turnwheel.table import DEFAULT_DIALECT, DIALECTS
from turnwheel.testing.watching.monitor import Called, Ended

SHARE: Final = 12
"""One of so many mutants is judged here."""

ALL: Final = [mutant for of in DIALECTS for mutant in mutants(of)]
LISTED: Final = [mutant for mutant in ALL if reason(mutant.name, mutant.of)]
JUDGED: Final = [
    *(mutant for mutant in ALL if mutant.kind == "engine"),
    *[mutant for mutant in ALL if mutant.kind != "engine" and mutant not in LISTED][::SHARE],
]


def named(mutant: Mutant) -> str:
    """Return what a test of a mutant is called."""
    return f"{mutant.of}: {mutant.name}"


def the_mutant(name: str) -> Mutant:
    """Return the mutant of that name of the default dialect."""
    (found,) = (mutant for mutant in mutants(DEFAULT_DIALECT) if mutant.name == name)
    return found


def the_sample(name: str) -> Sample:
    """Return the scenario of that name of the corpus, in the default dialect."""
    (found,) = (sample for sample in of_the_corpus(DEFAULT_DIALECT) if sample.name == name)
    return found


class AsksAgain(Wrapped):
    """Asks its machine once more while a call is prepared; what comes then is lost."""

    def next(self) -> Any:
        step = self._inner.next()
        if isinstance(step, PrepareArguments):
            self._inner.next()
        return step


def asks_again(machine: Machine) -> Machine:
    """Return the machine in the hands of somebody who asks too often."""
    return cast(Machine, AsksAgain(machine))


class TestMutants:
    """The mutants themselves."""

    @pytest.mark.parametrize("of", DIALECTS)
    def test_each_has_its_own_name(self, of: str) -> None:
        """No two mutants of a dialect have the same name."""
        names = [mutant.name for mutant in mutants(of)]

        assert len(set(names)) == len(names)

    @pytest.mark.parametrize("kind", KINDS)
    def test_there_are_some_of_every_kind(self, kind: str) -> None:
        """Every dialect has mutants of every kind."""
        assert {mutant.of for mutant in ALL if mutant.kind == kind} == {*DIALECTS}

    def test_a_refused_table(self) -> None:
        """The check of tables refuses a guard that is always true where rows then never hold, but no negated one."""
        assert the_mutant("loop: guard prompt: always true").refused
        assert not the_mutant("loop: guard prompt: negated").refused

    @pytest.mark.parametrize("of", DIALECTS)
    def test_the_dialect_itself_is_no_mutant(self, of: str) -> None:
        """The judges of the corpus have nothing to say against a dialect that was only put in the form of a mutant."""
        right = unmutated(of)

        assert not JUDGES["corpus"](right)
        assert not any(breaks(right, sample) for sample in of_the_corpus(of))


class TestJudges:
    """What the judges see, and how they take what goes wrong."""

    def test_a_run_that_breaks_down(self) -> None:
        """A run that comes to a standstill throws what no trace of Pi has, and so is noticed."""
        sample = the_sample("tool-throw-becomes-error-result")

        run = played(the_mutant("batch: Running ready !prepared !busy: never holds"), sample.scenario)

        assert run.trace[-1]["throws"].startswith("broken down with Stalled(")

    def test_a_run_that_does_not_end(self) -> None:
        """A run that goes on for ever is ended without a last line."""
        mutant = the_mutant("batch: Running ready !prepared !busy: sets nothing")
        sample = the_sample("tool-throw-becomes-error-result")

        run = played(mutant, sample.scenario)

        assert not {"result", "throws"} & {*run.trace[-1]}
        assert len(run.trace) < MOST
        assert differs(mutant, sample)

    def test_what_monitors_see(self) -> None:
        """Monitors see each line of a trace: events, calls with the id of their tool call, and the end."""
        run = played(unmutated(DEFAULT_DIALECT), the_sample("after-hook-overrides-fields").scenario)

        things = [*seen(run)]

        assert [thing for thing in things if not isinstance(thing, Called | Ended)] == run.events
        assert len(things) == len(run.trace)
        assert Called("execute", "c1") in things
        assert things[-1] == Ended()

    def test_a_broken_promise_is_noticed(self) -> None:
        """The monitors notice a run that goes on though every result says terminate."""
        mutant = the_mutant("loop: guard all_terminate: always false")

        assert any("terminate by all" in text for text in breaks(mutant, the_sample("terminate-by-all-ends-the-chain")))

    def test_random_scenarios_are_always_the_same(self) -> None:
        """Drawing random scenarios again gives the same ones."""
        assert drawn(DEFAULT_DIALECT, 20) == drawn(DEFAULT_DIALECT, 20)

    def test_the_reference_agrees_with_the_dialect(self) -> None:
        """The judge of the reference has nothing to say against the dialect itself."""
        assert not JUDGES["reference"](unmutated(DEFAULT_DIALECT))


class TestNoticed:
    """The corpus, as strong as it is meant to be."""

    @pytest.mark.parametrize("mutant", JUDGED, ids=named)
    def test_the_corpus_notices(self, mutant: Mutant) -> None:
        """Some scenario of the corpus has another trace than real Pi gave."""
        assert JUDGES["corpus"](mutant)


class TestEquivalents:
    """The mutants that nobody notices."""

    @pytest.mark.parametrize("listed", EQUIVALENTS, ids=lambda listed: listed.names[0])
    def test_they_exist(self, listed: Equivalent) -> None:
        """Every name of the list is that of a mutant, and every dialect has one of them."""
        covered = [mutant for mutant in ALL if listed.covers(mutant.name, mutant.of)]

        assert {mutant.of for mutant in covered} == {*listed.dialects}
        for name in listed.names:
            assert any(Equivalent("", [name], listed.dialects).covers(mutant.name, mutant.of) for mutant in ALL), name

    @pytest.mark.parametrize("mutant", LISTED, ids=named)
    def test_nobody_notices(self, mutant: Mutant) -> None:
        """The corpus, which notices all others, does not notice a mutant that is listed."""
        assert not JUDGES["corpus"](mutant)

    @pytest.mark.parametrize("mutant", [each for each in LISTED if BY_HAND.covers(each.name, each.of)], ids=named)
    def test_the_bare_machine_shows_it(self, mutant: Mutant) -> None:
        """Asked again while a call is prepared, the right machine waits, and the mutant does not."""
        (sample,) = (each for each in of_the_corpus(mutant.of) if each.name == "parallel-end-order-vs-result-order")

        assert not differs(evolve(unmutated(mutant.of), around=asks_again), sample)
        assert differs(evolve(mutant, around=asks_again), sample)


FOUND: Final = Finding(
    "any instead of every",
    "engine",
    "pi-0.85.1",
    True,
    {"corpus": "a-scenario", "monitors": "", "reference": "random 7"},
)


class TestReport:
    """What is told of the mutants."""

    def test_the_whole_table(self) -> None:
        """A line tells who notices a mutant and by what; a line of the totals counts."""
        told = report.whole([FOUND]).splitlines()

        assert "| pi-0.85.1 | `any instead of every` | refused | a-scenario |  | random 7 |" in told
        assert "| pi-0.85.1 | engine | 1 | 1 | 1 | 0 | 1 | 0 |" in told

    def test_a_page_is_renewed_between_its_markers(self) -> None:
        """What stands around the markers stays; a page without them is refused."""
        page = report.renewed("before\n<!-- begin: mutants -->\nstale\n<!-- end -->\nafter\n", [FOUND])

        assert page.startswith("before\n<!-- begin: mutants -->\n\n## Totals\n")
        assert page.endswith("<!-- end -->\nafter\n")
        assert "stale" not in page
        with pytest.raises(ValueError, match="lacks the markers"):
            report.renewed("nothing", [FOUND])

    def test_faults_are_told(self) -> None:
        """A mutant that the corpus misses is a fault, and so is one that is noticed though it is listed."""
        missed = evolve(FOUND, noticed=dict.fromkeys(JUDGES, ""))
        listed = evolve(FOUND, name=LISTED[0].name, of=LISTED[0].of)

        assert report.wrong([FOUND]) == []
        assert len(report.wrong([missed, listed])) == 2

    @pytest.mark.parametrize("of", DIALECTS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_page_counts_the_mutants_that_there_are(self, of: str, kind: str) -> None:
        """The totals name as many mutants as there are; `python -m tests.mutants.table --page` renews them."""
        count = sum(mutant.kind == kind for mutant in mutants(of))

        assert f"| {of} | {kind} | {count} |" in report.PAGE.read_text(encoding="utf-8")
