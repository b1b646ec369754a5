"""Random scenarios, played by turnwheel and by real Pi: `python -m tests.conformance.differential --help`.

A difference ends the search for that dialect. It is shrunk, shown as JSON with the first line that differs, and kept in
a file, which `python -m tests.conformance.keep` takes into the corpus.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import anyio
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisException

from tests.conformance import playing
from tests.conformance.real_pi import RealPi, installed, why_missing
from tests.conformance.traces import difference
from turnwheel.messages import Json
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing import scenarios, write_scenario
from turnwheel.testing.scenario import Scenario

Trace = list[Json]
Player = Callable[[Scenario], Trace]

KEPT: Final = Path(".conformance")
"""Where scenarios are put that differ."""
EVERY: Final = 5.0
"""So many seconds pass between two reports of progress."""
TRIO_EVERY: Final = 10
"""One of so many scenarios is played on trio as well."""


def our_players(name: str, runner: asyncio.Runner) -> dict[str, Player]:
    """Return the ways in which turnwheel plays a scenario of the dialect `name`."""
    language = dialect(name)

    def on_asyncio(scenario: Scenario) -> Trace:
        return runner.run(playing.in_async(scenario, language, "sync ports")).trace

    def on_trio(scenario: Scenario) -> Trace:
        return anyio.run(playing.in_async, scenario, language, "ports that suspend", backend="trio").trace

    return {
        "sync driver": lambda scenario: playing.in_sync(scenario, language).trace,
        "async driver on asyncio": on_asyncio,
        "async driver on trio": on_trio,
    }


def search(name: str, count: int, seed_: int, theirs: Callable[[Json], Trace], shows: Callable[[int], None]) -> str:
    """Compare `count` random scenarios; return what to say of the first that differs, or "".

    `theirs` plays a scenario in JSON, `shows` is told how many have been compared.
    """
    compared = 0
    last = ""
    trio_every = TRIO_EVERY
    with asyncio.Runner() as runner:
        players = our_players(name, runner)

        def compare(scenario: Scenario) -> None:
            nonlocal compared, last, trio_every
            compared += 1
            shows(compared)
            written = write_scenario(scenario)
            expected = theirs(written)
            for player, play in players.items():
                if player.endswith("trio") and compared % trio_every:
                    continue
                found = difference(play(scenario), expected)
                if found is not None:
                    # What was seen once must be seen again while it is shrunk.
                    trio_every = 1
                    last = f"{player}: {found}\n{json.dumps(written, ensure_ascii=False)}"
                    raise AssertionError(last)

        check = settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )(seed(seed_)(given(scenarios(name))(compare)))
        try:
            check()
        except (AssertionError, HypothesisException) as error:
            return last or repr(error)
    return ""


def compare_with_pi(name: str, count: int, seed_: int) -> tuple[str, int, str]:
    """Compare with real Pi, telling of progress; return the dialect, how many were compared, and what differs."""
    began = reported = time.monotonic()
    done = 0

    def show(compared: int) -> None:
        nonlocal reported, done
        done = compared
        if time.monotonic() - reported >= EVERY:
            reported = time.monotonic()
            rate = compared / (reported - began)
            print(f"{name}: {compared:,} of {count:,}, {rate:,.0f} a second", file=sys.stderr, flush=True)

    with RealPi(name) as pi:
        found = search(name, count, seed_, pi.play, show)
    return name, done, found


def main() -> int:
    """Run the comparison; return 1 where a difference was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.differential", description=__doc__)
    parser.add_argument("count", type=int, help="so many scenarios for each dialect")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="repeats a run (default: random)")
    parser.add_argument("--dialect", action="append", choices=list(DIALECTS), help="only this one (may be repeated)")
    arguments = parser.parse_args()
    names = arguments.dialect or list(DIALECTS)
    for name in names:
        if not installed(name):
            print(f"skipped: {why_missing(name)}")
            return 0
    print(f"seed {arguments.seed}; {arguments.count:,} scenarios for each of {', '.join(names)}", flush=True)
    status = 0
    with ProcessPoolExecutor(len(names)) as pool:
        found = pool.map(compare_with_pi, names, [arguments.count] * len(names), [arguments.seed] * len(names))
        for name, compared, difference_ in found:
            if not difference_:
                print(f"{name}: {compared:,} scenarios, 0 differences", flush=True)
                continue
            status = 1
            report(name, difference_)
    return status


def report(name: str, found: str) -> None:
    """Say what differs, and keep the scenario."""
    told, _, scenario = found.rpartition("\n")
    KEPT.mkdir(exist_ok=True)
    file = KEPT / f"{name}.json"
    file.write_text(f"{scenario}\n", encoding="utf-8")
    print(f"{name}: a difference\n{told}\nthe scenario, also in {file}:\n{scenario}")
    print(f"to take it into the corpus: python -m tests.conformance.keep NAME {file}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
