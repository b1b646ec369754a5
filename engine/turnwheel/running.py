"""How a tool is run: what its function is offered, and what becomes of whatever it gives back."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from threading import get_ident
from typing import Any, final, get_args
from weakref import WeakKeyDictionary

import anyio.from_thread
from attrs import evolve

from turnwheel.messages import Content, TextContent, ToolResult
from turnwheel.threads import Home

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
        names = _known[run]
    except KeyError:
        names = _known[run] = _keywords(run)
    except TypeError:
        # It cannot be remembered: it has no hash, or there are no weak references to it.
        names = _keywords(run)
    return {name: value for name, value in offered.items() if names is None or name in names}


_known: WeakKeyDictionary[Callable[..., Any], frozenset[str] | None] = WeakKeyDictionary()
"""What was found out about functions that are still in use."""


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


@final
class Reporter:
    """What a tool tells of its progress with, from whatever thread.

    In the worker thread of the tool it waits until the run has noted it; any other thread does not wait.
    """

    def __init__(self, report: Callable[[ToolResult], None]) -> None:
        self._report = report
        self._home = Home()
        self.worker: int | None = None
        """The thread that runs the tool, if it is not that of the event loop."""

    def __call__(self, progress: Any) -> None:
        """Report a partial result, whatever it is (see as_result)."""
        report = partial(self._report, as_result(progress))
        if self._home.is_here():
            report()
        elif get_ident() == self.worker:
            anyio.from_thread.run_sync(report)
        else:
            self._home.soon(report)
