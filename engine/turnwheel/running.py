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
    try:
        text = json.dumps(returned, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        # Keys that are no text, or a value that holds itself.
        text = str(returned)
    return ToolResult.of(text)


def taken(run: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `run` takes of the keyword arguments that are `offered`: a simple tool need not name them all."""
    try:
        names = _keywords(run)
    except TypeError:
        # It has no hash to be remembered by.
        names = _keywords.__wrapped__(run)
    return {name: value for name, value in offered.items() if names is None or name in names}


@lru_cache(maxsize=1024)
def _keywords(run: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the keyword parameters of a function, or None where it takes any."""
    try:
        parameters = list(inspect.signature(run).parameters.values())
    except ValueError:
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    # The first parameter that can be given by position is for the arguments of the call.
    first = next((parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY), None)
    return frozenset(p.name for p in parameters if p.kind in named and p is not first)
