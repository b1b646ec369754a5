"""What the tools here have in common: how they notice an abort, what they give back, and how they fail."""

from __future__ import annotations

from collections.abc import Callable

from turnwheel.messages import Json, ToolResult

Aborted = Callable[[], bool]
"""Whether the run has been aborted. A tool asks between pieces of work."""


class ToolError(Exception):
    """A tool could not do what was asked. The text is for the model: what is wrong, and what to do about it."""


def check_abort(aborted: Aborted) -> None:
    """Raise the ToolError that ends an aborted call (the text is Pi's)."""
    if aborted():
        raise ToolError("Operation aborted")


def text_result(text: str, *notes: str, details: Json) -> ToolResult:
    """Return a result of one text block: `text`, then each note in brackets, set off by an empty line."""
    if not notes:
        return ToolResult.of(text, details=details)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return ToolResult.of(text + gap + "\n".join(f"[{note}]" for note in notes), details=details)
