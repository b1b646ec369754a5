"""The low-level functions: one trace as an async iterator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.agents import Model, both, later, raising, results_of, script, work
from tests.engine.by_hand import word
from turnwheel.events import AgentEnd
from turnwheel.loop import LoopConfig, agent_loop, agent_loop_continue
from turnwheel.messages import user
from turnwheel.rules import Decision, State
from turnwheel.tool import Context
from turnwheel.transcript import Transcript

TOOLS = (work(lambda arguments: "ok"),)


class TestLoop:
    """A trace that begins with prompts."""

    @both
    async def test_ends_with_all_that_it_added(self) -> None:
        """The last event carries the prompts, answers and results of the trace, and not what was there before."""
        context = Context("", Transcript([user("before")]), TOOLS)
        events = [event async for event in agent_loop([user("go")], context, LoopConfig(script(["a"], "hi")))]

        assert isinstance(events[-1], AgentEnd)
        assert [message.role for message in events[-1].messages] == ["user", "assistant", "toolResult", "assistant"]
        assert results_of(events[-1].messages) == {"a": "ok"}

    @both
    async def test_every_hook_is_offered(self) -> None:
        """The loop hands on every hook in every dialect, also those that the Agent of that version does not."""
        asked: list[str] = []

        def note(name: str, answer: Any = None) -> Any:
            def hook(*_: Any) -> Any:
                asked.append(name)
                return answer

            return later(hook)

        config = LoopConfig(
            script(["a"], "hi"),
            dialect="pi-0.80.2",
            steering=note("steering"),
            follow_up=note("follow up"),
            prepare_next_turn=note("prepare"),
            should_stop=note("stop", False),
            before_tool_call=note("before"),
            after_tool_call=note("after"),
        )
        async for _ in agent_loop([user("go")], Context(tools=TOOLS), config):
            pass

        assert asked == [
            *("steering", "before", "after", "prepare", "stop"),
            *("steering", "prepare", "stop", "steering", "follow up"),
        ]

    @both
    async def test_what_a_callback_raises_comes_out(self) -> None:
        """An error outside a tool call ends the iteration, and there is no agent_end."""
        config = LoopConfig(script("hi"), steering=raising(RuntimeError("queue is gone")))
        seen: list[str] = []

        async def iterate() -> None:
            async for event in agent_loop([user("go")], Context(), config):
                seen.append(word(event))  # noqa: PERF401 - what was seen before the error counts

        with pytest.raises(RuntimeError, match="queue is gone"):
            await iterate()

        assert seen[-1] == "end user"

    @both
    async def test_decisions_are_told(self) -> None:
        """Each fired rule is told, in order, down to the one that ends the trace."""
        decisions: list[Decision] = []
        config = LoopConfig(script("hi"), on_decision=decisions.append)
        async for _ in agent_loop([user("go")], Context(), config):
            pass

        assert decisions[0].rule.name == "AwaitSteering begin prompt"
        assert decisions[-1].rule.dest is State.Done


class TestContinue:
    """A trace that goes on from a context."""

    @both
    async def test_says_nothing_of_old_messages(self) -> None:
        """The first message that is told of is the answer."""
        model = Model("hi")
        context = Context("", Transcript([user("go")]))
        seen = [word(event) async for event in agent_loop_continue(context, LoopConfig(model))]

        assert seen[:3] == ["agent_start", "turn_start", "start assistant"]
        assert [message.role for message in model.requests[0].messages] == ["user"]

    @both
    async def test_from_nothing(self) -> None:
        """An empty context is an error before any event."""
        with pytest.raises(ValueError, match="Cannot continue: no messages in context"):
            await anext(agent_loop_continue(Context(), LoopConfig(script("hi"))))
