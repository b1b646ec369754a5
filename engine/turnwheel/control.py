"""The control view: the few small facts that decide what happens next, and the guards that ask about them.

A fact is a flag, a count or a word; the transcript is not here. Every fact says which values it can take (a count:
none, one, several), so that a table can be checked, explored and exported. Machines write facts; guards read them.
"""

from __future__ import annotations

from typing import Any, Final, get_args

import attrs
from attrs import define, field

from turnwheel.messages import StopReason
from turnwheel.rules import BatchState, CallState, Guard, State

_FLAG = (False, True)
_COUNT = (0, 1, 2)
RESULTS = ("own", "not_found", "failed", "aborted", "blocked", "blocked_for_good")
"""Where the result of a call comes from: its tool, or one of the loop's own error results."""


def _flag(meaning: str, *, default: bool = False) -> bool:
    return field(default=default, metadata={"domain": _FLAG, "meaning": meaning})


def _count(meaning: str) -> int:
    return field(default=0, metadata={"domain": _COUNT, "meaning": meaning})


def _word(default: str, domain: tuple[str, ...], meaning: str) -> str:
    return field(default=default, metadata={"domain": domain, "meaning": meaning})


@define
class Control:
    """The facts of a run, and of the batch that it is executing."""

    state: State = State.AwaitSteering
    prompt: bool = _flag("the run was begun with prompts")
    continuable: bool = _flag("there is a message, and the last one is not an assistant's")
    first_turn: bool = _flag("the model has not been called yet", default=True)
    chain: bool = _flag("the last batch had calls, and not every result of it said terminate")
    pending: int = _count("messages that the last poll brought")
    shown: bool = _flag("the start of the answer has been handed out")
    stop_reason: str = _word("stop", get_args(StopReason), "why the answer ended")
    calls: int = _count("tool calls in the answer")
    stop_wanted: bool = _flag("the stop hook said stop")
    more_wanted: bool = _flag("the hook at the end of the turn asked for one more")
    aborted: bool = _flag("abort was noted")
    failed: bool = _flag("the run failed: it ends without agent_end")

    batch: BatchState = BatchState.Over
    sequential: bool = _flag("the calls of the batch run one after the other")
    fresh: bool = _flag("no call of the batch has been announced")
    taken: bool = _flag("a call of this round has been announced")
    listed: int = _count("calls not announced yet")
    announced: int = _count("calls being prepared")
    prepared: int = _count("calls that wait for execution")
    executing: int = _count("calls whose tool runs")
    finalizing: int = _count("calls that wait for the after hook")
    ended: int = _count("calls that are over")
    terminating: int = _count("calls that are over and whose result says terminate")


@define
class CallControl:
    """The facts of one tool call."""

    run: Control
    state: CallState = CallState.Listed
    known: bool = _flag("the context has a tool of that name")
    blocked: bool = _flag("the before hook blocked the call")
    for_good: bool = _flag("the before hook said terminate")
    vetted: bool = _flag("there is a before hook, and it has answered")
    result: str = _word("own", RESULTS, "where the result comes from")

    @property
    def aborted(self) -> bool:
        """Abort was noted."""
        return self.run.aborted


def facts(control: type[Control] | type[CallControl]) -> dict[str, tuple[Any, ...]]:
    """Return the facts that guards of this view may read, each with the values that it can take."""
    found = {f.name: f.metadata["domain"] for f in attrs.fields(control) if "domain" in f.metadata}
    if control is CallControl:
        found["aborted"] = _FLAG
    return found


def meanings(control: type[Control] | type[CallControl]) -> dict[str, str]:
    """Return what each fact says, in words."""
    return {f.name: f.metadata["meaning"] for f in attrs.fields(control) if "meaning" in f.metadata}


# --- guards of the loop -------------------------------------------------------------------------------------------

prompt: Final = Guard("prompt", "the run was begun with prompts", lambda c: c.prompt)
continuable: Final = Guard(
    "continuable", "there is a message, and the last one is not an assistant's", lambda c: c.continuable
)
first_turn: Final = Guard("first_turn", "the model has not been called yet", lambda c: c.first_turn)
chain: Final = Guard("chain", "tool results wait for the model's answer", lambda c: c.chain)
pending: Final = Guard("pending", "the last poll brought messages", lambda c: c.pending > 0)
shown: Final = Guard("shown", "the start of the answer has been handed out", lambda c: c.shown)
hard_stop: Final = Guard(
    "hard_stop", "the answer ended with error or aborted", lambda c: c.stop_reason in ("error", "aborted")
)
calls: Final = Guard("calls", "the answer holds tool calls", lambda c: c.calls > 0)
cut_off: Final = Guard("cut_off", "the answer hit the output limit", lambda c: c.stop_reason == "length")
stop_wanted: Final = Guard("stop_wanted", "the stop hook said stop", lambda c: c.stop_wanted)
more_wanted: Final = Guard("more_wanted", "the hook at the end of the turn asked for one more", lambda c: c.more_wanted)
all_terminate: Final = Guard(
    "all_terminate", "every result of the batch says terminate", lambda c: c.terminating == c.ended
)

# --- guards of the batch ------------------------------------------------------------------------------------------

preparing: Final = Guard("preparing", "a call is being prepared", lambda c: c.announced > 0)
another: Final = Guard(
    "another",
    "this round takes another call: one is left, the run is not aborted (or it is the very first), and a sequential "
    "round is still empty",
    lambda c: c.listed > 0 and (c.fresh or not c.aborted) and not (c.sequential and c.taken),
)
another_still: Final = Guard(
    "another_still",
    "this round takes another call: one is left, and a sequential round is still empty",
    lambda c: c.listed > 0 and not (c.sequential and c.taken),
)
sequential: Final = Guard("sequential", "the calls of the batch run one after the other", lambda c: c.sequential)
taken: Final = Guard("taken", "this round has a call", lambda c: c.taken)
prepared: Final = Guard("prepared", "a prepared call waits for execution", lambda c: c.prepared > 0)
busy: Final = Guard("busy", "a call is executed or finalized", lambda c: c.executing > 0 or c.finalizing > 0)
aborted: Final = Guard("aborted", "abort was noted", lambda c: c.aborted)

# --- guards of a tool call (and `aborted`) ------------------------------------------------------------------------

known: Final = Guard("known", "the context has a tool of that name", lambda c: c.known)
blocked: Final = Guard("blocked", "the before hook blocked the call", lambda c: c.blocked)
for_good: Final = Guard("for_good", "the before hook that blocked it also said terminate", lambda c: c.for_good)
vetted: Final = Guard("vetted", "there is a before hook, and it has answered", lambda c: c.vetted)
