"""The border to a model: the request that leaves, and the shape of whatever answers it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Protocol, final

from attrs import field

from turnwheel.abort import AbortSignal
from turnwheel.messages import Message
from turnwheel.stream import StreamStep
from turnwheel.tool import Tool
from turnwheel.values import value

Steps = Iterator[StreamStep] | AsyncIterator[StreamStep]
"""An answer as it arrives: any number of steps, and last Finished."""


@final
@value
class ModelRequest:
    """What a model is asked, once a turn. `messages` holds only what a model understands."""

    model: str
    thinking_level: str = "off"
    system_prompt: str = ""
    messages: Sequence[Message] = ()
    tools: Sequence[Tool] = ()
    api_key: str | None = field(default=None, repr=False)


class Stream(Protocol):
    """Whoever answers requests: a provider, a script, a set of rules."""

    def __call__(self, request: ModelRequest, signal: AbortSignal, /) -> Steps | Awaitable[Steps]:
        """Begin to answer.

        A failure of the provider is a Finished message with stop reason error, and an abort one with stop reason
        aborted. What is raised instead fails the run.
        """
