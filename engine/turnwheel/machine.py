"""The machine: what a trace does next, decided by the table of its dialect alone. No I/O, no clock, no await.

    machine = Machine(Begun(context, prompts, config))
    step = machine.next()      # an event, an effect, WAITING or DONE
    machine.send(outcome)      # the answer to an effect that was handed out
    machine.abort()            # at any moment, between any two steps

`send` and `abort` only note; `next` acts. It hands out what is queued, a row's events before its effect; else it folds
the oldest noted outcome into the control view and fires the one row that holds; else it fires `ready`; else it waits.
So a decision is taken only after every earlier event has been handed out: a listener may steer, follow up or abort
while it handles an event, and that counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from enum import Enum
from typing import Any, Final, Literal, final

import attrs
from attrs import evolve

from turnwheel.control import Control
from turnwheel.effects import CallModel, Effect, ExecuteTool
from turnwheel.errors import Misuse, UnexpectedOutcome
from turnwheel.events import Event
from turnwheel.folds import ANSWERS, CALL_NOTES, DEFAULTS, NOTES, SECOND_LOOK, STEPS, Looked, brief
from turnwheel.outcomes import HOOKS, Begun, Outcome, Progress
from turnwheel.rules import Ask, BatchState, Decision, Dialect, State, Trigger, Verdict
from turnwheel.run import ASKS, CALL_ASKS, CALL_EMITS, EMITS, Call, Run
from turnwheel.stream import Finished, Retry
from turnwheel.table import DEFAULT_DIALECT, dialect
from turnwheel.tool import Context
from turnwheel.transcript import Transcript
from turnwheel.wheel import Triggers, wheel


class Pause(Enum):
    """What `next` says when it has no step to hand out."""

    WAITING = "waiting"
    DONE = "done"

    def __repr__(self) -> str:
        return self.name


WAITING: Final[Literal[Pause.WAITING]] = Pause.WAITING
"""Effects are outstanding; nothing happens before an outcome is sent."""
DONE: Final[Literal[Pause.DONE]] = Pause.DONE
"""The trace is over."""

_named = dialect
_Noted = tuple[Call | None, Any, Trigger]

# Looking a member up on an enumeration is slow (Python 3.11: 0.2 µs), so the machine holds those it compares with.
_BATCH_OVER: Final = BatchState.Over
_CHECK_STOP: Final = State.CheckStop
_THE_END: Final = State.Done
_TURN_END: Final = State.TurnEnd
_EXECUTING_TOOLS: Final = State.ExecutingTools
_ANNOUNCE: Final = Trigger.announce
_BEGIN: Final = Trigger.begin
_CANCEL: Final = Trigger.cancel
_DELTA: Final = Trigger.delta
_EXECUTE: Final = Trigger.execute
_FAILED: Final = Trigger.failed
_READY: Final = Trigger.ready
_UPDATE: Final = Trigger.update


@final
class Machine:
    """One trace. The machine is deterministic: the same outcomes at the same positions give the same steps."""

    def __init__(self, begun: Begun, dialect: Dialect | str = DEFAULT_DIALECT) -> None:
        """Set up a run; nothing happens before `next`. Raises ValueError for an unknown dialect or hook name."""
        self.dialect = dialect if isinstance(dialect, Dialect) else _named(dialect)
        if unknown := begun.config.hooks - set(HOOKS):
            raise ValueError(f"there is no hook {', '.join(sorted(unknown))}; there are {', '.join(HOOKS)}")
        self.position = 0
        """The number of steps handed out so far."""
        self.abort_reason: str | None = None
        """What `abort` was given the first time."""
        loaded = wheel(self.dialect)
        self._loop, self._batch, self._call = loaded.loop.triggers, loaded.batch.triggers, loaded.call.triggers
        self._run = Run(begun, self.dialect.switches)
        self._queue: deque[Event] = deque()
        self._asked: tuple[Effect, Call | None] | None = None
        self._inbox: deque[_Noted] = deque([(None, begun, _BEGIN)])
        self._outstanding: dict[int, tuple[Effect, Call | None]] = {}
        self._absent: dict[Ask, tuple[Outcome | Looked, Trigger]] = {
            asks: (outcome, trigger)
            for asks, (hook, trigger, outcome) in DEFAULTS.items()
            if hook not in begun.config.hooks
        }
        self._absent[Ask.look_again] = SECOND_LOOK
        self._model_call: int | None = None
        self._ids = 0
        self._fired: list[tuple[int, Verdict, int | None]] = []
        self._executions: set[int] = set()
        self._setup = (self.dialect.name, begun.config.tool_execution, begun.config.hooks)
        self._broken = False

    # --- the contract ---------------------------------------------------------------------------------------------

    def next(self) -> Event | Effect | Pause:
        """Return the next event or effect; WAITING where an outcome must be sent first; DONE at the end."""
        if self._fired:
            self._fired = []
        queue, inbox = self._queue, self._inbox
        if self._broken:
            self._break_off()
        while True:
            if queue:
                self.position += 1
                return queue.popleft()
            if self._asked is not None:
                self.position += 1
                return self._hand_out(self._asked)
            if inbox:
                call, outcome, trigger = inbox.popleft()
                if trigger is not _DELTA:
                    self._fold(call, outcome, trigger)
                elif (update := self._run.grow(outcome)) is not None:
                    self.position += 1
                    return update
            elif not self._ready():
                return DONE if self._run.control.state is _THE_END else WAITING

    def send(self, outcome: Outcome) -> None:
        """Note the answer to an effect that was handed out.

        Progress of a call that has ended is dropped, and so is Retry, which no row looks at. Raises UnexpectedOutcome
        for any other outcome that nothing has asked for, and Misuse for what is no outcome at all; the machine is then
        as it was.
        """
        kind = type(outcome)
        if (step := STEPS.get(kind)) is not None:
            if self._model_call is None:
                raise self._unexpected(outcome)
            if kind is Finished:
                self._answered(self._model_call)
            self._inbox.append((None, outcome, step))
            return
        if kind is Retry and self._model_call is not None:
            return
        number = getattr(outcome, "effect", None)
        if type(number) is not int:
            raise self._unexpected(outcome)
        effect, call = self._outstanding.get(number, (None, None))
        trigger = ANSWERS.get(kind, {}).get(type(effect))
        if trigger is not None:
            if kind is not Progress:
                self._answered(number)
            self._inbox.append((call, outcome, trigger))
        elif isinstance(outcome, Progress) and effect is None and number in self._executions:
            self._note_late(number, outcome)
        else:
            raise self._unexpected(outcome)

    def abort(self, reason: str | None = None) -> None:
        """Note that the run is to end. It moves nothing by itself: rows look at it, and the model and the tools do."""
        control = self._run.control
        if not control.aborted:
            self.abort_reason = reason
        control.aborted = True

    def fail(self, error: BaseException | str) -> None:
        """Break the run off: a listener raised, or the task was cancelled. Steps that are still queued are dropped."""
        if self._run.failure is None:
            self._run.failure = str(error) or type(error).__name__
        self._broken = True

    def copy(self) -> Machine:
        """Return a machine in the same place that goes its own way from here. Messages are shared, not copied."""
        other = copy(self)
        other._run = run = self._run.copy()

        def twin(call: Call | None) -> Call | None:
            return None if call is None else run.calls[call.index]

        other._fired = list(self._fired)
        other._executions = set(self._executions)
        other._queue = self._queue.copy()
        other._inbox = deque((twin(call), outcome, trigger) for call, outcome, trigger in self._inbox)
        other._outstanding = {number: (effect, twin(call)) for number, (effect, call) in self._outstanding.items()}
        other._asked = None if self._asked is None else (self._asked[0], twin(self._asked[1]))
        return other

    def key(self) -> Hashable:
        """Return the control state without the transcript: two machines with the same key have the same futures.

        Facts that no row can look at any more are left out, so that runs which differ only in their past meet again.
        """
        run, state = self._run, self._run.control.state
        facts = [getattr(run.control, name) for name in (_FACTS if self.position else _FIRST_FACTS)]
        answer: list[Hashable] = []
        if state is _CHECK_STOP:
            answer = [run.control.stop_reason, *(call.name for call in run.tool_calls)]
        elif state is _TURN_END:
            answer = [run.control.stop_reason in ("error", "aborted")]
        batch: list[Hashable] = []
        if state is _EXECUTING_TOOLS:
            batch = [getattr(run.control, name) for name in _BATCH_FACTS]
            batch += [(c.control.state, c.control.known, c.result.terminate is True) for c in run.calls]
        asked = [self._asked] if self._asked is not None else []
        return (
            *(tuple(part) for part in (facts, answer, batch)),
            tuple((tool.name, tool.execution_mode) for tool in run.tools),
            tuple((effect.type, call and call.index) for effect, call in [*self._outstanding.values(), *asked]),
            tuple(step.type for step in self._queue),
            tuple((call and call.index, trigger, brief(outcome)) for call, outcome, trigger in self._inbox),
            (self._broken, bool(asked)),
            self._setup,
        )

    # --- looking at it --------------------------------------------------------------------------------------------

    @property
    def decided(self) -> list[Decision]:
        """The decisions that the last call of `next` took, in order."""
        return [Decision(*fired) for fired in self._fired]

    @property
    def state(self) -> State:
        """The state of the loop."""
        return self._run.control.state

    @property
    def control(self) -> Control:
        """A copy of the control view."""
        return evolve(self._run.control)

    @property
    def context(self) -> Context:
        """The context as it is now."""
        return self._run.context

    @property
    def new_messages(self) -> Transcript:
        """All messages that the trace has added so far: prompts, injected messages, answers, results."""
        return self._run.new_messages

    @property
    def failure(self) -> str | None:
        """Why the run failed, or None: an outcome that says so, `fail`, or a context that cannot be gone on from."""
        if self._run.failure is None and self._run.control.failed:
            return self._run.refusal
        return self._run.failure

    @property
    def alone(self) -> bool:
        """Whether one call is executed or finalized, and no other call of its round is left to start or to end."""
        control = self._run.control
        return control.executing + control.finalizing == 1 and control.prepared == 0

    @property
    def awaited(self) -> list[Effect]:
        """The effects that were handed out and not answered yet."""
        return [effect for effect, _ in self._outstanding.values()]

    def __repr__(self) -> str:
        return f"<Machine {self.dialect.name} in {self.state}, {self.position} steps, awaits {self._awaited_text()}>"

    # --- noting -------------------------------------------------------------------------------------------------

    def _hand_out(self, asked: tuple[Effect, Call | None]) -> Effect:
        effect = asked[0]
        self._asked = None
        self._outstanding[effect.id] = asked
        if type(effect) is CallModel:
            self._model_call = effect.id
            self._run.begin_answer()
        elif type(effect) is ExecuteTool:
            self._executions.add(effect.id)
        return effect

    def _answered(self, number: int) -> None:
        del self._outstanding[number]
        if number == self._model_call:
            self._model_call = None

    def _note_late(self, number: int, outcome: Progress) -> None:
        """Note late progress within the batch, so that its row says what becomes of it; drop it after the batch."""
        if self._run.control.state is _EXECUTING_TOOLS:
            for call in self._run.calls:
                if call.execution == number:
                    self._inbox.append((call, outcome, _UPDATE))

    # --- folding and firing ---------------------------------------------------------------------------------------

    def _fold(self, call: Call | None, outcome: Any, trigger: Trigger) -> None:
        run = self._run
        if outcome.at is not None:
            run.now = outcome.at
        if call is None:
            NOTES[type(outcome)](run, outcome)
            self._fire(self._loop, trigger)
        else:
            CALL_NOTES[type(outcome)](run, call, outcome)
            self._fire_call(call, trigger)

    def _ready(self) -> bool:
        """Fire `ready` where a state waits for nothing else, and say whether anything came of it."""
        control = self._run.control
        state = control.state
        if state is _EXECUTING_TOOLS and control.batch is not _BATCH_OVER:
            return self._fire(self._batch, _READY)
        if state is _EXECUTING_TOOLS or state is _CHECK_STOP:
            self._fire(self._loop, _READY)
            return True
        return False

    def _fire(self, triggers: Triggers, trigger: Trigger) -> bool:
        """Fire a rule of the loop or of the batch, and do what it says; say False where it says to wait."""
        run = self._run
        verdict = triggers[trigger].fire(run.control)
        if verdict.waits:
            return False
        self._fired.append((self.position, verdict, None))
        rule = verdict.rule
        if rule.sets:
            for fact, value in rule.sets.items():
                setattr(run.control, fact, value)
        for emit in rule.emits:
            EMITS[emit](run, self._queue)
        asks = rule.asks
        if asks is None:
            return True
        if asks in _ORDERS:
            _ORDERS[asks](self)
        elif asks in self._absent:
            self._inbox.appendleft((None, *self._absent[asks]))
        else:
            self._ids += 1
            self._asked = (ASKS[asks](run, self._ids), None)
        return True

    def _fire_call(self, call: Call, trigger: Trigger) -> None:
        """Fire a rule of one tool call, and do what it says."""
        run = self._run
        verdict = self._call[trigger].fire(call.control)
        self._fired.append((self.position, verdict, call.index))
        rule = verdict.rule
        if rule.source is not rule.dest:
            run.count(rule.source, rule.dest)
        if rule.sets:
            for fact, value in rule.sets.items():
                setattr(call.control, fact, value)
                if fact == "result":
                    call.fail(value)
        for emit in rule.emits:
            CALL_EMITS[emit](run, call, self._queue)
        asks = rule.asks
        if asks is None:
            return
        if asks in self._absent:
            self._inbox.appendleft((call, *self._absent[asks]))
        else:
            self._ids += 1
            self._asked = (CALL_ASKS[asks](run, call, self._ids), call)

    def _announce(self) -> None:
        self._fire_call(self._run.next_listed(), _ANNOUNCE)

    def _execute(self) -> None:
        self._fire_call(self._run.next_prepared(), _EXECUTE)

    def _cancel(self) -> None:
        self._fire_call(self._run.next_prepared(), _CANCEL)

    def _start_batch(self) -> None:
        self._run.start_batch()

    def _break_off(self) -> None:
        self._broken = False
        self._queue.clear()
        self._inbox.clear()
        self._outstanding.clear()
        self._asked = self._model_call = None
        if self._run.control.state is not _THE_END:
            self._fire(self._loop, _FAILED)

    # --- complaints -----------------------------------------------------------------------------------------------

    def _awaited_text(self) -> str:
        return ", ".join(f"{type(effect).__name__} {effect.id}" for effect in self.awaited) or "nothing"

    def _unexpected(self, outcome: Any) -> Misuse:
        kind = type(outcome)
        if kind not in STEPS and kind not in ANSWERS and kind not in (Begun, Retry):
            return Misuse(f"{outcome!r} is no outcome; turnwheel.outcomes and turnwheel.stream list them")
        number: int | None = getattr(outcome, "effect", None)
        return UnexpectedOutcome(
            outcome=kind.__name__ if number is None else f"{kind.__name__} of effect {number}",
            state=str(self.state),
            awaited=self._awaited_text(),
            cause=self._cause(kind, number),
        )

    def _cause(self, kind: type, number: int | None) -> str:
        if kind is Begun:
            return "the run has begun already; a new trace is a new machine"
        if self.state is _THE_END and not self._queue:
            return "the run is over; only late progress may still come"
        if number is None:
            return "no model call is outstanding: its answer has ended, or its effect was not handed out yet"
        if type(number) is not int:
            return f"an effect's id is a whole number, not {number!r}"
        if number in self._outstanding:
            effect = type(self._outstanding[number][0]).__name__
            return f"effect {number} is {effect}, which takes another kind of outcome"
        if self._asked is not None and self._asked[0].id == number:
            return f"effect {number} was not handed out yet; call next() first"
        if 0 < number <= self._ids:
            return f"effect {number} has been answered already"
        return f"no effect {number} was handed out; an outcome carries the id of the effect that it answers"


_ORDERS: Final[Mapping[Ask, Callable[[Machine], None]]] = {
    Ask.start_batch: Machine._start_batch,
    Ask.announce_next: Machine._announce,
    Ask.execute_next: Machine._execute,
    Ask.cancel_next: Machine._cancel,
}
"""What rules ask of the batch, rather than of the world."""

_NAMES: Final = [f.name for f in attrs.fields(Control)]
_BATCH_FACTS: Final = tuple(_NAMES[_NAMES.index("batch") :])
_FIRST_FACTS: Final = tuple(name for name in _NAMES[: _NAMES.index("batch")] if name not in ("stop_reason", "calls"))
_FACTS: Final = tuple(name for name in _FIRST_FACTS if name not in ("prompt", "continuable"))
