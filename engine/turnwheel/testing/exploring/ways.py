"""What the world may do in a run, one thing at a time, and how much of it there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, final

from attrs import field, frozen

from turnwheel.effects import Effect
from turnwheel.messages import ABSENT, Json
from turnwheel.outcomes import Outcome


@final
@frozen
class Bounds:
    """How large the world is: model calls, tool calls of an answer, messages of each queue.

    `failures`: whether what the run itself asks for may fail, and whether the run may be broken off by its driver (a
    listener raised, a task was cancelled).
    """

    turns: int = 3
    calls: int = 2
    queue: int = 2
    failures: bool = True


class Budget(NamedTuple):
    """What the world still has to give, or gives at once: model calls, messages."""

    turns: int = 0
    steering: int = 0
    follow_up: int = 0


FREE: Final = Budget()
"""What costs nothing."""


@final
@frozen
class Way:
    """One thing that the world may do. `outcomes` are sent together, in answer to `effect`.

    `said` is what a scenario says for it (ABSENT: nothing). `needs_turn`, `exhausted`: whether a model call, or none,
    must be left. `unplayable` says why the sync driver, and so a scenario, cannot bring it about, where that is so.
    """

    name: str
    outcomes: Sequence[Outcome] = ()
    effect: Effect | None = None
    said: Json = ABSENT
    spends: Budget = field(kw_only=True, default=FREE)
    needs_turn: bool = field(kw_only=True, default=False)
    exhausted: bool = field(kw_only=True, default=False)
    unplayable: str = field(kw_only=True, default="")

    def left(self, budget: Budget) -> Budget | None:
        """Return what is left after it, or None where the budget does not allow it."""
        if (self.exhausted and budget.turns) or (self.needs_turn and not budget.turns):
            return None
        left = Budget(*(have - spent for have, spent in zip(budget, self.spends, strict=True)))
        return left if min(left) >= 0 else None


GO_ON: Final = Way("the machine goes on")
ABORT: Final = Way("the run is aborted")
BREAK_OFF: Final = Way(
    "the run is broken off: a listener raises, or its task is cancelled", unplayable="its listeners do not raise"
)


@final
@frozen
class Scene:
    """What the world remembers of the run when it answers."""

    bounds: Bounds
    shown: bool
    """Whether the answer that is asked for has begun."""
    hook_waits: bool
    """Whether the hook after a call is being asked; the sync driver lets no tool come back meanwhile."""
    executions: Mapping[str, int]
    """The effect under which each tool call was executed."""
