"""How much of a text a model is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from attrs import frozen

MAX_LINES: Final = 2_000
MAX_BYTES: Final = 50 * 1024
"""Of UTF-8."""


@final
@frozen
class Head:
    """The beginning of a text: so many whole `lines`, or, where `partial`, no more than the beginning of the first."""

    text: str
    lines: int
    partial: bool = False


def truncate_head(text_lines: Sequence[str], max_lines: int, max_bytes: int) -> Head:
    """Return as many of the first lines (with their line ends) as fit both limits; bytes count as UTF-8.

    A line is never split, unless the very first one has more than `max_bytes`: then its beginning is shown.
    """
    size = count = 0
    for line in text_lines[:max_lines]:
        size += len(line.encode())
        if size > max_bytes:
            break
        count += 1
    if count or not text_lines[:max_lines]:
        return Head("".join(text_lines[:count]), count)
    return Head(text_lines[0].encode()[:max_bytes].decode(errors="ignore"), 0, partial=True)


@final
@frozen
class Tail:
    """The end of a text; `cut` says whether there was more before it."""

    text: str
    cut: bool


def truncate_tail(text: str, max_lines: int, max_bytes: int) -> Tail:
    """Return as many of the last lines as fit both limits; bytes count as UTF-8.

    A line is never split, unless the very last one has more than `max_bytes`: then its end is shown.
    """
    lines = text.splitlines(keepends=True)
    kept = size = 0
    for line in reversed(lines[-max_lines:]):
        size += len(line.encode(errors="replace"))
        if size > max_bytes:
            break
        kept += 1
    if kept:
        return Tail("".join(lines[-kept:]), kept < len(lines))
    if not lines:
        return Tail("", cut=False)
    return Tail(lines[-1].encode(errors="replace")[-max_bytes:].decode(errors="ignore"), cut=True)
