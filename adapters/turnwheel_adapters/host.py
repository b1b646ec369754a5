"""The host that the commands use: a model, tools that run in this process, two queues and the wall clock."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, final, get_args

from attrs import evolve

from turnwheel import effects as fx
from turnwheel.abort import AbortSignal
from turnwheel.convert import Converter, ConvertOne, standard_roles
from turnwheel.host import Model
from turnwheel.messages import AssistantMessage, Content, Json, Message, TextContent, ToolResult
from turnwheel.outcomes import BeforeResult, NextTurn, ResultChanges
from turnwheel.rules import Dialect
from turnwheel.stream import Finished, Started, StreamStep
from turnwheel_tools.arguments import prepare_arguments
from turnwheel_tools.contract import ToolError

StopHook = Callable[[fx.FinishedTurn], bool]
"""Says whether a run ends after the turn that has just finished."""


def after_turns(count: int) -> StopHook:
    """Return a stop hook that ends a run after so many turns, whatever waits."""

    def stop(turn: fx.FinishedTurn) -> bool:
        return sum(isinstance(message, AssistantMessage) for message in turn.new_messages) >= count

    return stop


@final
class LocalHost:
    """A host for the sync driver. Tools are what the context has; each is run by its own `run`.

    `steering` and `follow_up` are the queues; each poll takes one message, as Pi's agent does by default. `signal` is
    what tools are told of aborts by; give it to the driver, too.
    """

    def __init__(
        self,
        model: Model,
        dialect: Dialect,
        *,
        signal: AbortSignal | None = None,
        stop: StopHook | None = None,
        convert_one: ConvertOne = standard_roles,
    ) -> None:
        self.signal = signal if signal is not None else AbortSignal()
        self.steering: deque[Message] = deque()
        self.follow_up: deque[Message] = deque()
        self._model = model
        self._rules = dialect.switches.arguments
        self._stop = stop
        self._convert = Converter(convert_one)

    @property
    def hooks(self) -> frozenset[str]:
        """The callbacks that there are, for RunConfig."""
        return frozenset({"steering", "follow_up"} | ({"should_stop"} if self._stop is not None else set()))

    # --- queues and hooks -----------------------------------------------------------------------------------------

    def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> list[Message]:
        """Take one message."""
        return [self.steering.popleft()] if self.steering else []

    def poll_follow_up(self, effect: fx.PollFollowUp) -> list[Message]:
        """Take one message."""
        return [self.follow_up.popleft()] if self.follow_up else []

    def ask_to_stop(self, effect: fx.AskToStop) -> bool:
        """Ask the stop hook."""
        return self._stop is not None and self._stop(effect.turn)

    def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> NextTurn | None:
        """Change nothing."""
        return None

    def before_tool_call(self, effect: fx.BeforeToolCall) -> BeforeResult | None:
        """Let every call pass."""
        return None

    def after_tool_call(self, effect: fx.AfterToolCall) -> ResultChanges | None:
        """Change nothing."""
        return None

    # --- the model ------------------------------------------------------------------------------------------------

    def call_model(self, effect: fx.CallModel) -> Iterator[StreamStep]:
        """Ask the model, with the messages that it understands; its answer is stamped with the time it began."""
        context = effect.request.context
        shown = evolve(context, messages=self._convert(context.messages))
        stream = self._model.call_model(evolve(effect, request=evolve(effect.request, context=shown)))
        return self._stamped(stream)

    def _stamped(self, stream: Iterator[StreamStep]) -> Iterator[StreamStep]:
        began = self.now()
        try:
            for step in stream:
                if not isinstance(step, Started | Finished):
                    yield step
                elif step.message.timestamp is None:
                    yield evolve(step, message=evolve(step.message, timestamp=began), at=self.now())
                else:
                    yield evolve(step, at=self.now())
        finally:
            if (close := getattr(stream, "close", None)) is not None:
                close()

    # --- tools ----------------------------------------------------------------------------------------------------

    def prepare_arguments(self, effect: fx.PrepareArguments) -> Json:
        """Coerce and validate by the dialect's rules. Raises ArgumentError or SchemaError."""
        return prepare_arguments(effect.tool, effect.call.arguments, rules=self._rules)

    def execute_tool(self, effect: fx.ExecuteTool, report: Callable[[ToolResult], None]) -> ToolResult:
        """Run the tool to its end. Raises what it raises, and ToolError where it has nothing to run."""
        if effect.tool.run is None:
            raise ToolError(f"The tool {effect.tool.name} is only described here, there is nothing to run.")
        returned = effect.tool.run(
            effect.arguments,
            call_id=effect.call.id,
            report=lambda partial: report(as_result(partial)),
            aborted=lambda: self.signal.aborted,
        )
        return as_result(returned)

    # --- time -----------------------------------------------------------------------------------------------------

    def now(self) -> int:
        """Read the wall clock."""
        return time.time_ns() // 1_000_000

    def wait(self) -> None:
        """Wait for nothing: every tool has come back when `execute_tool` returns."""


def as_result(returned: Any) -> ToolResult:
    """Return what a tool gave back as a result, whatever it is.

    A text becomes a block of text, blocks become the content, None an empty result, any other value its JSON text.
    """
    if isinstance(returned, ToolResult):
        content: Any = returned.content
        return evolve(returned, content=(TextContent(content),)) if isinstance(content, str) else returned
    if returned is None:
        return ToolResult()
    blocks = returned if isinstance(returned, list | tuple) else (returned,)
    if blocks and all(isinstance(block, get_args(Content)) for block in blocks):
        return ToolResult(tuple(blocks))
    return ToolResult.of(
        returned if isinstance(returned, str) else json.dumps(returned, ensure_ascii=False, default=str)
    )
