"""A hundred agents at once: every one ends, and nothing of them is left."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
from typing import Any

import anyio
import pytest

from tests.engine.agents import BACKENDS
from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.events import AgentEnd, AgentStart, Event
from turnwheel.machine import Machine
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel.tool import Tool

AGENTS = 100


async def nap(arguments: Any) -> str:
    """Take a moment."""
    await anyio.sleep(arguments["ms"] / 1000)
    return "rested"


def thread(arguments: Any) -> str:
    """Say in which thread this runs."""
    return threading.current_thread().name


def restless(chance: random.Random, number: int) -> Agent:
    """Return an agent with parallel tools that somebody steers, follows up and aborts by chance."""
    answers = [
        ScriptedAnswer(
            text="on it",
            tool_calls=[
                ScriptedCall(f"{turn}.{call}", "thread" if call == 0 and number % 10 == 0 else "nap", {"ms": call})
                for call in range(chance.randrange(4))
            ],
            deltas=2,
        )
        for turn in range(chance.randrange(1, 5))
    ]
    model = ScriptedModel([*answers, *[ScriptedAnswer(text="done")] * 8])
    agent = Agent(model, tools=[Tool("nap", run=nap), Tool("thread", run=thread)])

    def meddle(event: Event) -> None:
        match chance.randrange(60):
            case 0:
                agent.steer("psst")
            case 1:
                agent.follow_up("and then?")
            case 2:
                agent.abort("enough")

    agent.subscribe(meddle)
    return agent


class Crowd:
    """Many agents, and what they said when they began and ended."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        # Each has its own, so that what befalls one does not depend on how fast the others are.
        self.agents = [restless(random.Random(chance.random()), number) for number in range(AGENTS)]
        self.began, self.ended = 0, 0
        for agent in self.agents:
            agent.subscribe(self.count)

    def count(self, event: Event) -> None:
        self.began += isinstance(event, AgentStart)
        self.ended += isinstance(event, AgentEnd)

    async def run(self) -> None:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for agent in self.agents:
                    group.start_soon(agent.prompt, "go")


class TestCrowd:
    """A hundred agents in one process."""

    @pytest.mark.parametrize("seed", [1, 2, 3])
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_every_one_ends(self, backend: str, seed: int) -> None:
        """Whatever comes in between, each run has one agent_start and one agent_end, and its agent is idle after it."""
        crowd = Crowd(seed)
        anyio.run(crowd.run, backend=backend)

        assert (crowd.began, crowd.ended) == (AGENTS, AGENTS)
        assert not any(agent.state.is_streaming or agent.state.pending_tool_calls for agent in crowd.agents)
        assert all(agent.failure is None for agent in crowd.agents)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_no_listener_is_left(self, backend: str) -> None:
        """Iterating over the runs adds no listener for good: each agent has the two that it began with."""
        crowd = Crowd(13)

        async def look(agent: Agent) -> None:
            async for _ in agent.run("go"):
                pass

        async def main() -> None:
            async with anyio.create_task_group() as group:
                for agent in crowd.agents:
                    group.start_soon(look, agent)

        anyio.run(main, backend=backend)

        assert crowd.ended == AGENTS
        assert {len(agent._listeners) for agent in crowd.agents} == {2}

    def test_no_task_is_left(self) -> None:
        """After all runs there is no task but the one that asks."""

        async def main() -> int:
            await Crowd(4).run()
            return len(asyncio.all_tasks())

        assert asyncio.run(main()) == 1

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_no_thread_is_left(self, backend: str) -> None:
        """Worker threads end with their event loop, or stay few: they are not made anew for each run."""
        before = threading.active_count()
        for seed in (5, 6, 7, 8):
            anyio.run(Crowd(seed).run, backend=backend)
        # Those of asyncio end soon after their loop; trio keeps as many as were ever busy at once, for later use.
        most = before if backend == "asyncio" else before + AGENTS // 10
        deadline = time.monotonic() + 5
        while threading.active_count() > most and time.monotonic() < deadline:
            time.sleep(0.01)

        assert threading.active_count() <= most

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_no_object_is_left(self, backend: str) -> None:
        """When the agents are forgotten, so are their machines, signals and messages: memory returns."""
        anyio.run(Crowd(9).run, backend=backend)
        before = self.kept()
        for seed in (10, 11, 12):
            anyio.run(Crowd(seed).run, backend=backend)
        # Worker threads end soon after their loop, and hold what they did last until then.
        deadline = time.monotonic() + 5
        while (after := self.kept())[:2] > before[:2] and time.monotonic() < deadline:
            time.sleep(0.01)

        assert all(kept <= was for kept, was in zip(after[:2], before[:2], strict=True))
        assert after[2] < before[2] + 2000

    @staticmethod
    def kept() -> tuple[int, int, int]:
        """Return how many machines, signals and objects of any kind there are."""
        gc.collect()
        objects = gc.get_objects()
        machines = sum(type(thing) is Machine for thing in objects)
        return machines, sum(type(thing) is AbortSignal for thing in objects), len(objects)
