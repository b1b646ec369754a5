"""A run as something to iterate over: its events, one at a time, the run going on only as fast as they are taken."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Any, final

import anyio

from turnwheel.errors import Misuse
from turnwheel.events import Event
from turnwheel.threads import Home, keep

Emit = Callable[[Event], Awaitable[None]]
"""Hands an event over, and comes back when it has been taken."""


@final
class EventStream:
    """The events of a run that begins with the first look at them.

        async with agent.run("…") as events:
            async for event in events: ...

    Leaving the block before the end aborts the run and waits until it has settled; cancelling the task in the block
    cancels the run. Without `async with`, a loop that is left early only aborts it. One task at a time may wait for the
    next event; a second one gets Misuse.
    """

    def __init__(self, run: Callable[[Emit], Awaitable[Any]], abort: Callable[[], None]) -> None:
        """`abort` aborts this run, and no other."""
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
        if state.awaited:
            raise Misuse("another task waits for the next event of this run: iterate over it in one place")
        if state.offered is None:
            # Else the last call was cancelled before it could take what is offered.
            state.taken.set()
        state.awaited = True
        try:
            await state.offers.wait()
        finally:
            state.awaited = False
        state.offers = anyio.Event()
        event, state.offered = state.offered, None
        if event is not None:
            return event
        state.offers.set()
        if state.error is not None:
            raise state.error from None
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Abort the run, if it is on, and wait until it has settled. One that has not begun never will.

        From within the run, from a listener or a tool, it does not wait: the run would wait for that in turn.
        """
        self._closed = True
        state = self._state
        if state is not None and not state.over.is_set():
            state.leave()
            if state not in _within.get():
                with anyio.CancelScope(shield=state.scope.cancel_called):
                    await state.over.wait()

    def __del__(self) -> None:
        state = self._state
        if state is None or state.over.is_set():
            return
        if state.home.is_here():
            state.leave()
        else:
            # Whoever collects the garbage may do so in any thread.
            state.home.soon(state.leave_quietly)

    def _start(self) -> _State:
        state = self._state = _State(self._abort)
        _spawn(_Main(self._run, state))
        return state


class _State:
    """What the run's task and its iterator share; the task must not keep the iterator alive."""

    def __init__(self, abort: Callable[[], None]) -> None:
        self._abort = abort
        self.home = Home()
        self.offered: Event | None = None
        self.offers = anyio.Event()
        """Set when there is an event to take, or the run is over."""
        self.taken = anyio.Event()
        """Set when the consumer comes back for more: then it is done with the event before."""
        self.awaited = False
        """Whether the consumer waits for an event."""
        self.left = False
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()
        self.error: BaseException | None = None

    def leave(self) -> None:
        """Note that nobody looks any more, and abort the run; it goes on to its end."""
        self.left = True
        self.taken.set()
        self._abort()

    def leave_quietly(self) -> None:
        """Do so where nobody hears of an error."""
        with suppress(Exception):
            self.leave()

    def end(self) -> None:
        """Note that the run is over, or never began."""
        self.over.set()
        self.offers.set()


_within: ContextVar[tuple[_State, ...]] = ContextVar("_within", default=())
"""The runs within which the code at hand runs, as a listener, a hook or a tool."""


class _Main:
    """The task that drives the run."""

    def __init__(self, run: Callable[[Emit], Awaitable[Any]], state: _State) -> None:
        self._run = run
        self.state = state

    async def __call__(self) -> None:
        state = self.state
        _within.set((*_within.get(), state))
        try:
            # It may have been left before this task had its first turn.
            if not state.left:
                with state.scope:
                    await self._run(self._emit)
        except anyio.get_cancelled_exc_class():
            if not state.scope.cancel_called:
                state.error = RuntimeError("the run was cancelled, and not by who iterates over it")
            raise
        except BaseException as error:
            # It comes out where the events are taken, which is where the run was begun.
            state.error = error
        finally:
            state.end()

    async def _emit(self, event: Event) -> None:
        """Offer an event and wait until the consumer is done with it."""
        state = self.state
        if not state.left:
            state.taken = anyio.Event()
            state.offered = event
            state.offers.set()
            await state.taken.wait()


def _spawn(main: _Main) -> None:
    """Start a task that belongs to no block."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # The other back end of anyio. It is loaded, since it runs; whoever does not use it need not have it.
        sys.modules["trio"].lowlevel.spawn_system_task(main, context=copy_context())
        return
    task = loop.create_task(main())
    keep(task)
    # One that is cancelled before its first turn does not even begin.
    task.add_done_callback(lambda _: main.state.end())
