"""The tables as `transitions` machines: the short way and transitions' own way agree, and attached callbacks run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from operator import not_
from typing import Any

import pytest
from attrs import evolve
from transitions import EventData

from tests.engine.by_hand import ALL, Hand, begin, calls
from turnwheel.check import build, reads
from turnwheel.control import CallControl, Control, facts, pending
from turnwheel.errors import TableError
from turnwheel.machine import Machine
from turnwheel.outcomes import Begun, RunConfig
from turnwheel.rules import AnyState, BatchState, CallState, Dialect, Guard, Rule, State, Table, Trigger
from turnwheel.table import dialect
from turnwheel.wheel import TableMachine, Wheel, wheel

MACHINES = [(name, machine) for name in ALL for machine in ("loop", "batch", "call")]


def loaded(name: str, machine: str) -> TableMachine:
    """Return one machine of a wheel that is built anew, so that what is attached to it stays here."""
    found: TableMachine = getattr(Wheel(dialect(name)), machine)
    return found


def ignore(data: EventData) -> None:
    """Do nothing: what counts is that somebody is called."""


def own(name: str = "pi-0.85.1") -> Dialect:
    """Return a dialect that no other run uses."""
    return evolve(dialect(name))


def view(table: Table, state: AnyState, values: dict[str, Any]) -> Control | CallControl:
    """Return a control view in `state` with these facts."""
    if table.name == "call":
        run = Control(aborted=values.get("aborted", False))
        return CallControl(run, **{"state": state, **{k: v for k, v in values.items() if k != "aborted"}})
    return Control(**{"batch" if table.name == "batch" else "state": state, **values})


def views(table: Table, state: AnyState, trigger: Trigger) -> Iterator[dict[str, Any]]:
    """Yield every combination of the facts that the rows of a state and trigger look at."""
    known = facts(CallControl if table.name == "call" else Control)
    read = dict.fromkeys(fact for guard in table.choices[state, trigger].guards for fact in reads(guard, known))
    for values in product(*(known[fact] for fact in read)):
        yield dict(zip(read, values, strict=True))


def place(table: Table, rule: Rule) -> tuple[AnyState, Trigger, int]:
    """Return where a row stands: which of its source and trigger it is."""
    return (
        rule.source,
        rule.trigger,
        [r for r in table.rules if (r.source, r.trigger) == (rule.source, rule.trigger)].index(rule),
    )


def place_of_transition(machine: TableMachine, data: EventData) -> tuple[str, str, int]:
    """Return where a transition stands, as transitions keeps it."""
    transition = data.transition
    assert transition is not None
    return transition.source, data.event.name, data.event.transitions[transition.source].index(transition)


class TestBothWays:
    """The short way to fire, and that of transitions."""

    @pytest.mark.parametrize(("name", "which"), MACHINES)
    def test_choose_the_same_row(self, name: str, which: str) -> None:
        """For every state, trigger and valuation, both ways choose the same row and end in the same state."""
        short, stock = loaded(name, which), loaded(name, which)
        taken: list[tuple[str, str, int]] = []
        stock.before_state_change = lambda data: taken.append(place_of_transition(stock, data))
        table, compared = short.table, 0
        for state, trigger in table.choices:
            for values in views(table, state, trigger):
                one, other = view(table, state, values), view(table, state, values)
                verdict = short.triggers[trigger].fire(one)
                assert stock.triggers[trigger].fire(other).rule is verdict.rule
                if verdict.waits:  # which no callback hears of, unless transitions itself is asked
                    stock.triggers[trigger].trigger(other)
                assert taken.pop() == place(table, verdict.rule)
                assert one == other
                compared += 1

        assert compared >= len(table.rules)

    @pytest.mark.parametrize(("name", "which"), MACHINES)
    def test_every_row_is_chosen(self, name: str, which: str) -> None:
        """Each row is what is chosen for some values of the facts, and then all its guards say what it requires."""
        machine = loaded(name, which)
        table = machine.table
        verdicts = [
            machine.triggers[trigger].fire(view(table, state, values))
            for state, trigger in table.choices
            for values in views(table, state, trigger)
        ]

        assert {verdict.rule for verdict in verdicts} == {*table.rules}
        assert all(verdict.rule.requires().items() <= verdict.guards.items() for verdict in verdicts)

    @pytest.mark.parametrize("callbacks", [False, True])
    def test_only_the_state_changes(self, callbacks: bool) -> None:
        """Firing moves the state, either way; what the row sets is left to whoever fires."""
        machine = loaded("pi-0.85.1", "loop")
        if callbacks:
            machine.after_state_change = ignore
        control = Control(state=State.Streaming, shown=True)
        machine.triggers[Trigger.finished].fire(control)

        assert control == Control(state=State.CheckStop, shown=True)


class TestLoading:
    """What transitions has been given."""

    @pytest.mark.parametrize(("name", "which"), MACHINES)
    def test_transitions_are_the_rows(self, name: str, which: str) -> None:
        """The library knows the rows of the table, each with as many conditions, in their order, and no other."""
        machine = loaded(name, which)
        found = [
            (transition.source, event.name, transition.dest, len(transition.conditions))
            for event in machine.events.values()
            for same in event.transitions.values()
            for transition in same
        ]

        assert sorted(found) == sorted((r.source, r.trigger, r.dest, len(r.when)) for r in machine.table.rules)

    @pytest.mark.parametrize(("name", "which"), MACHINES)
    def test_states_are_those_of_the_table(self, name: str, which: str) -> None:
        """All states are there, and the first one is the table's."""
        machine = loaded(name, which)

        assert [*machine.states] == [state.name for state in machine.table.states]
        assert machine.initial == machine.table.initial.name

    def test_no_model_is_registered(self) -> None:
        """A run leaves nothing behind in the machine that all runs share."""
        mine = own()
        Hand(Machine(Begun(prompts=()), mine)).drain()

        assert wheel(mine).loop.models == []

    def test_one_wheel_for_a_dialect(self) -> None:
        """All runs of a dialect share one wheel; another dialect has another."""
        mine = own()

        assert wheel(mine) is wheel(mine)
        assert wheel(mine) is not wheel(own())


class TestNoRow:
    """Triggers that fire nothing."""

    @pytest.mark.parametrize(("name", "which"), MACHINES)
    def test_state_and_trigger_are_named(self, name: str, which: str) -> None:
        """A trigger that has no row in a state is an error that names both, and the state stays."""
        machine = loaded(name, which)
        table = machine.table
        missing = [(s, t) for s in table.states for t in machine.triggers if (s, t) not in table.choices]

        for state, trigger in missing:
            control = view(table, state, {})
            with pytest.raises(TableError, match=f"{table.name} has no row for {trigger} in {state}"):
                machine.triggers[trigger].fire(control)
            assert control == view(table, state, {})

    def test_facts_that_contradict_each_other(self) -> None:
        """Facts outside of their domain, for which no row was foreseen, are an error and not a guess."""
        none = Guard("none", "nothing is pending", lambda c: c.pending == 0)
        rows = [
            Rule(BatchState.Announcing, Trigger.ready, [pending, ~none], BatchState.Running, why="Some."),
            Rule(BatchState.Announcing, Trigger.ready, [~pending, none], BatchState.Running, why="None."),
            Rule(BatchState.Running, Trigger.ready, [], BatchState.Over, why="It ends."),
        ]
        machine = TableMachine(build("batch", Control, BatchState.Announcing, BatchState.Over, rows), "batch")

        with pytest.raises(TableError, match="no row holds in Announcing on ready: the facts contradict each other"):
            machine.triggers[Trigger.ready].fire(Control(batch=BatchState.Announcing, pending=-1))


class TestCallbacks:
    """What a user attaches."""

    def test_entering_a_state(self) -> None:
        """A callback on a state is called with the model, each time that the state is entered."""
        mine, seen = own(), list[Any]()
        wheel(mine).loop.states["AwaitFollowUp"].add_callback("enter", lambda data: seen.append(data.model))
        hand = self.text_turn(mine)

        assert [type(model) for model in seen] == [Control]
        assert seen[0].state is State.Done
        assert hand.machine.state is State.Done

    def test_by_the_name_of_the_state(self) -> None:
        """The short form that transitions documents, on_exit_STATE, works as well."""
        mine, seen = own(), list[State]()
        wheel(mine).loop.on_exit_Streaming(lambda data: seen.append(data.model.state))
        self.text_turn(mine)

        assert seen == [State.Streaming]

    def test_before_a_trigger(self) -> None:
        """A callback before a trigger is called while the old state still holds."""
        mine, seen = own(), list[State]()
        wheel(mine).loop.before_finished(lambda data: seen.append(data.model.state))
        self.text_turn(mine)

        assert seen == [State.Streaming]

    def test_after_one_transition(self) -> None:
        """A callback on a single transition is called for that row only."""
        mine, seen = own(), list[State]()
        stop, on = wheel(mine).loop.get_transitions("stop")
        stop.add_callback("after", lambda data: seen.append(data.model.state))
        on.add_callback("after", lambda data: seen.append(data.model.state))
        self.text_turn(mine)

        assert seen == [State.AwaitSteering]

    @pytest.mark.parametrize("place", ["prepare_event", "before_state_change", "after_state_change", "finalize_event"])
    def test_of_the_whole_machine(self, place: str) -> None:
        """A callback of the machine is called for every decision of the loop, with the model."""
        mine, seen = own(), list[Any]()
        setattr(wheel(mine).loop, place, lambda data: seen.append(data.model))
        hand = self.text_turn(mine)
        fired = [decision for decision in hand.decisions if decision.machine == "loop"]

        assert len(seen) == len(fired)
        assert {type(model) for model in seen} == {Control}

    def test_of_the_batch_and_of_a_call(self) -> None:
        """Batch and call are machines of their own; their models are the run's facts and the call's."""
        mine, seen = own(), list[Any]()
        wheel(mine).batch.states["Over"].add_callback("enter", lambda data: seen.append(data.model.batch))
        wheel(mine).call.states["Executing"].add_callback("enter", lambda data: seen.append(data.model.state))
        hand = self.start(mine)
        hand.answered(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")
        hand.returned("c1")
        hand.after("c1")

        assert seen == [CallState.Executing, BatchState.Over]

    def test_a_pause_calls_nothing(self) -> None:
        """Asking a machine again while it waits for a tool calls no callback: nothing has happened."""
        mine, seen = own(), list[Any]()
        wheel(mine).batch.after_state_change = seen.append
        hand = self.start(mine)
        hand.answered(*calls("c1"))
        hand.valid("c1")
        hand.before("c1")
        before = len(seen)
        hand.drain()

        assert len(seen) == before

    def test_a_run_is_the_same_with_them(self) -> None:
        """Callbacks change no step and no decision."""
        mine = own()
        for machine in (wheel(mine).loop, wheel(mine).batch, wheel(mine).call):
            machine.after_state_change = ignore
        touched, untouched = self.text_turn(mine), self.text_turn(own())

        assert touched.steps == untouched.steps
        assert touched.decisions == untouched.decisions

    def test_only_the_dialect_that_they_were_attached_to(self) -> None:
        """Runs of another dialect do not call them."""
        mine, seen = own(), list[Any]()
        wheel(mine).loop.after_state_change = seen.append
        self.text_turn(own())

        assert seen == []

    def test_a_condition_that_refuses(self) -> None:
        """A condition that a user put on a row may not overrule the table: that is an error with the row's name."""
        mine = own()
        loop = wheel(mine).loop
        loop.after_state_change = ignore
        loop.get_transitions("begin")[0].conditions.append(loop.transition_cls.condition_cls(not_))

        with pytest.raises(TableError, match="AwaitSteering begin prompt: a condition attached to the machine refused"):
            self.start(mine).drain()

    def test_on_final(self) -> None:
        """A callback of the machine's end is called when the run reaches Done."""
        mine, seen = own(), list[Any]()
        wheel(mine).loop.on_final = seen.append
        self.text_turn(mine)

        assert len(seen) == 1

    @staticmethod
    def start(mine: Dialect) -> Hand:
        """Return a run of this dialect that waits for its first answer."""
        hand = Hand(Machine(Begun(begin().context, (), RunConfig()), mine))
        hand.drain()
        hand.polled()
        return hand

    def text_turn(self, mine: Dialect) -> Hand:
        """Return a run of this dialect: one answer in text, and nothing in the queues."""
        hand = self.start(mine)
        hand.answered("hi")
        hand.decided()
        hand.polled()
        hand.polled()
        return hand
