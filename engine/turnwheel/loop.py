"""Pi's low-level functions: one trace as an async iterator of events, set up by a config of callbacks.

Any callback may be a plain function or a coroutine function; one that is None is never asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, cast, final

import anyio
import anyio.from_thread
import anyio.to_thread

from turnwheel import effects as fx
from turnwheel.abort import AbortSignal
from turnwheel.async_driver import AsyncDriver
from turnwheel.convert import Converter, standard_roles
from turnwheel.driver import Observer
from turnwheel.effects import AfterToolCall, BeforeToolCall, FinishedTurn
from turnwheel.host import Maybe, T
from turnwheel.iterating import Emit, EventStream
from turnwheel.machine import Machine
from turnwheel.messages import Json, Message, ToolResult
from turnwheel.outcomes import HOOKS, BeforeResult, Begun, NextTurn, ResultChanges, RunConfig
from turnwheel.requests import ModelRequest, Steps, Stream
from turnwheel.rules import Dialect
from turnwheel.running import as_result, taken
from turnwheel.table import DEFAULT_DIALECT, dialect
from turnwheel.tool import Context, ExecutionMode
from turnwheel.transcript import Transcript
from turnwheel.values import value


@final
@value
class LoopConfig:
    """What a trace runs with.

    `stream` answers requests to `model`, an id that it knows. `clock` tells the time in milliseconds since 1970 (UTC);
    without it, messages that the loop makes have no timestamp. `signal` aborts the run. `on_decision` sees each fired
    rule.
    """

    stream: Stream
    model: str = "m0"
    thinking_level: str = "off"
    tool_execution: ExecutionMode = "parallel"
    dialect: Dialect | str = DEFAULT_DIALECT
    steering: Callable[[], Maybe[Iterable[Message] | None]] | None = None
    follow_up: Callable[[], Maybe[Iterable[Message] | None]] | None = None
    prepare_next_turn: Callable[[FinishedTurn], Maybe[NextTurn | None]] | None = None
    should_stop: Callable[[FinishedTurn], Maybe[bool]] | None = None
    before_tool_call: Callable[[BeforeToolCall], Maybe[BeforeResult | None]] | None = None
    after_tool_call: Callable[[AfterToolCall], Maybe[ResultChanges | None]] | None = None
    transform_context: Callable[[Sequence[Message]], Maybe[Iterable[Message]]] | None = None
    convert_to_llm: Callable[[Sequence[Message]], Maybe[Iterable[Message]]] | None = None
    get_api_key: Callable[[str], Maybe[str | None]] | None = None
    clock: Callable[[], int] | None = None
    signal: AbortSignal | None = None
    on_decision: Observer | None = None

    @property
    def hooks(self) -> frozenset[str]:
        """The names of the callbacks that are there, out of turnwheel.outcomes.HOOKS."""
        return frozenset(hook for hook in HOOKS if getattr(self, hook) is not None)


def agent_loop(prompts: Sequence[Message], context: Context, config: LoopConfig) -> EventStream:
    """Run a trace that begins with `prompts`, and iterate over its events; agent_end, the last, carries what it added.

    Iterating raises what a callback outside a tool call raises; then there is no agent_end (Pi 0.80.2).
    """
    return _trace(context, tuple(prompts), config)


def agent_loop_continue(context: Context, config: LoopConfig) -> EventStream:
    """Go on from `context`, and iterate over the events of the trace.

    Iterating raises ValueError if the context has no message, or its last one is an assistant's; else as `agent_loop`.
    """
    return _trace(context, None, config)


def _trace(context: Context, prompts: Sequence[Message] | None, config: LoopConfig) -> EventStream:
    # A signal of its own, since the config's may be shared: it aborts this run, and leaving this run does not set it.
    signal = AbortSignal()
    driver = driver_of(context, prompts, config, signal)

    async def run(emit: Emit) -> None:
        release = config.signal.subscribe(signal.abort) if config.signal is not None else None
        try:
            await driver.run(emit)
        finally:
            if release is not None:
                release()

    return EventStream(run, signal.abort)


def driver_of(
    context: Context, prompts: Sequence[Message] | None, config: LoopConfig, signal: AbortSignal
) -> AsyncDriver:
    """Return the driver of one trace; `prompts` None goes on from the context."""
    language = config.dialect if isinstance(config.dialect, Dialect) else dialect(config.dialect)
    setup = RunConfig(config.model, config.thinking_level, config.tool_execution, config.hooks)
    machine = Machine(Begun(context, prompts, setup, config.clock() if config.clock else None), language)
    host = LoopHost(config, language.switches.arguments, signal)
    return AsyncDriver(machine, host, signal=signal, on_decision=config.on_decision)


@final
class LoopHost:
    """The host of a LoopConfig: its callbacks, its model, and tools that run in this process."""

    def __init__(self, config: LoopConfig, rules: str, signal: AbortSignal) -> None:
        self._config = config
        self._rules = rules
        self._signal = signal
        self._convert = Converter(standard_roles)

    async def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> Iterable[Message] | None:
        """Ask the callback."""
        return await _asked(self._config.steering)

    async def poll_follow_up(self, effect: fx.PollFollowUp) -> Iterable[Message] | None:
        """Ask the callback."""
        return await _asked(self._config.follow_up)

    async def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> NextTurn | None:
        """Ask the hook."""
        return await _asked(self._config.prepare_next_turn, effect.turn)

    async def ask_to_stop(self, effect: fx.AskToStop) -> bool:
        """Ask the hook."""
        return bool(await _asked(self._config.should_stop, effect.turn))

    async def before_tool_call(self, effect: BeforeToolCall) -> BeforeResult | None:
        """Ask the hook."""
        return await _asked(self._config.before_tool_call, effect)

    async def after_tool_call(self, effect: AfterToolCall) -> ResultChanges | None:
        """Ask the hook."""
        return await _asked(self._config.after_tool_call, effect)

    async def call_model(self, effect: fx.CallModel) -> Steps:
        """Transform the context, convert it, get the key, send the request: in this order (Pi 0.80.2)."""
        config, asked = self._config, effect.request
        messages: Any = asked.context.messages
        if config.transform_context is not None:
            messages = _sequence(await _asked(config.transform_context, messages))
        if config.convert_to_llm is not None:
            messages = _sequence(await _asked(config.convert_to_llm, messages))
        else:
            messages = self._convert(messages if isinstance(messages, Transcript) else Transcript(messages))
        request = ModelRequest(
            asked.model,
            asked.thinking_level,
            asked.context.system_prompt,
            messages,
            asked.context.tools,
            await _asked(config.get_api_key, asked.model),
        )
        stream: Any = config.stream(request, self._signal)
        steps: Steps = await stream if inspect.isawaitable(stream) else stream
        return steps

    def prepare_arguments(self, effect: fx.PrepareArguments) -> Json:
        """Let the tool prepare its arguments; one that has no way to gets a copy of the model's."""
        prepare, arguments = effect.tool.prepare, effect.call.arguments
        return deepcopy(arguments) if prepare is None else prepare(arguments, self._rules)

    async def execute_tool(self, effect: fx.ExecuteTool, report: Callable[[ToolResult], None]) -> ToolResult:
        """Run the tool: a coroutine function as it is, a plain function in a worker thread.

        Raises what the tool raises, and LookupError where there is nothing to run.
        """
        run = effect.tool.run

        def report_result(progress: Any) -> None:
            try:
                anyio.get_current_task()
            except RuntimeError:
                # Not in the event loop, so in the tool's worker thread.
                anyio.from_thread.run_sync(report, as_result(progress))
            else:
                report(as_result(progress))

        if run is None:
            raise LookupError(f"The tool {effect.tool.name} is only described here, there is nothing to run.")
        offered = {"call_id": effect.call.id, "report": report_result, "aborted": lambda: self._signal.aborted}
        if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(type(run).__call__):
            return as_result(await run(effect.arguments, **taken(run, offered)))

        def work() -> tuple[Any]:
            # In a box, since trio takes a coroutine that comes out of a thread for a mistake.
            return (run(effect.arguments, **taken(run, offered)),)

        (returned,) = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        return as_result(await returned if inspect.isawaitable(returned) else returned)

    def now(self) -> int | None:
        """Tell the time, if there is a clock."""
        return self._config.clock() if self._config.clock is not None else None

    def wait(self) -> None:
        """Wait for nothing: all tools are awaited."""


def _sequence(messages: Iterable[Message] | None) -> Sequence[Message]:
    """Return messages that can be walked through more than once."""
    return messages if isinstance(messages, Sequence) else tuple(messages or ())


async def _asked(callback: Callable[..., Maybe[T]] | None, *given: Any) -> T | None:
    """Call a callback and await what it returns, where that can be."""
    if callback is None:
        return None
    said: Any = callback(*given)
    return cast(T, await said if inspect.isawaitable(said) else said)
