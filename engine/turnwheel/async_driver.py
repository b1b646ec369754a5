"""The async driver: performs the effects of a machine through a host, on asyncio or trio; tools run side by side.

All decisions are the machine's, as in the sync driver; this one only awaits. A host's ports may be coroutine functions
or plain ones, so a sync host runs here as it is.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from turnwheel import outcomes as oc
from turnwheel.abort import AbortSignal
from turnwheel.answering import any_steps_of, check_finished, let_go_of_any
from turnwheel.awaiting import Cancellation, Once, Watched
from turnwheel.driver import Observer, OutcomeObserver, StepObserver, seen_step, sender, stalled
from turnwheel.effects import AfterToolCall, CallModel, ExecuteTool
from turnwheel.host import AsyncHost
from turnwheel.machine import DONE, WAITING, Machine
from turnwheel.messages import ToolResult
from turnwheel.outcomes import Outcome
from turnwheel.ports import EFFECTS, PORTS, Answer, failed, returned, stamped
from turnwheel.rules import State
from turnwheel.stream import Finished, Started
from turnwheel.transcript import Transcript

AsyncListener = Callable[[Any], Any]
"""Takes each event as it is emitted; what it returns is awaited if that can be. One event at a time."""


STEPS_AT_A_STRETCH = 128
"""After so many steps the event loop gets its turn, even where nothing waits; and before each call of the model."""


@final
class AsyncDriver:
    """Runs one machine to its end on one host."""

    def __init__(
        self,
        machine: Machine,
        host: AsyncHost,
        *,
        signal: AbortSignal | None = None,
        on_decision: Observer | None = None,
        on_step: StepObserver | None = None,
        on_outcome: OutcomeObserver | None = None,
    ) -> None:
        """Set up a run; the arguments are those of the sync driver."""
        self.machine = machine
        self.host = host
        self.signal = signal if signal is not None else AbortSignal()
        self._release = self.signal.subscribe(machine.abort)
        self._on_decision = on_decision
        self._on_step = on_step
        self._send = sender(machine, on_outcome)
        self._model_call: CallModel | None = None
        self._began: int | None = None
        self._stream: Any = None
        self._anext: Callable[[], Awaitable[Any]] | None = None
        self._settled: deque[Outcome] = deque()
        self._running = 0
        self._wake = anyio.Event()
        self._lone: anyio.CancelScope | None = None
        self._pumped: anyio.Event | None = None
        self._error: BaseException | None = None

    async def run(self, listener: AsyncListener) -> Transcript:
        """Drive the machine until it is done and return the messages that the trace has added.

        Raises what a listener raised, what a port outside a tool call raised, ValueError where the context cannot be
        gone on from, and Stalled where the host cannot answer what is awaited. Cancelling the task that runs this
        cancels all tools that are running.
        """
        self._listener = listener
        try:
            self.cancellation = await Cancellation.of_this_task()
            async with anyio.create_task_group() as tools:
                self._tools: TaskGroup = tools
                try:
                    await self._drive()
                except anyio.get_cancelled_exc_class():
                    raise
                except BaseException as error:
                    # Out of the group it would come wrapped in an exception group.
                    self._error = error
                if self._running:
                    tools.cancel_scope.cancel()
        finally:
            if self.machine.state is not State.Done:
                self.machine.fail(self._error if self._error is not None else "cancelled")
                self.machine.next()
            self._release()
            await self._close()
        if self._error is not None:
            raise self._error
        if self.machine.failure is not None:
            raise ValueError(self.machine.failure)
        return self.machine.new_messages

    async def _drive(self) -> None:
        steps = 0
        while (step := self._next()) is not DONE:
            if step is WAITING:
                await self._wait()
            elif type(step) in EFFECTS:
                await self._perform(step)
            else:
                await self._tell(step)
            steps += 1
            # While tools run side by side, they are awaited anyway, and how they interleave is not to change.
            if not steps % STEPS_AT_A_STRETCH and not self._running:
                await self.cancellation.checkpoint()

    def _next(self) -> Any:
        return seen_step(self.machine, self._on_decision, self._on_step)

    async def _tell(self, event: Any) -> None:
        try:
            said = self._listener(event)
            if said is not None and inspect.isawaitable(said):
                await said
        except anyio.get_cancelled_exc_class() as error:
            self._break_off(self.cancellation.failure(error))
        except BaseException as error:
            self._break_off(error)

    def _break_off(self, error: BaseException) -> None:
        """Let the run end with this error, whatever is running."""
        self._error = error
        self.machine.fail(error)
        self._wake.set()
        if self._lone is not None:
            self._lone.cancel()

    # --- waiting --------------------------------------------------------------------------------------------------

    async def _wait(self) -> None:
        """Let one more thing happen: a step of the answer, else a tool that came back, else what the host awaits."""
        if self._stream is not None:
            await self._read()
        elif self._settled:
            self._send(self._settled.popleft())
        elif (outcomes := self.host.wait()) is not None:
            for outcome in outcomes:
                self._send(outcome)
        elif self._running:
            await self._wake.wait()
            self._wake = anyio.Event()
        else:
            raise stalled(self.machine)

    async def _read(self) -> None:
        try:
            step = next(self._stream) if self._anext is None else await self._anext()
            if type(step) is Finished:
                await self._close()
                check_finished(step)
        except (StopIteration, StopAsyncIteration):
            await self._fail(self._model_call, RuntimeError("the model's stream ended without Finished"))
        except anyio.get_cancelled_exc_class() as error:
            await self._fail(self._model_call, self.cancellation.failure(error))
        except Exception as error:
            await self._fail(self._model_call, error)
        else:
            if self._began is not None and isinstance(step, Started | Finished):
                step = stamped(step, self._began, self.host.now())
            self._send(step)

    async def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await let_go_of_any(stream, self.cancellation)

    # --- performing -----------------------------------------------------------------------------------------------

    async def _perform(self, effect: Any) -> None:
        host = self.host
        try:
            if (port := PORTS.get(type(effect))) is not None:
                said: Any = getattr(host, port[0])(effect)
                if said is not None and inspect.isawaitable(said):
                    if type(effect) is AfterToolCall and not self.machine.alone:
                        await self._tools.start(self._beside, effect, said, port[1])
                        return
                    said = await said
                self._send(port[1](effect, said, host.now()))
            elif type(effect) is CallModel:
                await self._call_model(effect)
            else:
                await self._execute(effect)
        except anyio.get_cancelled_exc_class() as error:
            await self._fail(effect, self.cancellation.failure(error))
        except Exception as error:
            await self._fail(effect, error)

    async def _call_model(self, effect: CallModel) -> None:
        await self.cancellation.checkpoint()
        self._model_call = effect
        self._began = self.host.now()
        said: Any = self.host.call_model(effect)
        self._stream = any_steps_of(await said if inspect.isawaitable(said) else said)
        self._anext = getattr(self._stream, "__anext__", None)

    async def _fail(self, effect: Any, error: Exception) -> None:
        """Tell the machine that a port raised; where that is no tool call's, it is also what the run raises."""
        outcome = failed(effect, error, self.host.now())
        if type(outcome) is oc.Failed:
            await self._close()
            self._error = error
        self._send(outcome)

    # --- tools ----------------------------------------------------------------------------------------------------

    async def _execute(self, effect: ExecuteTool) -> None:
        """Run a tool: as a task of its own, or here, where nothing runs beside it."""
        try:
            said: Any = self.host.execute_tool(effect, partial(self._report, effect.id))
        except Exception as error:
            self._settled.append(failed(effect, error, self.host.now()))
            return
        if said is None:
            return
        if not inspect.isawaitable(said):
            self._settled.append(returned(effect, said, self.host.now()))
        elif not self.machine.alone:
            await self._tools.start(self._beside, effect, said, returned)
        else:
            await self._execute_alone(effect, said)

    async def _execute_alone(self, effect: ExecuteTool, said: Awaitable[Any]) -> None:
        """Await a tool that nothing runs beside; only if it reports progress is another task needed to tell of it."""
        try:
            with anyio.CancelScope() as self._lone:
                self._settled.append(await self._outcome(effect, said, returned))
        finally:
            self._lone = None
        if (pumped := self._pumped) is not None:
            await pumped.wait()
        if self._error is None:
            await self.cancellation.check()

    async def _beside(
        self, effect: Any, said: Awaitable[Any], answer: Answer, *, task_status: TaskStatus[None]
    ) -> None:
        """Await what a port said, as a task; the driver goes on once that has come to its first suspension."""
        started = Once(task_status.started)
        self._running += 1
        try:
            self._settled.append(await self._outcome(effect, Watched(said, started), answer))
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            self._break_off(error)
        finally:
            self._running -= 1
            started()
        self._wake.set()

    async def _outcome(self, effect: Any, said: Awaitable[Any], answer: Answer) -> Outcome:
        """Await what a port of a tool call said, and return the outcome."""
        try:
            return answer(effect, await said, self.host.now())
        except anyio.get_cancelled_exc_class() as error:
            return failed(effect, self.cancellation.failure(error), self.host.now())
        except Exception as error:
            return failed(effect, error, self.host.now())

    def _report(self, effect: int, progress: ToolResult) -> None:
        self._send(oc.Progress(effect, progress, self.host.now()))
        if self._lone is None:
            self._wake.set()
        elif self._pumped is None:
            self._pumped = anyio.Event()
            self._tools.start_soon(self._pump, self._pumped)

    async def _pump(self, pumped: anyio.Event) -> None:
        """Tell of the progress of a tool that runs alone, while the driver awaits the tool."""
        try:
            while self._lone is not None and (step := self._next()) is not WAITING and step is not DONE:
                await self._tell(step)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            self._break_off(error)
        finally:
            self._pumped = None
            pumped.set()
