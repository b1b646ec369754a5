"""What the decoders of all APIs have in common: an answer that begins, goes on, and ends in one way or another."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from turnwheel.messages import AssistantMessage, Content, StopReason, Usage
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.blocks import Blocks, ended, frame_of, ids_in
from turnwheel_adapters.apis.failures import Failure


class AnswerDecoder:
    """The state of an answer. A codec's decoder adds `feed`, which says what came."""

    def __init__(self, request: ModelRequest, target: Target, *, taken: Iterable[str] | None = None) -> None:
        """Begin an answer; ids of calls that are made up differ from those `taken`, by default the request's own."""
        self.finished = False
        """Whether the answer is complete: if the body ends here, that is no fault."""
        self.over = False
        """Whether nothing more can come."""
        self.provider = target.provider
        self.blocks = Blocks(ids_in(request) if taken is None else taken)
        self.begun = False
        """Whether the step that begins the answer was told."""
        self.usage: Usage | None = None
        self.stop: StopReason = "stop"
        self.failure: Failure | None = None
        """Why the answer ended badly, where it did."""
        self._frame = frame_of(target)

    def begin(self, id_: str, model: str) -> None:
        """Tell that the answer begins, once. Id and model are the first that the server tells, then or later."""
        known = self._frame.response_id, self._frame.response_model
        told = known[0] or id_ or None, known[1] or model or None
        if told != known:
            self._frame = evolve(self._frame, response_id=told[0], response_model=told[1])
        if not self.begun:
            self.begun = True
            self.blocks.tell(Started(self._frame))

    def close(self) -> Iterable[Started | Delta]:
        """Return the steps by which open texts and thoughts end with the answer (see Decoder.close)."""
        self.blocks.close_said()
        return self.blocks.take()

    def content(self) -> Iterable[Content]:
        """Return the content as it is by now."""
        return self.blocks.content()

    def end(self, failure: Failure | None = None, *, aborted: bool = False) -> AssistantMessage:
        """Return the message (see Decoder.end)."""
        message = evolve(self._frame, content=tuple(self.content()), usage=self.usage or self._frame.usage)
        return ended(message, self.stop, finished=self.finished, failure=failure or self.failure, aborted=aborted)
