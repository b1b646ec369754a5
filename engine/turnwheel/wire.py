"""attrs classes to and from Pi's camelCase JSON, without loss.

Reading is strict: no value is turned into one of another type, and what does not fit is a ParseError that says where.
Tagged by `role` (messages) or `type` (all other unions). JSON values inside (arguments, details, extra keys) are
passed on as they are, not copied. A key that Pi always writes and that has a default (`stopReason`, `isError`, an
answer's `content`, …) may be missing and is written; the keys of usage and cost that were missing stay so.
Keys that turnwheel does not know survive in `extra`, as does a null where absence is None; events, effects and outcomes
are turnwheel's own words, so unknown keys of theirs are dropped. Source: the JSON of Pi 0.80.2 to 0.85.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, cast

from attrs import evolve, frozen
from cattrs import Converter

from turnwheel.effects import Effect
from turnwheel.events import Event, MessageUpdate
from turnwheel.messages import (
    ABSENT,
    AssistantMessage,
    Content,
    CustomMessage,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResult,
    UnknownContent,
    Usage,
)
from turnwheel.outcomes import Outcome
from turnwheel.shapes import new_converter, read, writes_class
from turnwheel.stream import (
    Delta,
    Finished,
    Partial,
    Started,
    StreamStep,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from turnwheel.tool import Tool
from turnwheel.transcript import Transcript

# --- the public side ----------------------------------------------------------------------------------------------


def to_json(value: object) -> Json:
    """Return the JSON of anything that is told here or is made of it, and of a sequence of such things."""
    return _converter().unstructure(value)


def event_to_json(event: Event, *, partials: bool = True) -> Json:
    """Return the JSON of `event`.

    Without `partials`, a message_update shows its step only and not what the message has become, so that the output
    of a run grows linearly; its step then also carries what Pi lets a reader find in the partial (a call's id, name).
    """
    if partials or not isinstance(event, MessageUpdate):
        return to_json(event)
    return {"type": event.type, "assistantMessageEvent": to_json(event.step)}


def read_content(data: Json, path: str = "") -> Content:
    """Read one block of content; `path` says where `data` was, for the ParseError that this may raise."""
    return cast(Content, read(_converter(), Content, data, path))


def read_message(data: Json, path: str = "") -> Message:
    """Read a message of any role; raise ParseError."""
    return cast(Message, read(_converter(), Message, data, path))


def read_usage(data: Json, path: str = "") -> Usage:
    """Read the usage of an answer; raise ParseError."""
    return cast(Usage, read(_converter(), Usage, data, path))


def read_result(data: Json, path: str = "") -> ToolResult:
    """Read what a tool gave back; raise ParseError."""
    return cast(ToolResult, read(_converter(), ToolResult, data, path))


def read_tool(data: Json, path: str = "") -> Tool:
    """Read the description of a tool, which has no `run`; raise ParseError."""
    return cast(Tool, read(_converter(), Tool, data, path))


def read_step(data: Json, path: str = "") -> StreamStep:
    """Read a step of a model's answer; raise ParseError."""
    return cast(StreamStep, read(_converter(), StreamStep, data, path))


def read_event(data: Json, path: str = "") -> Event:
    """Read an event; raise ParseError. A message_update has the partial that was written with it, or an empty one."""
    return cast(Event, read(_converter(), Event, data, path))


def read_effect(data: Json, path: str = "") -> Effect:
    """Read an effect, its tools without `run`; raise ParseError."""
    return cast(Effect, read(_converter(), Effect, data, path))


def read_outcome(data: Json, path: str = "") -> Outcome:
    """Read an outcome, which may be a step of an answer; raise ParseError."""
    return cast(Outcome, read(_converter(), Outcome, data, path))


# --- what the general rules do not cover --------------------------------------------------------------------------


@cache
def _converter() -> Converter:
    converter = new_converter()
    converter.register_unstructure_hook(Transcript, lambda messages: [to_json(message) for message in messages])
    messages: Any = Sequence[Message]
    converter.register_structure_hook(Transcript, lambda data, _: Transcript(converter.structure(data, messages)))
    converter.register_unstructure_hook(UnknownContent, lambda block: dict(block.data))
    converter.register_structure_hook(UnknownContent, lambda data, _: UnknownContent(data))
    converter.register_structure_hook(CustomMessage, _read_custom)
    converter.register_unstructure_hook(MessageUpdate, _update_in_full)
    converter.register_structure_hook(MessageUpdate, _read_update)
    finished = writes_class(Finished, converter)
    converter.register_unstructure_hook(Finished, lambda step: finished(step) | {"type": _ending(step.message)})
    return converter


def _ending(message: AssistantMessage) -> str:
    return "error" if message.stop_reason in ("error", "aborted") else "done"


def _read_custom(data: dict[str, Json], _: Any) -> CustomMessage:
    """Read a message that is somebody's data: whatever it has, it has a right to. Its role is known to be a string."""
    extra = {name: value for name, value in data.items() if name not in ("role", "content")}
    timestamp = extra.pop("timestamp") if type(extra.get("timestamp")) is int else None
    return CustomMessage(data["role"], data.get("content", ABSENT), timestamp, extra=extra)


@frozen
class _Update:
    """A message_update as it is in JSON, in so far as it is read."""

    type: ClassVar[str] = "message_update"
    assistant_message_event: Delta
    message: AssistantMessage | None = None


def _read_update(data: Json, _: Any) -> MessageUpdate:
    update = _converter().structure(data, _Update)
    step, message = update.assistant_message_event, update.message
    if message is None:
        return MessageUpdate(step, Partial([]), 0)
    block = _block(message, step.content_index)
    if isinstance(step, ToolCallStart) and isinstance(block, ToolCall):
        step = evolve(step, id=block.id, name=block.name)
    return MessageUpdate(step, Partial([Started(message)]), 1)


def _block(message: AssistantMessage, index: int) -> Content | None:
    return message.content[index] if 0 <= index < len(message.content) else None


def _update_in_full(update: MessageUpdate) -> Json:
    """Return Pi's form: the step, what its block holds when it is whole, and twice the partial."""
    step, message = update.step, update.message
    shown = to_json(message)
    event: dict[str, Json] = {"type": step.type, "contentIndex": step.content_index}
    match step, _block(message, step.content_index):
        case ((TextDelta(delta=delta) | ThinkingDelta(delta=delta) | ToolCallDelta(delta=delta)), _):
            event["delta"] = delta
        case TextEnd(), TextContent(text=text):
            event["content"] = text
        case ThinkingEnd(), ThinkingContent(thinking=text):
            event["content"] = text
        case ToolCallEnd(), ToolCall():
            event["toolCall"] = shown["content"][step.content_index]
    event["partial"] = shown
    return {"type": update.type, "message": shown, "assistantMessageEvent": event}
