"""The coding tools together: for one folder, with one queue of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from turnwheel.tool import Tool
from turnwheel_tools.bash import bash_tool
from turnwheel_tools.edit import edit_tool
from turnwheel_tools.find import find_tool, ls_tool
from turnwheel_tools.grep import grep_tool
from turnwheel_tools.mutations import Turns
from turnwheel_tools.read import read_tool
from turnwheel_tools.write import write_tool

_MAKE: Final[Mapping[str, Callable[[Path, Turns], Tool]]] = {
    "read": lambda root, _: read_tool(root),
    "grep": lambda root, _: grep_tool(root),
    "find": lambda root, _: find_tool(root),
    "ls": lambda root, _: ls_tool(root),
    "edit": edit_tool,
    "write": write_tool,
    "bash": lambda root, _: bash_tool(root),
}
NAMES: Final = tuple(_MAKE)
"""The names of the coding tools."""
READ_ONLY: Final = ("read", "grep", "find", "ls")
"""Those that change nothing."""


def coding_tools(root: Path | str = ".", names: Iterable[str] = NAMES) -> list[Tool]:
    """Return coding tools for a folder, by their names, each once. Raises ValueError for a name that there is not.

    Those that change files share a queue: changes of one file are made in the order of their calls.
    """
    wanted = list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in _MAKE]:
        raise ValueError(f"there is no tool {unknown[0]!r}; choose from {', '.join(NAMES)}")
    turns = Turns()
    return [_MAKE[name](Path(root), turns) for name in wanted]
