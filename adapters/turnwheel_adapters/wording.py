"""Small words: numbers of things, and lists of them."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, thing: str) -> str:
    """Return `1 line`, `2,000 lines`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listed(things: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(things[:-1]), *things[-1:]]))
