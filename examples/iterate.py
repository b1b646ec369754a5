"""A run as something to iterate over, and to leave when one has seen enough.

The run goes on only as fast as its events are taken. Leaving the block before the end aborts it and waits until it has
settled: the model ends its answer, and what it had said by then is in the transcript.
"""

from __future__ import annotations

import anyio

from turnwheel import AssistantMessage
from turnwheel.agent import Agent
from turnwheel.events import MessageUpdate
from turnwheel.stream import TextDelta
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedModel


async def main() -> None:
    """Print an answer as it comes, up to its third piece."""
    counting = ScriptedAnswer(text="one, two, three, four, five, six.", deltas=6)
    agent = Agent(ScriptedModel([counting]))
    pieces = 0
    async with agent.run("count to six") as events:
        async for event in events:
            if isinstance(event, MessageUpdate) and isinstance(event.step, TextDelta):
                pieces += 1
                print(f"{pieces}: {event.step.delta!r}")
            if pieces == 3:
                break

    last = agent.state.messages[-1]
    assert isinstance(last, AssistantMessage)
    print(f"kept: {last.text!r}")
    print(f"stop reason {last.stop_reason}, still running: {agent.state.is_streaming}")


if __name__ == "__main__":
    anyio.run(main)
