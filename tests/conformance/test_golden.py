"""Every scenario of the corpus, played in every dialect that it is meant for, gives the trace that real Pi gave."""

from __future__ import annotations

import json
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import pytest

import turnwheel_tools.arguments
from turnwheel.messages import Json
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.play import play
from turnwheel.testing.scenario import Scenario, read_scenario_text
from turnwheel.tool import Tool

HERE: Final = Path(__file__).parent
CORPUS: Final = sorted(path.stem for path in (HERE / "corpus").glob("*.json"))
GOLDEN: Final = [(name, path.stem) for name in DIALECTS for path in sorted((HERE / "golden" / name).glob("*.jsonl"))]


def validate(tool: Tool, arguments: Json, rules: str) -> Json:
    """Coerce and validate arguments as the dialect does."""
    return turnwheel_tools.arguments.prepare_arguments(tool, arguments, rules=rules)


@cache
def scenario(name: str) -> Scenario:
    """Return a scenario of the corpus."""
    return read_scenario_text((HERE / "corpus" / f"{name}.json").read_bytes(), name)


def golden(name: str, which: str) -> list[Json]:
    """Return the trace of real Pi."""
    text = (HERE / "golden" / name / f"{which}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def comparable(value: Json) -> Any:
    """Return a value that is equal to another's where the format says so: true is not 1, but 1 is 1.0."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, str) and value.startswith("Validation failed for tool"):
        return value.partition("\n")[0]
    return value


def difference(ours: list[Json], theirs: list[Json]) -> str | None:
    """Return the first line in which two traces differ, from both sides; None where they do not."""
    for number, (our, their) in enumerate(zip_longest(ours, theirs), 1):
        if comparable(our) != comparable(their):
            shown = [json.dumps(line, ensure_ascii=False, sort_keys=True) for line in (our, their)]
            return f"line {number}\n  ours: {shown[0]}\n  Pi's: {shown[1]}"
    return None


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
