"""A run that is iterated over, left at odd moments and from odd places: it ends, and touches no other run."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from tests.engine.agents import Model, agent_of, both, later, raising, roles, script, words_of
from tests.engine.by_hand import word
from tests.engine.test_robust import cancelled_elsewhere
from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.errors import Misuse
from turnwheel.iterating import EventStream
from turnwheel.loop import LoopConfig, agent_loop
from turnwheel.messages import AssistantMessage, TextContent, user
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished, StreamStep
from turnwheel.tool import Context

TIMES = 8


async def look_and_give_up(events: EventStream) -> None:
    """Look for an event, and be cancelled before there can be one."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await anext(events)


class TestLeftBeforeItBegan:
    """A run that was asked for and left before its task had a turn."""

    @pytest.mark.parametrize("kind", ["agent", "loop"])
    @both
    async def test_by_a_cancelled_block(self, kind: str) -> None:
        """Where the whole block is cancelled, the model is not asked."""
        model = Model("hi")
        # More than once, since the order in which trio gives tasks their turns is random.
        for _ in range(TIMES):
            agent, config = Agent(model), LoopConfig(model)
            with anyio.CancelScope() as scope:
                scope.cancel()
                run = agent.run("go") if kind == "agent" else agent_loop([user("go")], Context(), config)
                async with run as events:
                    await anext(events)
            assert roles(agent.state.messages) == []

        assert model.requests == []

    @both
    async def test_by_a_cancelled_look(self) -> None:
        """Where only the first look is given up, leaving the block ends a run that has begun, or it never begins."""
        for _ in range(TIMES):
            agent = agent_of(["a"], "never said", run=raising(ValueError("ran")))
            async with agent.run("go") as events:
                await look_and_give_up(events)

            assert (roles(agent.state.messages), agent.state.is_streaming) in (
                ([], False),
                (["user", "assistant"], False),
            )

    def test_by_the_end_of_the_loop(self) -> None:
        """On asyncio a task may be cancelled before it has begun; who waits for the run is not left waiting."""

        async def main() -> bool:
            agent = agent_of("hi")
            events = agent.run("go")
            waiting = asyncio.create_task(anext(events))
            await asyncio.sleep(0)
            (run,) = asyncio.all_tasks() - {waiting, asyncio.current_task()}
            run.cancel()
            with pytest.raises((RuntimeError, StopAsyncIteration)):
                await asyncio.wait_for(waiting, 1)
            await asyncio.wait_for(events.aclose(), 1)
            return agent.state.is_streaming

        assert asyncio.run(main()) is False


class TestOtherRuns:
    """A run and its stream belong together."""

    @both
    async def test_leaving_one_that_was_refused(self) -> None:
        """Leaving a run that a busy agent refused, or would have, does not abort the one that is on."""
        agent, answers = agent_of(["a"], "hi", run=later(lambda arguments: "ok")), list[Any]()
        agent.subscribe(later(bool))

        async def first() -> None:
            answers.append(await agent.prompt("first"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            while not agent.state.is_streaming:
                await anyio.lowlevel.checkpoint()
            for _ in range(TIMES):
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    async with agent.run("second") as events:
                        await anext(events)

        assert answers[0].stop_reason == "stop"

    @both
    async def test_a_signal_of_its_own(self) -> None:
        """The agent's abort still reaches a run that is iterated over."""
        agent = agent_of(["a"], "hi")
        async with agent.run("go") as events:
            await anext(events)
            agent.abort("why")
            assert agent.signal is not None
            assert agent.signal.reason == "why"


class TestTwoConsumers:
    """Two tasks that iterate over one run."""

    @both
    async def test_the_second_is_refused(self) -> None:
        """The second one gets Misuse, and the first one all events, to the end."""
        agent = agent_of(["a"], "hi", run=later(lambda arguments: "ok"))
        heard, got, refused = words_of(agent), list[str](), list[Misuse]()
        async with agent.run("go") as events, anyio.create_task_group() as tasks:

            async def consume() -> None:
                try:
                    async for event in events:
                        got.append(word(event))
                except Misuse as error:
                    refused.append(error)

            tasks.start_soon(consume)
            tasks.start_soon(consume)

        assert got == heard
        assert "another task waits" in str(refused[0])

    @both
    async def test_one_after_the_other(self) -> None:
        """Another task may go on where the first one stopped."""
        agent = agent_of("hi")
        heard, got = words_of(agent), list[str]()

        async def take(events: EventStream, count: int) -> None:
            got.extend([word(await anext(events)) for _ in range(count)])

        async with agent.run("go") as events:
            for count in (1, 2, 5):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(take, events, count)

        assert got == heard


class TestDropped:
    """A run whose stream nobody holds any more."""

    @both
    async def test_collected_in_another_thread(self) -> None:
        """It is aborted in the thread of its loop, and the agent is idle soon."""
        agent = agent_of(["a"], "hi", run=later(lambda arguments: "ok"))
        held = [agent.run("go")]
        await anext(held[0])

        def collect() -> None:
            time.sleep(0.02)
            held.clear()
            gc.collect()

        threading.Thread(target=collect).start()
        # Nothing else wakes the loop.
        await agent.wait_for_idle()

        assert not agent.state.is_streaming

    @both
    async def test_a_subscriber_that_raises(self) -> None:
        """What an abort's subscriber raises then does no harm to the loop."""

        def stream(request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
            signal.subscribe(raising(ValueError()))
            yield Finished(AssistantMessage([TextContent("hi")]))

        agent = Agent(stream)
        held = [agent.run("go")]
        while word(await anext(held[0])) != "start assistant":
            pass
        await anyio.to_thread.run_sync(held.clear)
        await agent.wait_for_idle()

        assert roles(agent.state.messages) == ["user", "assistant"]


class TestClosedFromWithin:
    """A listener, a hook or a tool that closes the stream of its own run."""

    @pytest.mark.parametrize("where", ["listener", "hook", "tool", "thread"])
    @both
    async def test_does_not_wait_for_itself(self, where: str) -> None:
        """The run is aborted and ends, and nobody waits for it who would hold it up."""
        streams: list[EventStream] = []

        async def close(*given: Any) -> None:
            await streams[0].aclose()

        def from_thread(arguments: Any) -> None:
            anyio.from_thread.run(close)

        agent = agent_of(
            ["a"],
            "never said",
            run={"tool": close, "thread": from_thread}.get(where, lambda arguments: "ok"),
            before_tool_call=close if where == "hook" else None,
        )
        if where == "listener":
            agent.subscribe(lambda event: close() if word(event) == "call a" else None)
        streams.append(agent.run("go"))
        async for _ in streams[0]:
            pass
        await agent.wait_for_idle()

        assert agent.state.error_message == "Request was aborted"

    @both
    async def test_by_its_consumer(self) -> None:
        """Whoever iterates still waits until the run has settled."""
        agent = agent_of(["a"], "hi", run=later(lambda arguments: "ok"))
        heard = words_of(agent)
        events = agent.run("go")
        await anext(events)
        await events.aclose()

        assert heard[-1] == "agent_end"


class TestNeverASilentEnd:
    """Iterating ends without an error only where the run does."""

    @pytest.mark.parametrize("kind", ["agent", "loop"])
    def test_a_listener_that_lets_a_cancellation_through(self, kind: str) -> None:
        """A cancellation that is somebody else's is an error, or the failure that agent_end tells of."""
        agent = agent_of("hi")
        agent.subscribe(lambda event: cancelled_elsewhere() if word(event) == "turn_end" else None)

        config = LoopConfig(script("hi"), transform_context=cancelled_elsewhere)  # type: ignore[arg-type]
        events = agent.run("go") if kind == "agent" else agent_loop([user("go")], Context(), config)

        async def consume() -> None:
            async for _ in events:
                pass

        with pytest.raises(Exception, match="CancelledError"):
            asyncio.run(consume())

    def test_a_task_that_is_cancelled(self) -> None:
        """Where somebody cancels the task of the run, iterating raises."""

        async def consume() -> None:
            own = asyncio.current_task()
            async for event in agent_of("hi").run("go"):
                if word(event) == "turn_start":
                    for task in asyncio.all_tasks() - {own}:
                        task.cancel()

        with pytest.raises(RuntimeError, match="was cancelled"):
            asyncio.run(consume())
