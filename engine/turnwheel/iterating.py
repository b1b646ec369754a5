"""A run as something to iterate over: its events, one at a time, the run going on only as fast as they are taken."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

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
        self._send: MemoryObjectSendStream[Event]
        self._receive: MemoryObjectReceiveStream[Event]
        self._send, self._receive = anyio.create_memory_object_stream[Event](0)
        self._state = _State(self._send)

    async def __aenter__(self) -> EventStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            self._state.scope.cancel()
        await self.aclose()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        self._start()
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            await self._state.over.wait()
            if self._state.error is not None:
                raise self._state.error from None
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Abort the run, if it is on, and wait until it has settled."""
        state = self._state
        self._receive.close()
        if state.started and not state.over.is_set():
            self._abort()
            with anyio.CancelScope(shield=state.scope.cancel_called):
                await state.over.wait()
        self._send.close()

    def __del__(self) -> None:
        self._receive.close()
        self._send.close()
        if self._state.started and not self._state.over.is_set():
            self._abort()

    def _start(self) -> None:
        if not self._state.started:
            self._state.started = True
            _spawn(_Main(self._run, self._state))


class _State:
    """What the run's task and its iterator share; the task must not keep the iterator alive."""

    def __init__(self, send: MemoryObjectSendStream[Event]) -> None:
        self.send = send.clone()
        self.started = False
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()
        self.error: BaseException | None = None


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
        except Exception as error:
            state.error = error
        finally:
            state.send.close()
            state.over.set()

    async def _emit(self, event: Event) -> None:
        try:
            await self._state.send.send(event)
        except anyio.BrokenResourceError:
            # Nobody looks any more; the run goes on to its end, which the abort has brought near.
            return


_tasks: set[asyncio.Task[None]] = set()
"""asyncio keeps only weak references to its tasks."""


def _spawn(main: _Main) -> None:
    """Start a task that belongs to no block."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        trio.lowlevel.spawn_system_task(main)
        return
    task = asyncio.get_running_loop().create_task(main())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
