"""The Agent: the loop in a program's hands, with a transcript, two queues, listeners and a state to look at.

    agent = Agent(stream, tools=[...])
    agent.subscribe(print)
    answer = await agent.prompt("…")

Source of its behaviour: the Agent class of Pi 0.80.2 and 0.85.1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, final

import anyio
from attrs import evolve

from turnwheel import events
from turnwheel.abort import AbortSignal
from turnwheel.agent_state import AgentState
from turnwheel.checked import message_of, messages_of
from turnwheel.driver import OutcomeObserver, StepObserver
from turnwheel.effects import AfterToolCall, BeforeToolCall, FinishedTurn
from turnwheel.errors import Misuse
from turnwheel.events import Event
from turnwheel.host import Maybe
from turnwheel.iterating import Emit, EventStream
from turnwheel.listeners import Listeners
from turnwheel.loadout import is_system, led, led_anew
from turnwheel.loop import LoopConfig, driver_of
from turnwheel.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    Usage,
    user,
)
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, ResultChanges, TurnAction
from turnwheel.ports import text_of
from turnwheel.queues import MessageQueue, QueueMode
from turnwheel.requests import Stream
from turnwheel.rules import Decision, Dialect
from turnwheel.table import DEFAULT_DIALECT, dialect
from turnwheel.tool import Context, ExecutionMode, Request, Tool
from turnwheel.transcript import Transcript

Prompt = str | Message | Sequence[Message]
"""What a run may begin with: a text, a message, or several."""


class _ActiveRun:
    """What there is of a run while it is on."""

    def __init__(self, signal: AbortSignal) -> None:
        self.signal = signal
        self.idle = anyio.Event()
        self.answer: AssistantMessage | None = None


@final
class Agent:
    """Owns a transcript and runs traces on it, one at a time.

    Hooks and listeners may be plain or coroutine functions. `dialect` names the version of Pi whose loop runs.
    Raises ValueError for an unknown dialect, and for a hook that the Agent of that version does not hand on.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        model: str = "m0",
        system_prompt: str = "",
        thinking_level: str = "off",
        tools: Iterable[Tool] = (),
        messages: Iterable[Message] = (),
        dialect: Dialect | str = DEFAULT_DIALECT,
        tool_execution: ExecutionMode = "parallel",
        steering_mode: QueueMode = "one-at-a-time",
        follow_up_mode: QueueMode = "one-at-a-time",
        before_tool_call: Callable[[BeforeToolCall], Maybe[BeforeResult | None]] | None = None,
        after_tool_call: Callable[[AfterToolCall], Maybe[ResultChanges | None]] | None = None,
        prepare_next_turn: Callable[[FinishedTurn], Maybe[NextTurn | None]] | None = None,
        prepare_request: Callable[[Request], Maybe[NextRequest | None]] | None = None,
        should_stop: Callable[[FinishedTurn], Maybe[bool]] | None = None,
        finish_turn: Callable[[FinishedTurn], Maybe[TurnAction | None]] | None = None,
        transform_context: Callable[[Sequence[Message]], Maybe[Iterable[Message]]] | None = None,
        convert_to_llm: Callable[[Sequence[Message]], Maybe[Iterable[Message]]] | None = None,
        get_api_key: Callable[[str], Maybe[str | None]] | None = None,
        clock: Callable[[], int] | None = None,
        on_decision: Callable[[Decision], object] | None = None,
        on_step: StepObserver | None = None,
        on_outcome: OutcomeObserver | None = None,
    ) -> None:
        """Set up an agent. `clock` tells the time in milliseconds since 1970 (UTC), for the messages it makes."""
        self.state = AgentState(system_prompt, model, thinking_level, tools, messages)
        self._config = LoopConfig(
            stream,
            tool_execution=tool_execution,
            dialect=dialect,
            prepare_next_turn=prepare_next_turn,
            prepare_request=prepare_request,
            should_stop=should_stop,
            finish_turn=finish_turn,
            before_tool_call=before_tool_call,
            after_tool_call=after_tool_call,
            transform_context=transform_context,
            convert_to_llm=convert_to_llm,
            get_api_key=get_api_key,
            clock=clock,
            on_decision=on_decision,
            on_step=on_step,
            on_outcome=on_outcome,
        )
        self._language = _language(dialect)
        _check_hooks(self._config, self._language)
        self._led_by: str | None = None
        self._lead()
        self._steering = MessageQueue(steering_mode)
        self._follow_up = MessageQueue(follow_up_mode)
        self._listeners = Listeners()
        self._active: _ActiveRun | None = None
        self.failure: Exception | None = None
        """The exception that broke the last run off; what listeners hear of it is an answer with its text."""

    # --- running --------------------------------------------------------------------------------------------------

    async def prompt(self, message: Prompt, *, images: Sequence[ImageContent] = ()) -> AssistantMessage | None:
        """Run a trace that begins with `message`, and return its last answer once all listeners are done.

        What goes wrong on the way is an answer with stop reason error or aborted, not an exception. Raises Misuse while
        another run is on, and what a listener raises while it hears of a failure.
        """
        self._check_idle("prompt")
        return await self._run(self._messages(message, images))

    async def continue_(self) -> AssistantMessage | None:
        """Go on from the transcript as it is, and return the last answer.

        From an assistant's message, what is queued goes in as prompts: steering first, else follow-up. Raises Misuse
        while another run is on, and ValueError where there is nothing to go on from.
        """
        self._check_idle("continue_")
        messages = self.state.messages
        if not messages or (self._language.switches.loadouts and all(map(is_system, messages))):
            raise ValueError("No messages to continue from")
        if messages[-1].role != "assistant":
            return await self._run(None)
        if steering := self._steering.drain():
            return await self._run(steering, steered=True)
        if follow_up := self._follow_up.drain():
            return await self._run(follow_up)
        raise ValueError("Cannot continue from message role: assistant")

    def run(self, message: Prompt, *, images: Sequence[ImageContent] = ()) -> EventStream:
        """Return a run that begins with `message`, to iterate over; see EventStream.

        Iterating raises Misuse while another run is on.
        """
        # Here, since leaving the run aborts it, and it may never have begun.
        signal = AbortSignal()

        async def start(emit: Emit) -> None:
            self._check_idle("run")
            unsubscribe = self.subscribe(emit)
            try:
                await self._run(self._messages(message, images), signal=signal)
            finally:
                unsubscribe()

        return EventStream(start, signal.abort)

    def run_sync(self, message: Prompt, *, images: Sequence[ImageContent] = ()) -> AssistantMessage | None:
        """Do as `prompt`, in a program without an event loop. Raises what broke the run off (`failure`) as well."""
        answer = anyio.run(partial(self.prompt, message, images=images))
        if self.failure is not None:
            raise self.failure
        return answer

    async def wait_for_idle(self) -> None:
        """Wait until no run is on: a run is over when the listeners of its agent_end are done.

        A listener, or the body of a loop over the events, would wait for itself: await this elsewhere.
        """
        if self._active is not None:
            await self._active.idle.wait()

    def abort(self, reason: str | None = None) -> None:
        """Abort the run that is on, if there is one. It ends as its dialect says; nothing is interrupted by force."""
        if self._active is not None:
            self._active.signal.abort(reason)

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the run that is on."""
        return None if self._active is None else self._active.signal

    def reset(self) -> None:
        """Forget transcript, queues and errors. Raises Misuse while a run is on (Pi 0.84.1; before, it went on).

        A leading system message with prompt and tools stays, in a dialect that has one.
        """
        if not self._language.agent.resets_while_running:
            self._check_idle("reset")
        self.state.messages = ()
        self._lead()
        self.state.end()
        self.state.error_message = None
        self.clear_queues()

    # --- queues ---------------------------------------------------------------------------------------------------

    def steer(self, message: str | Message) -> None:
        """Queue a message that cuts in: it goes in before the next model call, after the tools that are running."""
        self._steering.put(self._message(message))

    def follow_up(self, message: str | Message) -> None:
        """Queue a message for when the run would stop."""
        self._follow_up.put(self._message(message))

    @property
    def steering_mode(self) -> QueueMode:
        """How many steering messages go in at once; may be set while a run is on."""
        return self._steering.mode

    @steering_mode.setter
    def steering_mode(self, mode: QueueMode) -> None:
        self._steering.mode = mode

    @property
    def follow_up_mode(self) -> QueueMode:
        """How many follow-up messages go in at once; may be set while a run is on."""
        return self._follow_up.mode

    @follow_up_mode.setter
    def follow_up_mode(self, mode: QueueMode) -> None:
        self._follow_up.mode = mode

    @property
    def queued_steering(self) -> tuple[Message, ...]:
        """The steering messages that wait."""
        return self._steering.peek()

    @property
    def queued_follow_up(self) -> tuple[Message, ...]:
        """The follow-up messages that wait."""
        return self._follow_up.peek()

    def has_queued(self) -> bool:
        """Say whether a message waits in either queue."""
        return bool(self._steering) or bool(self._follow_up)

    def clear_steering(self) -> None:
        """Forget the steering messages that wait."""
        self._steering.clear()

    def clear_follow_up(self) -> None:
        """Forget the follow-up messages that wait."""
        self._follow_up.clear()

    def clear_queues(self) -> None:
        """Forget all messages that wait."""
        self._steering.clear()
        self._follow_up.clear()

    # --- listeners ------------------------------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[Event], Any]) -> Callable[[], None]:
        """Have `listener` called with every event, after those who subscribed before it; what it returns is awaited.

        Returns the function that ends the subscription. The same listener is called once, however often it subscribes;
        one that subscribes during an event still hears of it. If a listener raises, the run fails with that error.
        """
        self._listeners.add(listener)
        return partial(self._listeners.remove, listener)

    async def _tell(self, event: Event) -> None:
        self.state.take(event)
        if isinstance(event, events.MessageEnd):
            self._steering.told(event.message)
            self._follow_up.told(event.message)
        elif isinstance(event, events.TurnEnd) and self._active is not None:
            self._active.answer = event.message
        for listener in self._listeners:
            try:
                said = listener(event)
                if said is not None and inspect.isawaitable(said):
                    await said
            except Exception as error:
                error.add_note(f"raised by the listener {listener!r}, of {event.type}")
                raise

    # --- one run --------------------------------------------------------------------------------------------------

    def _check_idle(self, what: str) -> None:
        if self._active is not None:
            raise Misuse(
                f"{what} while a run is on: queue the message with steer() or follow_up(), or await wait_for_idle()"
            )

    def _message(self, message: str | Message) -> Message:
        return user(message, timestamp=self._now()) if isinstance(message, str) else message_of(message)

    def _messages(self, prompt: Prompt, images: Sequence[ImageContent]) -> tuple[Message, ...]:
        if isinstance(prompt, str):
            return (user(prompt, images=images, timestamp=self._now()),)
        if images:
            raise Misuse("images go with a text; a message brings its own")
        return (prompt,) if isinstance(prompt, Message) else tuple(messages_of("prompt", prompt))

    def _now(self) -> int | None:
        return self._config.clock() if self._config.clock is not None else None

    async def _run(
        self, prompts: Sequence[Message] | None, *, steered: bool = False, signal: AbortSignal | None = None
    ) -> AssistantMessage | None:
        """Run one trace. `steered`: the prompts come from the steering queue, so its first poll brings nothing more."""
        active = self._active = _ActiveRun(signal if signal is not None else AbortSignal())
        state = self.state
        state.begin()
        self.failure = None
        try:
            if state.system_prompt != self._led_by:
                self._lead()
            driver = driver_of(
                Context(state.system_prompt, state.messages, state.tools),
                prompts,
                self._config_of(state, skip_first_poll=steered),
                active.signal,
            )
            try:
                await driver.run(self._tell)
            except Exception as error:
                self.failure = error
                self._put_back()
                await driver.cancellation.apart(self._tell_failure(error, aborted=active.signal.aborted))
        finally:
            self._put_back()
            state.end()
            self._active = None
            active.idle.set()
        return active.answer

    def _put_back(self) -> None:
        """Put back what a run took out of the queues and broke off before it could tell of it."""
        self._steering.put_back()
        self._follow_up.put_back()

    def _lead(self) -> None:
        """Put a system message with prompt and tools in front of the transcript, in a dialect that has one."""
        state = self.state
        if self._language.switches.loadouts:
            lead = led if self._led_by is None else led_anew
            state.messages = lead(Context(state.system_prompt, state.messages, state.tools)).messages
        self._led_by = state.system_prompt

    def _config_of(self, state: AgentState, *, skip_first_poll: bool) -> LoopConfig:
        skips = [True] if skip_first_poll else []

        def poll_steering() -> tuple[Message, ...]:
            return () if skips and skips.pop() else self._steering.drain()

        return evolve(
            self._config,
            model=state.model,
            thinking_level=state.thinking_level,
            steering=poll_steering,
            follow_up=self._follow_up.drain,
        )

    async def _tell_failure(self, error: Exception, *, aborted: bool) -> None:
        """Tell of a run that broke off: Pi's failure sequence, one empty answer that carries the error (Pi 0.80.2)."""
        answer = AssistantMessage(
            (TextContent(""),),
            "aborted" if aborted else "error",
            model=self.state.model,
            usage=Usage(),
            error_message=text_of(error),
            timestamp=self._now(),
        )
        for event in (
            events.MessageStart(answer),
            events.MessageEnd(answer),
            events.TurnEnd(answer),
            events.AgentEnd(Transcript((answer,))),
        ):
            await self._tell(event)


def _language(name: Dialect | str) -> Dialect:
    return name if isinstance(name, Dialect) else dialect(name)


def _check_hooks(config: LoopConfig, language: Dialect) -> None:
    if refused := config.hooks - language.agent.hooks:
        raise ValueError(
            f"the Agent of {language.name} does not hand on {', '.join(sorted(refused))}; "
            f"it has {', '.join(sorted(language.agent.hooks))}; agent_loop offers every hook that the dialect asks"
        )
