"""A run that is iterated over: it keeps step with the consumer, and whoever leaves it, it settles."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.engine.agents import BACKENDS, agent_of, both, later, raising, results_of, roles, script, words_of, work
from tests.engine.by_hand import word
from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.errors import Misuse
from turnwheel.loop import LoopConfig, agent_loop
from turnwheel.messages import user
from turnwheel.tool import Context

WHOLE = ["agent_start", "turn_start", "start user", "end user", "start assistant", "end assistant", "turn_end"]
WHOLE_RUN = [*WHOLE, "agent_end"]


class Sleeper:
    """A tool that sleeps until it is cancelled, or aborted where it looks."""

    def __init__(self, *, looks: bool = True) -> None:
        self.looks = looks
        self.started = anyio.Event()
        self.ended: list[str] = []

    async def __call__(self, arguments: Any, *, report: Callable[[Any], None], aborted: Callable[[], bool]) -> str:
        report("asleep")
        self.started.set()
        try:
            while not (self.looks and aborted()):  # noqa: ASYNC110
                await anyio.sleep(0.001)
        except BaseException:
            self.ended.append("cancelled")
            raise
        self.ended.append("aborted")
        return "stopped"


class TestIterating:
    """The events of a run, one at a time."""

    @both
    async def test_to_the_end(self) -> None:
        """The events come in order, and the iteration ends after agent_end."""
        agent = agent_of("hi")

        assert [word(event) async for event in agent.run("go")] == WHOLE_RUN
        assert roles(agent.state.messages) == ["user", "assistant"]

    @both
    async def test_in_a_block(self) -> None:
        """In a block it is the same, and the agent is idle when the iteration ends."""
        agent = agent_of("hi")
        async with agent.run("go") as events:
            heard = [word(event) async for event in events]
            assert not agent.state.is_streaming

        assert heard == WHOLE_RUN

    @both
    async def test_begins_with_the_first_look(self) -> None:
        """A run that nobody looks at does not begin."""
        agent = agent_of("hi")
        async with agent.run("go"):
            await anyio.lowlevel.checkpoint()

        assert (roles(agent.state.messages), agent.state.is_streaming) == ([], False)

    @both
    async def test_again_after_the_end(self) -> None:
        """Iterating again over a run that has ended gives nothing, and runs nothing."""
        agent = agent_of("hi", "again")
        async with agent.run("go") as events:
            first = [word(event) async for event in events]
            again = [word(event) async for event in events]

        assert (first, again) == (WHOLE_RUN, [])
        assert roles(agent.state.messages) == ["user", "assistant"]

    @both
    async def test_listeners_hear_as_well(self) -> None:
        """A listener that subscribed before hears each event before the consumer does."""
        agent = agent_of("hi")
        heard = words_of(agent)
        async for event in agent.run("go"):
            assert heard[-1] == word(event) or heard[-2] == word(event)

        assert heard == WHOLE_RUN

    @both
    async def test_the_subscription_ends(self) -> None:
        """After the run its consumer is no listener of the agent any more."""
        agent = agent_of("hi", "again")
        async for _ in agent.run("go"):
            pass
        async with agent.run("go") as events:
            await anext(events)

        assert len(agent._listeners) == 0

    @both
    async def test_a_timeout_loses_nothing(self) -> None:
        """Waiting for the next event may be given up and taken up again; no event is lost."""

        async def slow(arguments: Any) -> str:
            await anyio.sleep(0.03)
            return "ok"

        heard: list[str] = []
        async with agent_of(["a"], "hi", run=slow).run("go") as events:
            while "agent_end" not in heard:
                with anyio.move_on_after(0.004):
                    heard.append(word(await anext(events)))

        assert heard[6:10] == ["call a", "done a", "start toolResult a", "end toolResult a"]

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("kind", ["agent", "loop"])
    def test_made_outside_of_an_event_loop(self, kind: str, backend: str) -> None:
        """A run may be set up where no event loop runs yet, and be iterated over in one."""
        config = LoopConfig(script("hi"))
        events = agent_of("hi").run("go") if kind == "agent" else agent_loop([user("go")], Context(), config)

        async def consume() -> list[str]:
            with anyio.fail_after(2):
                return [word(event) async for event in events]

        assert anyio.run(consume, backend=backend) == WHOLE_RUN

    @both
    async def test_context_variables(self) -> None:
        """The run sees the context variables of whoever iterates, on either back end."""
        agent = agent_of(["a"], "hi", run=later(lambda arguments: WHO.get()))
        WHO.set("me")
        async for event in agent.run("go"):
            if word(event) == "done a":
                break
        await agent.wait_for_idle()

        assert results_of(agent.state.messages) == {"a": "me"}


WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


class TestKeepingStep:
    """The run goes on only as fast as its events are taken."""

    @both
    async def test_one_event_ahead(self) -> None:
        """The run is never more than one event ahead of its consumer."""
        agent = agent_of(["a", "b"], "hi")
        told = words_of(agent)
        taken = 0
        async for _ in agent.run("go"):
            taken += 1
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            assert len(told) <= taken + 1

    @both
    async def test_a_slow_consumer_holds_up_tools(self) -> None:
        """While the consumer looks at the beginning of a turn, no tool of it has been started."""
        ran: list[int] = []
        agent = agent_of(["a"], "hi", run=ran.append)
        async for event in agent.run("go"):
            if word(event) == "start assistant" and not ran:
                await anyio.sleep(0.01)
                assert ran == []
                break

    @both
    async def test_follow_up_from_the_loop(self) -> None:
        """What the consumer queues while it looks at turn_end is picked up in the same run, as with a listener."""
        agent = agent_of("hi", "more")
        async for event in agent.run("go"):
            if word(event) == "turn_end" and len(agent.state.messages) == 2:
                agent.follow_up("and?")

        assert roles(agent.state.messages) == ["user", "assistant", "user", "assistant"]

    @both
    async def test_steering_from_the_loop(self) -> None:
        """What the consumer says while it looks at turn_end goes into the next turn, as with a listener."""
        agent = agent_of(["a"], "hi", "more")
        async for event in agent.run("go"):
            if word(event) == "turn_end" and len(agent.state.messages) == 3:
                agent.steer("psst")

        assert roles(agent.state.messages)[2:5] == ["toolResult", "user", "assistant"]

    @both
    async def test_abort_from_the_loop(self) -> None:
        """An abort while the consumer looks at the announcement of a call comes before its tool, as with a listener."""
        ran: list[int] = []
        agent = agent_of(["a"], "hi", run=ran.append)
        async for event in agent.run("go"):
            if word(event) == "call a":
                agent.abort()

        assert ran == []


class TestLeaving:
    """Leaving a run before its end."""

    @both
    async def test_leaving_the_block(self) -> None:
        """Whoever leaves the block aborts the run, and is back when it has settled."""
        tool = Sleeper()
        agent = agent_of(["a"], "hi", run=tool)
        heard = words_of(agent)
        async with agent.run("go") as events:
            async for event in events:
                if word(event) == "progress a":
                    break

        assert (tool.ended, heard[-1], agent.state.is_streaming) == (["aborted"], "agent_end", False)

    @both
    async def test_a_bare_break(self) -> None:
        """Whoever breaks out of a loop without a block aborts the run; wait_for_idle waits until it has settled."""
        tool = Sleeper()
        agent = agent_of(["a"], "hi", run=tool)
        heard = words_of(agent)
        async for event in agent.run("go"):
            if word(event) == "progress a":
                break
        assert agent.signal is not None
        assert agent.signal.aborted
        await agent.wait_for_idle()

        assert (heard[-1], agent.state.is_streaming) == ("agent_end", False)

    @both
    async def test_an_exception_in_the_block(self) -> None:
        """An exception of the consumer comes out as it is, after the run has settled."""
        agent = agent_of(["a"], "hi")
        error = KeyError("mine")

        async def consume() -> None:
            async with agent.run("go") as events:
                async for _ in events:
                    raise error

        with pytest.raises(KeyError) as caught:
            await consume()

        assert caught.value is error
        assert not agent.state.is_streaming

    @both
    async def test_an_exception_in_a_bare_loop(self) -> None:
        """Without a block it comes out at once, and the run is aborted."""
        agent = agent_of(["a"], "hi")

        async def consume() -> None:
            async for _ in agent.run("go"):
                raise KeyError("mine")

        with pytest.raises(KeyError):
            await consume()
        await agent.wait_for_idle()

        assert not agent.state.is_streaming

    @pytest.mark.parametrize("looks", [True, False])
    @both
    async def test_cancelled_while_it_waits(self, looks: bool) -> None:
        """Cancelling the consumer cancels the run and its tools, even one that does not look at abort."""
        tool = Sleeper(looks=looks)
        agent = agent_of(["a"], "hi", run=tool)

        async def consume() -> None:
            async with agent.run("go") as events:
                async for _ in events:
                    pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            await tool.started.wait()
            tasks.cancel_scope.cancel()

        assert (tool.ended, agent.state.is_streaming) == (["cancelled"], False)

    @both
    async def test_cancelled_in_the_body(self) -> None:
        """The same where the consumer is cancelled while it is busy with an event."""
        tool = Sleeper(looks=False)
        agent = agent_of(["a"], "hi", run=tool)
        with anyio.CancelScope() as scope:
            async with agent.run("go") as events:
                async for event in events:
                    if word(event) == "progress a":
                        scope.cancel()
                        await anyio.sleep_forever()

        assert scope.cancelled_caught
        assert (tool.ended, agent.state.is_streaming) == (["cancelled"], False)

    @both
    async def test_looking_after_leaving(self) -> None:
        """A run that was left gives no more events: the iteration ends."""
        agent = agent_of("hi")
        async with agent.run("go") as events:
            await anext(events)

        assert [event async for event in events] == []

    @both
    async def test_closed_before_it_began(self) -> None:
        """A run that is closed before its first event never begins: no model is asked."""
        agent = agent_of("hi")
        events = agent.run("go")
        await events.aclose()

        assert [event async for event in events] == []
        assert roles(agent.state.messages) == []

    @both
    async def test_closed_twice(self) -> None:
        """Closing again does nothing."""
        events = agent_of("hi").run("go")
        await anext(events)
        await events.aclose()
        await events.aclose()

    @both
    async def test_an_abort_of_another_run(self) -> None:
        """Closing a run that has ended does not abort the agent's next one."""
        agent = agent_of("hi", "there")
        first = agent.run("go")
        async for _ in first:
            pass
        async with agent.run("again") as events:
            await anext(events)
            await first.aclose()
            assert agent.signal is not None
            assert not agent.signal.aborted

    @pytest.mark.parametrize("begun", [False, True])
    @pytest.mark.parametrize("block", [False, True])
    @both
    async def test_nothing_is_left_open(self, begun: bool, block: bool) -> None:
        """However a run is dropped, nothing complains of being left open."""
        agent = agent_of("hi")
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            events = agent.run("go")
            if begun:
                await anext(events)
            if block:
                async with events:
                    pass
            del events
            await agent.wait_for_idle()
            await anyio.lowlevel.checkpoint()
            gc.collect()

        assert [str(complaint.message) for complaint in complaints] == []


class TestFailing:
    """Runs that fail."""

    @both
    async def test_busy(self) -> None:
        """Iterating while another run is on raises Misuse, which names steer and follow_up; the other goes on."""
        agent = agent_of("hi")
        async with agent.run("go") as events:
            await anext(events)
            with pytest.raises(Misuse, match=r"run while.*steer.*follow_up"):
                await anext(agent.run("too"))
            rest = [word(event) async for event in events]

        assert rest[-1] == "agent_end"

    @both
    async def test_a_port_that_raises(self) -> None:
        """What goes wrong in an agent's run is an answer with stop reason error, and the iteration ends."""
        agent = Agent(raising(OSError("no network")))
        heard = [word(event) async for event in agent.run("go")]

        assert heard[-4:] == ["start assistant", "end assistant", "turn_end", "agent_end"]
        assert agent.state.error_message == "no network"

    @both
    async def test_a_loop_that_fails(self) -> None:
        """What goes wrong in the low-level loop comes out of the iteration, each time it is asked for more."""
        events = agent_loop([user("go")], Context(), LoopConfig(raising(OSError("no network"))))
        heard: list[str] = []

        async def consume() -> None:
            async for event in events:
                heard.extend([word(event)])

        for _ in range(2):
            with pytest.raises(OSError, match="no network"):
                await consume()

        assert heard == WHOLE_RUN[:4]

    @both
    async def test_a_listener_that_raises_to_the_end(self) -> None:
        """What a listener raises while it hears of the failure comes out of the iteration."""
        agent = agent_of("hi")
        agent.subscribe(raising(ValueError("listener")))
        with pytest.raises(ValueError, match="listener"):
            async for _ in agent.run("go"):
                pass

    @both
    async def test_an_error_that_is_no_exception(self) -> None:
        """A BaseException in the run comes out as well: an iteration never ends as if all were well."""
        agent = agent_of(["a", "b"], "hi", run=later(raising(Fatal("stop everything"))))
        came_out: BaseException | None = None
        try:
            async for _ in agent.run("go"):
                pass
        except BaseException as error:
            came_out = error

        assert "stop everything" in repr(came_out)


class Fatal(BaseException):
    """An error that is no Exception, like an interrupt."""


class TestSharedSignal:
    """A signal that a program hands to the loop is the program's."""

    @both
    async def test_leaving_does_not_set_it(self) -> None:
        """Leaving one run does not abort all others that got the same signal."""
        signal = AbortSignal()
        async with agent_loop([user("go")], Context(), LoopConfig(script("hi"), signal=signal)) as events:
            await anext(events)

        assert not signal.aborted

    @both
    async def test_setting_it_aborts(self) -> None:
        """Setting it aborts the run."""
        signal = AbortSignal()
        ran: list[int] = []
        context = Context(tools=[work(ran.append)])
        async for _ in agent_loop([user("go")], context, LoopConfig(script(["a"], "hi"), signal=signal)):
            signal.abort()

        assert ran == []

    @both
    async def test_it_keeps_no_run(self) -> None:
        """A signal that outlives many runs holds none of them."""
        signal = AbortSignal()
        for _ in range(3):
            events = agent_loop([user("go")], Context(), LoopConfig(script("hi"), signal=signal))
            assert len([event async for event in events]) == len(WHOLE_RUN)

        assert signal._callbacks == []
