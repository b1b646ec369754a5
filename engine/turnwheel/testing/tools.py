"""Tools for tests: they note their calls, and answer at once, late on a virtual clock, or never."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, final

import anyio
from attrs import evolve

from turnwheel.messages import Json, ToolResult
from turnwheel.testing.clock import VirtualClock
from turnwheel.tool import Tool


@final
class FakeTool:
    """A tool and the arguments with which it was called, in the order of the calls. Hand `tool` to an agent."""

    def __init__(self, name: str, run: Callable[..., Any], *, parameters: Json = None) -> None:
        self.calls: list[Json] = []
        """The arguments of each call."""
        self.tool = Tool(name, f"The fake tool {name}.", run=self._noting(run))
        if parameters is not None:
            self.tool = evolve(self.tool, parameters=parameters)

    def _noting(self, run: Callable[..., Any]) -> Callable[..., Any]:
        async def noted(arguments: Json, **offered: Any) -> Any:
            self.calls.append(arguments)
            return await run(arguments, **offered)

        return noted


def recording(name: str = "work", result: Any = "ok") -> FakeTool:
    """Return a tool that gives the same result to each call (see turnwheel.running.as_result)."""

    async def run(arguments: Json, **offered: Any) -> Any:
        return result

    return FakeTool(name, run)


def scripted(name: str, results: Iterable[Any]) -> FakeTool:
    """Return a tool that gives these results, one to each call; an exception among them is raised.

    A call too many raises AssertionError, which the model reads.
    """
    left = list(results)

    async def run(arguments: Json, **offered: Any) -> Any:
        if not left:
            raise AssertionError(f"{name} was called once more than its script has results")
        result = left.pop(0)
        if isinstance(result, BaseException):
            raise result
        return result

    return FakeTool(name, run)


def slow(
    name: str, clock: VirtualClock, ticks: float, result: Any = "ok", *, progress: Sequence[tuple[float, Any]] = ()
) -> FakeTool:
    """Return a tool that takes so many ticks of a virtual clock; `progress` are partial results and their ticks.

    Somebody has to let the time pass: `passing`, below, does so whenever nothing else can happen.
    """

    async def run(arguments: Json, *, report: Callable[[ToolResult], None], **offered: Any) -> Any:
        done = anyio.Event()
        for at, partial in progress:
            clock.after(at, _doing(report, partial))
        clock.after(ticks, _doing(done.set))
        await done.wait()
        return result

    return FakeTool(name, run)


def _doing(do: Callable[..., object], *given: Any) -> Callable[[], Sequence[Any]]:
    """Return a timer's action, of which no outcome comes."""

    def fire() -> Sequence[Any]:
        do(*given)
        return ()

    return fire


def hanging(name: str = "hang", *, heeds_abort: bool = True) -> FakeTool:
    """Return a tool that never comes back, unless the run is aborted and it heeds that."""

    async def run(arguments: Json, *, aborted: Callable[[], bool], **offered: Any) -> Any:
        # A tool is not told of an abort: it asks.
        while True:
            await anyio.sleep(0.001)
            if heeds_abort and aborted():
                raise RuntimeError("Operation aborted")

    return FakeTool(name, run)


@asynccontextmanager
async def passing(clock: VirtualClock) -> AsyncIterator[None]:
    """Let the time of a virtual clock pass whenever all tasks wait, until the block is left."""

    async def pass_on() -> None:
        while True:
            await anyio.wait_all_tasks_blocked()
            clock.advance()

    async with anyio.create_task_group() as group:
        group.start_soon(pass_on)
        try:
            yield
        finally:
            group.cancel_scope.cancel()
