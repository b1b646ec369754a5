"""Awaiting with a limit and under an abort signal: each wait has its own cancel scope, and none outlives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar, final

import anyio

from turnwheel.abort import AbortSignal
from turnwheel.threads import Home

T = TypeVar("T")


class Aborted(Exception):
    """The signal was set: before a wait, or during it."""


@final
class Guard:
    """Lets one task wait, until the signal is set. Whoever sets it may do so in any thread."""

    def __init__(self, signal: AbortSignal) -> None:
        """Take notice of the signal, until `release` is called. The task's event loop runs."""
        self._signal = signal
        self._home = Home()
        self._scope: anyio.CancelScope | None = None
        self.release = signal.subscribe(self._abort)
        """Ends the subscription."""

    @property
    def aborted(self) -> bool:
        """Whether the signal is set."""
        return self._signal.aborted

    async def within(self, seconds: float, act: Callable[[], Awaitable[T]]) -> T:
        """Return what `act` gives. Raises TimeoutError when the time is over, and Aborted."""
        with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
            self._scope = scope
            try:
                # It may have been set since anybody looked, in another thread.
                if self._signal.aborted:
                    raise Aborted
                return await act()
            finally:
                self._scope = None
        raise Aborted if self._signal.aborted else TimeoutError

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the signal is set."""
        with suppress(Aborted, TimeoutError):
            await self.within(seconds, anyio.sleep_forever)

    def limit(self, seconds: float) -> None:
        """Let the wait that is on take so long from now, whatever it was given before."""
        if self._scope is not None:
            self._scope.deadline = anyio.current_time() + seconds

    def _abort(self, reason: str | None) -> None:
        if self._home.is_here():
            self._cancel()
        else:
            self._home.soon(self._cancel)

    def _cancel(self) -> None:
        if self._scope is not None:
            self._scope.cancel()
