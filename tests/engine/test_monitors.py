"""The monitors: what each notices, what it lets pass, and how logs are read for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import anyio
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.traces import GOLDEN, golden, scenario, validate
from tests.engine.agents import agent_of, raising
from tests.engine.by_hand import BOTH, begin, possible, word
from turnwheel import events as ev
from turnwheel.errors import ParseError
from turnwheel.machine import DONE, WAITING
from turnwheel.messages import (
    AssistantMessage,
    StopReason,
    TextContent,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    user,
)
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.generating.scenarios import scenarios
from turnwheel.testing.play import play
from turnwheel.testing.scenario import Abort, Scenario
from turnwheel.testing.scripted import ScriptedAnswer
from turnwheel.testing.watching.lifecycle import Lifecycle
from turnwheel.testing.watching.log import Log, Place, read_log
from turnwheel.testing.watching.monitor import Break, Called, Ended, Monitor, Seen, assert_kept
from turnwheel.testing.watching.monitors import default_monitors, judge
from turnwheel.testing.watching.promises import OneModelCallATurn, ResultsInCallOrder
from turnwheel.testing.watching.stopping import HardStop, SteeringBeforeFollowUp, TerminateByAll
from turnwheel.transcript import Transcript
from turnwheel.wire import to_json

START, TURN = ev.AgentStart(), ev.TurnStart()
END = ev.AgentEnd(Transcript())
ASK, STEER, FOLLOW = Called("stream"), Called("getSteeringMessages"), Called("getFollowUpMessages")
STOP, FINISH = Called("shouldStopAfterTurn"), Called("finishTurn")
GO = user("go")


def said(*calls: str, stop_reason: StopReason = "stop") -> AssistantMessage:
    """Return an answer that calls these."""
    return AssistantMessage((TextContent("so"), *(ToolCall(call, "work") for call in calls)), stop_reason)


def told(message: Any, begun: Any = None) -> list[Seen]:
    """Return both events of a message."""
    return [ev.MessageStart(message if begun is None else begun), ev.MessageEnd(message)]


def answered(message: AssistantMessage) -> list[Seen]:
    """Return the events of an answer that was streamed."""
    return told(message, AssistantMessage())


def started(call: str) -> ev.ToolExecutionStart:
    return ev.ToolExecutionStart(call, "work", {})


def ended(call: str, *, terminate: Any = None) -> ev.ToolExecutionEnd:
    return ev.ToolExecutionEnd(call, "work", ToolResult.of("ok", terminate=terminate), False)


def result(call: str) -> ToolResultMessage:
    return ToolResultMessage(call, "work", (TextContent("ok"),))


def turn(
    message: AssistantMessage, *batch: Seen, results: Sequence[str] = (), before: Sequence[Seen] = ()
) -> list[Seen]:
    """Return a turn: what comes before the answer, the answer, its batch, and turn_end."""
    return [TURN, *before, *answered(message), *batch, ev.TurnEnd(message, tuple(map(result, results)))]


def batch(*calls: str, terminate: Iterable[str] = ()) -> list[Seen]:
    """Return a turn in which these are called, one after the other."""
    last = {*terminate}
    events: list[Seen] = []
    for call in calls:
        events += [started(call), ended(call, terminate=True if call in last else None), *told(result(call))]
    return turn(said(*calls), *events, results=calls)


def run(*turns: Sequence[Seen]) -> list[Seen]:
    """Return a trace of these turns."""
    return [START, *(seen for each in turns for seen in each), END]


def breaks(monitor: Monitor, log: Iterable[Seen]) -> list[str]:
    """Return what a monitor notices in a log."""
    judge(log, [monitor])
    return [found.text for found in monitor.broken]


def noticed(log: Iterable[Seen]) -> bool:
    """Say whether any monitor notices anything."""
    return any(monitor.broken for monitor in judge(log))


FIRST: Final = turn(said(), before=told(GO))
LAST: Final = turn(said())


class TestLifecycle:
    """What starts ends, in its place."""

    @pytest.mark.parametrize(
        ("log", "text"),
        [
            ([*FIRST, END], "turn_start before agent_start"),
            ([*FIRST[1:], *LAST, END], "message_start (user) before agent_start"),
            ([START, START, *FIRST, END], "agent_start, and the trace before it has no agent_end"),
            ([START, *FIRST], "the log ends, and there was no agent_end"),
            ([*run(FIRST), ev.MessageStart(GO)], "message_start (user) after agent_end"),
            ([*run(FIRST), *FIRST, END], "turn_start after agent_end"),
            (run(), "agent_end, and there was no turn"),
            (run(FIRST[:-1]), "agent_end, and the turn has not ended"),
            (run(FIRST[:-1], LAST), "turn_start, and the turn before it has not ended"),
            (run(told(GO), FIRST), "message_start (user) outside of a turn"),
            (run(FIRST, FIRST[-1:]), "turn_end outside of a turn"),
            (
                run([TURN, ev.MessageStart(GO), *FIRST[3:]]),
                "message_start (assistant), and message_end (user) is missing",
            ),
            (run([TURN, ev.MessageEnd(GO), *FIRST[3:]]), "message_end (user), and it has not started"),
            (run(turn(said(), before=told(GO, said()))), "message_end (user), and another message has started"),
            (run(turn(said("a"), started("a"))), "turn_end, and tool_execution_end of a is missing"),
            (run(turn(said("a"), ended("a"))), "tool_execution_end of a, and it has not started"),
            (run(FIRST, [started("a"), ended("a")]), "tool_execution_start of a outside of a turn"),
            ([START, TURN, Ended()], "the run returned, and there was no agent_end"),
        ],
    )
    def test_notices(self, log: list[Seen], text: str) -> None:
        """Whatever starts or ends where it must not is told of, once."""
        assert breaks(Lifecycle(), log) == [text]

    def test_an_update_needs_an_answer(self) -> None:
        """Only an answer that has started can grow."""
        (update,) = (
            e
            for e in heard_of(ScriptedAnswer(text="hi", deltas=1))
            if e.type == "message_update" and e.step.type == "text_delta"
        )
        log = run(turn(said(), before=[ev.MessageStart(GO), update, ev.MessageEnd(GO)]))

        assert breaks(Lifecycle(), log) == ["message_update, and no answer has started"]

    @pytest.mark.parametrize(
        "broken_off",
        [
            [START],
            [START, TURN],
            [START, *FIRST],
            [START, *FIRST[:3], ev.MessageStart(AssistantMessage())],
            [START, *turn(said("a", "b"), started("a"), started("b"))[:-1]],
        ],
    )
    @pytest.mark.parametrize("reason", ["error", "aborted"])
    def test_lets_a_failure_sequence_pass(self, broken_off: list[Seen], reason: StopReason) -> None:
        """A run may break off anywhere: one failed answer, turn_end and an agent_end with that answer alone."""
        tale = said(stop_reason=reason)
        log = [*broken_off, *told(tale), ev.TurnEnd(tale), ev.AgentEnd(Transcript((tale,)))]

        assert breaks(Lifecycle(), log) == []

    @pytest.mark.parametrize(
        ("left_out", "text"), [(-1, "the log ends"), (-2, "agent_end in the"), (-3, "turn_end in the")]
    )
    def test_a_failure_sequence_is_whole(self, left_out: int, text: str) -> None:
        """Nothing of a failure sequence may be missing."""
        tale = said(stop_reason="error")
        log = [START, *FIRST, *told(tale), ev.TurnEnd(tale), ev.AgentEnd(Transcript((tale,)))]
        del log[left_out]

        assert breaks(Lifecycle(), log)[0].startswith(text)

    def test_a_failure_sequence_is_no_turn(self) -> None:
        """A failed answer whose turn_start is missing is no failure sequence: its agent_end carries more."""
        tale = said(stop_reason="error")
        log = [START, *FIRST, *told(tale), ev.TurnEnd(tale), ev.AgentEnd(Transcript((GO, said(), tale)))]

        assert breaks(Lifecycle(), log) == ["agent_end after a failure carries more than the answer that tells of it"]

    def test_a_second_failed_answer_is_no_failure_sequence(self) -> None:
        """Two failed answers in one turn are a failure sequence only if the last one is all that agent_end carries."""
        log = run(turn(said(), before=answered(said(stop_reason="error"))))
        log[4:] = [*told(said(stop_reason="error")), ev.TurnEnd(said(stop_reason="error")), END]

        assert breaks(Lifecycle(), log) == ["agent_end after a failure carries more than the answer that tells of it"]

    def test_a_run_that_raised_may_stop_anywhere(self) -> None:
        """Where the log says that the run threw, nothing more is asked for, and another trace may follow."""
        assert breaks(Lifecycle(), [START, *FIRST[:2], Ended("queue broke"), *run(FIRST)]) == []

    def test_finish_blames_once(self) -> None:
        """To finish twice is to finish once."""
        monitor = Lifecycle()
        judge([START], [monitor])
        monitor.finish()

        assert len(monitor.broken) == 1


class TestOneModelCallATurn:
    """A turn is one model call and one answer."""

    @pytest.mark.parametrize(
        ("log", "text"),
        [
            (run([TURN, *told(GO), ev.TurnEnd(said())]), "turn_end, and the turn has no answer"),
            (run([TURN, *answered(said()), *FIRST[3:]]), "a second answer in the same turn"),
            (
                run([TURN, *told(said("a")), *batch("a")[3:-1], *told(said()), ev.TurnEnd(said())]),
                "a second answer in the same turn",
            ),
            (run([*FIRST[:-1], ev.TurnEnd(said("a"))]), "turn_end carries another message than the answer of the turn"),
            (run([ASK, *FIRST]), "the model is asked outside of a turn"),
            (run(turn(said(), before=[ASK, ASK])), "the model is asked again in the same turn"),
            (run([TURN, ev.MessageStart(said()), ASK, *FIRST[4:]]), "the model is asked while a message has not ended"),
            (run(turn(said(), before=[STEER])), "turn_end, and the model was not asked"),
        ],
    )
    def test_notices(self, log: list[Seen], text: str) -> None:
        """A turn with no answer or two, or with no model call or two, is told of."""
        assert breaks(OneModelCallATurn(), log)[:1] == [text]

    @pytest.mark.parametrize("shown", [[], [ASK]])
    def test_an_injected_answer_is_none(self, shown: list[Seen]) -> None:
        """An assistant message that was injected before the answer is not taken for one, with or without calls."""
        assert breaks(OneModelCallATurn(), run(turn(said(), before=[*told(GO), *told(said("old")), *shown]))) == []

    def test_counts_turns(self) -> None:
        """Each turn that ends was judged."""
        monitor = OneModelCallATurn()

        assert (breaks(monitor, run(batch("a"), LAST)), monitor.relevant) == ([], 2)


class TestResultsInCallOrder:
    """Results follow in the order of the calls."""

    AB = said("a", "b")
    BOTH_RAN = (started("a"), started("b"), ended("b"), ended("a"))

    @pytest.mark.parametrize(
        ("log", "text"),
        [
            (
                turn(AB, *BOTH_RAN, *told(result("b")), *told(result("a")), results="ba"),
                "the result of b, where that of a belongs",
            ),
            (
                turn(AB, *BOTH_RAN, *told(result("a")), *told(result("a")), results="aa"),
                "the result of a, which has one already",
            ),
            (
                turn(AB, *BOTH_RAN, *told(result("a")), *told(result("x")), results="ax"),
                "the result of x, which the answer does not call",
            ),
            (turn(AB, *BOTH_RAN, *told(result("a")), results="a"), "2 calls were taken up, and 1 have a result"),
            (
                turn(AB, *BOTH_RAN, *told(result("a")), *told(result("b")), results="a"),
                "turn_end carries other results",
            ),
            (turn(AB, started("b")), "tool_execution_start of b, where a is next"),
            (turn(said(), started("a")), "tool_execution_start of a, and no call of the answer is left"),
            (turn(AB), "the answer calls a, and no call was taken up"),
            (turn(AB, Called("execute", "a")), "a call of execute for a, which is not running"),
            (
                turn(AB, started("a"), *[Called("execute", "a")] * 2),
                "a call of execute for a, which was executed already",
            ),
        ],
    )
    def test_notices(self, log: list[Seen], text: str) -> None:
        """A result or a start that is missing, out of order or of no call is told of."""
        assert breaks(ResultsInCallOrder(), run(log))[0].startswith(text)

    def test_a_start_that_is_skipped_is_told_once(self) -> None:
        """The calls after one that was left out are in their order."""
        log = run(turn(said("a", "b", "c"), started("b"), started("c"))[:-1])

        assert breaks(ResultsInCallOrder(), log) == ["tool_execution_start of b, where a is next"]

    @pytest.mark.parametrize("when_late", [0, 2])
    def test_updates_only_while_a_call_runs(self, when_late: int) -> None:
        """A partial result before the start or after the end of its call is told of."""
        events: list[Seen] = [started("a"), ended("a"), *told(result("a"))]
        events.insert(when_late, ev.ToolExecutionUpdate("a", "work", {}, ToolResult.of("half")))

        assert breaks(ResultsInCallOrder(), run(turn(said("a"), *events, results="a"))) == [
            "tool_execution_update of a, which is not running"
        ]

    def test_ends_may_come_in_any_order(self) -> None:
        """Tools that run side by side end as they end."""
        log = run(turn(self.AB, *self.BOTH_RAN, *told(result("a")), *told(result("b")), results="ab"))

        assert breaks(ResultsInCallOrder(), log) == []

    def test_the_rest_of_a_batch_may_be_dropped(self) -> None:
        """Calls that were not taken up, as after an abort, have no result."""
        log = run(turn(self.AB, started("a"), ended("a"), *told(result("a")), results="a"))

        assert breaks(ResultsInCallOrder(), log) == []

    def test_one_id_twice(self) -> None:
        """Two calls with one id have two results."""
        monitor = ResultsInCallOrder()

        assert (breaks(monitor, run(batch("a", "a"), LAST)), monitor.relevant) == ([], 1)

    def test_old_messages_are_not_judged(self) -> None:
        """A call and its result that went in as prompts are history."""
        old = [*told(GO), *told(said("old")), *told(result("old"))]

        assert breaks(ResultsInCallOrder(), run(turn(said(), before=old))) == []

    def test_the_position_is_that_of_the_result(self) -> None:
        """What is told of at the end of a turn names the place at which it went wrong."""
        log = run(turn(self.AB, *self.BOTH_RAN, *told(result("b")), *told(result("a")), results="ba"))
        monitor = ResultsInCallOrder()
        judge(log, [monitor])

        assert log[monitor.broken[0].position - 1] == ev.MessageEnd(result("b"))


class TestHardStop:
    """After a failed answer there is nothing but the end."""

    FAILED = said("a", stop_reason="error")

    @pytest.mark.parametrize(
        ("after", "text"),
        [
            ([started("a")], "tool_execution_start of a"),
            ([STEER], "a call of getSteeringMessages"),
            ([FOLLOW], "a call of getFollowUpMessages"),
            ([STOP], "a call of shouldStopAfterTurn"),
            (told(GO), "message_start (user)"),
            ([ev.TurnEnd(FAILED), TURN], "turn_start"),
            ([ev.TurnEnd(FAILED), STEER], "a call of getSteeringMessages"),
        ],
    )
    def test_notices(self, after: list[Seen], text: str) -> None:
        """A tool, a queue, a hook, a message or a turn after it is told of."""
        log = [START, TURN, *answered(self.FAILED), *after, END]

        assert breaks(HardStop(), log) == [f"{text} after an answer with stop reason error"]

    def test_has_no_results(self) -> None:
        """Its turn_end carries no results."""
        log = run(turn(self.FAILED, results="a"))

        assert breaks(HardStop(), log) == ["turn_end with results, after an answer with stop reason error"]

    @pytest.mark.parametrize("reason", ["error", "aborted"])
    def test_finish_turn_is_told(self, reason: StopReason) -> None:
        """The finish hook hears of a failed answer, too."""
        monitor = HardStop()

        assert breaks(monitor, run(turn(said(stop_reason=reason), FINISH))) == []
        assert monitor.relevant == 1

    def test_an_answer_for_which_the_model_was_asked(self) -> None:
        """Where the model was asked, or turn_end came, a failed answer is one even if it came whole."""
        log = run([TURN, ASK, *told(self.FAILED), *told(GO)])
        later = run([TURN, *told(self.FAILED), ev.TurnEnd(self.FAILED), *told(GO)])

        assert breaks(HardStop(), later) == breaks(HardStop(), log)
        assert breaks(HardStop(), log) == ["message_start (user) after an answer with stop reason error"]

    def test_an_old_failure_is_none(self) -> None:
        """A failed answer that went in as a prompt stops nothing."""
        monitor = HardStop()

        assert breaks(monitor, run(turn(said(), before=[*told(said(stop_reason="aborted")), *told(GO)]))) == []
        assert monitor.relevant == 0


class TestSteeringBeforeFollowUp:
    """The follow-up queue comes second."""

    @pytest.mark.parametrize(
        ("log", "text"),
        [
            (run([TURN, STEER, *FIRST[1:], FOLLOW]), "the follow-up queue is asked after turn_end, not after the"),
            (run([*FIRST, STEER, STOP, FOLLOW]), "the follow-up queue is asked after a call of shouldStopAfterTurn"),
            (run([*batch("a"), STEER, FOLLOW], LAST), "the follow-up queue is asked while tool results wait"),
        ],
    )
    def test_notices(self, log: list[Seen], text: str) -> None:
        """A follow-up poll that is not right after a steering poll, or in the middle of a chain, is told of."""
        assert breaks(SteeringBeforeFollowUp(), log)[0].startswith(text)

    @pytest.mark.parametrize("log", [run([*FIRST, STEER, FOLLOW]), run([*batch("a", terminate="a"), FOLLOW])])
    def test_lets_pass(self, log: list[Seen]) -> None:
        """Right after a steering poll it may be asked, and where there is no steering queue at any natural end."""
        monitor = SteeringBeforeFollowUp()

        assert (breaks(monitor, log), monitor.relevant) == ([], 1)

    def test_saw_nothing(self) -> None:
        """A log without polls is not judged."""
        monitor = SteeringBeforeFollowUp()
        judge(run(FIRST), [monitor])

        assert monitor.verdict == "nothing"


class TestTerminateByAll:
    """Every call of a batch must say terminate; one is not enough."""

    SOME = batch("a", "b", terminate="a")
    ALL = batch("a", "b", terminate="ab")

    @pytest.mark.parametrize(
        ("log", "text"),
        [
            (run([*SOME, STEER]), "the run ends, though its last batch holds calls that did not say terminate: b"),
            (run([*SOME, STOP], [*SOME, STEER]), "the run ends, though its last batch holds calls that"),
            (run([*ALL, STEER], turn(said(), before=[ASK])), "the run goes on, though every call said terminate"),
            (run([*ALL, STOP], turn(said(), before=[ASK])), "the run goes on, though every call said terminate"),
        ],
    )
    def test_notices(self, log: list[Seen], text: str) -> None:
        """A run that ends after some, and one that goes on after all, is told of where no hook can be the reason."""
        assert breaks(TerminateByAll(), log)[0].startswith(text)

    @pytest.mark.parametrize("log", [run(SOME), run(ALL, LAST)])
    def test_an_event_log_shows_no_hook(self, log: list[Seen]) -> None:
        """In a log of events a stop hook may be the reason, unless it is said that there was none."""
        silent, told_so = TerminateByAll(), TerminateByAll(stop_hook=False)

        assert (breaks(silent, log), silent.relevant) == ([], 0)
        assert len(breaks(told_so, log)) == 1

    @pytest.mark.parametrize(
        ("log", "relevant"),
        [
            (run(SOME, LAST), 1),
            (run(ALL), 1),
            (run([*ALL, STEER], turn(said(), before=[*told(GO), ASK])), 0),
            (run([*SOME, STOP]), 0),
            (run([*ALL[:-1], FINISH, ALL[-1]], turn(said(), before=[ASK])), 0),
            (run(FIRST), 0),
        ],
    )
    def test_lets_pass(self, log: list[Seen], relevant: int) -> None:
        """On after some, off after all; a message or a hook may decide otherwise."""
        monitor = TerminateByAll()

        assert (breaks(monitor, log), monitor.relevant) == ([], relevant)

    def test_a_lost_turn_start_is_no_end(self) -> None:
        """An answer without turn_start after some is the lifecycle's business."""
        assert breaks(TerminateByAll(stop_hook=False), [START, *self.SOME, *LAST[1:-1]]) == []

    def test_only_true_counts(self) -> None:
        """A call that says something like true does not end the chain."""
        events = [started("a"), ended("a", terminate="yes"), *told(result("a"))]

        assert breaks(TerminateByAll(stop_hook=False), run(turn(said("a"), *events, results="a"))) != []

    @pytest.mark.parametrize("broken_off", [SOME, [*ALL, TURN]])
    def test_a_broken_off_run_is_not_judged(self, broken_off: list[Seen]) -> None:
        """Where the run broke off between two turns, or as one began, it did not decide to end or to go on."""
        tale = said(stop_reason="error")
        log = [START, *broken_off, *told(tale), ev.TurnEnd(tale), ev.AgentEnd(Transcript((tale,)))]

        assert breaks(TerminateByAll(stop_hook=False), log) == []


# --- what is right -----------------------------------------------------------------------------------------------


def heard_of(*answers: Any, **setup: Any) -> list[Any]:
    """Return the events of an agent's run."""
    events: list[Any] = []
    agent = agent_of(*answers, **setup)
    agent.subscribe(events.append)
    agent.run_sync("go")
    return events


def lines(trace: Iterable[Any]) -> list[str]:
    """Return a trace as JSON lines."""
    return [json.dumps(line) for line in trace]


class TestWhatIsRight:
    """No monitor may cry wolf."""

    @pytest.mark.parametrize(("name", "which"), GOLDEN)
    def test_real_traces(self, name: str, which: str) -> None:
        """The traces of real Pi keep every promise, with and without their calls."""
        trace = golden(name, which)

        assert_kept(judge(read_log(lines(trace))))
        if "throws" not in trace[-1]:
            assert_kept(judge(read_log(lines(line["event"] for line in trace if "event" in line))))

    def test_each_is_touched(self) -> None:
        """Among the traces of every dialect there are some that each monitor can judge."""
        for name in DIALECTS:
            monitors = default_monitors()
            for dialect_, which in GOLDEN:
                if dialect_ == name:
                    judge(read_log(lines(golden(name, which))), monitors)

            assert {monitor.name: monitor.verdict for monitor in monitors if monitor.verdict != "kept"} == {}

    @pytest.mark.parametrize("name", DIALECTS)
    @pytest.mark.parametrize("on_abort", ["aborted", "ignore"])
    def test_aborted_runs(self, name: str, on_abort: Any) -> None:
        """A run that is aborted at any event, whether or not the model minds, keeps every promise."""
        usual = scenario("parallel-end-order-vs-result-order")
        for at in range(40):
            config = evolve(usual.config, model_on_abort=on_abort)
            trace = play(evolve(usual, config=config, abort=Abort(on_event=at)), dialect(name), validate)

            assert_kept(judge(read_log(lines(trace))))

    @pytest.mark.parametrize("name", DIALECTS)
    @given(scenario_=scenarios())
    def test_any_scenario(self, name: str, scenario_: Scenario) -> None:
        """The trace of any scenario keeps every promise."""
        assert_kept(judge(read_log(lines(play(scenario_, dialect(name), validate)))))

    @pytest.mark.parametrize("name", BOTH)
    @given(moves=st.lists(st.integers(min_value=0, max_value=1000), max_size=150))
    def test_any_run_with_its_effects(self, name: str, moves: list[int]) -> None:
        """Whatever a world answers to a bare machine, its events and effects keep every promise."""
        monitors = default_monitors()
        for seen in steps(name, moves):
            for monitor in monitors:
                monitor(seen)

        assert_kept(monitors)


def steps(name: str, moves: Sequence[int]) -> Iterator[Seen]:
    """Yield what a machine hands out while numbers choose its world's answers; a stream starts at most once."""
    machine, has_ended = begin(dialect=name), False
    for move in moves:
        while (step := machine.next()) is not WAITING and step is not DONE:
            has_ended |= isinstance(step, ev.AgentEnd)
            yield step
        if step is DONE:
            if not has_ended:
                yield Ended("broken off")
            return
        if move % 10 == 9:
            machine.abort()
        answers = {n: outcome for n, outcome in possible(machine).items() if not n.endswith((": starts", ": delta"))}
        machine.send(answers[sorted(answers)[move % len(answers)]])


# --- what is wrong -----------------------------------------------------------------------------------------------

CHANGES: Final = {
    "dropped": lambda log, at: [*log[:at], *log[at + 1 :]],
    "doubled": lambda log, at: [*log[: at + 1], *log[at:]],
    "swapped": lambda log, at: [*log[:at], *log[at + 1 : at + 2], log[at], *log[at + 2 :]],
}
FLOORS: Final = {
    ("dropped", "events"): 0.95,
    ("doubled", "events"): 0.95,
    ("swapped", "events"): 0.9,
    ("dropped", "trace"): 0.65,
    ("doubled", "trace"): 0.7,
    ("swapped", "trace"): 0.64,
}
"""The share of changes that is noticed at least; measured 0.97, 0.97, 0.93, 0.69, 0.74, 0.68.

What is missed: updates, the order in which tools end, single polls and hooks, convertToLlm and the line of the result.
"""


def logs(view: str) -> Iterator[Log]:
    """Yield the golden traces of the later dialect, with or without their calls; those that threw only with them."""
    for name, which in GOLDEN:
        log = read_log(lines(golden(name, which)))
        if name == "pi-0.85.1" and view == "trace":
            yield log
        elif name == "pi-0.85.1" and not any(isinstance(seen, Ended) and seen.error for seen in log):
            yield Log([seen for seen in log if not isinstance(seen, Called | Ended)], (), {})


class TestChangedTraces:
    """A trace of which one line was dropped, doubled or swapped with the next one."""

    @pytest.mark.parametrize(("change", "view"), FLOORS)
    def test_share_that_is_noticed(self, change: str, view: str) -> None:
        """At least so much of what can be changed is noticed."""
        outcomes: Counter[bool] = Counter()
        for log in logs(view):
            for at in range(len(log)):
                changed = CHANGES[change](list(log), at)
                if changed and changed != list(log):
                    outcomes[noticed(changed)] += 1

        assert outcomes.total() > 500
        assert outcomes[True] / outcomes.total() >= FLOORS[change, view]

    def test_no_lost_event_but_an_update_goes_unnoticed(self) -> None:
        """Every single event that is not an update is missed when it is gone, and noticed when it comes twice."""
        missed = [
            (change, log.seen[at])
            for log in logs("events")
            for at in range(len(log))
            for change in ("dropped", "doubled")
            if not isinstance(log.seen[at], ev.MessageUpdate | ev.ToolExecutionUpdate)
            if not noticed(CHANGES[change](list(log), at))
        ]

        assert missed == []


# --- use ----------------------------------------------------------------------------------------------------------


class TestUse:
    """Monitors as listeners and as judges."""

    def test_subscribed(self) -> None:
        """A monitor is a listener as it stands, and sees the traces of an agent one after the other."""
        agent = agent_of(["a", "b"], "done", "again")
        monitors = default_monitors(stop_hook=False)
        for monitor in monitors:
            agent.subscribe(monitor)
        agent.run_sync("go")
        agent.run_sync("once more")
        judge([], monitors)

        assert_kept(monitors)
        assert [monitor.verdict for monitor in monitors] == ["kept", "kept", "kept", "nothing", "nothing", "kept"]

    @pytest.mark.parametrize(
        "at", ["agent_start", "turn_start", "end user", "start assistant", "call a", "done a", "turn_end"]
    )
    def test_a_listener_that_raises(self, at: str) -> None:
        """Wherever a listener breaks a run off, the agent's failure sequence keeps every promise."""
        agent = agent_of(["a", "b"], "done")
        monitors = default_monitors(stop_hook=False)
        for monitor in monitors:
            agent.subscribe(monitor)
        left = [at]
        agent.subscribe(lambda event: raising(RuntimeError("no"))() if [word(event)] == left and left.pop() else None)
        anyio.run(agent.prompt, "go")
        judge([], monitors)

        assert agent.failure is not None
        assert_kept(monitors)

    def test_check_names_the_break(self) -> None:
        """A broken promise is an AssertionError with its name, the position and what is wrong."""
        monitor = Lifecycle()
        judge([START, *FIRST], [monitor])
        with pytest.raises(AssertionError) as caught:
            monitor.check()

        assert str(caught.value) == f"lifecycle: at {1 + len(FIRST)}: the log ends, and there was no agent_end"
        assert monitor.broken == [Break("lifecycle", 1 + len(FIRST), "the log ends, and there was no agent_end")]

    def test_all_breaks_are_told(self) -> None:
        """Several monitors raise one error, with a line for each break."""
        with pytest.raises(AssertionError, match=r"(?s)lifecycle: .*\none model call a turn: "):
            assert_kept(judge([START, TURN, ev.TurnEnd(said())]))

    def test_each_has_a_name_and_a_promise(self) -> None:
        """Names are all different, and a promise is one sentence."""
        monitors = default_monitors()

        assert len({monitor.name for monitor in monitors}) == len(monitors)
        assert all(monitor.promise.endswith(".") for monitor in monitors)


class TestReadLog:
    """What is read of a log."""

    EVENTS = heard_of(ScriptedAnswer(text="hi", deltas=1))

    def test_events(self) -> None:
        """Lines of events are read as events, each at its line; blank lines do not count."""
        log = read_log(["", *lines(map(to_json, self.EVENTS)), "  "])

        assert [seen.type for seen in log if not isinstance(seen, Called | Ended)] == [e.type for e in self.EVENTS]
        assert (log.place(1), str(log.place(3)), log.torn) == (Place(2), "line 4", None)

    def test_events_without_partials(self) -> None:
        """A message_update needs no partial."""
        log = read_log(
            ['{"type": "message_update", "assistantMessageEvent": {"type": "text_start", "contentIndex": 0}}']
        )

        assert isinstance(log.seen[0], ev.MessageUpdate)

    def test_an_answer_that_is_not_whole(self) -> None:
        """A call without id and name is no error in an answer that has only begun, and is one in the end."""
        partial = {"role": "assistant", "content": [{"type": "toolCall", "arguments": {}}]}
        step = {"type": "toolcall_delta", "contentIndex": 0, "delta": "{"}
        update = {"type": "message_update", "message": partial, "assistantMessageEvent": step}
        log = read_log(lines([{"type": "message_start", "message": partial}, update]))

        assert [type(seen) for seen in log] == [ev.MessageStart, ev.MessageUpdate]
        with pytest.raises(ParseError, match=r"line 1: message\.content"):
            read_log(lines([{"type": "message_end", "message": partial}]))

    def test_trace_lines(self) -> None:
        """Lines of a trace are events, calls with the tool call they are about, and the end of the run."""
        log = read_log(
            lines(
                [{"event": {"type": "agent_start"}}, {"call": {"name": "execute", "toolCallId": "a"}}, {"throws": "no"}]
            )
        )

        assert list(log) == [START, Called("execute", "a"), Ended("no")]

    def test_arrays(self) -> None:
        """A line may be a whole trace; each entry has a place of its own."""
        log = read_log(
            lines([[{"scenarioError": "bad"}], [{"event": {"type": "agent_start"}}, {"result": {"messages": []}}]])
        )

        assert (list(log), str(log.place(2))) == ([START, Ended()], "line 2, entry 2")
        assert log.skipped == {"scenarioError": 1}

    def test_what_is_not_known_is_counted(self) -> None:
        """Events of other types are left out, and counted."""
        log = read_log(['{"type": "session"}', '{"type": "agent_start"}', '{"type": "session"}'])

        assert (list(log), log.skipped, log.place(1)) == ([START], {"session": 2}, Place(2))

    @pytest.mark.parametrize("last", [b'{"type": "mess', b'{"type": "\xe4', b'{"type": "turn_start"'])
    def test_a_torn_last_line(self, last: bytes) -> None:
        """A last line that is not whole is left out, and no monitor asks for the end of its run."""
        log = read_log([b'{"type": "agent_start"}', b'{"type": "turn_start"}', last])

        assert (len(log), log.torn) == (2, 3)
        assert_kept(judge(log))

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ([], "log: expected JSON lines, and there is none"),
            (["{bad"], "log: line 1, column 2: expected JSON"),
            (['{"type": "agent_start"}', "{bad", '{"type": "agent_end"}'], "log: line 2, column 2: expected JSON"),
            (["3"], "log: line 1: expected an event"),
            (['{"type": "agent_start"}', '{"call": {"name": "x"}}'], "log: line 2: expected an event"),
            (['{"call": {"name": "x"}}', '{"type": "agent_start"}'], "log: line 2: expected a line of a trace"),
            (["[3]"], "log: line 1, entry 1: expected a line of a trace"),
            (['{"event": 3}'], "log: line 1: expected an object with `type` as `event`"),
            (['{"call": {}}'], "log: line 1: expected an object with `name` as `call`"),
            (['{"throws": 3}'], "log: line 1: expected a text as `throws`"),
            (['{"type": "message_end"}'], "log: line 1: missing `message`"),
            (
                ['{"type": "message_end", "message": {"role": 3}}'],
                "log: line 1: message.role: expected a string, got 3",
            ),
        ],
    )
    def test_what_cannot_be_read(self, text: list[str], problem: str) -> None:
        """A line that is none of a log is an error that names it and says what was expected."""
        with pytest.raises(ParseError) as caught:
            read_log(text, "log")

        assert str(caught.value).startswith(problem)
