"""How far a long search is: behind a spinner on a terminal, and in a line every few seconds elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from turnwheel_adapters.wording import count

Heard = Callable[[int, int], None]
"""Takes the number of states found, and how many of them were walked."""
EVERY: Final = 5.0
"""Seconds between two lines."""


@contextmanager
def progress() -> Iterator[Heard]:
    """Give what is to be told of the progress; it shows on stderr."""
    plain = not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain:
        yield Lines(monotonic)
        return
    # Here, since rich takes longer to load than a short search takes.
    from rich.console import Console

    with Console(stderr=True, highlight=False).status("exploring") as status:
        yield lambda found, walked: status.update(f"exploring: {_far(found, walked)}")


class Lines:
    """Tells every few seconds; a short search says nothing."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told = clock()

    def __call__(self, found: int, walked: int) -> None:
        """Hear of the progress."""
        now = self._clock()
        if now - self._told >= EVERY:
            self._told = now
            sys.stderr.write(f"exploring: {_far(found, walked)}\n")
            sys.stderr.flush()


def _far(found: int, walked: int) -> str:
    return f"{count(found, 'state')}, {found - walked:,} not walked yet"
