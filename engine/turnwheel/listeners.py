"""Who hears of events: a set that keeps its order, and that may change while it is walked through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

Listener = Callable[[Any], Any]


@final
class Listeners:
    """A walk through it skips who has left meanwhile, and reaches who has come meanwhile, last (as in Pi 0.80.2)."""

    def __init__(self) -> None:
        self._places: dict[Listener, int] = {}
        self._row: list[Listener | None] = []
        self._walks = 0

    def add(self, listener: Listener) -> None:
        """Add a listener at the end, unless it is there."""
        if listener not in self._places:
            self._places[listener] = len(self._row)
            self._row.append(listener)

    def remove(self, listener: Listener) -> None:
        """Remove a listener, if it is there."""
        place = self._places.pop(listener, None)
        if place is not None:
            self._row[place] = None
            self._tidy()

    def __iter__(self) -> Iterator[Listener]:
        self._walks += 1
        try:
            place = 0
            while place < len(self._row):
                listener = self._row[place]
                place += 1
                if listener is not None:
                    yield listener
        finally:
            self._walks -= 1
            self._tidy()

    def __len__(self) -> int:
        return len(self._places)

    def _tidy(self) -> None:
        """Close the gaps, unless a walk is on that counts on the places."""
        if not self._walks and len(self._row) != len(self._places):
            self._row = [listener for listener in self._row if listener is not None]
            self._places = {listener: place for place, listener in enumerate(self._row) if listener is not None}
