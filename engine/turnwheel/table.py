"""The table: every rule by which a run goes on or stops.

Read it from top to bottom. A run is one walk through LOOP; while it stands in ExecutingTools, BATCH decides which call
comes next, and CALL is walked once by every tool call. A rule reads: in this state, on this trigger, where these guards
hold, go there; emit these events, then ask for this one thing.

Two rules for editors. A decision that changes what happens next is a row here with a named guard (turnwheel.control),
never an `if` elsewhere. And a row is never edited for one dialect: Pi's changes are groups of rows, named for what
changed, and a dialect is a sum of groups.

What cannot be said in rows: an effect whose hook is not configured is answered at once with its default; `fail` drops
the events that are still queued; a delta fires nothing (its rows say what an observer sees).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final

from turnwheel.check import build
from turnwheel.control import (
    CallControl,
    Control,
    aborted,
    all_terminate,
    another,
    another_still,
    blocked,
    busy,
    calls,
    chain,
    continuable,
    cut_off,
    first_turn,
    for_good,
    hard_stop,
    known,
    more_wanted,
    pending,
    prepared,
    preparing,
    prompt,
    sequential,
    shown,
    stop_wanted,
    taken,
    vetted,
)
from turnwheel.rules import (
    AgentTraits,
    Ask,
    BatchState,
    CallState,
    Dialect,
    Emit,
    Guard,
    Rule,
    State,
    Switches,
    Trigger,
)

AwaitSteering, Streaming, CheckStop, ExecutingTools, TurnEnd, AwaitFollowUp, Done = State
Announcing, Running, Over = BatchState
Listed, Announced, Prepared, Executing, Finalizing, Ended = CallState
on = Trigger

INJECTED: Final = {"pending": 0}

# Rows are laid out by hand: what decides, what follows, why.
# fmt: off

# --- the loop: rows of every dialect ------------------------------------------------------------------------------

BEGIN = (
    Rule(AwaitSteering, on.begin, [prompt], AwaitSteering,
         [Emit.agent_start, Emit.turn_start, Emit.prompts], Ask.poll_steering,
         why="A run with prompts announces them; what the user typed meanwhile goes in before the first request."),
    Rule(AwaitSteering, on.begin, [~prompt, continuable], AwaitSteering,
         [Emit.agent_start, Emit.turn_start], Ask.poll_steering,
         why="Going on from a context says nothing of its old messages."),
    Rule(AwaitSteering, on.begin, [~prompt, ~continuable], Done, sets={"failed": True},
         why="There is nothing to answer: no message, or the last one is already the assistant's."),
)

POLL = (
    Rule(AwaitSteering, on.steering, [~first_turn, ~chain, ~pending], AwaitFollowUp, asks=Ask.poll_follow_up,
         why="No tool result waits and nobody steers: the run would stop here."),
)

STREAM = (
    Rule(Streaming, on.started, [], Streaming, [Emit.message_start], sets={"shown": True},
         why="The answer begins; observers see it grow from here."),
    Rule(Streaming, on.delta, [shown], Streaming, [Emit.message_update],
         why="The answer grew by one step."),
    Rule(Streaming, on.delta, [~shown], Streaming,
         why="A step before the start counts, but there is no message yet that could show it."),
    Rule(Streaming, on.finished, [shown], CheckStop, [Emit.message_end], sets={"shown": False},
         why="The final message takes the place of the partial one."),
    Rule(Streaming, on.finished, [~shown], CheckStop, [Emit.message_start, Emit.message_end],
         why="An answer that came without a start is announced whole, so that every message has both events."),
)

FAIL = tuple(
    Rule(state, on.failed, [], Done, sets={"failed": True},
         why="The world failed outside a tool call, or a listener did: the run breaks off, no event is made up for it.")
    for state in State
    if state is not Done
)

# --- the loop: what changed ---------------------------------------------------------------------------------------


def _turn_ends(emits: list[Emit], asks: Ask) -> tuple[Rule, ...]:
    """Return the ways out of a turn: what is told of it at once, and the hook of `asks` that is the first to hear."""
    return (
        Rule(CheckStop, on.ready, [~hard_stop, ~calls], TurnEnd, emits, asks, {"chain": False},
             why="An answer without calls ends the chain of turns, whatever its stop reason says."),
        Rule(ExecutingTools, on.ready, [~all_terminate], TurnEnd, emits, asks, {"chain": True},
             why="The batch is over, and the model has to see its results."),
        Rule(ExecutingTools, on.ready, [all_terminate], TurnEnd, emits, asks, {"chain": False},
             why="Every tool of the batch said that it was the last one: every, not some."),
    )


def _first_turn_begins(asks: Ask) -> tuple[Rule, ...]:
    """Return the way into the first turn, `asks` being the first thing that is done for its request."""
    return (
        Rule(AwaitSteering, on.steering, [first_turn], Streaming,
             [Emit.pending], asks, {"first_turn": False, **INJECTED},
             why="The first turn has begun already, and the model is asked whether or not somebody steers."),
    )


def _calls_refused(emits: list[Emit], asks: Ask) -> tuple[Rule, ...]:
    """Return the way out of a turn whose calls were cut off; `emits` and `asks` as for any other turn that ends."""
    return (
        Rule(CheckStop, on.ready, [~hard_stop, calls, cut_off], TurnEnd,
             [Emit.refusals, *emits], asks, {"chain": True},
             why="The arguments may have been cut off with the answer: no call runs, the model is told to ask again."),
    )


def _prepared_turn_begins(asks: Ask) -> tuple[Rule, ...]:
    """Return the ways into a turn that was prepared, `asks` being the first thing that is done for its request."""
    return (
        Rule(AwaitSteering, on.prepared, [pending], Streaming, [Emit.turn_start, Emit.pending], asks, INJECTED,
             why="A poll has brought its messages already; another one would bring two where one at a time is wanted."),
        Rule(AwaitSteering, on.steering_again, [], Streaming, [Emit.turn_start, Emit.pending], asks, INJECTED,
             why="The turn begins, with or without a late steering message."),
    )


STOP_HOOK = (
    Rule(CheckStop, on.ready, [hard_stop], Done, [Emit.turn_end, Emit.agent_end],
         why="The call failed or was cancelled: no tool runs, and no queue and no hook is asked."),
    Rule(TurnEnd, on.stop, [stop_wanted], Done, [Emit.agent_end],
         why="The stop hook outranks tool results and both queues."),
    Rule(TurnEnd, on.stop, [~stop_wanted], AwaitSteering, asks=Ask.poll_steering,
         why="Between two turns the user may steer."),
    Rule(AwaitFollowUp, on.follow_up, [~pending], Done, [Emit.agent_end],
         why="Nothing is left to do."),
    *_first_turn_begins(Ask.call_model),
)
"""Up to Pi 0.86: a hook is asked to stop once the turn has ended, and the request follows the injection."""

STOP_QUESTION_FIRST = (
    *_turn_ends([Emit.turn_end], Ask.ask_to_stop),
    *_calls_refused([Emit.turn_end], Ask.ask_to_stop),
    *_prepared_turn_begins(Ask.call_model),
)
"""Pi 0.84.4 to 0.86: no preparation comes before the stop question."""

FINISH_HOOK = (
    *_turn_ends([], Ask.finish_turn),
    *_calls_refused([], Ask.finish_turn),
    Rule(CheckStop, on.ready, [hard_stop], TurnEnd, asks=Ask.finish_turn,
         why="The call failed or was cancelled: no tool runs, and no queue is asked; the hook only hears of it."),
    Rule(TurnEnd, on.turn_finished, [hard_stop], Done, [Emit.turn_end, Emit.agent_end],
         why="Whatever the hook says, there is no going on from an answer that failed."),
    Rule(TurnEnd, on.turn_finished, [~hard_stop, stop_wanted], Done, [Emit.turn_end, Emit.agent_end],
         why="The hook outranks tool results and both queues."),
    Rule(TurnEnd, on.turn_finished, [~hard_stop, ~stop_wanted], AwaitSteering, [Emit.turn_end], Ask.poll_steering,
         why="Between two turns the user may steer."),
    Rule(AwaitFollowUp, on.follow_up, [~pending, ~more_wanted], Done, [Emit.agent_end],
         why="Nothing is left to do."),
    Rule(AwaitFollowUp, on.follow_up, [~pending, more_wanted], AwaitSteering,
         asks=Ask.prepare_next_turn, sets={"more_wanted": False},
         why="Nothing else caused a turn, so the hook gets the one that it asked for, on the context as it is."),
    *_first_turn_begins(Ask.prepare_request),
    *_prepared_turn_begins(Ask.prepare_request),
    Rule(Streaming, on.request_prepared, [], Streaming, asks=Ask.call_model,
         why="The request is made of what the hook has left: context, model, thinking level."),
)
"""Since Pi 0.87.0: a hook hears of every turn before turn_end and may ask for another; one more prepares requests."""

PREPARATION_AFTER_EVERY_TURN = (
    *_turn_ends([Emit.turn_end], Ask.prepare_next_turn),
    Rule(TurnEnd, on.prepared, [], TurnEnd, asks=Ask.ask_to_stop,
         why="The stop hook sees the context as it was prepared."),
    Rule(AwaitSteering, on.steering, [~first_turn, chain], Streaming,
         [Emit.turn_start, Emit.pending], Ask.call_model, INJECTED,
         why="Tool results wait for an answer; what the user said meanwhile goes in with them."),
    Rule(AwaitSteering, on.steering, [~first_turn, ~chain, pending], Streaming,
         [Emit.turn_start, Emit.pending], Ask.call_model, INJECTED,
         why="A steering message alone drives one more turn."),
    Rule(AwaitFollowUp, on.follow_up, [pending], Streaming, [Emit.turn_start, Emit.pending], Ask.call_model, INJECTED,
         why="The run would have stopped, but a follow-up waits: it goes on in the same trace."),
)
"""Up to Pi 0.84.1: turn_end, preparation, stop question, steering poll, next turn."""

PREPARATION_BEFORE_THE_NEXT_TURN = (
    Rule(AwaitSteering, on.steering, [~first_turn, chain], AwaitSteering, asks=Ask.prepare_next_turn,
         why="Tool results wait for an answer, so there is a next turn to prepare."),
    Rule(AwaitSteering, on.steering, [~first_turn, ~chain, pending], AwaitSteering, asks=Ask.prepare_next_turn,
         why="A steering message alone drives one more turn, which is prepared first."),
    Rule(AwaitSteering, on.prepared, [~pending], AwaitSteering, asks=Ask.poll_steering_again,
         why="Preparation can take long: what the user typed during it still goes into this turn."),
    Rule(AwaitFollowUp, on.follow_up, [pending], AwaitSteering, asks=Ask.prepare_next_turn,
         why="The run would have stopped, but a follow-up waits: its turn is prepared like any other."),
)
"""Since Pi 0.84.4: turn_end, stop question, polls, and preparation only where a next turn is certain."""

CUT_OFF_CALLS_RUN = (
    Rule(CheckStop, on.ready, [~hard_stop, calls], ExecutingTools, asks=Ask.start_batch,
         why="Calls in the answer decide, not the stop reason: even those of an answer that was cut off are run."),
)
"""Up to Pi 0.80.3."""

CUT_OFF_CALLS_FAIL = (
    Rule(CheckStop, on.ready, [~hard_stop, calls, ~cut_off], ExecutingTools, asks=Ask.start_batch,
         why="Calls in the answer decide, not the stop reason."),
)
"""Since Pi 0.80.6."""

# --- the batch ----------------------------------------------------------------------------------------------------

ROUNDS = (
    Rule(Announcing, on.ready, [preparing], Announcing,
         why="Wait: calls are prepared one at a time, so that their before hooks come in order."),
    Rule(Running, on.ready, [~prepared, busy], Running,
         why="Wait: abort interrupts no tool, and no result is told before the round is over."),
    Rule(Running, on.ready, [~prepared, ~busy], Announcing, [Emit.results], sets={"taken": False},
         why="The round is over: its results follow in the order of the calls, whichever came back first."),
)


def _rounds(another: Guard, *, full: str, over: str) -> tuple[Rule, ...]:
    """Return how a round is filled: `another` says whether it takes one more call, the texts why it takes none."""
    return (
        Rule(Announcing, on.ready, [~preparing, another], Announcing,
             asks=Ask.announce_next, sets={"taken": True, "fresh": False},
             why="The next call is taken up; a parallel batch has one round for all calls, a sequential a round each."),
        Rule(Announcing, on.ready, [~preparing, ~another, taken], Running, why=full),
        Rule(Announcing, on.ready, [~preparing, ~another, ~taken], Over, why=over),
    )


ABORT_DROPS_THE_REST = _rounds(
    another,
    full="The round is full, or abort has cut it short: what is prepared may start.",
    over="No call is left, or abort has dropped the rest.",
)
"""Up to Pi 1.5."""

EVERY_CALL_IS_ANSWERED = _rounds(
    another_still,
    full="The round is full: what is prepared may start.",
    over="No call is left: abort drops none, so that each has a result.",
)
"""Since Pi 1.6.0."""

LAUNCH_WITHOUT_LOOKING = (
    Rule(Running, on.ready, [prepared], Running, asks=Ask.execute_next,
         why="A call that was prepared before an abort is still executed."),
)
"""Up to Pi 0.84.4."""

LAUNCH_LOOKS_AT_ABORT = (
    Rule(Running, on.ready, [prepared, ~aborted], Running, asks=Ask.execute_next,
         why="The next prepared call starts; the others of its round need not wait for it."),
    Rule(Running, on.ready, [prepared, aborted], Running, asks=Ask.cancel_next,
         why="No tool starts after an abort."),
)
"""Since Pi 0.85.0."""

PARALLEL_LAUNCH_LOOKS_AT_ABORT = (
    Rule(Running, on.ready, [prepared, ~aborted], Running, asks=Ask.execute_next,
         why="The next prepared call starts; the others of its round need not wait for it."),
    Rule(Running, on.ready, [prepared, aborted, ~sequential], Running, asks=Ask.cancel_next,
         why="No tool of a parallel batch starts after an abort."),
    Rule(Running, on.ready, [prepared, aborted, sequential], Running, asks=Ask.execute_next,
         why="A sequential call whose preparation had begun before the abort is still executed, if no hook looked."),
)
"""Since Pi 1.6.0."""

# --- a tool call --------------------------------------------------------------------------------------------------

CALL = (
    Rule(Announced, on.arguments, [], Announced, asks=Ask.before_tool_call,
         why="The arguments are valid: hook and tool get them, coerced, as one and the same object."),
    Rule(Announced, on.call_failed, [], Ended, [Emit.call_end], sets={"result": "failed"},
         why="Bad arguments or a failing before hook, which outranks abort: an error result, and no tool."),
    Rule(Prepared, on.execute, [], Executing, asks=Ask.execute_tool,
         why="The tool runs."),
    Rule(Executing, on.update, [], Executing, [Emit.call_update],
         why="The tool tells how far it is."),
    Rule(Executing, on.returned, [], Finalizing, asks=Ask.after_tool_call,
         why="The after hook may change what the tool returned."),
    Rule(Executing, on.call_failed, [], Finalizing, asks=Ask.after_tool_call, sets={"result": "failed"},
         why="A tool that raises has an error result, which the after hook sees like any other."),
    Rule(Finalizing, on.after, [], Ended, [Emit.call_end],
         why="The result is final."),
    Rule(Finalizing, on.call_failed, [], Ended, [Emit.call_end], sets={"result": "failed"},
         why="The after hook failed: its error takes the place of the result."),
    *(
        Rule(state, on.update, [], state,
             why="Progress after the tool has settled is late, and dropped.")
        for state in (Finalizing, Ended)
    ),
)

ABORT_COUNTS_AFTER_PREPARATION = (
    Rule(Listed, on.announce, [known], Announced, [Emit.call_start], Ask.prepare_arguments,
         why="Observers see the call as the model wrote it, before anybody judges it."),
    Rule(Listed, on.announce, [~known], Ended, [Emit.call_start, Emit.call_end], sets={"result": "not_found"},
         why="The context has no tool of that name; the model is told so."),
    Rule(Announced, on.before, [aborted], Ended, [Emit.call_end], sets={"result": "aborted"},
         why="Abort outranks the hook's answer."),
    Rule(Announced, on.before, [~aborted, ~blocked], Prepared,
         why="Nothing speaks against the call; it waits until its round is launched."),
)
"""Up to Pi 1.5."""

ABORT_COUNTS_BEFORE_PREPARATION = (
    Rule(Listed, on.announce, [], Announced, [Emit.call_start], Ask.look_again,
         why="Observers see the call as the model wrote it, before anybody judges it."),
    Rule(Announced, on.looked, [aborted], Ended, [Emit.call_end], sets={"result": "aborted"},
         why="After an abort no call is prepared, but each has a result."),
    Rule(Announced, on.looked, [~aborted, known], Announced, asks=Ask.prepare_arguments,
         why="The call is judged, once observers have seen it."),
    Rule(Announced, on.looked, [~aborted, ~known], Ended, [Emit.call_end], sets={"result": "not_found"},
         why="The context has no tool of that name; the model is told so."),
    Rule(Announced, on.before, [aborted, vetted], Ended, [Emit.call_end], sets={"result": "aborted"},
         why="Abort outranks the hook's answer."),
    Rule(Announced, on.before, [aborted, ~vetted], Prepared,
         why="Only a hook looks at an abort that came with the preparation; the launch of a parallel round does, too."),
    Rule(Announced, on.before, [~aborted, ~blocked], Prepared,
         why="Nothing speaks against the call; it waits until its round is launched."),
)
"""Since Pi 1.6.0."""

BLOCKED = (
    Rule(Announced, on.before, [~aborted, blocked], Ended, [Emit.call_end], sets={"result": "blocked"},
         why="The before hook blocked the call; its siblings go on."),
)
"""Up to Pi 0.84.0."""

BLOCKED_MAY_TERMINATE = (
    Rule(Announced, on.before, [~aborted, blocked, ~for_good], Ended, [Emit.call_end], sets={"result": "blocked"},
         why="The before hook blocked the call; its siblings go on."),
    Rule(Announced, on.before, [~aborted, blocked, for_good], Ended,
         [Emit.call_end], sets={"result": "blocked_for_good"},
         why="The before hook blocked the call and wants no further turn: the result says terminate."),
)
"""Since Pi 0.84.1."""

CANCELLED = (
    Rule(Prepared, on.cancel, [], Ended, [Emit.call_end], sets={"result": "aborted"},
         why="Abort came before the tool was started."),
)
"""Since Pi 0.85.0."""

# fmt: on
# --- the dialects -------------------------------------------------------------------------------------------------

_loop = partial(build, "loop", Control, AwaitSteering, Done)
_batch = partial(build, "batch", Control, Announcing, Over)
_call = partial(build, "call", CallControl, Listed, Ended)

LOOP = (*BEGIN, *POLL, *STREAM, *FAIL)


def _pi_0_80_2() -> Dialect:
    return Dialect(
        "pi-0.80.2",
        _loop((*LOOP, *STOP_HOOK, *PREPARATION_AFTER_EVERY_TURN, *CUT_OFF_CALLS_RUN)),
        _batch((*ROUNDS, *ABORT_DROPS_THE_REST, *LAUNCH_WITHOUT_LOOKING)),
        _call((*CALL, *ABORT_COUNTS_AFTER_PREPARATION, *BLOCKED)),
        Switches(
            content_required=False, fields_kept=False, tool_names_added=False, result_usage=False, arguments="0.80.2"
        ),
        AgentTraits(frozenset({"prepare_next_turn", "before_tool_call", "after_tool_call"}), resets_while_running=True),
    )


def _pi_0_85_1() -> Dialect:
    return Dialect(
        "pi-0.85.1",
        _loop((*LOOP, *STOP_HOOK, *STOP_QUESTION_FIRST, *PREPARATION_BEFORE_THE_NEXT_TURN, *CUT_OFF_CALLS_FAIL)),
        _batch((*ROUNDS, *ABORT_DROPS_THE_REST, *LAUNCH_LOOKS_AT_ABORT)),
        _call((*CALL, *ABORT_COUNTS_AFTER_PREPARATION, *BLOCKED_MAY_TERMINATE, *CANCELLED)),
        Switches(content_required=True, fields_kept=True, tool_names_added=True, result_usage=True, arguments="0.85.1"),
    )


def _pi_1_6_0() -> Dialect:
    return Dialect(
        "pi-1.6.0",
        _loop((*LOOP, *FINISH_HOOK, *PREPARATION_BEFORE_THE_NEXT_TURN, *CUT_OFF_CALLS_FAIL)),
        _batch((*ROUNDS, *EVERY_CALL_IS_ANSWERED, *PARALLEL_LAUNCH_LOOKS_AT_ABORT)),
        _call((*CALL, *ABORT_COUNTS_BEFORE_PREPARATION, *BLOCKED_MAY_TERMINATE, *CANCELLED)),
        Switches(
            content_required=True,
            fields_kept=True,
            tool_names_added=False,
            result_usage=True,
            arguments="1.6.0",
            arguments_errors=True,
            loadouts=True,
            thinking_levels=True,
            error_flags=True,
            structured_content=True,
        ),
        AgentTraits(
            frozenset({"prepare_next_turn", "prepare_request", "finish_turn", "before_tool_call", "after_tool_call"})
        ),
    )


DIALECTS: Final[Mapping[str, Callable[[], Dialect]]] = {
    "pi-0.80.2": cache(_pi_0_80_2),
    "pi-0.85.1": cache(_pi_0_85_1),
    "pi-1.6.0": cache(_pi_1_6_0),
}
"""The dialects by name, in the order of their versions; calling one builds its tables, once."""

DEFAULT_DIALECT: Final = "pi-0.85.1"


def dialect(name: str = DEFAULT_DIALECT) -> Dialect:
    """Return the dialect of that name. Raises ValueError, naming those that there are, if there is none."""
    if name not in DIALECTS:
        raise ValueError(f"there is no dialect {name!r}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]()
