"""System prompt and tools as messages: the leading one, and those that announce a change (Pi since 0.86.0)."""

from __future__ import annotations

import json

from tests.reference.shapes import Context, Json, is_system

TOOL_FIELDS = ("toolsAdded", "toolsRemoved")


def lead(context: Context) -> None:
    """Put a system message with prompt and tools in front, unless there is one or nothing to say."""
    if context.messages and is_system(context.messages[0]):
        return
    if context.system_prompt or context.tools:
        added = {"toolsAdded": [_declaration(tool) for tool in context.tools]} if context.tools else {}
        context.messages.insert(0, {"role": "system", "content": context.system_prompt, **added})


def announced(context: Context, pending: list[Json]) -> list[Json]:
    """Return the pending messages, with what is new about the tools in the last system message among them.

    If there is none, and something is new, a system message for it goes in front.
    """
    places = [at for at, message in enumerate(pending) if is_system(message)]
    if not places:
        changes = _changes([*context.messages, *pending], context.tools)
        return [{"role": "system", "content": "", **changes}, *pending] if changes else pending
    last = places[-1]
    before, message, after = pending[:last], pending[last], pending[last + 1 :]
    silent = {key: value for key, value in message.items() if key not in TOOL_FIELDS}
    changes = _changes([*context.messages, *before, silent, *after], context.tools)
    if not changes and not any(message.get(key) for key in TOOL_FIELDS):
        return pending
    return [*before, {**silent, **changes}, *after]


def declared(messages: list[Json]) -> dict[str, Json]:
    """Return the tools that the system messages add up to, by name."""
    tools: dict[str, Json] = {}
    for message in filter(is_system, messages):
        for tool in message.get("toolsRemoved") or []:
            tools.pop(tool["name"], None)
        for tool in message.get("toolsAdded") or []:
            tools[tool["name"]] = tool
    return tools


def _changes(messages: list[Json], tools: list[Json]) -> Json:
    """Return what has to be said so that exactly `tools` are declared; a changed tool is removed and added."""
    old, new = declared(messages), {tool["name"]: tool for tool in tools}
    added = [_declaration(tool) for tool in tools if not _same(old.get(tool["name"]), tool)]
    removed = [{"name": name} for name, tool in old.items() if not _same(new.get(name), tool)]
    return {key: value for key, value in zip(TOOL_FIELDS, (added, removed), strict=True) if value}


def _declaration(tool: Json) -> Json:
    return {key: tool[key] for key in ("name", "description", "parameters")}


def _same(one: Json | None, other: Json) -> bool:
    """Compare what a model is told, the order of keys included, as Pi does."""
    return one is not None and json.dumps(_declaration(one)) == json.dumps(_declaration(other))
