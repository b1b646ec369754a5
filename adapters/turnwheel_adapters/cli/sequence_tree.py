"""A recording as a tree: turns, and in each what went in, the answer, and the calls with the order of their ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from attrs import define, field

from turnwheel import events as ev
from turnwheel.errors import ParseError
from turnwheel.explaining import row_of
from turnwheel.messages import AssistantMessage, Json, Message, TextContent, ThinkingContent, ToolResult
from turnwheel.recorded import Header, RecordedDecision, RecordedEvent, Recording
from turnwheel.rules import Dialect, Rule, State, Trigger
from turnwheel_adapters.cli.output import brief
from turnwheel_adapters.cli.tree import Node
from turnwheel_adapters.cli.view import call_in_brief, result_in_brief, said_in_brief
from turnwheel_adapters.wording import count

_POLLS: Final = {
    Trigger.steering: "steering",
    Trigger.steering_again: "steering",
    Trigger.follow_up: "follow-up",
}
"""What messages are called that a poll brought."""


def sequence(recording: Recording, dialect: Dialect, source: str) -> Node:
    """Return the tree of a recording. Raises ParseError for a decision that the dialect does not know."""
    builder = _Builder(recording.header, dialect, source)
    for entry in recording.entries:
        if isinstance(entry, RecordedDecision):
            builder.decided(entry)
        elif isinstance(entry, RecordedEvent):
            builder.told(entry.event)
    builder.close()
    for line in _end(recording, builder.last):
        builder.root.add(line)
    return builder.root


def _end(recording: Recording, last: Rule | None) -> Iterator[str]:
    """Yield how the run ended, and why."""
    end = recording.ended
    if end is None:
        yield "the recording breaks off here"
        return
    if end.aborted:
        yield f"aborted: {brief(end.aborted)}" if isinstance(end.aborted, str) else "aborted"
    if end.failure is not None:
        yield f"failed: {brief(end.failure, 200)}"
    if last is not None and last.dest is State.Done:
        yield f"stopped: {last.why}"


@final
@define
class _Call:
    """A call that was taken up; `ended` is its place in the order of the ends."""

    node: Node
    index: int | None
    id: str
    words: str
    updates: int = 0
    ended: int | None = None
    result: str = "not ended"


@final
@define
class _Batch:
    """The calls of one answer."""

    node: Node
    calls: list[_Call] = field(factory=list)
    together: bool = False
    ended: int = 0

    def open_call(self, index: int | None, id_: str) -> _Call | None:
        """Return the call that an event is about: that of the last decision, or the first open one with its id."""
        fitting = (call for call in self.calls if (call.id if index is None else call.index) in (id_, index))
        return next((call for call in fitting if call.ended is None), None)

    def close(self) -> None:
        """Write down what is known now that no call of it goes on."""
        number = len(self.calls)
        how = "" if number == 1 else ", side by side" if self.together else ", one after the other"
        self.node.text = f"{count(number, 'call')}{how}"
        for call in self.calls:
            more = [count(call.updates, "update")] if call.updates else []
            if self.together and call.ended is not None:
                more.append(f"ended as number {call.ended}")
            about = f" ({', '.join(more)})" if more else ""
            call.node.text = f"{call.words}: {call.result}{about}"


@final
class _Builder:
    """Grows the tree of a run, entry by entry."""

    def __init__(self, header: Header, dialect: Dialect, source: str) -> None:
        tools = f"tools {', '.join(header.tools)}" if header.tools else "no tools"
        words = (header.dialect, f"model {header.model}", f"thinking {header.thinking_level}", tools)
        self.root = Node(brief(", ".join(words), 200))
        self.last: Rule | None = None
        """The rule that the loop fired last."""
        self._dialect = dialect
        self._source = source
        self._prepares = dialect.switches.loadouts and "prepare_next_turn" in header.hooks
        self._turn = self.root
        self._label: str | None = None
        """What the next messages are; None: the answer, or results."""
        self._call: int | None = None
        self._updates = 0
        self._answer: AssistantMessage | None = None
        self._batch: _Batch | None = None

    def decided(self, decision: RecordedDecision) -> None:
        """Take a decision: who brought the messages that follow, and which call the events are about."""
        self._call = decision.call
        if decision.machine != "loop":
            return
        try:
            _, rule = row_of(self._dialect, decision.machine, decision.rule)
        except ValueError as error:
            raise ParseError(str(error), path=f"position {decision.at}", source=self._source) from error
        self.last = rule
        if rule.trigger is Trigger.begin:
            self._label = "prompt"
        elif rule.trigger in _POLLS:
            self._label = _POLLS[rule.trigger] if decision.guards.get("pending", True) else "prepared"
        elif rule.trigger is Trigger.prepared and self._prepares and self._label != "prepared":
            self._label = f"{self._label} or prepared"
        elif rule.source is State.Streaming:
            self._label = None

    def told(self, event: ev.Event) -> None:
        """Take an event."""
        match event:
            case ev.TurnStart():
                self.close()
                number = sum(node.text.startswith("turn ") for node in self.root.below) + 1
                self._turn = self.root.add(f"turn {number}")
            case ev.MessageStart():
                self._updates = 0
            case ev.MessageUpdate():
                self._updates += 1
            case ev.MessageEnd(message=message):
                self._message(message)
            case ev.ToolExecutionStart():
                self._started(event.tool_call_id, event.tool_name, event.args)
            case ev.ToolExecutionUpdate() | ev.ToolExecutionEnd():
                self._went_on(event)

    def close(self) -> None:
        """Finish the batch that there is, if there is one, and tell of the calls that it left out."""
        batch, answer = self._batch, self._answer
        self._batch = self._answer = None
        if batch is None:
            return
        batch.close()
        if answer is not None and (dropped := len(answer.tool_calls) - len(batch.calls)) > 0:
            batch.node.add(f"{count(dropped, 'call')} not taken up")

    def _message(self, message: Message) -> None:
        if self._label is not None:
            words = said_in_brief(message)
            self._turn.add(f"{self._label}: {words}" if message.role == "user" else f"{self._label} ({words})")
        elif isinstance(message, AssistantMessage):
            self._answer = message
            updates = f", {count(self._updates, 'update')}" if self._updates else ""
            self._turn.add(f"answer ({message.stop_reason}{updates}): {answer_in_brief(message)}")

    def _started(self, id_: str, name: str, arguments: Json) -> None:
        if self._batch is None:
            self._batch = _Batch(self._turn.add("calls"))
        batch = self._batch
        batch.together |= any(call.ended is None for call in batch.calls)
        words = call_in_brief(name, arguments)
        batch.calls.append(_Call(batch.node.add(words), self._call, id_, words))

    def _went_on(self, event: ev.ToolExecutionUpdate | ev.ToolExecutionEnd) -> None:
        batch = self._batch
        call = batch.open_call(self._call, event.tool_call_id) if batch is not None else None
        if batch is None or call is None:
            return
        if isinstance(event, ev.ToolExecutionUpdate):
            call.updates += 1
            return
        batch.ended += 1
        call.ended = batch.ended
        call.result = f"{'error: ' if event.is_error else ''}{_result(event.result)}"


def _result(result: ToolResult) -> str:
    return brief(result_in_brief(result), 120)


def answer_in_brief(message: AssistantMessage) -> str:
    """Return what an answer says, on one line."""
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    thoughts = [block.thinking for block in message.content if isinstance(block, ThinkingContent)]
    words = [f"(thinking) {brief(' '.join(thoughts))}"] if any(thoughts) and not any(texts) else []
    words += [brief(" ".join(texts))] if any(texts) else []
    words += [f"{message.stop_reason}: {brief(message.error_message)}"] if message.error_message else []
    return "; ".join(words) or "no text"
