"""Keys out of texts: what a server says may repeat the key that it was sent, whole or masked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, final
from urllib.parse import quote

SHOWN: Final = "(key)"

_SECRET_HEADER: Final = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_MASKED: Final = re.compile(r"[\w.-]*\*{3,}[\w.*-]*")
_SHORTENED: Final = re.compile(r"([\w-]{3,})(?:\.{2,}|…|\*+)([\w-]*)")
_SHORTEST: Final = 4
_PLAIN: Final = 8
_TELLING: Final = 12


@final
class Secrets:
    """The keys of one request, to be kept out of what is told of it."""

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        """Values of fewer than four characters are no secrets."""
        self._values = sorted({v for value in values if value for v in _forms(value)}, key=len, reverse=True)

    @classmethod
    def of(cls, headers: Mapping[str, str], *keys: str | None) -> Secrets:
        """Take the keys, and the headers whose names say that they hold such a thing."""
        return cls([*keys, *(value for name, value in headers.items() if _SECRET_HEADER.search(name))])

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"

    def scrubbed(self, text: str) -> str:
        """Return the text without the keys, and without keys that are only masked or cut short in it."""
        for value in self._values:
            text = re.sub(_pattern(value), SHOWN, text)
        text = _SHORTENED.sub(self._shortened, text)
        return _MASKED.sub(SHOWN, text)

    def _shortened(self, found: re.Match[str]) -> str:
        begin, end = found[1], found[2]
        of_a_key = any(value.startswith(begin) and value.endswith(end) for value in self._values)
        return SHOWN if of_a_key else found[0]


def _forms(value: str) -> Iterator[str]:
    value = value.strip()
    words = value.split()
    # Bearer …
    for form in (value, quote(value, safe=""), *words[1:]):
        if len(form) >= _SHORTEST:
            yield form


def _pattern(value: str) -> str:
    if len(value) < _PLAIN:
        return rf"(?<![\w-]){re.escape(value)}(?![\w-])"
    # The begin of a long one counts as well: some servers repeat only that.
    if len(value) > 2 * _TELLING:
        return rf"{re.escape(value)}|{re.escape(value[:_TELLING])}[\w-]*"
    return re.escape(value)
