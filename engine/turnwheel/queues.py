"""A queue of messages that wait to go into a run."""

from __future__ import annotations

from collections import deque
from typing import Literal, final

from turnwheel.messages import Message

QueueMode = Literal["one-at-a-time", "all"]
"""How much one poll takes. The mode may be changed at any time, also while a run is on."""


@final
class MessageQueue:
    """First in, first out."""

    def __init__(self, mode: QueueMode = "one-at-a-time") -> None:
        self.mode: QueueMode = mode
        """How much `drain` takes."""
        self._messages: deque[Message] = deque()

    def put(self, message: Message) -> None:
        """Add a message at the end."""
        self._messages.append(message)

    def drain(self) -> tuple[Message, ...]:
        """Take the first message, or all of them, as `mode` says."""
        if self.mode == "all":
            taken = tuple(self._messages)
            self._messages.clear()
            return taken
        return (self._messages.popleft(),) if self._messages else ()

    def clear(self) -> None:
        """Forget all messages."""
        self._messages.clear()

    def peek(self) -> tuple[Message, ...]:
        """Return what waits, without taking it."""
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)
