"""In which points the loops of Pi's versions differ, as named switches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Version:
    """What one version of Pi does where versions differ; what is off is how 0.80.2 does it.

    `rules` names how arguments are coerced and validated.
    """

    rules: str

    # --- since 0.80.6 to 0.81.0 ---
    fails_truncated_calls: bool = False
    """Calls of an answer that was cut at the token limit are answered with an error, not executed (0.80.6)."""
    empties_missing_content: bool = False
    """The message of a result without content has an empty list (0.80.6)."""
    hook_keeps_fields: bool = False
    """Fields of a result that the after hook cannot replace survive it (0.80.7)."""
    copies_added_tools: bool = False
    """`addedToolNames` of a result is copied into its message (0.80.7, until 0.85.1)."""
    copies_usage: bool = False
    """`usage` of a result is copied into its message, and the after hook may replace it (0.81.0)."""

    # --- since 0.84.1 to 0.85.0 ---
    block_may_terminate: bool = False
    """A before hook that blocks may say `terminate` as well (0.84.1)."""
    prepares_late: bool = False
    """A turn is prepared when it is certain to come, then steering is polled again (0.84.4)."""
    looks_before_executing: bool = False
    """In a parallel batch a prepared call is not executed any more once the run is aborted (0.85.0)."""

    # --- since 0.86.0 to 1.6.0 ---
    loadouts: bool = False
    """System prompt and tools are system messages of the transcript (0.86.0)."""
    finishes_turns: bool = False
    """`finishTurn` in front of `turn_end` instead of `shouldStopAfterTurn`, and `prepareRequest` (0.87.0)."""
    notes_thinking_level: bool = False
    """The final answer carries the thinking level that was asked for (0.99.1)."""
    results_may_be_errors: bool = False
    """A tool reports an error with `isError: true` in its result, too (0.99.1)."""
    hook_drops_structure: bool = False
    """An after hook that replaces only the content drops `structuredContent` (0.99.1)."""
    reads_argument_errors: bool = False
    """A call that carries `argumentsError` fails with it (1.3.0)."""
    answers_every_call: bool = False
    """A batch goes on when it is aborted: each call left gets a result before it is prepared (1.6.0)."""


PI_0_80_2: Final = Version(rules="0.80.2")
PI_0_85_1: Final = replace(
    PI_0_80_2,
    rules="0.85.1",
    fails_truncated_calls=True,
    empties_missing_content=True,
    hook_keeps_fields=True,
    copies_added_tools=True,
    copies_usage=True,
    block_may_terminate=True,
    prepares_late=True,
    looks_before_executing=True,
)
PI_1_6_0: Final = replace(
    PI_0_85_1,
    rules="1.6.0",
    copies_added_tools=False,
    loadouts=True,
    finishes_turns=True,
    notes_thinking_level=True,
    results_may_be_errors=True,
    hook_drops_structure=True,
    reads_argument_errors=True,
    answers_every_call=True,
)

VERSIONS: Final = {"pi-0.80.2": PI_0_80_2, "pi-0.85.1": PI_0_85_1, "pi-1.6.0": PI_1_6_0}
"""The versions by the names of their dialects."""
