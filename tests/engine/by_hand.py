"""Driving a bare machine by hand: short words for what it hands out, and outcomes that find the effect they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args

from turnwheel import effects as fx
from turnwheel import events as ev
from turnwheel import outcomes as oc
from turnwheel.loadout import led
from turnwheel.machine import DONE, WAITING, Machine
from turnwheel.messages import (
    ABSENT,
    AssistantMessage,
    Content,
    Json,
    StopReason,
    TextContent,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    user,
)
from turnwheel.outcomes import (
    HOOKS,
    Begun,
    NextRequest,
    NextTurn,
    Outcome,
    ResultChanges,
    RunConfig,
    TurnAction,
)
from turnwheel.rules import Decision
from turnwheel.stream import Finished, Started, StreamStep, TextDelta
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.table import dialect as dialect_of
from turnwheel.tool import Context, ExecutionMode, Tool
from turnwheel.transcript import Transcript

BOTH = ("pi-0.80.2", "pi-0.85.1")
"""The dialects up to Pi 0.85: no system messages, and a hook that is asked to stop."""
LATEST = "pi-1.6.0"
ALL = (*BOTH, LATEST)
QUEUES = frozenset({"steering", "follow_up"})
TOOLS = (Tool("work"), Tool("alone", execution_mode="sequential"))

Step = Any
"""An event or an effect. Tests look at what only one kind of them has."""


def begin(
    *,
    dialect: str = DEFAULT_DIALECT,
    prompts: Iterable[str] | None = ("go",),
    messages: Iterable[Any] = (),
    hooks: Iterable[str] = HOOKS,
    mode: ExecutionMode = "parallel",
    tools: tuple[Tool, ...] = TOOLS,
    at: int | None = None,
) -> Machine:
    """Return a machine at its very beginning; all hooks are configured unless said otherwise.

    Its context leads with a system message where the dialect has such messages.
    """
    said = None if prompts is None else tuple(user(text) for text in prompts)
    config = RunConfig(tool_execution=mode, hooks=frozenset(hooks))
    context = Context("", Transcript(messages), tools)
    if dialect_of(dialect).switches.loadouts and (context.messages or said is not None):
        context = led(context)
    return Machine(Begun(context, said, config, at), dialect)


def calls(*ids: str, tool: str = "work") -> tuple[ToolCall, ...]:
    """Return calls of one tool."""
    return tuple(ToolCall(name, tool) for name in ids)


def answer(*content: Content | str, stop_reason: StopReason | None = None, at: int | None = None) -> Finished:
    """Return the end of an answer; a string is a block of text."""
    blocks = tuple(TextContent(block) if isinstance(block, str) else block for block in content)
    usual: StopReason = "toolUse" if any(isinstance(block, ToolCall) for block in blocks) else "stop"
    return Finished(AssistantMessage(blocks, stop_reason or usual), at)


def word(step: Any) -> str:
    """Return a step in a few words: an event by what it tells, an effect by its class; each with its call."""
    match step:
        case ev.MessageStart(message=message) | ev.MessageEnd(message=message):
            whose = f" {message.tool_call_id}" if isinstance(message, ToolResultMessage) else ""
            return f"{step.type.removeprefix('message_')} {message.role}{whose}"
        case ev.MessageUpdate():
            return f"update {step.step.type}"
        case ev.ToolExecutionStart():
            return f"call {step.tool_call_id}"
        case ev.ToolExecutionUpdate():
            return f"progress {step.tool_call_id}"
        case ev.ToolExecutionEnd():
            return f"{'failed' if step.is_error else 'done'} {step.tool_call_id}"
    if isinstance(step, get_args(fx.CallEffect)):
        return f"{type(step).__name__} {step.call.id}"
    return type(step).__name__ if isinstance(step, get_args(fx.Effect)) else str(step.type)


def text_of(end: ev.ToolExecutionEnd) -> str:
    """Return the text that a call ended with."""
    content: Any = end.result.content
    return "".join(block.text for block in content or () if isinstance(block, TextContent))


def flat(*parts: str | list[str]) -> list[str]:
    """Put words and lists of words behind one another."""
    return [word for part in parts for word in ([part] if isinstance(part, str) else part)]


def results(*ids: str) -> list[str]:
    """Return the words of the result messages of these calls."""
    return [f"{what} toolResult {name}" for name in ids for what in ("start", "end")]


class Hand:
    """A machine and all that it has handed out. A method sends one outcome and returns the words of what followed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.steps: list[Step] = []
        self.decisions: list[Decision] = []

    def drain(self) -> list[str]:
        """Take what the machine has, up to WAITING or DONE."""
        before = len(self.steps)
        while (step := self.one()) is not None:
            self.steps.append(step)
        return [word(step) for step in self.steps[before:]]

    def one(self) -> Step | None:
        """Take one step; None at a pause."""
        step = self.machine.next()
        self.decisions += self.machine.decided
        return None if step is WAITING or step is DONE else step

    def send(self, *outcomes: Outcome) -> list[str]:
        """Send outcomes, one right after the other."""
        for outcome in outcomes:
            self.machine.send(outcome)
        return self.drain()

    def effect(self, name: str) -> Any:
        """Return the outstanding effect of these words; the last part may be left out."""
        (found,) = (effect for effect in self.machine.awaited if word(effect).startswith(name))
        return found

    def polled(self, *texts: str, at: int | None = None) -> list[str]:
        return self.send(oc.Polled(self.effect("Poll").id, tuple(user(text) for text in texts), at))

    def answered(self, *content: Content | str, stop_reason: StopReason | None = None) -> list[str]:
        return self.send(answer(*content, stop_reason=stop_reason))

    def prepared(self, changes: NextTurn | None = None) -> list[str]:
        return self.send(oc.NextTurnPrepared(self.effect("PrepareNextTurn").id, changes))

    def request(self, changes: NextRequest | None = None) -> list[str]:
        return self.send(oc.RequestPrepared(self.effect("PrepareRequest").id, changes))

    def decided(self, stop: bool = False) -> list[str]:
        return self.send(oc.StopDecided(self.effect("AskToStop").id, stop))

    def finished(self, action: TurnAction | None = None) -> list[str]:
        return self.send(oc.TurnFinished(self.effect("FinishTurn").id, action))

    def valid(self, call: str, arguments: Json = None) -> list[str]:
        return self.send(oc.ArgumentsPrepared(self.effect(f"PrepareArguments {call}").id, arguments))

    def before(self, call: str, block: bool = False, reason: str | None = None, terminate: bool = False) -> list[str]:
        return self.send(oc.BeforeAnswered(self.effect(f"BeforeToolCall {call}").id, block, reason, terminate))

    def progress(self, call: str, text: str = "half") -> list[str]:
        return self.send(oc.Progress(self.effect(f"ExecuteTool {call}").id, ToolResult.of(text)))

    def returned(self, call: str, *, terminate: Json = ABSENT, at: int | None = None) -> list[str]:
        result = ToolResult.of(call, terminate=terminate)
        return self.send(oc.Returned(self.effect(f"ExecuteTool {call}").id, result, at))

    def after(self, call: str, changes: ResultChanges | None = None) -> list[str]:
        return self.send(oc.AfterAnswered(self.effect(f"AfterToolCall {call}").id, changes))

    def raised(self, effect: str, error: str = "broken") -> list[str]:
        return self.send(oc.Raised(self.effect(effect).id, error))

    def failed(self, effect: str, error: str = "down") -> list[str]:
        return self.send(oc.Failed(self.effect(effect).id, error))

    def ends(self) -> dict[str, str]:
        """Return the text that each call ended with, by its id."""
        return {end.tool_call_id: text_of(end) for end in self.steps if isinstance(end, ev.ToolExecutionEnd)}


def asked(*content: Content | str, stop_reason: StopReason | None = None, **setup: Any) -> Hand:
    """Return a run of which the first answer is `content`, drained."""
    hand = Hand(begin(**setup))
    hand.drain()
    if "steering" in setup.get("hooks", HOOKS):
        hand.polled()
    if hand.machine.dialect.name == LATEST and "prepare_request" in setup.get("hooks", HOOKS):
        hand.request()
    hand.answered(*content, stop_reason=stop_reason)
    return hand


def possible(machine: Machine) -> dict[str, Outcome]:
    """Return every kind of answer that the machine can get now, by a name that does not depend on effect ids."""
    found: dict[str, Outcome] = {}
    for effect in machine.awaited:
        for name, outcome in _ANSWERS[type(effect)](effect.id).items():
            found[f"{word(effect)}: {name}"] = outcome
    return found


def _polls(n: int) -> dict[str, Outcome]:
    return {"nothing": oc.Polled(n), "one": oc.Polled(n, (user("psst"),)), "fails": oc.Failed(n, "no queue")}


def _answers(n: int) -> dict[str, Outcome]:
    steps: dict[str, StreamStep] = {
        "starts": Started(),
        "delta": TextDelta(0, "x"),
        "text": answer("hi"),
        "one call": answer(*calls("c1")),
        "two calls": answer(*calls("c1", "c2")),
        "alone": answer(*calls("c1", tool="alone"), *calls("c2")),
        "unknown": answer(*calls("c1", tool="nobody"), *calls("c2")),
        "cut off": answer(*calls("c1", "c2"), stop_reason="length"),
        "error": answer("oh", stop_reason="error"),
    }
    return {**steps, "fails": oc.Failed(n, "no stream")}


_ANSWERS: dict[type, Any] = {
    fx.PollSteering: _polls,
    fx.PollSteeringAgain: _polls,
    fx.PollFollowUp: _polls,
    fx.CallModel: _answers,
    fx.PrepareNextTurn: lambda n: {"same": oc.NextTurnPrepared(n), "fails": oc.Failed(n, "unprepared")},
    fx.PrepareRequest: lambda n: {
        "same": oc.RequestPrepared(n),
        "without tools": oc.RequestPrepared(n, NextRequest(Context())),
        "fails": oc.Failed(n, "unprepared"),
    },
    fx.FinishTurn: lambda n: {
        "on": oc.TurnFinished(n),
        "end": oc.TurnFinished(n, "end"),
        "continue": oc.TurnFinished(n, "continue"),
        "fails": oc.Failed(n, "unfinished"),
    },
    fx.AskToStop: lambda n: {
        "on": oc.StopDecided(n),
        "stop": oc.StopDecided(n, True),
        "fails": oc.Failed(n, "undecided"),
    },
    fx.PrepareArguments: lambda n: {"valid": oc.ArgumentsPrepared(n, {}), "bad": oc.Raised(n, "bad")},
    fx.BeforeToolCall: lambda n: {
        "on": oc.BeforeAnswered(n),
        "block": oc.BeforeAnswered(n, True),
        "block for good": oc.BeforeAnswered(n, True, None, True),
        "raises": oc.Raised(n, "hook"),
    },
    fx.ExecuteTool: lambda n: {
        "progress": oc.Progress(n, ToolResult.of("half")),
        "result": oc.Returned(n, ToolResult.of("ok")),
        "last result": oc.Returned(n, ToolResult.of("ok", terminate=True)),
        "raises": oc.Raised(n, "tool"),
    },
    fx.AfterToolCall: lambda n: {
        "same": oc.AfterAnswered(n),
        "last": oc.AfterAnswered(n, ResultChanges(terminate=True)),
        "raises": oc.Raised(n, "after"),
    },
}


def positions() -> Iterator[tuple[str, Hand]]:
    """Yield a run waiting for each kind of effect, with that effect's name."""
    yield "PollSteering", Hand(begin())
    yield "CallModel", asked_for_model()
    hand = asked(*calls("c1"))
    moves: list[tuple[str, Callable[[Hand], object]]] = [
        ("PrepareArguments", lambda h: h.valid("c1")),
        ("BeforeToolCall", lambda h: h.before("c1")),
        ("ExecuteTool", lambda h: h.returned("c1")),
        ("AfterToolCall", lambda h: h.after("c1")),
        ("AskToStop", lambda h: h.decided()),
        ("PollSteering", lambda h: h.polled()),
        ("PrepareNextTurn", lambda h: h.prepared()),
        ("PollSteeringAgain", lambda h: h.polled()),
    ]
    for name, move in moves:
        yield name, Hand(hand.machine.copy())
        move(hand)
    end = asked("hi", hooks=QUEUES)
    end.polled()
    yield "PollFollowUp", end
    latest = Hand(begin(dialect=LATEST, hooks=["prepare_request", "finish_turn"]))
    latest.drain()
    yield "PrepareRequest", Hand(latest.machine.copy())
    latest.request()
    latest.answered("hi")
    yield "FinishTurn", latest


def asked_for_model() -> Hand:
    """Return a run that waits for its first answer."""
    hand = Hand(begin())
    hand.drain()
    hand.polled()
    return hand


def walk(machine: Machine, moves: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Drive a machine by numbers, each of which chooses what happens next; yield all that it shows."""
    for move in moves:
        step = machine.next()
        yield shown(step), machine.decided, machine.state, machine.position
        if move % 10 == 9:
            machine.abort()
        if step is WAITING and (answers := possible(machine)):
            name = sorted(answers)[move % len(answers)]
            machine.send(answers[name])
            yield (name,)


def shown(step: Any) -> Any:
    """Return a step so that comparing it compares everything."""
    return (step, step.message) if isinstance(step, ev.MessageUpdate) else step


def drained(machine: Machine) -> Machine:
    """Return the machine at its next pause."""
    Hand(machine).drain()
    return machine
