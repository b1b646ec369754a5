"""Scenarios that are run with hooks of one's own: the world is the scenario's, the decisions are the hooks'."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import assume, given

from tests.conformance.playing import in_sync
from tests.conformance.traces import validate
from turnwheel.effects import AfterToolCall, BeforeToolCall, FinishedTurn
from turnwheel.events import ToolExecutionEnd
from turnwheel.messages import AssistantMessage, Json, TextContent, ToolResultMessage
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, ResultChanges
from turnwheel.table import dialect
from turnwheel.testing import Scenario, ScenarioRun, assert_kept, judge, read_scenario, run_with, scenarios
from turnwheel.testing.scenario import Hooks

CALL: Json = {"id": "c1", "name": "add", "arguments": {"n": 1}}
NO_HOOKS = Hooks()


def scenario(**more: Json) -> Scenario:
    """Return a scenario of two turns, the first one with a tool call; `more` changes it."""
    return read_scenario({"tools": [{"name": "add"}], "model": [{"toolCalls": [CALL]}, {"text": "ready"}], **more})


def results(run: ScenarioRun) -> list[tuple[str, bool]]:
    """Return the text of each tool result, and whether it is an error."""
    found = [message for message in run.messages if isinstance(message, ToolResultMessage)]
    return [(first_text(message), message.is_error) for message in found]


def first_text(message: ToolResultMessage) -> str:
    """Return the text that a result begins with."""
    match message.content:
        case (TextContent(text=text), *_):
            return text
    raise AssertionError(f"no text in {message}")


def levels(run: ScenarioRun) -> list[str | None]:
    """Return the thinking level of each answer."""
    return [message.thinking_level for message in run.messages if isinstance(message, AssistantMessage)]


class TestTheWorld:
    """What a scenario brings is as it is when it is played."""

    @pytest.mark.parametrize("name", ["pi-0.80.2", "pi-0.85.1", "pi-1.6.0"])
    @given(scenarios())
    def test_without_hooks(self, name: str, scenario: Scenario) -> None:
        """The run is that of the scenario without its hooks."""
        played = in_sync(evolve(scenario, hooks=NO_HOOKS), dialect(name))

        run = run_with(scenario, dialect=name, validate=validate)

        assert run.events == played.events
        assert run.decisions == played.decisions
        assert run.messages == played.machine.new_messages
        assert (run.error is not None) == ("throws" in played.trace[-1])

    @given(scenarios("pi-0.85.1", failures=False))
    def test_a_hook_that_says_the_same(self, scenario: Scenario) -> None:
        """A stop hook that says what the scenario's own would gives the same run."""
        stops = scenario.hooks.should_stop_after_turn
        assume(stops is not None)
        said = iter(stops or ())

        run = run_with(scenario, should_stop=lambda turn: next(said, None) is True, validate=validate)

        played = in_sync(evolve(scenario, hooks=Hooks(should_stop_after_turn=stops)), dialect("pi-0.85.1"))
        assert run.events == played.events

    def test_delays_are_virtual(self) -> None:
        """Of two parallel calls the shorter one ends first, and nobody waits."""
        calls = [CALL, {**CALL, "id": "c2"}]

        run = run_with(scenario(model=[{"toolCalls": calls}], toolResults={"c1": {"delay": 1e9}, "c2": {"delay": 1}}))

        ends = [event.tool_call_id for event in run.events if isinstance(event, ToolExecutionEnd)]
        assert ends == ["c2", "c1"]

    def test_arguments_are_copied(self) -> None:
        """Without a validation a before hook that changes the arguments leaves what the model wrote as it is."""

        def before(asked: BeforeToolCall) -> None:
            asked.arguments["n"] = 2

        run = run_with(scenario(), before_tool_call=before)

        answer = run.messages[0]
        assert isinstance(answer, AssistantMessage)
        assert answer.tool_calls[0].arguments == {"n": 1}

    def test_what_the_scenario_lets_fail(self) -> None:
        """A queue that fails breaks the run off, and the run says with what."""
        run = run_with(scenario(steering=[{"throws": "no queue"}]), should_stop=lambda turn: False)

        assert str(run.error) == "no queue"
        assert [event.type for event in run.events] == ["agent_start", "turn_start"]

    def test_its_own_hooks_do_not_count(self) -> None:
        """A hook of the scenario is not asked."""
        run = run_with(scenario(hooks={"shouldStopAfterTurn": [{"throws": "asked"}]}))

        assert run.error is None

    def test_abort_at_the_start(self) -> None:
        """A run that is aborted before it begins has one answer, an aborted one."""
        run = run_with(scenario(abort={"atStart": True}))

        assert [message.role for message in run.messages] == ["assistant"]

    def test_abort_while_a_hook_is_asked(self) -> None:
        """A scenario that aborts during a call of the stop hook does so during that of one's own."""
        run = run_with(scenario(abort={"onCall": "shouldStopAfterTurn"}), should_stop=lambda turn: False)

        answers = [message.stop_reason for message in run.messages if isinstance(message, AssistantMessage)]
        assert answers == ["toolUse", "aborted"]

    def test_monitors_judge_it(self) -> None:
        """The events are those that monitors watch."""
        monitors = judge(run_with(scenario()).events)

        assert_kept(monitors)
        assert [monitor.name for monitor in monitors if monitor.verdict == "kept"]


class TestHooks:
    """What a hook says counts."""

    def test_should_stop(self) -> None:
        """A run ends after the turn after which the hook says so."""
        run = run_with(scenario(), should_stop=lambda turn: turn.number == 1)

        assert [message.role for message in run.messages] == ["assistant", "toolResult"]

    def test_coroutine_functions(self) -> None:
        """A hook may be a coroutine function."""

        async def stop(turn: FinishedTurn) -> bool:
            return True

        assert len(run_with(scenario(), should_stop=stop).messages) == 2

    def test_before_tool_call(self) -> None:
        """A call that is blocked has the reason for its result."""
        run = run_with(scenario(), before_tool_call=lambda asked: BeforeResult(block=True, reason="not now"))

        assert results(run) == [("not now", True)]

    def test_after_tool_call(self) -> None:
        """A result is as the hook changed it."""

        def after(done: AfterToolCall) -> ResultChanges:
            return ResultChanges([TextContent("changed")], is_error=True)

        assert results(run_with(scenario(), after_tool_call=after)) == [("changed", True)]

    def test_finish_turn(self) -> None:
        """In the later dialect the finish hook ends a run."""
        run = run_with(scenario(), dialect="pi-1.6.0", finish_turn=lambda turn: "end")

        assert [message.role for message in run.messages][-1] == "toolResult"

    def test_prepare_next_turn(self) -> None:
        """What the preparation of a turn changes holds for the answer after it."""
        run = run_with(scenario(), dialect="pi-1.6.0", prepare_next_turn=lambda turn: NextTurn(thinking_level="high"))

        assert levels(run) == ["off", "high"]

    def test_prepare_request(self) -> None:
        """What the preparation of a request changes holds for its answer."""
        run = run_with(
            scenario(), dialect="pi-1.6.0", prepare_request=lambda request: NextRequest(thinking_level="high")
        )

        assert levels(run) == ["high", "high"]


class TestMistakes:
    """What is wrong with a hook is raised."""

    def test_a_hook_that_raises(self) -> None:
        """What a stop hook raises comes out of the run, as it is."""

        def broken(turn: FinishedTurn) -> bool:
            return turn.tool_results[-1].is_error

        with pytest.raises(IndexError):
            run_with(scenario(), should_stop=broken)

    def test_a_failing_before_hook(self) -> None:
        """What a before hook raises is the result of the call, and the run goes on."""

        def broken(asked: BeforeToolCall) -> None:
            raise KeyError("x")

        run = run_with(scenario(), before_tool_call=broken)

        assert results(run) == [("'x'", True)]
        assert run.error is None

    def test_a_hook_that_is_never_asked(self) -> None:
        """A hook that the dialect does not have is a ValueError that says which ones it has."""
        with pytest.raises(ValueError, match=r"pi-1\.6\.0 never asks should_stop; it asks .*finish_turn"):
            run_with(scenario(), dialect="pi-1.6.0", should_stop=lambda turn: True)
