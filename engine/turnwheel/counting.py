"""How often each row of a dialect fired: over one run, over many, over a whole suite of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, final

from turnwheel.errors import ParseError
from turnwheel.messages import Json
from turnwheel.rules import QUIET, Decision, Dialect, State

if TYPE_CHECKING:
    from turnwheel.recorded import Recording

VERSION: Final = 1
"""The version of the format that is written and read here."""
MACHINES: Final = ("loop", "batch", "call")
_WANTED: Final = 'counts, which begin with {"turnwheel": "counts", …}'


@final
class Counts:
    """Counts of one dialect. Hand it to an agent or a driver as `on_decision`, to as many as you like.

    counts = Counts("pi-0.85.1")
    Agent(model, on_decision=counts)
    """

    def __init__(self, dialect: Dialect | str) -> None:
        """Begin with no decision. `dialect` is the one whose rows fire."""
        self.dialect = dialect.name if isinstance(dialect, Dialect) else dialect
        self.runs = 0
        """The number of runs that came to Done, or were recorded, to their end or not."""
        self._fired: dict[str, dict[str, int]] = {machine: {} for machine in MACHINES}

    def __call__(self, decision: Decision) -> None:
        """Count a decision."""
        rule = decision.rule
        self.add(decision.machine, rule.name)
        if rule.dest is State.Done and rule.source is not State.Done:
            self.runs += 1

    @classmethod
    def of(cls, recording: Recording) -> Counts:
        """Return the counts of one recorded run."""
        # Here, so that counting a run does not load what reads JSON.
        from turnwheel.recorded import RecordedDecision

        counts = cls(recording.header.dialect)
        for entry in recording.entries:
            if isinstance(entry, RecordedDecision):
                counts.add(entry.machine, entry.rule)
        counts.runs = 1
        return counts

    def add(self, machine: str, rule: str, times: int = 1) -> None:
        """Count a row, by its name. Raises KeyError for a machine that there is not."""
        fired = self._fired[machine]
        fired[rule] = fired.get(rule, 0) + times

    def update(self, other: Counts) -> None:
        """Add the counts of another one. Raises ValueError where it is of another dialect."""
        if other.dialect != self.dialect:
            raise ValueError(f"counts of {other.dialect} cannot be added to those of {self.dialect}")
        self.runs += other.runs
        for machine, fired in other._fired.items():
            for rule, times in fired.items():
                self.add(machine, rule, times)

    def of_machine(self, machine: str) -> Mapping[str, int]:
        """Return how often each row of a machine fired, by its name; those that never did are absent."""
        return dict(self._fired[machine])

    @property
    def decisions(self) -> int:
        """The number of decisions in all."""
        return sum(sum(fired.values()) for fired in self._fired.values())

    def missing(self, dialect: Dialect) -> list[tuple[str, str]]:
        """Return machine and name of each row that never fired, but for those that leave no decision."""
        return [
            (table.name, rule.name)
            for table in dialect.tables
            for rule in table.rules
            if rule.trigger not in QUIET and not rule.waits and rule.name not in self._fired[table.name]
        ]

    def to_json(self) -> dict[str, Json]:
        """Return the counts as JSON, rows in the order of their names."""
        fired = {machine: dict(sorted(rules.items())) for machine, rules in self._fired.items()}
        return {
            "turnwheel": "counts",
            "version": VERSION,
            "dialect": self.dialect,
            "runs": self.runs,
            "fired": fired,
        }

    @classmethod
    def from_json(cls, data: Json, source: str = "") -> Counts:
        """Read what to_json wrote. Raises ParseError, with `source` and the place, for anything else."""
        if not isinstance(data, dict) or data.get("turnwheel") != "counts":
            raise ParseError(f"expected {_WANTED}", source=source)
        if data.get("version") != VERSION:
            raise ParseError(f"expected version {VERSION} of counts, got {data.get('version')!r}", source=source)
        if not isinstance(data.get("dialect"), str) or type(data.get("runs", 0)) is not int:
            raise ParseError("expected a text as `dialect` and a whole number as `runs`", source=source)
        counts = cls(data["dialect"])
        counts.runs = data.get("runs", 0)
        for machine, rule, times in _fired(data.get("fired"), source):
            counts.add(machine, rule, times)
        return counts


def _fired(data: Any, source: str) -> Iterable[tuple[str, str, int]]:
    if not isinstance(data, dict) or not set(data) <= set(MACHINES):
        raise ParseError(f"expected an object with {', '.join(MACHINES)}", path="fired", source=source)
    for machine, rules in data.items():
        if not isinstance(rules, dict):
            raise ParseError("expected an object", path=f"fired.{machine}", source=source)
        for rule, times in rules.items():
            if type(times) is not int or times < 0:
                raise ParseError(f"expected a number, got {times!r}", path=f"fired.{machine}.{rule}", source=source)
            yield machine, rule, times
