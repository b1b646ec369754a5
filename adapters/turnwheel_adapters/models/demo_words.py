"""The words that the demo model knows: how files are named in a request, and what a tool's result says of one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, final

from attrs import evolve, frozen

from turnwheel.messages import Json, TextContent, ThinkingContent, ToolCall, ToolResultMessage
from turnwheel_adapters.wording import count

_WORD: Final = re.compile(
    r"""(?<!\w) (?: "([^"\n]+)" | '([^'\n]+)' | `([^`\n]+)` | “([^”\n]+)” ) (?!\w) | (\S+)""", re.VERBOSE
)
_EXTENSION: Final = re.compile(r"[^.].*\.[A-Za-z][A-Za-z0-9]{0,9}|\.[A-Za-z][\w.-]*", re.DOTALL)
_WITHOUT_EXTENSION: Final = {"Makefile", "Dockerfile", "LICENSE"}
_NO_FILES: Final = {"e.g", "i.e", "and/or"}
_SEARCH: Final = re.compile(
    r"""\b(?:search|grep|look)\ for\ (?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`|([^\s,;]+)) (?:\ in\ ([\w./-]+))?""",
    re.VERBOSE | re.IGNORECASE,
)
_LIST: Final = re.compile(r"\blist (?:the )?(?:folder |directory )?([\w.-]*/[\w./-]*|\.)(?=[\s,;.!?]|$)", re.IGNORECASE)
_GO_ON: Final = re.compile(r"\boffset=(\d{1,9})\b")


def files_named_in(text: str) -> list[str]:
    """Return the words that look like files, each once: with an extension or a slash; in quotes, with spaces too."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        quoted, bare = next(filter(None, match.groups()[:4]), None), match[5]
        word = quoted if quoted is not None else (bare or "").lstrip("([{<\"'`“@").rstrip(")]}>\"'`”.,;:!?")
        if _is_file(word):
            found[word] = None
    return list(found)


def _is_file(word: str) -> bool:
    if "://" in word or word.lower() in _NO_FILES or not word.strip("/") or word.endswith("/") or is_glob(word):
        return False
    return "/" in word or word in _WITHOUT_EXTENSION or _EXTENSION.fullmatch(word) is not None


def is_glob(word: str) -> bool:
    """Say whether a word is a pattern of file names."""
    return "*" in word


def globs_named_in(text: str) -> list[str]:
    """Return the words that are patterns of file names, each once."""
    words = (match[5].strip("()<>\"'`“”,.;:!?") for match in _WORD.finditer(text) if match[5])
    return list(dict.fromkeys(word for word in words if is_glob(word) and word.strip("*")))


def searched_for_in(text: str) -> list[tuple[str, str | None]]:
    """Return what is to be searched for, each with the folder or file that is named behind it, or None."""
    found = _SEARCH.finditer(text)
    return [(next(filter(None, match.group(1, 2, 3, 4))), match[5] and match[5].rstrip(".,;:!?")) for match in found]


def folders_named_in(text: str) -> list[str]:
    """Return the folders that are to be listed: words behind `list`, and all with a slash at their end."""
    named = [match[1].rstrip(".,;:!?") for match in _LIST.finditer(text)]
    return list(dict.fromkeys(name for name in named if not is_glob(name)))


def plain_text(content: Json) -> str:
    """Return all that a message's content says in words, a call as its arguments."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(_words, content))) if isinstance(content, Sequence) else ""


def _words(block: object) -> str:
    match block:
        case TextContent(text=text) | ThinkingContent(thinking=text):
            return text
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments}"
    return ""


@final
@frozen
class Finding:
    """What is known of one file after some parts of it: how long it is, how far it was seen, or what went wrong.

    `next_line` is where the file goes on that has not been shown whole; None where there is nothing to ask for.
    """

    path: str
    parts: int = 0
    lines: int | None = None
    bytes: int | None = None
    seen: int | None = None
    next_line: int | None = None
    image: str | None = None
    error: str | None = None

    def with_part(self, result: ToolResultMessage) -> Finding:
        """Return what is known with one more result: from its details if it has any, else counted in its text."""
        text, details = plain_text(result.content), result.details
        if result.is_error:
            return evolve(self, parts=self.parts + 1, error=text or "no reason was given", next_line=None)
        if isinstance(details, Mapping) and type(details.get("bytes")) is int:
            return self._with_details(details)
        goes_on = _GO_ON.search(text, max(0, len(text) - 200))
        return evolve(
            self,
            parts=self.parts + 1,
            lines=(self.lines or 0) + len(text.splitlines()),
            bytes=(self.bytes or 0) + len(text.encode(errors="replace")),
            next_line=int(goes_on[1]) if goes_on else None,
        )

    def _with_details(self, details: Mapping[str, Json]) -> Finding:
        lines, last = (value if type(value := details.get(key)) is int else None for key in ("lines", "lastLine"))
        more = lines is not None and last is not None and last < lines
        return evolve(
            self,
            parts=self.parts + 1,
            lines=lines,
            bytes=details["bytes"],
            seen=last,
            next_line=(last or 0) + 1 if more else None,
            image=details.get("mimeType"),
        )

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.path} could not be read{' to its end' if self.parts > 1 else ''}: {self.error}"
        size = count(self.bytes or 0, "byte")
        if self.image is not None:
            return f"{self.path} is an image ({self.image}, {size})."
        said = f"{self.path} has {count(self.lines or 0, 'line')} ({size})"
        if self.next_line is not None:
            return f"{said}, of which I have seen the first {self.next_line - 1:,}."
        return f"{said}, read in {self.parts} parts." if self.parts > 1 else f"{said}."
