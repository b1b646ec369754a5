"""The steps of a batch: calls side by side and one after the other, aborted, and progress that comes too late."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.engine.by_hand import ALL, BOTH, Hand, asked, begin, calls, flat, results
from turnwheel.machine import DONE
from turnwheel.messages import ToolResult
from turnwheel.outcomes import ArgumentsPrepared, Progress, Returned
from turnwheel.rules import State
from turnwheel.tool import Tool

OLD, NEW = BOTH
BEGINNING = ["agent_start", "turn_start", "start user", "end user", "PollSteering"]
WHOLE_ANSWER = ["start assistant", "end assistant"]


class TestParallel:
    """Several calls side by side."""

    def test_they_are_prepared_in_order(self) -> None:
        """Each call is announced when the one before is through with its preparation; then all tools start."""
        hand = asked(*calls("c1", "c2"))

        assert [hand.valid("c1"), hand.before("c1"), hand.valid("c2"), hand.before("c2")] == [
            ["BeforeToolCall c1"],
            ["call c2", "PrepareArguments c2"],
            ["BeforeToolCall c2"],
            ["ExecuteTool c1", "ExecuteTool c2"],
        ]

    @pytest.mark.parametrize("dialect", ALL)
    @pytest.mark.parametrize("order", [*permutations(["c1", "c2", "c3"])])
    def test_outcomes_in_any_order(self, dialect: str, order: tuple[str, ...]) -> None:
        """Calls end in the order in which their tools come back; results follow in the order of the calls."""
        hand = asked(*calls("c1", "c2", "c3"), dialect=dialect, hooks=())
        for name in ("c1", "c2", "c3"):
            hand.valid(name)
        said = flat(*[hand.returned(name) for name in order])

        assert said == [
            *[f"done {name}" for name in order],
            *results("c1", "c2", "c3"),
            *["turn_end", "turn_start", "CallModel"],
        ]

    def test_after_hooks_overlap(self) -> None:
        """A tool can come back while another call waits for its after hook."""
        hand = asked(*calls("c1", "c2"), hooks=["after_tool_call"])
        hand.valid("c1")
        hand.valid("c2")

        assert [hand.returned("c2"), hand.returned("c1"), hand.after("c1"), hand.after("c2")[0]] == [
            ["AfterToolCall c2"],
            ["AfterToolCall c1"],
            ["done c1"],
            "done c2",
        ]

    def test_all_outcomes_at_once(self) -> None:
        """Outcomes that are sent together are folded one after the other, each before the next."""
        hand = asked(*calls("c1", "c2"), hooks=())
        hand.valid("c1")
        hand.valid("c2")
        c1, c2 = hand.effect("ExecuteTool c1").id, hand.effect("ExecuteTool c2").id
        more = [Progress(c1, ToolResult()), Progress(c2, ToolResult()), Progress(c1, ToolResult())]

        assert hand.send(*more) == ["progress c1", "progress c2", "progress c1"]

    def test_early_progress_comes_before_the_next_call(self) -> None:
        """Progress that a tool reports while it is started is told before the next tool is started."""
        hand = asked(*calls("c1", "c2"), hooks=())
        hand.valid("c1")
        prepare = hand.effect("PrepareArguments c2").id
        machine = hand.machine
        machine.send(ArgumentsPrepared(prepare, {}))
        started = machine.next()
        machine.send(Progress(started.id, ToolResult()))  # type: ignore[union-attr]

        assert hand.drain() == ["progress c1", "ExecuteTool c2"]

    def test_a_call_that_fails_does_not_stop_its_siblings(self) -> None:
        """Of three calls, one unknown and one blocked, the third is run; results are in order."""
        hand = asked(*calls("c1", tool="nobody"), *calls("c2", "c3"))
        hand.valid("c2")
        hand.before("c2", block=True)
        hand.valid("c3")

        assert hand.before("c3") == ["ExecuteTool c3"]
        hand.returned("c3")
        assert hand.after("c3")[:7] == ["done c3", *results("c1", "c2", "c3")]

    def test_nothing_prepared(self) -> None:
        """Where every call fails in its preparation, results follow at once."""
        hand = asked(*calls("c1", "c2", tool="nobody"), hooks=())

        assert [*hand.ends()] == ["c1", "c2"]
        assert hand.machine.state is State.Streaming


class TestSequential:
    """One call after the other."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_by_configuration(self, dialect: str) -> None:
        """A call is over, with its result told, before the next one is announced."""
        hand = asked(*calls("c1", "c2"), dialect=dialect, mode="sequential", hooks=())

        assert [hand.valid("c1"), hand.returned("c1"), hand.valid("c2"), hand.returned("c2")] == [
            ["ExecuteTool c1"],
            ["done c1", *results("c1"), "call c2", "PrepareArguments c2"],
            ["ExecuteTool c2"],
            ["done c2", *results("c2"), "turn_end", "turn_start", "CallModel"],
        ]

    @pytest.mark.parametrize("position", [0, 1])
    def test_one_tool_is_enough(self, position: int) -> None:
        """One call of a sequential tool, wherever it stands, makes the whole batch sequential."""
        both = [*calls("c1"), *calls("c2")]
        both[position] = calls(both[position].id, tool="alone")[0]
        hand = asked(*both, hooks=())

        assert hand.valid("c1") == ["ExecuteTool c1"]

    def test_even_if_that_call_is_blocked(self) -> None:
        """A sequential tool has its vote although its call does not run."""
        hand = asked(*calls("c1", tool="alone"), *calls("c2", "c3"))
        hand.valid("c1")
        hand.before("c1", block=True)
        hand.valid("c2")

        assert hand.before("c2") == ["ExecuteTool c2"]

    def test_unknown_tools_have_no_vote(self) -> None:
        """A call of an unknown tool leaves the batch parallel."""
        hand = asked(*calls("c1", tool="nobody"), *calls("c2", "c3"), hooks=())

        assert hand.valid("c2") == ["call c3", "PrepareArguments c3"]

    def test_a_parallel_tool_has_no_vote(self) -> None:
        """A tool that calls itself parallel changes nothing where the run is sequential."""
        tools = (Tool("work", execution_mode="parallel"),)
        hand = asked(*calls("c1", "c2"), tools=tools, mode="sequential", hooks=())

        assert hand.valid("c1") == ["ExecuteTool c1"]


class TestAbort:
    """Where the rows look at an abort, and where they do not."""

    @pytest.mark.parametrize("dialect", ALL)
    def test_it_moves_nothing(self, dialect: str) -> None:
        """After an abort the machine still polls, asks the model and waits for it."""
        machine = begin(dialect=dialect, hooks=["steering"])
        machine.abort()
        hand = Hand(machine)

        assert (hand.drain(), hand.polled(), hand.drain()) == (BEGINNING, ["CallModel"], [])

    @pytest.mark.parametrize("dialect", ALL)
    def test_before_the_hook_answers(self, dialect: str) -> None:
        """A call whose before hook answers after the abort ends with that error; it outranks a block."""
        hand = asked(*calls("c1"), dialect=dialect)
        hand.valid("c1")
        hand.machine.abort()
        hand.before("c1", block=True, reason="blocked")

        assert hand.ends() == {"c1": "Operation aborted"}

    @pytest.mark.parametrize("dialect", ALL)
    def test_a_failing_hook_outranks_it(self, dialect: str) -> None:
        """A hook that fails is reported as such, aborted or not."""
        hand = asked(*calls("c1"), dialect=dialect)
        hand.machine.abort()
        hand.valid("c1")
        hand.raised("BeforeToolCall c1", "hook down")

        assert hand.ends() == {"c1": "hook down"}

    @pytest.mark.parametrize("dialect", ALL)
    def test_without_a_hook(self, dialect: str) -> None:
        """Where no before hook is configured, the look at the abort is taken all the same."""
        hand = asked(*calls("c1"), dialect=dialect, hooks=())
        hand.machine.abort()
        hand.valid("c1")

        assert hand.ends() == {"c1": "Operation aborted"}

    @pytest.mark.parametrize("dialect", BOTH)
    @pytest.mark.parametrize("mode", ["parallel", "sequential"])
    def test_the_rest_of_the_batch_is_dropped(self, dialect: str, mode: str) -> None:
        """After an abort the call at hand is prepared to its end; no other one is announced or gets a result."""
        hand = asked(*calls("c1", "c2"), dialect=dialect, mode=mode, hooks=())
        hand.machine.abort()

        assert hand.valid("c1") == ["failed c1", *results("c1"), "turn_end", "turn_start", "CallModel"]

    @pytest.mark.parametrize("dialect", BOTH)
    def test_the_first_call_is_announced(self, dialect: str) -> None:
        """A batch that begins after an abort announces its first call, and only that."""
        machine = begin(dialect=dialect, hooks=())
        hand = Hand(machine)
        hand.drain()
        machine.abort()

        assert hand.answered(*calls("c1", "c2"))[2:] == ["call c1", "PrepareArguments c1"]
        assert hand.valid("c1")[:3] == ["failed c1", *results("c1")]

    @pytest.mark.parametrize(
        ("dialect", "said"), [(OLD, ["ExecuteTool c1"]), (NEW, ["failed c1", *results("c1", "c2")])]
    )
    def test_what_was_prepared_before(self, dialect: str, said: list[str]) -> None:
        """A call that was prepared before the abort still runs in 0.80.2; since 0.85.0 it is cancelled."""
        hand = asked(*calls("c1", "c2"), dialect=dialect, hooks=())
        hand.valid("c1")
        hand.machine.abort()

        assert hand.valid("c2")[: len(said) + 1] == ["failed c2", *said]

    @pytest.mark.parametrize(("dialect", "said"), [(OLD, ["ExecuteTool c2"]), (NEW, ["failed c2"])])
    def test_between_two_launches(self, dialect: str, said: list[str]) -> None:
        """Each prepared call looks by itself since 0.85.0: an abort while the first is started stops the second."""
        hand = asked(*calls("c1", "c2"), dialect=dialect, hooks=())
        hand.valid("c1")
        machine = hand.machine
        machine.send(ArgumentsPrepared(hand.effect("PrepareArguments").id, {}))
        machine.next()
        machine.abort()

        assert hand.drain() == said

    @pytest.mark.parametrize("dialect", ALL)
    def test_a_running_tool_is_not_interrupted(self, dialect: str) -> None:
        """A tool that runs comes back as usual, with after hook, end and result."""
        hand = asked(*calls("c1"), dialect=dialect)
        hand.valid("c1")
        hand.before("c1")
        hand.machine.abort()

        assert [hand.drain(), hand.progress("c1"), hand.returned("c1"), hand.after("c1")[0]] == [
            [],
            ["progress c1"],
            ["AfterToolCall c1"],
            "done c1",
        ]

    def test_the_first_reason_is_kept(self) -> None:
        """Of several aborts the first one gives the reason."""
        machine = begin()
        for reason in ("first", "second"):
            machine.abort(reason)

        assert machine.abort_reason == "first"

    @pytest.mark.parametrize("dialect", BOTH)
    def test_dropped_calls_have_no_vote(self, dialect: str) -> None:
        """Only the calls that got this far decide whether the chain goes on."""
        hand = asked(*calls("c1", "c2"), dialect=dialect, mode="sequential", hooks=())
        hand.valid("c1")
        hand.machine.abort()

        assert hand.returned("c1", terminate=True)[-1] == "agent_end"


class TestLateProgress:
    """Progress of a tool that has come back."""

    def test_while_its_siblings_run(self) -> None:
        """It is dropped: no event shows it."""
        hand = asked(*calls("c1", "c2"), hooks=())
        hand.valid("c1")
        hand.valid("c2")
        late = Progress(hand.effect("ExecuteTool c1").id, ToolResult.of("late"))
        hand.returned("c1")

        assert hand.send(late) == []
        assert hand.returned("c2")[0] == "done c2"

    def test_while_its_after_hook_runs(self) -> None:
        """It does not change the result that the after hook has been given."""
        hand = asked(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")
        late = Progress(hand.effect("ExecuteTool c1").id, ToolResult.of("late"))
        hand.returned("c1")

        assert hand.send(late) == []
        hand.after("c1")
        assert hand.ends() == {"c1": "c1"}

    def test_behind_its_result(self) -> None:
        """It is late as soon as the result was sent, though nothing was folded yet."""
        hand = asked(*calls("c1"), hooks=())
        hand.valid("c1")
        running = hand.effect("ExecuteTool c1").id
        hand.machine.send(Returned(running, ToolResult.of("ok")))

        assert hand.send(Progress(running, ToolResult.of("late")))[0] == "done c1"

    def test_after_the_batch_and_after_the_end(self) -> None:
        """It is dropped in the next turn and when the run is over."""
        hand = asked(*calls("c1"), hooks=())
        hand.valid("c1")
        late = Progress(hand.effect("ExecuteTool c1").id, ToolResult.of("late"))
        hand.returned("c1")
        key = hand.machine.key()

        assert hand.send(late) == []
        assert hand.machine.key() == key
        hand.answered("end")
        assert hand.send(late) == []
        assert hand.machine.next() is DONE
