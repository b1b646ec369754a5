"""The data of one trace, and what the words of the table mean for it: the events a rule emits, the effect it asks for.

Nothing here decides anything. The machine fires rules and calls these functions; they build events and effects out of
the transcript, and bring facts about outcomes into the control view.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from typing import final

from attrs import evolve

from turnwheel import effects, events
from turnwheel.control import CallControl, Control
from turnwheel.effects import Effect, FinishedTurn
from turnwheel.events import Event
from turnwheel.loadout import Declarations, announced, declared
from turnwheel.messages import ABSENT, AssistantMessage, Json, Message, ToolCall, ToolResult, ToolResultMessage
from turnwheel.outcomes import Begun, NextRequest, NextTurn, ResultChanges
from turnwheel.rules import AnyState, Ask, BatchState, CallState, Emit, Switches
from turnwheel.stream import Delta, Partial, Started
from turnwheel.tool import Context, Request, Tool
from turnwheel.transcript import Transcript

Queue = deque[Event]

ABORTED = "Operation aborted"
BLOCKED = "Tool execution was blocked"
CUT_OFF = (
    'Tool call "{name}" was not executed: the response hit the output token limit, so its arguments may be truncated. '
    "Re-issue the tool call with complete arguments."
)
NOT_FOUND = "Tool {name} not found"
NO_MESSAGES = "Cannot continue: no messages in context"
FROM_ASSISTANT = "Cannot continue from message role: assistant"


_COUNTS: Mapping[AnyState, str] = {state: str(state).lower() for state in CallState}
"""The fact that counts the calls of a batch in each state."""

_NO_TOOL = Tool("")
_NO_RESULT = ToolResult()


@final
class Call:
    """One tool call of the current batch."""

    __slots__ = (
        "arguments",
        "call",
        "control",
        "error",
        "execution",
        "index",
        "is_error",
        "progress",
        "reason",
        "result",
        "tool",
    )

    def __init__(self, index: int, call: ToolCall, tool: Tool | None, run: Control) -> None:
        self.index = index
        self.call = call
        self.tool: Tool = tool if tool is not None else _NO_TOOL
        self.control = CallControl(run, known=tool is not None)
        self.execution = 0
        self.arguments: Json = None
        self.progress = self.result = _NO_RESULT
        self.is_error = False
        self.reason = ""
        self.error = ""

    def fail(self, kind: str) -> None:
        """Give the call the loop's own error result of that kind (turnwheel.control.RESULTS)."""
        text = _ERROR_TEXTS[kind](self)
        self.result = ToolResult.error(text, terminate=kind == "blocked_for_good")
        self.is_error = True

    def copy(self, run: Control) -> Call:
        """Return a copy that belongs to the run of `run`."""
        other = copy(self)
        other.control = evolve(self.control, run=run)
        # A before hook may change them in place.
        other.arguments = deepcopy(self.arguments)
        return other


_ERROR_TEXTS: Mapping[str, Callable[[Call], str]] = {
    "not_found": lambda call: NOT_FOUND.format(name=call.call.name),
    "failed": lambda call: call.error,
    "aborted": lambda _: ABORTED,
    "blocked": lambda call: call.reason or BLOCKED,
    "blocked_for_good": lambda call: call.reason or BLOCKED,
}


@final
class Run:
    """What a trace has gathered so far."""

    def __init__(self, begun: Begun, switches: Switches) -> None:
        self.switches = switches
        self.control = Control()
        self.config = begun.config
        self.model = begun.config.model
        self.thinking_level = begun.config.thinking_level
        self.system_prompt = begun.context.system_prompt
        self.take_tools(begun.context.tools)
        self.messages = begun.context.messages
        self.new_messages = type(self.messages)()
        self.prepared: Sequence[Message] = ()
        self.pending: Sequence[Message] = begun.prompts or ()
        self.answer = AssistantMessage()
        self.tool_calls: tuple[ToolCall, ...] = ()
        self.results: list[ToolResultMessage] = []
        self.untold: list[ToolResultMessage] = []
        self.calls: list[Call] = []
        self.reported = 0
        self.launched = 0
        self.turns = 0
        self.now: int | None = None
        self.failure: str | None = None
        self.declared: Declarations = {}
        self.declared_in = Transcript()
        self.begin_answer()
        last = self.messages[-1].role if self.messages else None
        self.control.prompt = begun.prompts is not None
        self.control.continuable = last not in (None, "assistant")
        self.refusal = NO_MESSAGES if last is None else FROM_ASSISTANT

    def copy(self) -> Run:
        """Return a copy that goes its own way; messages are shared."""
        other = copy(self)
        other.control = evolve(self.control)
        other.calls = [call.copy(other.control) for call in self.calls]
        other.results = list(self.results)
        other.untold = list(self.untold)
        other.steps = list(self.steps)
        other.partial = Partial(other.steps)
        return other

    @property
    def context(self) -> Context:
        """The context as it is now."""
        return Context(self.system_prompt, self.messages, self.tools)

    @property
    def request(self) -> Request:
        """What the model is asked next."""
        return Request(self.model, self.thinking_level, self.context)

    @property
    def turn(self) -> FinishedTurn:
        """The turn that has just ended."""
        return FinishedTurn(self.answer, tuple(self.results), self.context, self.new_messages, self.turns)

    # --- what outcomes bring --------------------------------------------------------------------------------------

    def begin_answer(self) -> None:
        """Forget the steps of the last answer."""
        self.steps: list[Delta | Started] = []
        self.partial = Partial(self.steps)

    def grow(self, step: Delta) -> events.MessageUpdate | None:
        """Let the answer grow by a step. Return the event that shows it, where its start has been shown."""
        steps = self.steps
        steps.append(step)
        return events.MessageUpdate(step, self.partial, len(steps)) if self.control.shown else None

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Note which tools there are; of several of one name the first counts."""
        self.tools = tools
        self.named = {tool.name: tool for tool in reversed(tools)}

    def take_pending(self, messages: Sequence[Message]) -> None:
        """Note what a poll brought."""
        self.pending = messages
        self.control.pending = len(messages)

    def take_answer(self, message: AssistantMessage) -> None:
        """Note the final answer: it takes the place of the partial one."""
        if self.switches.thinking_levels:
            message = evolve(message, thinking_level=self.thinking_level)
        self.answer = message
        self.turns += 1
        self.results = []
        self.untold = []
        self.messages = self.messages.appended(message)
        self.new_messages = self.new_messages.appended(message)
        self.control.stop_reason = message.stop_reason
        self.tool_calls = message.tool_calls
        self.control.calls = len(self.tool_calls)

    def take_changes(self, changes: NextTurn | NextRequest | None) -> None:
        """Let the preparation of a turn or of a request take effect, for all turns to come."""
        if changes is None:
            return
        if isinstance(changes, NextTurn) and self.switches.loadouts:
            self.prepared = changes.messages
        if changes.context is not None:
            self.system_prompt = changes.context.system_prompt
            self.messages = changes.context.messages
            self.take_tools(changes.context.tools)
        self.model = changes.model if changes.model is not None else self.model
        if changes.thinking_level is not None:
            self.thinking_level = changes.thinking_level

    def change_result(self, call: Call, changes: ResultChanges | None) -> None:
        """Put what the after hook returned in place, field by field; None and ABSENT leave a field as it is."""
        if changes is None:
            return
        old = call.result
        content = _given(changes.content, old.content)
        details = _given(changes.details, old.details)
        terminate = _given(changes.terminate, old.terminate)
        if self.switches.fields_kept:
            usage = _given(changes.usage, old.usage) if self.switches.result_usage else old.usage
            call.result = evolve(
                old,
                content=content,
                details=details,
                terminate=terminate,
                usage=usage,
                structured_content=self._structured(old, changes),
            )
        else:
            call.result = ToolResult(content, details, terminate)
        call.is_error = _given(changes.is_error, call.is_error)

    def _structured(self, old: ToolResult, changes: ResultChanges) -> Json:
        """Return the structured content that is left: it may not fit content that was replaced (Pi 0.99.1)."""
        if not self.switches.structured_content:
            return old.structured_content
        replaced = changes.content is not None and changes.content is not ABSENT
        return _given(changes.structured_content, ABSENT if replaced else old.structured_content)

    def start_batch(self) -> None:
        """List the calls of the answer, and look up whether they must run one after the other."""
        control = self.control
        named = self.named
        self.calls = [Call(index, call, named.get(call.name), control) for index, call in enumerate(self.tool_calls)]
        self.reported = self.launched = 0
        control.sequential = self.config.tool_execution == "sequential" or any(
            call.tool.execution_mode == "sequential" for call in self.calls
        )
        control.batch = BatchState.Announcing
        control.fresh = True
        control.taken = False
        control.listed = len(self.calls)
        control.ended = control.terminating = 0

    def count(self, left: AnyState, entered: AnyState) -> None:
        """Count that a call of the batch went from one state to another."""
        control = self.control
        fact = _COUNTS[left]
        setattr(control, fact, getattr(control, fact) - 1)
        fact = _COUNTS[entered]
        setattr(control, fact, getattr(control, fact) + 1)

    def next_listed(self) -> Call:
        """Return the next call that is to be announced."""
        return self.calls[len(self.calls) - self.control.listed]

    def next_prepared(self) -> Call:
        """Return the next call, in order, that waits for its execution."""
        while self.calls[self.launched].control.state is not CallState.Prepared:
            self.launched += 1
        return self.calls[self.launched]

    def finish_turn(self, number: int) -> Effect:
        """Tell the hook of the turn, with its results in the context; turn_end comes after it."""
        self.take_results()
        return effects.FinishTurn(number, self.turn)

    # --- what the rules of a tool call ask for --------------------------------------------------------------------

    def prepare_arguments(self, call: Call, number: int) -> Effect:
        """Ask for valid arguments."""
        return effects.PrepareArguments(number, call.call, call.tool)

    def before_tool_call(self, call: Call, number: int) -> Effect:
        """Ask the before hook."""
        return effects.BeforeToolCall(number, call.call, call.tool, call.arguments, self.answer, self.context)

    def execute_tool(self, call: Call, number: int) -> Effect:
        """Ask for the tool to run."""
        call.execution = number
        return effects.ExecuteTool(number, call.call, call.tool, call.arguments)

    def after_tool_call(self, call: Call, number: int) -> Effect:
        """Ask the after hook."""
        return effects.AfterToolCall(
            number, call.call, call.tool, call.arguments, call.result, call.is_error, self.answer, self.context
        )

    # --- what rules emit ------------------------------------------------------------------------------------------

    def inject(self, queue: Queue) -> None:
        """Emit and append the messages that wait: prompts, prepared messages, steering, follow-up."""
        messages = [*self.prepared, *self.pending] if self.prepared else self.pending
        if self.switches.loadouts:
            messages = announced(messages, self._declared(), self.tools, self.now)
        for message in messages:
            queue.append(events.MessageStart(message))
            queue.append(events.MessageEnd(message))
        if messages:
            self.messages = self.messages.appended(*messages)
            self.new_messages = self.new_messages.appended(*messages)
            self.prepared = self.pending = ()

    def _declared(self) -> Declarations:
        """Return which tools the transcript declares; only what is new in it is looked at."""
        continued = self.messages.extends(self.declared_in)
        new = self.messages[len(self.declared_in) if continued else 0 :]
        self.declared = declared(new, self.declared if continued else None)
        self.declared_in = self.messages
        return self.declared

    def start_message(self, queue: Queue) -> None:
        """Emit the start of the answer: the partial one where it streams, else the final one."""
        streams = self.control.shown
        queue.append(events.MessageStart(self.partial.after(len(self.steps)) if streams else self.answer))

    def end_message(self, queue: Queue) -> None:
        """Emit the end of the answer."""
        queue.append(events.MessageEnd(self.answer))

    def refuse_calls(self, queue: Queue) -> None:
        """Emit start, end and result of every call of an answer that was cut off (Pi 0.80.6); none is looked at."""
        for call in self.tool_calls:
            result = ToolResult.error(CUT_OFF.format(name=call.name))
            queue.append(events.ToolExecutionStart(call.id, call.name, call.arguments))
            queue.append(events.ToolExecutionEnd(call.id, call.name, result, True))
            self._tell_result(queue, call, result, is_error=True)

    def tell_results(self, queue: Queue) -> None:
        """Emit the result messages of the calls that have ended and were not told yet, in the order of the calls."""
        announced = len(self.calls) - self.control.listed
        for call in self.calls[self.reported : announced]:
            self._tell_result(queue, call.call, call.result, is_error=call.is_error)
        self.reported = announced

    def _tell_result(self, queue: Queue, call: ToolCall, result: ToolResult, *, is_error: bool) -> None:
        switches = self.switches
        content = result.content
        if switches.content_required and (content is None or content is ABSENT):
            content = ()
        message = ToolResultMessage(
            call.id,
            call.name,
            content,
            is_error,
            result.details,
            result.usage if switches.result_usage else ABSENT,
            (result.added_tool_names or ABSENT) if switches.tool_names_added else ABSENT,
            self.now,
        )
        self.results.append(message)
        self.untold.append(message)
        queue.append(events.MessageStart(message))
        queue.append(events.MessageEnd(message))

    def take_results(self) -> None:
        """Let the results of the batch be part of the context from here on."""
        if self.untold:
            self.messages = self.messages.appended(*self.untold)
            self.new_messages = self.new_messages.appended(*self.untold)
            self.untold = []

    def end_turn(self, queue: Queue) -> None:
        """Emit the end of the turn, whose results are part of the context."""
        self.take_results()
        queue.append(events.TurnEnd(self.answer, tuple(self.results)))

    def start_call(self, call: Call, queue: Queue) -> None:
        """Emit the start of a call."""
        queue.append(events.ToolExecutionStart(call.call.id, call.call.name, call.call.arguments))

    def update_call(self, call: Call, queue: Queue) -> None:
        """Emit the progress of a call."""
        queue.append(events.ToolExecutionUpdate(call.call.id, call.call.name, call.call.arguments, call.progress))

    def end_call(self, call: Call, queue: Queue) -> None:
        """Emit the end of a call."""
        if call.result.terminate is True:
            self.control.terminating += 1
        queue.append(events.ToolExecutionEnd(call.call.id, call.call.name, call.result, call.is_error))


def _given(new: Json, old: Json) -> Json:
    return old if new is None or new is ABSENT else new


EMITS: Mapping[Emit, Callable[[Run, Queue], None]] = {
    Emit.agent_start: lambda _, queue: queue.append(events.AgentStart()),
    Emit.turn_start: lambda _, queue: queue.append(events.TurnStart()),
    Emit.prompts: Run.inject,
    Emit.pending: Run.inject,
    Emit.message_start: Run.start_message,
    Emit.message_end: Run.end_message,
    Emit.refusals: Run.refuse_calls,
    Emit.results: Run.tell_results,
    Emit.turn_end: Run.end_turn,
    Emit.agent_end: lambda run, queue: queue.append(events.AgentEnd(run.new_messages)),
}
"""What the loop's and the batch's rules emit."""

CALL_EMITS: Mapping[Emit, Callable[[Run, Call, Queue], None]] = {
    Emit.call_start: Run.start_call,
    Emit.call_update: Run.update_call,
    Emit.call_end: Run.end_call,
}
"""What a tool call's rules emit."""

ASKS: Mapping[Ask, Callable[[Run, int], Effect]] = {
    Ask.poll_steering: lambda _, number: effects.PollSteering(number),
    Ask.poll_steering_again: lambda _, number: effects.PollSteeringAgain(number),
    Ask.poll_follow_up: lambda _, number: effects.PollFollowUp(number),
    Ask.call_model: lambda run, number: effects.CallModel(number, run.request),
    Ask.prepare_next_turn: lambda run, number: effects.PrepareNextTurn(number, run.turn),
    Ask.prepare_request: lambda run, number: effects.PrepareRequest(number, run.request),
    Ask.ask_to_stop: lambda run, number: effects.AskToStop(number, run.turn),
    Ask.finish_turn: Run.finish_turn,
}
"""The effects that the loop's rules ask for."""

CALL_ASKS: Mapping[Ask, Callable[[Run, Call, int], Effect]] = {
    Ask.prepare_arguments: Run.prepare_arguments,
    Ask.before_tool_call: Run.before_tool_call,
    Ask.execute_tool: Run.execute_tool,
    Ask.after_tool_call: Run.after_tool_call,
}
"""The effects that a tool call's rules ask for."""
