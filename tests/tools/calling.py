"""Calls tools as a host does."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import anyio

from turnwheel.messages import TextContent, ToolResult
from turnwheel.running import as_result
from turnwheel.tool import Tool

RULES = "0.85.1"


async def called(
    tool: Tool, *, aborted: Callable[[], bool] = lambda: False, told: Any = None, **arguments: Any
) -> ToolResult:
    """Return what a tool gives back; raise what it raises."""
    assert tool.prepare is not None
    prepared = tool.prepare(arguments, RULES)
    report = told if told is not None else (lambda _: None)
    offered = {"call_id": "c1", "report": report, "aborted": aborted}
    run = tool.run
    if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(type(run).__call__):
        return as_result(await run(prepared, **offered))
    return as_result(await anyio.to_thread.run_sync(lambda: run(prepared, **offered)))


def call(tool: Tool, **arguments: Any) -> ToolResult:
    """Do the same outside of an event loop."""

    async def run() -> ToolResult:
        return await called(tool, **arguments)

    return anyio.run(run)


def text(result: ToolResult) -> str:
    """Return the text of a result."""
    assert isinstance(result.content, tuple)
    return "".join(block.text for block in result.content if isinstance(block, TextContent))
