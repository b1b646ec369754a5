"""What is known of a tool beside what it does: whether it changes anything, and whether it may run twice."""

from __future__ import annotations

from typing import Final, Literal

from attrs import evolve

from turnwheel.tool import Tool

Replay = Literal["safe", "never"]
"""Whether running a call a second time, after a crash say, does no harm."""

_READ_ONLY: Final = "readOnly"
_REPLAY: Final = "replay"


def with_traits(tool: Tool, *, read_only: bool, replay: Replay) -> Tool:
    """Return the tool with these traits, which it carries in `extra`."""
    return evolve(tool, extra={**tool.extra, _READ_ONLY: read_only, _REPLAY: replay})


def is_read_only(tool: Tool) -> bool:
    """Say whether a tool changes nothing. One that does not tell may change something."""
    return tool.extra.get(_READ_ONLY) is True


def replay_of(tool: Tool) -> Replay:
    """Return whether a call of the tool may run twice. One that does not tell may not."""
    return "safe" if tool.extra.get(_REPLAY) == "safe" else "never"
