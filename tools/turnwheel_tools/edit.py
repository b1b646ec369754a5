"""The tool `edit`: replaces exact texts in a file, and tells what changed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

import anyio.to_thread
from attrs import evolve, field, frozen

from turnwheel.messages import Json, ToolResult
from turnwheel.tool import Prepare, Tool
from turnwheel_tools.contract import Aborted, ToolError, check_abort, text_result
from turnwheel_tools.define import define
from turnwheel_tools.mutations import Turns
from turnwheel_tools.opening import open_inside
from turnwheel_tools.paths import Root
from turnwheel_tools.replacing import Decoded, Replacement, replaced
from turnwheel_tools.traits import with_traits
from turnwheel_tools.write import put

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
_DIFF_LINES: Final = 400
_DESCRIPTION: Final = (
    "Change a file by replacing texts in it. Each oldText must be in the file exactly once, letter by letter and space "
    "by space; all edits are made in the file as it was, so they may not overlap. Line ends are kept."
)
_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, relative to the working directory or absolute"},
        "edits": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "oldText": {"type": "string", "description": "What is to be replaced, exactly"},
                    "newText": {"type": "string", "description": "What takes its place"},
                },
                "required": ["oldText", "newText"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["path", "edits"],
    "additionalProperties": False,
}


def edit_tool(root: Path | str = ".", turns: Turns | None = None) -> Tool:
    """Return the tool `edit` for files inside of `root`. `turns` is shared by all tools that change the same files.

    One edit may also come as oldText and newText beside the path, which older versions of Pi asked for.
    """
    tool = define("edit", _DESCRIPTION, _PARAMETERS, Editor(Root(root), turns or Turns()))
    prepare = tool.prepare
    assert prepare is not None
    return with_traits(evolve(tool, prepare=_with_edits(prepare)), read_only=False, replay="never")


def _with_edits(prepare: Prepare) -> Prepare:
    def prepared(arguments: Json, rules: str) -> Json:
        if isinstance(arguments, Mapping) and "edits" not in arguments and "oldText" in arguments:
            edit = {name: arguments[name] for name in ("oldText", "newText") if name in arguments}
            rest = {name: value for name, value in arguments.items() if name not in edit}
            arguments = {**rest, "edits": [edit]}
        return prepare(arguments, rules)

    return prepared


@final
@frozen
class Editor:
    """What runs when `edit` is called."""

    root: Root
    turns: Turns = field(factory=Turns)

    async def __call__(
        self,
        arguments: dict[str, Any],
        *,
        call_id: str,
        report: Callable[[ToolResult], None],
        aborted: Aborted,
    ) -> ToolResult:
        """Make the edits. Raises ToolError where one does not fit; then nothing is changed."""
        del call_id, report  # There is nothing to tell before the end.
        path = self.root.locate(arguments["path"])
        edits = [Replacement(edit["oldText"], edit["newText"]) for edit in arguments["edits"]]
        async with self.turns.of(path):
            check_abort(aborted)
            return await anyio.to_thread.run_sync(self._edit, path, edits)

    def _edit(self, path: Path, edits: list[Replacement]) -> ToolResult:
        name = self.root.name(path)
        try:
            before = Decoded.of(self._read(path, name))
        except UnicodeDecodeError as error:
            raise ToolError(f"{name} is no text: {error.reason}.") from error
        text = replaced(before.text, edits, name)
        try:
            raw = before.with_text(text)
        except UnicodeEncodeError as error:
            raise ToolError(f"The new text has a character that {before.encoding} lacks.") from error
        put(self.root, path, raw)
        diff = _diff(before.text, text, name)
        made = f"{len(edits)} edits" if len(edits) > 1 else "1 edit"
        return text_result(f"{name} is changed: {made}.", details={"path": name, "edits": len(edits), "diff": diff})

    def _read(self, path: Path, name: str) -> bytes:
        try:
            with open_inside(self.root, path) as file:
                raw = file.read(MAX_FILE_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            hints = self.root.similar(path)
            raise ToolError(f"{name} does not exist." + (f" Similar: {', '.join(hints)}" if hints else "")) from error
        except IsADirectoryError as error:
            raise ToolError(f"{name} is a directory, and edit changes files only.") from error
        except PermissionError as error:
            raise ToolError(f"There is no permission to read {name}.") from error
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror or error}.") from error
        if len(raw) > MAX_FILE_BYTES:
            raise ToolError(f"{name} has more than {MAX_FILE_BYTES:,} bytes, too many to edit.")
        return raw


def _diff(before: str, after: str, name: str) -> str:
    """Return what changed, as a unified diff of at most some hundred lines."""
    old, new = ([f"{line}\n" for line in text.splitlines()] for text in (before, after))
    lines = list(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))
    told = "".join(lines[:_DIFF_LINES]).encode(errors="replace").decode()
    return told + (f"… {len(lines) - _DIFF_LINES} more lines\n" if len(lines) > _DIFF_LINES else "")
