"""What a model may call, and how the arguments of a call are prepared.

`tool`, `CallId` and `Report` are loaded when they are first used: they need packages that the coding tools do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwheel_tools.arguments import ArgumentError, SchemaError, prepare_arguments
from turnwheel_tools.contract import Aborted, ToolError
from turnwheel_tools.define import checked, define
from turnwheel_tools.read import read_tool
from turnwheel_tools.workspace import coding_tools

if TYPE_CHECKING:
    from turnwheel_tools.function import tool
    from turnwheel_tools.signature import CallId, Report

_WHERE = {"CallId": "signature", "Report": "signature", "tool": "function"}

__all__ = [
    "Aborted",
    "ArgumentError",
    "CallId",
    "Report",
    "SchemaError",
    "ToolError",
    "checked",
    "coding_tools",
    "define",
    "prepare_arguments",
    "read_tool",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
