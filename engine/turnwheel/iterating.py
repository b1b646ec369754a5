"""A run as something to iterate over: its events, one at a time, the run going on only as fast as they are taken."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from types import TracebackType
from typing import Any, final

import anyio

from turnwheel.events import Event

Emit = Callable[[Event], Awaitable[None]]
"""Hands an event over, and comes back when it has been taken."""


@final
class EventStream:
    """The events of a run that begins with the first look at them.

        async with agent.run("…") as events:
            async for event in events: ...

    Leaving the block before the end aborts the run and waits until it has settled; cancelling the task in the block
    cancels the run. Without `async with`, a loop that is left early only aborts it.
    """

    def __init__(self, run: Callable[[Emit], Awaitable[Any]], abort: Callable[[], None]) -> None:
        self._run = run
        self._abort = abort
        self._state: _State | None = None
        self._closed = False

    async def __aenter__(self) -> EventStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not None and error is not None and not isinstance(error, Exception):
            self._state.scope.cancel()
        await self.aclose()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        if self._closed:
            raise StopAsyncIteration
        state = self._state if self._state is not None else self._start()
        if state.offered is None:
            # Else the last call was cancelled before it could take what is offered.
            state.taken.set()
        await state.offers.wait()
        state.offers = anyio.Event()
        event, state.offered = state.offered, None
        if event is not None:
            return event
        state.offers.set()
        if state.error is not None:
            raise state.error from None
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Abort the run, if it is on, and wait until it has settled. One that has not begun never will."""
        self._closed = True
        state = self._state
        if state is not None and not state.over.is_set():
            state.leave()
            self._abort()
            with anyio.CancelScope(shield=state.scope.cancel_called):
                await state.over.wait()

    def __del__(self) -> None:
        state = self._state
        if state is not None and not state.over.is_set():
            state.leave()
            self._abort()

    def _start(self) -> _State:
        state = self._state = _State()
        _spawn(_Main(self._run, state))
        return state


class _State:
    """What the run's task and its iterator share; the task must not keep the iterator alive."""

    def __init__(self) -> None:
        self.offered: Event | None = None
        self.offers = anyio.Event()
        """Set when there is an event to take, or the run is over."""
        self.taken = anyio.Event()
        """Set when the consumer comes back for more: then it is done with the event before."""
        self.left = False
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()
        self.error: BaseException | None = None

    def leave(self) -> None:
        """Note that nobody looks any more; the run goes on to its end, which an abort brings near."""
        self.left = True
        self.taken.set()


class _Main:
    """The task that drives the run."""

    def __init__(self, run: Callable[[Emit], Awaitable[Any]], state: _State) -> None:
        self._run = run
        self._state = state

    async def __call__(self) -> None:
        state = self._state
        try:
            with state.scope:
                await self._run(self._emit)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            # It comes out where the events are taken, which is where the run was begun.
            state.error = error
        finally:
            state.over.set()
            state.offers.set()

    async def _emit(self, event: Event) -> None:
        """Offer an event and wait until the consumer is done with it."""
        state = self._state
        if not state.left:
            state.taken = anyio.Event()
            state.offered = event
            state.offers.set()
            await state.taken.wait()


_tasks: set[asyncio.Task[None]] = set()
"""asyncio keeps only weak references to its tasks."""


def _spawn(main: _Main) -> None:
    """Start a task that belongs to no block."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # The other back end of anyio. It is loaded, since it runs; whoever does not use it need not have it.
        sys.modules["trio"].lowlevel.spawn_system_task(main, context=copy_context())
        return
    task = loop.create_task(main())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
