"""One try at a request: sent once, and its answer read piece by piece into stream steps."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, final

import anyio
import httpx
from attrs import evolve

from turnwheel.messages import AssistantMessage
from turnwheel.ports import text_of
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started
from turnwheel_adapters.apis import sse
from turnwheel_adapters.apis.classify import from_response, has_error
from turnwheel_adapters.apis.failures import Broken, Failure, failure_of
from turnwheel_adapters.models.guard import Aborted, Guard
from turnwheel_adapters.models.network import connect_late, failure_from, first_byte_late, idle, redirected
from turnwheel_adapters.models.secret import Secrets
from turnwheel_adapters.models.wire import Wire, new_client

Step = Started | Delta

_ERROR_BYTES: Final = 64 * 1024
_ERROR_SECONDS: Final = 10.0
"""So much of an error's body is read, and for so long."""
_CLOSING_SECONDS: Final = 1.0
_REUSE_SECONDS: Final = 0.05
"""So long a body that is over may take to end, on a connection that is kept; one that does not is closed."""


@final
class Attempt:
    """One try. `more` gives the steps until there are none, then `message` the answer; `close` must be called."""

    def __init__(self, wire: Wire, request: ModelRequest, guard: Guard, now: Callable[[], float]) -> None:
        self.status: int | None = None
        """The status of the answer, once there is one."""
        self.content = False
        """Whether any of the answer's content arrived."""
        self.held: list[Step] = []
        """Steps that wait for content, since a request that is sent again begins only once; at the end those left."""
        self._wire = wire
        self._request = request
        self._guard = guard
        self._now = now
        self._secrets = Secrets()
        self._decoder = wire.api.decoder(request, wire.target)
        self._reader = sse.Decoder()
        self._events = 0
        self._failure: Failure | None = None
        self._ended = False
        self._grace_s = math.inf if wire.api.closes else wire.limits.grace_s
        self._client: httpx.AsyncClient | None = None
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._socket: Any = None
        self._connecting = False
        self._began_at = anyio.current_time()
        self._begun = False
        self._deadline = math.inf
        """When the first byte is due; later, when one stops waiting for what may follow a finished answer."""

    @property
    def ms(self) -> int:
        """How long it has taken by now."""
        return round((anyio.current_time() - self._began_at) * 1000)

    async def more(self) -> list[Step] | None:
        """Return the next steps, or None when there are no more. Nothing but a cancellation is raised."""
        if self._ended:
            return None
        try:
            if self._chunks is None:
                self._chunks = await self._send()
            chunk = await self._next(self._chunks)
            return self._folded(self._reader.feed(chunk))
        except StopAsyncIteration:
            return self._rest(None)
        except TimeoutError:
            return self._rest(self._late())
        except Broken as broken:
            return self._rest(broken.failure)
        except Aborted:
            self._ended = True
            return []
        except Exception as error:
            return self._rest(failure_from(error, self._wire.host))

    def message(self) -> tuple[AssistantMessage, Failure | None]:
        """Return the answer as far as it came, and what went wrong with it."""
        if self._guard.aborted:
            return self._decoder.end(aborted=True), None
        failure = self._failure
        if failure is not None:
            scrub = self._secrets.scrubbed
            failure = evolve(failure, text=scrub(failure.text), code=failure.code and scrub(failure.code))
        else:
            self.held += self._decoder.close()
        message = self._decoder.end(failure)
        if message.error_message is not None:
            message = evolve(message, error_message=self._secrets.scrubbed(message.error_message))
        return message, failure or failure_of(message)

    async def close(self) -> None:
        """Let go of the connection, which is closed unless its answer was read to the end."""
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True), suppress(Exception):
            if self._chunks is not None:
                if self._wire.client is not None and self._decoder.over and not self._guard.aborted:
                    # A connection that is kept can be used again only when its body has been read to the end.
                    with anyio.move_on_after(_REUSE_SECONDS):
                        async for _ in self._chunks:
                            pass
                # Where it waits it is cancelled, and with it each of the generators that it is made of.
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    async for _ in self._chunks:
                        pass
            if self._response is not None:
                await self._response.aclose()
            elif self._socket is not None:
                # The client below forgets about it where it is cancelled in the middle of the TLS handshake.
                await self._socket.aclose()
            if self._client is not None:
                await self._client.aclose()

    # --- sending --------------------------------------------------------------------------------------------------

    async def _send(self) -> AsyncIterator[bytes]:
        """Send the request and return the body of the answer."""
        wire, limits, guard = self._wire, self._wire.limits, self._guard
        key = await guard.within(math.inf, lambda: wire.current_key(self._request))
        self._secrets = wire.secrets(key)
        client = wire.client
        if client is None:
            client = self._client = new_client()
        request = wire.written(client, self._request, key)
        request.extensions["trace"] = self._traced
        seconds = limits.connect_s + limits.first_byte_s
        self._deadline = anyio.current_time() + seconds
        response = await guard.within(seconds, lambda: client.send(request, stream=True, follow_redirects=False))
        self._response = response
        self.status = response.status_code
        chunks = aiter(response.aiter_bytes())
        if not response.is_success:
            self._chunks = chunks
            raise Broken(await self._refusal(response, chunks))
        return chunks

    async def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        """Take notice of where httpx is: connecting and waiting for the answer have a limit each."""
        if event.endswith("connect_tcp.started"):
            self._connecting = True
            self._guard.limit(self._wire.limits.connect_s)
        elif event.endswith("connect_tcp.complete"):
            self._socket = info["return_value"]
        elif event.endswith("send_request_headers.started") and info["request"].method != b"CONNECT":
            self._connecting = False
            self._deadline = anyio.current_time() + self._wire.limits.first_byte_s
            self._guard.limit(self._wire.limits.first_byte_s)

    async def _refusal(self, response: httpx.Response, chunks: AsyncIterator[bytes]) -> Failure:
        """Return the failure that an answer without success is."""
        provider = self._wire.target.provider
        if response.has_redirect_location:
            return redirected(provider, response.status_code, response.headers["location"])
        body = bytearray()
        end = anyio.current_time() + _ERROR_SECONDS
        with suppress(StopAsyncIteration, TimeoutError, httpx.HTTPError):
            while len(body) < _ERROR_BYTES:
                body += await self._guard.within(end - anyio.current_time(), lambda: anext(chunks))
        return from_response(response.status_code, response.headers, bytes(body), provider, now=self._now())

    # --- reading --------------------------------------------------------------------------------------------------

    async def _next(self, chunks: AsyncIterator[bytes]) -> bytes:
        """Return the next bytes of the body. Raises StopAsyncIteration at its end, and TimeoutError."""
        seconds = self._wire.limits.idle_s
        if not self._begun:
            seconds = self._deadline - anyio.current_time()
        elif self._decoder.finished:
            seconds = min(seconds, self._deadline - anyio.current_time())
        chunk = await self._guard.within(seconds, lambda: anext(chunks))
        self._begun = True
        return chunk

    def _folded(self, events: Iterable[sse.ServerEvent], *, cut: bool = False) -> list[Step]:
        """Return the steps that events add. Of one that may be `cut` off, what cannot be read counts as not there."""
        steps: list[Step] = []
        try:
            for event in events:
                self._events += 1
                steps.extend(self._decoder.feed(event))
                if self._decoder.finished:
                    self._deadline = anyio.current_time() + self._grace_s
                if self._decoder.over:
                    self._ended = True
                    break
        except Broken as broken:
            self._ended = True
            if not (cut and broken.failure.kind == "protocol"):
                self._failure = broken.failure
        except Exception as error:
            self._ended = True
            told = f"an event of {self._wire.host} could not be read ({text_of(error)}); check that it speaks this API"
            self._failure = None if cut else Failure("protocol", told, code="malformed")
        return self._shown(steps)

    def _shown(self, steps: list[Step]) -> list[Step]:
        """Return the steps that may be shown by now: all, once one of them is content."""
        if not self.content:
            steps, self.held = self.held + steps, []
            self.content = any(type(step) is not Started for step in steps)
            if not self.content:
                steps, self.held = [], steps
        return steps

    def _rest(self, failure: Failure | None) -> list[Step]:
        """Return the steps of what was left when the body ended, by itself or with a failure."""
        self._ended = True
        steps = self._folded(self._reader.end(), cut=True)
        if self._failure is None:
            self._failure = self._stray() or (None if self._decoder.finished else failure)
        return steps

    def _stray(self) -> Failure | None:
        """Return the failure that a body tells of which is no stream, or in which an error stands between events."""
        strays = self._reader.strays
        try:
            data = json.loads(strays)
        except (ValueError, RecursionError):
            data = None
        if not strays or self._response is None or not (has_error(data) or not self._events):
            return None
        told = strays.encode()
        return from_response(
            self._response.status_code, self._response.headers, told, self._wire.target.provider, now=self._now()
        )

    def _late(self) -> Failure:
        limits, host = self._wire.limits, self._wire.host
        if self._connecting:
            return connect_late(host, limits.connect_s)
        return idle(host, limits.idle_s) if self._begun else first_byte_late(host, limits.first_byte_s)
