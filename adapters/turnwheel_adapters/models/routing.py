"""Models of all providers behind one stream function: each request's own model says who answers it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Self, final

from attrs import evolve, field, frozen

from turnwheel.abort import AbortSignal
from turnwheel.requests import ModelRequest
from turnwheel.stream import StreamStep
from turnwheel_adapters.apis.api import Api, ApiName, Settings
from turnwheel_adapters.models.http import Exchange, HttpModel
from turnwheel_adapters.models.limits import Limits, Retries
from turnwheel_adapters.models.providers import PROVIDERS, Provider
from turnwheel_adapters.models.wire import Key, new_client

if TYPE_CHECKING:
    import httpx


def api_of(name: ApiName) -> Api:
    """Return the codec of an API. Here the four of them load, each when it is first needed."""
    match name:
        case "anthropic-messages":
            from turnwheel_adapters.apis.anthropic import API as ANTHROPIC

            return ANTHROPIC
        case "openai-chat":
            from turnwheel_adapters.apis.chat import API as CHAT

            return CHAT
        case "openai-responses":
            from turnwheel_adapters.apis.responses import API as RESPONSES

            return RESPONSES
    from turnwheel_adapters.apis.gemini import API as GEMINI

    return GEMINI


@final
@frozen
class Setup:
    """How models are reached. `key` outranks the environment; `base_url` goes to the model that is opened by name only.

    `providers` are there besides the built-in ones, or in their place; `environ` is where keys are looked for.
    """

    base_url: str | None = None
    key: Key = field(default=None, repr=False)
    settings: Settings = Settings()
    limits: Limits = Limits()
    retries: Retries = Retries()
    providers: Mapping[str, Provider] = field(factory=dict)
    environ: Mapping[str, str] = field(factory=lambda: os.environ, repr=False)
    on_request: Callable[[Exchange], object] | None = None

    @property
    def known(self) -> Mapping[str, Provider]:
        """All providers, by name."""
        return {**PROVIDERS, **self.providers}

    def key_of(self, provider: Provider) -> str | None:
        """Return the key that the environment has for a provider: the first of its variables that is set."""
        return next((value for name in provider.keys if (value := self.environ.get(name, "").strip())), None)


_DEFAULT: Final = Setup()


@final
class ProviderModels:
    """A stream function for `provider/model` names, such as `anthropic/claude-sonnet-5`.

    A request whose model begins with a provider's name goes there, so that a hook can change from one to another; any
    other goes to the model that this was opened for. `async with` keeps connections from one request to the next.
    """

    def __init__(self, name: str, setup: Setup = _DEFAULT) -> None:
        """Open a model. Raises ValueError for an unknown provider, and where address or key are missing."""
        self._name = name
        self._setup = setup
        self._client: httpx.AsyncClient | None = None
        self._models: dict[str, HttpModel] = {}
        self._opened(name)

    def __repr__(self) -> str:
        return f"ProviderModels({self._name!r})"

    async def __aenter__(self) -> Self:
        self._client = new_client()
        self._models.clear()
        return self

    async def __aexit__(self, *failure: object) -> None:
        client, self._client = self._client, None
        self._models.clear()
        if client is not None:
            await client.aclose()

    async def __call__(self, request: ModelRequest, signal: AbortSignal) -> AsyncIterator[StreamStep]:
        """Yield the answer of the model that the request names."""
        async with aclosing(self._opened(self._meant(request.model))(request, signal)) as steps:
            async for step in steps:
                yield step

    def _meant(self, model: str) -> str:
        provider, slash, _ = model.partition("/")
        return model if slash and provider in self._setup.known else self._name

    def _opened(self, name: str) -> HttpModel:
        if (model := self._models.get(name)) is not None:
            return model
        setup = self._setup
        given, _, wanted = name.partition("/")
        provider = setup.known.get(given)
        if provider is None:
            raise ValueError(f"there is no provider {given!r}; there are {', '.join(setup.known)}")
        if not wanted:
            raise ValueError(f"which model of {given}? Name it as in {given}/MODEL")
        # The address that the user gave is that of the model which was opened by name.
        base_url = setup.base_url if name == self._name else None
        base_url = base_url or setup.environ.get(provider.base_url_from or "", "") or None
        key = setup.key if name == self._name and setup.key is not None else setup.key_of(provider)
        if key is None and provider.key_needed and base_url is None:
            raise ValueError(f"there is no key for {given}: set {' or '.join(provider.keys)}")
        target = provider.target(given, wanted, base_url, setup.settings)
        if not target.base_url.startswith(("http://", "https://")):
            raise ValueError(f"the address of a server begins with http:// or https://, got {target.base_url!r}")
        model = self._models[name] = HttpModel(
            evolve(target, settings=setup.settings),
            api_of(provider.api),
            key,
            header=provider.header,
            headers=provider.headers,
            limits=setup.limits,
            retries=setup.retries,
            client=self._client,
            on_request=setup.on_request,
        )
        return model
