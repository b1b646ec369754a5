"""Plays a scenario on the sync driver and writes its trace: every event, every call of a callback, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, final

from attrs import evolve

from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.abort import AbortSignal
from turnwheel.convert import Converter, standard_roles, standard_roles_and_system
from turnwheel.driver import Driver
from turnwheel.events import Event, MessageUpdate
from turnwheel.loadout import declared, is_system, led, led_anew
from turnwheel.machine import Machine
from turnwheel.messages import (
    ABSENT,
    CustomMessage,
    Json,
    Message,
    TextContent,
    ToolResult,
    ToolResultMessage,
)
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, ResultChanges, TurnAction
from turnwheel.rules import Dialect
from turnwheel.stream import StreamStep
from turnwheel.testing.clock import VirtualClock
from turnwheel.testing.scenario import (
    Before,
    ContextChange,
    Edit,
    Execution,
    FinishTurn,
    Hooks,
    Messages,
    Poll,
    Preparation,
    Scenario,
    Shim,
    Throws,
    Update,
)
from turnwheel.testing.scripted import ScriptedModel
from turnwheel.tool import Context, Tool, check_readable
from turnwheel.transcript import Transcript
from turnwheel.wire import to_json

Line = dict[str, Json]
Validator = Callable[[Tool, Json, str], Json]
"""Coerces and validates arguments: the tool, its arguments, the dialect's rules (Switches.arguments)."""
Outcomes = Sequence[oc.Progress | oc.Returned | oc.Raised]

_Item = TypeVar("_Item")


def play(scenario: Scenario, dialect: Dialect, validate: Validator) -> list[Line]:
    """Play a scenario and return its trace, one line an entry; the last one is the result, or what the run threw."""
    host = ScenarioHost(scenario, dialect, validate)
    machine = Machine(host.begun(), dialect)
    driver = Driver(machine, host, signal=host.signal)
    if scenario.abort is not None and scenario.abort.at_start:
        host.signal.abort()
    try:
        messages = driver.run(host.listen)
    except (RuntimeError, ValueError) as error:
        host.lines.append({"throws": str(error)})
    else:
        host.lines.append(result_line(messages))
    return host.lines


@final
class ScenarioHost:
    """The world as a scenario describes it; it notes in `lines` whatever it is asked and told."""

    def __init__(self, scenario: Scenario, dialect: Dialect, validate: Validator) -> None:
        self.lines: list[Line] = []
        self.signal = AbortSignal()
        self._scenario = scenario
        self._rules = dialect.switches.arguments
        self._loadouts = dialect.switches.loadouts
        self._arguments_errors = dialect.switches.arguments_errors
        self._validate = validate
        self._clock = VirtualClock()
        self._model = ScriptedModel(scenario.model, signal=self.signal, on_abort=scenario.config.model_on_abort)
        self._tools = {
            tool.name: Tool(
                tool.name, tool.description, tool.parameters, tool.execution_mode, run=tool.prepare_arguments
            )
            for tool in reversed(scenario.tools)
        }
        self._counts: dict[str, int] = {}
        self._events = 0
        if scenario.abort is not None and scenario.abort.at_tick is not None:
            self._clock.after(scenario.abort.at_tick, self._abort_tick)

    def begun(self) -> oc.Begun:
        """Return how the run begins."""
        scenario, config, hooks = self._scenario, self._scenario.config, self._scenario.hooks
        names = [tool.name for tool in scenario.tools] if scenario.context.tools is None else scenario.context.tools
        configured = {
            "steering": scenario.steering,
            "follow_up": scenario.follow_up,
            "prepare_next_turn": hooks.prepare_next_turn,
            "prepare_request": hooks.prepare_request,
            "should_stop": hooks.should_stop_after_turn,
            "finish_turn": _finishing(hooks),
            "before_tool_call": hooks.before_tool_call,
            "after_tool_call": hooks.after_tool_call,
        }
        context = Context(scenario.context.system_prompt, Transcript(scenario.context.messages), self._named(names))
        if self._loadouts and (context.messages or scenario.entry == "prompt"):
            context = led(context)
        return oc.Begun(
            context,
            tuple(scenario.prompts) if scenario.entry == "prompt" else None,
            oc.RunConfig(
                config.model,
                config.thinking_level,
                config.tool_execution or "parallel",
                frozenset(name for name, what in configured.items() if what is not None),
            ),
        )

    def listen(self, event: Event) -> None:
        """Note an event, and abort if the scenario says so."""
        self.lines.append({"event": _event(event)})
        abort, at = self._scenario.abort, self._events
        self._events += 1
        if abort is not None and abort.on_event == at:
            self.signal.abort()

    # --- queues and hooks -----------------------------------------------------------------------------------------

    def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> Iterable[Message] | None:
        """Give the next item of `steering`."""
        return _poll(self._next("getSteeringMessages", self._scenario.steering, {}))

    def poll_follow_up(self, effect: fx.PollFollowUp) -> Iterable[Message] | None:
        """Give the next item of `followUp`."""
        return _poll(self._next("getFollowUpMessages", self._scenario.follow_up, {}))

    def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> NextTurn | None:
        """Give the next item of `prepareNextTurn`."""
        said = self._next("prepareNextTurn", self._scenario.hooks.prepare_next_turn, _turn(effect.turn))
        if said is None:
            return None
        messages = tuple(_edited(said.messages, effect.turn.context.messages)) if said.messages is not None else ()
        return NextTurn(*self._prepared(said, effect.turn.context), messages)

    def prepare_request(self, effect: fx.PrepareRequest) -> NextRequest | None:
        """Give the next item of `prepareRequest`."""
        asked = effect.request
        shown = {
            "context": _roles(asked.context.messages),
            "model": asked.model,
            "thinkingLevel": asked.thinking_level,
        }
        said = self._next("prepareRequest", self._scenario.hooks.prepare_request, shown)
        return None if said is None else NextRequest(*self._prepared(said, asked.context))

    def finish_turn(self, effect: fx.FinishTurn) -> TurnAction | None:
        """Give the next item of `finishTurn`, or what the item of `shouldStopAfterTurn` means where there is none."""
        said = self._next("finishTurn", _finishing(self._scenario.hooks), _turn(effect.turn))
        if said is None or said is False:
            return None
        if isinstance(said, Throws):
            raise RuntimeError(said.throws)
        if isinstance(said, FinishTurn):
            if said.throws is not None:
                raise RuntimeError(said.throws)
            return said.action
        return "end"

    def ask_to_stop(self, effect: fx.AskToStop) -> bool:
        """Give the next item of `shouldStopAfterTurn`."""
        said = self._next("shouldStopAfterTurn", self._scenario.hooks.should_stop_after_turn, _turn(effect.turn))
        if isinstance(said, Throws):
            raise RuntimeError(said.throws)
        return bool(said)

    def before_tool_call(self, effect: fx.BeforeToolCall) -> BeforeResult | None:
        """Do what `beforeToolCall` says of this call."""
        self._note("beforeToolCall", {"toolCallId": effect.call.id, "args": effect.arguments})
        said = (self._scenario.hooks.before_tool_call or {}).get(effect.call.id, Before())
        if said.throws is not None:
            raise RuntimeError(said.throws)
        if said.set_args is not None and isinstance(effect.arguments, dict):
            effect.arguments.update(said.set_args)
        return BeforeResult(bool(said.block), said.reason, said.terminate is True)

    def after_tool_call(self, effect: fx.AfterToolCall) -> ResultChanges | None:
        """Do what `afterToolCall` says of this call."""
        self._note("afterToolCall", {"toolCallId": effect.call.id, "isError": effect.is_error})
        said = (self._scenario.hooks.after_tool_call or {}).get(effect.call.id)
        if said is None:
            return None
        if said.throws is not None:
            raise RuntimeError(said.throws)
        content = (TextContent(said.text),) if said.text is not None else said.content
        return ResultChanges(content, said.details, said.is_error, said.terminate, said.usage, said.structured_content)

    # --- the model ------------------------------------------------------------------------------------------------

    def call_model(self, effect: fx.CallModel) -> Iterator[StreamStep]:
        """Transform, convert, and give the next answer of the script."""
        request = effect.request
        messages: Sequence[Message] = request.context.messages
        hooks = self._scenario.hooks
        if (edits := hooks.transform_context) is not None:
            every = [edits] * (self._counts.get("transformContext", 0) + 1) if isinstance(edits, Edit) else edits
            edit = self._next("transformContext", every, {"messages": _roles(messages)})
            messages = messages if edit is None else edit.apply(messages)
        self._note("convertToLlm", {"messages": _roles(messages)})
        if isinstance(hooks.convert_to_llm, Throws):
            raise RuntimeError(hooks.convert_to_llm.throws)
        level = request.thinking_level
        told = list(_convert(hooks.convert_to_llm, messages, system=self._loadouts))
        prompt = {} if self._loadouts else {"systemPrompt": request.context.system_prompt}
        tools = [tool.name for tool in request.context.tools]
        self._note(
            "stream",
            {
                "model": request.model,
                **({} if level == "off" else {"reasoning": level}),
                **prompt,
                "messages": [_seen(message, system=self._loadouts) for message in told],
                "tools": list(declared(told)) if self._loadouts else tools,
            },
        )
        return self._model.call_model(effect)

    # --- tools ----------------------------------------------------------------------------------------------------

    def prepare_arguments(self, effect: fx.PrepareArguments) -> Json:
        """Let the tool's shim change the arguments, then validate them."""
        arguments = effect.call.arguments
        shim: Shim | None = effect.tool.run
        if shim is not None:
            self._note("prepareArguments", {"toolName": effect.tool.name, "args": arguments})
            if shim.throws is not None:
                raise RuntimeError(shim.throws)
            if isinstance(arguments, dict):
                renamed = {str(shim.rename.get(key, key)): value for key, value in arguments.items()}
                arguments = {**renamed, **shim.set}
        if self._arguments_errors:
            check_readable(effect.call)
        return self._validate(effect.tool, arguments, self._rules)

    def execute_tool(self, effect: fx.ExecuteTool, report: Callable[[ToolResult], None]) -> None:
        """Begin what `toolResults` says of this call; its end comes by the clock."""
        self._note("execute", {"toolCallId": effect.call.id, "args": effect.arguments})
        does = self._scenario.tool_results.get(effect.call.id, Execution())
        for update in does.updates:
            if update.at <= 0:
                report(_partial(update))
        for update in does.updates:
            if update.at > 0:
                self._clock.after(update.at, _progress(effect.id, _partial(update)))
        self._clock.after(does.delay, lambda: (self._completed(effect.id, does),))

    def _completed(self, effect: int, does: Execution) -> oc.Returned | oc.Raised:
        if does.abort_throws is not None and self.signal.aborted:
            return oc.Raised(effect, does.abort_throws)
        if does.throws is not None:
            return oc.Raised(effect, does.throws)
        content = _content(does.text, does.content)
        return oc.Returned(
            effect,
            ToolResult(
                (TextContent("ok"),) if content is ABSENT else content,
                does.details,
                does.terminate,
                does.is_error,
                does.usage,
                does.added_tool_names,
                does.structured_content,
            ),
        )

    # --- time -----------------------------------------------------------------------------------------------------

    def now(self) -> None:
        """Tell no time: messages of a trace have no timestamps."""

    def wait(self) -> Outcomes | None:
        """Let the clock go to its next timer."""
        return self._clock.advance()

    def _abort_tick(self) -> Outcomes:
        self.signal.abort()
        return ()

    # --- noting ---------------------------------------------------------------------------------------------------

    def _note(self, name: str, fields: Mapping[str, Json]) -> int:
        """Note that a callback is called, abort if the scenario says so, and return how often it was called before."""
        self.lines.append({"call": {"name": name, **_snapshot(fields)}})
        nth = self._counts.get(name, 0)
        self._counts[name] = nth + 1
        abort = self._scenario.abort
        if abort is not None and abort.on_call == name and abort.nth == nth:
            self.signal.abort()
        return nth

    def _next(self, name: str, items: Sequence[_Item] | None, fields: Mapping[str, Json]) -> _Item | None:
        nth = self._note(name, fields)
        return items[nth] if items is not None and nth < len(items) else None

    def _prepared(self, said: Preparation, old: Context) -> tuple[Context | None, str | None, str | None]:
        """Return the context, model and thinking level that a preparation wants. Raises RuntimeError if it says so."""
        if said.throws is not None:
            raise RuntimeError(said.throws)
        context = None if said.context is None else self._changed(said.context, old)
        return context, said.model, said.thinking_level

    def _changed(self, change: ContextChange, old: Context) -> Context:
        """Return the context as changed; since Pi 0.86.0 new messages or a new prompt bring a new system message."""
        new = Context(
            old.system_prompt if change.system_prompt is None else change.system_prompt,
            Transcript(_edited(change.messages, old.messages)),
            old.tools if change.tools is None else self._named(change.tools),
        )
        listed = change.messages is not None and not isinstance(change.messages, Edit)
        anew = listed or change.system_prompt is not None
        return led_anew(new) if self._loadouts and anew else new

    def _named(self, names: Iterable[str]) -> tuple[Tool, ...]:
        return tuple(self._tools[name] for name in names)


def _poll(said: Poll) -> Iterable[Message] | None:
    if isinstance(said, Throws):
        raise RuntimeError(said.throws)
    return said


def _progress(effect: int, partial: ToolResult) -> Callable[[], Outcomes]:
    return lambda: (oc.Progress(effect, partial),)


def _content(text: str | None, content: Any) -> Any:
    return (TextContent(text),) if text is not None else content


def _partial(update: Update) -> ToolResult:
    content = _content(update.text, update.content)
    return ToolResult(() if content is ABSENT else content, update.details, update.terminate)


def _edited(messages: Messages, old: Sequence[Message]) -> Iterable[Message]:
    if messages is None:
        return old
    return messages.apply(old) if isinstance(messages, Edit) else messages


def _finishing(hooks: Hooks) -> Sequence[FinishTurn | bool | Throws | None] | None:
    """Return what the finish hook does: its own items, else those of the stop hook that it took the place of."""
    return hooks.should_stop_after_turn if hooks.finish_turn is None else hooks.finish_turn


def _convert(how: str, messages: Sequence[Message], *, system: bool) -> Iterable[Message]:
    """Return what a model gets of the messages; `system`: whether the role system is a standard one."""
    if how == "identity":
        return messages
    keep = standard_roles_and_system if system else standard_roles
    if how == "default":
        return Converter(keep)(Transcript(messages))
    # The content of a custom message may be anything, so it is only called a user's.
    return [
        evolve(message, role="user") if isinstance(message, CustomMessage) and keep(message) is None else message
        for message in messages
    ]


# --- what a trace shows -------------------------------------------------------------------------------------------


def _snapshot(value: Any) -> Any:
    """Return a copy of a JSON value: a trace shows what was there at the moment."""
    if isinstance(value, dict):
        return {key: _snapshot(item) for key, item in value.items()}
    return [_snapshot(item) for item in value] if isinstance(value, list) else value


def _event(event: Event) -> Line:
    if isinstance(event, MessageUpdate):
        step = event.step
        delta = {"delta": step.delta} if hasattr(step, "delta") else {}
        return {
            "type": event.type,
            "message": _bare(to_json(event.message)),
            "assistantMessageEvent": {"type": step.type, "contentIndex": step.content_index, **delta},
        }
    line = _bare(to_json(event))
    for key in ("message", "messages", "toolResults"):
        if key in line:
            told = line[key]
            line[key] = [_bare(message) for message in told] if isinstance(told, list) else _bare(told)
    return line


def result_line(messages: Iterable[Message]) -> Line:
    """Return the last line of the trace of a run that gave back these messages."""
    return {"result": {"messages": [_bare(to_json(message)) for message in messages]}}


def _bare(message: Line) -> Line:
    """Leave out what differs from run to run."""
    return {key: value for key, value in message.items() if key not in ("timestamp", "durationMs")}


def _roles(messages: Iterable[Message]) -> list[str]:
    return [message.role for message in messages]


def _turn(turn: fx.FinishedTurn) -> Line:
    return {
        "stopReason": turn.message.stop_reason,
        "toolResults": [result.tool_call_id for result in turn.tool_results],
        "context": _roles(turn.context.messages),
        "newMessages": _roles(turn.new_messages),
    }


def _seen(message: Message, *, system: bool) -> Line:
    """Return what the model is shown of a message; `system`: whether the role system is a standard one."""
    line = to_json(message)
    shown = ["role", "content"]
    if isinstance(message, ToolResultMessage):
        shown += ["toolCallId", "toolName", "isError"]
    if system and is_system(message):
        for key in ("toolsAdded", "toolsRemoved"):
            if key in line:
                line[key] = [tool["name"] for tool in line[key]]
                shown.append(key)
    return {key: line[key] for key in shown if key in line}
