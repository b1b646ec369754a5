"""The steps in which a model's answer arrives, and the partial message that they add up to.

A stream is: steps, then `Finished`. A `Started` step announces the message; each later one changes one block, the one
at `content_index`. Steps may come before `Started`, or without one: they count, but no observer sees them.
Source: the assistant message events of Pi 0.80.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, final

from attrs import evolve

from turnwheel.messages import AssistantMessage, Content, Json, TextContent, ThinkingContent, ToolCall
from turnwheel.values import value

FRAME = AssistantMessage()
"""The message that an answer starts from where nothing is known of it."""

NOTHING_OPENED: tuple[Content, ...] = ()


@final
@value
class Started:
    """The answer begins. `message` is its frame (provider, model, …); blocks come from the steps."""

    type: ClassVar[str] = "start"
    message: AssistantMessage = FRAME
    at: int | None = None


@final
@value
class TextStart:
    """An empty text block begins."""

    type: ClassVar[str] = "text_start"
    content_index: int = 0
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class TextDelta:
    """Text is appended. `opened` (here and in the other steps): blocks that begin with this step unannounced."""

    type: ClassVar[str] = "text_delta"
    content_index: int = 0
    delta: str = ""
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class TextEnd:
    """A text block is whole."""

    type: ClassVar[str] = "text_end"
    content_index: int = 0
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class ThinkingStart:
    """An empty thinking block begins."""

    type: ClassVar[str] = "thinking_start"
    content_index: int = 0
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class ThinkingDelta:
    """Thinking is appended."""

    type: ClassVar[str] = "thinking_delta"
    content_index: int = 0
    delta: str = ""
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class ThinkingEnd:
    """A thinking block is whole."""

    type: ClassVar[str] = "thinking_end"
    content_index: int = 0
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class ToolCallStart:
    """A tool call begins; its arguments are still to come."""

    type: ClassVar[str] = "toolcall_start"
    content_index: int = 0
    id: str = ""
    name: str = ""
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class ToolCallDelta:
    """A piece of the arguments' JSON text.

    `so_far` is what can be told of the arguments by now, or None: to look at, never to be acted upon.
    """

    type: ClassVar[str] = "toolcall_delta"
    content_index: int = 0
    delta: str = ""
    opened: Sequence[Content] = NOTHING_OPENED
    so_far: Json = None


@final
@value
class ToolCallEnd:
    """A tool call is whole: `tool_call` takes the place of the block."""

    type: ClassVar[str] = "toolcall_end"
    content_index: int = 0
    tool_call: ToolCall | None = None
    opened: Sequence[Content] = NOTHING_OPENED


@final
@value
class Finished:
    """The answer is over: `message` is final. Also when it failed or was cut off: its stop reason says so."""

    type: ClassVar[str] = "done"
    message: AssistantMessage
    at: int | None = None


@final
@value
class Retry:
    """The request failed before any of the answer arrived, and is sent again after `delay_ms` milliseconds.

    It counts as no step of the answer: the machine passes over it, and those who look on (on_outcome) see it. `attempt`
    is the number of the one that failed, from 1 on, of `most`; `kind` and `text` say why.
    """

    type: ClassVar[str] = "retry"
    attempt: int
    most: int
    delay_ms: int
    kind: str = ""
    text: str = ""


Delta = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)
"""A step that changes one block."""

StreamStep = Started | Delta | Retry | Finished
"""Whatever a model port yields."""


class Partial:
    """The message as it stands after some of the steps of one answer.

    The machine only appends steps to a list; a partial is built when somebody reads it, and goes on from the place
    where the last reading stopped. Reading every partial of a long answer is quadratic by nature, reading none is free.
    """

    __slots__ = ("_blocks", "_folded", "_frame", "_steps", "_texts")

    def __init__(self, steps: list[Delta | Started]) -> None:
        self._steps = steps
        self._begin_again()

    def _begin_again(self) -> None:
        self._folded = 0
        self._frame = FRAME
        self._blocks: list[Content | None] = []
        self._texts: dict[int, list[str]] = {}

    def after(self, count: int) -> AssistantMessage:
        """Return the message as it was after the first `count` steps."""
        if count < self._folded:
            self._begin_again()
        for step in self._steps[self._folded : count]:
            _FOLD[type(step)](self, step)
        self._folded = count
        if not self._blocks:
            return self._frame
        return evolve(self._frame, content=tuple(self._block(index) for index in range(len(self._blocks))))

    def _block(self, index: int) -> Content:
        block = self._blocks[index]
        pieces = self._texts.get(index)
        if pieces and len(pieces) > 1:
            pieces[:] = ["".join(pieces)]
        if isinstance(block, TextContent) and pieces:
            return evolve(block, text=pieces[0])
        if isinstance(block, ThinkingContent) and pieces:
            return evolve(block, thinking=pieces[0])
        assert block is not None
        return block

    def _started(self, step: Started) -> None:
        self._frame = step.message
        if step.message.content and not self._blocks:
            self._blocks = list(step.message.content)
            self._texts = {}

    def _put(self, index: int, block: Content) -> None:
        while len(self._blocks) <= index:
            self._blocks.append(block)
        self._blocks[index] = block
        self._texts.pop(index, None)

    def _open(self, step: Delta, block: Content) -> None:
        """Let the step's block exist: from what the step says it opens, else as `block`."""
        for extra in step.opened:
            self._blocks.append(extra)
        if len(self._blocks) <= step.content_index:
            self._put(step.content_index, block)

    def _append(self, step: TextDelta | ThinkingDelta, block: Content) -> None:
        self._open(step, block)
        index = step.content_index
        pieces = self._texts.get(index)
        if pieces is None:
            there = self._blocks[index]
            said = there.text if isinstance(there, TextContent) else getattr(there, "thinking", "")
            pieces = self._texts[index] = [said]
        pieces.append(step.delta)


def _starts(make: Callable[[Delta], Content]) -> Callable[[Partial, Delta], None]:
    def fold(partial: Partial, step: Delta) -> None:
        for extra in step.opened:
            partial._blocks.append(extra)
        partial._put(step.content_index, make(step))

    return fold


def _call_grew(partial: Partial, step: ToolCallDelta) -> None:
    partial._open(step, ToolCall("", ""))
    block = partial._blocks[step.content_index]
    if step.so_far is not None and isinstance(block, ToolCall):
        partial._put(step.content_index, evolve(block, arguments=step.so_far))


def _call_ended(partial: Partial, step: ToolCallEnd) -> None:
    partial._open(step, step.tool_call or ToolCall("", ""))
    if step.tool_call is not None:
        partial._put(step.content_index, step.tool_call)


_FOLD: dict[type, Callable[..., None]] = {
    Started: Partial._started,
    TextStart: _starts(lambda _: TextContent("")),
    TextDelta: lambda partial, step: partial._append(step, TextContent("")),
    TextEnd: lambda partial, step: partial._open(step, TextContent("")),
    ThinkingStart: _starts(lambda _: ThinkingContent("")),
    ThinkingDelta: lambda partial, step: partial._append(step, ThinkingContent("")),
    ThinkingEnd: lambda partial, step: partial._open(step, ThinkingContent("")),
    ToolCallStart: _starts(lambda step: ToolCall(getattr(step, "id", ""), getattr(step, "name", ""))),
    ToolCallDelta: _call_grew,
    ToolCallEnd: _call_ended,
}
