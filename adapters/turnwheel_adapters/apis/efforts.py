"""How much an OpenAI model is asked to think: which efforts each family knows. Source: the model pages of OpenAI."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

_ORDER: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
_OF_LEVEL: Final = {"off": "none"}

_FAMILIES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("gpt-5*-chat*", ()),
    ("gpt-5-pro*", ("high",)),
    ("gpt-5.[2-9]*-pro*", ("medium", "high", "xhigh")),
    ("gpt-5.1-codex-max*", ("none", "low", "medium", "high", "xhigh")),
    ("gpt-5.1*", ("none", "low", "medium", "high")),
    ("gpt-5.[2-9]*", ("none", "low", "medium", "high", "xhigh")),
    ("gpt-5-codex*", ("low", "medium", "high")),
    ("gpt-5*", ("minimal", "low", "medium", "high")),
    ("gpt-[6-9]*", ("none", "low", "medium", "high", "xhigh")),
    ("gpt-oss*", ("low", "medium", "high")),
    ("o[1-9]*", ("low", "medium", "high")),
    ("codex-*", ("low", "medium", "high")),
    ("grok-3-mini*", ("low", "high")),
    ("grok-4.[3-9]*", ("none", "low", "medium", "high")),
    ("gpt-*", ()),
    ("chatgpt-*", ()),
    ("grok-*", ()),
)
"""The first pattern that fits counts, against the part of the name behind the last slash. No effort: none is sent."""


def thinks(model: str) -> bool:
    """Say whether a model is known to reason."""
    return bool(_efforts(model))


def effort_of(model: str, level: str) -> str | None:
    """Return the effort that is nearest to a level, of two as near the lower; None where none is to be sent.

    A model that is not known gets low, medium or high for a level that asks for thinking, and nothing for `off`.
    """
    known = _efforts(model)
    if known is None:
        known = () if level == "off" else ("low", "medium", "high")
    if not known:
        return None
    wanted = _ORDER.index(_OF_LEVEL.get(level, level))
    return min(known, key=lambda effort: (abs(_ORDER.index(effort) - wanted), _ORDER.index(effort)))


def _efforts(model: str) -> tuple[str, ...] | None:
    name = model.rpartition("/")[2]
    return next((efforts for pattern, efforts in _FAMILIES if fnmatchcase(name, pattern)), None)
