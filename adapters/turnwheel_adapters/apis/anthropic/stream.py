"""Reads an answer of the API anthropic-messages. Blocks of server-side tools, and all that is not known, are skipped.

Source: the streaming guide of the Messages API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from turnwheel.messages import Content, Json, StopReason, ToolCall
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.blocks import usage
from turnwheel_adapters.apis.chunks import DONE, number, object_of, part, text
from turnwheel_adapters.apis.classify import from_json
from turnwheel_adapters.apis.decoding import AnswerDecoder
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.apis.sse import ServerEvent

_STOPS: Final[Mapping[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
}
_FAILURES: Final[Mapping[str, Failure]] = {
    "refusal": Failure(
        "content_filter",
        "the model refused to go on (refusal); say it differently, or choose another model",
        code="refusal",
    ),
    "model_context_window_exceeded": Failure(
        "context_overflow",
        "the conversation and the answer have filled the model's context window; shorten the conversation",
        code="model_context_window_exceeded",
    ),
}
_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@final
class AnthropicDecoder(AnswerDecoder):
    """Folds the events of one message."""

    def __init__(self, request: ModelRequest, target: Target) -> None:
        super().__init__(request, target)
        self._texts: set[int] = set()
        """Indexes of texts: such a block opens with its first piece."""
        self._inputs: dict[int, dict[str, Json]] = {}
        """Arguments that came with the start of a call, by index, while nothing else has come of them."""
        self._written = False
        """Whether the last call has arguments."""
        self._counts: dict[str, int] = {}

    def feed(self, event: ServerEvent) -> list[Started | Delta]:
        """Take an event. Raises Broken for an error event, and for what is no JSON object."""
        if event.data.strip() == DONE:
            return []
        handle = _HANDLERS.get(event.name)
        if handle is None and event.name != "message":
            # Events of proxies, pings, and whatever will be added need not even be JSON.
            return []
        data = object_of(event)
        handle = _HANDLERS.get(text(data, "type")) or handle
        if handle is not None:
            handle(self, data)
        elif "error" in data:
            self._error(data)
        return self.blocks.take()

    def content(self) -> Sequence[Content]:
        """Return the content as it is by now."""
        content = self.blocks.content()
        if self.stop == "length" and content and isinstance(content[-1], ToolCall) and not self._written:
            # It was cut off before the first of its arguments, and is no call without any.
            return content[:-1]
        return content

    # --- events -----------------------------------------------------------------------------------------------------

    def _message_start(self, data: dict[str, Json]) -> None:
        message = part(data, "message")
        self._count(message.get("usage"))
        self.begin(text(message, "id"), text(message, "model"))

    def _block_start(self, data: dict[str, Json]) -> None:
        index, block = number(data, "index"), part(data, "content_block")
        match text(block, "type"):
            case "text":
                self._texts.add(index)
                self.blocks.text(index, text(block, "text"))
            case "thinking":
                self.blocks.thought(index)
                self.blocks.thinking(index, text(block, "thinking"))
                self.blocks.sign(index, text(block, "signature"))
            case "redacted_thinking":
                self.blocks.thought(index, redacted=True)
                self.blocks.sign(index, text(block, "data"))
            case "tool_use":
                self.blocks.call(index, text(block, "id") or None, text(block, "name"))
                self._inputs[index] = part(block, "input")
                self._written = bool(self._inputs[index])

    def _block_delta(self, data: dict[str, Json]) -> None:
        index, delta = number(data, "index"), part(data, "delta")
        match text(delta, "type"):
            case "text_delta" if index in self._texts:
                self.blocks.text(index, text(delta, "text"))
            case "thinking_delta" if self.blocks.is_open(index):
                self.blocks.thinking(index, text(delta, "thinking"))
            case "signature_delta" if self.blocks.is_open(index):
                self.blocks.sign(index, text(delta, "signature"))
            case "input_json_delta" if self.blocks.is_open(index) and text(delta, "partial_json"):
                self._inputs.pop(index, None)
                self._written = True
                self.blocks.arguments(index, text(delta, "partial_json"))

    def _block_stop(self, data: dict[str, Json]) -> None:
        index = number(data, "index")
        self._texts.discard(index)
        self.blocks.close(index, self._inputs.pop(index, None) or None)

    def _message_delta(self, data: dict[str, Json]) -> None:
        self._count(data.get("usage"))
        reason = text(part(data, "delta"), "stop_reason")
        if reason in _STOPS:
            self.stop = _STOPS[reason]
        elif reason:
            unknown = f"the answer ended for a reason that is not known ({reason}); try again"
            self.failure = _FAILURES.get(reason) or Failure("protocol", unknown, retryable=True, code=reason)

    def _message_stop(self, data: dict[str, Json]) -> None:
        self.finished = self.over = True

    def _error(self, data: dict[str, Json]) -> None:
        self.over = True
        raise Broken(from_json(data, provider=self.provider))

    # --- usage ------------------------------------------------------------------------------------------------------

    def _count(self, told: Json) -> None:
        """Take the counts that are there; those of message_delta take the place of earlier ones."""
        if isinstance(told, dict):
            self._counts |= {name: told[name] for name in _COUNTS if type(told.get(name)) is int}
            self.usage = usage(*(self._counts.get(name, 0) for name in _COUNTS))


_HANDLERS: Final[Mapping[str, Callable[[AnthropicDecoder, dict[str, Json]], None]]] = {
    "message_start": AnthropicDecoder._message_start,
    "content_block_start": AnthropicDecoder._block_start,
    "content_block_delta": AnthropicDecoder._block_delta,
    "content_block_stop": AnthropicDecoder._block_stop,
    "message_delta": AnthropicDecoder._message_delta,
    "message_stop": AnthropicDecoder._message_stop,
    "error": AnthropicDecoder._error,
}
