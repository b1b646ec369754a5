"""The tool `write`: writes a whole file, whole or not at all, and makes its folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

import anyio.to_thread
from attrs import field, frozen

from turnwheel.messages import Json, ToolResult
from turnwheel.tool import Tool
from turnwheel_tools.contract import Aborted, ToolError, check_abort, text_result
from turnwheel_tools.define import define
from turnwheel_tools.mutations import Turns
from turnwheel_tools.opening import replace_inside
from turnwheel_tools.paths import Root
from turnwheel_tools.traits import with_traits

_DESCRIPTION: Final = (
    "Write a file, with exactly this content. A file that is there already is replaced, and folders that are missing "
    "are made. To change a part of a file, use edit."
)
_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, relative to the working directory or absolute"},
        "content": {"type": "string", "description": "What is to be in it"},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}


def write_tool(root: Path | str = ".", turns: Turns | None = None) -> Tool:
    """Return the tool `write` for files inside of `root`. `turns` is shared by all tools that change the same files."""
    writer = Writer(Root(root), turns or Turns())
    return with_traits(define("write", _DESCRIPTION, _PARAMETERS, writer), read_only=False, replay="safe")


@final
@frozen
class Writer:
    """What runs when `write` is called."""

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
        """Write the file. Raises ToolError where that cannot be."""
        del call_id, report  # There is nothing to tell before the end.
        path = self.root.locate(arguments["path"])
        async with self.turns.of(path):
            check_abort(aborted)
            return await anyio.to_thread.run_sync(self._write, path, arguments["content"])

    def _write(self, path: Path, content: str) -> ToolResult:
        name = self.root.name(path)
        try:
            raw = content.encode()
        except UnicodeEncodeError as error:
            raise ToolError(f"The content has a character that UTF-8 lacks, at {error.start}.") from error
        new = put(self.root, path, raw)
        lines = content.count("\n") + (not content.endswith("\n") and bool(content))
        size = f"{lines:,} line{'' if lines == 1 else 's'}, {len(raw):,} byte{'' if len(raw) == 1 else 's'}"
        done = f"{'Created' if new else 'Replaced'} {name}: {size}."
        return text_result(done, details={"path": name, "bytes": len(raw), "lines": lines, "created": new})


def put(root: Root, path: Path, raw: bytes) -> bool:
    """Write a file and say whether it is new. Raises ToolError where it cannot be written."""
    name = root.name(path)
    try:
        return replace_inside(root, path, raw)
    except PermissionError as error:
        raise ToolError(f"There is no permission to write {name}.") from error
    except IsADirectoryError as error:
        raise ToolError(f"{name} is no file that can be written: {error.strerror}.") from error
    except (OSError, ValueError) as error:
        raise ToolError(f"{name} cannot be written: {getattr(error, 'strerror', None) or error}.") from error
