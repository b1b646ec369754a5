"""Awaiting what others wrote: whose cancellation comes out of it, and when it is first suspended."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, final

import anyio
import anyio.lowlevel

from turnwheel.ports import text_of
from turnwheel.threads import asyncio_task


class ForeignCancelledError(Exception):
    """A port or a listener let somebody else's cancellation through: that is its failure, and nobody cancelled us."""


@final
class Cancellation:
    """Tells whether a run is being cancelled, by a scope of anyio or as a task of asyncio.

    It is made in the task of the run. What had been asked of that task before is not asked of the run: somebody may
    have caught it in order to run this.
    """

    def __init__(self) -> None:
        self._home = asyncio_task()
        self._before = _requests(self._home)

    @classmethod
    async def of_this_task(cls) -> Cancellation:
        """Make one. Raises a cancellation that is due already."""
        if _requests(asyncio_task()):
            await anyio.lowlevel.checkpoint()
        return cls()

    def due(self) -> bool:
        """Say whether the present task, that of the run or one of its tools', is being cancelled."""
        if anyio.current_effective_deadline() == -math.inf:
            return True
        task = asyncio_task()
        # Without one this is the other back end, where no cancellation is anybody else's.
        return task is None or self._requested(task)

    async def check(self) -> None:
        """Raise the cancellation that is due, where somebody has swallowed it."""
        task = asyncio_task()
        if task is None or self._requested(task):
            # A scope raises again and again; asyncio says it once.
            await anyio.lowlevel.checkpoint_if_cancelled()
            if task is not None:
                raise asyncio.CancelledError

    async def checkpoint(self) -> None:
        """Let the event loop have its turn. Raises a cancellation that is due."""
        await anyio.lowlevel.checkpoint()
        await self.check()

    def failure(self, error: BaseException) -> ForeignCancelledError:
        """Return what it is that somebody's code was cancelled and the run is not. Raises `error` where the run is."""
        if self.due():
            raise error
        return ForeignCancelledError(text_of(error))

    async def apart(self, said: Awaitable[Any]) -> None:
        """Await something. Raises ForeignCancelledError where that is cancelled and the run is not."""
        try:
            await said
        except anyio.get_cancelled_exc_class() as error:
            raise self.failure(error) from error

    def _requested(self, task: asyncio.Task[Any]) -> bool:
        return _requests(task) > (self._before if task is self._home else 0)


def _requests(task: asyncio.Task[Any] | None) -> int:
    return 0 if task is None else task.cancelling()


@final
class Once:
    """A callback that is called once, however often it is told to."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def __call__(self) -> None:
        """Call it, the first time."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


@final
class Watched:
    """An awaitable that says when it is first suspended: a tool's early words come before the next tool starts."""

    def __init__(self, awaitable: Awaitable[Any], suspended: Callable[[], None]) -> None:
        self._awaitable = awaitable
        self._suspended = suspended

    def __await__(self) -> Generator[Any, Any, Any]:
        steps: Any = self._awaitable.__await__()
        step: Callable[[], Any] = partial(next, steps)
        while True:
            try:
                waits_for = step()
            except StopIteration as done:
                return done.value
            self._suspended()
            try:
                sent = yield waits_for
            except BaseException as error:
                step = partial(steps.throw, error)
            else:
                step = partial(steps.send, sent) if hasattr(steps, "send") else partial(next, steps)
