"""What a run says as the page shows it: blocks and messages, each of them kept once however often it was told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, final

from turnwheel.messages import (
    ABSENT,
    AssistantMessage,
    Content,
    CustomMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    UnknownContent,
    Usage,
)

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types of images that a page shows; of any other it only says that it is there."""


def pretty(value: Json) -> str:
    """Return a JSON value as text on several lines: what a page shows of it is text, whatever it holds."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str, skipkeys=True)


@final
class Pool:
    """Values that are kept once; each has a place."""

    def __init__(self) -> None:
        self.values: list[Json] = []
        self._places: dict[str, int] = {}

    def place(self, value: Json) -> int:
        """Return the place of a value, which it gets if it is new."""
        key = json.dumps(value)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.values)
            self.values.append(value)
        return found


@final
class Said:
    """All blocks and messages of a page."""

    def __init__(self) -> None:
        self.blocks = Pool()
        self.messages = Pool()

    def message(self, message: Message) -> int:
        """Return the place of a message."""
        return self.messages.place({"role": message.role, **self._told(message)})

    def content(self, content: Any) -> list[int]:
        """Return the places of the blocks of a message's content, whatever it is."""
        if content is None or content is ABSENT:
            return []
        if isinstance(content, str):
            return [self.blocks.place({"kind": "text", "text": content})]
        if not isinstance(content, Sequence):
            return [self.blocks.place({"kind": "json", "text": pretty(content)})]
        return [self.block(block) for block in content]

    def block(self, block: Content | Json) -> int:
        """Return the place of a block; what is none is shown as JSON."""
        return self.blocks.place(_block(block))

    def result(self, result: ToolResult) -> Json:
        """Return what a tool gave back."""
        terminate = {"terminate": True} if result.terminate is True else {}
        return {"blocks": self.content(result.content), **_details(result.details), **terminate}

    def _told(self, message: Message) -> dict[str, Json]:
        told: dict[str, Json] = {"blocks": self.content(message.content)}
        match message:
            case AssistantMessage():
                told |= {"stop": message.stop_reason, "model": message.model, "error": message.error_message}
                told |= {"usage": _usage(message.usage) if message.usage is not None else None}
            case ToolResultMessage():
                told |= {"tool": message.tool_name, "call": message.tool_call_id, "failed": message.is_error}
                told |= _details(message.details)
            case CustomMessage() if message.extra:
                told |= {"details": pretty(message.extra)}
        return {key: value for key, value in told.items() if value is not None}


def _details(details: Json) -> dict[str, Json]:
    return {} if details is ABSENT or details in (None, {}) else {"details": pretty(details)}


def _usage(usage: Usage) -> dict[str, Json]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "cost": usage.cost.total,
    }


def _block(block: Content | Json) -> dict[str, Json]:
    match block:
        case TextContent():
            return {"kind": "text", "text": block.text}
        case ThinkingContent():
            return {"kind": "thinking", "text": block.thinking, **({"redacted": True} if block.redacted else {})}
        case ToolCall():
            return {"kind": "call", "call": block.id, "tool": block.name, "text": pretty(block.arguments)}
        case ImageContent(mime_type=kind) if kind in IMAGES:
            return {"kind": "image", "type": kind, "data": block.data}
        case ImageContent():
            return {"kind": "note", "text": f"an image of the type {block.mime_type}, which is not shown"}
        case UnknownContent():
            return {"kind": "json", "text": pretty(block.data)}
    return {"kind": "json", "text": pretty(block)}
