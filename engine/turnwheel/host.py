"""The ports through which a driver performs effects.

A host has one method for each kind of effect. Journal, durability, telemetry and permission are hosts around a host:
they have the same methods, do their part, and call the inner one. Every method may raise: the driver turns that into
Failed (the run fails) or, for the methods of a tool call, into Raised (the call gets an error result).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias, TypeVar

from turnwheel.effects import (
    AfterToolCall,
    AskToStop,
    BeforeToolCall,
    CallModel,
    ExecuteTool,
    FinishTurn,
    PollFollowUp,
    PollSteering,
    PollSteeringAgain,
    PrepareArguments,
    PrepareNextTurn,
    PrepareRequest,
)
from turnwheel.messages import Json, Message, ToolResult
from turnwheel.outcomes import (
    BeforeResult,
    NextRequest,
    NextTurn,
    Progress,
    Raised,
    ResultChanges,
    Returned,
    TurnAction,
)
from turnwheel.stream import StreamStep


class Queues(Protocol):
    """Where messages wait that are to go into a run."""

    def poll_steering(self, effect: PollSteering | PollSteeringAgain) -> Iterable[Message] | None:
        """Take what is to go in before the next model call; None is nothing."""

    def poll_follow_up(self, effect: PollFollowUp) -> Iterable[Message] | None:
        """Take what is to go in where the run would end; None is nothing."""


class Model(Protocol):
    """Whoever answers a request."""

    def call_model(self, effect: CallModel) -> Iterator[StreamStep]:
        """Yield the steps of the answer and, last, Finished. The driver reads nothing behind Finished.

        A failure of the provider is a Finished message with stop reason error, not an exception.
        """


class Hooks(Protocol):
    """What the program around the loop decides."""

    def prepare_next_turn(self, effect: PrepareNextTurn) -> NextTurn | None:
        """Change context, model or thinking level for the turns to come."""

    def prepare_request(self, effect: PrepareRequest) -> NextRequest | None:
        """Change context, model or thinking level for this request and those to come (since Pi 0.87.0)."""

    def ask_to_stop(self, effect: AskToStop) -> bool:
        """Say whether the run ends here, whatever waits in the queues (up to Pi 0.86)."""

    def finish_turn(self, effect: FinishTurn) -> TurnAction | None:
        """Hear of the turn before turn_end, and say whether the run ends here or goes on (since Pi 0.87.0)."""

    def before_tool_call(self, effect: BeforeToolCall) -> BeforeResult | None:
        """Block a call, or change its arguments in place."""

    def after_tool_call(self, effect: AfterToolCall) -> ResultChanges | None:
        """Change the result of a call."""


class Tools(Protocol):
    """Whoever runs tools."""

    def prepare_arguments(self, effect: PrepareArguments) -> Json:
        """Return the arguments for hooks and tool, shimmed, coerced and valid: a copy, never the model's own object."""

    def execute_tool(self, effect: ExecuteTool, report: Callable[[ToolResult], None]) -> ToolResult | None:
        """Run the tool and return its result; None says that the outcome will come through `wait`."""


class Clock(Protocol):
    """Time, and waiting for what was begun."""

    def now(self) -> int | None:
        """Milliseconds since 1970 (UTC), or None: then the messages that the machine makes carry no timestamp."""

    def wait(self) -> Sequence[Progress | Returned | Raised] | None:
        """Wait until something happens; return the outcomes that came of it, maybe none. None: nothing can happen."""


class Host(Queues, Model, Hooks, Tools, Clock, Protocol):
    """All ports together: what a driver needs."""


T = TypeVar("T")
Maybe: TypeAlias = T | Awaitable[T]
"""What may be awaited for, or be there at once."""


class AsyncHost(Protocol):
    """The same ports for the async driver: each may be a coroutine function, or a plain one as in Host."""

    def poll_steering(self, effect: PollSteering | PollSteeringAgain, /) -> Maybe[Iterable[Message] | None]:
        """Take what is to go in before the next model call; None is nothing."""

    def poll_follow_up(self, effect: PollFollowUp, /) -> Maybe[Iterable[Message] | None]:
        """Take what is to go in where the run would end; None is nothing."""

    def call_model(self, effect: CallModel, /) -> Maybe[Iterator[StreamStep] | AsyncIterator[StreamStep]]:
        """Yield the steps of the answer and, last, Finished."""

    def prepare_next_turn(self, effect: PrepareNextTurn, /) -> Maybe[NextTurn | None]:
        """Change context, model or thinking level for the turns to come."""

    def prepare_request(self, effect: PrepareRequest, /) -> Maybe[NextRequest | None]:
        """Change context, model or thinking level for this request and those to come (since Pi 0.87.0)."""

    def ask_to_stop(self, effect: AskToStop, /) -> Maybe[bool]:
        """Say whether the run ends here, whatever waits in the queues (up to Pi 0.86)."""

    def finish_turn(self, effect: FinishTurn, /) -> Maybe[TurnAction | None]:
        """Hear of the turn before turn_end, and say whether the run ends here or goes on (since Pi 0.87.0)."""

    def before_tool_call(self, effect: BeforeToolCall, /) -> Maybe[BeforeResult | None]:
        """Block a call, or change its arguments in place."""

    def after_tool_call(self, effect: AfterToolCall, /) -> Maybe[ResultChanges | None]:
        """Change the result of a call."""

    def prepare_arguments(self, effect: PrepareArguments, /) -> Maybe[Json]:
        """Return the arguments for hooks and tool, shimmed, coerced and valid."""

    def execute_tool(
        self, effect: ExecuteTool, report: Callable[[ToolResult], None], /
    ) -> Maybe[ToolResult] | ToolResult | None:
        """Run the tool. Cancelling the run's task cancels this."""

    def now(self) -> int | None:
        """Milliseconds since 1970 (UTC), or None."""

    def wait(self) -> Sequence[Progress | Returned | Raised] | None:
        """Return the outcomes of what was begun and is not awaited, or None where there is nothing of that kind."""
