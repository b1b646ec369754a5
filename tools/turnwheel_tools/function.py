"""A tool out of a Python function: its schema from the signature, its description from the docstring."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final, final, overload

import anyio
import anyio.to_thread
from attrs import evolve, field, frozen

from turnwheel.messages import TextContent, ToolResult
from turnwheel.running import as_result
from turnwheel.tool import Tool
from turnwheel_tools.contract import ToolError
from turnwheel_tools.define import define
from turnwheel_tools.limits import MAX_BYTES, MAX_LINES, truncate_head
from turnwheel_tools.signature import Signature, signature_of
from turnwheel_tools.traits import Replay, with_traits


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    terminate: bool = False,
    sequential: bool = False,
    timeout: float | None = None,
    read_only: bool = False,
    replay: Replay = "never",
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    terminate: bool = False,
    sequential: bool = False,
    timeout: float | None = None,
    read_only: bool = False,
    replay: Replay = "never",
) -> Any:
    """Make a Tool of a function, plain or a coroutine function.

    Its parameters become the schema (turnwheel_tools.signature says from which types), and arguments are checked,
    coerced by the dialect's rules and made into these types. A parameter annotated CallId, Aborted or Report is no
    argument: it gets the id of the call, what says whether the run was aborted, or what tells of partial results.

    It may return a text, blocks of content, a ToolResult or any JSON value; much text is cut, with a note. What it
    raises is an error that the model reads. With `terminate` each result wants the chain of turns to end; with
    `sequential` no other tool runs beside it; after `timeout` seconds its call fails (a plain function goes on in its
    thread, since nobody can end it). Raises TypeError for a signature that no schema can say.
    """
    if function is None:
        return functools.partial(
            _made,
            name=name,
            description=description,
            terminate=terminate,
            sequential=sequential,
            timeout=timeout,
            read_only=read_only,
            replay=replay,
        )
    return _made(function)


def _made(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    terminate: bool = False,
    sequential: bool = False,
    timeout: float | None = None,
    read_only: bool = False,
    replay: Replay = "never",
) -> Tool:
    signature = signature_of(function)
    called = str(name or getattr(function, "__name__", ""))
    run: Any = _Async(function, signature, terminate) if _is_async(function) else _Plain(function, signature, terminate)
    if timeout is not None:
        run = _Timed(run, called, timeout)
    made = define(
        called,
        description if description is not None else signature.description,
        signature.schema,
        run,
        execution_mode="sequential" if sequential else None,
    )
    return with_traits(made, read_only=read_only, replay=replay)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


@final
@frozen
class _Plain:
    """Calls a plain function; the host does so in a thread."""

    function: Callable[..., Any]
    signature: Signature
    terminate: bool = False

    def __call__(self, arguments: dict[str, Any], **offered: Any) -> ToolResult:
        return _result(self.function(**self.signature.keywords(arguments, offered)), self.terminate)


@final
@frozen
class _Async:
    """Calls a coroutine function."""

    function: Callable[..., Any]
    signature: Signature
    terminate: bool = False

    async def __call__(self, arguments: dict[str, Any], **offered: Any) -> ToolResult:
        return _result(await self.function(**self.signature.keywords(arguments, offered)), self.terminate)


@final
@frozen
class _Timed:
    """Lets a call fail that takes too long."""

    inner: Any
    name: str
    seconds: float = field()

    async def __call__(self, arguments: dict[str, Any], **offered: Any) -> ToolResult:
        late = f"{self.name} took longer than {self.seconds:g} seconds and was given up."
        with anyio.move_on_after(self.seconds):
            if isinstance(self.inner, _Async):
                return await self.inner(arguments, **offered)
            work = functools.partial(self.inner, arguments, **offered)
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        raise ToolError(late)


_CUT: Final = "[The first {shown:,} of {all:,} bytes are shown.]"


def _result(returned: Any, terminate: bool) -> ToolResult:
    result = as_result(returned)
    if isinstance(result.content, list | tuple):
        result = evolve(result, content=tuple(_cut(block) for block in result.content))
    return evolve(result, terminate=True) if terminate else result


def _cut(block: Any) -> Any:
    """Return a block whose text is no longer than a model is shown."""
    if not isinstance(block, TextContent) or len(block.text) <= MAX_BYTES // 4:
        return block
    raw = block.text.encode(errors="replace")
    head = truncate_head(block.text.splitlines(keepends=True), MAX_LINES, MAX_BYTES).text
    shown = len(head.encode(errors="replace"))
    if shown >= len(raw):
        return block
    return evolve(block, text=f"{head.rstrip()}\n\n{_CUT.format(shown=shown, all=len(raw))}")
