"""The async driver: tools side by side, listeners one at a time, and what becomes of errors and of cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

from tests.engine.agents import BACKENDS, LONGEST, both, later, raising, when
from tests.engine.by_hand import ALL, TOOLS, answer, calls, word
from tests.engine.by_hand import text_of as end_text
from tests.engine.test_driver import Stream, World, ports_of
from turnwheel.async_driver import AsyncDriver
from turnwheel.driver import Driver
from turnwheel.errors import Stalled
from turnwheel.events import ToolExecutionEnd
from turnwheel.machine import Machine
from turnwheel.messages import AssistantMessage, ToolResult, user
from turnwheel.outcomes import HOOKS, Begun, RunConfig
from turnwheel.rules import Decision, State
from turnwheel.stream import Finished, Started, StreamStep, TextDelta
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.tool import Context, ExecutionMode

TEXT = answer("hi")
Report = Callable[[ToolResult], None]
PARTIAL = ToolResult.of("half")


class AsyncWorld(World):
    """The world of the sync driver's tests, with tools that are coroutine functions: `does` by the id of the call."""

    def __init__(self, *answers: Any, **more: Any) -> None:
        super().__init__(*answers, **more)
        self.does: dict[str, Callable[[Report], Any]] = {}

    def execute_tool(self, effect: Any, report: Report) -> Any:
        self.asked("execute_tool", effect)
        return self._run(effect.call.id, report)

    async def _run(self, call: str, report: Report) -> ToolResult:
        if call in self.does:
            await self.does[call](report)
        self.log.append(f"ended {call}")
        return ToolResult.of(call)


class Ran:
    """A run on the async driver: what is heard goes into the log of its world."""

    def __init__(
        self,
        world: World,
        listen: Callable[[Any], Any] = bool,
        mode: ExecutionMode = "parallel",
        hooks: Sequence[str] = HOOKS,
        on_decision: Callable[[Decision], object] | None = None,
        *,
        dialect: str = DEFAULT_DIALECT,
    ) -> None:
        self.events: list[Any] = []
        self.world = world
        self.listen = listen
        config = RunConfig(tool_execution=mode, hooks=frozenset(hooks))
        self.machine = Machine(Begun(Context(tools=TOOLS), (user("go"),), config), dialect)
        self.driver = AsyncDriver(self.machine, world, on_decision=on_decision)
        self.error: BaseException | None = None

    def heard(self, event: Any) -> Any:
        self.world.log.append(word(event))
        self.events.append(event)
        return self.listen(event)

    async def run(self) -> Ran:
        """Run to the end, and keep what it raises."""
        try:
            await self.driver.run(self.heard)
        except Exception as error:
            self.error = error
        return self

    @property
    def ends(self) -> dict[str, str]:
        return {end.tool_call_id: end_text(end) for end in self.events if isinstance(end, ToolExecutionEnd)}


def of(log: Sequence[str], *beginnings: str) -> list[str]:
    """Return the entries of a log that begin so."""
    return [entry for entry in log if entry.startswith(beginnings)]


async def steps(times: int = 10) -> None:
    """Let others go on for a while."""
    for _ in range(times):
        await anyio.lowlevel.checkpoint()


class TestTools:
    """Tools side by side, or one after the other."""

    @both
    async def test_side_by_side(self) -> None:
        """All tools of a parallel batch run at once; they end as they come, and results come in the calls' order."""
        world, both_run = AsyncWorld(answer(*calls("c1", "c2")), TEXT), anyio.Event()

        async def first(report: Report) -> None:
            await both_run.wait()
            await steps()

        async def second(report: Report) -> None:
            both_run.set()

        world.does = {"c1": first, "c2": second}
        await Ran(world).run()

        assert of(world.log, "done", "start toolResult") == [
            *["done c2", "done c1", "start toolResult c1", "start toolResult c2"]
        ]

    @both
    async def test_one_after_the_other(self) -> None:
        """In a sequential batch a tool starts when the one before has ended and been told of."""
        world = AsyncWorld(answer(*calls("c1", "c2")), TEXT)
        world.does = {"c1": later(bool), "c2": later(bool)}
        await Ran(world, mode="sequential").run()

        assert of(world.log, "Execute", "ended", "done") == [
            *["ExecuteTool c1", "ended c1", "done c1", "ExecuteTool c2", "ended c2", "done c2"]
        ]

    @both
    async def test_early_progress(self) -> None:
        """What a tool reports before it is first suspended is heard before the next tool starts."""
        world = AsyncWorld(answer(*calls("c1", "c2")), TEXT)

        async def early(report: Report) -> None:
            report(PARTIAL)
            await steps()

        world.does = {"c1": early, "c2": early}
        await Ran(world).run()

        assert of(world.log, "Execute", "progress") == [
            *["ExecuteTool c1", "progress c1", "ExecuteTool c2", "progress c2"]
        ]

    @pytest.mark.parametrize("mode", ["parallel", "sequential"])
    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2")])
    @both
    async def test_live_progress(self, ids: tuple[str, ...], mode: ExecutionMode) -> None:
        """All that a tool reports is heard while it runs, also where it runs alone, and not only the first time."""
        world = AsyncWorld(answer(*calls(*ids)), TEXT)

        async def telling(report: Report) -> None:
            for _ in range(3):
                report(PARTIAL)
                await steps()

        world.does["c1"] = telling
        await Ran(world, mode=mode).run()

        assert of(world.log, "progress", "ended c1") == [*["progress c1"] * 3, "ended c1"]

    @both
    async def test_progress_is_told_in_order(self) -> None:
        """What a tool reports while a listener is busy with what it said before waits its turn."""
        world, told = AsyncWorld(answer(*calls("c1")), TEXT), list[str]()

        async def telling(report: Report) -> None:
            for text in "abc":
                report(ToolResult.of(text))
                await steps(2)

        async def slow(event: Any) -> None:
            if event.type == "tool_execution_update":
                await steps(7)
                told.append(event.partial_result.content[0].text)

        world.does["c1"] = telling
        await Ran(world, slow).run()

        assert told == ["a", "b", "c"]

    @both
    async def test_late_progress(self) -> None:
        """What a tool reports after it has come back is dropped, whatever goes on by then, and raises nothing."""
        world, kept = AsyncWorld(answer(*calls("c1", "c2")), TEXT), list[Report]()

        async def keeping(report: Report) -> None:
            kept.append(report)

        async def tattling(report: Report) -> None:
            await steps()
            kept[0](PARTIAL)
            await steps()

        world.does = {"c1": keeping, "c2": tattling}
        ran = await Ran(world, mode="sequential").run()
        kept[0](PARTIAL)

        assert (ran.error, of(world.log, "progress")) == (None, [])

    @both
    async def test_after_hooks_side_by_side(self) -> None:
        """The after hook of one call does not hold up the other calls of a parallel batch."""
        world, second_ended = AsyncWorld(answer(*calls("c1", "c2")), TEXT), anyio.Event()

        async def slow(report: Report) -> None:
            await steps()

        async def hook(effect: Any) -> None:
            if effect.call.id == "c1":
                await second_ended.wait()

        world.does = {"c2": slow}
        world.after_tool_call = hook  # type: ignore[method-assign]
        await Ran(world, when("done c2", second_ended.set)).run()

        assert of(world.log, "done") == ["done c2", "done c1"]

    def test_no_task_for_a_tool_that_runs_alone(self) -> None:
        """A sequential batch of 200 calls starts no task on asyncio."""
        ids = [f"c{number}" for number in range(200)]
        world, made = AsyncWorld(answer(*calls(*ids)), TEXT), list[Any]()
        world.does = dict.fromkeys(ids, later(bool))

        def factory(loop: Any, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
            made.append(coroutine)
            return asyncio.Task(coroutine, loop=loop, **more)

        async def run() -> int:
            asyncio.get_running_loop().set_task_factory(factory)
            await Ran(world, mode="sequential").run()
            return len(made)

        assert anyio.run(run) == 0
        assert len(of(world.log, "done")) == 200

    def test_no_task_on_trio(self) -> None:
        """The same on trio."""
        ids = [f"c{number}" for number in range(200)]
        world, tasks = AsyncWorld(answer(*calls(*ids)), TEXT), CountTasks()
        world.does = dict.fromkeys(ids, later(bool))

        async def run() -> int:
            before = tasks.count
            await Ran(world, mode="sequential").run()
            return tasks.count - before

        assert trio.run(run, instruments=[tasks]) == 0
        assert len(of(world.log, "done")) == 200


class CountTasks(trio.abc.Instrument):
    """Counts the tasks that are started."""

    count = 0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


class TestListeners:
    """Listeners are awaited, one event at a time."""

    @both
    async def test_awaited_in_order(self) -> None:
        """The next event, and the next effect, waits until the listener is done with this one."""
        world = AsyncWorld(answer(*calls("c1", "c2")), TEXT)
        world.does = {"c1": later(bool), "c2": later(bool)}
        at_once: list[str] = []

        async def slow(event: Any) -> None:
            before = [*world.log]
            await steps(4)
            at_once.extend(entry for entry in world.log[len(before) :] if not entry.startswith("ended"))

        await Ran(world, slow).run()

        assert at_once == []

    @pytest.mark.parametrize("at", ["agent_start", "start assistant", "call c1", "progress c1", "done c1", "agent_end"])
    @both
    async def test_one_that_raises(self, at: str) -> None:
        """The run breaks off with that very exception, and nothing more is heard or begun."""
        error = ValueError("listener")
        world = AsyncWorld(answer(*calls("c1")), TEXT)

        async def telling(report: Report) -> None:
            report(PARTIAL)
            await steps()

        world.does["c1"] = telling
        ran = await Ran(world, when(at, raising(error))).run()

        assert ran.error is error
        assert (of(world.log, "ended")[1:], [entry for entry in world.log if not entry.startswith("ended")][-1]) == (
            [],
            at,
        )
        assert (ran.machine.state, ran.machine.failure) == (State.Done, "listener")

    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2")])
    @both
    async def test_one_that_raises_while_tools_run(self, ids: tuple[str, ...]) -> None:
        """The tools that are running are cancelled, also one that runs alone: the run does not wait for them."""
        world, cancelled = AsyncWorld(answer(*calls(*ids)), TEXT), list[str]()

        async def hanging(report: Report) -> None:
            report(PARTIAL)
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.append("c")

        world.does = dict.fromkeys(ids, hanging)
        ran = await Ran(world, when("progress c1", raising(ValueError("listener")))).run()

        assert str(ran.error) == "listener"
        assert cancelled

    @pytest.mark.parametrize("at", ["turn_start", "progress c1"])
    @both
    async def test_an_interrupt(self, at: str) -> None:
        """An error that is no Exception comes out as it is, not inside a group, as on the sync driver."""

        async def telling(report: Report) -> None:
            report(PARTIAL)
            await steps()

        world = AsyncWorld(answer(*calls("c1")), TEXT)
        world.does["c1"] = telling
        ran = Ran(world, when(at, raising(Interrupt())))
        with pytest.raises(Interrupt):
            await ran.driver.run(ran.heard)

        assert ran.machine.state is State.Done


class Interrupt(BaseException):
    """An error that is no Exception."""


class TestDecisions:
    """An observer of decisions."""

    @pytest.mark.parametrize("trigger", ["begin", "steering", "update", "returned"])
    @both
    async def test_one_that_raises(self, trigger: str) -> None:
        """What it raises comes out as it is, whenever it is raised, and the machine has failed with it."""
        error = ValueError("observer")
        world = AsyncWorld(answer(*calls("c1")), TEXT)

        async def telling(report: Report) -> None:
            report(PARTIAL)
            await steps()

        world.does["c1"] = telling

        def observe(decision: Decision) -> None:
            if decision.rule.trigger == trigger:
                raise error

        ran = await Ran(world, on_decision=observe).run()

        assert ran.error is error
        assert (ran.machine.state, ran.machine.failure) == (State.Done, "observer")


class TestPorts:
    """Ports that raise, at once or after they were suspended."""

    @pytest.mark.parametrize("suspended", [False, True])
    @pytest.mark.parametrize(("dialect", "port"), [(name, port) for name in ALL for port in ports_of(name)])
    @both
    async def test_of_the_run(self, dialect: str, port: str, suspended: bool) -> None:
        """The run fails with that very exception, and no event is made up for it."""
        error = KeyError("broken")
        world = AsyncWorld(answer(*calls("c1")), TEXT)
        setattr(world, port, later(raising(error)) if suspended else raising(error))
        ran = await Ran(world, dialect=dialect).run()

        assert ran.error is error
        assert (ran.machine.failure, "agent_end" in world.log) == ("'broken'", False)

    @pytest.mark.parametrize("suspended", [False, True])
    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2")])
    @pytest.mark.parametrize("port", ["prepare_arguments", "before_tool_call", "execute_tool", "after_tool_call"])
    @both
    async def test_of_a_call(self, port: str, ids: tuple[str, ...], suspended: bool) -> None:
        """The call gets an error result, and the run goes on."""
        world = AsyncWorld(answer(*calls(*ids)), TEXT)
        setattr(world, port, later(raising(ValueError("broken"))) if suspended else raising(ValueError("broken")))
        ran = await Ran(world).run()

        assert (ran.error, ran.ends) == (None, dict.fromkeys(ids, "broken"))

    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2")])
    @pytest.mark.parametrize("port", ["prepare_arguments", "before_tool_call", "execute_tool", "after_tool_call"])
    def test_somebody_elses_cancellation(self, port: str, ids: tuple[str, ...]) -> None:
        """A port of a call that lets a cancellation through which is not the run's has failed, and the run goes on."""
        world = AsyncWorld(answer(*calls(*ids)), TEXT)
        setattr(world, port, later(raising(asyncio.CancelledError())))
        ran = anyio.run(Ran(world).run)

        assert (ran.error, ran.ends) == (None, dict.fromkeys(ids, "CancelledError"))

    @both
    async def test_nothing_to_wait_for(self) -> None:
        """A host that has nothing left to wait for is told so; the machine has failed with the same words."""
        world = World(answer(*calls("c1")), TEXT)
        world.tools["c1"] = lambda report: None
        ran = await Ran(world).run()

        assert isinstance(ran.error, Stalled)
        assert ran.machine.failure == str(ran.error)

    def test_it_fails_with_the_same_words(self) -> None:
        """Whatever breaks a run off, both drivers leave the machine with the same failure."""
        for broken in ("wait", "now", "call_model"):
            world = World(answer(*calls("c1")), TEXT, broken=broken, error=ValueError("the clock"))
            world.tools["c1"] = lambda report: None
            ran = anyio.run(Ran(world).run)

            assert (str(ran.error), ran.machine.failure) == ("the clock", "the clock"), broken


class Streamed:
    """An answer as an async iterator that notes whether it was closed."""

    def __init__(self, *steps: StreamStep | Exception) -> None:
        self.closed = 0
        self._steps = iter(steps)

    def __aiter__(self) -> AsyncIterator[StreamStep]:
        return self

    async def __anext__(self) -> StreamStep:
        await anyio.lowlevel.checkpoint()
        step = next(self._steps, None)
        if step is None:
            await anyio.sleep_forever()
        if isinstance(step, Exception):
            raise step
        assert step is not None
        return step

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed += 1


def answering(stream: Any, *, suspended: bool = False) -> World:
    """Return a world whose model gives this stream."""
    world = World()
    world.call_model = later(lambda effect: stream) if suspended else lambda effect: stream  # type: ignore[method-assign]
    return world


class TestStreams:
    """The answer of the model."""

    @pytest.mark.parametrize("suspended", [False, True])
    @pytest.mark.parametrize("kind", [Stream, Streamed])
    @both
    async def test_sync_and_async(self, kind: Any, suspended: bool) -> None:
        """An iterator and an async iterator give the same events, whether the port is a coroutine function or not."""
        stream = kind(Started(), TextDelta(0, "a"), TextDelta(0, "b"), TEXT)
        world = answering(stream, suspended=suspended)
        await Ran(world).run()

        assert of(world.log, "start a", "update", "end a") == [
            *["start assistant", "update text_delta", "update text_delta", "end assistant"]
        ]
        assert stream.closed == 1

    @both
    async def test_nothing_is_read_behind_the_end(self) -> None:
        """What would come after Finished is not read."""
        stream = Streamed(TEXT, ValueError("behind"))

        assert (await Ran(answering(stream)).run()).error is None

    @both
    async def test_an_end_without_finished(self) -> None:
        """A stream that just ends fails the run."""

        async def ends() -> AsyncIterator[StreamStep]:
            yield Started()

        ran = await Ran(answering(ends())).run()

        assert str(ran.error) == "the model's stream ended without Finished"

    @both
    async def test_closed_when_it_fails(self) -> None:
        """A stream that raises is closed, and the run fails with what it raised."""
        stream = Streamed(Started(), OSError("reset"))
        ran = await Ran(answering(stream)).run()

        assert (str(ran.error), stream.closed) == ("reset", 1)

    @both
    async def test_closed_when_a_listener_raises(self) -> None:
        """A stream is closed where a listener breaks the run off in the middle of the answer."""
        stream = Streamed(Started(), TextDelta(0, "a"), TEXT)
        await Ran(answering(stream), when("update text_delta", raising(ValueError()))).run()

        assert stream.closed == 1

    @both
    async def test_closed_when_cancelled(self) -> None:
        """A stream is closed, to the end of its closing, where the run is cancelled in the middle of the answer."""
        stream = Streamed(Started())
        ran = Ran(answering(stream))
        with anyio.move_on_after(0.01):
            await ran.run()

        assert (stream.closed, ran.machine.state) == (1, State.Done)

    @both
    async def test_a_stream_that_does_not_close(self) -> None:
        """A stream that takes very long to close does not hold up a cancelled run for as long."""
        stream = Streamed(Started())
        stream.aclose = partial(anyio.sleep, 2 * LONGEST)  # type: ignore[method-assign]
        with anyio.move_on_after(0.01):
            await Ran(answering(stream)).run()

    @both
    async def test_an_answer_of_whatever_kind(self) -> None:
        """Closing that raises does not spoil an answer that is whole."""
        stream = Stream(TEXT, close=OSError("close"))

        assert (await Ran(answering(stream)).run()).error is None


class TestCancelling:
    """The task that runs the driver is cancelled."""

    def hanging(self, *ids: str) -> tuple[Ran, list[str]]:
        """Return a run whose tools hang, and those that noticed that they were cancelled."""
        world, cancelled = AsyncWorld(answer(*calls(*ids)), TEXT), list[str]()

        def hang(name: str) -> Callable[[Report], Any]:
            async def tool(report: Report) -> None:
                try:
                    await anyio.sleep_forever()
                finally:
                    cancelled.append(name)

            return tool

        world.does = {name: hang(name) for name in ids}
        return Ran(world), cancelled

    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2", "c3")])
    @both
    async def test_by_a_scope(self, ids: tuple[str, ...]) -> None:
        """All tools are cancelled with the run, and the machine is done."""
        ran, cancelled = self.hanging(*ids)
        with anyio.move_on_after(0.01) as scope:
            await ran.run()

        assert scope.cancelled_caught
        assert (sorted(cancelled), ran.machine.state) == ([*ids], State.Done)

    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2", "c3")])
    def test_by_asyncio(self, ids: tuple[str, ...]) -> None:
        """The same for a task of asyncio that is cancelled; it ends as cancelled."""
        ran, cancelled = self.hanging(*ids)

        async def run() -> None:
            task = asyncio.create_task(ran.run())
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(run())

        assert (sorted(cancelled), ran.machine.state) == ([*ids], State.Done)

    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2", "c3")])
    def test_by_trio(self, ids: tuple[str, ...]) -> None:
        """The same for a scope of trio."""
        ran, cancelled = self.hanging(*ids)

        async def run() -> None:
            with trio.move_on_after(0.01):
                await ran.run()

        trio.run(run)

        assert (sorted(cancelled), ran.machine.state) == ([*ids], State.Done)

    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2")])
    @both
    async def test_reports_of_survivors(self, ids: tuple[str, ...]) -> None:
        """What somebody still reports for a tool of a cancelled run is dropped, and raises nothing."""
        ran, kept = Ran(AsyncWorld(answer(*calls(*ids)), TEXT)), list[Report]()

        async def keeping(report: Report) -> None:
            kept.append(report)
            await anyio.sleep_forever()

        assert isinstance(ran.world, AsyncWorld)
        ran.world.does = dict.fromkeys(ids, keeping)
        with anyio.move_on_after(0.01):
            await ran.run()
        for report in kept:
            report(PARTIAL)

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("ids", [("c1",), ("c1", "c2")])
    def test_at_every_point(self, ids: tuple[str, ...], backend: str) -> None:
        """Wherever a run is cancelled, it ends, and the machine is done."""
        ended = False
        limit = 0
        while not ended:
            limit += 1
            ended = anyio.run(self._cancelled_after, ids, limit, backend=backend)

        assert limit > 10

    async def _cancelled_after(self, ids: tuple[str, ...], limit: int) -> bool:
        """Cancel a run after so many turns of the event loop; say whether it had ended by then."""
        world = AsyncWorld(answer(*calls(*ids)), TEXT)
        world.does = dict.fromkeys(ids, later(lambda report: report(PARTIAL)))
        world.before_tool_call = later(bool)  # type: ignore[method-assign]
        world.after_tool_call = later(lambda effect: None)  # type: ignore[method-assign]
        ran, ended = Ran(world, later(bool)), False

        async def run() -> None:
            nonlocal ended
            await ran.run()
            ended = True

        with anyio.fail_after(LONGEST):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await steps(limit)
                tasks.cancel_scope.cancel()

        assert (ran.machine.state, ran.machine.awaited) == (State.Done, [])
        return ended


def test_the_worlds_are_alike() -> None:
    """On a world that answers at once, both drivers do the very same things in the same order."""
    logs = []
    for run in (lambda ran: anyio.run(ran.run), lambda ran: Driver(ran.machine, ran.world).run(ran.heard)):
        ran = Ran(World(Finished(AssistantMessage(calls("c1", "c2"), "toolUse")), TEXT))
        run(ran)
        logs.append(ran.world.log)

    assert logs[0] == logs[1]
