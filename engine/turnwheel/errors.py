"""Every exception of the engine: whose fault it is, and what to do.

    TurnwheelError
    ├── Misuse                the calling code broke a rule; mend the code
    │   ├── UnexpectedOutcome     an outcome that nothing had asked for; the machine is as it was
    │   └── Stalled               the host has nothing left that could answer what is awaited
    ├── TableError            a table is wrong; raised when it is built, never in a run
    └── ParseError            data from outside does not have the shape that it should have

What goes wrong in the world (a model that fails, a tool that raises) is an outcome, not an exception of this tree.
"""

from __future__ import annotations


class TurnwheelError(Exception):
    """Base of all exceptions that turnwheel raises itself."""


class Misuse(TurnwheelError):
    """The calling code broke a rule of the contract."""


class UnexpectedOutcome(Misuse):
    """An outcome that answers nothing the machine has asked for.

    The machine is unchanged, so the caller may send the right one.
    """

    def __init__(self, *, outcome: str, state: str, awaited: str, cause: str) -> None:
        self.outcome = outcome
        self.state = state
        self.awaited = awaited
        self.cause = cause
        super().__init__(f"{outcome} was not asked for in state {state}: awaited is {awaited}. Likely cause: {cause}")


class Stalled(Misuse):
    """The machine waits and the host has nothing left that could answer."""


class TableError(TurnwheelError):
    """A transition table is wrong. `rule` names the row, where one row is to blame."""

    def __init__(self, problem: str, *, rule: str | None = None) -> None:
        self.rule = rule
        self.problem = problem
        super().__init__(f"{rule}: {problem}" if rule else problem)


class ParseError(TurnwheelError):
    """Data from outside is not what it should be: where it came from, the path in it, and what was expected."""

    def __init__(self, problem: str, *, path: str = "", source: str = "") -> None:
        self.problem = problem
        self.path = path
        self.source = source
        super().__init__(": ".join(part for part in (source, path, problem) if part))

    def within(self, source: str) -> ParseError:
        """Return the same error, said of `source` (a file name, say)."""
        return ParseError(self.problem, path=self.path, source=source)
