"""The corpus, the traces that real Pi gave of it, and when two traces are the same."""

from __future__ import annotations

import json
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import turnwheel_tools.arguments
from turnwheel.messages import Json
from turnwheel.table import DIALECTS
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
