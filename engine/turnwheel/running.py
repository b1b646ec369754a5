"""How a tool is run: what its function is offered, and what becomes of whatever it gives back."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, get_args

from attrs import evolve

from turnwheel.messages import Content, TextContent, ToolResult

_BLOCKS = get_args(Content)


def as_result(returned: Any) -> ToolResult:
    """Return what a tool gave back as a result, whatever it is.

    A text becomes a block of text, blocks become the content, None an empty result, and any other value its JSON.
    """
    match returned:
        case ToolResult(content=content):
            text: Any = content
            return evolve(returned, content=(TextContent(text),)) if isinstance(text, str) else returned
        case None:
            return ToolResult()
        case str():
            return ToolResult.of(returned)
        case list() | tuple() if returned and all(isinstance(block, _BLOCKS) for block in returned):
            return ToolResult(tuple(returned))
        case _ if isinstance(returned, _BLOCKS):
            return ToolResult((returned,))
    return ToolResult.of(json.dumps(returned, ensure_ascii=False, default=str))


def taken(run: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `run` takes of the keyword arguments that are `offered`: a simple tool need not name them all."""
    names = _keywords(run)
    return {name: value for name, value in offered.items() if names is None or name in names}


@lru_cache(maxsize=1024)
def _keywords(run: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the keyword parameters of a function, or None where it takes any."""
    parameters = inspect.signature(run).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return frozenset(parameter.name for parameter in parameters if parameter.kind in named)
