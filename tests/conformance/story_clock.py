"""Virtual time for stories, on asyncio and trio."""

from __future__ import annotations

import heapq
from typing import final

import anyio
import anyio.lowlevel


@final
class Clock:
    """Virtual time: it moves on to the next timer only when nothing else can happen."""

    def __init__(self) -> None:
        self._now = 0.0
        self._timers: list[tuple[float, int, anyio.Event]] = []
        self._created = 0
        self._wake = anyio.Event()

    async def wait(self, ticks: float) -> None:
        """Come back `ticks` later; at equal ticks, first come, first served."""
        due = anyio.Event()
        heapq.heappush(self._timers, (self._now + ticks, self._created, due))
        self._created += 1
        self._wake.set()
        await due.wait()

    async def run(self) -> None:
        """Fire timers, until cancelled."""
        while True:
            if not self._timers:
                self._wake = anyio.Event()
                await self._wake.wait()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            self._now, _, due = heapq.heappop(self._timers)
            due.set()
