"""What both drivers do with an effect: which port of the host performs it, and which outcome its answer becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from attrs import evolve

from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.outcomes import Outcome
from turnwheel.stream import Finished, Started


def text_of(error: BaseException) -> str:
    """Return what an error says; its type where it says nothing."""
    return str(error) or type(error).__name__


def failed(effect: Any, error: BaseException, now: int | None) -> oc.Raised | oc.Failed:
    """Return what it means that a port raised: the call gets an error result; without a call, the run fails."""
    kind = oc.Raised if type(effect) in _OF_A_CALL else oc.Failed
    return kind(effect.id, text_of(error), now)


def _polled(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.Polled(effect.id, tuple(said or ()), now)


def _prepared(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.NextTurnPrepared(effect.id, said, now)


def _request(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.RequestPrepared(effect.id, said, now)


def _finished(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.TurnFinished(effect.id, said, now)


def _decided(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.StopDecided(effect.id, bool(said), now)


def _arguments(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.ArgumentsPrepared(effect.id, said, now)


def _before(effect: Any, said: Any, now: int | None) -> Outcome:
    said = said or oc.BeforeResult()
    return oc.BeforeAnswered(effect.id, said.block, said.reason, said.terminate, effect.arguments, now)


def _after(effect: Any, said: Any, now: int | None) -> Outcome:
    return oc.AfterAnswered(effect.id, said, now)


def returned(effect: Any, said: Any, now: int | None) -> Outcome:
    """Return what it means that a tool came back."""
    return oc.Returned(effect.id, said, now)


def stamped(step: Started | Finished, began: int | None, now: int | None) -> Started | Finished:
    """Return a step that carries a message with the time: when the answer began in the message, now in the step."""
    message = step.message
    if message.timestamp is None:
        message = evolve(message, timestamp=began)
    return evolve(step, message=message, at=now)


Answer = Callable[[Any, Any, int | None], Outcome]
"""Makes the outcome of an effect, what its port said, and the time."""

PORTS: Final[Mapping[type, tuple[str, Answer]]] = {
    fx.PollSteering: ("poll_steering", _polled),
    fx.PollSteeringAgain: ("poll_steering", _polled),
    fx.PollFollowUp: ("poll_follow_up", _polled),
    fx.PrepareNextTurn: ("prepare_next_turn", _prepared),
    fx.PrepareRequest: ("prepare_request", _request),
    fx.AskToStop: ("ask_to_stop", _decided),
    fx.FinishTurn: ("finish_turn", _finished),
    fx.PrepareArguments: ("prepare_arguments", _arguments),
    fx.BeforeToolCall: ("before_tool_call", _before),
    fx.AfterToolCall: ("after_tool_call", _after),
}
"""The effects that one call of a port answers. CallModel and ExecuteTool go on for longer, and are the drivers' own."""

_OF_A_CALL: Final = frozenset(get_args(fx.CallEffect))
EFFECTS: Final = frozenset(get_args(fx.Effect))
"""All kinds of effect; any other step of a machine is an event."""
