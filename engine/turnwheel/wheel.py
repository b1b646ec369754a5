"""Loads the tables of a dialect into `transitions` machines: the one file that imports transitions.

A wheel is shared by all runs of its dialect; a run brings its control views as models, which are not registered.
Firing decides by the precomputed choice of the table. Once somebody has attached callbacks of their own to a state, a
transition or the machine, by the means that transitions documents, its own path runs, and they are called as it says.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, final

from transitions import Event, EventData, Machine, State, Transition

from turnwheel.errors import TableError
from turnwheel.rules import AnyState, Dialect, Guard, Not, Rule, Table, Trigger, Verdict

_OF_A_MACHINE = ("prepare_event", "before_state_change", "after_state_change", "finalize_event", "on_final")
"""Where transitions keeps the callbacks of a whole machine."""


class _Attached:
    """Somebody attached callbacks of their own: from then on, transitions' own path runs."""

    def __init__(self) -> None:
        self.yes = False


class _RuleState(State):
    """A state that notices when a callback is attached to it."""

    attached: _Attached

    def add_callback(self, trigger: str, func: Any) -> None:
        """Attach a callback, as transitions does."""
        self.attached.yes = True
        super().add_callback(trigger, func)


class _RuleTransition(Transition):
    """A transition that notices when a callback is attached to it."""

    def __init__(self, *args: Any, attached: _Attached, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.attached = attached

    def add_callback(self, trigger: str, func: Any) -> None:
        """Attach a callback, as transitions does."""
        self.attached.yes = True
        super().add_callback(trigger, func)


class _Plan:
    """How one trigger is decided in one state: the guards to ask, and the callbacks that forbid the short way."""

    __slots__ = ("tests", "verdicts")

    def __init__(self, machine: TableMachine, state: AnyState, trigger: Trigger) -> None:
        choice = machine.table.choices[state, trigger]
        self.tests = tuple((1 << bit, guard.holds) for bit, guard in enumerate(choice.guards))
        self.verdicts = choice.verdicts


class _FastEvent(Event):
    """A trigger with a short way to fire: it looks its rule up, where transitions walks through its transitions."""

    machine: TableMachine

    def __init__(self, name: str, machine: TableMachine) -> None:
        super().__init__(name, machine)
        self.plans: dict[AnyState, _Plan] = {}
        self.attribute = machine.model_attribute
        self.attached = machine.attached

    def fire(self, model: Any) -> Verdict:
        """Fire for `model` and return the verdict; the model's state has changed by then."""
        attribute = self.attribute
        state = getattr(model, attribute)
        plan = self.plans.get(state) or self._plan(state)
        bits = 0
        for bit, holds in plan.tests:
            if holds(model):
                bits |= bit
        verdict = plan.verdicts[bits]
        if verdict is None:
            raise TableError(f"no row holds in {state} on {self.name}: the facts contradict each other")
        if self.attached.yes:
            # A row that says to wait is looked up at every pause; nothing has happened that a callback could hear of.
            if not verdict.waits and not self.trigger(model):
                raise TableError("a condition attached to the machine refused the row", rule=verdict.rule.name)
        else:
            setattr(model, attribute, verdict.rule.dest)
        return verdict

    def _plan(self, state: AnyState) -> _Plan:
        trigger = Trigger(self.name)
        if (state, trigger) not in self.machine.table.choices:
            raise TableError(f"{self.machine.table.name} has no row for {trigger} in {state}")
        plan = self.plans[state] = _Plan(self.machine, state, trigger)
        return plan


Triggers = dict[Trigger, _FastEvent]
"""The triggers of a table, loaded."""


@final
class TableMachine(Machine):
    """A `transitions` machine that holds one table."""

    event_cls = _FastEvent
    state_cls = _RuleState
    transition_cls = _RuleTransition

    def __init__(self, table: Table, attribute: str) -> None:
        self.table = table
        self.attached = _Attached()
        super().__init__(
            model=None,
            states=[{"name": state, "final": state is table.final} for state in table.states],
            initial=table.initial,
            transitions=[self._row(rule) for rule in table.rules],
            auto_transitions=False,
            send_event=True,
            model_attribute=attribute,
        )
        for state in self.states.values():
            assert isinstance(state, _RuleState)
            state.attached = self.attached
        self.triggers: Triggers = {
            Trigger(name): event for name, event in self.events.items() if isinstance(event, _FastEvent)
        }

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _OF_A_MACHINE and value:
            self.attached.yes = True

    def _row(self, rule: Rule) -> dict[str, Any]:
        return {
            "trigger": rule.trigger.value,
            "source": rule.source,
            "dest": rule.dest,
            "conditions": [partial(_says, condition) for condition in rule.when],
            "attached": self.attached,
        }


def _says(condition: Guard | Not, data: EventData) -> bool:
    if isinstance(condition, Not):
        return not condition.guard.holds(data.model)
    return bool(condition.holds(data.model))


@final
class Wheel:
    """The machines of one dialect, ready for any number of runs."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.loop = TableMachine(dialect.loop, "state")
        self.batch = TableMachine(dialect.batch, "batch")
        self.call = TableMachine(dialect.call, "state")


@cache
def wheel(dialect: Dialect) -> Wheel:
    """Return the wheel of a dialect, loaded once. Callbacks attached to its machines are seen by all its runs."""
    return Wheel(dialect)
