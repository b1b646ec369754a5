"""Policies: before hooks that let a call run or refuse it, with a reason that the model reads."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from turnwheel.effects import BeforeToolCall
from turnwheel.outcomes import BeforeResult
from turnwheel_tools.contract import ToolError
from turnwheel_tools.paths import Root
from turnwheel_tools.traits import is_read_only
from turnwheel_tools.walking import glob_of

Answer = BeforeResult | None
Policy = Callable[[BeforeToolCall], Answer | Awaitable[Answer]]
"""A before hook (`Agent(before_tool_call=…)`): None lets the call run."""
Asker = Callable[[BeforeToolCall], bool | Awaitable[bool]]
"""Says whether a call may run."""

_SHOWN: Final = 400


def every(*policies: Policy) -> Policy:
    """Return a policy that lets a call run where all of these do; they are asked in turn, up to the first refusal."""

    async def policy(call: BeforeToolCall) -> Answer:
        for each in policies:
            said = each(call)
            answer = await said if inspect.isawaitable(said) else said
            if answer is not None and answer.block:
                return answer
        return None

    return policy


def read_only(call: BeforeToolCall) -> Answer:
    """Refuse each tool that may change something (turnwheel_tools.traits)."""
    if is_read_only(call.tool):
        return None
    return _refused(f"{call.tool.name} may change something, and only tools that change nothing are allowed here")


def ask(asker: Asker | None = None, *, about: Callable[[BeforeToolCall], bool] | None = None) -> Policy:
    """Return a policy that asks somebody: a function, or whoever sits at the terminal.

    `about` says which calls are asked about, by default those of tools that may change something. Without a terminal
    they are refused.
    """
    asked = about or (lambda call: not is_read_only(call.tool))

    async def policy(call: BeforeToolCall) -> Answer:
        if not asked(call):
            return None
        if asker is None:
            allowed = await anyio.to_thread.run_sync(_at_the_terminal, call, abandon_on_cancel=True)
        else:
            said = asker(call)
            allowed = await said if inspect.isawaitable(said) else said
        return None if allowed else _refused(f"the user does not want {call.tool.name} to run with these arguments")

    return policy


def deny_commands(*patterns: str) -> Policy:
    """Return a policy that refuses a command of bash in which one of these regular expressions is found.

    It keeps from accidents, and not from a model that wants to: a shell has many ways to say the same thing. Raises
    re.error for what is no regular expression.
    """
    wanted = [re.compile(pattern) for pattern in patterns]

    def policy(call: BeforeToolCall) -> Answer:
        command = call.arguments.get("command") if isinstance(call.arguments, dict) else None
        found = next((each.pattern for each in wanted if isinstance(command, str) and each.search(command)), None)
        return None if found is None else _refused(f"commands that match {found!r} are not allowed")

    return policy


def allow_paths(root: Path | str, *globs: str) -> Policy:
    """Return a policy that lets tools which change files change only those that match one of these globs.

    The paths are relative to `root`, the folder of the tools. Tools that change nothing, and bash, are not looked at.
    Raises ValueError for what is no glob.
    """
    inside, allowed = Root(root), [glob_of(glob) for glob in globs]

    def policy(call: BeforeToolCall) -> Answer:
        path = call.arguments.get("path") if isinstance(call.arguments, dict) else None
        if is_read_only(call.tool) or not isinstance(path, str):
            return None
        try:
            name = inside.name(inside.locate(path))
        except ToolError as error:
            return _refused(str(error))
        if any(glob.match_file(name) for glob in allowed):
            return None
        return _refused(f"{name} may not be changed; only {', '.join(globs)} may")

    return policy


def _refused(reason: str) -> BeforeResult:
    return BeforeResult(block=True, reason=f"Not allowed: {reason}.")


def _at_the_terminal(call: BeforeToolCall) -> bool:
    stdin: Any = sys.stdin
    if stdin is None or not stdin.isatty():
        return False
    shown = str(call.arguments)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    sys.stderr.write(f"run {call.tool.name} {shown!r}? [y/N] ")
    sys.stderr.flush()
    return str(stdin.readline()).strip().lower() in ("y", "yes")
