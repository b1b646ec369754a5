"""What a trace of a story shows of messages and events."""

from __future__ import annotations

from typing import Any, Final

from turnwheel.events import Event, MessageUpdate
from turnwheel.messages import Json, Message
from turnwheel.wire import to_json

Line = dict[str, Json]

DROPPED: Final = {"timestamp", "durationMs", "api", "provider", "model"}
SEEN: Final = ("role", "content", "toolCallId", "toolName", "isError")


def bare(value: object) -> Any:
    """Return the JSON without what differs from run to run."""
    line = to_json(value)
    return {name: item for name, item in line.items() if name not in DROPPED}


def seen(message: Message) -> Line:
    """Return what a model is shown of a message."""
    line = to_json(message)
    return {name: line[name] for name in SEEN if name in line}


def event_line(event: Event) -> Line:
    """Return an event as a trace shows it."""
    if isinstance(event, MessageUpdate):
        step = event.step
        delta = {"delta": step.delta} if hasattr(step, "delta") else {}
        told = {"type": step.type, "contentIndex": step.content_index, **delta}
        return {"type": event.type, "message": bare(event.message), "assistantMessageEvent": told}
    line: Line = to_json(event)
    for name in ("message", "messages", "toolResults"):
        if name in line:
            told = getattr(event, "tool_results" if name == "toolResults" else name)
            line[name] = bare(told) if name == "message" else [bare(message) for message in told]
    return line
