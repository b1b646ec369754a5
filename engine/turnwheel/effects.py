"""What the machine asks of the world. Each has an `id`, counted from 1 over the run, that its outcome names again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from turnwheel.messages import AssistantMessage, Json, ToolCall, ToolResult, ToolResultMessage
from turnwheel.tool import Context, Request, Tool
from turnwheel.transcript import Transcript
from turnwheel.values import value


@final
@value
class FinishedTurn:
    """The turn that has just ended, as the hooks after it see it.

    `new_messages` is what the trace has added so far. `number` counts the turns of the trace, from 1 on.
    """

    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage]
    context: Context
    new_messages: Transcript
    number: int = 1


@final
@value
class PollSteering:
    """Take from the steering queue. Answer: Polled."""

    type: ClassVar[str] = "poll_steering"
    id: int


@final
@value
class PollSteeringAgain:
    """Take from the steering queue once more, after the preparation of a turn (Pi 0.84.4 and later). Answer: Polled."""

    type: ClassVar[str] = "poll_steering_again"
    id: int


@final
@value
class PollFollowUp:
    """Take from the follow-up queue. Answer: Polled."""

    type: ClassVar[str] = "poll_follow_up"
    id: int


@final
@value
class CallModel:
    """Ask the model: transform the context, convert it, get the key, send the request; in this order, in the host.

    Answer: stream steps, then Finished; or Failed.
    """

    type: ClassVar[str] = "call_model"
    id: int
    request: Request


@final
@value
class PrepareNextTurn:
    """Ask the hook whether the next turn gets another context, model or thinking level. Answer: NextTurnPrepared."""

    type: ClassVar[str] = "prepare_next_turn"
    id: int
    turn: FinishedTurn


@final
@value
class PrepareRequest:
    """Ask the hook whether this request and those after it get another context, model or thinking level.

    It sees the context with all messages that went in. Answer: RequestPrepared. Source: Pi 0.87.0.
    """

    type: ClassVar[str] = "prepare_request"
    id: int
    request: Request


@final
@value
class AskToStop:
    """Ask the hook whether to stop after this turn. Answer: StopDecided. Up to Pi 0.86; then there is FinishTurn."""

    type: ClassVar[str] = "ask_to_stop"
    id: int
    turn: FinishedTurn


@final
@value
class FinishTurn:
    """Tell the hook that the turn is over, before turn_end says so, and ask whether to end or to go on.

    It is also told of an answer that failed or was aborted; what it says then does not count. Answer: TurnFinished.
    Source: Pi 0.87.0.
    """

    type: ClassVar[str] = "finish_turn"
    id: int
    turn: FinishedTurn


@final
@value
class PrepareArguments:
    """Shim, coerce and validate the arguments of a call. Answer: ArgumentsPrepared, or Raised."""

    type: ClassVar[str] = "prepare_arguments"
    id: int
    call: ToolCall
    tool: Tool


@final
@value
class BeforeToolCall:
    """Ask the hook before a call. It may change `arguments` in place. Answer: BeforeAnswered, or Raised."""

    type: ClassVar[str] = "before_tool_call"
    id: int
    call: ToolCall
    tool: Tool
    arguments: Json
    message: AssistantMessage
    context: Context


@final
@value
class ExecuteTool:
    """Run the tool. Answer: any number of Progress, then Returned or Raised."""

    type: ClassVar[str] = "execute_tool"
    id: int
    call: ToolCall
    tool: Tool
    arguments: Json


@final
@value
class AfterToolCall:
    """Ask the hook after a call that was executed. Answer: AfterAnswered, or Raised."""

    type: ClassVar[str] = "after_tool_call"
    id: int
    call: ToolCall
    tool: Tool
    arguments: Json
    result: ToolResult
    is_error: bool
    message: AssistantMessage
    context: Context


LoopEffect = (
    PollSteering
    | PollSteeringAgain
    | PollFollowUp
    | CallModel
    | PrepareNextTurn
    | PrepareRequest
    | AskToStop
    | FinishTurn
)
"""An effect of the run; only one of them is outstanding at a time."""

CallEffect = PrepareArguments | BeforeToolCall | ExecuteTool | AfterToolCall
"""An effect of one tool call; a parallel batch has many outstanding."""

Effect = LoopEffect | CallEffect
"""What the machine asks the world to do."""
