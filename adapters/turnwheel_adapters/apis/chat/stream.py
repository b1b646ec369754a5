"""Reads an answer of the API openai-chat, and of the many servers that imitate it, each in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, final

from attrs import evolve

from turnwheel.messages import AssistantMessage, Content, Json, StopReason, ThinkingContent
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.blocks import tokens, usage
from turnwheel_adapters.apis.chat.calls import Calls, is_blank
from turnwheel_adapters.apis.chat.details import Details
from turnwheel_adapters.apis.chunks import DONE, object_of, objects, part, text
from turnwheel_adapters.apis.classify import from_json
from turnwheel_adapters.apis.decoding import AnswerDecoder
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.apis.sse import ServerEvent

REASONING: Final = ("reasoning_content", "reasoning", "reasoning_text")
"""The fields that may hold thinking. Where several do, they hold the same, so the first counts."""
DETAILS: Final = "reasoningDetails"
"""Under which name a thinking block keeps what OpenRouter wants back."""
_STOPS: Final[Mapping[str, StopReason]] = {
    "stop": "stop",
    "end": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "stop",
    "function_call": "stop",
}
_FILTERED: Final = Failure(
    "content_filter",
    "the provider's content filter cut the answer off; say it differently, or choose another model",
    code="content_filter",
)
_LATE: Final = Failure(
    "protocol",
    "the server changed the arguments of a call after it had said that the answer was finished; try again",
    retryable=True,
    code="late_arguments",
)


@final
class ChatDecoder(AnswerDecoder):
    """Folds the chunks of one answer."""

    def __init__(self, request: ModelRequest, target: Target) -> None:
        super().__init__(request, target)
        self._details = Details()
        self._calls = Calls(self.blocks, self._details)
        self._kind = ""
        self._number = 0

    def feed(self, event: ServerEvent) -> list[Started | Delta]:
        """Take a chunk. Raises Broken for an error object, and for what is no JSON object."""
        if event.data.strip() == DONE:
            if not self.finished:
                self._finish("stop")
            self._turn_to("")
            self._settle()
            self.over = True
            return self.blocks.take()
        data = object_of(event)
        self.begin(text(data, "id"), text(data, "model"))
        choice = next(iter(objects(data, "choices")), {})
        for usage_ in (data.get("usage"), part(data, "x_groq").get("usage"), choice.get("usage")):
            self._take_usage(usage_)
        error = data.get("error") or choice.get("error")
        if error or "error" in (event.name, data.get("object"), data.get("type")):
            self.over = True
            raise Broken(from_json({"error": error} if error else data, provider=self.provider))
        self._take(part(choice, "delta"))
        if reason := text(choice, "finish_reason"):
            self._finish(reason)
        return self.blocks.take()

    def close(self) -> Iterable[Started | Delta]:
        """Return the steps that are left; the calls of a finished answer are whole, whether [DONE] came or not."""
        if self.finished:
            self._settle()
        return super().close()

    def end(self, failure: Failure | None = None, *, aborted: bool = False) -> AssistantMessage:
        """Return the message."""
        if self.finished and failure is None and not aborted:
            self._settle()
        return super().end(failure, aborted=aborted)

    # --- a chunk ----------------------------------------------------------------------------------------------------

    def _take_usage(self, told: Json) -> None:
        if not isinstance(told, dict) or not told:
            return
        details = part(told, "prompt_tokens_details")
        read = (
            tokens(details, "cached_tokens")
            or tokens(told, "prompt_cache_hit_tokens")
            or tokens(told, "cached_tokens")
            or tokens(told, "num_cached_tokens")
        )
        written = tokens(details, "cache_write_tokens")
        asked, spent = tokens(told, "prompt_tokens"), tokens(told, "completion_tokens")
        thought = tokens(told, "completion_tokens_details", "reasoning_tokens")
        # xAI counts thinking beside the completion, as its total shows; all others count it in.
        if thought and tokens(told, "total_tokens") == asked + spent + thought:
            spent += thought
        self.usage = usage(asked - read - written, spent, read, written)

    def _take(self, delta: dict[str, Json]) -> None:
        self._think(delta)
        content = delta.get("content")
        if isinstance(content, str):
            self._say("text", content)
        for each in objects(delta, "content"):
            self._part(each)
        if refusal := text(delta, "refusal"):
            self._say("refusal", refusal)
            self.blocks.note(self._key, "refusal", True)
        for call in objects(delta, "tool_calls"):
            self._call(call)
        # The form before tool_calls: there is one call, without an id.
        self._call({"index": 0, "function": part(delta, "function_call")})

    def _call(self, call: dict[str, Json]) -> None:
        if not is_blank(call):
            self._turn_to("call")
            self._calls.take(call)

    def _part(self, each: dict[str, Json]) -> None:
        """Take a part of a content that is a list, as Mistral's."""
        if text(each, "type") == "thinking":
            inner = each.get("thinking")
            said = inner if isinstance(inner, str) else "".join(text(one, "text") for one in objects(each, "thinking"))
            self._say("thinking", said)
        else:
            self._say("text", text(each, "text"))

    def _think(self, delta: dict[str, Json]) -> None:
        entries = objects(delta, "reasoning_details")
        field, thought = next(((name, text(delta, name)) for name in REASONING if text(delta, name)), ("", ""))
        if not thought:
            field = "reasoning_details"
            thought = "".join(text(entry, "text") or text(entry, "summary") for entry in entries)
        self._say("thinking", thought)
        if thought:
            self.blocks.seal(self._key, field)
        for entry in entries:
            self._details.take(entry)

    # --- blocks -----------------------------------------------------------------------------------------------------

    @property
    def _key(self) -> tuple[int, str]:
        return self._number, self._kind

    def _say(self, kind: str, delta: str) -> None:
        if delta:
            self._turn_to(kind)
            (self.blocks.thinking if kind == "thinking" else self.blocks.text)(self._key, delta)

    def _turn_to(self, kind: str) -> None:
        """Begin a block of another kind. Calls stay open, since they may come in turns."""
        if kind != self._kind:
            self.blocks.close(self._key)
            self._number += 1
            self._kind = kind

    def _finish(self, reason: str) -> None:
        first, self.finished = not self.finished, True
        if reason in _STOPS:
            self.stop = _STOPS[reason]
            # Some servers give a reason in every chunk: to read all calls anew each time would cost the square.
            if first:
                self._calls.close(cut=self.stop == "length", last=False)
        elif reason == "content_filter":
            self.failure = _FILTERED
        else:
            self.failure = Failure(
                "protocol",
                f"the answer ended for a reason that is not known ({reason}); try again",
                retryable=True,
                code=reason,
            )

    def _settle(self) -> None:
        """Take the calls as they are, since nothing more can come."""
        if self.failure is None:
            self._calls.close(cut=self.stop == "length", last=True)
            if self._calls.contradicted:
                self.failure = _LATE

    def content(self) -> Iterator[Content]:
        """Yield the content. The first thinking keeps the details of all; where there is none, an empty one does."""
        details = self._details.without(self._calls.signed)
        blocks = self.blocks.content()
        if details and not any(isinstance(block, ThinkingContent) for block in blocks):
            yield ThinkingContent("", "reasoning_details", extra={DETAILS: details})
        for block in blocks:
            if details and isinstance(block, ThinkingContent):
                yield evolve(block, extra={**block.extra, DETAILS: details})
                details = []
            else:
                yield block
