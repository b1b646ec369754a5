"""A hundred agents in one process, each with three tools at a time that wait for something.

An agent is a small object and no thread. The tools here wait for each other: each comes back only when all three
hundred run, so the program would never end if agents, or the tools of one agent, ran one after the other.
"""

from __future__ import annotations

from collections import Counter

import anyio

from turnwheel.agent import Agent
from turnwheel.events import Event
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel_tools import define

AGENTS, CALLS = 100, 3


async def main() -> None:
    """Run them all, and print what they did."""
    together = anyio.Event()
    running = 0
    counted: Counter[str] = Counter()

    async def meet(arguments: object) -> str:
        nonlocal running
        running += 1
        if running == AGENTS * CALLS:
            together.set()
        await together.wait()
        return "met"

    def count(event: Event) -> None:
        counted[event.type] += 1

    async def run(number: int) -> None:
        calls = [ScriptedCall(f"c{call}", "meet") for call in range(CALLS)]
        model = ScriptedModel([ScriptedAnswer(tool_calls=calls), ScriptedAnswer(text=f"agent {number} met all others")])
        agent = Agent(model, tools=[define("meet", "Wait for all others.", {"type": "object"}, meet)])
        agent.subscribe(count)
        answer = await agent.prompt("meet the others")
        assert answer is not None
        assert answer.text == f"agent {number} met all others"

    async with anyio.create_task_group() as tasks:
        for number in range(AGENTS):
            tasks.start_soon(run, number)
    print(f"{counted['agent_end']} agents, {counted['turn_end']} turns, {counted['tool_execution_end']} tool calls")
    print(f"{running} tools ran at the same time")


if __name__ == "__main__":
    anyio.run(main)
