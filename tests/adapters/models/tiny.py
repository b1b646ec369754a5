"""The smallest API that has everything a client must deal with, for tests of the client alone.

Events are JSON: `{"start": true}`, `{"text": "…"}`, `{"call": name}`; `{"end": true}` finishes the answer, and
`{"error": …}` breaks it; `[DONE]` says that nothing more comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, final

from attrs import evolve

from turnwheel.abort import AbortSignal
from turnwheel.messages import AssistantMessage
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Finished, Started, StreamStep
from turnwheel_adapters.apis import blocks
from turnwheel_adapters.apis.api import Api, Target
from turnwheel_adapters.apis.classify import from_json
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.apis.sse import ServerEvent
from turnwheel_adapters.models.http import HttpModel

REQUEST: Final = ModelRequest("m1")


@final
class TinyDecoder:
    """Reads one answer."""

    def __init__(self, request: ModelRequest, target: Target) -> None:
        self.finished = False
        self.over = False
        self._frame = blocks.frame_of(target)
        self._blocks = blocks.Blocks(blocks.ids_in(request))

    def feed(self, event: ServerEvent) -> Iterable[Started | Delta]:
        """Take an event."""
        if event.data == "[DONE]":
            self.over = True
            return []
        try:
            data = json.loads(event.data)
        except ValueError as error:
            raise Broken(Failure("protocol", f"this chunk is no JSON: {event.data}", code="malformed")) from error
        if "error" in data:
            raise Broken(from_json(data, provider="tiny"))
        if "start" in data:
            self._blocks.tell(Started(self._frame))
        if "text" in data:
            self._blocks.text("text", data["text"])
        if "call" in data:
            self._blocks.call("call", "c1", data["call"])
        if "end" in data:
            self._blocks.close_all()
            self.finished = True
        return self._blocks.take()

    def close(self) -> Iterable[Started | Delta]:
        """Return the steps that are left."""
        self._blocks.close_said()
        return self._blocks.take()

    def end(self, failure: Failure | None = None, *, aborted: bool = False) -> AssistantMessage:
        """Return the answer."""
        message = evolve(self._frame, content=self._blocks.content())
        return blocks.ended(message, "stop", finished=self.finished, failure=failure, aborted=aborted)


TINY: Final = Api("openai-chat", lambda _: "/tiny", lambda request, _: {"model": request.model}, TinyDecoder)


def events(*data: object, done: bool = True) -> bytes:
    """Return a body of events, with the mark of its end."""
    said = [each if isinstance(each, str) else json.dumps(each) for each in data]
    return "".join(f"data: {each}\n\n" for each in [*said, *(["[DONE]"] if done else [])]).encode()


HELLO: Final = events({"start": True}, {"text": "Hel"}, {"text": "lo"}, {"end": True})


def tiny_at(url: str, **options: Any) -> HttpModel:
    """Return a model that asks a server at that address."""
    return HttpModel(Target("tiny", "m1", "openai-chat", url), options.pop("api", TINY), **options)


async def all_steps(model: HttpModel, request: ModelRequest = REQUEST) -> list[StreamStep]:
    """Return all steps of one answer."""
    return [step async for step in model(request, AbortSignal())]


async def answer(model: HttpModel, request: ModelRequest = REQUEST) -> AssistantMessage:
    """Return one answer."""
    last = (await all_steps(model, request))[-1]
    assert isinstance(last, Finished)
    return last.message
