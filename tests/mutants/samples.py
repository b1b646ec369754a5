"""What the judges look at: the corpus with real Pi's traces, and fixed random scenarios with the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, final

from attrs import frozen
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.conformance.playing import in_sync
from tests.conformance.traces import GOLDEN, golden, scenario
from tests.reference.trace import reference_trace
from turnwheel.messages import Json
from turnwheel.rules import Rule
from turnwheel.table import dialect
from turnwheel.testing import scenarios, write_scenario
from turnwheel.testing.scenario import Scenario

RANDOM: Final = 300
"""So many random scenarios there are for each dialect."""


@final
@frozen(eq=False)
class Sample:
    """A scenario, the trace that it should have, and the rows of the dialect that fire in it."""

    name: str
    scenario: Scenario
    expected: list[Json]
    fired: frozenset[Rule]


def _sample(name: str, scenario: Scenario, expected: list[Json], of: str) -> Sample:
    fired = frozenset(decision.rule for decision in in_sync(scenario, dialect(of)).decisions)
    return Sample(name, scenario, expected, fired)


@cache
def of_the_corpus(of: str) -> Sequence[Sample]:
    """Return the scenarios of the corpus that are meant for a dialect, with the traces of real Pi."""
    return [_sample(which, scenario(which), golden(of, which), of) for name, which in GOLDEN if name == of]


@cache
def at_random(of: str) -> Sequence[Sample]:
    """Return random scenarios for a dialect, always the same ones, with the traces of the reference."""
    return [
        _sample(f"random {number}", each, reference_trace(write_scenario(each), of), of)
        for number, each in enumerate(drawn(of, RANDOM), 1)
    ]


def drawn(of: str, count: int) -> Sequence[Scenario]:
    """Draw `count` scenarios for a dialect, always the same ones."""
    found: list[Scenario] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(0)
    @given(scenarios(of))
    def draw(each: Scenario) -> None:
        found.append(each)

    draw()
    return found
