"""The tools `find` and `ls`: which files there are, by a glob, and what is in a folder."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

from attrs import frozen

from turnwheel.messages import Json, ToolResult
from turnwheel.tool import Tool
from turnwheel_tools.contract import Aborted, ToolError, check_abort, text_result
from turnwheel_tools.define import define
from turnwheel_tools.limits import MAX_BYTES, truncate_head
from turnwheel_tools.paths import Root
from turnwheel_tools.traits import with_traits
from turnwheel_tools.walking import glob_of, walk

FIND_LIMIT: Final = 1_000
LS_LIMIT: Final = 500

_FIND: Final = (
    "Find files by a glob, such as *.py or src/**/test_*.py. Paths are told relative to the working directory, folders "
    f"with a slash behind; what .gitignore leaves out is left out. At most {FIND_LIMIT:,} are told."
)
_LS: Final = (
    "List what is in a folder, hidden files as well, in order of names, folders with a slash behind. At most "
    f"{LS_LIMIT} entries are told."
)
_FIND_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "minLength": 1, "description": "The glob"},
        "path": {"type": "string", "description": "The folder to look in (default: the working directory)"},
        "limit": {"type": "integer", "minimum": 1, "description": f"Tell at most so many (default: {FIND_LIMIT})"},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}
_LS_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The folder (default: the working directory)"},
        "limit": {"type": "integer", "minimum": 1, "description": f"Tell at most so many (default: {LS_LIMIT})"},
    },
    "additionalProperties": False,
}


def find_tool(root: Path | str = ".") -> Tool:
    """Return the tool `find` for files inside of `root`."""
    return with_traits(define("find", _FIND, _FIND_PARAMETERS, Finder(Root(root))), read_only=True, replay="safe")


def ls_tool(root: Path | str = ".") -> Tool:
    """Return the tool `ls` for folders inside of `root`."""
    return with_traits(define("ls", _LS, _LS_PARAMETERS, Lister(Root(root))), read_only=True, replay="safe")


@final
@frozen
class Finder:
    """What runs when `find` is called."""

    root: Root

    def __call__(
        self, arguments: dict[str, Any], *, call_id: str, report: Callable[[ToolResult], None], aborted: Aborted
    ) -> ToolResult:
        """Find files. Raises ToolError where there is no such folder, or where the glob is none."""
        del call_id, report
        start = folder_in(self.root, arguments.get("path", "."))
        try:
            wanted = glob_of(arguments["pattern"])
        except ValueError as error:
            raise ToolError(f"{arguments['pattern']!r} is no glob: {error}") from error
        limit = arguments.get("limit", FIND_LIMIT)
        found: list[str] = []
        for path, folder in walk(start, self.root.path):
            check_abort(aborted)
            slash = "/" if folder else ""
            if _matches(wanted, path.relative_to(start).as_posix() + slash):
                found.append(self.root.name(path) + slash)
            if len(found) > limit:
                break
        return _listed(found, limit, "file that matches", "Use a narrower pattern, or a higher limit.")


def _matches(wanted: Any, name: str) -> bool:
    # A folder that matches stands for itself here, not for all that is in it.
    result = wanted.check_file(name)
    return bool(result.include) and not any(wanted.match_file(parent + "/") for parent in _parents(name))


def _parents(name: str) -> list[str]:
    parts = name.rstrip("/").split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


@final
@frozen
class Lister:
    """What runs when `ls` is called."""

    root: Root

    def __call__(
        self, arguments: dict[str, Any], *, call_id: str, report: Callable[[ToolResult], None], aborted: Aborted
    ) -> ToolResult:
        """List a folder. Raises ToolError where there is none."""
        del call_id, report
        check_abort(aborted)
        folder = folder_in(self.root, arguments.get("path", "."))
        limit = arguments.get("limit", LS_LIMIT)
        try:
            entries = sorted(folder.iterdir(), key=lambda path: (path.name.lower(), path.name))
        except OSError as error:
            raise ToolError(f"{self.root.name(folder)} cannot be listed: {error.strerror or error}.") from error
        names = [f"{path.name}/" if path.is_dir() else path.name for path in entries[: limit + 1]]
        return _listed(names, limit, "entry", "Use a higher limit.")


def folder_in(root: Root, given: str) -> Path:
    """Return the folder that a model means. Raises ToolError where there is no such folder inside of the root."""
    folder = root.locate(given)
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise ToolError(f"{root.name(folder)} cannot be looked at: {getattr(error, 'strerror', error)}.") from error
    if mode is not None and stat.S_ISDIR(mode):
        return folder
    if mode is not None:
        raise ToolError(f"{root.name(folder)} is a file, and not a folder.")
    hints = root.similar(folder)
    raise ToolError(f"{root.name(folder)} does not exist." + (f" Similar: {', '.join(hints)}" if hints else ""))


def _listed(names: list[str], limit: int, what: str, more: str) -> ToolResult:
    """Return a result with a line for each name, and a note where not all are told."""
    if not names:
        return text_result(f"(no {what})", details={"count": 0, "truncated": False})
    head = truncate_head([f"{name}\n" for name in names[:limit]], limit, MAX_BYTES)
    cut = len(names) > limit or head.lines < len(names)
    notes = [f"The first {head.lines:,} are told; there are more. {more}"] if cut else []
    return text_result(head.text, *notes, details={"count": head.lines, "truncated": cut})
