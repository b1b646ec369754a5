"""Pi's low-level functions: one trace as an async iterator of events, set up by a config of callbacks.

Any callback may be a plain function or a coroutine function; one that is None is never asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from reprlib import repr as shortly
from threading import get_ident
from typing import Any, TypeVar, final, get_args

import anyio.to_thread
from attrs import evolve

from turnwheel import effects as fx
from turnwheel.abort import AbortSignal
from turnwheel.async_driver import AsyncDriver
from turnwheel.checked import answer_of, messages_of
from turnwheel.convert import Converter, standard_roles, standard_roles_and_system
from turnwheel.driver import Observer, OutcomeObserver, StepObserver
from turnwheel.effects import AfterToolCall, BeforeToolCall, FinishedTurn
from turnwheel.errors import Misuse
from turnwheel.folds import hooks_of
from turnwheel.host import Maybe
from turnwheel.iterating import Emit, EventStream
from turnwheel.loadout import led, led_anew
from turnwheel.machine import Machine
from turnwheel.messages import Json, Message, ToolResult
from turnwheel.outcomes import (
    HOOKS,
    BeforeResult,
    Begun,
    NextRequest,
    NextTurn,
    ResultChanges,
    RunConfig,
    TurnAction,
)
from turnwheel.requests import ModelRequest, Steps, Stream
from turnwheel.rules import Dialect, Switches
from turnwheel.running import Reporter, as_result, taken
from turnwheel.table import DEFAULT_DIALECT, dialect
from turnwheel.tool import Context, ExecutionMode, Request, check_readable
from turnwheel.transcript import Transcript
from turnwheel.values import value

OBSERVERS = ("on_decision", "on_step", "on_outcome")
"""The functions that look on."""
CALLBACKS = (*HOOKS, "stream", "transform_context", "convert_to_llm", "get_api_key", "clock", *OBSERVERS)
"""What a LoopConfig has of functions."""

_Changes = TypeVar("_Changes", NextTurn, NextRequest)


@final
@value
class LoopConfig:
    """What a trace runs with.

    `stream` answers requests to `model`, an id that it knows. `clock` tells the time in milliseconds since 1970 (UTC);
    without it, messages that the loop makes have no timestamp. `signal` aborts the run. `on_decision` sees each fired
    rule, `on_step` each event and each effect with its position, `on_outcome` what comes back of the effects. Raises
    Misuse for a callback that cannot be called and for an execution mode that there is not.
    """

    stream: Stream
    model: str = "m0"
    thinking_level: str = "off"
    tool_execution: ExecutionMode = "parallel"
    dialect: Dialect | str = DEFAULT_DIALECT
    steering: Callable[[], Maybe[Iterable[Message] | None]] | None = None
    follow_up: Callable[[], Maybe[Iterable[Message] | None]] | None = None
    prepare_next_turn: Callable[[FinishedTurn], Maybe[NextTurn | None]] | None = None
    prepare_request: Callable[[Request], Maybe[NextRequest | None]] | None = None
    should_stop: Callable[[FinishedTurn], Maybe[bool]] | None = None
    finish_turn: Callable[[FinishedTurn], Maybe[TurnAction | None]] | None = None
    before_tool_call: Callable[[BeforeToolCall], Maybe[BeforeResult | None]] | None = None
    after_tool_call: Callable[[AfterToolCall], Maybe[ResultChanges | None]] | None = None
    transform_context: Callable[[Sequence[Message]], Maybe[Iterable[Message]]] | None = None
    convert_to_llm: Callable[[Sequence[Message]], Maybe[Iterable[Message]]] | None = None
    get_api_key: Callable[[str], Maybe[str | None]] | None = None
    clock: Callable[[], int] | None = None
    signal: AbortSignal | None = None
    on_decision: Observer | None = None
    on_step: StepObserver | None = None
    on_outcome: OutcomeObserver | None = None

    def __attrs_post_init__(self) -> None:
        """Raise Misuse for what cannot be right."""
        for name in CALLBACKS:
            callback = getattr(self, name)
            if callback is not None and not callable(callback):
                raise Misuse(f"{name}: expected a function, got {callback!r}")
        mode: Any = self.tool_execution
        if mode not in get_args(ExecutionMode):
            raise Misuse(f"tool_execution is one of {', '.join(get_args(ExecutionMode))}, not {shortly(mode)}")

    @property
    def hooks(self) -> frozenset[str]:
        """The names of the callbacks that are there, out of turnwheel.outcomes.HOOKS."""
        return frozenset(hook for hook in HOOKS if getattr(self, hook) is not None)


def agent_loop(prompts: Sequence[Message], context: Context, config: LoopConfig) -> EventStream:
    """Run a trace that begins with `prompts`, and iterate over its events; agent_end, the last, carries what it added.

    Iterating raises what a callback outside a tool call raises; then there is no agent_end (Pi 0.80.2). Raises Misuse
    for prompts that are no messages.
    """
    return _trace(context, tuple(messages_of("agent_loop", prompts)), config)


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
    """Return the driver of one trace; `prompts` None goes on from the context.

    Raises ValueError for a hook that the dialect never asks.
    """
    language = config.dialect if isinstance(config.dialect, Dialect) else dialect(config.dialect)
    asked = hooks_of(language)
    if unasked := config.hooks.difference(asked):
        raise ValueError(f"{language.name} never asks {', '.join(sorted(unasked))}; it asks {', '.join(asked)}")
    if language.switches.loadouts and (context.messages or prompts is not None):
        context = led(context)
    setup = RunConfig(config.model, config.thinking_level, config.tool_execution, config.hooks)
    machine = Machine(Begun(context, prompts, setup, config.clock() if config.clock else None), language)
    host = LoopHost(config, language.switches, signal)
    observers = {name: getattr(config, name) for name in OBSERVERS}
    return AsyncDriver(machine, host, signal=signal, **observers)


@final
class LoopHost:
    """The host of a LoopConfig: its callbacks, its model, and tools that run in this process."""

    def __init__(self, config: LoopConfig, switches: Switches, signal: AbortSignal) -> None:
        self._config = config
        self._switches = switches
        self._signal = signal
        self._convert = Converter(standard_roles_and_system if switches.loadouts else standard_roles)

    async def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> Iterable[Message] | None:
        """Ask the callback."""
        said: Iterable[Message] | None = await self._ask("steering")
        return said

    async def poll_follow_up(self, effect: fx.PollFollowUp) -> Iterable[Message] | None:
        """Ask the callback."""
        said: Iterable[Message] | None = await self._ask("follow_up")
        return said

    async def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> NextTurn | None:
        """Ask the hook."""
        said: NextTurn | None = await self._ask("prepare_next_turn", effect.turn)
        return self._leading(said, effect.turn.context)

    async def prepare_request(self, effect: fx.PrepareRequest) -> NextRequest | None:
        """Ask the hook."""
        said: NextRequest | None = await self._ask("prepare_request", effect.request)
        return self._leading(said, effect.request.context)

    async def ask_to_stop(self, effect: fx.AskToStop) -> bool:
        """Ask the hook."""
        return bool(await self._ask("should_stop", effect.turn))

    async def finish_turn(self, effect: fx.FinishTurn) -> TurnAction | None:
        """Ask the hook."""
        said: TurnAction | None = await self._ask("finish_turn", effect.turn)
        return said

    async def before_tool_call(self, effect: BeforeToolCall) -> BeforeResult | None:
        """Ask the hook."""
        said: BeforeResult | None = await self._ask("before_tool_call", effect)
        return said

    async def after_tool_call(self, effect: AfterToolCall) -> ResultChanges | None:
        """Ask the hook."""
        said: ResultChanges | None = await self._ask("after_tool_call", effect)
        return said

    async def call_model(self, effect: fx.CallModel) -> Steps:
        """Transform the context, convert it, get the key, send the request: in this order (Pi 0.80.2)."""
        config, asked = self._config, effect.request
        messages: Any = asked.context.messages
        if config.transform_context is not None:
            messages = await self._ask("transform_context", messages)
        if config.convert_to_llm is not None:
            messages = await self._ask("convert_to_llm", messages)
        else:
            messages = self._convert(messages if isinstance(messages, Transcript) else Transcript(messages))
        request = ModelRequest(
            asked.model,
            asked.thinking_level,
            "" if self._switches.loadouts else asked.context.system_prompt,
            messages,
            asked.context.tools,
            await self._ask("get_api_key", asked.model),
        )
        steps: Steps = await self._ask("stream", request, self._signal)
        return steps

    def prepare_arguments(self, effect: fx.PrepareArguments) -> Json:
        """Let the tool prepare its arguments; one that has no way to gets a copy of the model's."""
        prepare, arguments = effect.tool.prepare, effect.call.arguments
        # Arguments that are no object at all come of turnwheel's own models; Pi's have always made one of them.
        if self._switches.arguments_errors or not isinstance(arguments, Mapping):
            check_readable(effect.call)
        return deepcopy(arguments) if prepare is None else prepare(arguments, self._switches.arguments)

    async def execute_tool(self, effect: fx.ExecuteTool, report: Callable[[ToolResult], None]) -> ToolResult:
        """Run the tool: a coroutine function as it is, a plain function in a worker thread.

        Raises what the tool raises, and LookupError where there is nothing to run.
        """
        run = effect.tool.run
        if run is None:
            raise LookupError(f"The tool {effect.tool.name} is only described here, there is nothing to run.")
        reporter = Reporter(report)
        offered = {"call_id": effect.call.id, "report": reporter, "aborted": lambda: self._signal.aborted}
        if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(type(run).__call__):
            returned = await run(effect.arguments, **taken(run, offered))
        else:

            def work() -> tuple[Any]:
                reporter.worker = get_ident()
                # In a box, since trio takes a coroutine that comes out of a thread for a mistake.
                return (run(effect.arguments, **taken(run, offered)),)

            (returned,) = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            returned = await returned if inspect.isawaitable(returned) else returned
        if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
            name = effect.tool.name
            raise TypeError(f"{name} is a generator function: return the result, and report progress with report")
        return as_result(returned)

    async def _ask(self, name: str, *given: Any) -> Any:
        """Call a callback, if there is one, and await what it returns, where that can be.

        Raises Misuse where it returns something else than it should (see turnwheel.checked).
        """
        callback = getattr(self._config, name)
        if callback is None:
            return None
        try:
            said = callback(*given)
            return answer_of(name, await said if inspect.isawaitable(said) else said)
        except Exception as error:
            error.add_note(f"raised by {name}")
            raise

    def _leading(self, said: _Changes | None, old: Context) -> _Changes | None:
        """Return what a hook wants, its context with a system message in front where the dialect has such messages."""
        if said is None or said.context is None or not self._switches.loadouts:
            return said
        lead = led if said.context.system_prompt == old.system_prompt else led_anew
        return evolve(said, context=lead(said.context))

    def now(self) -> int | None:
        """Tell the time, if there is a clock."""
        return self._config.clock() if self._config.clock is not None else None

    def wait(self) -> None:
        """Wait for nothing: all tools are awaited."""
