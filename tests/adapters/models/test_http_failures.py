"""Failures are messages: whatever goes wrong on the way ends the answer, with its kind and what to do about it."""

from __future__ import annotations

import json
import ssl
from typing import Any

import httpx
import pytest

from tests.adapters.models.server import SILENT, Answer, nobody, serving
from tests.adapters.models.tiny import HELLO, TINY, all_steps, answer, events, tiny_at
from tests.engine.agents import both
from turnwheel.messages import AssistantMessage
from turnwheel_adapters.apis.api import Api
from turnwheel_adapters.apis.failures import Failure, failure_of
from turnwheel_adapters.models.limits import Limits, Retries
from turnwheel_adapters.models.network import failure_from

ONCE = Retries(most=0)


def fault(message: AssistantMessage) -> Failure:
    """Return the failure of an answer that failed."""
    failure = failure_of(message)
    assert failure is not None
    assert message.stop_reason == "error"
    return failure


async def failure(url: str, **options: Any) -> Failure:
    """Return the failure of one request, sent once."""
    return fault(await answer(tiny_at(url, retries=ONCE, **options)))


class TestConnecting:
    """Before there is a connection."""

    @both
    async def test_refused(self) -> None:
        """Nobody listens."""
        with nobody() as url:
            told = await failure(url)
        assert (told.kind, told.retryable, told.code) == ("network", True, "refused")
        assert "refused the connection; check that the server runs" in told.text

    @both
    async def test_no_such_host(self) -> None:
        """The name leads nowhere."""
        told = await failure("http://nobody.invalid")
        assert (told.kind, told.code) == ("network", "dns")
        assert "nobody.invalid" in told.text

    @both
    async def test_no_tls(self) -> None:
        """The server speaks something else than TLS: that does not get better."""
        with serving(greeting=b"SSH-2.0 something else\r\n") as server:
            told = await failure(server.url.replace("http:", "https:"))
        assert (told.kind, told.retryable, told.code) == ("network", False, "tls")

    @both
    async def test_connect_limit(self) -> None:
        """A handshake that does not come to its end is given up, and the connection closed."""
        with serving(SILENT) as server:
            told = await failure(server.url.replace("http:", "https:"), limits=Limits(connect_s=0.05))
            assert await server.left()
        assert (told.kind, told.retryable, told.code) == ("network", True, "connect_timeout")
        assert "within 0.05 s" in told.text

    @both
    async def test_a_proxy_that_says_nothing(self) -> None:
        """The way through a proxy is part of connecting."""
        with serving(SILENT) as proxy:
            async with httpx.AsyncClient(proxy=proxy.url) as client:
                limits = Limits(connect_s=0.05)
                assert (
                    await failure("https://example.invalid", client=client, limits=limits)
                ).code == "connect_timeout"

    @both
    async def test_a_proxy_that_refuses(self) -> None:
        """A proxy that lets nothing through is named as what it is."""
        with serving(Answer(b"", 407)) as proxy:
            async with httpx.AsyncClient(proxy=proxy.url) as client:
                told = await failure("https://example.invalid", client=client)
        assert (told.kind, told.retryable, told.code) == ("network", False, "proxy")
        assert "HTTPS_PROXY" in told.text

    @pytest.mark.parametrize("url", ["ftp://example.org", "nothing", "http://[::1"])
    @both
    async def test_no_address(self, url: str) -> None:
        """An address that is none is said to be so, once."""
        told = await failure(url)
        assert not told.retryable
        assert "base URL" in told.text

    def test_a_certificate_that_is_not_trusted(self) -> None:
        """The text says so and where another authority is named; trying again does not help."""
        error = httpx.ConnectError("no")
        error.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed")
        error.__cause__.verify_message = "self-signed certificate"
        told = failure_from(error, "example.org")
        assert (told.code, told.retryable) == ("bad_certificate", False)
        assert "self-signed certificate" in told.text
        assert "SSL_CERT_FILE" in told.text


class TestLimits:
    """Servers that take too long."""

    @both
    async def test_first_byte(self) -> None:
        """A server that says nothing at all."""
        with serving(SILENT) as server:
            told = await failure(server.url, limits=Limits(first_byte_s=0.05))
            assert await server.left()
        assert (told.kind, told.retryable, told.code) == ("network", True, "first_byte_timeout")

    @both
    async def test_first_byte_of_the_body(self) -> None:
        """A head alone is no answer."""
        with serving(Answer(b"", hold=True)) as server:
            assert (await failure(server.url, limits=Limits(first_byte_s=0.05))).code == "first_byte_timeout"

    @both
    async def test_idle(self) -> None:
        """A server that stops in the middle: what had arrived is kept."""
        with serving(Answer(events({"text": "Hel"}, done=False), hold=True)) as server:
            message = await answer(tiny_at(server.url, limits=Limits(idle_s=0.05)))
            assert await server.left()
        assert (fault(message).code, message.text) == ("idle_timeout", "Hel")
        assert "nothing more came from" in (message.error_message or "")

    @both
    async def test_a_slow_answer_is_no_idle_one(self) -> None:
        """Only silence counts: an answer may take longer than every limit, and comments are no silence."""
        body = b": wait\n\n" * 8 + HELLO
        with serving(Answer(body, piece=9, delay_s=0.01)) as server:
            limits = Limits(connect_s=0.1, first_byte_s=0.1, idle_s=0.1)
            assert (await answer(tiny_at(server.url, limits=limits))).text == "Hello"


class TestAnswers:
    """Answers that are none, or break."""

    @both
    async def test_error_status(self) -> None:
        """An error answer is classified by what it says."""
        refusal = Answer.json(
            {"error": {"message": "slow down", "type": "rate_limit_error"}}, 429, {"retry-after": "7"}
        )
        with serving(refusal) as server:
            told = await failure(server.url)
        assert (told.kind, told.status, told.retry_after_ms) == ("rate_limit", 429, 7000)
        assert "slow down. Wait 7 s and try again." in told.text

    @both
    async def test_redirect(self) -> None:
        """A redirect is not followed: the key would go along."""
        with serving(Answer(b"", 302, {"location": "https://elsewhere.example/v1?token=1"})) as server:
            told = await failure(server.url, key="sk-12345678")
        assert (told.kind, told.code) == ("protocol", "redirect")
        assert "a redirect to https://elsewhere.example/v1;" in told.text
        assert len(server.requests) == 1

    @pytest.mark.parametrize("how", ["fin", "rst"])
    @both
    async def test_dropped(self, how: Any) -> None:
        """A connection that drops: what had arrived is kept, and it may work the next time."""
        with serving(Answer(HELLO, cut=60, how=how)) as server:
            message = await answer(tiny_at(server.url))
        told = fault(message)
        assert (told.kind, told.retryable, told.code, message.text) == ("network", True, "connection_lost", "Hel")

    @both
    async def test_never_a_success_when_cut(self) -> None:
        """Wherever the body is cut before its end is finished, in whatever way, the answer failed."""
        finish = HELLO.index(b'data: {"end"') + len(b'data: {"end": true}')
        for cut in range(0, finish, 3):
            with serving(Answer(HELLO[:cut], piece=7)) as server:
                told = await failure(server.url)
            assert (told.kind, told.retryable) == ("protocol", True), cut

    @pytest.mark.parametrize("rest", [b"data: 5", b'data: {"te', b"x-field: 1\n", b"dat"])
    @both
    async def test_what_the_cut_leaves(self, rest: bytes) -> None:
        """The piece of an event that the body ends with is no malformed chunk: the answer was cut off."""
        with serving(Answer(events({"text": "a"}, done=False) + rest)) as server:
            assert (await failure(server.url)).code == "stream_truncated"

    @both
    async def test_calls_that_are_not_whole_are_left_out(self) -> None:
        """A call whose end did not come is not in the answer."""
        with serving(Answer(events({"text": "a"}, {"call": "rm"}, done=False))) as server:
            message = await answer(tiny_at(server.url))
        assert (message.stop_reason, message.tool_calls) == ("error", ())

    @both
    async def test_error_event(self) -> None:
        """An error in the stream: what came before it is kept, what comes behind it is not looked at."""
        body = events({"text": "Hel"}, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, {"text": "!"})
        with serving(Answer(body)) as server:
            message = await answer(tiny_at(server.url))
        assert (fault(message).kind, message.text) == ("overloaded", "Hel")

    @both
    async def test_malformed(self) -> None:
        """A chunk that is no JSON breaks the answer."""
        with serving(Answer(events({"text": "Hel"}, "{oops", {"text": "lo"}))) as server:
            message = await answer(tiny_at(server.url))
        assert (fault(message).code, message.text) == ("malformed", "Hel")

    @both
    async def test_a_codec_that_stumbles(self) -> None:
        """An event in which the codec finds something else than it can read is a malformed one too."""
        with serving(Answer(events({"text": "Hel"}, 5))) as server:
            told = await failure(server.url)
        assert (told.kind, told.code) == ("protocol", "malformed")

    @pytest.mark.parametrize("indent", [None, 2])
    @both
    async def test_error_object_instead_of_a_stream(self, indent: int | None) -> None:
        """An error object with status 200 is an error."""
        body = json.dumps({"error": {"message": "no more", "code": "insufficient_quota"}}, indent=indent).encode()
        with serving(Answer(body, chunked=False)) as server:
            assert (await failure(server.url)).kind == "quota"

    @pytest.mark.parametrize("last", [{"text": "Hel"}, {"text": "Hel", "end": True}])
    @both
    async def test_error_object_between_events(self, last: object) -> None:
        """So it is where it stands behind events, without being one, even behind one that finished the answer."""
        body = events(last, done=False) + b'\n{"error": {"code": 499, "status": "CANCELLED"}}\n'
        with serving(Answer(body)) as server:
            message = await answer(tiny_at(server.url))
        assert (fault(message).code, fault(message).retryable, message.text) == ("CANCELLED", True, "Hel")

    @pytest.mark.parametrize("body", [b"<html><title>Log in</title>", b'{"choices": []}', b"hello"])
    @both
    async def test_no_stream_at_all(self, body: bytes) -> None:
        """A page, an answer in one piece, a text: the failure shows it."""
        with serving(Answer(body, chunked=False)) as server:
            told = await failure(server.url)
        assert (told.kind, told.retryable, told.status) == ("protocol", False, 200)
        assert any(part in told.text for part in ("Log in", "choices", "hello"))

    @both
    async def test_an_error_that_is_not_sent_whole(self) -> None:
        """The status of an error counts, though its body breaks off."""
        with serving(Answer(b'{"error": "x"}' * 9, 500, cut=30, how="rst")) as server:
            assert (await failure(server.url)).kind == "server_error"


class TestRequests:
    """Requests that cannot be sent."""

    @both
    async def test_a_key_that_cannot_be_had(self) -> None:
        """What a key function raises is the answer, and nothing is sent."""

        def key() -> str:
            raise OSError("the vault is shut")

        with serving(Answer(HELLO)) as server:
            told = await failure(server.url, key=key)
        assert (told.kind, server.requests) == ("auth", [])
        assert "the vault is shut" in told.text

    @both
    async def test_a_body_that_cannot_be_written(self) -> None:
        """What is no JSON is said so, and nothing is sent."""
        api = Api("openai-chat", TINY.path, lambda *_: {"x": object()}, TINY.decoder)
        with serving(Answer(HELLO)) as server:
            told = await failure(server.url, api=api)
        assert (told.kind, server.requests) == ("invalid_request", [])

    @both
    async def test_steps_of_a_failure(self) -> None:
        """A failure before the answer is one step: the last."""
        with nobody() as url:
            steps = await all_steps(tiny_at(url, retries=ONCE))
        assert [step.type for step in steps] == ["done"]
