"""How much a Gemini model is asked to think, by its family. Source: the thinking guide of the Gemini API."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, final

from attrs import field, frozen

from turnwheel.messages import Json


@final
@frozen
class _Family:
    """Models that are told alike: by a level's name, or by a number of tokens between two limits (0: not at all)."""

    pattern: str
    levels: Mapping[str, str] = field(factory=dict)
    least: int = 0
    most: int = 0


_BUDGETS: Final[Mapping[str, int]] = {"minimal": 512, "low": 2048, "medium": 8192, "high": 24576, "xhigh": 32768}

_FAMILIES: Final = (
    _Family("*gemini-2.5-pro*", least=128, most=32768),
    _Family("*gemini-2.5-flash-image*"),
    _Family("*gemini-2.5-*", least=0, most=24576),
    _Family("*gemini-2.0*"),
    _Family("*gemini-1.*"),
    _Family("*gemini-3*-image*"),
    _Family(
        "*gemini-3*flash*",
        {"off": "minimal", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"},
    ),
    _Family(
        "*gemini-3-pro*",
        {"off": "low", "minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high"},
    ),
    _Family(
        "*gemini-*",
        {"off": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"},
    ),
)
"""The first pattern that fits counts. A family with neither levels nor tokens does not think."""


def thinking_config(model: str, level: str, budgets: Mapping[str, int]) -> dict[str, Json] | None:
    """Return the thinkingConfig of a request; None where the model takes none.

    A model that cannot be kept from thinking is asked for the least, and its thoughts are not shown then. `budgets` are
    the user's tokens by level.
    """
    family = next((family for family in _FAMILIES if fnmatchcase(model, family.pattern)), None)
    if family is None or not (family.levels or family.most):
        return None
    shown = {"includeThoughts": True} if level != "off" else {}
    if family.levels:
        return {**shown, "thinkingLevel": family.levels[level]}
    wanted = 0 if level == "off" else budgets.get(level, _BUDGETS[level])
    return {**shown, "thinkingBudget": min(max(wanted, family.least), family.most)}
