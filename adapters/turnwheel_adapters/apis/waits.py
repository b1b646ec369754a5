"""How long a server asks to be left alone: headers and texts of many forms, read as milliseconds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_UNITS: Final = {"ms": 1, "s": 1000, "sec": 1000, "second": 1000, "m": 60_000, "min": 60_000, "minute": 60_000}
_UNITS_LONG: Final = {"h": 3_600_000, "hour": 3_600_000, "d": 86_400_000, "day": 86_400_000}
_UNIT: Final = {**_UNITS, **_UNITS_LONG}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|sec|second|s|min|minute|m|hour|h|day|d)s?(?![a-z])", re.IGNORECASE)
_DURATION: Final = re.compile(rf"\s*(?:{_PART.pattern}\s*)+", re.IGNORECASE)
_SAID: Final = re.compile(
    rf"(?:try again|retry|available|reset)[a-z ]{{0,20}} in\s+((?:{_PART.pattern}[\s,]*)+)", re.IGNORECASE
)
_RESETS: Final = ("x-ratelimit-reset", "ratelimit-reset", "anthropic-ratelimit-")
_EPOCH_SECONDS: Final = 1e9
_EPOCH_MS: Final = 1e12


def asked_wait(headers: Mapping[str, str], now: float | None = None) -> int | None:
    """Return the milliseconds that the headers ask to wait, or None. What makes no sense counts as not said.

    A date counts from the server's own Date header, else from `now` (seconds since 1970), else not at all.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    with suppress(ValueError, TypeError, OverflowError):
        now = parsedate_to_datetime(lower.get("date", "")).timestamp()
    waits = (
        _whole(_number(lower.get("retry-after-ms", ""))),
        _retry_after(lower.get("retry-after", ""), now),
        max(_resets(lower, now), default=None),
    )
    said = [wait for wait in waits if wait is not None]
    # Some round down to 0 in one header and say the truth in another.
    return next((wait for wait in said if wait), said[0] if said else None)


def duration(text: str) -> int | None:
    """Return the milliseconds of a text such as 19.512s, 1m30s or 250ms, or None where it is none."""
    return _sum(text) if _DURATION.fullmatch(text) else None


def wait_in(text: str) -> int | None:
    """Return the milliseconds that a sentence asks to wait, such as `Please retry in 48.9s`, or None."""
    found = _SAID.search(text)
    return _sum(found[1]) if found else None


def _sum(text: str) -> int | None:
    return _whole(sum(float(part[1]) * _UNIT[part[2].lower()] for part in _PART.finditer(text)))


def _retry_after(text: str, now: float | None) -> int | None:
    seconds = _number(text)
    if seconds is not None:
        return _whole(seconds * 1000)
    wait = duration(text)
    return _until(text, now) if wait is None else wait


def _resets(headers: Mapping[str, str], now: float | None) -> Iterator[int]:
    """Yield the waits of all limits that are used up."""
    for name, value in headers.items():
        if name.startswith(_RESETS) and "-reset" in name and _used_up(headers, name):
            wait = _reset(value.strip(), now)
            if wait is not None:
                yield wait


def _used_up(headers: Mapping[str, str], reset: str) -> bool:
    return _number(headers.get(reset.replace("-reset", "-remaining"), "0")) == 0


def _reset(text: str, now: float | None) -> int | None:
    number = _number(text)
    if number is None:
        wait = duration(text)
        return _until(text, now) if wait is None else wait
    if number < _EPOCH_SECONDS:
        return _whole(number * 1000)
    seconds = number / 1000 if number >= _EPOCH_MS else number
    return None if now is None or seconds <= now else _whole((seconds - now) * 1000)


def _until(text: str, now: float | None) -> int | None:
    if now is None:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            continue
        return _whole(seconds * 1000) if seconds > 0 else None
    return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _whole(milliseconds: float | None) -> int | None:
    return None if milliseconds is None or not math.isfinite(milliseconds) else math.ceil(milliseconds)
