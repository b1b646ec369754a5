"""What an observer sees, one class an event. Source: the agent events of Pi 0.80.2.

agent_start
└── turn_start … turn_end           once a turn
    ├── message_start … message_end     prompts, injected messages, the answer, results
    │   └── message_update              once a streamed step of the answer
    └── tool_execution_start … tool_execution_end
        └── tool_execution_update       a tool's progress
agent_end
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from attrs import field

from turnwheel.messages import AssistantMessage, Json, Message, ToolResult, ToolResultMessage
from turnwheel.stream import Delta, Partial
from turnwheel.transcript import Transcript
from turnwheel.values import value


@final
@value
class AgentStart:
    """A trace begins."""

    type: ClassVar[str] = "agent_start"


@final
@value
class TurnStart:
    """A turn begins: the next model call and the batch of tools that it will ask for."""

    type: ClassVar[str] = "turn_start"


@final
@value
class MessageStart:
    """A message begins. An answer may still be partial here."""

    type: ClassVar[str] = "message_start"
    message: Message


@final
@value
class MessageUpdate:
    """The answer grew by `step`. `message` is the answer as it was at this moment, built when it is read."""

    type: ClassVar[str] = "message_update"
    step: Delta
    partial: Partial = field(repr=False, eq=False)
    steps: int = field(repr=False)

    @property
    def message(self) -> AssistantMessage:
        """The partial message after this step."""
        return self.partial.after(self.steps)


@final
@value
class MessageEnd:
    """A message is final."""

    type: ClassVar[str] = "message_end"
    message: Message


@final
@value
class ToolExecutionStart:
    """A call is taken up; `args` as the model wrote them. It may still fail before its tool runs."""

    type: ClassVar[str] = "tool_execution_start"
    tool_call_id: str
    tool_name: str
    args: Json


@final
@value
class ToolExecutionUpdate:
    """A running tool tells how far it is."""

    type: ClassVar[str] = "tool_execution_update"
    tool_call_id: str
    tool_name: str
    args: Json
    partial_result: ToolResult


@final
@value
class ToolExecutionEnd:
    """A call is over, well or badly."""

    type: ClassVar[str] = "tool_execution_end"
    tool_call_id: str
    tool_name: str
    result: ToolResult
    is_error: bool


@final
@value
class TurnEnd:
    """A turn is over."""

    type: ClassVar[str] = "turn_end"
    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage] = ()


@final
@value
class AgentEnd:
    """The trace is over; `messages` is all that it added."""

    type: ClassVar[str] = "agent_end"
    messages: Transcript


Event = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | AgentEnd
)
"""What the machine tells its observers."""
