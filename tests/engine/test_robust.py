"""The Agent and the drivers among programs that do odd things: cancellation, threads, and values of the wrong kind."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.engine.agents import (
    agent_of,
    both,
    calling,
    later,
    raising,
    results_of,
    roles,
    script,
    text_of,
    words_of,
    work,
)
from tests.engine.by_hand import word
from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.messages import AssistantMessage, TextContent, ToolCall
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished, Started, StreamStep, TextDelta, TextStart

HI = AssistantMessage([TextContent("hi")])


async def cancelled_elsewhere(*args: Any) -> None:
    """Let a cancellation through that is somebody else's, as one does who cancels a task and awaits it."""
    task = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    await task


class TestTheLoopGetsItsTurn:
    """A run in which nothing ever waits lets others have their turn."""

    MANY = 100_000

    def endless(self, request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
        """Answer with very many steps, unless aborted."""
        yield Started()
        yield TextStart(0)
        for _ in range(self.MANY):
            if signal.aborted:
                break
            yield TextDelta(0, "x")
        yield Finished(AssistantMessage([TextContent("x")], "aborted" if signal.aborted else "stop"))

    async def endless_async(self, request: ModelRequest, signal: AbortSignal) -> AsyncIterator[StreamStep]:
        """Do the same as an async generator that never waits."""
        for step in self.endless(request, signal):
            yield step

    @pytest.mark.parametrize("kind", ["endless", "endless_async"])
    @both
    async def test_abort_from_another_task(self, kind: str) -> None:
        """An abort gets through to a model whose steps are all there at once."""
        agent = Agent(getattr(self, kind))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(later(agent.abort))
            answer = await agent.prompt("go")

        assert answer is not None
        assert answer.stop_reason == "aborted"

    @both
    async def test_a_timeout(self) -> None:
        """A timeout gets through to a run whose tools and answers are all there at once."""
        turns = 0

        def stream(request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
            nonlocal turns
            turns += 1
            yield Finished(AssistantMessage([ToolCall("c", "work")] if turns < self.MANY else [TextContent("x")]))

        async def at_once(arguments: Any) -> str:
            return "ok"

        with anyio.move_on_after(0.05) as scope:
            await Agent(stream, tools=[work(at_once)]).prompt("go")

        assert scope.cancelled_caught
        assert turns < self.MANY

    @both
    async def test_a_long_batch(self) -> None:
        """Between two calls of the model as well: a sequential batch of tools that never wait can be left."""
        ran: list[Any] = []

        async def at_once(arguments: Any) -> None:
            ran.append(arguments)

        agent = Agent(script(tuple(f"c{number}" for number in range(2000)), "hi"), tools=[work(at_once)])
        agent.state.tools = [work(at_once, execution_mode="sequential")]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "go")
            while not ran:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

        assert len(ran) < 2000


class TestForeignCancellation:
    """On asyncio, code that cancels a task of its own and awaits it lets a cancellation through that is not ours."""

    async def closing(self, request: ModelRequest, signal: AbortSignal) -> AsyncIterator[StreamStep]:
        """Answer as a client does whose cleanup cancels and awaits its reader."""
        try:
            yield Started()
            yield Finished(HI)
        finally:
            await cancelled_elsewhere()

    def test_out_of_closing_a_stream(self) -> None:
        """The answer is whole, and is kept."""
        agent = Agent(self.closing)
        answer = agent.run_sync("go")

        assert (text_of(answer), roles(agent.state.messages)) == ("hi", ["user", "assistant"])

    @pytest.mark.parametrize("ids", [["a"], ["a", "b"]])
    @pytest.mark.parametrize("at", ["turn_start", "progress a", "done a", "end assistant"])
    def test_out_of_a_listener(self, at: str, ids: list[str]) -> None:
        """It is that listener's failure, wherever it happens, and the run ends with an error like any other."""

        async def reporting(arguments: Any, *, call_id: str, report: Callable[[Any], None]) -> None:
            if call_id == "a":
                report("half")
            await anyio.sleep(0.01)

        agent, left = agent_of(ids, "hi", run=reporting), [True]

        async def listen(event: Any) -> None:
            if word(event) == at and left and left.pop():
                await cancelled_elsewhere()

        agent.subscribe(listen)
        answer = anyio.run(agent.prompt, "go")

        assert answer is not None
        assert (answer.error_message, type(agent.failure).__name__) == ("CancelledError", "ForeignCancelledError")

    def test_out_of_a_listener_of_the_failure(self) -> None:
        """Where a listener does so again while it hears of the failure, prompt raises an error."""
        agent = agent_of("hi")
        agent.subscribe(cancelled_elsewhere)

        with pytest.raises(Exception, match="CancelledError"):
            anyio.run(agent.prompt, "go")

    def test_out_of_a_plain_stream(self) -> None:
        """An iterator that raises it fails the run with an error."""

        def stream(request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
            yield Started()
            raise asyncio.CancelledError

        agent = Agent(stream)
        anyio.run(agent.prompt, "go")

        assert type(agent.failure).__name__ == "ForeignCancelledError"

    def test_what_was_asked_before_the_run(self) -> None:
        """A program that has caught its cancellation may run an agent, and such a listener is still told apart."""
        agent, answers = agent_of("hi"), list[Any]()
        agent.subscribe(lambda event: cancelled_elsewhere() if word(event) == "turn_start" else None)

        async def main() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                answers.append(await agent.prompt("clean up"))

        async def cancelling() -> None:
            task = asyncio.create_task(main())
            await asyncio.sleep(0)
            task.cancel()
            await task

        asyncio.run(cancelling())

        assert answers[0].error_message == "CancelledError"

    def test_a_cancellation_that_is_on_its_way(self) -> None:
        """One that was asked for just before the run begins is the run's own."""

        async def main() -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await agent_of("hi").prompt("go")

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(main())


class TestSwallowedCancellation:
    """A tool that catches its cancellation and goes on."""

    @pytest.mark.parametrize("ids", [["a"], ["a", "b"]])
    @both
    async def test_by_a_scope(self, ids: list[str]) -> None:
        """The run is cancelled all the same, also where the tool ran alone."""

        async def stubborn(arguments: Any) -> str:
            with suppress(anyio.get_cancelled_exc_class()):
                await anyio.sleep_forever()
            return "swallowed"

        agent = agent_of(ids, "hi", run=stubborn)
        with anyio.move_on_after(0.01) as scope:
            await agent.prompt("go")

        assert scope.cancelled_caught
        assert not agent.state.is_streaming

    @pytest.mark.parametrize("ids", [["a"], ["a", "b"]])
    def test_by_asyncio(self, ids: list[str]) -> None:
        """The same for a task of asyncio."""

        async def stubborn(arguments: Any) -> str:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            return "swallowed"

        async def main() -> None:
            task = asyncio.create_task(agent_of(ids, "hi", run=stubborn).prompt("go"))
            await asyncio.sleep(0.01)
            task.cancel()
            await task

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(main())


class TestTools:
    """Tools that are written in odd ways."""

    async def suspending(self, arguments: Any) -> AsyncIterator[str]:
        """Yield as an async generator."""
        yield "part"

    def plain(self, arguments: Any) -> Iterator[str]:
        """Yield as a generator."""
        yield "part"

    @pytest.mark.parametrize("kind", ["plain", "suspending"])
    def test_a_generator_function(self, kind: str) -> None:
        """A generator, which nobody would run, is an error that says how to do it."""
        agent = agent_of(["a"], "hi", run=getattr(self, kind))
        agent.run_sync("go")

        assert results_of(agent.state.messages) == {
            "a": "work is a generator function: return the result, and report progress with report"
        }

    @pytest.mark.parametrize("ids", [["a"], ["a", "b"]])
    @both
    async def test_reports_from_a_thread_of_its_own(self, ids: list[str]) -> None:
        """A tool may report from a thread that it has started itself, or has been given."""

        async def threaded(arguments: Any, *, report: Callable[[Any], None]) -> str:
            thread = threading.Thread(target=report, args=("mine",))
            thread.start()
            await anyio.to_thread.run_sync(thread.join)
            await anyio.to_thread.run_sync(report, "given")
            await anyio.sleep(0.01)
            return "ok"

        agent = agent_of(ids, "hi", run=threaded)
        heard: list[str] = []

        def listen(event: Any) -> None:
            if word(event) == "progress a":
                heard.append(text_of(event.partial_result))

        agent.subscribe(listen)
        await agent.prompt("go")

        assert heard == ["mine", "given"]

    @both
    async def test_reports_from_a_callback_of_the_loop(self) -> None:
        """A tool may report from a callback that is no task."""

        async def calling_back(arguments: Any, *, report: Callable[[Any], None]) -> str:
            if anyio.get_current_task().name and asyncio_runs():
                asyncio.get_running_loop().call_soon(report, "called back")
            else:
                report("called back")
            await anyio.sleep(0.01)
            return "ok"

        agent = agent_of(["a"], "hi", run=calling_back)
        heard = words_of(agent)
        await agent.prompt("go")

        assert "progress a" in heard

    @both
    async def test_a_late_report_from_a_thread(self) -> None:
        """What a thread reports when the run is long over is dropped, and raises nothing."""
        kept: list[Callable[[Any], None]] = []

        async def keeping(arguments: Any, *, report: Callable[[Any], None]) -> None:
            kept.append(report)

        await agent_of(["a"], "hi", run=keeping).prompt("go")
        await anyio.to_thread.run_sync(kept[0], "late")
        await anyio.lowlevel.checkpoint()

    @pytest.mark.parametrize("waits", [False, True])
    def test_what_they_hold_is_let_go(self, waits: bool) -> None:
        """A tool that is no longer in use is not kept, nor what its function holds."""

        class Session:
            pass

        def run() -> weakref.ref[Session]:
            session = Session()

            def plain(arguments: Any) -> str:
                return type(session).__name__

            async def waiting(arguments: Any) -> str:
                return type(session).__name__

            agent_of(["a"], "hi", run=waiting if waits else plain).run_sync("go")
            return weakref.ref(session)

        session = run()
        gc.collect()

        assert session() is None


def asyncio_runs() -> bool:
    """Say whether this is asyncio's loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class TestSignal:
    """Who subscribed to an abort."""

    def test_one_that_raises(self) -> None:
        """All are told; then the first error comes out."""
        signal, told = AbortSignal(), list[str | None]()
        signal.subscribe(raising(ValueError("first")))
        signal.subscribe(told.append)
        signal.subscribe(raising(ValueError("last")))
        with pytest.raises(ValueError, match="first"):
            signal.abort("why")

        assert (told, signal.aborted) == (["why"], True)


def test_the_same_id_twice() -> None:
    """Two calls of one answer may share an id: each has its result, and the pending ids are a set, as Pi's are."""
    agent, pending = Agent(script(calling("c", "c"), "hi"), tools=[work(lambda arguments: "ok")]), list[int]()
    agent.subscribe(
        lambda event: pending.append(len(agent.state.pending_tool_calls)) if "tool_exec" in event.type else None
    )
    agent.run_sync("go")

    assert roles(agent.state.messages) == ["user", "assistant", "toolResult", "toolResult", "assistant"]
    assert pending == [1, 1, 0, 0]
