"""Ids of calls as each API takes them: valid, unique within a request, and the same whenever they are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from hashlib import sha256
from typing import Final, final

from attrs import define, field

from turnwheel_adapters.apis.api import Target

_ODD: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_ITEM: Final = re.compile(r"fc_[a-zA-Z0-9_-]{1,61}")
_LIMITS: Final = {"anthropic-messages": 64, "openai-chat": 40, "openai-responses": 64}
"""How long an id may be, in characters."""

Spell = Callable[[str, int], str]
"""Makes of an id a valid one; the number, from 0 on, tells further tries apart."""


@final
@define
class CallIds:
    """Gives each call of a transcript its id. Those of `wanted` that are valid are kept for their own first call."""

    target: Target
    wanted: Collection[str]
    _taken: set[str] = field(factory=set, init=False)
    _kept: set[str] = field(factory=set, init=False)
    """The wanted ids that are valid: nothing is made up that one of them has."""

    def __attrs_post_init__(self) -> None:
        calls = {_halves(id_)[0] if self.target.api == "openai-responses" else id_ for id_ in self.wanted}
        self._kept = {call for call in calls if self._spell(call, 0) == call}

    def of(self, id_: str, *, foreign: bool) -> str:
        """Return the id of a call. A `foreign` one comes from another model, whose items the server does not know."""
        call, item = _halves(id_) if self.target.api == "openai-responses" else (id_.partition("|")[0] or id_, "")
        if self.target.api != "openai-responses" and self._spell(id_, 0) == id_:
            call = id_
        given = self._unique(call)
        return f"{given}|{item}" if item and not foreign else given

    def _unique(self, call: str) -> str:
        attempt = 0
        while True:
            given = self._spell(call, attempt)
            if given not in self._taken and (given == call or given not in self._kept):
                self._taken.add(given)
                return given
            attempt += 1

    def _spell(self, id_: str, attempt: int) -> str:
        compat = self.target.compat
        if self.target.api == "openai-chat" and compat.tool_ids == "mistral":
            return _of_nine(id_, attempt)
        if self.target.api == "google-gemini" or (self.target.api == "openai-chat" and compat.tool_ids == "any"):
            return _suffixed(id_ or "call", attempt)
        most = _LIMITS[self.target.api]
        plain = _ODD.sub("_", id_) or "call"
        return _suffixed(plain, attempt, most)


def _halves(id_: str) -> tuple[str, str]:
    """Return the call's id and the item's, which is empty where it is not one of a function call."""
    call, _, item = id_.partition("|")
    return call, item if _ITEM.fullmatch(item) else ""


def _suffixed(id_: str, attempt: int, most: int | None = None) -> str:
    suffix = f"_{attempt + 1}" if attempt else ""
    return id_[: most - len(suffix) if most is not None else None] + suffix


def _of_nine(id_: str, attempt: int) -> str:
    if not attempt and _NINE.fullmatch(id_):
        return id_
    return sha256(f"{id_} {attempt}".encode(errors="replace")).hexdigest()[:9]
