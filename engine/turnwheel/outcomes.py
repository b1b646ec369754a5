"""What the world answers. All that is not determined by the table enters the machine here.

`effect` is the id of the effect that is answered. `at` is the time, in milliseconds since 1970 (UTC), or None where the
host has no clock: a message that the machine makes itself is stamped with the time of the last outcome. The steps of a
model's answer (turnwheel.stream) are outcomes, too; they need no id, since one model call runs at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, final

from attrs import field

from turnwheel.messages import ABSENT, Absent, Content, Json, Message, ToolResult
from turnwheel.stream import StreamStep
from turnwheel.tool import Context, ExecutionMode
from turnwheel.values import value

HOOKS = (
    "steering",
    "follow_up",
    "prepare_next_turn",
    "prepare_request",
    "should_stop",
    "finish_turn",
    "before_tool_call",
    "after_tool_call",
)
"""The callbacks that a host may have or not have. One that it does not have is never asked."""


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


@final
@value
class RunConfig:
    """How a run is set up. `hooks` names the callbacks (out of HOOKS) that the host has."""

    model: str = "m0"
    thinking_level: str = "off"
    tool_execution: ExecutionMode = "parallel"
    hooks: frozenset[str] = field(default=frozenset(HOOKS), converter=_names)


@final
@value
class Begun:
    """A run begins, with `prompts`; or, where they are None, goes on from the context as it is."""

    type: ClassVar[str] = "begun"
    context: Context = field(factory=Context)
    prompts: Sequence[Message] | None = None
    config: RunConfig = field(factory=RunConfig)
    at: int | None = None


@final
@value
class Polled:
    """What a queue gave: to PollSteering, PollSteeringAgain, PollFollowUp."""

    type: ClassVar[str] = "polled"
    effect: int
    messages: Sequence[Message] = ()
    at: int | None = None


@final
@value
class NextTurn:
    """What the next turn gets instead; None leaves as it is.

    `messages` go in before those that were queued (Pi 0.86.0; no part of earlier dialects).
    """

    context: Context | None = None
    model: str | None = None
    thinking_level: str | None = None
    messages: Sequence[Message] = ()


@final
@value
class NextTurnPrepared:
    """The answer to PrepareNextTurn; `changes` None changes nothing."""

    type: ClassVar[str] = "next_turn_prepared"
    effect: int
    changes: NextTurn | None = None
    at: int | None = None


@final
@value
class NextRequest:
    """What this request and those after it get instead; None leaves as it is."""

    context: Context | None = None
    model: str | None = None
    thinking_level: str | None = None


@final
@value
class RequestPrepared:
    """The answer to PrepareRequest; `changes` None changes nothing."""

    type: ClassVar[str] = "request_prepared"
    effect: int
    changes: NextRequest | None = None
    at: int | None = None


@final
@value
class StopDecided:
    """The answer to AskToStop."""

    type: ClassVar[str] = "stop_decided"
    effect: int
    stop: bool = False
    at: int | None = None


TurnAction = Literal["end", "continue"]
"""What a finish hook may ask for: the end of the run, or one more turn where nothing else causes one."""


@final
@value
class TurnFinished:
    """The answer to FinishTurn; `action` None leaves it to the loop whether it goes on."""

    type: ClassVar[str] = "turn_finished"
    effect: int
    action: TurnAction | None = None
    at: int | None = None


@final
@value
class ArgumentsPrepared:
    """The arguments of a call are valid; this is what hooks and tool get."""

    type: ClassVar[str] = "arguments_prepared"
    effect: int
    arguments: Json
    at: int | None = None


@final
@value
class BeforeResult:
    """What a before hook may return: whether the call is blocked, why, and (Pi 0.84.1) whether for good."""

    block: bool = False
    reason: str | None = None
    terminate: bool = False


@final
@value
class BeforeAnswered:
    """The before hook's answer. `arguments` are those of the call after the hook; ABSENT where it left them alone.

    `reason` None or empty reads "Tool execution was blocked". `terminate` counts where the call is blocked (Pi 0.84.1).
    """

    type: ClassVar[str] = "before_answered"
    effect: int
    block: bool = False
    reason: str | None = None
    terminate: bool = False
    arguments: Json = ABSENT
    at: int | None = None


@final
@value
class Progress:
    """A running tool's partial result. After the call has ended it is dropped."""

    type: ClassVar[str] = "progress"
    effect: int
    partial: ToolResult
    at: int | None = None


@final
@value
class Returned:
    """A tool came back."""

    type: ClassVar[str] = "returned"
    effect: int
    result: ToolResult
    at: int | None = None


@final
@value
class ResultChanges:
    """What the after hook puts in place of parts of a result; None and ABSENT leave a part as it is.

    `usage` counts from Pi 0.81.0 on, `structured_content` from 0.99.1; there new content without it drops the old one.
    """

    content: Sequence[Content] | Absent | None = ABSENT
    details: Json = ABSENT
    is_error: bool | Absent | None = ABSENT
    terminate: Json = ABSENT
    usage: Json = ABSENT
    structured_content: Json = ABSENT


@final
@value
class AfterAnswered:
    """The after hook's answer; `changes` None where it returned nothing.

    That is not the same as empty changes: in Pi 0.80.2 any answer drops the fields of a result that the loop does not
    know.
    """

    type: ClassVar[str] = "after_answered"
    effect: int
    changes: ResultChanges | None = None
    at: int | None = None


@final
@value
class Raised:
    """An effect of a tool call failed: its error text becomes the result of the call."""

    type: ClassVar[str] = "raised"
    effect: int
    error: str
    at: int | None = None


@final
@value
class Failed:
    """An effect of the run itself failed: the run fails with this error text."""

    type: ClassVar[str] = "failed"
    effect: int
    error: str
    at: int | None = None


LoopOutcome = Begun | Polled | NextTurnPrepared | RequestPrepared | StopDecided | TurnFinished | Failed | StreamStep
CallOutcome = ArgumentsPrepared | BeforeAnswered | Progress | Returned | AfterAnswered | Raised
Outcome = LoopOutcome | CallOutcome
"""What the world tells the machine."""
