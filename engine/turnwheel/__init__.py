"""Pi's agent loop as an explicit, deterministic state machine.

Everything that a program needs has its name here; a name is loaded when it is first used, since few need all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwheel.abort import AbortSignal
    from turnwheel.agent import Agent
    from turnwheel.driver import Driver
    from turnwheel.errors import Misuse, ParseError, Stalled, TableError, TurnwheelError, UnexpectedOutcome
    from turnwheel.loop import LoopConfig, agent_loop, agent_loop_continue
    from turnwheel.machine import DONE, WAITING, Machine
    from turnwheel.messages import (
        AssistantMessage,
        CustomMessage,
        ImageContent,
        TextContent,
        ThinkingContent,
        ToolCall,
        ToolResult,
        ToolResultMessage,
        Usage,
        UserMessage,
        user,
    )
    from turnwheel.outcomes import Begun, RunConfig
    from turnwheel.rules import Decision, Dialect, Rule, State
    from turnwheel.table import DIALECTS, dialect
    from turnwheel.tool import Context, Tool
    from turnwheel.transcript import Transcript

_HOME = {
    "abort": ("AbortSignal",),
    "agent": ("Agent",),
    "driver": ("Driver",),
    "errors": ("Misuse", "ParseError", "Stalled", "TableError", "TurnwheelError", "UnexpectedOutcome"),
    "loop": ("LoopConfig", "agent_loop", "agent_loop_continue"),
    "machine": ("DONE", "WAITING", "Machine"),
    "messages": (
        "AssistantMessage",
        "CustomMessage",
        "ImageContent",
        "TextContent",
        "ThinkingContent",
        "ToolCall",
        "ToolResult",
        "ToolResultMessage",
        "Usage",
        "UserMessage",
        "user",
    ),
    "outcomes": ("Begun", "RunConfig"),
    "rules": ("Decision", "Dialect", "Rule", "State"),
    "table": ("DIALECTS", "dialect"),
    "tool": ("Context", "Tool"),
    "transcript": ("Transcript",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "DIALECTS",
    "DONE",
    "WAITING",
    "AbortSignal",
    "Agent",
    "AssistantMessage",
    "Begun",
    "Context",
    "CustomMessage",
    "Decision",
    "Dialect",
    "Driver",
    "ImageContent",
    "LoopConfig",
    "Machine",
    "Misuse",
    "ParseError",
    "Rule",
    "RunConfig",
    "Stalled",
    "State",
    "TableError",
    "TextContent",
    "ThinkingContent",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolResultMessage",
    "Transcript",
    "TurnwheelError",
    "UnexpectedOutcome",
    "Usage",
    "UserMessage",
    "agent_loop",
    "agent_loop_continue",
    "dialect",
    "user",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
