"""The form of a codec: how a request is written for one API, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, Protocol, final

from attrs import field, frozen

from turnwheel.messages import AssistantMessage, Json
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis.compat import Compat
from turnwheel_adapters.apis.failures import Failure
from turnwheel_adapters.apis.sse import ServerEvent

ApiName = Literal["anthropic-messages", "openai-chat", "openai-responses", "google-gemini"]

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
LEVELS: Final[tuple[ThinkingLevel, ...]] = ("off", "minimal", "low", "medium", "high", "xhigh")
"""How much a model is asked to think, from not at all to as much as it can."""


@final
@frozen
class Settings:
    """What the user chose for all requests.

    `max_tokens` is a limit on the answer (None: the API's own, or what the codec must send); `thinking_budgets` are
    tokens by level, where the API takes a number; `cache` marks what a provider may keep of the prompt; `session_id`
    tells requests of one conversation apart from others where a provider caches by key.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    thinking_budgets: Mapping[str, int] = field(factory=dict)
    cache: bool = True
    session_id: str | None = None


@final
@frozen
class Target:
    """One model of one provider: where its requests go and in what its server differs.

    `base_url` has no slash at the end; the codec's path goes behind it. `images` says whether the model takes images.
    """

    provider: str
    model: str
    api: ApiName
    base_url: str
    compat: Compat = Compat()
    settings: Settings = Settings()
    images: bool = True


class Decoder(Protocol):
    """Folds the events of one answer into stream steps, and at last into the message."""

    @property
    def finished(self) -> bool:
        """Whether the answer is complete: if the body ends here, that is no fault."""

    @property
    def over(self) -> bool:
        """Whether nothing more can come: the terminal mark was read, or a failure."""

    def feed(self, event: ServerEvent) -> Iterable[Started | Delta]:
        """Take an event and return the steps that it adds.

        Raises Broken for what ends the answer: an error event, or a chunk that is not what the API says.
        """

    def close(self) -> Iterable[Started | Delta]:
        """Return the steps that are left when nothing more comes: the ends of what was said, and of whole calls."""

    def end(self, failure: Failure | None = None, *, aborted: bool = False) -> AssistantMessage:
        """Return the message, with what has arrived.

        A failure makes it an error, an abort an aborted one. Without either, an answer that is not finished is an
        error of the kind protocol, since the body ended too early.
        """


@final
@frozen
class Api:
    """One API.

    `path` is what goes behind the base URL, `body` the JSON of a request, `headers` those that the API itself wants
    (the key's is the provider's), `decoder` reads one answer. `closes`: the end of the body is the only terminal mark,
    so that more may follow at leisure after a finish.
    """

    name: ApiName
    path: Callable[[Target], str]
    body: Callable[[ModelRequest, Target], dict[str, Json]]
    decoder: Callable[[ModelRequest, Target], Decoder]
    headers: Mapping[str, str] = field(factory=dict)
    closes: bool = False
