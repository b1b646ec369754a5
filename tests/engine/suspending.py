"""A scenario's host as the async driver may meet it: all ports are coroutine functions that suspend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, final

import anyio
import anyio.lowlevel

from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.machine import Machine
from turnwheel.messages import Json, Message, ToolResult
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, ResultChanges, TurnAction
from turnwheel.stream import StreamStep
from turnwheel.testing.play import ScenarioHost

TELLING = 5
"""So many times a tool that runs alone lets others go on, for its progress to be heard."""


@final
class SuspendingHost:
    """A scenario's host around which every port suspends before it answers.

    Virtual time goes on only when no port is at work: the driver moves it through `wait`, and a tool that the driver
    awaits itself moves it on its own.
    """

    def __init__(self, inner: ScenarioHost, machine: Machine) -> None:
        self._inner = inner
        self._machine = machine
        self._busy = 0
        self._due: dict[int, anyio.Event] = {}
        self._settled: dict[int, oc.Returned | oc.Raised] = {}

    async def _late(self, port: Callable[[Any], Any], effect: Any) -> Any:
        self._busy += 1
        try:
            await anyio.lowlevel.checkpoint()
            return port(effect)
        finally:
            self._busy -= 1

    async def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> Iterable[Message] | None:
        polled: Iterable[Message] | None = await self._late(self._inner.poll_steering, effect)
        return polled

    async def poll_follow_up(self, effect: fx.PollFollowUp) -> Iterable[Message] | None:
        polled: Iterable[Message] | None = await self._late(self._inner.poll_follow_up, effect)
        return polled

    async def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> NextTurn | None:
        changes: NextTurn | None = await self._late(self._inner.prepare_next_turn, effect)
        return changes

    async def prepare_request(self, effect: fx.PrepareRequest) -> NextRequest | None:
        changes: NextRequest | None = await self._late(self._inner.prepare_request, effect)
        return changes

    async def ask_to_stop(self, effect: fx.AskToStop) -> bool:
        return bool(await self._late(self._inner.ask_to_stop, effect))

    async def finish_turn(self, effect: fx.FinishTurn) -> TurnAction | None:
        action: TurnAction | None = await self._late(self._inner.finish_turn, effect)
        return action

    async def before_tool_call(self, effect: fx.BeforeToolCall) -> BeforeResult | None:
        said: BeforeResult | None = await self._late(self._inner.before_tool_call, effect)
        return said

    async def after_tool_call(self, effect: fx.AfterToolCall) -> ResultChanges | None:
        changes: ResultChanges | None = await self._late(self._inner.after_tool_call, effect)
        return changes

    async def prepare_arguments(self, effect: fx.PrepareArguments) -> Json:
        return await self._late(self._inner.prepare_arguments, effect)

    async def call_model(self, effect: fx.CallModel) -> AsyncIterator[StreamStep]:
        return _slowly(await self._late(self._inner.call_model, effect))

    async def execute_tool(self, effect: fx.ExecuteTool, report: Callable[[ToolResult], None]) -> ToolResult:
        alone = self._machine.alone
        due = self._due[effect.id] = anyio.Event()
        self._inner.execute_tool(effect, report)
        await anyio.lowlevel.checkpoint()
        while alone and not due.is_set():
            for outcome in self.wait() or ():
                # Late progress of a call of an earlier batch is nobody's.
                if outcome.effect == effect.id:
                    report(outcome.partial)
            for _ in range(TELLING):
                await anyio.lowlevel.checkpoint()
        await due.wait()
        self._busy -= 1
        settled = self._settled.pop(effect.id)
        if isinstance(settled, oc.Raised):
            raise RuntimeError(settled.error)
        return settled.result

    def now(self) -> None:
        return None

    def wait(self) -> Sequence[oc.Progress] | None:
        if self._busy:
            return None
        outcomes = self._inner.wait()
        if outcomes is None:
            return None
        for outcome in outcomes:
            if not isinstance(outcome, oc.Progress):
                self._settled[outcome.effect] = outcome
                self._busy += 1
                self._due[outcome.effect].set()
        return [outcome for outcome in outcomes if isinstance(outcome, oc.Progress)]


async def _slowly(steps: Iterator[StreamStep]) -> AsyncIterator[StreamStep]:
    for step in steps:
        await anyio.lowlevel.checkpoint()
        yield step
