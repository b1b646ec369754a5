"""Every scenario of the corpus, played in every dialect that it is meant for, gives the trace that real Pi gave."""

from __future__ import annotations

import json

import pytest

from tests.conformance.traces import CORPUS, GOLDEN, difference, golden, scenario, validate
from turnwheel.messages import Json
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.play import play


class TestGolden:
    """Our traces and those of real Pi."""

    @pytest.mark.parametrize(("name", "which"), GOLDEN)
    def test_the_same_trace(self, name: str, which: str) -> None:
        """Playing the scenario gives exactly Pi's events, calls and result."""
        found = difference(play(scenario(which), dialect(name), validate), golden(name, which))

        if found is not None:
            pytest.fail(f"{which} in {name}: {found}", pytrace=False)

    @pytest.mark.parametrize("name", DIALECTS)
    def test_none_is_left_out(self, name: str) -> None:
        """There is a golden trace for exactly those scenarios that are meant for the dialect."""
        meant = [which for which in CORPUS if name in (scenario(which).dialects or DIALECTS)]

        assert [which for dialect, which in GOLDEN if dialect == name] == meant
        assert meant

    @pytest.mark.parametrize("which", CORPUS)
    def test_twice_the_same(self, which: str) -> None:
        """Playing a scenario again, in any dialect, gives the same trace to the byte."""
        for name in DIALECTS:
            first, second = (json.dumps(play(scenario(which), dialect(name), validate)) for _ in range(2))
            assert first == second


class TestComparing:
    """The comparison itself: no difference means something only if differences are found."""

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
            ([{"a": 1}], [{"a": 1.0}]),
            ([{"a": "Validation failed for tool x\nours"}], [{"a": "Validation failed for tool x\ntheirs"}]),
        ],
    )
    def test_what_does_not_count(self, ours: list[Json], theirs: list[Json]) -> None:
        """The order of keys, how a number is written, and the details of a failed validation."""
        assert difference(ours, theirs) is None

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ([{"a": True}], [{"a": 1}]),
            ([{"a": [False]}], [{"a": [0]}]),
            ([{"a": None}], [{}]),
            ([{"a": "1"}], [{"a": 1}]),
            ([{"a": []}], [{"a": {}}]),
            ([{"a": "Validation failed for tool x"}], [{"a": "Validation failed for tool y"}]),
            ([{"a": "x\nours"}], [{"a": "x\ntheirs"}]),
            ([], [{"a": 1}]),
            ([{"a": 1}], []),
            ([{"a": 1}, {"b": 1}], [{"b": 1}, {"a": 1}]),
        ],
    )
    def test_what_counts(self, ours: list[Json], theirs: list[Json]) -> None:
        """True is not 1, absent is not null, and a line more, less or elsewhere is a difference."""
        assert difference(ours, theirs) is not None

    def test_the_first_difference_is_shown(self) -> None:
        """The line's number and the line from both sides are shown."""
        assert difference([{"a": 1}, {"b": 2}, {}], [{"a": 1}, {"b": 3}]) == (
            'line 2\n  ours: {"b": 2}\n  Pi\'s: {"b": 3}'
        )
