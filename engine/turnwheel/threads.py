"""Getting back into the event loop: from another thread, or from a callback of the loop that is no task."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any, final

Act = Callable[[], object]

_tasks: set[asyncio.Task[Any]] = set()
"""asyncio keeps only weak references to its tasks."""


@final
class Home:
    """The thread and the event loop in which this was made."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            # The other back end of anyio. It is loaded, since it runs; whoever does not use it need not have it.
            self._token = sys.modules["trio"].lowlevel.current_trio_token()

    def is_here(self) -> bool:
        """Say whether this is a task in that thread."""
        return get_ident() == self._thread and (self._loop is None or asyncio_task() is not None)

    def soon(self, act: Act) -> None:
        """Have `act` called in the event loop, from any thread, without waiting; after the loop's end, do nothing."""
        with suppress(RuntimeError):
            if self._loop is None:
                self._token.run_sync_soon(act)
            else:
                self._loop.call_soon_threadsafe(partial(_in_task, self._loop, act))


def asyncio_task() -> asyncio.Task[Any] | None:
    """Return the task of asyncio that is running, if there is one."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def keep(task: asyncio.Task[Any]) -> None:
    """Keep a task until it is done."""
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def _in_task(loop: asyncio.AbstractEventLoop, act: Act) -> None:
    """Call it in a task: outside of one anyio does not know where it is."""

    async def main() -> None:
        act()

    keep(loop.create_task(main()))
