"""Changes of files in turn: those of one file one after the other, in the order of the calls; others side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import final

import anyio


@final
class Turns:
    """A queue for each key. Whoever enters it first without having waited before is served first."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[anyio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for all that entered the queue of that key before, and hold it."""
        # anyio's locks are fair: they serve in the order in which they were asked.
        lock, users = self._locks.get(key, (None, 0))
        lock = lock or anyio.Lock()
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            _, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)
