"""What tools and hosts agree upon: how a tool is run, what it gives back, and how it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from turnwheel.messages import Json, ToolResult

Aborted = Callable[[], bool]
"""Whether the run has been aborted. A tool asks between pieces of work."""


class ToolError(Exception):
    """A tool could not do what was asked. The text is for the model: what is wrong, and what to do about it."""


class Run(Protocol):
    """The shape of `Tool.run`."""

    def __call__(
        self,
        arguments: dict[str, Any],
        *,
        call_id: str,
        report: Callable[[ToolResult], None],
        aborted: Aborted,
    ) -> ToolResult:
        """Do the work with valid `arguments`; `report` partial results on the way.

        Raises to fail, ToolError where the failure is foreseen: its text becomes the result.
        """


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
