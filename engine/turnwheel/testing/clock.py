"""Virtual time: ticks that pass only when nothing else can happen, so that a run with delays is exact and instant."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, final


@final
class VirtualClock:
    """One clock and its timers, ordered by due tick and, within a tick, by creation."""

    def __init__(self) -> None:
        self.tick: float = 0
        """The present tick."""
        self._timers: list[tuple[float, int, Callable[[], Sequence[Any]]]] = []
        self._created = 0

    def after(self, ticks: float, fire: Callable[[], Sequence[Any]]) -> None:
        """Create a timer that is due `ticks` from now; `fire` returns what comes of it."""
        heapq.heappush(self._timers, (self.tick + ticks, self._created, fire))
        self._created += 1

    def advance(self) -> Sequence[Any] | None:
        """Go to the next timer, fire it and return what came of it; None where there is no timer left."""
        if not self._timers:
            return None
        self.tick, _, fire = heapq.heappop(self._timers)
        return fire()
