"""The sync driver: performs the effects of a machine through a host, one step at a time, without an event loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, final

from turnwheel import outcomes as oc
from turnwheel.abort import AbortSignal
from turnwheel.answering import check_finished, let_go, steps_of
from turnwheel.effects import CallModel, Effect, ExecuteTool
from turnwheel.errors import Stalled
from turnwheel.events import Event
from turnwheel.host import Host
from turnwheel.machine import DONE, WAITING, Machine, Pause
from turnwheel.messages import ToolResult
from turnwheel.outcomes import Outcome
from turnwheel.ports import EFFECTS, PORTS, failed, returned, stamped
from turnwheel.rules import Decision
from turnwheel.stream import Finished, Started, StreamStep
from turnwheel.transcript import Transcript

Listener = Callable[[Any], object]
"""Takes each event as it is emitted. If it raises, the run breaks off with that exception."""
Observer = Callable[[Decision], object]
"""Takes each decision, before the step that it led to."""
StepObserver = Callable[[int, Event | Effect], object]
"""Takes the position of each step in the trace, from 0 on, and the step: an event or an effect, before it is done."""
OutcomeObserver = Callable[[int, Outcome], object]
"""Takes each outcome before it is sent, with the number of steps that were handed out before it."""


@final
class Driver:
    """Runs one machine to its end on one host."""

    def __init__(
        self,
        machine: Machine,
        host: Host,
        *,
        signal: AbortSignal | None = None,
        on_decision: Observer | None = None,
        on_step: StepObserver | None = None,
        on_outcome: OutcomeObserver | None = None,
    ) -> None:
        """`signal` aborts the run and is what the host's ports should look at.

        `on_decision` sees each fired rule, `on_step` each event and each effect, `on_outcome` what comes back of them.
        """
        self.machine = machine
        self.host = host
        self.signal = signal if signal is not None else AbortSignal()
        self._release = self.signal.subscribe(machine.abort)
        self._on_decision = on_decision
        self._on_step = on_step
        self._send = sender(machine, on_outcome)
        self._model_call: CallModel | None = None
        self._began: int | None = None
        self._stream: Iterator[StreamStep] | None = None
        self._settled: deque[Outcome] = deque()
        self._error: BaseException | None = None

    def run(self, listener: Listener) -> Transcript:
        """Drive the machine until it is done and return the messages that the trace has added.

        Raises what a listener raised, what a port outside a tool call raised, ValueError where the context cannot be
        gone on from, and Stalled where the host cannot answer what is awaited.
        """
        machine = self.machine
        try:
            while (step := seen_step(machine, self._on_decision, self._on_step)) is not DONE:
                if step is WAITING:
                    self._wait()
                elif type(step) in EFFECTS:
                    self._perform(step)
                else:
                    self._tell(listener, step)
        except BaseException as error:
            machine.fail(error)
            machine.next()
            raise
        finally:
            self._release()
            self._close()
        if self._error is not None:
            raise self._error
        if machine.failure is not None:
            raise ValueError(machine.failure)
        return machine.new_messages

    def _tell(self, listener: Listener, event: Any) -> None:
        try:
            listener(event)
        except BaseException as error:
            self._error = error
            self.machine.fail(error)

    # --- waiting --------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Let one more thing happen: a step of the answer, else a tool that came back, else what the host awaits."""
        if self._stream is not None:
            self._read(self._stream)
        elif self._settled:
            self._send(self._settled.popleft())
        else:
            outcomes = self.host.wait()
            if outcomes is None:
                raise stalled(self.machine)
            for outcome in outcomes:
                self._send(outcome)

    def _read(self, stream: Iterator[StreamStep]) -> None:
        try:
            step = next(stream)
            if type(step) is Finished:
                self._close()
                check_finished(step)
        except StopIteration:
            self._fail(self._model_call, RuntimeError("the model's stream ended without Finished"))
        except Exception as error:
            self._fail(self._model_call, error)
        else:
            if self._began is not None and isinstance(step, Started | Finished):
                step = stamped(step, self._began, self.host.now())
            self._send(step)

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        let_go(stream)

    # --- performing -----------------------------------------------------------------------------------------------

    def _perform(self, effect: Any) -> None:
        host = self.host
        try:
            if (port := PORTS.get(type(effect))) is not None:
                self._send(port[1](effect, getattr(host, port[0])(effect), host.now()))
            elif type(effect) is CallModel:
                self._model_call = effect
                self._began = host.now()
                self._stream = steps_of(host.call_model(effect))
            else:
                self._execute(effect)
        except Exception as error:
            self._fail(effect, error)

    def _execute(self, effect: ExecuteTool) -> None:
        """Start a tool. One that came back at once is told of only when all calls of its round have been started."""

        def report(partial: ToolResult) -> None:
            self._send(oc.Progress(effect.id, partial, self.host.now()))

        outcome: Outcome
        try:
            result = self.host.execute_tool(effect, report)
        except Exception as error:
            outcome = failed(effect, error, self.host.now())
        else:
            if result is None:
                return
            outcome = returned(effect, result, self.host.now())
        self._settled.append(outcome)

    def _fail(self, effect: Any, error: Exception) -> None:
        """Tell the machine that a port raised; where that is no tool call's, it is also what the run raises."""
        outcome = failed(effect, error, self.host.now())
        if type(outcome) is oc.Failed:
            self._close()
            self._error = error
        self._send(outcome)


def seen_step(machine: Machine, on_decision: Observer | None, on_step: StepObserver | None) -> Any:
    """Return the machine's next step, once those who look on have seen it and what led to it."""
    step = machine.next()
    if on_decision is not None:
        for decision in machine.decided:
            on_decision(decision)
    if on_step is not None and not isinstance(step, Pause):
        on_step(machine.position - 1, step)
    return step


def sender(machine: Machine, on_outcome: OutcomeObserver | None) -> Callable[[Outcome], None]:
    """Return what sends outcomes to a machine, once whoever looks on has seen them."""
    if on_outcome is None:
        return machine.send

    def send(outcome: Outcome) -> None:
        on_outcome(machine.position, outcome)
        machine.send(outcome)

    return send


def stalled(machine: Machine) -> Stalled:
    """Return the error that says what a machine waits for in vain."""
    awaited = ", ".join(f"{type(effect).__name__} {effect.id}" for effect in machine.awaited)
    return Stalled(f"the host has nothing left to wait for, but the machine awaits {awaited}")
