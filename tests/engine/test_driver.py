"""The sync driver: it performs what the machine asks for, in order, and passes on what goes wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

import pytest

from tests.engine.by_hand import ALL, BOTH, LATEST, TOOLS, Hand, answer, calls, text_of, word
from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.abort import AbortSignal
from turnwheel.driver import Driver
from turnwheel.errors import Misuse, Stalled, UnexpectedOutcome
from turnwheel.events import ToolExecutionEnd
from turnwheel.machine import Machine
from turnwheel.messages import AssistantMessage, ToolResult, user
from turnwheel.outcomes import HOOKS, BeforeResult, Begun, RunConfig
from turnwheel.ports import EFFECTS
from turnwheel.rules import Decision, State
from turnwheel.stream import Finished, Started, StreamStep, TextDelta
from turnwheel.tool import Context

CALLING = answer(*calls("c1", "c2"))
TEXT = answer("hi")


Report = Callable[[ToolResult], None]


class Stream:
    """The steps of an answer, which notes how far it was read and whether it was closed. An exception is raised."""

    def __init__(self, *steps: StreamStep | Exception, close: Exception | None = None) -> None:
        self.steps = deque(steps)
        self.broken = close
        self.read = 0
        self.closed = 0

    def __iter__(self) -> Iterator[StreamStep]:
        return self

    def __next__(self) -> StreamStep:
        if not self.steps:
            raise StopIteration
        self.read += 1
        step = self.steps.popleft()
        if isinstance(step, Exception):
            raise step
        return step

    def close(self) -> None:
        self.closed += 1
        if self.broken is not None:
            raise self.broken


def ports_of(name: str) -> list[str]:
    """Return the ports that a run of the dialect calls outside of tool calls."""
    ends = ["prepare_request", "finish_turn"] if name == LATEST else ["ask_to_stop"]
    return ["poll_steering", "poll_follow_up", "call_model", "prepare_next_turn", *ends]


class World:
    """A host that answers at once, notes all that it is asked, and lets the port of a name in `broken` raise."""

    def __init__(self, *answers: StreamStep | Stream, broken: str = "", error: BaseException | None = None) -> None:
        streams = [item if isinstance(item, Stream) else Stream(Started(), item) for item in answers]
        self.answers: deque[Iterator[StreamStep]] = deque(streams)
        self.broken = broken
        self.error = error if error is not None else KeyError("broken")
        self.log: list[str] = []
        self.tools: dict[str, Callable[[Report], ToolResult | None]] = {}
        self.coming: deque[list[oc.Returned]] = deque()
        self.running: dict[str, int] = {}

    def asked(self, name: str, effect: Any) -> None:
        self.log.append(word(effect))
        if name == self.broken:
            raise self.error

    def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> Any:
        self.asked("poll_steering", effect)

    def poll_follow_up(self, effect: fx.PollFollowUp) -> Any:
        self.asked("poll_follow_up", effect)

    def call_model(self, effect: fx.CallModel) -> Iterator[StreamStep]:
        self.asked("call_model", effect)
        return self.answers.popleft()

    def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> Any:
        self.asked("prepare_next_turn", effect)

    def prepare_request(self, effect: fx.PrepareRequest) -> Any:
        self.asked("prepare_request", effect)

    def ask_to_stop(self, effect: fx.AskToStop) -> Any:
        self.asked("ask_to_stop", effect)

    def finish_turn(self, effect: fx.FinishTurn) -> Any:
        self.asked("finish_turn", effect)

    def before_tool_call(self, effect: fx.BeforeToolCall) -> BeforeResult | None:
        self.asked("before_tool_call", effect)
        return None

    def after_tool_call(self, effect: fx.AfterToolCall) -> Any:
        self.asked("after_tool_call", effect)

    def prepare_arguments(self, effect: fx.PrepareArguments) -> Any:
        self.asked("prepare_arguments", effect)
        return {}

    def execute_tool(self, effect: fx.ExecuteTool, report: Report) -> ToolResult | None:
        self.asked("execute_tool", effect)
        self.running[effect.call.id] = effect.id
        does = self.tools.get(effect.call.id)
        return ToolResult.of("ok") if does is None else does(report)

    def now(self) -> int | None:
        if self.broken == "now":
            raise self.error
        return None

    def wait(self) -> Sequence[oc.Returned] | None:
        self.log.append("wait")
        if self.broken == "wait":
            raise self.error
        return self.coming.popleft() if self.coming else None


def slow(world: World, *names: str) -> World:
    """Let the tools of these calls come back through `wait` only."""
    world.tools.update(dict.fromkeys(names, lambda _: None))
    return world


class Ran:
    """What came of a run: the events, what it returned or raised, its machine and its decisions."""

    def __init__(
        self,
        world: World,
        *,
        dialect: str = BOTH[1],
        hooks: Sequence[str] = HOOKS,
        listen: Callable[[Any], object] = bool,
        signal: AbortSignal | None = None,
        prompts: tuple[Any, ...] | None = (user("go"),),
    ) -> None:
        self.events: list[Any] = []
        self.decisions: list[Decision] = []
        self.error: BaseException | None = None
        self.machine = Machine(Begun(Context(tools=TOOLS), prompts, RunConfig(hooks=frozenset(hooks))), dialect)

        def heard(event: Any) -> None:
            world.log.append(word(event))
            self.events.append(event)
            listen(event)

        self.driver = Driver(self.machine, world, signal=signal, on_decision=self.decisions.append)
        try:
            self.messages = self.driver.run(heard)
        except BaseException as error:
            self.error = error

    @property
    def words(self) -> list[str]:
        """The words of the events."""
        return [word(event) for event in self.events]

    @property
    def ends(self) -> dict[str, str]:
        """The text of each call's result."""
        return {event.tool_call_id: text_of(event) for event in self.events if isinstance(event, ToolExecutionEnd)}


def when(name: str, act: Callable[[], object]) -> Callable[[Any], object]:
    """Return a listener that acts when the event of these words comes."""
    return lambda event: act() if word(event) == name else None


def raising(error: BaseException) -> Callable[[], object]:
    """Return something that raises."""

    def act() -> None:
        raise error

    return act


class TestRunning:
    """A run that goes well."""

    @pytest.mark.parametrize("dialect", BOTH)
    def test_to_its_end(self, dialect: str) -> None:
        """All effects are performed, and what the trace added is returned."""
        ran = Ran(World(CALLING, TEXT), dialect=dialect)

        assert ran.error is None
        assert [message.role for message in ran.messages] == [
            "user",
            "assistant",
            "toolResult",
            "toolResult",
            "assistant",
        ]
        assert ran.machine.state is State.Done

    def test_effects_and_events_in_order(self) -> None:
        """An effect is performed after the events before it were heard, and before those after it."""
        world = World(TEXT)
        Ran(world)

        assert world.log == [
            *["agent_start", "turn_start", "start user", "end user", "PollSteering", "CallModel"],
            *["start assistant", "end assistant", "turn_end", "AskToStop"],
            *["PollSteering", "PollFollowUp", "agent_end"],
        ]

    def test_every_effect_has_a_port(self) -> None:
        """The driver knows each kind of effect."""
        assert {*get_args(fx.Effect)} == EFFECTS

    def test_all_decisions_are_seen(self) -> None:
        """on_decision sees each decision once, in order, before the step that it led to."""
        told = Ran(World(CALLING, TEXT)).decisions
        by_hand = Hand(Machine(Begun(Context(tools=TOOLS), (user("go"),))))
        by_hand.drain()

        assert [decision.at for decision in told] == sorted(decision.at for decision in told)
        assert told[: len(by_hand.decisions)] == by_hand.decisions
        assert [d.rule.name for d in told if d.call == 1] == [
            "Listed announce known",
            "Announced arguments",
            "Announced before !aborted !blocked",
            "Prepared execute",
            "Executing returned",
            "Finalizing after",
        ]

    def test_decisions_come_before_their_step(self) -> None:
        """When an event is heard, the decision that emitted it has been seen."""
        seen: list[str] = []
        machine = Machine(Begun(prompts=(), config=RunConfig(hooks=frozenset())))
        driver = Driver(machine, World(TEXT), on_decision=lambda decision: seen.append(decision.rule.name))
        driver.run(lambda event: seen.append(word(event)))

        assert seen[:3] == ["AwaitSteering begin prompt", "agent_start", "turn_start"]
        assert seen.index("CheckStop ready !hard_stop !calls") < seen.index("turn_end")

    def test_an_observer_that_raises(self) -> None:
        """An exception of on_decision comes out, and the machine has failed with it."""
        error = ValueError("observer")
        machine = Machine(Begun(prompts=()))
        driver = Driver(machine, World(TEXT), on_decision=lambda _: raising(error)())

        with pytest.raises(ValueError, match="observer"):
            driver.run(bool)
        assert (machine.state, machine.failure) == (State.Done, "observer")

    def test_no_observer(self) -> None:
        """Without on_decision a run goes the same way."""
        machine = Machine(Begun(prompts=(), config=RunConfig(hooks=frozenset())))

        assert len(Driver(machine, World(TEXT)).run(bool)) == 1


class TestListeners:
    """What a listener does."""

    @pytest.mark.parametrize("at", ["agent_start", "start assistant", "call c1", "done c1", "turn_end", "agent_end"])
    def test_one_that_raises(self, at: str) -> None:
        """The run breaks off with that very exception; no further event is heard and nothing more is performed."""
        error, world = RuntimeError("listener"), World(CALLING, TEXT)
        ran = Ran(world, listen=when(at, raising(error)))

        assert ran.error is error
        assert (ran.words[-1], world.log[-1]) == (at, at)
        assert ran.machine.failure == "listener"

    def test_no_end_is_made_up(self) -> None:
        """A run that a listener broke off has no agent_end."""
        ran = Ran(World(TEXT), listen=when("turn_end", raising(ValueError("no"))))

        assert "agent_end" not in ran.words

    def test_an_interrupt_is_no_different(self) -> None:
        """An interrupt from a listener comes out, too, and the machine has ended."""
        ran = Ran(World(TEXT), listen=when("turn_start", raising(KeyboardInterrupt())))

        assert isinstance(ran.error, KeyboardInterrupt)
        assert ran.machine.state is State.Done

    def test_the_stream_is_closed(self) -> None:
        """Where a listener raises in the middle of an answer, its stream is closed and read no further."""
        stream = Stream(Started(), TextDelta(0, "a"), TextDelta(0, "b"), TEXT)
        Ran(World(stream), listen=when("update text_delta", raising(RuntimeError())))

        assert (stream.read, stream.closed) == (2, 1)

    @pytest.mark.parametrize("dialect", BOTH)
    def test_abort_from_a_listener(self, dialect: str) -> None:
        """An abort while a call is announced is heard: that call ends with it, and the model is asked again."""
        signal = AbortSignal()
        ran = Ran(World(CALLING, TEXT), dialect=dialect, signal=signal, listen=when("call c1", signal.abort))

        assert ran.ends == {"c1": "Operation aborted"}
        assert ran.words[-1] == "agent_end"

    def test_abort_before_the_run(self) -> None:
        """A signal that was set before the driver was made counts from the beginning."""
        signal = AbortSignal()
        signal.abort("changed my mind")
        ran = Ran(World(CALLING, TEXT), signal=signal)

        assert ran.ends == {"c1": "Operation aborted"}
        assert ran.machine.abort_reason == "changed my mind"

    def test_abort_while_tools_are_started(self) -> None:
        """An abort in a tool that is being started comes before the next one is started."""
        signal, world = AbortSignal(), World(CALLING, TEXT)

        def stop(report: Report) -> ToolResult:
            signal.abort()
            return ToolResult.of("done anyway")

        world.tools["c1"] = stop
        ran = Ran(world, signal=signal)

        assert ran.ends == {"c2": "Operation aborted", "c1": "done anyway"}


class TestPorts:
    """Ports that raise."""

    @pytest.mark.parametrize(("dialect", "port"), [(name, port) for name in ALL for port in ports_of(name)])
    def test_of_the_run(self, port: str, dialect: str) -> None:
        """The run fails with that very exception, and no event is made up for it."""
        error = KeyError("broken")
        world = World(CALLING, TEXT, broken=port, error=error)
        ran = Ran(world, dialect=dialect)

        assert ran.error is error
        assert "agent_end" not in ran.words
        assert ran.machine.failure == "'broken'"
        assert ran.decisions[-1].rule.trigger == "failed"

    @pytest.mark.parametrize("port", ["prepare_arguments", "before_tool_call", "execute_tool", "after_tool_call"])
    def test_of_a_call(self, port: str) -> None:
        """The call gets an error result with the exception's text, and the run goes on."""
        ran = Ran(World(CALLING, TEXT, broken=port, error=ValueError("broken")))

        assert ran.error is None
        assert ran.ends == {"c1": "broken", "c2": "broken"}
        assert all(event.is_error for event in ran.events if isinstance(event, ToolExecutionEnd))

    @pytest.mark.parametrize("port", ["execute_tool", "before_tool_call"])
    def test_an_exception_without_text(self, port: str) -> None:
        """An exception that says nothing is told by its type."""
        assert Ran(World(CALLING, TEXT, broken=port, error=TimeoutError())).ends["c1"] == "TimeoutError"

    @pytest.mark.parametrize("port", ["wait", "now"])
    def test_of_the_clock(self, port: str) -> None:
        """Where the clock itself raises, the run ends with that exception."""
        error = KeyError("clock")

        assert Ran(slow(World(CALLING, TEXT, broken=port, error=error), "c1", "c2")).error is error

    @pytest.mark.parametrize("port", ["wait", "now"])
    def test_of_the_clock_ends_the_machine(self, port: str) -> None:
        """Then the machine has failed, too, like after any other port."""
        assert Ran(slow(World(CALLING, TEXT, broken=port), "c1", "c2")).machine.state is State.Done

    @pytest.mark.parametrize("port", ["execute_tool", "call_model", "poll_steering"])
    def test_an_interrupt_comes_out(self, port: str) -> None:
        """An interrupt is no result of a tool and no failure of a port: it comes out as it is."""
        ran = Ran(World(CALLING, TEXT, broken=port, error=KeyboardInterrupt()))

        assert isinstance(ran.error, KeyboardInterrupt)

    def test_a_context_that_cannot_be_gone_on_from(self) -> None:
        """The run fails with what Pi says, without an event."""
        ran = Ran(World(), prompts=None)

        assert isinstance(ran.error, ValueError)
        assert (str(ran.error), ran.events) == ("Cannot continue: no messages in context", [])


class TestStreams:
    """Reading the model's answer."""

    def test_one_step_at_a_time(self) -> None:
        """A step is read only when everything that follows from the one before was handed out."""
        read: list[tuple[str, int]] = []
        stream = Stream(Started(), TextDelta(0, "a"), TextDelta(0, "b"), TEXT)
        Ran(World(stream), listen=lambda event: read.append((word(event), stream.read)))

        assert read[4:8] == [
            ("start assistant", 1),
            ("update text_delta", 2),
            ("update text_delta", 3),
            ("end assistant", 4),
        ]

    def test_nothing_is_read_behind_the_end(self) -> None:
        """Behind Finished nothing is read, and the stream is closed once."""
        stream = Stream(Started(), TEXT, TextDelta(0, "never"), RuntimeError("never"))
        ran = Ran(World(stream))

        assert ran.error is None
        assert (stream.read, stream.closed, len(stream.steps)) == (2, 1, 2)

    def test_it_is_closed_before_the_next_effect(self) -> None:
        """When the hooks after the answer are asked, the stream has been closed."""
        stream = Stream(Started(), TEXT)
        closed: list[int] = []
        Ran(World(stream), listen=when("end assistant", lambda: closed.append(stream.closed)))

        assert closed == [1]

    def test_a_stream_without_an_end(self) -> None:
        """A stream that ends without Finished fails the run, and says so."""
        stream = Stream(Started(), TextDelta(0, "a"))
        ran = Ran(World(stream))

        assert isinstance(ran.error, RuntimeError)
        assert str(ran.error) == "the model's stream ended without Finished"
        assert (stream.closed, ran.words[-1]) == (1, "update text_delta")

    def test_a_stream_that_raises(self) -> None:
        """A stream that raises while it is read fails the run with that exception, and is closed."""
        error = OSError("connection lost")
        stream = Stream(Started(), error)
        ran = Ran(World(stream))

        assert ran.error is error
        assert (stream.closed, ran.machine.failure) == (1, "connection lost")

    def test_closing_fails_as_well(self) -> None:
        """Where a stream raises while it is read and again while it is closed, the first exception counts."""
        error = OSError("connection lost")
        stream = Stream(Started(), error, close=RuntimeError("cannot close"))

        assert Ran(World(stream)).error is error

    def test_a_generator(self) -> None:
        """A generator does as a stream; what it has to close, it closes."""
        closed: list[str] = []

        def steps() -> Iterator[StreamStep]:
            try:
                yield Started()
                yield TEXT
                yield TextDelta(0, "never")
            finally:
                closed.append("closed")

        world = World()
        world.answers = deque([steps()])
        ran = Ran(world)

        assert (ran.error, closed) == (None, ["closed"])

    def test_a_second_answer_is_read_from_its_own_stream(self) -> None:
        """Each request has a stream of its own."""
        first, second = Stream(Started(), CALLING), Stream(Started(), TEXT)
        Ran(World(first, second))

        assert (first.read, second.read, first.closed, second.closed) == (2, 2, 1, 1)

    def test_an_answer_that_is_an_error(self) -> None:
        """A provider's failure is an answer like any other: the run ends without an exception."""
        failing = Finished(AssistantMessage((), "error", error_message="overloaded"))

        assert Ran(World(failing)).words[-2:] == ["turn_end", "agent_end"]


class TestTools:
    """Starting tools and waiting for them."""

    def test_results_are_told_after_all_were_started(self) -> None:
        """A tool that comes back at once is told of only when every call of its round was started."""
        world = World(CALLING, TEXT)
        Ran(world, hooks=())
        batch = [line for line in world.log if "c1" in line or "c2" in line]

        assert batch[4:] == [
            *["ExecuteTool c1", "ExecuteTool c2", "done c1", "done c2"],
            *["start toolResult c1", "end toolResult c1", "start toolResult c2", "end toolResult c2"],
        ]

    def test_a_raise_waits_its_turn_too(self) -> None:
        """A tool that raises at once is told of at the same moment, in the order in which they were started."""
        world = World(CALLING, TEXT)

        def fail(report: Report) -> ToolResult:
            raise ValueError("no")

        world.tools["c1"] = fail
        Ran(world, hooks=())

        assert world.log.index("ExecuteTool c2") < world.log.index("failed c1") < world.log.index("done c2")

    def test_early_progress_is_told_before_the_next_start(self) -> None:
        """What a tool reports while it is started is heard before the next one is started."""
        world = World(CALLING, TEXT)

        def tell(report: Report) -> ToolResult:
            report(ToolResult.of("half"))
            return ToolResult.of("ok")

        world.tools["c1"] = tell
        Ran(world, hooks=())

        assert world.log.index("progress c1") < world.log.index("ExecuteTool c2")

    def test_late_progress_is_dropped(self) -> None:
        """A tool that keeps its reporter and uses it after it has come back is not heard."""
        world, kept = World(CALLING, TEXT), list[Report]()

        def keep(report: Report) -> ToolResult:
            kept.append(report)
            return ToolResult.of("ok")

        world.tools["c1"] = keep
        ran = Ran(world, hooks=(), listen=when("done c1", lambda: kept[0](ToolResult.of("late"))))

        assert ran.error is None
        assert "progress c1" not in ran.words[ran.words.index("done c1") :]

    @pytest.mark.parametrize("order", [["c1", "c2"], ["c2", "c1"]])
    def test_tools_that_come_back_later(self, order: list[str]) -> None:
        """Outcomes that the host waits for come in whatever order."""
        rehearsal, world = (slow(World(CALLING, TEXT), "c1", "c2") for _ in range(2))
        Ran(rehearsal, hooks=())
        world.coming = deque([oc.Returned(rehearsal.running[name], ToolResult.of(name))] for name in order)
        ran = Ran(world, hooks=())

        assert ran.error is None
        assert [line for line in ran.words if line.startswith("done")] == [f"done {name}" for name in order]

    def test_nothing_happened_yet(self) -> None:
        """A wait that brings nothing is followed by another one."""
        world = slow(World(CALLING, TEXT), "c1")
        world.coming = deque([[], []])
        ran = Ran(world, hooks=())

        assert (world.log.count("wait"), type(ran.error)) == (3, Stalled)

    def test_stalled(self) -> None:
        """Where the host has nothing to wait for, the error says what the machine awaits."""
        world = World(CALLING, TEXT)
        world.tools = {"c2": lambda _: None}
        ran = Ran(world, hooks=())

        assert isinstance(ran.error, Stalled)
        assert (
            str(ran.error)
            == f"the host has nothing left to wait for, but the machine awaits ExecuteTool {world.running['c2']}"
        )

    def test_a_host_that_answers_what_was_not_asked(self) -> None:
        """An outcome for another effect is the host's mistake, and comes out as such."""
        world = slow(World(CALLING, TEXT), "c1")
        world.coming = deque([[oc.Returned(99, ToolResult())]])

        assert isinstance(Ran(world, hooks=()).error, UnexpectedOutcome)
        assert issubclass(UnexpectedOutcome, Misuse)


class TestSignal:
    """The abort signal."""

    def test_only_the_first_abort_counts(self) -> None:
        """Whoever subscribed is told once, with the first reason."""
        signal, told = AbortSignal(), list[str | None]()
        signal.subscribe(told.append)
        signal.abort("first")
        signal.abort("second")

        assert (told, signal.reason, bool(signal)) == (["first"], "first", True)

    def test_who_comes_late_is_told_at_once(self) -> None:
        """Subscribing to a signal that is set calls back immediately."""
        signal, told = AbortSignal(), list[str | None]()
        assert not signal
        signal.abort()
        signal.subscribe(told.append)

        assert told == [None]
