"""The form of a transition table: states, guards, rules, and the decision that each fired rule leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, final

from attrs import field, frozen

from turnwheel.showing import Shown
from turnwheel.values import value


class State(StrEnum):
    """The seven states of a trace."""

    AwaitSteering = "AwaitSteering"
    Streaming = "Streaming"
    CheckStop = "CheckStop"
    ExecutingTools = "ExecutingTools"
    TurnEnd = "TurnEnd"
    AwaitFollowUp = "AwaitFollowUp"
    Done = "Done"


class BatchState(StrEnum):
    """How far the tool calls of one answer are. They run in rounds: of all calls at once, or of one call each."""

    Announcing = "Announcing"
    Running = "Running"
    Over = "Over"


class CallState(StrEnum):
    """How far one tool call is."""

    Listed = "Listed"
    Announced = "Announced"
    Prepared = "Prepared"
    Executing = "Executing"
    Finalizing = "Finalizing"
    Ended = "Ended"


AnyState = State | BatchState | CallState


class Trigger(StrEnum):
    """What fires a rule: the kinds of outcome; `ready` (nothing is left to hand out or to fold); a batch's orders."""

    begin = "begin"
    steering = "steering"
    steering_again = "steering_again"
    follow_up = "follow_up"
    prepared = "prepared"
    request_prepared = "request_prepared"
    started = "started"
    delta = "delta"
    finished = "finished"
    stop = "stop"
    turn_finished = "turn_finished"
    failed = "failed"
    ready = "ready"
    announce = "announce"
    looked = "looked"
    execute = "execute"
    cancel = "cancel"
    arguments = "arguments"
    before = "before"
    update = "update"
    returned = "returned"
    after = "after"
    call_failed = "call_failed"


QUIET = frozenset({Trigger.delta})
"""Triggers that come too often to fire: their rows say what happens, and no decision is recorded."""


class Emit(StrEnum):
    """What a rule hands to the observers: an event, or (plural) a run of events for each of several things."""

    agent_start = "agent_start"
    turn_start = "turn_start"
    prompts = "prompts"
    pending = "pending messages"
    message_start = "message_start"
    message_update = "message_update"
    message_end = "message_end"
    refusals = "refusals"
    results = "results"
    turn_end = "turn_end"
    agent_end = "agent_end"
    call_start = "tool_execution_start"
    call_update = "tool_execution_update"
    call_end = "tool_execution_end"


class Ask(StrEnum):
    """The one thing that a rule asks for after its events: an effect, the next step of a batch, or a second look.

    `look_again` asks nobody: `looked` fires when the rule's events have been handed out, so that what their listeners
    did counts.
    """

    poll_steering = "PollSteering"
    poll_steering_again = "PollSteeringAgain"
    poll_follow_up = "PollFollowUp"
    call_model = "CallModel"
    prepare_next_turn = "PrepareNextTurn"
    prepare_request = "PrepareRequest"
    ask_to_stop = "AskToStop"
    finish_turn = "FinishTurn"
    start_batch = "start the batch"
    announce_next = "announce the next call"
    execute_next = "execute the next call"
    cancel_next = "cancel the next call"
    look_again = "look again"
    prepare_arguments = "PrepareArguments"
    before_tool_call = "BeforeToolCall"
    execute_tool = "ExecuteTool"
    after_tool_call = "AfterToolCall"


@final
@frozen(eq=False)
class Guard:
    """A named, pure question to a control view. `~guard` is its negation."""

    name: str
    meaning: str
    holds: Callable[[Any], bool] = field(repr=False)

    def __invert__(self) -> Not:
        return Not(self)

    def __str__(self) -> str:
        return self.name


@final
@frozen(eq=False)
class Not:
    """The negation of a guard."""

    guard: Guard

    def __str__(self) -> str:
        return f"!{self.guard.name}"


@final
@frozen(eq=False)
class Rule:
    """One row: in `source`, on `trigger`, where all guards of `when` hold, go to `dest`.

    The row emits events, asks for one thing, and sets a few facts of the control view. `why` says what it is there for.
    """

    source: AnyState
    trigger: Trigger
    when: Sequence[Guard | Not]
    dest: AnyState
    emits: Sequence[Emit] = ()
    asks: Ask | None = None
    sets: Mapping[str, Any] = field(factory=dict)
    why: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """The row's name, unique in its table: source, trigger and guards."""
        return " ".join([str(self.source), str(self.trigger), *map(str, self.when)])

    @property
    def waits(self) -> bool:
        """Whether the row says that there is nothing to do now. It leaves no decision: asking twice is asking once."""
        idle = not self.emits and not self.sets and self.asks is None
        return idle and self.trigger is Trigger.ready and self.dest is self.source

    def requires(self) -> dict[str, bool]:
        """Return the guards that the row looks at, by name, with the value that each must have."""
        return {
            condition.guard.name if isinstance(condition, Not) else condition.name: not isinstance(condition, Not)
            for condition in self.when
        }

    def same_as(self, other: Rule) -> bool:
        """Say whether `other` is the same row, reasons aside."""
        mine, theirs = ((r.name, r.dest, tuple(r.emits), r.asks, dict(r.sets)) for r in (self, other))
        return mine == theirs


@final
@frozen(eq=False)
class Verdict:
    """A rule together with the guard values under which it was chosen. Precomputed: all runs share them."""

    machine: str
    rule: Rule
    guards: Mapping[str, bool]
    waits: bool = field(init=False, repr=False)

    @waits.default
    def _waits(self) -> bool:
        return self.rule.waits


@final
@value
class Decision:
    """One fired rule: when it fired, which one, and what each guard said.

    `at` is the number of steps that the machine had handed out by then. `call` is the position of the tool call in its
    answer, or None for the loop and the batch.
    """

    at: int
    verdict: Verdict
    call: int | None = None

    @property
    def machine(self) -> str:
        """`loop`, `batch` or `call`."""
        return self.verdict.machine

    @property
    def rule(self) -> Rule:
        """The rule that fired."""
        return self.verdict.rule

    @property
    def guards(self) -> Mapping[str, bool]:
        """What each guard that was asked said, by name."""
        return self.verdict.guards


@final
@frozen(eq=False)
class Choice:
    """All rows of one source and trigger; `verdicts` is indexed by the guards' values, the first one the lowest bit."""

    guards: Sequence[Guard]
    verdicts: Sequence[Verdict | None]


@final
@frozen(eq=False)
class Table(Shown):
    """A checked transition table (see turnwheel.check.build)."""

    name: str
    initial: AnyState
    final: AnyState
    rules: Sequence[Rule]
    choices: Mapping[tuple[AnyState, Trigger], Choice] = field(repr=False)

    @property
    def states(self) -> list[AnyState]:
        """All states, in the order of their enumeration."""
        return list(type(self.initial))


@final
@frozen
class Switches:
    """In what the data of two dialects differ, where no decision does. Each switch names the Pi version that set it."""

    content_required: bool = field(
        metadata={"since": "0.80.6", "why": "a result without content gets the empty list in its message"}
    )
    fields_kept: bool = field(
        metadata={"since": "0.80.7", "why": "the after hook no longer drops fields of a result that it does not name"}
    )
    tool_names_added: bool = field(
        metadata={"since": "0.80.7", "why": "addedToolNames of a result is copied into its message, until 0.85.1"}
    )
    result_usage: bool = field(
        metadata={
            "since": "0.81.0",
            "why": "usage of a result is copied into its message; the after hook may replace it",
        }
    )
    arguments: str = field(
        metadata={
            "since": "0.84.0",
            "why": "the rules by which arguments are coerced, named after a version of Pi that has them",
        }
    )
    arguments_errors: bool = field(
        default=False,
        metadata={
            "since": "1.3.0",
            "why": "a call whose argumentsError says that its arguments could not be read fails with that text",
        },
    )
    loadouts: bool = field(
        default=False,
        metadata={
            "since": "0.86.0",
            "why": "system prompt and tools are system messages of the transcript, which say what changed",
        },
    )
    thinking_levels: bool = field(
        default=False, metadata={"since": "0.99.1", "why": "an answer carries the thinking level that was asked for"}
    )
    error_flags: bool = field(
        default=False,
        metadata={"since": "0.99.1", "why": "a result that says isError is an error without being raised"},
    )
    structured_content: bool = field(
        default=False,
        metadata={
            "since": "0.99.1",
            "why": "the after hook may replace structuredContent, and drops it where it replaces the content alone",
        },
    )


@final
@frozen
class AgentTraits:
    """In what the Agent class around the loop differs."""

    hooks: frozenset[str] = frozenset({"prepare_next_turn", "should_stop", "before_tool_call", "after_tool_call"})
    """The hooks that it hands on to the loop, which itself offers all (should_stop: since Pi 0.84.0)."""
    resets_while_running: bool = False
    """Whether `reset` may be called while a run is on (up to Pi 0.84.0)."""


@final
@frozen(eq=False)
class Dialect(Shown):
    """A named set of tables and switches: one version of the loop."""

    name: str
    loop: Table
    batch: Table
    call: Table
    switches: Switches
    agent: AgentTraits = AgentTraits()

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """The three tables: the loop, the batch, the tool call."""
        return self.loop, self.batch, self.call
