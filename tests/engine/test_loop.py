"""The low-level functions: one trace as an async iterator."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.engine.agents import Model, both, later, raising, results_of, script, work
from tests.engine.by_hand import word
from turnwheel.abort import AbortSignal
from turnwheel.events import AgentEnd, Event
from turnwheel.loop import LoopConfig, agent_loop, agent_loop_continue
from turnwheel.messages import AssistantMessage, TextContent, user
from turnwheel.rules import Decision, State
from turnwheel.tool import Context
from turnwheel.transcript import Transcript

TOOLS = (work(lambda arguments: "ok"),)


async def drained(config: LoopConfig, context: Context | None = None) -> list[Event]:
    """Return all events of a trace."""
    return [event async for event in agent_loop([user("go")], context or Context(), config)]


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

    @both
    async def test_from_an_answer(self) -> None:
        """An answer is nothing to go on from, whatever follows in the queues."""
        context = Context("", Transcript([user("go"), AssistantMessage([TextContent("hi")])]))
        config = LoopConfig(script("more"), steering=lambda: [user("psst")])
        with pytest.raises(ValueError, match="Cannot continue from message role: assistant"):
            await anext(agent_loop_continue(context, config))


class TestSignal:
    """The signal of a config, which runs may share."""

    @both
    async def test_a_run_lets_go_of_it(self) -> None:
        """After a run, whether it ended, failed or was left, nothing of it hangs on the signal, and it is not set."""
        signal = AbortSignal()
        config = LoopConfig(script("hi"), signal=signal)
        async for _ in agent_loop([user("go")], Context(), config):
            pass
        async with agent_loop([user("go")], Context(), LoopConfig(script("hi"), signal=signal)) as events:
            await anext(events)
        failing = LoopConfig(script("hi"), signal=signal, steering=raising(RuntimeError("gone")))
        with pytest.raises(RuntimeError, match="gone"):
            await drained(failing)

        assert (signal._callbacks, signal.aborted) == ([], False)

    @both
    async def test_it_aborts_the_run(self) -> None:
        """A signal that is set ends the run before the model says anything."""
        signal = AbortSignal()
        signal.abort("enough")
        *_, end = await drained(LoopConfig(script("hi"), signal=signal))

        assert isinstance(end, AgentEnd)
        assert end.messages[-1] == AssistantMessage((), "aborted", error_message="Request was aborted")


class TestPlainTools:
    """Plain functions as tools: they run in worker threads."""

    @both
    async def test_run_side_by_side_in_threads(self) -> None:
        """Two calls that wait for one another both come to their end, in threads other than the event loop's."""
        meet = threading.Barrier(2, timeout=1)
        names: set[int] = {threading.get_ident()}

        def run(arguments: Any, *, call_id: str, report: Any) -> str:
            meet.wait()
            names.add(threading.get_ident())
            report(f"{call_id} met")
            return call_id

        events = await drained(LoopConfig(script(["a", "b"], "hi")), Context(tools=(work(run),)))

        assert isinstance(events[-1], AgentEnd)
        assert results_of(events[-1].messages) == {"a": "a", "b": "b"}
        assert len(names) == 3
        assert {word(event) for event in events} >= {"progress a", "progress b"}

    @both
    @pytest.mark.parametrize("waits", [False, True])
    @pytest.mark.parametrize(
        ("said", "text"), [(None, ""), (0, "0"), (False, "false"), ([], "[]"), ({"a": [1]}, '{"a": [1]}'), ("ü", "ü")]
    )
    async def test_whatever_it_returns(self, said: Any, text: str, waits: bool) -> None:
        """Any value becomes a result, from a plain function as from a coroutine function."""
        run = (later if waits else lambda function: function)(lambda arguments: said)
        *_, end = await drained(LoopConfig(script(["a"], "hi")), Context(tools=(work(run),)))

        assert isinstance(end, AgentEnd)
        assert results_of(end.messages) == {"a": text}
