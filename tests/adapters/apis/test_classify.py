"""What a server's error means: decided by status, names and words together, never by digits of a text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel_adapters.apis.classify import classified, from_json, from_response, has_error
from turnwheel_adapters.apis.failures import Failure
from turnwheel_adapters.apis.fault_rules import ADVICE, BY_STATUS, RULES
from turnwheel_adapters.apis.waits import asked_wait, duration, wait_in

NOON = 1_767_268_800.0
"""1 January 2026, 12:00 UTC."""

Row = tuple[str, bool, int | None, str | int | None, str | None, str]
"""Kind and retryable; of status, code, type and message."""

TABLE: list[Row] = [
    ("rate_limit", True, 429, None, None, ""),
    ("rate_limit", True, 429, "rate_limit_exceeded", "requests", "Rate limit reached: Limit 3, Used 3."),
    ("rate_limit", True, None, "rate_limit_exceeded", "tokens", "Rate limit reached on tokens per min."),
    ("rate_limit", True, 400, "ThrottlingException", None, "Too many tokens, please wait before trying again."),
    ("rate_limit", True, 200, 429, None, "Provider returned error"),
    ("rate_limit", False, 413, "rate_limit_exceeded", "tokens", "Request too large on tokens per minute (TPM)"),
    ("context_overflow", False, 400, None, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
    ("context_overflow", False, 400, "context_length_exceeded", "invalid_request_error", "too long"),
    ("context_overflow", False, 500, None, None, "the request exceeds the available context size"),
    ("context_overflow", False, 400, 400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum (5)."),
    ("context_overflow", False, 429, None, None, "This model's maximum context length is 5 tokens."),
    ("context_overflow", False, 413, None, None, ""),
    ("quota", False, 429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, look."),
    ("quota", False, 429, None, None, "You exceeded your current quota, look."),
    ("quota", False, 400, None, "invalid_request_error", "Your credit balance is too low to access the API."),
    ("quota", False, 403, None, None, "Your team has used all available credits or reached its spending limit."),
    ("quota", False, 402, None, None, "Insufficient Balance"),
    ("rate_limit", True, 429, 429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Retry in 9s."),
    ("auth", False, 401, None, None, "Something with a rate limit in it"),
    ("auth", False, 401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided: abc."),
    ("auth", False, 403, None, "permission_error", "Your key may not use this resource."),
    ("auth", False, 400, "invalid-argument", None, "Incorrect API key provided."),
    ("auth", False, 400, 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    ("auth", False, None, None, None, "request 5290 failed: invalid key"),
    ("not_found", False, 404, "model_not_found", None, "The model `gpt-9.9` does not exist"),
    ("not_found", False, 400, None, None, "Model Not Exist"),
    ("not_found", False, 404, None, None, "model 'x' not found, try pulling it first"),
    ("overloaded", True, 529, None, "overloaded_error", "Overloaded"),
    ("overloaded", True, None, None, "overloaded_error", "Overloaded"),
    ("overloaded", True, 503, 503, "UNAVAILABLE", "The model is overloaded."),
    ("overloaded", True, 429, None, "engine_overloaded_error", "The engine is currently overloaded"),
    ("server_error", True, 500, None, "api_error", "Internal server error"),
    ("server_error", True, 502, None, None, ""),
    ("server_error", True, 408, None, None, ""),
    ("server_error", True, 200, 499, "CANCELLED", "The operation was cancelled."),
    ("server_error", True, None, "server_error", None, "The server had an error. Sorry about that!"),
    ("server_error", True, None, None, None, "something went wrong"),
    ("server_error", True, 400, "tool_use_failed", "invalid_request_error", "Tool call validation failed"),
    ("content_filter", False, 400, "content_filter", None, "Filtered by the content management policy."),
    ("content_filter", False, 403, 403, None, "The model requires moderation and your input was flagged"),
    ("invalid_request", False, 400, None, "invalid_request_error", "messages.1: roles must alternate"),
    ("invalid_request", False, 422, None, None, ""),
    ("invalid_request", False, None, None, "invalid_request_error", "bad"),
    ("network", False, 407, None, None, ""),
    ("protocol", False, 302, None, None, ""),
]


def at(status: int, body: object, **headers: str) -> Failure:
    """Return the failure that an answer with a JSON body is."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(status, told, json.dumps(body).encode(), "acme", now=NOON)


class TestKinds:
    """The kind, and whether to try again."""

    @pytest.mark.parametrize("row", TABLE)
    def test_table(self, row: Row) -> None:
        """Each error is of its kind, and only what may pass is worth another try."""
        kind, retryable, status, code, type_, message = row
        failure = classified(status=status, code=code, type_=type_, message=message)
        assert (failure.kind, failure.retryable) == (kind, retryable)

    @given(st.integers(0, 99_999), st.sampled_from(["request {} failed", "limit {}", "error {}", "{} tokens, id {}"]))
    def test_digits_decide_nothing(self, number: int, text: str) -> None:
        """A number in a text changes nothing."""
        for status in (None, 400, 500):
            one = classified(status=status, message=text.replace("{}", str(number)))
            other = classified(status=status, message=text.replace("{}", "0"))
            assert (one.kind, one.retryable, one.retry_after_ms) == (other.kind, other.retryable, other.retry_after_ms)

    def test_the_server_may_say_no(self) -> None:
        """A server that says that it should not be asked again is not."""
        assert not classified(status=429, headers={"X-Should-Retry": "false"}).retryable

    def test_a_day_is_too_long(self) -> None:
        """A quota of a day is no rate to wait for, whatever delay the server names."""
        details = [{"violations": [{"quotaId": "RequestsPerDayPerModel-FreeTier"}]}, {"retryDelay": "9s"}]
        assert classified(status=429, type_="RESOURCE_EXHAUSTED", message="quota", details=details).kind == "quota"

    def test_upstream_counts(self) -> None:
        """What a router quotes of the server behind it is read, and shown."""
        failure = classified(code=400, message="Provider returned error", details={"raw": "prompt is too long"})
        assert failure.kind == "context_overflow"
        assert "prompt is too long" in failure.text

    def test_no_rule_looks_for_a_number(self) -> None:
        """No words of a rule hold a digit."""
        assert not [rule for rule in RULES if rule.words and any(char.isdigit() for char in _plain(rule.words.pattern))]


def _plain(pattern: str) -> str:
    """Return a pattern without its counts, such as {0,80}."""
    return "".join(part.rpartition("}")[2] for part in pattern.split("{"))


class TestWaits:
    """How long to wait, from headers and texts."""

    @pytest.mark.parametrize(
        ("headers", "wait"),
        [
            ({"retry-after": "17"}, 17_000),
            ({"Retry-After": "0.5"}, 500),
            ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30_000),
            ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, None),
            ({"retry-after": "banana"}, None),
            ({"retry-after": "-5"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": ""}, None),
            ({"retry-after": "20", "retry-after-ms": "19512"}, 19_512),
            ({"retry-after": "1", "retry-after-ms": "0"}, 1000),
            ({"retry-after": "banana", "retry-after-ms": "7"}, 7),
            ({"x-ratelimit-reset-requests": "1m30.5s", "x-ratelimit-remaining-requests": "0"}, 90_500),
            ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-remaining-requests": "9"}, None),
            ({"x-ratelimit-reset": f"{NOON + 5:.0f}"}, 5000),
            ({"x-ratelimit-reset": f"{(NOON + 5) * 1000:.0f}"}, 5000),
            ({"x-ratelimit-reset": f"{(NOON - 5) * 1000:.0f}"}, None),
            ({"anthropic-ratelimit-tokens-reset": "2026-01-01T12:00:17Z"}, 17_000),
            ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT", "date": "Thu, 01 Jan 2026 12:00:20 GMT"}, 10_000),
        ],
    )
    def test_headers(self, headers: dict[str, str], wait: int | None) -> None:
        """Seconds, milliseconds, dates, durations; what makes no sense counts as not said."""
        assert asked_wait(headers, NOON) == wait

    def test_a_date_without_a_clock(self) -> None:
        """Where nobody knows the time, a date says nothing."""
        assert asked_wait({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}) is None

    @given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset", "date"]), st.text()))
    def test_any_header_is_survived(self, headers: dict[str, str]) -> None:
        """Whatever headers say, the wait is a number of milliseconds or none."""
        wait = asked_wait(headers, NOON)
        assert wait is None or wait >= 0

    @pytest.mark.parametrize(
        ("text", "wait"),
        [
            ("Please retry in 48.939935699s.", 48_940),
            ("Please try again in 250ms.", 250),
            ("Try again in 1h2m3s", 3_723_000),
            ("Please try again in 6 minutes and more", 360_000),
            ("It failed in 5 s", None),
            ("try again in a while", None),
        ],
    )
    def test_sentences(self, text: str, wait: int | None) -> None:
        """A sentence that asks to come again says when."""
        assert wait_in(text) == wait

    def test_details(self) -> None:
        """A delay that is said beside the message outranks the one in it."""
        details = [{"@type": "x"}, {"retryDelay": "48s"}]
        failure = classified(status=429, message="Please retry in 48.9s.", details=details)
        assert failure.retry_after_ms == 48_000
        assert "Wait 48 s" in failure.text

    def test_no_wait_for_what_does_not_pass(self) -> None:
        """A wrong key does not get right by waiting."""
        assert classified(status=401, headers={"retry-after": "5"}).retry_after_ms is None

    def test_no_duration(self) -> None:
        """A text with more than a duration is none."""
        assert duration("5 s of it") is None


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["error", "errors", "message", "code", "type", "details", "metadata", "detail", "status"])
    return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)


class TestForms:
    """The forms in which servers tell of errors."""

    @pytest.mark.parametrize(
        "body",
        [
            {"error": {"message": "told", "code": "c1"}},
            {"type": "error", "error": {"type": "c1", "message": "told"}},
            {"error": "told", "code": "c1"},
            {"code": "c1", "message": "told", "type": "error"},
            {"object": "error", "message": "told", "type": "c1"},
            [{"error": {"code": 400, "message": "told", "status": "c1"}}],
            {"type": "response.failed", "response": {"status": "failed", "error": {"code": "c1", "message": "told"}}},
            {"errors": [{"message": "told", "code": "c1"}]},
        ],
    )
    def test_message_and_name_are_found(self, body: object) -> None:
        """Whichever form it has, the message is shown and the name is kept."""
        failure = at(400, body)
        assert failure.text == f"acme answered 400 (c1): told. {ADVICE['invalid_request']}"
        assert failure.code == "c1"

    @pytest.mark.parametrize("body", [{"detail": "told"}, {"detail": [{"msg": "told"}]}, {"error": "told"}, "told"])
    def test_without_a_name(self, body: object) -> None:
        """A message alone is enough."""
        assert "acme answered 400: told. " in at(400, body).text

    def test_a_page(self) -> None:
        """Of a page its title is shown; what else it says does not decide."""
        page = b"<!DOCTYPE html><html><title>502 Bad&nbsp;Gateway</title><body>invalid api key</body></html>"
        failure = from_response(502, {}, page, "acme")
        assert (failure.kind, failure.retryable) == ("server_error", True)
        assert "sent a page instead of an answer: 502 Bad Gateway. " in failure.text

    def test_text_and_nothing(self) -> None:
        """Plain text is shown; an empty body is survived."""
        assert "acme answered 500: upstream died. " in from_response(500, {}, b"upstream died", "acme").text
        assert from_response(500, {}, b"", "acme").text.startswith("acme answered 500. ")

    @pytest.mark.parametrize("body", [b"<html>login</html>", b'{"choices": []}', b"hello", b""])
    def test_no_error_with_status_200(self, body: bytes) -> None:
        """What is no stream and tells of no error is of the kind protocol, and not asked for again."""
        failure = from_response(200, {}, body)
        assert (failure.kind, failure.retryable) == ("protocol", False)

    def test_error_with_status_200(self) -> None:
        """An error object counts, whatever the status; a number that is its code takes its place."""
        failure = at(200, {"error": {"message": "x", "code": 429}})
        assert (failure.kind, failure.retryable, failure.status, failure.code) == ("rate_limit", True, 200, "429")

    @given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), _nested, max_leaves=12))
    def test_any_json_is_survived(self, data: Any) -> None:
        """Whatever a server sends as an error, it is a failure that says something."""
        assert from_json({"error": data}, status=500).text
        assert from_response(500, {}, json.dumps(data).encode()).text

    def test_long_messages_are_cut(self) -> None:
        """A page of text is no error message."""
        assert len(classified(status=400, message="x " * 10_000).text) < 1000

    def test_has_error(self) -> None:
        """An error is told from an answer."""
        assert has_error([{"error": {"code": 1}}])
        assert has_error({"type": "error", "message": "x"})
        assert not has_error({"error": None, "choices": []})


class TestTexts:
    """What the user is told."""

    def test_every_kind_has_advice(self) -> None:
        """Whatever happens, the text says what to do."""
        assert {*BY_STATUS.values(), *(rule.kind for rule in RULES)} <= set(ADVICE)

    def test_refused_is_not_unknown(self) -> None:
        """A key that is wrong and one that may not do it need different things."""
        assert classified(status=401).text != classified(status=403).text.replace("403", "401")


RECORDED = os.environ.get("TURNWHEEL_RECORDINGS")


class TestRecordings:
    """Answers of real servers."""

    @pytest.mark.skipif(RECORDED is None, reason="TURNWHEEL_RECORDINGS names no folder of recordings")
    def test_recorded_errors(self) -> None:
        """Each recorded error is of the class, and as retryable, as its description says."""
        wrong = []
        for path in sorted(Path(RECORDED or "").rglob("*.http")):
            head, _, body = path.read_bytes().partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
            got = from_response(int(first.split()[1]), headers, body, now=NOON)
            expect = json.loads(path.with_suffix(".json").read_text("utf-8"))["expect"]
            alt = expect.get("alt") or {}
            for name, value in [
                ("class", got.kind),
                ("retryable", got.retryable),
                ("retryAfterMs", got.retry_after_ms),
            ]:
                if value not in alt.get(name, [expect[name]]):
                    wrong.append((path.name, name, value))
        assert wrong == []
