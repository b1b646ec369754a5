"""The three judges of a mutant. Each looks on its own, and until it notices something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, final

from attrs import frozen

from tests.conformance.playing import Played
from tests.conformance.traces import difference
from tests.mutants.mutants import Kind, Mutant
from tests.mutants.patience import Endless
from tests.mutants.samples import Sample, at_random, of_the_corpus
from turnwheel.driver import Driver
from turnwheel.testing.scenario import Scenario
from turnwheel.testing.watching.monitor import Called, Ended, Seen
from turnwheel.testing.watching.monitors import default_monitors

Judge = Literal["corpus", "monitors", "reference"]

WATCHED: Final = 200
"""The monitors see so many of the random scenarios."""


def played(mutant: Mutant, scenario: Scenario) -> Played:
    """Play a scenario. A run that breaks down throws what no other run throws; one that does not end has no last line.

    What breaks down may be anything: Stalled, a fault in the table, an outcome that nothing had asked for.
    """
    run = Played(scenario, mutant.dialect)
    mutant.patience.renew()
    driver = Driver(mutant.around(run.machine), run.host, signal=run.host.signal)
    try:
        run.ended(driver.run(run.listen))
    except (RuntimeError, ValueError) as error:
        run.failed(error)
    except Endless:
        pass
    except Exception as error:
        run.failed(RuntimeError(f"broken down with {error!r}"))
    return run


def differs(mutant: Mutant, sample: Sample) -> bool:
    """Say whether the trace of a sample is not what it should be."""
    trace = played(mutant, sample.scenario).trace
    # Equal traces are by far the most, and to see that is cheap.
    return trace != sample.expected and difference(trace, sample.expected) is not None


def seen(run: Played) -> Iterator[Seen]:
    """Yield what a monitor sees of a run: events, calls and its end."""
    events = iter(run.events)
    for line in run.trace:
        if "event" in line:
            yield next(events)
        elif "call" in line:
            yield Called(line["call"]["name"], line["call"].get("toolCallId"))
        else:
            yield Ended(line.get("throws"))


def breaks(mutant: Mutant, sample: Sample) -> list[str]:
    """Return what the monitors say of a sample when it is played: the promises that are broken."""
    run = played(mutant, sample.scenario)
    # The right traces break none, and are by far the most.
    if run.trace == sample.expected:
        return []
    monitors = default_monitors()
    ended = False
    for thing in seen(run):
        ended = ended or isinstance(thing, Ended)
        for monitor in monitors:
            monitor(thing)
    if ended:
        for monitor in monitors:
            monitor.finish()
    return [str(each) for monitor in monitors for each in monitor.broken]


def _first(notices: Callable[[Mutant, Sample], object], mutant: Mutant, samples: Iterable[Sample]) -> str:
    return next((sample.name for sample in samples if _concerns(mutant, sample) and notices(mutant, sample)), "")


def _concerns(mutant: Mutant, sample: Sample) -> bool:
    """Say whether a sample can show anything: up to the first firing of a mutated row all is as it was."""
    return mutant.rows is None or not mutant.rows.isdisjoint(sample.fired)


JUDGES: Final[Mapping[Judge, Callable[[Mutant], str]]] = {
    "corpus": lambda mutant: _first(differs, mutant, of_the_corpus(mutant.of)),
    "monitors": lambda mutant: _first(breaks, mutant, [*of_the_corpus(mutant.of), *at_random(mutant.of)[:WATCHED]]),
    "reference": lambda mutant: _first(differs, mutant, at_random(mutant.of)),
}
"""The judges. Each returns the name of the first sample by which it notices a mutant, "" where it does not."""


@final
@frozen
class Finding:
    """What is known of a mutant: whether the check of tables refuses it, and which judge notices it by which sample."""

    name: str
    kind: Kind
    of: str
    refused: bool
    noticed: Mapping[Judge, str]

    @property
    def survives(self) -> bool:
        """Whether neither the corpus nor the reference notices the mutant."""
        return not (self.noticed["corpus"] or self.noticed["reference"])


def judged(mutant: Mutant) -> Finding:
    """Let all judges look at a mutant."""
    noticed = {name: notices(mutant) for name, notices in JUDGES.items()}
    return Finding(mutant.name, mutant.kind, mutant.of, mutant.refused, noticed)
