"""What the loop and the world hand to each other; messages, events and tools are JSON data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
"""A JSON object."""


class Failed(Exception):
    """A callback, the model or a tool failed, with this text."""


@dataclass
class Context:
    """What a model call starts from. The loop appends to `messages`."""

    system_prompt: str
    messages: list[Json]
    tools: list[Json]

    def tool(self, name: str) -> Json | None:
        """Return the first tool of that name, or None."""
        return next((tool for tool in self.tools if tool["name"] == name), None)


@dataclass(frozen=True)
class Turn:
    """A finished turn. `more`: its tool calls ask for another one."""

    message: Json
    results: list[Json]
    context: Context
    new_messages: list[Json]
    more: bool

    @property
    def is_hard_stop(self) -> bool:
        """Say whether nothing may follow, whatever hooks and queues say."""
        return self.message["stopReason"] in ("error", "aborted")


def is_system(message: Json) -> bool:
    """Say whether a message carries system prompt or tools."""
    return bool(message["role"] == "system")


def roles(messages: list[Json]) -> list[str]:
    """Return the roles of messages."""
    return [message["role"] for message in messages]
