"""A model that says what a script tells it to, step by step, in the scenario format's words for model answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, final

from attrs import evolve, field, frozen
from attrs.validators import instance_of

from turnwheel.abort import AbortSignal
from turnwheel.effects import CallModel
from turnwheel.errors import Misuse
from turnwheel.messages import (
    AssistantMessage,
    Content,
    Json,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    UnknownContent,
    Usage,
)
from turnwheel.requests import ModelRequest
from turnwheel.stream import (
    Delta,
    Finished,
    Partial,
    Started,
    StreamStep,
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

OnAbort = Literal["aborted", "ignore"]
"""What the model does once the run is aborted: end its answer as aborted, or go on as scripted."""

StepType = Literal[
    "start",
    "text_start",
    "text_delta",
    "text_end",
    "thinking_start",
    "thinking_delta",
    "thinking_end",
    "toolcall_start",
    "toolcall_delta",
    "toolcall_end",
    "done",
    "error",
    "throw",
]

ABORTED = "Request was aborted"
EXHAUSTED = "script exhausted"


@final
@frozen
class ScriptedCall:
    """A tool call, in short. Raises TypeError where id or name is no text."""

    id: str = field(validator=instance_of(str))
    name: str = field(validator=instance_of(str))
    arguments: Json = field(factory=dict)


@final
@frozen
class ScriptedStep:
    """One step of a stream, said explicitly. `throw` lets reading the stream fail with `message`."""

    type: StepType
    content_index: int = 0
    delta: str = ""
    message: str = ""


@final
@frozen
class ScriptedAnswer:
    """One answer: a whole `message`, or short the blocks that make it; and how it is streamed.

    `deltas` is the number of pieces for each block, or the steps themselves. `start` False streams without a start
    step, `end` none without a done step. `throws` lets the call itself fail.
    """

    message: Mapping[str, Json] | None = None
    thinking: str | None = None
    text: str | None = None
    tool_calls: Sequence[ScriptedCall] | None = None
    error: str | None = None
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    start: bool = True
    end: Literal["done", "none"] = "done"
    deltas: int | Sequence[ScriptedStep] = 0
    on_abort: OnAbort | None = None
    throws: str | None = None

    def final(self) -> AssistantMessage:
        """Return the message that the answer ends with. Raises ParseError if `message` is none."""
        if self.message is not None:
            return self._whole(self.message)
        blocks: list[Content] = []
        if self.thinking is not None:
            blocks.append(ThinkingContent(self.thinking))
        if self.text is not None:
            blocks.append(TextContent(self.text))
        blocks.extend(ToolCall(call.id, call.name, call.arguments) for call in self.tool_calls or ())
        return AssistantMessage(tuple(blocks), self._why(None, blocks), usage=self.usage, error_message=self.error)

    def _whole(self, message: Mapping[str, Json]) -> AssistantMessage:
        from turnwheel.wire import read_message

        content = message.get("content", [])
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        read = read_message({**message, "role": "assistant", "content": content}, "message")
        assert isinstance(read, AssistantMessage)
        given = read.stop_reason if "stopReason" in message else None
        return evolve(
            read,
            stop_reason=self._why(given, read.content),
            error_message=self.error if self.error is not None else read.error_message,
            usage=self.usage if self.usage is not None else read.usage,
            omitted=frozenset(),
        )

    def _why(self, given: StopReason | None, blocks: Sequence[Content]) -> StopReason:
        if self.stop_reason is not None or given is not None:
            return self.stop_reason or given or "stop"
        if self.error is not None:
            return "error"
        return "toolUse" if any(isinstance(block, ToolCall) for block in blocks) else "stop"

    def steps(self, final: AssistantMessage) -> list[ScriptedStep]:
        """Return the steps in which the answer arrives."""
        if not isinstance(self.deltas, int):
            return list(self.deltas)
        steps = [ScriptedStep("start")] if self.start else []
        if self.start and self.deltas > 0:
            for index, block in enumerate(final.content):
                steps.extend(_pieces(index, block, self.deltas))
        if self.end == "done":
            steps.append(ScriptedStep("done"))
        return steps


def _pieces(index: int, block: Content, count: int) -> list[ScriptedStep]:
    """Cut one block into `count` deltas; the arguments of a call are one delta whatever the count."""
    match block:
        case TextContent(text=text):
            return [
                ScriptedStep("text_start", index),
                *(ScriptedStep("text_delta", index, piece) for piece in _cut(text, count)),
                ScriptedStep("text_end", index),
            ]
        case ThinkingContent(thinking=text):
            return [
                ScriptedStep("thinking_start", index),
                *(ScriptedStep("thinking_delta", index, piece) for piece in _cut(text, count)),
                ScriptedStep("thinking_end", index),
            ]
        case ToolCall(arguments=arguments):
            text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
            return [
                ScriptedStep("toolcall_start", index),
                ScriptedStep("toolcall_delta", index, text),
                ScriptedStep("toolcall_end", index),
            ]
    return []


def _cut(text: str, count: int) -> list[str]:
    return [text[j * len(text) // count : (j + 1) * len(text) // count] for j in range(count)]


@final
class ScriptedModel:
    """The n-th call gets the n-th answer; calls beyond the script get the error "script exhausted".

    It is a port of the sync driver's host, and, called, a stream for the Agent.
    """

    def __init__(
        self, answers: Sequence[ScriptedAnswer], *, signal: AbortSignal | None = None, on_abort: OnAbort = "aborted"
    ) -> None:
        for answer in answers:
            if not isinstance(answer, ScriptedAnswer):
                raise Misuse(f"expected a ScriptedAnswer, got {answer!r}; ScriptedAnswer(text=…) says a text")
        self._answers = answers
        self._signal = signal if signal is not None else AbortSignal()
        self._on_abort = on_abort
        self.calls = 0
        """How many calls there were."""

    def call_model(self, effect: CallModel) -> Iterator[StreamStep]:
        """Answer the next call. Raises RuntimeError where the script says that the call fails."""
        return self._answer(self._signal)

    def __call__(self, request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
        """Answer the next call, looking at the `signal` of the run that it belongs to. Raises as `call_model`."""
        return self._answer(signal)

    def _answer(self, signal: AbortSignal) -> Iterator[StreamStep]:
        exhausted = ScriptedAnswer(error=EXHAUSTED, start=False)
        answer = self._answers[self.calls] if self.calls < len(self._answers) else exhausted
        self.calls += 1
        if answer.throws is not None:
            raise RuntimeError(answer.throws)
        return self._stream(answer, signal)

    def _stream(self, answer: ScriptedAnswer, signal: AbortSignal) -> Iterator[StreamStep]:
        final = answer.final()
        ignores = (answer.on_abort or self._on_abort) == "ignore"
        told: list[Delta | Started] = []
        known = 0
        for scripted in answer.steps(final):
            if signal.aborted and not ignores:
                break
            if scripted.type == "throw":
                raise RuntimeError(scripted.message)
            if scripted.type in ("done", "error"):
                yield Finished(final)
                return
            step = _step(scripted, final, known)
            known = max(known, scripted.content_index + 1) if scripted.type != "start" else known
            told.append(step)
            yield step
        if signal.aborted and not ignores:
            partial = Partial(told).after(len(told))
            yield Finished(evolve(partial, stop_reason="aborted", error_message=ABORTED))
        else:
            yield Finished(final)


def _step(scripted: ScriptedStep, final: AssistantMessage, known: int) -> Delta | Started:
    """Return the step as the loop gets it; `known` blocks exist before it, and those that are missing open with it."""
    index, kind = scripted.content_index, scripted.type
    if kind == "start":
        return Started()
    starts = kind.endswith("_start")
    opened = tuple(_empty(kind, at, final) for at in range(known, index if starts else index + 1))
    there = final.content[index] if index < len(final.content) else None
    call = there if isinstance(there, ToolCall) else None
    match kind:
        case "text_start":
            return TextStart(index, opened)
        case "text_delta":
            return TextDelta(index, scripted.delta, opened)
        case "text_end":
            return TextEnd(index, opened)
        case "thinking_start":
            return ThinkingStart(index, opened)
        case "thinking_delta":
            return ThinkingDelta(index, scripted.delta, opened)
        case "thinking_end":
            return ThinkingEnd(index, opened)
        case "toolcall_start":
            return ToolCallStart(index, call.id if call else "", call.name if call else "", opened)
        case "toolcall_delta":
            return ToolCallDelta(index, scripted.delta, opened)
    return ToolCallEnd(index, call, opened)


def _empty(kind: str, index: int, final: AssistantMessage) -> Content:
    """Return the block as its start would put it there."""
    if kind.startswith("text"):
        return TextContent("")
    if kind.startswith("thinking"):
        return ThinkingContent("")
    there = final.content[index] if index < len(final.content) else None
    if isinstance(there, ToolCall):
        return ToolCall(there.id, there.name)
    return UnknownContent({"type": "toolCall", "arguments": {}})
