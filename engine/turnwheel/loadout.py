"""The loadout: which tools the system messages of a transcript declare, and how a change of tools is announced.

Since Pi 0.86.0 system prompt and tools are part of the transcript: a leading system message has both, and later ones
say with `toolsAdded` and `toolsRemoved` what has changed. A dialect that works so has the switch `loadouts`. In the
others a system message is somebody's data, like any other role that turnwheel does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve

from turnwheel.messages import CustomMessage, Json, Message
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

SYSTEM: Final = "system"
"""The role of the messages that carry system prompt and tools."""

_TOLD: Final = ("name", "description", "parameters", "constrainedSampling")
_TELLING: Final = ("toolsAdded", "toolsRemoved")

Declarations = Mapping[str, Json]
"""What is declared of each tool, by its name: an object with name, description and parameters."""


def is_system(message: Message) -> bool:
    """Say whether a message carries system prompt or tools."""
    return message.role == SYSTEM


def declaration(tool: Tool) -> Json:
    """Return what a model is told of a tool."""
    told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    sampling = tool.extra.get("constrainedSampling")
    return told if sampling is None else {**told, "constrainedSampling": sampling}


def declared(messages: Sequence[Message], before: Declarations | None = None) -> Declarations:
    """Return which tools `messages` declare, all in all, on top of those that were declared `before`."""
    tools = dict(before or {})
    for message in messages:
        if isinstance(message, CustomMessage) and is_system(message):
            for tool in _listed(message, "toolsRemoved"):
                tools.pop(tool["name"], None)
            for tool in _listed(message, "toolsAdded"):
                tools[tool["name"]] = {key: tool[key] for key in _TOLD if key in tool}
    return tools


def announced(
    messages: Sequence[Message], before: Declarations, tools: Sequence[Tool], now: int | None
) -> Sequence[Message]:
    """Return `messages`, which are to go in, with the difference between the declared tools and `tools` put into them.

    It is put into the last system message among them, in place of what that one says of tools; else into a new one
    ahead of them.
    """
    places = [at for at, message in enumerate(messages) if is_system(message)]
    if not places:
        changes = _changes(before, tools)
        return (CustomMessage(SYSTEM, "", now, extra=changes), *messages) if changes else messages
    last = places[-1]
    silent = _telling(messages[last], {})
    changes = _changes(declared([*messages[:last], silent, *messages[last + 1 :]], before), tools)
    if not changes and not any(messages[last].extra.get(key) for key in _TELLING):
        return messages
    told = _telling(silent, changes)
    return (*messages[:last], told, *messages[last + 1 :])


def led(context: Context) -> Context:
    """Return the context with a leading system message that has its prompt and its tools, unless there is one."""
    messages = context.messages
    if (messages and is_system(messages[0])) or not (context.system_prompt or context.tools):
        return context
    tools = {"toolsAdded": [declaration(tool) for tool in context.tools]} if context.tools else {}
    # Like Pi's own: the prompt is as old as the transcript.
    leading = CustomMessage(SYSTEM, context.system_prompt, 0, extra=tools)
    return evolve(context, messages=Transcript((leading, *messages)))


def led_anew(context: Context) -> Context:
    """Return the context with a leading system message for the prompt and tools of now, in place of an older one."""
    messages = context.messages
    older = bool(messages) and is_system(messages[0])
    return led(evolve(context, messages=Transcript(messages[1:])) if older else context)


def _changes(before: Declarations, tools: Sequence[Tool]) -> dict[str, Json]:
    """Return what has to be said so that exactly `tools` are declared; a changed tool is removed and added."""
    now = [declaration(tool) for tool in tools]
    by_name = {tool["name"]: tool for tool in now}
    added = [tool for tool in now if before.get(tool["name"]) != tool]
    removed = [{"name": name} for name, tool in before.items() if by_name.get(name) != tool]
    return {name: said for name, said in (("toolsAdded", added), ("toolsRemoved", removed)) if said}


def _telling(message: Message, changes: Mapping[str, Json]) -> Message:
    """Return a system message that says of tools what `changes` say, and nothing else."""
    kept = {name: value for name, value in message.extra.items() if name not in _TELLING}
    return evolve(message, extra={**kept, **changes})


def _listed(message: CustomMessage, key: str) -> Sequence[Json]:
    """Return the tools that a system message lists under `key`; what has no name is none."""
    found = message.extra.get(key)
    tools = found if isinstance(found, list | tuple) else ()
    return [tool for tool in tools if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)]
