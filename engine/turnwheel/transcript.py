"""A list of messages that is shared, not copied: appending gives a new one in O(1) and leaves the old one as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, final, overload

from turnwheel.messages import Message


@final
class Transcript(Sequence[Message]):
    """An immutable sequence of messages over an append-only list.

    Many transcripts may stand on one list, each with its own length. Only the longest of them appends in place; any
    other one first copies the part that it shows. So a run that only goes forwards never copies its history, and a
    snapshot of it costs nothing.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._items: list[Message] = list(messages)
        self._length = len(self._items)

    def appended(self, *messages: Message) -> Transcript:
        """Return this transcript with `messages` behind it."""
        items = self._items
        if len(items) != self._length:
            items = items[: self._length]
        items.extend(messages)
        longer = Transcript.__new__(Transcript)
        longer._items = items
        longer._length = len(items)
        return longer

    def extends(self, earlier: Transcript) -> bool:
        """Say whether this is `earlier` with more behind it, known without comparing (False may be a mere unknown)."""
        return self._items is earlier._items and self._length >= earlier._length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step > 0:
                return self._items[start:stop:step]
            return self._items[: self._length][index]
        if not -self._length <= index < self._length:
            raise IndexError(f"transcript index {index} out of range, length {self._length}")
        return self._items[index if index >= 0 else index + self._length]

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Transcript):
            return NotImplemented
        return self._length == other._length and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        roles = ", ".join(message.role for message in self[-3:])
        return f"<Transcript of {self._length}: {'…, ' if self._length > 3 else ''}{roles}>"


def transcript(messages: Iterable[Message]) -> Transcript:
    """Return messages as a transcript; one that is a transcript already stays itself."""
    return messages if isinstance(messages, Transcript) else Transcript(messages)
