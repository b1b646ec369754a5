"""Models over HTTP: one client for all APIs. It sends, sends again where that may help, and raises no failure."""

from __future__ import annotations

import random as chance
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, final

import httpx
from attrs import evolve, frozen

from turnwheel.abort import AbortSignal
from turnwheel.messages import AssistantMessage, StopReason, Usage
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished, Retry, StreamStep
from turnwheel_adapters.apis.api import Api, Target
from turnwheel_adapters.apis.failures import Failure, FailureKind
from turnwheel_adapters.models.attempt import Attempt
from turnwheel_adapters.models.guard import Guard
from turnwheel_adapters.models.limits import Limits, Retries
from turnwheel_adapters.models.wire import Key, Wire

if TYPE_CHECKING:
    from turnwheel_adapters.models.providers import KeyHeader


@final
@frozen
class Exchange:
    """One request that was sent, or could not be, and what came of it.

    `attempt` counts from 1, `ms` is how long it took until its answer was whole or given up. `stop_reason` None:
    whoever took the answer went away. `kind` says in which way it failed, `retry_ms` that it is sent again after so
    many milliseconds.
    """

    provider: str
    model: str
    attempt: int
    ms: int
    status: int | None = None
    stop_reason: StopReason | None = None
    kind: FailureKind | None = None
    retry_ms: int | None = None
    usage: Usage | None = None


@final
class HttpModel:
    """A model of a provider. It is a stream function (turnwheel.requests.Stream) and can answer several at a time.

    What goes wrong is an answer with stop reason error, and an abort one with stop reason aborted, which closes the
    connection at once. A request that failed before anything of its answer arrived is sent again where that may help;
    `Started` is held back until then, so that it comes once.
    """

    def __init__(
        self,
        target: Target,
        api: Api,
        key: Key = None,
        *,
        header: KeyHeader | None = "bearer",
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        retries: Retries | None = None,
        random: Callable[[], float] = chance.random,
        now: Callable[[], float] = time.time,
        client: httpx.AsyncClient | None = None,
        on_request: Callable[[Exchange], object] | None = None,
    ) -> None:
        """Take what every request needs; nothing is sent yet.

        The key of a request outranks `key`, and `headers` (sent with each) outrank those of key and API. `random` gives
        numbers from 0 to 1, `now` seconds since 1970. A `client` stays its owner's, who closes it; else each try has
        one of its own. `on_request` is told of each try; what it raises is ignored.
        """
        self._wire = Wire(target, api, key, header, dict(headers or {}), limits or Limits(), client)
        self._retries = retries or Retries()
        self._random = random
        self._now = now
        self._on_request = on_request

    def __repr__(self) -> str:
        return f"HttpModel({self._wire.target.provider}/{self._wire.target.model} at {self._wire.host})"

    async def __call__(self, request: ModelRequest, signal: AbortSignal) -> AsyncGenerator[StreamStep, None]:
        """Yield the answer as it arrives: its steps, perhaps Retry before them, and Finished."""
        guard = Guard(signal)
        try:
            number = 1
            while True:
                attempt = Attempt(self._wire, request, guard, self._now)
                settled = _LEFT
                try:
                    while (steps := await attempt.more()) is not None:
                        for step in steps:
                            yield step
                            if guard.aborted:
                                break
                    settled = self._settle(attempt, number)
                finally:
                    await attempt.close()
                    self._tell(attempt, number, settled)
                if settled.retry is None:
                    break
                yield settled.retry
                await guard.pause(settled.retry.delay_ms / 1000)
                number += 1
            for step in attempt.held:
                yield step
            yield Finished(settled.message)
        finally:
            guard.release()

    def _settle(self, attempt: Attempt, number: int) -> _Settled:
        """Decide what becomes of a try that is over."""
        message, failure = attempt.message()
        if failure is None:
            return _Settled(message)
        delay = None
        if not attempt.content:
            delay = self._retries.delay_ms(failure, number, self._random())
        if delay is not None:
            return _Settled(message, failure, Retry(number, self._retries.most, delay, failure.kind, failure.text))
        text = failure.text if failure.text.endswith(".") else f"{failure.text}."
        if failure.retryable and not attempt.content and self._retries.too_long(failure):
            longest = self._retries.longest_demanded_wait_ms / 1000
            text += f" That is longer than the {longest:g} s that are waited at most, so it was not sent again."
        elif number > 1:
            text += f" It was sent {number} times."
        return _Settled(evolve(message, error_message=text), failure)

    def _tell(self, attempt: Attempt, number: int, settled: _Settled) -> None:
        if self._on_request is None:
            return
        message, failure, retry = settled.message, settled.failure, settled.retry
        left = settled is _LEFT
        exchange = Exchange(
            self._wire.target.provider,
            self._wire.target.model,
            number,
            attempt.ms,
            attempt.status,
            None if left else message.stop_reason,
            failure.kind if failure else None,
            retry.delay_ms if retry else None,
            None if left else message.usage,
        )
        with suppress(Exception):
            self._on_request(exchange)


@frozen
class _Settled:
    """What became of a try."""

    message: AssistantMessage = AssistantMessage()
    failure: Failure | None = None
    retry: Retry | None = None


_LEFT: Final = _Settled()
"""Whoever took the answer went away."""
