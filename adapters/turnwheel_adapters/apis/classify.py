"""What a server's error means: its kind, whether to try again, how long to wait, and what to tell the user."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, final

from attrs import evolve, field, frozen

from turnwheel.messages import Json
from turnwheel_adapters.apis.failures import Failure, FailureKind
from turnwheel_adapters.apis.fault_rules import (
    ADVICE,
    BY_STATUS,
    FAULTY_REQUEST,
    NOT_ALLOWED,
    REDUCE,
    RETRYABLE,
    RULES,
    TOO_LARGE,
    WITH_429,
    Rule,
    plain_name,
)
from turnwheel_adapters.apis.waits import asked_wait, duration, wait_in

_LONGEST: Final = 800
"""So many characters of a server's text are shown."""
_READ: Final = 20_000
"""So many are looked at."""
_NONE: Final[Mapping[str, str]] = {}
_DEPTH: Final = 8
_WITH_401: Final = frozenset({"quota", "auth"})
_SERIES: Final[Mapping[int, FailureKind]] = {4: "invalid_request", 5: "server_error"}


def classified(
    *,
    status: int | None = None,
    code: str | int | None = None,
    type_: str | None = None,
    message: str = "",
    headers: Mapping[str, str] = _NONE,
    provider: str = "",
    details: Json = None,
    now: float | None = None,
) -> Failure:
    """Return the failure that a server's error is.

    `code` and `type_` are the server's own names of it; a code that is a number counts as the status where the answer
    itself had none of an error. `details` is what stands beside the message (a list of Gemini's, `metadata` of
    OpenRouter). `now`, in seconds since 1970, is for headers that name a date.
    """
    asked = _Asked(status, code, type_, message, details)
    kind = asked.kind()
    text = asked.text()
    too_large = kind == "rate_limit" and TOO_LARGE.search(text) is not None
    lower = {name.lower(): value for name, value in headers.items()}
    retryable = kind in RETRYABLE and not too_large and status != 407 and lower.get("x-should-retry") != "false"
    wait = asked_wait(lower, now) if kind in RETRYABLE else None
    if wait is None and kind in RETRYABLE:
        wait = asked.demanded()
    advice = REDUCE if too_large else _advice(kind, asked.http, wait)
    return Failure(
        kind,
        f"{asked.told(provider)} {advice}",
        retryable=retryable,
        status=status,
        code=asked.name,
        retry_after_ms=wait,
    )


def from_json(
    data: Json,
    *,
    status: int | None = None,
    headers: Mapping[str, str] = _NONE,
    provider: str = "",
    now: float | None = None,
) -> Failure:
    """Return the failure that a JSON body or event tells of, whichever of the many forms it has.

    Known are an object under `error`, a text there, `detail`, `errors`, `response.error`, the error itself, a list.
    """
    told = _read(data)
    return classified(
        status=status,
        code=told.code,
        type_=told.type_,
        message=told.message,
        headers=headers,
        provider=provider,
        details=told.details,
        now=now,
    )


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, provider: str = "", *, now: float | None = None
) -> Failure:
    """Return the failure that an answer is which is no stream: an error in JSON, a page of a proxy, a plain text.

    An answer with status 200 is of the kind protocol, unless it holds an error object.
    """
    text = body[:_READ].decode(errors="replace").lstrip("\ufeff").strip()
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict | list) and (status >= 400 or has_error(data)):
        return from_json(data, status=status, headers=headers, provider=provider, now=now)
    told = classified(status=status, headers=headers, provider=provider, now=now)
    if re.match(r"<(?:!doctype|html|\?xml|head|body)", text, re.IGNORECASE):
        # What such a page says is not the provider's word: the status alone decides.
        page = f"something on the way sent a page instead of an answer: {_page(text)}"
    elif status >= 400:
        message = data if isinstance(data, str) else text
        return classified(status=status, message=message, headers=headers, provider=provider, now=now)
    else:
        page = f"this is no stream of events: {_short(text) or 'nothing at all'}"
    if status < 400:
        told = Failure("protocol", "", status=status)
    advice = _advice(told.kind, status, told.retry_after_ms)
    return evolve(told, text=f"{provider or 'the server'} answered {status}; {page}. {advice}")


def has_error(data: Json) -> bool:
    """Say whether JSON that came where an answer was expected tells of an error."""
    if isinstance(data, list):
        return any(has_error(entry) for entry in data[:1])
    if not isinstance(data, dict):
        return False
    told = data.get("error") or data.get("errors") or data.get("detail")
    return bool(told) or "error" in (data.get("type"), data.get("object"))


def _advice(kind: FailureKind, status: int | None, wait: int | None) -> str:
    if kind == "auth" and status == 403:
        return NOT_ALLOWED
    if wait and kind in RETRYABLE:
        return f"Wait {wait / 1000:g} s and try again."
    return ADVICE[kind]


@final
@frozen
class _Asked:
    """What a server said, and how it is judged."""

    status: int | None
    code: str | int | None
    type_: str | None
    message: str
    details: Json = None

    @property
    def http(self) -> int | None:
        """The status of the answer or, where that was none of an error, the one that the code is."""
        if self.status is not None and self.status >= 400:
            return self.status
        code = str(self.code)
        if isinstance(self.code, bool) or not re.fullmatch(r"[345]\d\d", code):
            return None if self.status is None or self.status < 300 else self.status
        return int(code)

    @property
    def name(self) -> str | None:
        """The server's own name of the error: a word rather than a number."""
        words = [name for name in (self.code, self.type_) if isinstance(name, str) and re.search("[A-Za-z]", name)]
        return words[0] if words else None if self.code is None else str(self.code)

    def text(self) -> str:
        """Return the message and what the details add to it."""
        return "\n".join([self.message, *_strings(self.details)])[:_READ]

    def kind(self) -> FailureKind:
        """Return the kind: by the rules, then by the status, then by what a faulty request is known by."""
        text, http = self.text(), self.http
        given = (self.code, self.type_, *_reasons(self.details))
        names = {plain_name(name) for name in given if isinstance(name, str)}
        possible = {401: _WITH_401, 429: WITH_429}.get(http or 0)
        for rule in RULES:
            if (possible is None or rule.kind in possible) and _fits(rule, names, text):
                return rule.kind
        # A rate limit may say so too; but it says by which name, or when to come again.
        if "exceeded your current quota" in text and self.demanded() is None:
            return "quota"
        if http is None:
            return "invalid_request" if _fits(FAULTY_REQUEST, names, text) else "server_error"
        return BY_STATUS.get(http) or _SERIES.get(http // 100, "protocol")

    def demanded(self) -> int | None:
        """Return the wait that details or message ask for, in milliseconds."""
        for entry in self.details if isinstance(self.details, list) else ():
            delay = entry.get("retryDelay") if isinstance(entry, dict) else None
            if isinstance(delay, str) and (wait := duration(delay)) is not None:
                return wait
        return wait_in(self.text())

    def told(self, provider: str) -> str:
        """Return the sentence that says what happened."""
        upstream = next(
            (text for text in _strings(self.details) if "provider returned error" in self.message.lower()), ""
        )
        said = _short(f"{self.message}: {upstream}" if upstream else self.message)
        verb = "reported" if self.status is None or self.status < 300 else "answered"
        answered = f"{verb} {self.http or 'an error'}"
        named = f" ({self.name})" if self.name and self.name != str(self.http) else ""
        end = "" if said.endswith((".", "!", "?")) else "."
        return f"{provider or 'the server'} {answered}{named}{': ' if said else ''}{said}{end}"


def _fits(rule: Rule, names: set[str], text: str) -> bool:
    return not names.isdisjoint(rule.names) or (rule.words is not None and rule.words.search(text) is not None)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _page(text: str) -> str:
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    words = (
        title[1] if title else re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.IGNORECASE | re.DOTALL)
    )
    return _short(html.unescape(words))[:200] or "without a title"


# --- the forms of errors ------------------------------------------------------------------------------------------


@frozen
class _Told:
    """The parts of an error."""

    message: str = ""
    code: str | int | None = None
    type_: str | None = None
    details: Json = field(default=None)


def _read(data: Json, depth: int = 0) -> _Told:
    if isinstance(data, list):
        return _read(data[0], depth + 1) if data and depth < _DEPTH else _Told()
    if not isinstance(data, dict):
        return _Told("" if data is None else str(data))
    for key in ("error", "errors", "response", "fault"):
        inner = data.get(key)
        if inner and isinstance(inner, dict | list) and depth < _DEPTH:
            told = _read(inner, depth + 1)
            # What stands beside it is said of it, where it does not say it itself.
            return evolve(told, code=told.code if told.code is not None else _code(data.get("code")))
    type_ = next((data[key] for key in ("status", "type") if isinstance(data.get(key), str)), None)
    beside = next((data[key] for key in ("details", "metadata") if data.get(key)), None)
    return _Told(_message(data), _code(data.get("code")), None if type_ == "error" else type_, beside)


def _code(code: Json) -> str | int | None:
    return code if isinstance(code, str | int) and not isinstance(code, bool) and code != "" else None


def _message(data: Mapping[str, Json]) -> str:
    for key in ("message", "error", "detail", "msg", "error_message", "faultstring", "title"):
        said = data.get(key)
        if isinstance(said, str) and said:
            return said
        if said and isinstance(said, dict | list):
            return _read(said, _DEPTH - 1).message or json.dumps(said, ensure_ascii=False)
    return json.dumps(data, ensure_ascii=False) if data else ""


def _strings(details: Json) -> Iterator[str]:
    """Yield the texts that stand beside a message and belong to it: upstream's own words, reasons, names of quotas."""
    entries = details if isinstance(details, list) else [details]
    for entry in entries:
        if isinstance(entry, dict):
            violations = entry.get("violations")
            yield from (entry[key] for key in ("raw", "reason") if isinstance(entry.get(key), str))
            for violation in violations if isinstance(violations, list) else ():
                if isinstance(violation, dict) and isinstance(violation.get("quotaId"), str):
                    yield violation["quotaId"]


def _reasons(details: Json) -> Iterator[str]:
    for entry in details if isinstance(details, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("reason"), str):
            yield entry["reason"]
