"""The adapter to turnwheel's argument validation: the one place of the reference that imports something of the engine.

Validation is no part of the loop, and tested by itself. It asks for a `turnwheel.tool.Tool`, so that is imported, too.
"""

from __future__ import annotations

from typing import Any

from turnwheel.tool import Tool
from turnwheel_tools.arguments import ArgumentError, prepare_arguments

__all__ = ["ArgumentError", "validated"]


def validated(name: str, parameters: dict[str, Any], arguments: Any, rules: str) -> Any:
    """Return a copy of the arguments, coerced by that version's rules. Raises ArgumentError where they do not fit."""
    return prepare_arguments(Tool(name, parameters=parameters), arguments, rules=rules)
