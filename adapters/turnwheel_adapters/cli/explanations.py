"""The decisions of a recording in plain words: what had happened, which rule fired, and what else could have been."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, final

from attrs import frozen

from turnwheel import events as ev
from turnwheel.errors import ParseError
from turnwheel.explaining import Alternative, Explanation, decides_to_stop, explain
from turnwheel.folds import DEFAULTS
from turnwheel.messages import AssistantMessage
from turnwheel.recorded import Header, RecordedDecision, RecordedEvent, Recording
from turnwheel.rules import BatchState, Dialect, Guard, Not, Rule, State, Trigger
from turnwheel_adapters.cli.markdown import known
from turnwheel_adapters.cli.output import brief
from turnwheel_adapters.wording import listed

HAPPENED: Final[Mapping[Trigger, str]] = {
    Trigger.begin: "the run begins",
    Trigger.steering: "the steering queue was polled",
    Trigger.steering_again: "the steering queue was polled once more",
    Trigger.follow_up: "the follow-up queue was polled",
    Trigger.prepared: "the hook that prepares turns has answered",
    Trigger.request_prepared: "the hook that prepares requests has answered",
    Trigger.started: "the answer begins",
    Trigger.delta: "the answer grows",
    Trigger.finished: "the answer has ended",
    Trigger.stop: "the stop hook has answered",
    Trigger.turn_finished: "the hook at the end of the turn has answered",
    Trigger.failed: "something failed that is no tool call",
    Trigger.ready: "the answer is complete",
    Trigger.announce: "its turn has come",
    Trigger.looked: "its start has been told",
    Trigger.execute: "the batch has it executed",
    Trigger.cancel: "the batch has it cancelled",
    Trigger.arguments: "its arguments are valid",
    Trigger.before: "the before hook has answered",
    Trigger.update: "its tool told of progress",
    Trigger.returned: "its tool came back",
    Trigger.after: "the after hook has answered",
    Trigger.call_failed: "a part of it failed",
}
"""What fires a rule, in words; for `ready` and for hooks that are not there see `happened`."""

_READY: Final[Mapping[object, str]] = {
    State.ExecutingTools: "the batch is over",
    BatchState.Announcing: "the batch looks for its next call",
    BatchState.Running: "the batch looks for what to do next",
}
MISSING: Final[Mapping[str, str]] = {
    "steering": "there is no steering queue",
    "follow_up": "there is no follow-up queue",
    "prepare_next_turn": "there is no hook that prepares turns",
    "prepare_request": "there is no hook that prepares requests",
    "should_stop": "there is no stop hook",
    "finish_turn": "there is no hook at the end of the turn",
    "before_tool_call": "there is no before hook",
    "after_tool_call": "there is no after hook",
}
"""What is said of an answer that nobody gave: the hook is not there, and counts as one that changes nothing."""
_HOOK_OF: Final = {trigger: hook for hook, trigger, _ in DEFAULTS.values()}


def happened(rule: Rule, header: Header) -> str:
    """Say what had happened when a rule fired."""
    if (hook := _HOOK_OF.get(rule.trigger)) is not None and hook not in header.hooks:
        return MISSING[hook]
    if rule.trigger is Trigger.ready:
        return _READY.get(rule.source, HAPPENED[Trigger.ready])
    return HAPPENED[rule.trigger]


@final
@frozen
class Explained:
    """A decision, explained: in which turn it was taken, counted from 1 (0: before the first), and for which answer."""

    decision: RecordedDecision
    explanation: Explanation
    turn: int
    answer: AssistantMessage | None

    @property
    def place(self) -> str:
        """Where in the run it was taken."""
        place = f"turn {self.turn}, position {self.decision.at}" if self.turn else f"position {self.decision.at}"
        if self.decision.call is None:
            return place
        calls = self.answer.tool_calls if self.answer is not None else ()
        name = f" ({brief(calls[self.decision.call].name, 60)})" if self.decision.call < len(calls) else ""
        return f"{place}, call {self.decision.call + 1}{name}"


def explained(recording: Recording, dialect: Dialect, source: str) -> Iterator[Explained]:
    """Yield each decision of a recording. Raises ParseError for one that the tables of the dialect do not know."""
    turn = 0
    answer: AssistantMessage | None = None
    for entry in recording.entries:
        match entry:
            case RecordedEvent(event=ev.TurnStart()):
                turn += 1
            case RecordedEvent(event=ev.MessageEnd(message=AssistantMessage() as message)):
                answer = message
            case RecordedDecision():
                try:
                    explanation = explain(dialect, entry.machine, entry.rule, entry.guards)
                except ValueError as error:
                    raise ParseError(str(error), path=f"position {entry.at}", source=source) from error
                yield Explained(entry, explanation, turn, answer)


def stops(decisions: Iterable[Explained]) -> Iterator[Explained]:
    """Yield the decisions of the loop by which the run stopped or went on."""
    return (each for each in decisions if each.decision.machine == "loop" and decides_to_stop(each.explanation.rule))


# --- one decision -------------------------------------------------------------------------------------------------


def in_full(each: Explained, header: Header) -> Iterator[str]:
    """Yield the lines that explain a decision."""
    why = each.explanation
    yield f"{each.place}: {happened(why.rule, header)}"
    yield f"  {upper_first(_leads(why.rule))}. {why.rule.why}"
    yield f"  rule: {known(why.rule)}"
    for sign, guards in (("yes", why.held), ("no", why.not_held)):
        for guard in guards:
            yield f"  {sign}:{' ' * (4 - len(sign))} {guard.name}: {guard.meaning}"
    for other in why.alternatives:
        yield f"  else: {other_way(other)}"


def _leads(rule: Rule) -> str:
    """Say where a rule leads, and what it asks for."""
    asks = f", then {rule.asks}" if rule.asks is not None else ""
    if rule.dest is State.Done:
        return "the run stops"
    return f"stays in {rule.dest}{asks}" if rule.source is rule.dest else f"{rule.source} → {rule.dest}{asks}"


def other_way(other: Alternative) -> str:
    """Say under which conditions another rule would have fired, and where that leads."""
    conditions = listed([_condition(condition) for condition in other.lacked])
    return f"if {conditions}: {_leads(other.rule)}. {other.rule.why}"


def _condition(condition: Guard | Not) -> str:
    return f"{condition.guard} had not held" if isinstance(condition, Not) else f"{condition} had held"


# --- the end ------------------------------------------------------------------------------------------------------


def why_stopped(recording: Recording, decisions: Iterable[Explained]) -> str:
    """Return one paragraph about the end of the run."""
    last = next((each for each in reversed([*decisions]) if each.decision.machine == "loop"), None)
    sentences = [*_end(recording), *_last(recording, last)]
    return " ".join(map(upper_first, sentences))


def upper_first(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def _end(recording: Recording) -> Iterator[str]:
    """Yield what the end itself says of the run."""
    end = recording.ended
    if end is None:
        yield "the recording breaks off before the end of the run."
        return
    if end.failure is not None:
        yield f"the run failed: {brief(end.failure, 500).rstrip('.')}."
    if end.aborted:
        reason = f" ({brief(end.aborted, 200)})" if isinstance(end.aborted, str) else ""
        yield f"it was aborted{reason}, which moves nothing by itself: the model, the tools and some rules look at it."


def _last(recording: Recording, last: Explained | None) -> Iterator[str]:
    """Yield what the loop's last decision says of the run."""
    if last is None:
        yield "the loop had decided nothing."
        return
    rule = last.explanation.rule
    if rule.dest is not State.Done:
        yield f"the last decision of the loop is that of {last.place}, which leads to {rule.dest}. {rule.why}"
        return
    yield f"the run stopped at {last.place} ({happened(rule, recording.header)}). {rule.why}"
    if rule.trigger is Trigger.failed:
        return
    if last.answer is not None:
        said = f", saying: {brief(last.answer.error_message, 300)}" if last.answer.error_message else ""
        yield f"the last answer has the stop reason {last.answer.stop_reason}{said}{'' if said.endswith('.') else '.'}"
    why = last.explanation
    for sign, guards in (("held", why.held), ("did not hold", why.not_held)):
        if guards:
            yield f"what {sign}: {listed([f'{guard.name} ({guard.meaning})' for guard in guards])}."
    for other in why.alternatives:
        yield other_way(other)
