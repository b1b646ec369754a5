"""Those who look on at a run: what they see of outcomes, from which alone the run can be played again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from turnwheel.agent import Agent
from turnwheel.errors import Misuse
from turnwheel.events import MessageUpdate
from turnwheel.loop import LoopConfig
from turnwheel.machine import DONE, WAITING, Machine
from turnwheel.messages import AssistantMessage, TextContent, ToolCall, user
from turnwheel.outcomes import Begun, Outcome, RunConfig
from turnwheel.stream import Finished, Retry, Started, TextDelta, ToolCallDelta, ToolCallStart
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel.tool import Context, Tool
from turnwheel.wire import read_step, to_json

RETRY = Retry(1, 3, 500, "overloaded", "the server is overloaded")


def add(arguments: Any) -> str:
    return str(arguments["a"] + 1)


def script() -> ScriptedModel:
    return ScriptedModel([ScriptedAnswer(tool_calls=[ScriptedCall("c1", "add", {"a": 1})]), ScriptedAnswer(text="2")])


class TestOutcomes:
    """on_outcome."""

    def test_the_run_plays_again_from_them(self) -> None:
        """The same outcomes at the same positions give the same steps, from a machine alone."""
        sent: list[tuple[int, Outcome]] = []
        steps: list[Any] = []
        tools = [Tool("add", run=add)]
        agent = Agent(
            script(),
            tools=tools,
            on_outcome=lambda at, outcome: sent.append((at, outcome)),
            on_step=lambda at, step: steps.append(step),
        )
        agent.run_sync("what is 1 + 1?")

        hooks = frozenset({"steering", "follow_up"})
        machine = Machine(Begun(Context(tools=tools), (user("what is 1 + 1?"),), RunConfig("m0", "off", hooks=hooks)))
        again: list[Any] = []
        while (step := machine.next()) is not DONE:
            if step is not WAITING:
                again.append(step)
                continue
            at, outcome = sent.pop(0)
            assert at == machine.position
            machine.send(outcome)
        assert [step.type for step in again] == [step.type for step in steps]
        assert not sent

    def test_one_that_cannot_be_called(self) -> None:
        """What is no function is refused when it is given."""
        with pytest.raises(Misuse, match="on_outcome"):
            LoopConfig(script(), on_outcome="x")  # type: ignore[arg-type]


class TestRetry:
    """A request that is sent again."""

    def test_it_is_seen_and_changes_nothing(self) -> None:
        """Whoever looks on sees it; events and transcript are those of a run without it."""
        answer = AssistantMessage((TextContent("hi"),))

        def told(*steps: Any) -> tuple[list[Any], list[Any]]:
            def model(request: Any, signal: Any) -> Iterator[Any]:
                yield from (*steps, Started(), TextDelta(0, "hi"), Finished(answer))

            seen: list[Any] = []
            events: list[Any] = []
            agent = Agent(model, on_outcome=lambda at, outcome: seen.append(outcome))
            agent.subscribe(lambda event: events.append(event.type))
            agent.run_sync("hello")
            return seen, events

        seen, events = told(RETRY)
        assert RETRY in seen
        assert events == told()[1]

    def test_its_json(self) -> None:
        """It is written to JSON and read back."""
        assert read_step(to_json(RETRY)) == RETRY
        assert to_json(RETRY)["type"] == "retry"


def test_a_call_is_shown_as_far_as_it_came() -> None:
    """A listener that reads the partial message of an update sees the arguments so far."""

    def model(request: Any, signal: Any) -> Iterator[Any]:
        yield Started()
        yield ToolCallStart(0, "c1", "add")
        yield ToolCallDelta(0, '{"a":1', so_far={"a": 1})
        yield Finished(AssistantMessage((ToolCall("c1", "add", {"a": 1}),), "error", error_message="x"))

    shown: list[Any] = []
    agent = Agent(model)
    agent.subscribe(lambda event: shown.append(event.message.content) if isinstance(event, MessageUpdate) else None)
    agent.run_sync("hello")

    assert shown[-1] == (ToolCall("c1", "add", {"a": 1}),)
