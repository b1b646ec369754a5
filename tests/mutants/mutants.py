"""The mutants: each is a dialect, or a machine, in which one thing is wrong.

A mutant of a row or a guard changes what the table says and nothing else. Its tables are made without the checks of
turnwheel.check, which would refuse many of them: what the judges see must not depend on that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, Literal, final

from attrs import evolve, fields, frozen

from tests.mutants.engines import AROUND, of_tables
from tests.mutants.patience import Patience
from turnwheel.check import build
from turnwheel.control import CallControl, Control
from turnwheel.errors import TableError
from turnwheel.machine import Machine
from turnwheel.rules import QUIET, Choice, Dialect, Guard, Not, Rule, Switches, Table, Verdict
from turnwheel.table import dialect

Kind = Literal["rule", "guard", "switch", "engine"]
KINDS: Final[Sequence[Kind]] = ("rule", "guard", "switch", "engine")

_OTHER_ARGUMENTS: Final = {"0.80.2": "0.85.1", "0.85.1": "1.6.0", "1.6.0": "0.80.2"}


@final
@frozen(eq=False)
class Mutant:
    """One mutant of the dialect called `of`.

    `dialect` is the mutated one, `table` its one wrong table, where there is one. `rows` are the rows of the right
    tables of which one must fire before the mutant can do something else, None where that is not known. `around` puts
    something in front of the machine, and `patience` ends runs that do not end.
    """

    name: str
    kind: Kind
    of: str
    dialect: Dialect
    patience: Patience
    table: Table | None = None
    rows: frozenset[Rule] | None = None
    around: Callable[[Machine], Machine] = lambda machine: machine

    @property
    def refused(self) -> bool:
        """Whether the check of tables refuses it."""
        table = self.table
        if table is None:
            return False
        control = CallControl if table.name == "call" else Control
        try:
            build(table.name, control, table.initial, table.final, table.rules)
        except TableError:
            return True
        return False


@cache
def mutants(of: str) -> Sequence[Mutant]:
    """Return the mutants of a dialect, always the same ones in the same order."""
    return [*_of_rows_and_guards(of), *_of_switches(of), *_of_the_engine(of)]


def unmutated(of: str) -> Mutant:
    """Return the dialect itself in the form of a mutant."""
    return _mutant("unmutated", "engine", of, dialect(of))


def _mutant(name: str, kind: Kind, of: str, mutated: Dialect) -> Mutant:
    patience = Patience()
    return Mutant(name, kind, of, patience.tried_by(mutated), patience)


# --- rows and guards ----------------------------------------------------------------------------------------------


def _of_rows_and_guards(of: str) -> Iterator[Mutant]:
    whole = dialect(of)

    def mutant(kind: Kind, table: Table, how: str, rows: frozenset[Rule] | None) -> Mutant:
        change: dict[str, Any] = {table.name: table}
        found = _mutant(f"{table.name}: {how}", kind, of, evolve(whole, **change))
        return evolve(found, table=table, rows=rows)

    for table in whole.tables:
        for rule in table.rules:
            for how, wrong in rewritten(rule, table.rules):
                yield mutant("rule", with_rule(table, rule, wrong), f"{rule.name}: {how}", _told_by(rule, table))
        for guard in guards_of(table):
            for how, holds in bent(guard):
                mutated = with_guard(table, guard, evolve(guard, holds=holds))
                yield mutant("guard", mutated, f"guard {guard}: {how}", _asking(guard, table))


def _told_by(rule: Rule, table: Table) -> frozenset[Rule] | None:
    """Return the rows of which one has fired, decision and all, wherever `rule` was chosen."""
    if rule.trigger in QUIET:
        return None
    # A row that waits leaves no decision, but no state of a batch is left without one that is taken beside it.
    return _choice_of(rule, table) if rule.waits else frozenset({rule})


def _asking(guard: Guard, table: Table) -> frozenset[Rule] | None:
    """Return the rows of which one has fired wherever `guard` was asked."""
    found = [rule for rule in table.rules if guard in table.choices[rule.source, rule.trigger].guards]
    return None if any(rule.trigger in QUIET for rule in found) else frozenset(found)


def _choice_of(rule: Rule, table: Table) -> frozenset[Rule]:
    return frozenset(each for each in table.rules if (each.source, each.trigger) == (rule.source, rule.trigger))


def rewritten(rule: Rule, table: Sequence[Rule]) -> Iterator[tuple[str, Rule]]:
    """Yield each way in which a row can be wrong, in words and as the row that takes its place."""
    siblings = [other for other in table if other is not rule and other.source is rule.source]
    rivals = [other for other in siblings if other.trigger is rule.trigger]
    if rule.emits:
        yield "emits nothing", evolve(rule, emits=())
    if len(rule.emits) > 1:
        for at, emit in enumerate(rule.emits):
            yield f"does not emit {emit}", evolve(rule, emits=[*rule.emits[:at], *rule.emits[at + 1 :]])
    if rule.sets:
        yield "sets nothing", evolve(rule, sets={})
    if len(rule.sets) > 1:
        for fact in rule.sets:
            kept = {name: value for name, value in rule.sets.items() if name != fact}
            yield f"does not set {fact}", evolve(rule, sets=kept)
    if rivals:
        yield "never holds", evolve(rivals[0], when=rule.when)
    asks = [other.asks for other in [*rivals, *siblings] if other.asks not in (None, rule.asks)]
    if asks:
        yield f"asks {asks[0]}", evolve(rule, asks=asks[0])


def with_rule(table: Table, rule: Rule, wrong: Rule) -> Table:
    """Return the table with `wrong` in the place of a row, under the same valuations."""
    at = rule.source, rule.trigger
    verdicts = [
        evolve(said, rule=wrong) if said is not None and said.rule is rule else said
        for said in table.choices[at].verdicts
    ]
    choices = {**table.choices, at: evolve(table.choices[at], verdicts=verdicts)}
    return evolve(table, rules=[wrong if each is rule else each for each in table.rules], choices=choices)


def guards_of(table: Table) -> Sequence[Guard]:
    """Return the guards of a table, each once."""
    return list(dict.fromkeys(guard for choice in table.choices.values() for guard in choice.guards))


def bent(guard: Guard) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """Yield each way in which a guard can be wrong."""
    yield "negated", lambda control: not guard.holds(control)
    yield "always true", lambda control: True
    yield "always false", lambda control: False


def with_guard(table: Table, guard: Guard, wrong: Guard) -> Table:
    """Return the table with `wrong` in the place of a guard."""

    def bend(condition: Guard | Not) -> Guard | Not:
        if isinstance(condition, Not):
            return Not(wrong) if condition.guard is guard else condition
        return wrong if condition is guard else condition

    new = {rule: evolve(rule, when=[bend(condition) for condition in rule.when]) for rule in table.rules}

    def verdict(said: Verdict | None) -> Verdict | None:
        return None if said is None else evolve(said, rule=new[said.rule])

    choices = {
        at: Choice(
            [wrong if each is guard else each for each in choice.guards], [verdict(said) for said in choice.verdicts]
        )
        for at, choice in table.choices.items()
    }
    return evolve(table, rules=list(new.values()), choices=choices)


# --- the rest -----------------------------------------------------------------------------------------------------


def _of_switches(of: str) -> Iterator[Mutant]:
    whole = dialect(of)
    for switch in fields(Switches):
        now = getattr(whole.switches, switch.name)
        change: dict[str, Any] = {switch.name: _OTHER_ARGUMENTS[now] if isinstance(now, str) else not now}
        mutated = evolve(whole, switches=evolve(whole.switches, **change))
        yield _mutant(f"switch {switch.name}: {change[switch.name]}", "switch", of, mutated)


def _of_the_engine(of: str) -> Iterator[Mutant]:
    for name, wrapped in AROUND.items():
        yield evolve(_mutant(name, "engine", of, dialect(of)), around=wrapped)
    for name, mutated in of_tables(dialect(of)).items():
        yield _mutant(name, "engine", of, mutated)
