"""One discipline for all requests: a transcript repaired and fitted to a target, before a codec writes it down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, final

from attrs import define, evolve, field

from turnwheel.loadout import is_system
from turnwheel.messages import (
    AssistantMessage,
    Content,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from turnwheel.requests import ModelRequest
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.call_ids import CallIds

Said = UserMessage | AssistantMessage | ToolResultMessage

NO_IMAGE: Final = "(an image was left out: this model takes none)"
NO_OUTPUT: Final = "(no output)"
NO_RESULT: Final = "No result of this call was recorded."
UNREADABLE: Final = "unreadable_arguments"
"""Under which key arguments go back that were no JSON object."""

_HALVES: Final = re.compile("[\ud800-\udfff]")
_FAILED: Final = ("error", "aborted")


def fitted(messages: Sequence[Message], target: Target) -> list[Said]:
    """Return the messages as they may be sent.

    - Failed and aborted answers are left out, and so is every message without content and every custom one. What a
      system message says behind the first place is said as the user's, since not every API has such messages.
    - Each call is followed at once by exactly one result, in the order of the calls; a missing one is made up as an
      error, one that no call asked for is left out, of two for one call the first counts.
    - Ids of calls are valid for the target and unique, the same in call and result.
    - Thinking of another model is dropped where it is sealed, else turned into text; its signatures go.
    - Images for a target without images are replaced by a note.
    - Arguments are objects; texts hold no halves of surrogate pairs; a result without content says so.
    - `content` is always a tuple of blocks (of text, thinking, image, call), never a plain text; no text is blank.
    """
    results = _Results(messages)
    answers = [each for each in messages if isinstance(each, AssistantMessage) and each.stop_reason not in _FAILED]
    ids = CallIds(target, {call.id for answer in answers for call in answer.tool_calls if call.id})
    return list(_fitted(messages, target, results, ids))


def prompt_of(request: ModelRequest) -> str:
    """Return the system prompt of a request: its own, else that of the message which leads its transcript.

    Source of the latter: Pi 0.86.0.
    """
    if request.system_prompt or not request.messages or not is_system(request.messages[0]):
        return request.system_prompt
    return _system(request.messages[0])


def _fitted(messages: Sequence[Message], target: Target, results: _Results, ids: CallIds) -> Iterator[Said]:
    for at, message in enumerate(messages):
        if isinstance(message, UserMessage):
            if content := _blocks(message.content, target):
                yield evolve(message, content=content)
        elif isinstance(message, AssistantMessage):
            if message.stop_reason not in _FAILED:
                yield from _answered(at, message, target, results, ids)
        elif at and is_system(message) and (text := _system(message)).strip():
            yield UserMessage((TextContent(text),))


def _system(message: Message) -> str:
    return _whole(message.content) if isinstance(message.content, str) else ""


def _answered(
    at: int, message: AssistantMessage, target: Target, results: _Results, ids: CallIds
) -> Iterator[AssistantMessage | ToolResultMessage]:
    """Yield an answer and the results of its calls."""
    foreign = (message.api, message.provider, message.model) != (target.api, target.provider, target.model)
    content: list[Content] = []
    found: list[ToolResultMessage] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            call = _call(block, ids.of(block.id, foreign=foreign), foreign=foreign)
            content.append(call)
            found.append(_result(call, results.take(at, block.id), target))
        elif (kept := _own(block, foreign=foreign)) is not None:
            content.append(kept)
    if content:
        yield evolve(message, content=tuple(content))
        yield from found


def _own(block: Content, *, foreign: bool) -> Content | None:
    """Return a block of an answer, but for a call, as it may go back; None where it may not."""
    if isinstance(block, TextContent):
        text = _whole(block.text)
        signature = None if foreign else block.text_signature
        return evolve(block, text=text, text_signature=signature) if text.strip() or signature else None
    if not isinstance(block, ThinkingContent):
        return None
    text = _whole(block.thinking)
    if not foreign:
        return evolve(block, thinking=text) if text.strip() or block.thinking_signature else None
    return TextContent(text) if text.strip() and not block.redacted else None


def _call(block: ToolCall, id_: str, *, foreign: bool) -> ToolCall:
    arguments = block.arguments if isinstance(block.arguments, Mapping) else {UNREADABLE: block.arguments}
    signature = None if foreign else block.thought_signature
    return evolve(block, id=id_, name=_whole(block.name), arguments=_clean(arguments), thought_signature=signature)


def _result(call: ToolCall, result: ToolResultMessage | None, target: Target) -> ToolResultMessage:
    if result is None:
        return ToolResultMessage(call.id, call.name, (TextContent(NO_RESULT),), is_error=True)
    content = _blocks(result.content, target) or (TextContent(NO_OUTPUT),)
    return evolve(result, tool_call_id=call.id, tool_name=call.name, content=content)


def _blocks(content: Any, target: Target) -> tuple[Content, ...]:
    """Return what is said to the model: texts that are not blank, and images, or the note that there was one."""
    if isinstance(content, str):
        content = (TextContent(content),)
    return tuple(_heard(content if isinstance(content, list | tuple) else (), target))


def _heard(content: Iterable[Content], target: Target) -> Iterator[Content]:
    for block in content:
        if isinstance(block, TextContent):
            text = _whole(block.text)
            if text.strip():
                yield evolve(block, text=text)
        elif isinstance(block, ImageContent):
            yield block if target.images else TextContent(NO_IMAGE)


# --- results ------------------------------------------------------------------------------------------------------


@final
@define
class _Results:
    """The results of a transcript, each taken once."""

    messages: Sequence[Message]
    _places: dict[str, list[int]] = field(factory=dict, init=False)
    """Where the results are of the calls with that id, first ones first."""
    _asked: dict[str, list[int]] = field(factory=dict, init=False)
    """Which messages ask for calls with that id."""

    def __attrs_post_init__(self) -> None:
        for at, message in enumerate(self.messages):
            if isinstance(message, ToolResultMessage):
                self._places.setdefault(message.tool_call_id, []).append(at)
            elif isinstance(message, AssistantMessage):
                for id_ in {call.id for call in message.tool_calls}:
                    self._asked.setdefault(id_, []).append(at)

    def take(self, at: int, id_: str) -> ToolResultMessage | None:
        """Return the first result of a call of the message at a place, before another message asks for that id."""
        limit = next((place for place in self._asked.get(id_, ()) if place > at), len(self.messages))
        places = self._places.get(id_, [])
        for number, place in enumerate(places):
            if at < place < limit:
                del places[number]
                found = self.messages[place]
                return found if isinstance(found, ToolResultMessage) else None
        return None


# --- texts --------------------------------------------------------------------------------------------------------


def _whole(text: str) -> str:
    """Return a text with what UTF-8 lacks replaced: halves of surrogate pairs."""
    return _HALVES.sub("\ufffd", text)


def _clean(value: Json) -> Json:
    """Return a value as JSON has it."""
    match value:
        case str():
            return _whole(value)
        case float() if not isfinite(value):
            return None
        case Mapping():
            return {_whole(str(key)): _clean(part) for key, part in value.items()}
        case list() | tuple():
            return [_clean(part) for part in value]
    return value
