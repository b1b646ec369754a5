"""The tool `grep`: lines that match, in the files of a folder, found by ripgrep where that is there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

from attrs import field, frozen

from turnwheel.messages import Json, ToolResult
from turnwheel.tool import Tool
from turnwheel_tools.contract import Aborted, ToolError, check_abort, text_result
from turnwheel_tools.define import define
from turnwheel_tools.find import folder_in
from turnwheel_tools.limits import MAX_BYTES, truncate_head
from turnwheel_tools.paths import Root
from turnwheel_tools.traits import with_traits
from turnwheel_tools.walking import glob_of, walk

LIMIT: Final = 100
MAX_LINE: Final = 500
"""So many characters of a line are shown."""
_MAX_FILE_BYTES: Final = 20 * 1024 * 1024
_SNIFFED: Final = 8 * 1024

_DESCRIPTION: Final = (
    "Search files for a regular expression, or with literal for a text as it is. Each match is told as path:line: "
    "text, lines around it (context) as path-line- text. What .gitignore leaves out is not searched. At most "
    f"{LIMIT} matches are told."
)
_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "minLength": 1, "description": "What to search for"},
        "path": {"type": "string", "description": "A file or folder (default: the working directory)"},
        "glob": {"type": "string", "description": "Only in files that match, such as *.py"},
        "ignoreCase": {"type": "boolean", "description": "Upper and lower case are the same"},
        "literal": {"type": "boolean", "description": "The pattern is a text, not a regular expression"},
        "context": {"type": "integer", "minimum": 0, "description": "So many lines before and behind each match"},
        "limit": {"type": "integer", "minimum": 1, "description": f"Tell at most so many matches (default: {LIMIT})"},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


def grep_tool(root: Path | str = ".", *, ripgrep: str | None = "rg") -> Tool:
    """Return the tool `grep` for files inside of `root`. `ripgrep` names its program; None searches with Python."""
    searcher = Searcher(Root(root), ripgrep)
    return with_traits(define("grep", _DESCRIPTION, _PARAMETERS, searcher), read_only=True, replay="safe")


@final
@frozen
class _Asked:
    """What is searched for."""

    pattern: str
    glob: str | None = None
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    limit: int = LIMIT


@final
@frozen
class _Hit:
    """A line that matches, or one beside it."""

    path: Path
    line: int
    text: str
    matches: bool


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _program(name: str | None) -> str | None:
    return shutil.which(name) if name is not None else None


@final
@frozen
class Searcher:
    """What runs when `grep` is called."""

    root: Root
    ripgrep: str | None = field(default="rg", converter=_program)

    def __call__(
        self, arguments: dict[str, Any], *, call_id: str, report: Callable[[ToolResult], None], aborted: Aborted
    ) -> ToolResult:
        """Search. Raises ToolError where there is nothing to search in, or where the pattern is none."""
        del call_id, report
        given = arguments.get("path", ".")
        place = self.root.locate(given)
        if not _is_file(place):
            place = folder_in(self.root, given)
        asked = _Asked(
            arguments["pattern"],
            arguments.get("glob"),
            arguments.get("ignoreCase", False),
            arguments.get("literal", False),
            arguments.get("context", 0),
            arguments.get("limit", LIMIT),
        )
        search = self._with_ripgrep if self.ripgrep else self._with_python
        return self._told(search(place, asked, aborted), asked)

    def _told(self, hits: Iterator[_Hit], asked: _Asked) -> ToolResult:
        lines: list[str] = []
        matches, cut, long = 0, False, False
        for hit in hits:
            if hit.matches and matches == asked.limit:
                cut = True
                break
            matches += hit.matches
            mark = ":" if hit.matches else "-"
            shown = hit.text[:MAX_LINE]
            long |= len(hit.text) > MAX_LINE
            lines.append(f"{self.root.name(hit.path)}{mark}{hit.line}{mark} {shown}\n")
        details = {"matches": matches, "truncated": cut}
        if not matches:
            return text_result("(no match)", details=details)
        head = truncate_head(lines, len(lines), MAX_BYTES)
        notes = [
            f"The first {matches} matches are told; there are more. Use a narrower pattern, or a higher limit."
        ] * cut
        if head.lines < len(lines):
            details["truncated"] = True
            notes.append(f"The first {MAX_BYTES // 1024} KB are shown.")
        if long:
            notes.append(f"Of long lines the first {MAX_LINE} characters are shown.")
        return text_result(head.text, *notes, details=details)

    # --- with Python ------------------------------------------------------------------------------------------------

    def _with_python(self, place: Path, asked: _Asked, aborted: Aborted) -> Iterator[_Hit]:
        try:
            wanted = re.compile(
                re.escape(asked.pattern) if asked.literal else asked.pattern, re.IGNORECASE if asked.ignore_case else 0
            )
        except re.error as error:
            raise ToolError(
                f"{asked.pattern!r} is no regular expression: {error}. literal takes it as it is."
            ) from error
        for path in self._files(place, asked.glob):
            check_abort(aborted)
            yield from _search(path, wanted, asked.context, aborted)

    def _files(self, place: Path, glob: str | None) -> Iterator[Path]:
        if place.is_file():
            yield place
            return
        wanted = glob_of(glob) if glob is not None else None
        for path, folder in walk(place, self.root.path):
            if folder or not path.is_file() or path.is_symlink():
                continue
            if wanted is None or wanted.match_file(path.relative_to(place).as_posix()):
                yield path

    # --- with ripgrep -----------------------------------------------------------------------------------------------

    def _with_ripgrep(self, place: Path, asked: _Asked, aborted: Aborted) -> Iterator[_Hit]:
        assert self.ripgrep is not None
        command = [self.ripgrep, "--json", "--hidden", "--no-config", "--no-require-git", "--sort=path"]
        command += ["--glob=!.git", "--glob=!node_modules", "--glob=!__pycache__"]
        command += ["--fixed-strings"] * asked.literal + ["--ignore-case"] * asked.ignore_case
        command += [f"--context={asked.context}"] if asked.context else []
        command += [f"--glob={asked.glob}"] if asked.glob is not None and not place.is_file() else []
        command += ["--regexp", asked.pattern, "--", str(place)]
        with subprocess.Popen(
            command, cwd=self.root.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                for line in process.stdout:
                    check_abort(aborted)
                    yield from _of_ripgrep(json.loads(line))
                complaint = process.stderr.read().decode(errors="replace").strip()
                if process.wait() == 2 and complaint:
                    raise ToolError(f"ripgrep: {complaint.splitlines()[-1]}")
            finally:
                process.kill()


def _search(path: Path, wanted: re.Pattern[str], context: int, aborted: Aborted) -> Iterator[_Hit]:
    """Yield the hits of one file; one that is binary, too large or cannot be read has none."""
    try:
        with path.open("rb") as file:
            if b"\0" in file.read(_SNIFFED) or path.stat().st_size > _MAX_FILE_BYTES:
                return
            file.seek(0)
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return
    before: deque[_Hit] = deque(maxlen=context)
    behind = 0
    for number, line in enumerate(lines, 1):
        if number % 1000 == 0:
            check_abort(aborted)
        text = line.removesuffix("\r")
        if number == len(lines) and not text:
            break
        if wanted.search(text):
            yield from before
            before.clear()
            behind = context
            yield _Hit(path, number, text, matches=True)
        elif behind:
            behind -= 1
            yield _Hit(path, number, text, matches=False)
        else:
            before.append(_Hit(path, number, text, matches=False))


def _of_ripgrep(told: Any) -> Iterator[_Hit]:
    if told["type"] in ("match", "context"):
        data = told["data"]
        # What is no UTF-8 comes as base64, and is passed over.
        path, text = data["path"].get("text"), data["lines"].get("text")
        if path is not None and text is not None:
            yield _Hit(Path(path), data["line_number"], text.rstrip("\r\n"), matches=told["type"] == "match")
