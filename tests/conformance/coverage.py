"""Counts which rows the golden corpus fires: `python -m tests.conformance.coverage pi-0.85.1 > counts.json`."""

from __future__ import annotations

import json
import sys

from tests.conformance.playing import in_sync
from tests.conformance.traces import GOLDEN, scenario
from turnwheel.counting import Counts
from turnwheel.table import DIALECTS, dialect


def corpus_counts(name: str) -> Counts:
    """Return how often each row of a dialect fires when all its scenarios are played."""
    counts = Counts(name)
    for language, which in GOLDEN:
        if language == name:
            for decision in in_sync(scenario(which), dialect(name)).decisions:
                counts(decision)
    return counts


if __name__ == "__main__":
    if sys.argv[1:2] not in [[name] for name in DIALECTS]:
        sys.exit(f"which dialect: {', '.join(DIALECTS)}?")
    print(json.dumps(corpus_counts(sys.argv[1]).to_json(), indent=1))
