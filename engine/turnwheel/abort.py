"""The abort signal: one flag that a run's listeners set and its ports look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import final


@final
class AbortSignal:
    """Says whether a run is to end. It is set once and stays set."""

    def __init__(self) -> None:
        self.aborted = False
        """Whether `abort` was called."""
        self.reason: str | None = None
        """What the first `abort` was given."""
        self._callbacks: list[Callable[[str | None], None]] = []

    def abort(self, reason: str | None = None) -> None:
        """Set the signal and tell all who subscribed; only the first call does anything.

        When all have been told, it raises what the first of them raised that did.
        """
        if self.aborted:
            return
        self.aborted = True
        self.reason = reason
        errors = []
        for callback in tuple(self._callbacks):
            try:
                callback(reason)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def subscribe(self, callback: Callable[[str | None], None]) -> Callable[[], None]:
        """Have `callback` called with the reason: at the abort, or now if the signal is set already.

        Returns the function that ends the subscription.
        """
        if self.aborted:
            callback(self.reason)
        self._callbacks.append(callback)

        def unsubscribe() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return unsubscribe

    def __bool__(self) -> bool:
        return self.aborted
