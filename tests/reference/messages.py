"""What a scenario says of messages and content, spelled out, and what a trace shows of them."""

from __future__ import annotations

from typing import Any

from tests.reference.loadout import TOOL_FIELDS
from tests.reference.shapes import Json, Turn, is_system, roles


def text(said: str) -> list[Json]:
    """Return content that is one text block."""
    return [{"type": "text", "text": said}]


def content_of(said: Json, default: Any) -> Any:
    """Return the content that `text` or `content` give."""
    return text(said["text"]) if said.get("text") is not None else said.get("content", default)


def messages_of(said: list[Any] | None) -> list[Json]:
    """Return messages with the short ones spelled out."""
    return [{"role": "user", "content": text(one)} if isinstance(one, str) else one for one in said or []]


def edited(messages: list[Json], edit: Any) -> list[Json]:
    """Return a new list of messages: those of a given list, or the old ones as edited. System messages stay."""
    if isinstance(edit, list):
        return messages_of(edit)
    edit = edit or {}
    movable = [at for at, message in enumerate(messages) if not is_system(message)][edit.get("dropFirst") or 0 :]
    if edit.get("keepLast") is not None:
        movable = movable[max(0, len(movable) - edit["keepLast"]) :]
    left = [message for at, message in enumerate(messages) if is_system(message) or at in movable]
    return left + messages_of(edit.get("append"))


def converted(messages: list[Json], how: str, standard: tuple[str, ...]) -> list[Json]:
    """Return the messages as a model gets them."""
    if how == "identity":
        return messages
    if how == "default":
        return [message for message in messages if message["role"] in standard]
    return [message if message["role"] in standard else {**message, "role": "user"} for message in messages]


def seen(message: Json, *, loadouts: bool) -> Json:
    """Return what a trace shows of a message that a model gets; `loadouts`: system messages carry tools."""
    shown = ["role", "content"]
    if message["role"] == "toolResult":
        shown += ["toolCallId", "toolName", "isError"]
    line = {key: message[key] for key in shown if key in message}
    if loadouts and is_system(message):
        line |= {key: [tool["name"] for tool in message[key]] for key in TOOL_FIELDS if key in message}
    return line


def told_of(turn: Turn) -> Json:
    """Return what a trace shows of a finished turn that a hook is called with."""
    return {
        "stopReason": turn.message["stopReason"],
        "toolResults": [result["toolCallId"] for result in turn.results],
        "context": roles(turn.context.messages),
        "newMessages": roles(turn.new_messages),
    }
