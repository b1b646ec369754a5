"""The content of an answer as it arrives: blocks that grow, and the stream steps that tell of it. Linear in cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Literal, final

from attrs import define, evolve, field

from turnwheel.messages import (
    AssistantMessage,
    Content,
    Json,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from turnwheel.requests import ModelRequest
from turnwheel.stream import (
    Delta,
    Started,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.arguments import arguments_so_far, final_arguments
from turnwheel_adapters.apis.failures import Failure

ABORTED: Final = "Request was aborted"

TRUNCATED: Final = Failure(
    "protocol",
    "the answer ended before it was complete (stream_truncated): the server or something on the way closed the "
    "connection early; try again",
    retryable=True,
    code="stream_truncated",
)
"""The failure of a body that ends without its terminal mark."""


@define
class _Block:
    """One block. `seen` is how long the arguments were when they were last read for those who look on."""

    kind: Literal["text", "thinking", "call"]
    index: int
    pieces: list[str] = field(factory=list)
    length: int = 0
    id: str = ""
    name: str = ""
    signature: str | None = None
    redacted: bool = False
    extra: dict[str, Json] = field(factory=dict)
    whole: bool = False
    arguments: Json = None
    seen: int = 0

    @property
    def said(self) -> str:
        """All pieces in one."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@final
class Blocks:
    """The blocks of one answer, each under a key of the caller's. `take` gives the steps since it was last called."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Begin without a block; ids that are made up differ from those `taken`."""
        self._blocks: list[_Block] = []
        self._open: dict[Hashable, _Block] = {}
        self._steps: list[Started | Delta] = []
        self._taken = set(taken)

    def tell(self, step: Started) -> None:
        """Hand on the step that opens the answer."""
        self._steps.append(step)

    def take(self) -> list[Started | Delta]:
        """Return the steps that have not been handed out yet."""
        steps, self._steps = self._steps, []
        return steps

    def is_open(self, key: Hashable) -> bool:
        """Say whether the block of that key is there and not whole."""
        return key in self._open

    def text(self, key: Hashable, delta: str) -> None:
        """Append to a text, which this opens where there is none. An empty piece does nothing."""
        if delta:
            block = self._block(key, "text", TextStart)
            block.pieces.append(delta)
            self._steps.append(TextDelta(block.index, delta))

    def thinking(self, key: Hashable, delta: str) -> None:
        """Append to a thought, which this opens where there is none. An empty piece does nothing."""
        if delta:
            block = self._block(key, "thinking", ThinkingStart)
            block.pieces.append(delta)
            self._steps.append(ThinkingDelta(block.index, delta))

    def thought(self, key: Hashable, *, redacted: bool = False) -> None:
        """Open a thought that may stay without text, as one with a signature alone."""
        self._block(key, "thinking", ThinkingStart).redacted = redacted

    def call(self, key: Hashable, id_: str | None, name: str) -> None:
        """Open a call. An id that is missing or that another call has is made up."""
        block = _Block("call", len(self._blocks), id=self._unique(id_), name=name)
        self._blocks.append(block)
        self._open[key] = block
        self._steps.append(ToolCallStart(block.index, block.id, name))

    def arguments(self, key: Hashable, delta: str) -> None:
        """Append to the JSON text of an open call's arguments."""
        block = self._open[key]
        if not delta:
            return
        block.pieces.append(delta)
        block.length += len(delta)
        so_far = None
        # Read anew only when the text has grown by a fifth, so that all readings together cost what one long one does.
        if block.length >= block.seen + max(16, block.seen // 5):
            block.seen = block.length
            so_far = arguments_so_far(block.said)
        self._steps.append(ToolCallDelta(block.index, delta, so_far=so_far))

    def said(self, key: Hashable) -> str:
        """Return what an open block holds so far: its text, or the JSON text of its arguments."""
        return self._open[key].said

    def sign(self, key: Hashable, signature: str) -> None:
        """Append to the signature of an open block."""
        block = self._open[key]
        block.signature = (block.signature or "") + signature or None

    def seal(self, key: Hashable, signature: str) -> None:
        """Give an open block a signature that comes whole, in place of the one it may have; open a text if need be."""
        block = self._open.get(key) or self._block(key, "text", TextStart)
        block.signature = signature

    def note(self, key: Hashable, name: str, value: Json) -> None:
        """Keep something beside an open block, under its JSON name."""
        self._open[key].extra[name] = value

    def close(self, key: Hashable, arguments: Json = None) -> None:
        """Say that a block is whole. `arguments`: a call's, where the API gives an object and not its text."""
        block = self._open.pop(key, None)
        if block is None:
            return
        block.whole = True
        if block.kind == "call":
            _read_arguments(block, arguments)
        self._steps.append(_END[block.kind](block))

    def close_said(self) -> None:
        """Say that all open texts and thoughts are whole: nothing more comes of them."""
        for key, block in tuple(self._open.items()):
            if block.kind != "call":
                self.close(key)

    def close_all(self) -> None:
        """Say that all open blocks are whole."""
        for key in tuple(self._open):
            self.close(key)

    def content(self) -> tuple[Content, ...]:
        """Return the blocks in their order, without empty ones and without calls that are not whole."""
        return tuple(_content(block) for block in self._blocks if _counts(block))

    def _block(self, key: Hashable, kind: Literal["text", "thinking"], start: Callable[[int], Delta]) -> _Block:
        block = self._open.get(key)
        if block is None:
            block = self._open[key] = _Block(kind, len(self._blocks))
            self._blocks.append(block)
            self._steps.append(start(block.index))
        return block

    def _unique(self, id_: str | None) -> str:
        number = len(self._taken)
        while not id_ or id_ in self._taken:
            number += 1
            id_ = f"call_{number}"
        self._taken.add(id_)
        return id_


def _read_arguments(block: _Block, arguments: Json) -> None:
    if arguments is not None:
        block.arguments = arguments
        return
    block.arguments, error = final_arguments(block.said)
    if error is not None:
        block.extra["argumentsError"] = error


def _counts(block: _Block) -> bool:
    if block.kind == "call":
        return block.whole
    return bool(block.said or block.signature)


def _content(block: _Block) -> Content:
    if block.kind == "text":
        return TextContent(block.said, block.signature, extra=block.extra)
    if block.kind == "thinking":
        return ThinkingContent(block.said, block.signature, block.redacted or None, extra=block.extra)
    return _call(block)


def _call(block: _Block) -> ToolCall:
    return ToolCall(block.id, block.name, block.arguments, block.signature, extra=block.extra)


_END: Final[dict[str, Callable[[_Block], Delta]]] = {
    "text": lambda block: TextEnd(block.index),
    "thinking": lambda block: ThinkingEnd(block.index),
    "call": lambda block: ToolCallEnd(block.index, _call(block)),
}


# --- the message --------------------------------------------------------------------------------------------------


def frame_of(target: Target) -> AssistantMessage:
    """Return the message that an answer of that target starts from."""
    return AssistantMessage(api=target.api, provider=target.provider, model=target.model, usage=Usage())


def ids_in(request: ModelRequest) -> list[str]:
    """Return the ids of all calls that the request tells of."""
    return [
        call.id for message in request.messages if isinstance(message, AssistantMessage) for call in message.tool_calls
    ]


def failed(message: AssistantMessage, failure: Failure) -> AssistantMessage:
    """Return the message as the error that a failure makes of it. Calls whose arguments cannot be read are left out."""
    content = [block for block in message.content if "argumentsError" not in getattr(block, "extra", ())]
    return evolve(
        message,
        content=tuple(content),
        stop_reason="error",
        error_message=failure.text,
        extra={**message.extra, "failure": failure.to_json()},
    )


def ended(
    message: AssistantMessage, stop: StopReason, *, finished: bool, failure: Failure | None, aborted: bool
) -> AssistantMessage:
    """Return the message as it is at the end of an answer: aborted, failed, or whole.

    One that is not finished is truncated. Calls make a stop toolUse, and without a call toolUse is a stop.
    """
    if aborted:
        return evolve(message, stop_reason="aborted", error_message=ABORTED)
    if failure is None and not finished:
        failure = TRUNCATED
    if failure is not None:
        return failed(message, failure)
    if stop in ("stop", "toolUse"):
        stop = "toolUse" if message.tool_calls else "stop"
    return evolve(message, stop_reason=stop)


def usage(input_: int = 0, output: int = 0, cache_read: int = 0, cache_write: int = 0) -> Usage:
    """Return a usage in tokens; `input_` may come with cached tokens taken off twice, and never goes below 0."""
    fresh = max(0, input_)
    return Usage(fresh, output, cache_read, cache_write, total_tokens=fresh + output + cache_read + cache_write)


def tokens(data: Json, *path: str) -> int:
    """Return the whole number at a path of a usage object, 0 where there is none."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data if type(data) is int else 0
