"""The client of all APIs: what it sends, the answer it gives, and what it never tells."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable

import anyio
import anyio.lowlevel
import httpx
import pytest
from attrs import evolve

from tests.adapters.models.server import Answer, serving
from tests.adapters.models.tiny import HELLO, REQUEST, TINY, all_steps, answer, events, tiny_at
from tests.engine.agents import both
from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.stream import Finished
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.models.http import Exchange, HttpModel
from turnwheel_adapters.models.limits import Limits, Retries
from turnwheel_adapters.models.wire import Key

SECRET = "sk-proj-abcdefghijklmnop-qrstuv-7890"


class TestAnswers:
    """Answers that arrive."""

    @pytest.mark.parametrize("piece", [0, 1, 7])
    @both
    async def test_whole_and_in_pieces(self, piece: int) -> None:
        """However it is cut, the answer is the same, with one start, and the steps come before it."""
        with serving(Answer(HELLO, piece=piece)) as server:
            steps = await all_steps(tiny_at(server.url))
        assert [step.type for step in steps] == [
            "start",
            "text_start",
            "text_delta",
            "text_delta",
            "text_end",
            "done",
        ]
        last = steps[-1]
        assert isinstance(last, Finished)
        assert (last.message.text, last.message.stop_reason) == ("Hello", "stop")

    @both
    async def test_nothing_is_waited_for_after_the_mark(self) -> None:
        """After the terminal mark the answer is there and the connection closed, though the server keeps it open."""
        with serving(Answer(HELLO, hold=True)) as server:
            assert (await answer(tiny_at(server.url))).text == "Hello"
            assert await server.left()

    @both
    async def test_what_follows_a_finished_answer(self) -> None:
        """A finished answer waits for what may follow, but only for a moment."""
        body = events({"text": "Hello"}, {"end": True}, done=False)
        with serving(Answer(body, hold=True)) as server:
            message = await answer(tiny_at(server.url, limits=Limits(grace_s=0.05)))
        assert (message.text, message.stop_reason) == ("Hello", "stop")

    @both
    async def test_where_only_the_end_of_the_body_ends(self) -> None:
        """An API that has no other mark may finish more than once: nothing that comes later is lost."""
        body = events({"text": "Hel"}, {"end": True}, {"text": "lo"}, {"end": True}, done=False)
        api = evolve(TINY, closes=True)
        with serving(Answer(body, piece=50, delay_s=0.05)) as server:
            message = await answer(tiny_at(server.url, api=api, limits=Limits(grace_s=0.01)))
        assert (message.text, message.stop_reason) == ("Hello", "stop")

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
    @both
    async def test_the_last_event_without_a_blank_line(self, end: bytes) -> None:
        """A body that ends right behind the last event is whole."""
        body = events({"text": "Hello"}, {"end": True}, done=False).rstrip(b"\n") + end
        with serving(Answer(body)) as server:
            assert (await answer(tiny_at(server.url))).stop_reason == "stop"

    @both
    async def test_dropped_after_the_finish(self) -> None:
        """A finished answer is one, though the connection drops before the mark."""
        with serving(Answer(HELLO, cut=len(HELLO) - 3, how="rst")) as server:
            assert (await answer(tiny_at(server.url))).stop_reason == "stop"

    @both
    async def test_many_at_a_time(self) -> None:
        """One model answers several requests side by side."""
        texts: list[str] = []
        with serving(Answer(HELLO, piece=7, delay_s=0.001)) as server:
            model = tiny_at(server.url)

            async def ask() -> None:
                texts.append((await answer(model)).text)

            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(ask)
        assert texts == ["Hello"] * 5

    @both
    async def test_an_agent_runs_on_it(self) -> None:
        """It is a stream function: an agent takes it as its model."""
        with serving(Answer(HELLO)) as server:
            agent = Agent(tiny_at(server.url))
            answered = await agent.prompt("hello?")
        assert answered is not None
        assert answered.text == "Hello"


class TestRequests:
    """What is sent."""

    @both
    async def test_body_and_headers(self) -> None:
        """The API's path and body, what the API and the user want as headers, and the key as a bearer."""
        api = evolve(TINY, headers={"x-version": "1"})
        with serving(Answer(HELLO)) as server:
            await answer(tiny_at(server.url, api=api, key=SECRET, headers={"X-Mine": "2"}))
        sent = server.requests[0]
        assert (sent.method, sent.path, sent.json) == ("POST", "/tiny", {"model": "m1"})
        expected = {"x-version": "1", "x-mine": "2", "authorization": f"Bearer {SECRET}"}
        expected |= {"accept": "text/event-stream", "accept-encoding": "identity"}
        assert expected.items() <= sent.headers.items()

    @pytest.mark.parametrize("header", ["x-api-key", "x-goog-api-key", "api-key"])
    @both
    async def test_key_in_its_own_header(self, header: str) -> None:
        """A key goes as it is in the header that the provider names."""
        with serving(Answer(HELLO)) as server:
            await answer(tiny_at(server.url, key=SECRET, header=header))
        assert server.requests[0].headers[header] == SECRET
        assert "authorization" not in server.requests[0].headers

    @both
    async def test_no_key(self) -> None:
        """Without a key, or where none is to be sent, there is no header for it."""
        with serving(Answer(HELLO)) as server:
            await answer(tiny_at(server.url))
            await answer(tiny_at(server.url, key=SECRET, header=None))
        assert not any("authorization" in request.headers for request in server.requests)

    @pytest.mark.parametrize("as_given", [lambda: SECRET, lambda: later(SECRET), SECRET, f" {SECRET}\n"])
    @both
    async def test_where_a_key_comes_from(self, as_given: Key) -> None:
        """A key is a text, or what a function or coroutine function gives; blanks around it are none of it."""
        with serving(Answer(HELLO)) as server:
            await answer(tiny_at(server.url, key=as_given))
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"

    @both
    async def test_the_request_has_the_last_word(self) -> None:
        """The key of the request outranks that of the model."""
        with serving(Answer(HELLO)) as server:
            await answer(tiny_at(server.url, key="other"), evolve(REQUEST, api_key=SECRET))
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"

    @both
    async def test_a_key_is_asked_for_before_each_try(self) -> None:
        """A token that has expired by the second try is another one then."""
        keys = iter(["first-key", "second-key"])
        with serving(Answer.json({}, 503), Answer(HELLO)) as server:
            await answer(tiny_at(server.url, key=lambda: next(keys), retries=Retries(base_ms=1)))
        assert [request.headers["authorization"][7:] for request in server.requests] == ["first-key", "second-key"]


async def later(text: str) -> str:
    """Return a text, after a while."""
    await anyio.lowlevel.checkpoint()
    return text


class TestClients:
    """Whose client it is."""

    @both
    async def test_a_client_of_the_user(self) -> None:
        """A client that was given is used, keeps its connection where an answer came to its end, and is not closed."""
        body = events({"text": "Hello"}, {"end": True}, done=False)
        async with httpx.AsyncClient(headers={"x-mine": "1"}) as client:
            with serving(Answer(body)) as server:
                model = tiny_at(server.url, client=client)
                assert [(await answer(model)).text for _ in range(3)] == ["Hello"] * 3
                assert server.connections == 1
            assert not client.is_closed
        assert server.requests[0].headers["x-mine"] == "1"

    @both
    async def test_a_transport_of_the_user(self) -> None:
        """It need not be a network."""
        transport = httpx.MockTransport(lambda request: httpx.Response(200, content=HELLO))
        async with httpx.AsyncClient(transport=transport) as client:
            assert (await answer(tiny_at("http://nowhere", client=client))).text == "Hello"

    @both
    async def test_a_closed_client(self) -> None:
        """A client that its owner has closed is an answer that says so."""
        async with httpx.AsyncClient() as client:
            pass
        message = await answer(tiny_at("http://nowhere", client=client))
        assert message.stop_reason == "error"
        assert "client has been closed" in (message.error_message or "")


class TestLeaving:
    """A consumer that goes away."""

    @both
    async def test_closing_closes_the_connection(self) -> None:
        """Closed in the middle, the model lets go of the connection at once; nothing is left over."""
        seen: list[Exchange] = []
        with serving(Answer(HELLO, piece=60, delay_s=5)) as server:
            steps = tiny_at(server.url, on_request=seen.append)(REQUEST, signal := AbortSignal())
            async for step in steps:
                if step.type == "text_delta":
                    break
            await steps.aclose()
            assert await server.left()
        assert seen[0].stop_reason is None
        assert signal._callbacks == []
        gc.collect()

    @both
    async def test_cancelling_closes_the_connection(self) -> None:
        """So it does when the task that waits for it is cancelled."""
        with serving(Answer(HELLO, piece=60, delay_s=5)) as server:
            with anyio.move_on_after(0.1) as scope:
                await all_steps(tiny_at(server.url))
            assert scope.cancelled_caught
            assert await server.left()

    @both
    async def test_a_stream_of_another_transport(self) -> None:
        """Whatever the body comes from is closed, and has the time to close."""
        stream = Endless()
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=stream))
        async with httpx.AsyncClient(transport=transport) as client:
            with anyio.move_on_after(0.05):
                await all_steps(tiny_at("http://nowhere", client=client))
        assert stream.closed


class Endless(httpx.AsyncByteStream):
    """A body without an end."""

    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b": wait\n"
            await anyio.sleep(0.001)

    async def aclose(self) -> None:
        """Take a moment to close."""
        await anyio.lowlevel.checkpoint()
        self.closed = True


class TestObserver:
    """Who is told of each request."""

    @both
    async def test_is_told_of_every_try(self) -> None:
        """One word for each try: its number, status, time, what came of it; its fault changes nothing."""
        seen: list[Exchange] = []

        def note(exchange: Exchange) -> None:
            seen.append(exchange)
            raise RuntimeError("the log is full")

        with serving(Answer.json({}, 503), Answer(HELLO)) as server:
            message = await answer(tiny_at(server.url, on_request=note, retries=Retries(base_ms=1), random=lambda: 0))
        assert message.text == "Hello"
        told = [(each.attempt, each.status, each.stop_reason, each.kind, each.retry_ms) for each in seen]
        assert told == [(1, 503, "error", "overloaded", 1), (2, 200, "stop", None, None)]
        assert all(each.ms >= 0 and each.provider == "tiny" for each in seen)
        assert seen[1].usage == message.usage


class TestSecrecy:
    """Keys stay out of everything that is told."""

    @pytest.mark.parametrize(
        "say",
        [
            lambda key: f"Incorrect API key provided: {key}.",
            lambda key: f"Incorrect API key provided: {key[:8]}********{key[-4:]}.",
            lambda key: f"bad key {key[:6]}...{key[-4:]}",
            lambda key: f"bad key {key[:20]}",
            lambda key: f"the key ****{key[-4:]} is bad",
            lambda key: f"Bearer {key} is wrong",
        ],
    )
    @both
    async def test_a_key_that_the_server_repeats(self, say: Callable[[str], str]) -> None:
        """Whole, masked or cut short, it is in no text of the answer and in nothing that is noted."""
        seen: list[Exchange] = []
        refusal = Answer.json({"error": {"message": say(SECRET), "code": SECRET}}, 401)
        with serving(refusal) as server:
            steps = await all_steps(tiny_at(server.url, key=SECRET, on_request=seen.append))
        told = repr(steps) + repr(seen)
        assert "auth" in told
        assert not any(part in told for part in (SECRET, SECRET[:6], SECRET[-4:]))

    @pytest.mark.parametrize("headers", [{"X-Auth-Token": "hunter2-hunter2"}, {"Cookie": "Bearer hunter2-hunter2"}])
    @both
    async def test_secrets_in_headers(self, headers: dict[str, str]) -> None:
        """So does what a header of the user's holds."""
        refusal = Answer.json({"error": "no access with hunter2-hunter2"}, 403)
        with serving(refusal) as server:
            steps = await all_steps(tiny_at(server.url, headers=headers))
        assert "hunter2" not in repr(steps)
        assert "no access with (key)" in repr(steps)

    @both
    async def test_errors_in_a_stream_and_before_a_retry(self) -> None:
        """It does not matter where the server says it."""
        broken = events({"error": {"message": f"{SECRET} is overloaded", "type": "overloaded_error"}})
        with serving(Answer(broken)) as server:
            steps = await all_steps(tiny_at(server.url, key=SECRET, retries=Retries(most=1, base_ms=1)))
        assert [step.type for step in steps] == ["retry", "done"]
        assert SECRET not in repr(steps)

    def test_reprs(self) -> None:
        """Neither the model nor what it holds shows a key, or the password of an address."""
        target = Target("tiny", "m1", "openai-chat", "https://me:hunter2@example.org/v1")
        model = HttpModel(target, TINY, SECRET, headers={"authorization": SECRET})
        assert repr(model) == "HttpModel(tiny/m1 at example.org)"
        assert SECRET not in repr(model._wire)

    @pytest.mark.parametrize("key", ["sk-abc\ndef-ghi", "sk-…-abcdefgh"])
    @both
    async def test_a_key_that_no_header_carries(self, key: str) -> None:
        """It is refused before it is sent, and not shown."""
        message = await answer(tiny_at("http://127.0.0.1:9", key=key))
        assert "no header carries; set it anew" in (message.error_message or "")
        assert "sk-" not in repr(message)

    @both
    async def test_ordinary_words_stay(self) -> None:
        """A short key such as a local server's is not cut out of other words."""
        with serving(Answer.json({"error": "none of the nonexistent"}, 400)) as server:
            message = await answer(tiny_at(server.url, key="none"))
        assert "(key) of the nonexistent" in (message.error_message or "")
