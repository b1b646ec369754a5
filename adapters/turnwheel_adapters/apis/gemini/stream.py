"""Reads an answer of the API google-gemini: chunks that each hold a few parts, until the body ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, final

from turnwheel.messages import Json, StopReason
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.blocks import tokens, usage
from turnwheel_adapters.apis.chunks import DONE, object_of, objects, part, text
from turnwheel_adapters.apis.classify import from_json
from turnwheel_adapters.apis.decoding import AnswerDecoder
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.apis.sse import ServerEvent

_STOPS: Final[Mapping[str, StopReason]] = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERS: Final = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "MODEL_ARMOR",
    }
)
"""Finish reasons by which a filter cut the answer off. Source: FinishReason of the Gemini API."""
_BAD_CALLS: Final = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"}
)
_UNSPECIFIED: Final = "FINISH_REASON_UNSPECIFIED"


@final
class GeminiDecoder(AnswerDecoder):
    """Folds the chunks of one answer. A new block begins wherever the kind of part changes.

    It is finished when a chunk named a finish reason, though more chunks may follow, and over only where the prompt was
    refused.
    """

    def __init__(self, request: ModelRequest, target: Target) -> None:
        super().__init__(request, target)
        self._kind: str | None = None
        self._number = 0

    def feed(self, event: ServerEvent) -> list[Started | Delta]:
        """Take a chunk. Raises Broken for an error object, a refused prompt, and what is no JSON object."""
        if event.data.strip() == DONE:
            self.over = self.finished
            return []
        data = object_of(event)
        if "error" in data:
            self.over = True
            raise Broken(from_json(data, provider=self.provider))
        self.begin(text(data, "responseId"), text(data, "modelVersion"))
        self._take_usage(data)
        for candidate in objects(data, "candidates")[:1]:
            for each in objects(part(candidate, "content"), "parts"):
                self._part(each)
            if reason := text(candidate, "finishReason"):
                self._finish(reason, text(candidate, "finishMessage"))
        if reason := text(part(data, "promptFeedback"), "blockReason"):
            self.over = True
            raise Broken(_filtered(f"the provider refused the prompt ({reason})", reason))
        return self.blocks.take()

    def _take_usage(self, data: Mapping[str, Json]) -> None:
        told = data.get("usageMetadata")
        if not isinstance(told, dict):
            return
        read = tokens(told, "cachedContentTokenCount")
        output = tokens(told, "candidatesTokenCount") + tokens(told, "thoughtsTokenCount")
        self.usage = usage(tokens(told, "promptTokenCount") - read, output, read)

    def _finish(self, reason: str, message: str) -> None:
        self.finished = True
        if reason in _STOPS:
            self.stop = _STOPS[reason]
            self.failure = None
        elif reason in _FILTERS:
            self.failure = _filtered(f"the provider's filter cut the answer off ({reason})", reason)
        elif reason != _UNSPECIFIED:
            why = f": {message}" if message else ""
            bad = "the model wrote a call that cannot be read" if reason in _BAD_CALLS else "the answer ended badly"
            self.failure = Failure("protocol", f"{bad} ({reason}{why}); try again", retryable=True, code=reason)

    def _part(self, each: dict[str, Json]) -> None:
        signature = text(each, "thoughtSignature")
        call = each.get("functionCall")
        if isinstance(call, dict):
            self._call(call, signature)
        elif isinstance(each.get("text"), str):
            self._say("thinking" if each.get("thought") is True else "text", text(each, "text"), signature)

    def _say(self, kind: str, delta: str, signature: str) -> None:
        if not delta:
            # A signature alone belongs to what was said last.
            if signature:
                self.blocks.seal((self._number, self._kind), signature)
            return
        if kind != self._kind:
            self._next(kind)
        key = (self._number, kind)
        (self.blocks.text if kind == "text" else self.blocks.thinking)(key, delta)
        if signature:
            self.blocks.seal(key, signature)

    def _call(self, call: dict[str, Json], signature: str) -> None:
        self._next(None)
        arguments, key = part(call, "args"), (self._number, "call")
        self.blocks.call(key, text(call, "id") or None, text(call, "name"))
        self.blocks.arguments(key, json.dumps(arguments, ensure_ascii=False))
        if signature:
            self.blocks.seal(key, signature)
        self.blocks.close(key, arguments)

    def _next(self, kind: str | None) -> None:
        self.blocks.close((self._number, self._kind))
        self._number += 1
        self._kind = kind


def _filtered(what: str, reason: str) -> Failure:
    return Failure("content_filter", f"{what}; say it differently, or choose another model", code=reason)
