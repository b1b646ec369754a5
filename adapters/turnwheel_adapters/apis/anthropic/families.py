"""What each family of Claude models can: how much it writes, and how it is asked to think.

Source: the model overview and the guides to extended and adaptive thinking of the Messages API.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, final

from attrs import field, frozen

from turnwheel.messages import Json
from turnwheel_adapters.apis.api import Settings

LEAST_BUDGET: Final = 1024
"""The smallest budget of thinking that is taken, in tokens."""
_BUDGETS: Final[Mapping[str, int]] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32000}
_DEFAULT_MOST: Final = 32000


def _efforts(most: str) -> dict[str, str]:
    return {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": most}


@final
@frozen
class Family:
    """`most` is the longest answer in tokens. `thinking` by budget: tokens; adaptive: an effort by level.

    `warm` says whether a temperature may be sent, which the API no longer has for its own models.
    """

    pattern: str
    most: int
    thinking: Literal["none", "budget", "adaptive"] = "none"
    efforts: Mapping[str, str] = field(factory=dict)
    warm: bool = False


_FAMILIES: Final = (
    Family("*claude-3-5-*", 8192),
    Family("*claude-3-7-*", 64000, "budget"),
    Family("*claude-3-*", 4096),
    Family("*claude-2*", 4096),
    Family("*claude-opus-4-1*", 32000, "budget"),
    Family("*claude-opus-4-5*", 64000, "budget"),
    Family("*claude-opus-4-6*", 128000, "adaptive", _efforts("max")),
    Family("*claude-sonnet-4-6*", 64000, "adaptive", _efforts("high")),
    Family("*claude-opus-4-[7-9]*", 128000, "adaptive", _efforts("xhigh")),
    Family("*claude-opus-4*", 32000, "budget"),
    Family("*claude-sonnet-4*", 64000, "budget"),
    Family("*claude-haiku-4*", 64000, "budget"),
    Family("*claude-*", 64000, "adaptive", _efforts("xhigh")),
    Family("*", 32000, "budget", warm=True),
)
"""The first pattern that fits counts; the last is for models of others behind the same API."""


def family_of(model: str) -> Family:
    """Return the family of a model."""
    return next(family for family in _FAMILIES if fnmatchcase(model.replace(".", "-"), family.pattern))


def limits(model: str, level: str, settings: Settings) -> dict[str, Json]:
    """Return max_tokens, which the API demands, and what is said of thinking and temperature.

    A budget of thinking is part of max_tokens: it is made smaller to leave room for an answer, and where max_tokens is
    too small for any thinking at all, that is made larger.
    """
    family = family_of(model)
    most = settings.max_tokens or min(family.most, _DEFAULT_MOST)
    if level == "off" or family.thinking == "none":
        warmth = settings.temperature if family.warm else None
        return {"max_tokens": most} if warmth is None else {"max_tokens": most, "temperature": warmth}
    if family.thinking == "adaptive":
        return {
            "max_tokens": most,
            # Without this, the newer ones show nothing of it.
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": family.efforts[level]},
        }
    budget = max(LEAST_BUDGET, min(settings.thinking_budgets.get(level, _BUDGETS[level]), most - LEAST_BUDGET))
    most = max(most, budget + LEAST_BUDGET)
    return {"max_tokens": most, "thinking": {"type": "enabled", "budget_tokens": budget}}
