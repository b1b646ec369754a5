"""Writes the trace down, and aborts the run where the scenario says so."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

from tests.reference.shapes import Failed, Json


class Recording:
    """What every part of the world does when it is told or asked something; `lines` is the trace so far."""

    def __init__(self, abort: Json) -> None:
        """`abort` says when the run is aborted."""
        self.lines: list[Json] = []
        self.aborted: bool = abort.get("atStart", False)
        self._abort = abort
        self._counts: Counter[str] = Counter()

    def emit(self, kind: str, **fields: Any) -> None:
        """Take an event, as it is at this moment."""
        self.lines.append({"event": deepcopy({"type": kind, **fields})})
        if self._count("an event") == self._abort.get("onEvent"):
            self.set_aborted()

    def call(self, name: str, **fields: Any) -> int:
        """Record the call of a callback; return how often it was called before."""
        self.lines.append({"call": deepcopy({"name": name, **fields})})
        nth = self._count(name)
        if name == self._abort.get("onCall") and nth == self._abort.get("nth", 0):
            self.set_aborted()
        return nth

    def next(self, name: str, items: list[Any], **fields: Any) -> Any:
        """Record the call of a callback; return its item of a list, None beyond the end. Raises Failed."""
        nth = self.call(name, **fields)
        return checked(items[nth]) if nth < len(items) else None

    def set_aborted(self) -> None:
        """Abort the run, which does nothing but set the signal."""
        self.aborted = True

    def _count(self, what: str) -> int:
        self._counts[what] += 1
        return self._counts[what] - 1


def checked(said: Any) -> Any:
    """Return what a callback is to return. Raises Failed where it is to fail instead."""
    if isinstance(said, dict) and said.get("throws") is not None:
        raise Failed(said["throws"])
    return said
