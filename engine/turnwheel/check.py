"""Builds a table from its rows and refuses a bad one: what is wrong is seen here, never in the middle of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attrs import fields_dict

from turnwheel.control import CallControl, Control, facts
from turnwheel.errors import TableError
from turnwheel.rules import (
    QUIET,
    AnyState,
    Ask,
    BatchState,
    CallState,
    Choice,
    Dialect,
    Emit,
    Guard,
    Not,
    Rule,
    State,
    Table,
    Trigger,
    Verdict,
)

Facts = Mapping[str, tuple[Any, ...]]
View = dict[str, Any]


_CALL_WORDS = (
    {Emit.call_start, Emit.call_update, Emit.call_end},
    {Ask.look_again, Ask.prepare_arguments, Ask.before_tool_call, Ask.execute_tool, Ask.after_tool_call},
)
_BATCH_WORDS = ({Emit.results}, {Ask.announce_next, Ask.execute_next, Ask.cancel_next})
_ABLE: Mapping[type[AnyState], tuple[set[Emit], set[Ask]]] = {
    State: (set(Emit) - _CALL_WORDS[0] - _BATCH_WORDS[0], set(Ask) - _CALL_WORDS[1] - _BATCH_WORDS[1]),
    BatchState: _BATCH_WORDS,
    CallState: _CALL_WORDS,
}
"""What the rows of each table can emit and ask for."""


class _Unread(Exception):
    """A guard reads a fact that the view at hand does not have."""


class _Probe:
    """A control view that holds some facts only, and says which one was missed."""

    def __init__(self, view: View) -> None:
        self.__dict__.update(view)

    def __getattr__(self, name: str) -> Any:
        raise _Unread(name)


def build(
    name: str, control: type[Control] | type[CallControl], initial: AnyState, final: AnyState, rules: Sequence[Rule]
) -> Table:
    """Return the table of these rows.

    Raises TableError, naming the row, unless: every row has a reason, stays within the states, facts and values of the
    table, and leaves a state other than the final one; every state is reached; and for each source and trigger exactly
    one row holds under every valuation of the guards that can occur, each row under at least one.
    """
    known = facts(control)
    for rule in rules:
        _check_row(rule, type(initial), final)
        _check_facts(rule, {name: values for name, values in known.items() if name in fields_dict(control)})
    _check_names(rules)
    _check_reach(initial, rules)
    if isinstance(initial, State):
        _check_failing(rules)
    groups: dict[tuple[AnyState, Trigger], list[Rule]] = {}
    for rule in rules:
        groups.setdefault((rule.source, rule.trigger), []).append(rule)
    choices = {at: _choice(name, group, known) for at, group in groups.items()}
    return Table(name, initial, final, tuple(rules), choices)


def _check_row(rule: Rule, states: type[AnyState], final: AnyState) -> None:
    if not rule.why.strip():
        raise TableError("the row has no reason", rule=rule.name)
    for state in (rule.source, rule.dest):
        if not isinstance(state, states):
            raise TableError(f"{state} is no state of this table", rule=rule.name)
    # A call that has ended may still hear of late progress; the loop and the batch have no way on from their end.
    if rule.source is final and not (isinstance(final, CallState) and rule.dest is final):
        raise TableError(f"{final} is final, and has no way out", rule=rule.name)
    if len(rule.requires()) != len(rule.when):
        raise TableError("a guard stands twice in the row", rule=rule.name)
    emits, asks = _ABLE[states]
    for word in (*rule.emits, *([rule.asks] if rule.asks is not None else [])):
        if word not in emits and word not in asks:
            raise TableError(f"{word} is nothing that this table can do", rule=rule.name)
    if rule.trigger in QUIET and (rule.sets or rule.asks is not None or rule.dest is not rule.source):
        raise TableError(f"{rule.trigger} fires nothing, so its row can only emit", rule=rule.name)


def _check_facts(rule: Rule, known: Facts) -> None:
    for fact, value in rule.sets.items():
        if fact not in known:
            raise TableError(f"the row sets {fact!r}, which is no fact of this table", rule=rule.name)
        if not any(value == possible and type(value) is type(possible) for possible in known[fact]):
            raise TableError(f"the row sets {fact} to {value!r}, which is none of {known[fact]}", rule=rule.name)


def _check_names(rules: Sequence[Rule]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.name in seen:
            raise TableError("the row stands twice in the table", rule=rule.name)
        seen.add(rule.name)


def _check_reach(initial: AnyState, rules: Sequence[Rule]) -> None:
    reached: set[AnyState] = {initial}
    while new := {r.dest for r in rules if r.source in reached} - reached:
        reached |= new
    for state in type(initial):
        if state not in reached:
            raise TableError(f"state {state} is reached by no row")


def _check_failing(rules: Sequence[Rule]) -> None:
    """Check that every live state of the loop says what becomes of a listener that raises."""
    failing = {rule.source for rule in rules if rule.trigger is Trigger.failed}
    for state in State:
        if state is not State.Done and state not in failing:
            raise TableError("there is no such row", rule=f"{state} failed")


def _choice(table: str, group: Sequence[Rule], known: Facts) -> Choice:
    """Return the choice between the rows of one source and trigger: exactly one of them for every valuation."""
    guards = list(
        dict.fromkeys(
            condition.guard if isinstance(condition, Not) else condition for r in group for condition in r.when
        )
    )
    names = [guard.name for guard in guards]
    if len(set(names)) != len(names):
        raise TableError("two guards have the same name", rule=group[0].name)
    verdicts: list[Verdict | None] = [None] * (1 << len(guards))
    for values in _valuations(guards, group, known):
        at = sum(1 << bit for bit, value in enumerate(values) if value)
        if verdicts[at] is None:
            said = dict(zip(names, values, strict=True))
            verdicts[at] = Verdict(table, _only(group, said), said)
    for rule in group:
        if not any(verdict is not None and verdict.rule is rule for verdict in verdicts):
            raise TableError("the row can never hold", rule=rule.name)
    return Choice(tuple(guards), tuple(verdicts))


def _only(group: Sequence[Rule], said: Mapping[str, bool]) -> Rule:
    holding = [rule for rule in group if all(said[name] is wanted for name, wanted in rule.requires().items())]
    if len(holding) == 1:
        return holding[0]
    case = ", ".join(name if value else f"!{name}" for name, value in said.items()) or "no guard"
    if not holding:
        raise TableError(f"no row holds where {case}", rule=f"{group[0].source} {group[0].trigger}")
    others = " and ".join(rule.name for rule in holding[1:])
    raise TableError(f"the row and {others} both hold where {case}", rule=holding[0].name)


def _valuations(guards: Sequence[Guard], group: Sequence[Rule], known: Facts) -> Iterator[tuple[bool, ...]]:
    """Yield what the guards say together, for every combination of the facts that they read."""
    read: list[str] = []
    for guard in guards:
        where = next(rule.name for rule in group if guard.name in rule.requires())
        read.extend(fact for fact in reads(guard, known, where) if fact not in read)
    for view in _views(read, known):
        probe = _Probe(view)
        yield tuple(bool(guard.holds(probe)) for guard in guards)


def reads(guard: Guard, known: Facts, rule: str = "") -> list[str]:
    """Return the facts that a guard reads, found by asking it. Raises TableError if it reads anything else."""
    read: list[str] = []
    while (missed := _missed(guard.holds, read, known)) is not None:
        if missed not in known:
            raise TableError(f"guard {guard.name} reads {missed!r}, which is no fact of this table", rule=rule)
        read.append(missed)
    return read


def _missed(holds: Callable[[Any], bool], read: Sequence[str], known: Facts) -> str | None:
    for view in _views(read, known):
        try:
            holds(_Probe(view))
        except _Unread as missed:
            return str(missed)
    return None


def _views(read: Sequence[str], known: Facts) -> Iterator[View]:
    for values in product(*(known[fact] for fact in read)):
        yield dict(zip(read, values, strict=True))


def check_vocabulary(dialects: Iterable[Dialect], guards: Iterable[Guard]) -> None:
    """Raise TableError unless every guard, event and trigger of the vocabulary is used by a row of some dialect."""
    rules = [rule for dialect in dialects for table in dialect.tables for rule in table.rules]
    used_guards = {name for rule in rules for name in rule.requires()}
    for guard in guards:
        if guard.name not in used_guards:
            raise TableError(f"guard {guard.name} is used by no row")
    for emit in Emit:
        if not any(emit in rule.emits for rule in rules):
            raise TableError(f"{emit} is emitted by no row")
    for trigger in Trigger:
        if not any(trigger is rule.trigger for rule in rules):
            raise TableError(f"trigger {trigger} fires no row")
