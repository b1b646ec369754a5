"""The answer of a model as a driver reads it: what counts as a stream of steps, and how it is let go of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from reprlib import repr as shortly
from typing import Any

import anyio

from turnwheel.awaiting import Cancellation
from turnwheel.errors import Misuse
from turnwheel.messages import AssistantMessage
from turnwheel.stream import Finished, StreamStep

CLOSING_SECONDS = 1.0
"""So long a stream may take to close; then the run goes on without it."""


def steps_of(said: Any) -> Iterator[StreamStep]:
    """Return the steps of a stream, which may be a list of them. Raises Misuse for what is none."""
    if hasattr(said, "__next__"):
        steps: Iterator[StreamStep] = said
        return steps
    if hasattr(said, "__iter__") and not isinstance(said, str | bytes | Mapping):
        return iter(said)
    raise Misuse(
        f"the stream function returned {shortly(said)}; return the steps of the answer (turnwheel.stream), "
        "an iterator or an async iterator"
    )


def any_steps_of(said: Any) -> Iterator[StreamStep] | AsyncIterator[StreamStep]:
    """Do as `steps_of`; the steps may be asynchronous."""
    if hasattr(said, "__anext__"):
        steps: AsyncIterator[StreamStep] = said
        return steps
    return aiter(said) if hasattr(said, "__aiter__") else steps_of(said)


def check_finished(step: Finished) -> None:
    """Raise Misuse where the last step of a stream carries no answer."""
    message: Any = step.message
    if not isinstance(message, AssistantMessage):
        raise Misuse(f"the model's stream ended with Finished({shortly(message)}); it takes an AssistantMessage")
    content: Any = message.content
    if isinstance(content, str) or not isinstance(content, Sequence):
        raise Misuse(
            f"the content of an answer is a list of blocks, such as [TextContent('…')], not {shortly(content)}"
        )


def let_go(steps: Any) -> None:
    """Close a stream; whoever serves it may have a connection to close."""
    # What closing raises neither spoils an answer that is whole, nor hides why it was given up.
    with suppress(Exception):
        if (close := getattr(steps, "close", None)) is not None:
            close()


async def let_go_of_any(steps: Any, cancellation: Cancellation) -> None:
    """Do as `let_go`; also for an asynchronous one; a cancellation that its closing runs into is suppressed."""
    if (aclose := getattr(steps, "aclose", None)) is None:
        let_go(steps)
        return
    with anyio.move_on_after(CLOSING_SECONDS, shield=True), suppress(Exception):
        await cancellation.apart(aclose())
