"""A tool out of a name, a schema and a function, with arguments that are checked before the function sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attrs import evolve

from turnwheel.messages import Json
from turnwheel.tool import ExecutionMode, Prepare, Tool
from turnwheel_tools.arguments import check_schema, prepare_arguments


def define(
    name: str,
    description: str,
    parameters: Mapping[str, Json],
    run: Callable[..., Any],
    *,
    execution_mode: ExecutionMode | None = None,
) -> Tool:
    """Return a tool that calls `run` with its arguments, which fit the JSON schema `parameters` by then.

    `run` may be a coroutine function, and may take call_id, report and aborted by keyword (turnwheel.tool.Run). What it
    returns may be a text, blocks of content, a ToolResult or any JSON value; what it raises is an error that the model
    sees. With execution mode sequential, no other tool runs beside it. Raises SchemaError for an invalid schema.
    """
    tool = Tool(name, description, parameters, execution_mode, run=run)
    check_schema(tool)
    return checked(tool)


def checked(tool: Tool) -> Tool:
    """Return the tool with arguments that are coerced and validated by its schema."""
    prepare: Prepare = partial(_prepared, tool)
    return evolve(tool, prepare=prepare)


def _prepared(tool: Tool, arguments: Json, rules: str) -> Json:
    return prepare_arguments(tool, arguments, rules=rules)
