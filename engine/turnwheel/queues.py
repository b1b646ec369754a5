"""A queue of messages that wait to go into a run."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from reprlib import repr as shortly
from typing import Any, Literal, final, get_args

from turnwheel.errors import Misuse
from turnwheel.loadout import is_system
from turnwheel.messages import Message

QueueMode = Literal["one-at-a-time", "all"]
"""How much one poll takes. The mode may be changed at any time, also while a run is on."""


@final
class MessageQueue:
    """First in, first out; any thread may put messages in.

    What is taken out is remembered until it is `told`, or until more is taken: `put_back` undoes the taking.
    """

    def __init__(self, mode: QueueMode = "one-at-a-time") -> None:
        self.mode = mode
        self._messages: deque[Message] = deque()
        self._taken: list[Message] = []

    @property
    def mode(self) -> QueueMode:
        """How much `drain` takes. Setting raises Misuse for what is no mode."""
        return self._mode

    @mode.setter
    def mode(self, mode: QueueMode) -> None:
        given: Any = mode
        if given not in get_args(QueueMode):
            raise Misuse(f"a queue's mode is one of {', '.join(get_args(QueueMode))}, not {shortly(given)}")
        self._mode = mode

    def put(self, message: Message) -> None:
        """Add a message at the end."""
        self._messages.append(message)

    def drain(self) -> tuple[Message, ...]:
        """Take the first message, or all of them, as `mode` says."""
        there = len(self._messages)
        self._taken = []
        # Another thread may clear the queue meanwhile.
        with suppress(IndexError):
            self._taken.extend(self._messages.popleft() for _ in range(there if self.mode == "all" else min(there, 1)))
        return tuple(self._taken)

    def told(self, message: Message) -> None:
        """Note that a message that was taken, if it was, has gone into the transcript."""
        for place, taken in enumerate(self._taken):
            # On its way in, the loop may rewrite what a system message says of tools.
            if taken is message or (is_system(taken) and is_system(message)):
                del self._taken[place]
                return

    def put_back(self) -> None:
        """Put what was taken and not told back in front, in its order."""
        taken, self._taken = self._taken, []
        self._messages.extendleft(reversed(taken))

    def clear(self) -> None:
        """Forget all messages, those that were taken too."""
        self._messages.clear()
        self._taken = []

    def peek(self) -> tuple[Message, ...]:
        """Return what waits, without taking it."""
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)
