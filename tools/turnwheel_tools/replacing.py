"""Exact replacements in a text: found once each, without touching anything else, line ends and encoding included."""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

from attrs import frozen

from turnwheel_tools.contract import ToolError

_BOMS: Final[Sequence[tuple[bytes, str]]] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NEAREST_LINES: Final = 4_000
_LIKE_ENOUGH: Final = 0.4


@final
@frozen
class Decoded:
    """A text and how it was written down: byte order mark, encoding. Bytes that are no text are kept in it."""

    text: str
    bom: bytes
    encoding: str

    @classmethod
    def of(cls, raw: bytes) -> Decoded:
        """Read bytes: by their byte order mark, else as UTF-8."""
        bom, encoding = next(((bom, name) for bom, name in _BOMS if raw.startswith(bom)), (b"", "utf-8"))
        return cls(
            raw[len(bom) :].decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict"), bom, encoding
        )

    def with_text(self, text: str) -> bytes:
        """Return the bytes of another text, written down in the same way."""
        return self.bom + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


@final
@frozen
class Replacement:
    """An old text, which must be there exactly once, and what takes its place."""

    old: str
    new: str


@final
@frozen
class _Span:
    begin: int
    end: int
    new: str


def replaced(text: str, replacements: Sequence[Replacement], name: str) -> str:
    """Return the text with all replacements made; each is looked for in the text as it was.

    Line ends do not count: LF also stands for CRLF, and what takes the place of an old text gets the line ends that
    were there. Raises ToolError, naming the file, where an old text is empty, not there or there more than once, where
    two overlap, and where nothing would change.
    """
    spans = sorted(
        (_found(text, each, number, len(replacements), name) for number, each in enumerate(replacements, 1)), key=_begin
    )
    for one, other in pairwise(spans):
        if one.end > other.begin:
            raise ToolError(f"Two of the edits of {name} touch the same place. Make one edit of them.")
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += [text[at : span.begin], span.new]
        at = span.end
    changed = "".join([*pieces, text[at:]])
    if changed == text:
        raise ToolError(f"Nothing in {name} would change: the new text is the old one.")
    return changed


def _begin(span: _Span) -> int:
    return span.begin


def _found(text: str, each: Replacement, number: int, count: int, name: str) -> _Span:
    which = f"Edit {number} of {count}" if count > 1 else "The edit"
    if not each.old:
        raise ToolError(f"{which} of {name} has no old text. To write a whole file, use write.")
    # Line ends do not count, but where both have none but LF there is nothing to translate.
    if "\r\n" in text or "\r\n" in each.old:
        plain, places = _plain(text)
    else:
        plain, places = text, list(range(len(text) + 1))
    old = each.old.replace("\r\n", "\n")
    times = _times(plain, old)
    if times == 0:
        why = f"does not fit: its old text is not there, spaces included.{_nearest(plain, old)}"
        raise ToolError(f"{which} of {name} {why}")
    if times > 1:
        hint = "Give more of the lines around the one that is meant, to fit only that."
        raise ToolError(f"{which} of {name} fits {times} places. {hint}")
    begin = plain.index(old)
    first, last = places[begin], places[begin + len(old)]
    return _Span(first, last, _with_ends(each.new, text[first:last], text))


def _times(text: str, old: str) -> int:
    """Return how many places an old text fits, which may overlap; one that fits more than twice fits twice at least."""
    first = text.find(old)
    if first < 0:
        return 0
    return max(text.count(old), 2) if text.find(old, first + 1) >= 0 else 1


def _plain(text: str) -> tuple[str, list[int]]:
    """Return a text with LF for CRLF, and where each of its characters stood; one place more for the end."""
    plain: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(text):
        places.append(at)
        if text.startswith("\r\n", at):
            plain.append("\n")
            at += 2
        else:
            plain.append(text[at])
            at += 1
    return "".join(plain), [*places, len(text)]


def _with_ends(new: str, old: str, text: str) -> str:
    """Return a new text with the line ends of what it replaces, else of the file; one that has CRLF stays as it is."""
    if "\r\n" in new or "\n" not in new:
        return new
    told = old if "\n" in old else text
    return new.replace("\n", "\r\n") if _mostly_crlf(told) else new


def _mostly_crlf(text: str) -> bool:
    return text.count("\r\n") * 2 > text.count("\n")


def _nearest(plain: str, old: str) -> str:
    """Say which lines are most like an old text that is not there."""
    lines = plain.splitlines()[:_NEAREST_LINES]
    wanted = old.strip("\n").splitlines() or [""]
    matcher = difflib.SequenceMatcher(b="\n".join(wanted), autojunk=False)
    best, place = 0.0, 0
    for number in range(max(1, len(lines) - len(wanted) + 1)):
        matcher.set_seq1("\n".join(lines[number : number + len(wanted)]))
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (like := matcher.ratio()) > best:
            best, place = like, number
    if best < _LIKE_ENOUGH:
        return ""
    there = "\n".join(lines[place : place + len(wanted)])
    return f" The nearest is in line {place + 1}:\n{there}"
