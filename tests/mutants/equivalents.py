"""The mutants that neither the corpus nor random scenarios notice, and why."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, final

from attrs import frozen

from turnwheel.table import DIALECTS


@final
@frozen
class Equivalent:
    """Mutants that no scenario can show: their names, in which * stands for anything, and where that is so."""

    reason: str
    names: Sequence[str]
    dialects: Sequence[str] = tuple(DIALECTS)

    def covers(self, name: str, of: str) -> bool:
        """Say whether it is about the mutant of that name of the dialect `of`."""
        return of in self.dialects and any(fnmatchcase(name, pattern) for pattern in self.names)


BY_HAND: Final = Equivalent(
    "Both drivers answer what prepares a call before they ask the machine again. Only who drives it by hand can ask in "
    "between.",
    ["batch: Announcing ready preparing: *", "batch: guard preparing: always false"],
)
"""What no driver can show, but the bare machine does."""

EQUIVALENTS: Final = [
    Equivalent(
        "A streamed step fires nothing; its rows tell readers what an observer sees.",
        ["loop: Streaming delta *"],
    ),
    Equivalent(
        "Whoever started the run learns of the failure by what it raises; the fact is for those who look at facts.",
        ["loop: * failed: sets nothing"],
    ),
    Equivalent(
        "Only a listener that raises, or a cancellation, fires the row, and in a scenario there is neither.",
        ["loop: CheckStop failed: asks *", "loop: ExecutingTools failed: asks *"],
    ),
    Equivalent(
        "A poll, which sets pending anew, comes before every row that looks at it.",
        [
            "loop: AwaitSteering steering first_turn: does not set pending",
            "loop: AwaitSteering steering !first_turn chain: sets nothing",
            "loop: AwaitSteering steering !first_turn !chain pending: sets nothing",
            "loop: AwaitFollowUp follow_up pending: sets nothing",
            "loop: AwaitSteering prepared pending: sets nothing",
            "loop: AwaitSteering steering_again: sets nothing",
        ],
    ),
    Equivalent(
        "The end of the next turn, which sets more_wanted anew, comes before the row that looks at it.",
        ["loop: AwaitFollowUp follow_up !pending more_wanted: sets nothing"],
        ["pi-1.6.0"],
    ),
    BY_HAND,
    Equivalent(
        "The row for prompts does the same where there are none to tell.",
        ["loop: AwaitSteering begin !prompt continuable: never holds"],
        ["pi-0.80.2", "pi-0.85.1"],
    ),
    Equivalent(
        "A batch of no calls is over at once, and no result of it speaks against the end.",
        ["loop: guard calls: always true"],
        ["pi-0.80.2"],
    ),
    Equivalent(
        "An after hook drops every field that it does not name, so structured content with them.",
        ["switch structured_content: True"],
        ["pi-0.80.2"],
    ),
    Equivalent(
        "The row that it gives way to differs in chain alone, which no row looks at after a hard stop.",
        ["loop: CheckStop ready hard_stop: never holds"],
        ["pi-1.6.0"],
    ),
    Equivalent(
        "The rows for a hard stop and for a stop that is wanted do the same, for different reasons.",
        [
            "loop: TurnEnd turn_finished hard_stop: never holds",
            "loop: TurnEnd turn_finished !hard_stop stop_wanted: never holds",
        ],
        ["pi-1.6.0"],
    ),
    Equivalent(
        "Only the guard `another` looks at fresh, and no row of the dialect has it.",
        ["batch: Announcing ready !preparing another_still: does not set fresh"],
        ["pi-1.6.0"],
    ),
]


def reason(name: str, of: str) -> str:
    """Return why a mutant of the dialect `of` cannot be noticed, "" where it can."""
    return next((each.reason for each in EQUIVALENTS if each.covers(name, of)), "")
