"""Where two recorded runs part: the first decision in which they differ, and which guard said something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Final, final

from attrs import frozen

from turnwheel.explaining import row_of
from turnwheel.recorded import RecordedDecision, Recording
from turnwheel.rules import Dialect, Rule


@final
@frozen
class Divergence:
    """The first decision in which two runs differ. `index` counts the decisions before it, which are the same.

    `a` and `b` are the decisions, None where a run has no more. `guards` are those that both asked with another result:
    what each said in a, and in b.
    """

    index: int
    a: RecordedDecision | None
    b: RecordedDecision | None
    guards: Mapping[str, tuple[bool, bool]]


def decisions_of(recording: Recording) -> list[RecordedDecision]:
    """Return the decisions of a recording, in their order."""
    return [entry for entry in recording.entries if isinstance(entry, RecordedDecision)]


def first_difference(a: Recording, b: Recording) -> Divergence | None:
    """Return where two runs part, or None where all decisions are the same: machine, call, rule, and guards.

    Positions do not count: an answer in more pieces is no other decision. Runs of two dialects can be compared, since
    a row is named for what it looks at.
    """
    for index, (mine, theirs) in enumerate(zip_longest(decisions_of(a), decisions_of(b))):
        if mine is None or theirs is None:
            return Divergence(index, mine, theirs, {})
        if _told(mine) != _told(theirs):
            said = {
                name: (value, theirs.guards[name])
                for name, value in mine.guards.items()
                if name in theirs.guards and theirs.guards[name] is not value
            }
            return Divergence(index, mine, theirs, said)
    return None


def _told(decision: RecordedDecision) -> tuple[object, ...]:
    return decision.machine, decision.call, decision.rule, dict(decision.guards)


# --- in words -----------------------------------------------------------------------------------------------------

_YES: Final = {True: "yes", False: "no"}


def in_words(divergence: Divergence | None, a: Dialect, b: Dialect, names: tuple[str, str] = ("A", "B")) -> list[str]:
    """Return sentences that say where two runs part. Raises ValueError for a decision that a dialect does not know."""
    if divergence is None:
        return ["Both runs took the same decisions."]
    lines = [_same(divergence.index)]
    told = [(names[0], divergence.a, a), (names[1], divergence.b, b)]
    lines += [_did(name, decision, dialect) for name, decision, dialect in told]
    lines += _why(divergence, *(row_of(d, it.machine, it.rule)[1] for _, it, d in told if it is not None), names=names)
    return lines


def _same(index: int) -> str:
    if index == 0:
        return "The runs differ in their first decision."
    return "The first decision is the same." if index == 1 else f"The first {index:,} decisions are the same."


def _did(name: str, decision: RecordedDecision | None, dialect: Dialect) -> str:
    if decision is None:
        return f"{name} takes no other decision: it ends or breaks off there."
    _, rule = row_of(dialect, decision.machine, decision.rule)
    call = f", call {decision.call + 1}" if decision.call is not None else ""
    goes = "stays there" if rule.dest is rule.source else f"goes to {rule.dest}"
    return (
        f"{name}, position {decision.at}: the {decision.machine}{call} is in {rule.source}, {rule.trigger} comes, "
        f"and it {goes} ({rule.why})"
    )


def _why(divergence: Divergence, *rules: Rule, names: tuple[str, str]) -> Iterator[str]:
    if len(rules) < len(names):
        return
    mine, theirs = rules
    for guard, (said, other) in divergence.guards.items():
        yield f"The guard {guard} says {_YES[said]} in {names[0]} and {_YES[other]} in {names[1]}."
    if not divergence.guards and (mine.source, mine.trigger) == (theirs.source, theirs.trigger):
        yield "The guards say the same: the calls or the rows are others."
    elif not divergence.guards:
        yield "No guard differs: something else came."
