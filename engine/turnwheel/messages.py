"""What is said: content blocks, messages, usage, and the result of a tool.

Field names are Python's here and Pi's camelCase in JSON (`turnwheel.wire`). A field whose default is None is absent in
JSON while it is None. `extra` keeps what a message carries beyond the fields that turnwheel knows, under its JSON name.

Source of the shapes: the message types of Pi 0.80.2 to 0.85.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Final, Literal, final

from attrs import field

from turnwheel.values import value

Json = Any
"""Any JSON value: None, bool, int, float, str, list or dict with string keys."""

Extra = Mapping[str, Json]


class Absent(Enum):
    """The type of ABSENT."""

    ABSENT = "absent"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""Not given at all, where None (JSON null) is a value of its own."""


def _extra() -> Any:
    return field(factory=dict, kw_only=True, repr=False)


def _omitted() -> Any:
    """Declare where a class notes the JSON names of fields with a default that were not there when it was read."""
    return field(default=frozenset(), kw_only=True, repr=False, eq=False)


# --- content blocks -----------------------------------------------------------------------------------------------


@final
@value
class TextContent:
    """A block of text."""

    type: ClassVar[str] = "text"
    text: str
    text_signature: str | None = None
    extra: Extra = _extra()


@final
@value
class ThinkingContent:
    """A block of the model's thinking; `thinking_signature` is opaque and goes back to the provider as it came."""

    type: ClassVar[str] = "thinking"
    thinking: str
    thinking_signature: str | None = None
    redacted: bool | None = None
    extra: Extra = _extra()


@final
@value
class ImageContent:
    """An image: `data` is base64, `mime_type` such as image/png."""

    type: ClassVar[str] = "image"
    data: str
    mime_type: str
    extra: Extra = _extra()


@final
@value
class ToolCall:
    """The model's wish to run tool `name` with `arguments` (an object, as the model wrote it)."""

    type: ClassVar[str] = "toolCall"
    id: str
    name: str
    arguments: Json = field(factory=dict)
    thought_signature: str | None = None
    extra: Extra = _extra()


@final
@value
class UnknownContent:
    """A block of a type that turnwheel does not know: kept whole in `data`."""

    data: Mapping[str, Json]


Content = TextContent | ThinkingContent | ImageContent | ToolCall | UnknownContent
"""One block of a message."""


# --- usage --------------------------------------------------------------------------------------------------------


@final
@value
class Cost:
    """What an answer cost, in US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0
    omitted: frozenset[str] = _omitted()
    extra: Extra = _extra()


@final
@value
class Usage:
    """What an answer used, in tokens. `input` excludes cached tokens; `output` includes reasoning.

    Standard fields that the JSON it was read from did not have read as 0 here; `omitted` names them.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: Cost = field(factory=Cost)
    cache_write_1h: int | None = None
    omitted: frozenset[str] = _omitted()
    extra: Extra = _extra()


# --- messages -----------------------------------------------------------------------------------------------------

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]
"""Why a generation ended. `error` and `aborted` are set by the streaming layer, never by a model's API."""


@final
@value
class UserMessage:
    """What the user says. `timestamp` (here and below): milliseconds since 1970, UTC."""

    role: ClassVar[str] = "user"
    content: str | Sequence[Content]
    timestamp: int | None = None
    extra: Extra = _extra()


@final
@value
class AssistantMessage:
    """What the model answered, whole or as far as it has come.

    `thinking_level` is the one that was asked for; the loop notes it in the final message (Pi 0.99.1).
    """

    role: ClassVar[str] = "assistant"
    content: Sequence[Content] = ()
    stop_reason: StopReason = "stop"
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    usage: Usage | None = None
    error_message: str | None = None
    timestamp: int | None = None
    thinking_level: str | None = None
    omitted: frozenset[str] = _omitted()
    extra: Extra = _extra()

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the order of the content."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))


@final
@value
class ToolResultMessage:
    """The answer to one tool call. `content` None and `details` ABSENT are what a tool can leave in some dialects."""

    role: ClassVar[str] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: str | Sequence[Content] | Absent | None
    is_error: bool = False
    details: Json = ABSENT
    usage: Json = ABSENT
    added_tool_names: Json = ABSENT
    timestamp: int | None = None
    omitted: frozenset[str] = _omitted()
    extra: Extra = _extra()


@final
@value
class CustomMessage:
    """A message of any other role: somebody's data, kept whole. The default filter shows it to no model."""

    role: str
    content: Json = ABSENT
    timestamp: int | None = None
    extra: Extra = _extra()


Message = UserMessage | AssistantMessage | ToolResultMessage | CustomMessage
"""One entry of a transcript."""


# --- the result of a tool -----------------------------------------------------------------------------------------


@final
@value
class ToolResult:
    """What a tool gives back: `content` for the model, `details` for programs.

    `terminate` is True when the tool wants the chain of turns to end after this batch; it ends when every result of the
    batch says so. `is_error` True makes the result an error (Pi 0.99.1; before, it was carried along).
    """

    content: Sequence[Content] | Absent | None = ()
    details: Json = ABSENT
    terminate: Json = ABSENT
    is_error: Json = ABSENT
    usage: Json = ABSENT
    added_tool_names: Json = ABSENT
    structured_content: Json = ABSENT
    extra: Extra = _extra()

    @classmethod
    def of(cls, text: str, *, details: Json = ABSENT, terminate: Json = ABSENT) -> ToolResult:
        """Return a result with one block of text."""
        return cls((TextContent(text),), details=details, terminate=terminate)

    @classmethod
    def error(cls, text: str, *, terminate: bool = False) -> ToolResult:
        """Return the result that the loop makes itself where a call goes wrong: one text, details {} (Pi 0.80.2)."""
        return cls((TextContent(text),), details={}, terminate=True if terminate else ABSENT)


def user(text: str, *, images: Sequence[ImageContent] = (), timestamp: int | None = None) -> UserMessage:
    """Return a user message of one text block and, behind it, `images`."""
    return UserMessage((TextContent(text), *images), timestamp=timestamp)
