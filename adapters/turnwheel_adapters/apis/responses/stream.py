"""Reads an answer of the API openai-responses. Items are told apart by output_index: some servers change their ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, final

from turnwheel.messages import Json
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.blocks import ids_in, tokens, usage
from turnwheel_adapters.apis.chunks import DONE, number, object_of, objects, part, text
from turnwheel_adapters.apis.classify import from_json
from turnwheel_adapters.apis.decoding import AnswerDecoder
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.apis.sse import ServerEvent

FILTERED: Final = Failure(
    "content_filter",
    "the provider's content filter cut the answer off; say it differently, or choose another model",
    code="content_filter",
)
_BETWEEN_PARTS: Final = "\n\n"


@final
class ResponsesDecoder(AnswerDecoder):
    """Folds the events of one response."""

    def __init__(self, request: ModelRequest, target: Target) -> None:
        super().__init__(request, target, taken=[call.partition("|")[0] for call in ids_in(request)])
        self._kinds: dict[int, str] = {}
        """What the thinking of an item is made of: its summary or its text. Where both come, the first counts."""
        self._parts: dict[int, int] = {}
        """The part of a summary that came last."""

    def feed(self, event: ServerEvent) -> list[Started | Delta]:
        """Take an event. Raises Broken for an error event, a response that failed, and what is no JSON object."""
        if event.data.strip() == DONE:
            self.over = self.finished
            return []
        data = object_of(event)
        response = part(data, "response")
        self.begin(text(response, "id"), text(response, "model"))
        handle = _HANDLERS.get(text(data, "type") or event.name)
        if handle is not None:
            handle(self, data)
        elif "error" in data and "type" not in data:
            self._error(data)
        return self.blocks.take()

    # --- the response as a whole ------------------------------------------------------------------------------------

    def _ended(self, data: dict[str, Json]) -> None:
        response = part(data, "response")
        self._take_usage(response)
        if not self._kinds:
            # Nothing was streamed: what there is stands in the response.
            for index, item in enumerate(objects(response, "output")):
                self._item_done({"output_index": index, "item": item})
        self.finished = self.over = True
        reason = text(part(response, "incomplete_details"), "reason")
        if text(response, "status") != "incomplete" and text(data, "type") != "response.incomplete":
            self.blocks.close_all()
        elif reason == "content_filter":
            self.failure = FILTERED
        elif reason in ("max_output_tokens", "max_tokens", ""):
            self.stop = "length"
        else:
            self.failure = Failure(
                "protocol",
                f"the response is incomplete for a reason that is not known: {reason}; try again",
                retryable=True,
                code=reason,
            )

    def _response_failed(self, data: dict[str, Json]) -> None:
        response = part(data, "response")
        self._take_usage(response)
        self._error({"error": response.get("error") or {"message": "the response failed, and no reason was given"}})

    def _error(self, data: dict[str, Json]) -> None:
        self.over = True
        told = {key: value for key, value in data.items() if key != "type"} if "error" not in data else data
        raise Broken(from_json(told if "error" in told else {"error": told}, provider=self.provider))

    def _take_usage(self, response: Mapping[str, Json]) -> None:
        told = response.get("usage")
        if not isinstance(told, dict):
            return
        read = tokens(told, "input_tokens_details", "cached_tokens")
        written = tokens(told, "input_tokens_details", "cache_write_tokens")
        fresh = tokens(told, "input_tokens") - read - written
        self.usage = usage(fresh, tokens(told, "output_tokens"), read, written)

    # --- its items --------------------------------------------------------------------------------------------------

    def _item_added(self, data: dict[str, Json]) -> None:
        index, item = number(data, "output_index"), part(data, "item")
        self._kinds.setdefault(index, "")
        if text(item, "type") == "function_call":
            self._open_call(index, item)
            self.blocks.arguments(index, text(item, "arguments"))

    def _open_call(self, index: int, item: Mapping[str, Json]) -> None:
        call, own = text(item, "call_id"), text(item, "id")
        self.blocks.call(index, f"{call}|{own}" if call and own else call or None, text(item, "name"))

    def _text(self, data: dict[str, Json]) -> None:
        self.blocks.text(number(data, "output_index"), text(data, "delta"))

    def _refusal(self, data: dict[str, Json]) -> None:
        index = number(data, "output_index")
        self.blocks.text(index, text(data, "delta"))
        if self.blocks.is_open(index):
            self.blocks.note(index, "refusal", True)

    def _arguments(self, data: dict[str, Json]) -> None:
        if self.blocks.is_open(index := number(data, "output_index")):
            self.blocks.arguments(index, text(data, "delta"))

    def _summary(self, data: dict[str, Json]) -> None:
        self._think(data, "summary", number(data, "summary_index"))

    def _reasoning(self, data: dict[str, Json]) -> None:
        self._think(data, "content", number(data, "content_index"))

    def _think(self, data: dict[str, Json], kind: str, place: int) -> None:
        index, delta = number(data, "output_index"), text(data, "delta")
        if not delta or (self._kinds.get(index) or kind) != kind:
            return
        self._kinds[index] = kind
        if self._parts.setdefault(index, place) != place:
            self._parts[index] = place
            delta = f"{_BETWEEN_PARTS}{delta}"
        self.blocks.thinking(index, delta)

    def _item_done(self, data: dict[str, Json]) -> None:
        index, item = number(data, "output_index"), part(data, "item")
        self._kinds.setdefault(index, "")
        done = _DONE.get(text(item, "type"))
        if done is not None:
            done(self, index, item)
        self.blocks.close(index)

    def _call_done(self, index: int, item: dict[str, Json]) -> None:
        if not self.blocks.is_open(index):
            self._open_call(index, item)
        self.blocks.arguments(index, _rest(self.blocks.said(index), text(item, "arguments")))

    def _message_done(self, index: int, item: dict[str, Json]) -> None:
        whole = "".join(text(each, "text") or text(each, "refusal") for each in objects(item, "content"))
        said = self.blocks.said(index) if self.blocks.is_open(index) else ""
        self.blocks.text(index, _rest(said, whole))
        if not self.blocks.is_open(index):
            return
        if any(text(each, "type") == "refusal" for each in objects(item, "content")):
            self.blocks.note(index, "refusal", True)
        if own := text(item, "id"):
            phase = {"phase": phase} if (phase := text(item, "phase")) else {}
            self.blocks.sign(index, _json({"v": 1, "id": own, **phase}))

    def _reasoning_done(self, index: int, item: dict[str, Json]) -> None:
        kind = self._kinds.get(index) or ("summary" if objects(item, "summary") else "content")
        whole = _BETWEEN_PARTS.join(text(each, "text") for each in objects(item, kind))
        said = self.blocks.said(index) if self.blocks.is_open(index) else ""
        self.blocks.thinking(index, _rest(said, whole))
        if text(item, "encrypted_content") or whole:
            self.blocks.thought(index)
            self.blocks.sign(index, _json(item))


def _rest(said: str, whole: str) -> str:
    """Return what of a whole text has not been said yet."""
    return whole[len(said) :] if whole.startswith(said) else ""


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_HANDLERS: Final[Mapping[str, Callable[[ResponsesDecoder, dict[str, Json]], None]]] = {
    "response.output_item.added": ResponsesDecoder._item_added,
    "response.output_text.delta": ResponsesDecoder._text,
    "response.refusal.delta": ResponsesDecoder._refusal,
    "response.function_call_arguments.delta": ResponsesDecoder._arguments,
    "response.reasoning_summary_text.delta": ResponsesDecoder._summary,
    "response.reasoning_text.delta": ResponsesDecoder._reasoning,
    "response.output_item.done": ResponsesDecoder._item_done,
    "response.completed": ResponsesDecoder._ended,
    "response.done": ResponsesDecoder._ended,
    "response.incomplete": ResponsesDecoder._ended,
    "response.failed": ResponsesDecoder._response_failed,
    "error": ResponsesDecoder._error,
}
"""What each kind of event does; all others say nothing of the content."""

_DONE: Final[Mapping[str, Callable[[ResponsesDecoder, int, dict[str, Json]], None]]] = {
    "function_call": ResponsesDecoder._call_done,
    "message": ResponsesDecoder._message_done,
    "reasoning": ResponsesDecoder._reasoning_done,
}
"""What the end of each kind of item brings; those that run on the server are passed over."""
