"""What every try at a request needs: whom to ask, with which key, under which limits; and the request written down."""

from __future__ import annotations

import inspect
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, final

import httpx
from attrs import field, frozen

from turnwheel.ports import text_of
from turnwheel.requests import ModelRequest
from turnwheel_adapters.apis.api import Api, Target
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.models.limits import Limits
from turnwheel_adapters.models.secret import Secrets

if TYPE_CHECKING:
    from turnwheel_adapters.models.providers import KeyHeader

Key = str | Callable[[], str | Awaitable[str | None] | None] | None
"""A key, or what gives one, asked before each try since it may expire; it may be a coroutine function."""

_COMMON: Final = {
    "accept": "text/event-stream",
    "content-type": "application/json",
    "user-agent": "turnwheel",
    # What is packed may wait on the way until there is more of it.
    "accept-encoding": "identity",
}


@final
@frozen
class Wire:
    """Where requests go and how. `header` None: no key is sent. `headers` go with every request and outrank all."""

    target: Target
    api: Api
    key: Key = field(default=None, repr=False)
    header: KeyHeader | None = "bearer"
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    limits: Limits = Limits()
    client: httpx.AsyncClient | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """The server's name, and its port where the address has one."""
        return self._authority.rpartition("@")[2] or self.target.base_url

    @property
    def _authority(self) -> str:
        # By hand, since the address may be none.
        return self.target.base_url.partition("://")[2].partition("/")[0]

    async def current_key(self, request: ModelRequest) -> str | None:
        """Return the key for a request. Raises Broken where it cannot be had or sent."""
        if self.header is None:
            return None
        try:
            given = request.api_key or (self.key() if callable(self.key) else self.key)
            key = await given if inspect.isawaitable(given) else given
        except Exception as error:
            told = f"the key for {self.target.provider} could not be had ({text_of(error)}); see to what gives it"
            raise Broken(Failure("auth", told, code="no_key")) from error
        key = key.strip() if key else None
        if key and not (key.isascii() and key.isprintable()):
            told = f"the key for {self.target.provider} has characters that no header carries; set it anew"
            raise Broken(Failure("auth", told, code="bad_key"))
        return key

    def secrets(self, key: str | None) -> Secrets:
        """Return what is to be kept out of every text."""
        return Secrets.of(self.headers, key, self._authority.rpartition("@")[0].partition(":")[2])

    def written(self, client: httpx.AsyncClient, request: ModelRequest, key: str | None) -> httpx.Request:
        """Return the request as it is sent. Raises Broken where it cannot be written down."""
        try:
            body = json.dumps(self.api.body(request, self.target), ensure_ascii=False, separators=(",", ":"))
        except Exception as error:
            told = f"the request could not be written down ({text_of(error)}); look at what the transcript holds"
            raise Broken(Failure("invalid_request", told, code="unwritable")) from error
        headers = httpx.Headers(_COMMON)
        headers.update(dict(self.api.headers))
        if key is not None:
            headers.update({"authorization": f"Bearer {key}"} if self.header == "bearer" else {str(self.header): key})
        headers.update(dict(self.headers))
        return client.build_request(
            "POST",
            f"{self.target.base_url}{self.api.path(self.target)}",
            content=body.encode(errors="replace"),
            headers=headers,
            timeout=httpx.Timeout(None, pool=self.limits.connect_s),
        )


def new_client() -> httpx.AsyncClient:
    """Return a client for one request. Making one is cheap, since all share what is known of certificates."""
    return httpx.AsyncClient(verify=_certificates())


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()
