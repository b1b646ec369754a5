"""What each kind of outcome answers, what it fires, and which facts it brings into the run before that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, Final, final, get_args

from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.messages import ABSENT
from turnwheel.outcomes import Outcome
from turnwheel.rules import Ask, Dialect, Trigger
from turnwheel.run import Call, Run
from turnwheel.stream import Delta, Finished, Started
from turnwheel.tool import Context
from turnwheel.values import value

DELTAS: Final = frozenset(get_args(Delta))
"""The steps of a stream that fire nothing."""

STEPS: Final[Mapping[type, Trigger]] = {
    **dict.fromkeys(DELTAS, Trigger.delta),
    Started: Trigger.started,
    Finished: Trigger.finished,
}
"""The steps of a stream: they answer CallModel, and what they fire."""

ANSWERS: Final[Mapping[type, Mapping[type, Trigger]]] = {
    oc.Polled: {
        fx.PollSteering: Trigger.steering,
        fx.PollSteeringAgain: Trigger.steering_again,
        fx.PollFollowUp: Trigger.follow_up,
    },
    oc.NextTurnPrepared: {fx.PrepareNextTurn: Trigger.prepared},
    oc.RequestPrepared: {fx.PrepareRequest: Trigger.request_prepared},
    oc.StopDecided: {fx.AskToStop: Trigger.stop},
    oc.TurnFinished: {fx.FinishTurn: Trigger.turn_finished},
    oc.Failed: dict.fromkeys(get_args(fx.LoopEffect), Trigger.failed),
    oc.ArgumentsPrepared: {fx.PrepareArguments: Trigger.arguments},
    oc.BeforeAnswered: {fx.BeforeToolCall: Trigger.before},
    oc.Progress: {fx.ExecuteTool: Trigger.update},
    oc.Returned: {fx.ExecuteTool: Trigger.returned},
    oc.AfterAnswered: {fx.AfterToolCall: Trigger.after},
    oc.Raised: dict.fromkeys(get_args(fx.CallEffect), Trigger.call_failed),
}
"""All other outcomes: which effects they answer, and what they fire then."""

DEFAULTS: Final[Mapping[Ask, tuple[str, Trigger, Outcome]]] = {
    Ask.poll_steering: ("steering", Trigger.steering, oc.Polled(0)),
    Ask.poll_steering_again: ("steering", Trigger.steering_again, oc.Polled(0)),
    Ask.poll_follow_up: ("follow_up", Trigger.follow_up, oc.Polled(0)),
    Ask.prepare_next_turn: ("prepare_next_turn", Trigger.prepared, oc.NextTurnPrepared(0)),
    Ask.prepare_request: ("prepare_request", Trigger.request_prepared, oc.RequestPrepared(0)),
    Ask.ask_to_stop: ("should_stop", Trigger.stop, oc.StopDecided(0)),
    Ask.finish_turn: ("finish_turn", Trigger.turn_finished, oc.TurnFinished(0)),
    Ask.before_tool_call: ("before_tool_call", Trigger.before, oc.BeforeAnswered(0)),
    Ask.after_tool_call: ("after_tool_call", Trigger.after, oc.AfterAnswered(0)),
}
"""What is asked of a hook: its name in RunConfig.hooks, and what fires with which outcome where it is not there."""


def hooks_of(dialect: Dialect) -> list[str]:
    """Return the names of the hooks that the dialect asks, out of turnwheel.outcomes.HOOKS."""
    asked = {rule.asks for table in dialect.tables for rule in table.rules}
    return [hook for hook in oc.HOOKS if any(name == hook and asks in asked for asks, (name, *_) in DEFAULTS.items())]


@final
@value
class Looked:
    """What a second look brings: nothing but the moment."""

    type: ClassVar[str] = "looked"
    at: int | None = None


SECOND_LOOK: Final = (Looked(), Trigger.looked)
"""What is noted where a rule asks to look again."""


def _begun(run: Run, outcome: oc.Begun) -> None:
    """Bring nothing: the run was set up from this outcome."""


def _polled(run: Run, outcome: oc.Polled) -> None:
    run.take_pending(outcome.messages)


def _changes(run: Run, outcome: oc.NextTurnPrepared | oc.RequestPrepared) -> None:
    run.take_changes(outcome.changes)


def _stop(run: Run, outcome: oc.StopDecided) -> None:
    run.control.stop_wanted = outcome.stop


def _turn_finished(run: Run, outcome: oc.TurnFinished) -> None:
    run.control.stop_wanted = outcome.action == "end"
    run.control.more_wanted = outcome.action == "continue"


def _failed(run: Run, outcome: oc.Failed) -> None:
    run.failure = outcome.error


def _started(run: Run, outcome: Started) -> None:
    run.steps.append(outcome)


def _finished(run: Run, outcome: Finished) -> None:
    run.take_answer(outcome.message)


NOTES: Final[Mapping[type, Callable[[Run, Any], None]]] = {
    oc.Begun: _begun,
    oc.Polled: _polled,
    oc.NextTurnPrepared: _changes,
    oc.RequestPrepared: _changes,
    oc.StopDecided: _stop,
    oc.TurnFinished: _turn_finished,
    oc.Failed: _failed,
    Started: _started,
    Finished: _finished,
}
"""How the outcomes of the run are noted."""


def _looked(run: Run, call: Call, outcome: Looked) -> None:
    """Bring nothing."""


def _arguments(run: Run, call: Call, outcome: oc.ArgumentsPrepared) -> None:
    call.arguments = outcome.arguments


def _before(run: Run, call: Call, outcome: oc.BeforeAnswered) -> None:
    call.control.blocked = outcome.block
    call.control.for_good = outcome.terminate
    # The answer to a hook that is not there names no effect.
    call.control.vetted = outcome.effect != 0
    call.reason = outcome.reason or ""
    if outcome.arguments is not ABSENT:
        call.arguments = outcome.arguments


def _progress(run: Run, call: Call, outcome: oc.Progress) -> None:
    call.progress = outcome.partial


def _returned(run: Run, call: Call, outcome: oc.Returned) -> None:
    call.result = outcome.result
    call.is_error = run.switches.error_flags and outcome.result.is_error is True


def _after(run: Run, call: Call, outcome: oc.AfterAnswered) -> None:
    run.change_result(call, outcome.changes)


def _raised(run: Run, call: Call, outcome: oc.Raised) -> None:
    call.error = outcome.error


CALL_NOTES: Final[Mapping[type, Callable[[Run, Call, Any], None]]] = {
    Looked: _looked,
    oc.ArgumentsPrepared: _arguments,
    oc.BeforeAnswered: _before,
    oc.Progress: _progress,
    oc.Returned: _returned,
    oc.AfterAnswered: _after,
    oc.Raised: _raised,
}
"""How the outcomes of a tool call are noted."""


def brief(outcome: Any) -> Hashable:
    """Return what an outcome that is noted and not folded yet will mean for the control view."""
    match outcome:
        case oc.Polled(messages=messages):
            return ("polled", len(messages))
        case Finished(message=message):
            return ("finished", message.stop_reason, *(call.name for call in message.tool_calls))
        case oc.StopDecided(stop=stop):
            return ("stop", stop)
        case oc.TurnFinished(action=action):
            return ("turn_finished", action)
        case oc.BeforeAnswered(block=block, terminate=terminate):
            return ("before", block, terminate)
        case oc.Returned(result=result):
            return ("returned", result.terminate is True)
        case oc.AfterAnswered(changes=changes):
            wanted = None if changes is None else changes.terminate
            return ("after", None if wanted is None or wanted is ABSENT else wanted is True)
        case (
            oc.NextTurnPrepared(changes=oc.NextTurn(context=Context(tools=tools)))
            | oc.RequestPrepared(changes=oc.NextRequest(context=Context(tools=tools)))
        ):
            return (outcome.type, *((tool.name, tool.execution_mode) for tool in tools))
    return str(outcome.type)
