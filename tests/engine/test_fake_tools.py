"""The tools for tests."""

from __future__ import annotations

import pytest

from tests.engine.agents import both
from turnwheel.agent import Agent
from turnwheel.messages import ToolResultMessage
from turnwheel.testing.clock import VirtualClock
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel.testing.tools import FakeTool, hanging, passing, recording, scripted, slow


def agent_with(*fakes: FakeTool, calls: list[ScriptedCall]) -> Agent:
    """Return an agent whose model makes these calls at once, and then says that it is done."""
    model = ScriptedModel([ScriptedAnswer(tool_calls=calls), ScriptedAnswer(text="done")])
    return Agent(model, tools=[fake.tool for fake in fakes])


def results(agent: Agent) -> list[tuple[str, str, bool]]:
    """Return id, text and fate of each result."""
    return [
        (message.tool_call_id, "".join(getattr(block, "text", "") for block in message.content), message.is_error)
        for message in agent.state.messages
        if isinstance(message, ToolResultMessage) and isinstance(message.content, tuple)
    ]


@both
async def test_recording() -> None:
    """It notes the arguments of each call, and gives the same result."""
    fake = recording("work", {"n": 1})
    agent = agent_with(fake, calls=[ScriptedCall("a", "work", {"x": 1}), ScriptedCall("b", "work", {"x": 2})])
    await agent.prompt("go")

    assert fake.calls == [{"x": 1}, {"x": 2}]
    assert results(agent) == [("a", '{"n": 1}', False), ("b", '{"n": 1}', False)]


@both
async def test_scripted() -> None:
    """It gives one result to each call, raises what is an exception, and complains of a call too many."""
    fake = scripted("work", ["one", ValueError("no")])
    agent = agent_with(fake, calls=[ScriptedCall(id_, "work") for id_ in "abc"])
    await agent.prompt("go")

    assert results(agent)[:2] == [("a", "one", False), ("b", "no", True)]
    assert "once more than its script has" in results(agent)[2][1]


@both
async def test_slow() -> None:
    """Slow tools end in the order of their ticks, not of their calls, and no real time passes."""
    clock = VirtualClock()
    fakes = [slow("long", clock, 5000, "late", progress=[(10, "half")]), slow("short", clock, 20, "early")]
    agent = agent_with(*fakes, calls=[ScriptedCall("a", "long"), ScriptedCall("b", "short")])
    heard: list[str] = []
    agent.subscribe(lambda event: heard.append(f"{event.type} {getattr(event, 'tool_call_id', '')}"))
    async with passing(clock):
        await agent.prompt("go")

    assert [each for each in heard if "tool_execution" in each and "start" not in each] == [
        "tool_execution_update a",
        "tool_execution_end b",
        "tool_execution_end a",
    ]
    assert clock.tick == 5000


@both
async def test_hanging() -> None:
    """A tool that hangs ends when the run is aborted."""
    agent = agent_with(hanging(), calls=[ScriptedCall("a", "hang")])
    agent.subscribe(lambda event: agent.abort() if event.type == "tool_execution_start" else None)
    await agent.prompt("go")

    assert results(agent) == [("a", "Operation aborted", True)]


def test_they_have_names() -> None:
    """Each is a tool under the name that it was given."""
    assert [fake.tool.name for fake in (recording("a"), scripted("b", []), hanging("c"))] == ["a", "b", "c"]
    with pytest.raises(TypeError):
        slow("d")  # type: ignore[call-arg]
