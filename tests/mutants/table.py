"""Judges every mutant and prints who notices it, as Markdown: `python -m tests.mutants.table`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from tests.mutants.judges import Finding, judged
from tests.mutants.mutants import mutants
from tests.mutants.report import PAGE, renewed, whole, wrong
from tests.mutants.samples import at_random, of_the_corpus
from turnwheel.table import DIALECTS

PROCESSES: Final = 2
EVERY: Final = 5.0
"""So many seconds pass between two reports of progress."""


def find(of: str, number: int) -> Finding:
    """Judge one mutant of a dialect, by its number: a mutant itself cannot go from one process to another."""
    return judged(mutants(of)[number])


def findings(names: Sequence[str]) -> Iterator[Finding]:
    """Judge all mutants of these dialects, telling of progress."""
    began = reported = time.monotonic()
    for name in names:
        # Processes that are forked later have these from the start.
        told = f"{len(mutants(name))} mutants, {len(of_the_corpus(name))} scenarios, {len(at_random(name))} at random"
        print(f"{name}: {told}", file=sys.stderr, flush=True)
    tasks = [(name, number) for name in names for number in range(len(mutants(name)))]
    with ProcessPoolExecutor(PROCESSES) as pool:
        for done, found in enumerate(pool.map(find, *zip(*tasks, strict=True), chunksize=8), 1):
            if time.monotonic() - reported >= EVERY:
                reported = time.monotonic()
                print(f"{done:,} of {len(tasks):,} after {reported - began:.0f} s", file=sys.stderr, flush=True)
            yield found


def main() -> int:
    """Print the table; return 1 if a mutant that can be noticed is not, or one that cannot be is."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.table", description=__doc__)
    parser.add_argument("--dialect", action="append", choices=list(DIALECTS), help="only this one (may be repeated)")
    parser.add_argument("--page", action="store_true", help=f"renew {PAGE.name} of the documentation, print nothing")
    arguments = parser.parse_args()
    if arguments.page and arguments.dialect:
        parser.error("the page shows all dialects")
    found = list(findings(arguments.dialect or list(DIALECTS)))
    if arguments.page:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    else:
        print(whole(found), end="")
    faults = wrong(found)
    print("\n".join(faults) or "the corpus notices all that can be noticed", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
