"""An abort ends the answer at once and closes the connection, whatever is being waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.adapters.models.server import SILENT, Answer, serving
from tests.adapters.models.tiny import HELLO, REQUEST, events, tiny_at
from tests.engine.agents import both
from turnwheel.abort import AbortSignal
from turnwheel.messages import AssistantMessage
from turnwheel.stream import Finished, StreamStep
from turnwheel_adapters.models.http import Exchange, HttpModel
from turnwheel_adapters.models.limits import Retries

SLOW = Answer(HELLO, piece=60, delay_s=5)
BUSY = Answer.json({}, 429, {"retry-after": "30"})


async def aborted(model: HttpModel, *, after: float = 0.05, threads: bool = False) -> AssistantMessage:
    """Return the answer that is aborted after so many seconds, from this event loop or from another thread."""
    signal = AbortSignal()
    steps: list[StreamStep] = []
    async with anyio.create_task_group() as group:

        async def abort() -> None:
            await anyio.sleep(after)
            signal.abort()

        if threads:
            timer = threading.Timer(after, signal.abort)
            timer.start()
        else:
            group.start_soon(abort)
        steps += [step async for step in model(REQUEST, signal)]
    last = steps[-1]
    assert isinstance(last, Finished)
    assert signal._callbacks == []
    return last.message


class TestAbort:
    """An abort at each place where something is awaited."""

    @pytest.mark.parametrize("threads", [False, True])
    @pytest.mark.parametrize("where", ["first byte", "body", "tls"])
    @both
    async def test_closes_the_connection(self, where: str, threads: bool) -> None:
        """In the handshake, before the first byte and between two pieces, also from another thread."""
        with serving(SLOW if where == "body" else SILENT) as server:
            url = server.url.replace("http:", "https:") if where == "tls" else server.url
            message = await aborted(tiny_at(url), threads=threads)
            assert await server.left()
        assert message.stop_reason == "aborted"
        assert message.text == ("Hel" if where == "body" else "")
        assert message.error_message == "Request was aborted"

    @both
    async def test_while_an_error_arrives(self) -> None:
        """Also while the body of an error is being read."""
        with serving(Answer(b"{", 500, hold=True)) as server:
            assert (await aborted(tiny_at(server.url))).stop_reason == "aborted"
            assert await server.left()

    @pytest.mark.parametrize("threads", [False, True])
    @both
    async def test_between_two_tries(self, threads: bool) -> None:
        """The wait before the next try is broken off, and nothing more is sent."""
        with serving(BUSY) as server:
            assert (await aborted(tiny_at(server.url), threads=threads)).stop_reason == "aborted"
        assert len(server.requests) == 1

    @both
    async def test_while_a_key_is_fetched(self) -> None:
        """A coroutine that gives the key is cancelled, and nothing is sent."""
        with serving(Answer(HELLO)) as server:
            assert (await aborted(tiny_at(server.url, key=anyio.sleep_forever))).stop_reason == "aborted"
        assert server.requests == []

    @both
    async def test_before_the_request(self) -> None:
        """A signal that is set already lets nothing be sent."""
        signal = AbortSignal()
        signal.abort()
        seen: list[Exchange] = []
        with serving(Answer(HELLO)) as server:
            steps = [step async for step in tiny_at(server.url, on_request=seen.append)(REQUEST, signal)]
        assert [step.type for step in steps] == ["done"]
        assert server.connections == 0
        assert [each.stop_reason for each in seen] == ["aborted"]

    @both
    async def test_while_a_step_is_looked_at(self) -> None:
        """Whoever aborts on seeing a step gets no other step but the last, though more has arrived."""
        signal = AbortSignal()
        seen = []
        with serving(Answer(HELLO)) as server:
            async for step in tiny_at(server.url)(REQUEST, signal):
                seen.append(step.type)
                if step.type == "text_start":
                    signal.abort()
        assert seen == ["start", "text_start", "done"]

    @both
    async def test_nothing_is_sent_again(self) -> None:
        """An aborted request is final."""
        with serving(SILENT) as server:
            await aborted(tiny_at(server.url, retries=Retries(base_ms=1)))
            assert await server.left()
        assert len(server.requests) == 1


class TestNoScopeIsOpen:
    """Between two steps nothing is held that another task, or a consumer's own scope, could stumble over."""

    @both
    async def test_a_scope_around_one_step(self) -> None:
        """A consumer may open and close scopes of its own between steps, in any nesting."""
        seen = []
        with serving(Answer(HELLO, piece=20, delay_s=0.001)) as server:
            steps = tiny_at(server.url)(REQUEST, AbortSignal())
            with anyio.CancelScope() as outer:
                seen.append(await anext(steps))
            with anyio.fail_after(1):
                seen += [step async for step in steps]
        assert not outer.cancelled_caught
        assert [seen[0].type, seen[-1].type] == ["start", "done"]

    @both
    async def test_each_step_in_a_task_of_its_own(self) -> None:
        """Steps may be taken by different tasks, one after the other."""
        seen: list[Any] = []
        with serving(Answer(events({"start": True}, {"text": "a"}, {"end": True}), piece=9)) as server:
            steps = tiny_at(server.url)(REQUEST, AbortSignal())
            take: Callable[[], Any] = steps.__anext__

            async def one() -> None:
                seen.append(await take())

            for _ in range(5):
                async with anyio.create_task_group() as group:
                    group.start_soon(one)
            await steps.aclose()
        assert [step.type for step in seen] == ["start", "text_start", "text_delta", "text_end", "done"]
