"""The tool `read`: shows a model a text file, or a part of it, or an image."""

from __future__ import annotations

import base64
import io
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, final

from attrs import frozen

from turnwheel.messages import ImageContent, Json, TextContent, ToolResult
from turnwheel.tool import Tool
from turnwheel_tools.contract import Aborted, ToolError, check_abort, text_result
from turnwheel_tools.define import define
from turnwheel_tools.limits import MAX_BYTES, MAX_LINES, truncate_head
from turnwheel_tools.opening import open_inside
from turnwheel_tools.paths import Root
from turnwheel_tools.traits import with_traits

MAX_IMAGE_BYTES: Final = 5 * 1024 * 1024
"""Of the file, before base64."""

_CHUNK: Final = 256 * 1024
_SNIFFED: Final = 8 * 1024
_BOM: Final = b"\xef\xbb\xbf"

_DESCRIPTION: Final = (
    f"Show a file. Of a text file, at most {MAX_LINES:,} lines or {MAX_BYTES // 1024} KB are shown at once, and a note "
    "says how to go on; offset and limit choose a part of it. Images (PNG, JPEG, GIF, WebP) are shown as images."
)
_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, relative to the working directory or absolute"},
        "offset": {"type": "integer", "minimum": 1, "description": "The first line to show, counted from 1"},
        "limit": {"type": "integer", "minimum": 1, "description": "How many lines to show at most"},
    },
    "required": ["path"],
}

_IMAGES: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_BINARIES: Final[Mapping[bytes, str]] = {
    b"\x7fELF": "an ELF program or library",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "gzip data",
    b"%PDF-": "a PDF document",
    b"SQLite format 3\0": "an SQLite database",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


def read_tool(root: Path | str = ".") -> Tool:
    """Return the tool `read` for files inside of `root`, which is resolved at once."""
    return with_traits(define("read", _DESCRIPTION, _PARAMETERS, Reader(Root(root))), read_only=True, replay="safe")


@final
@frozen
class Reader:
    """What runs when `read` is called."""

    root: Root

    def __call__(
        self,
        arguments: dict[str, Any],
        *,
        call_id: str,
        report: Callable[[ToolResult], None],
        aborted: Aborted,
    ) -> ToolResult:
        """Read what `arguments` ask for. Raises ToolError where that cannot be shown."""
        del call_id, report  # There is nothing to tell before the end.
        check_abort(aborted)
        path = self.root.locate(arguments["path"])
        name = self.root.name(path)
        try:
            size = self._size_of_regular(path, name)
            with open_inside(self.root, path) as file:
                return _read(_File(name, size, file), arguments.get("offset", 1), arguments.get("limit"), aborted)
        except PermissionError as error:
            raise ToolError(f"There is no permission to read {name}.") from error
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror or error}") from error

    def _size_of_regular(self, path: Path, name: str) -> int:
        """Return the size of a file in bytes. Opening anything that is not a regular file could wait for ever."""
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError) as error:
            hints = self.root.similar(path)
            raise ToolError(f"{name} does not exist." + (f" Similar: {', '.join(hints)}" if hints else "")) from error
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"{name} is a directory, and read shows files only.")
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{name} is not a regular file (but a device, a pipe or a socket), so it is not read.")
        return status.st_size


@final
@frozen
class _File:
    """An open file: its name for the model, its size in bytes, and what is in it."""

    name: str
    size: int
    content: BinaryIO


def _read(file: _File, offset: int, limit: int | None, aborted: Aborted) -> ToolResult:
    head = file.content.read(_SNIFFED)
    file.content.seek(0)
    mime_type = _image_type(head)
    if mime_type:
        return _image(file, mime_type)
    if b"\0" in head:
        kind = next((kind for start, kind in _BINARIES.items() if head.startswith(start)), "of no known kind")
        raise ToolError(f"{file.name} is a binary file, {kind}, {file.size:,} bytes. read shows text and images only.")
    return _text(file, offset, limit, aborted)


# --- images -------------------------------------------------------------------------------------------------------


def _image_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for start, mime_type in _IMAGES.items() if head.startswith(start)), None)


def _image(file: _File, mime_type: str) -> ToolResult:
    data = file.content.read(MAX_IMAGE_BYTES + 1)
    if len(data) > MAX_IMAGE_BYTES:
        raise ToolError(f"{file.name} is an image of {file.size:,} bytes; at most {MAX_IMAGE_BYTES:,} bytes are shown.")
    image = ImageContent(base64.b64encode(data).decode(), mime_type)
    details = {"path": file.name, "mimeType": mime_type, "bytes": len(data)}
    return ToolResult((TextContent(f"{file.name} ({mime_type})"), image), details=details)


# --- text ---------------------------------------------------------------------------------------------------------


@final
@frozen
class _Survey:
    """What one pass over a text file finds: how many `lines` and `bytes`, and where the wanted line starts."""

    lines: int
    bytes: int
    start: int


def _text(file: _File, offset: int, limit: int | None, aborted: Aborted) -> ToolResult:
    survey = _survey(file.content, offset, aborted)
    details = {"path": file.name, "lines": survey.lines, "bytes": survey.bytes}
    if not survey.lines:
        details |= {"truncated": False, "firstLine": 0, "lastLine": 0}
        return text_result("", f"{file.name} is empty", details=details)
    if offset > survey.lines:
        lines = "1 line" if survey.lines == 1 else f"{survey.lines} lines"
        raise ToolError(f"offset {offset} is beyond the end of {file.name}, which has {lines}.")
    file.content.seek(survey.start)
    # One byte more than may be shown: a line, or a character, that is cut there is one that does not fit anyway.
    raw = file.content.read(MAX_BYTES + 1)
    head = truncate_head(_lines(raw), min(limit or MAX_LINES, MAX_LINES), MAX_BYTES)
    last = offset + max(head.lines, 1) - 1
    notes = list(_notes(offset, last, survey.lines, partial=head.partial))
    details |= {"truncated": bool(notes), "firstLine": offset, "lastLine": last}
    if not raw.startswith(head.text.encode()):
        notes.append("U+FFFD stands for bytes that are not valid UTF-8.")
    return text_result(head.text, *notes, details=details)


def _survey(content: BinaryIO, offset: int, aborted: Aborted) -> _Survey:
    """Read to the end, a chunk at a time. A byte order mark is no part of the first line."""
    start = len(_BOM) if content.read(len(_BOM)) == _BOM else 0
    position, ends, last = content.seek(start), 0, b""
    while chunk := content.read(_CHUNK):
        check_abort(aborted)
        before, ends = ends, ends + chunk.count(b"\n")
        if before < offset - 1 <= ends:
            start = position + _after_line_end(chunk, offset - 1 - before)
        position += len(chunk)
        last = chunk[-1:]
    return _Survey(ends + (last not in (b"", b"\n")), position, start)


def _after_line_end(chunk: bytes, count: int) -> int:
    """Return the position behind line end number `count` of those in `chunk`."""
    position = 0
    for _ in range(count):
        position = chunk.index(b"\n", position) + 1
    return position


def _lines(raw: bytes) -> list[str]:
    """Return lines with their ends. Only a line feed ends one; a carriage return before it is content."""
    return io.StringIO(raw.decode(errors="replace")).readlines()


def _notes(first: int, last: int, lines: int, *, partial: bool) -> Iterator[str]:
    """Say what of the text is not shown, and how to see it."""
    if partial:
        yield f"Line {first} is longer than {MAX_BYTES // 1024} KB; only its beginning is shown."
    if last < lines:
        yield f"Lines {first}-{last} of {lines} shown, {lines - last} left. Use offset={last + 1} to go on."
