"""What Pi's traces show for the tool calls of a run that is aborted, as rules (see tests.engine.abort_judge)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.engine.abort_traces import LATEST, NEVER, OLD, Run, Turn, event, kind, text_of, turns_of

ABORTED: Final = "Operation aborted"

Complaints = Iterator[str]


def calls_pair(run: Run) -> Complaints:
    """Every call that starts has one end, and one result message in the order of the calls; turn_end lists them."""
    for turn in run.turns:
        lines = run.lines[turn.answered : turn.end]
        for what in ("tool_execution_start", "tool_execution_end"):
            ids = [event(line)["toolCallId"] for line in lines if kind(line) == what]
            if len(ids) != len({*ids}):
                yield f"a call has two {what}"
        if any(turn.ends.get(call, NEVER) < start for call, start in turn.starts.items()):
            yield "a call ends before it starts"
        if run.threw and turn is run.turns[-1]:
            continue
        if not ({*turn.starts} == {*turn.ends} and turn.results == [*turn.starts]):
            yield f"starts {[*turn.starts]}, ends {[*turn.ends]}, results {turn.results}"
        listed = [message["toolCallId"] for message in event(run.lines[turn.end]).get("toolResults", ())]
        if listed != turn.results:
            yield f"turn_end lists {listed}, told were {turn.results}"


def calls_start_in_order(run: Run) -> Complaints:
    """In the order of the answer and without a gap; where some are missing, there was an abort.

    In 1.6.0 none is missing.
    """
    for turn in run.turns:
        ids = [*turn.calls]
        if [*turn.starts] != ids[: len(turn.starts)]:
            yield f"announced {[*turn.starts]} of {ids}"
        excused = run.at < turn.end and run.name != LATEST
        if len(turn.starts) < len(ids) and not (turn.hard_stop or run.threw or excused):
            yield f"{ids[len(turn.starts) :]} dropped"


def none_is_announced_after(run: Run) -> Complaints:
    """Up to 0.85.1 no call is announced after the abort but the first of its batch; refused calls do not count."""
    for turn in run.turns if run.name != LATEST else ():
        for call, start in turn.starts.items():
            if start > run.at and call != next(iter(turn.calls)) and not turn.refused(run.name):
                yield f"{call} is announced after the abort"


def late_preparation(run: Run) -> Iterator[tuple[Turn, str]]:
    """Yield the calls that were not prepared yet when the abort came."""
    for turn in run.turns:
        for call in turn.starts:
            if turn.prepared(call) > run.at and not turn.refused(run.name) and call in turn.ends:
                yield turn, call


def not_begun(run: Run, turn: Turn, call: str) -> bool:
    """Say whether the preparation of a call had not begun when the abort came: who heard its start counts."""
    return turn.starts[call] >= run.at


def late_preparation_fails(run: Run) -> Complaints:
    """Not prepared at the abort is not executed: the call ends aborted, or with what was wrong with it anyway.

    In 1.6.0 a call whose preparation has not begun is not judged, and without hook nobody stops a sequential one.
    """
    for turn, call in late_preparation(run):
        unjudged = run.name == LATEST and not_begun(run, turn, call)
        failure = None if unjudged else own_failure(run, turn, call)
        if failure is None and not unjudged and unwatched(run, turn):
            if call not in turn.executed:
                yield f"{call}, whose preparation had begun and nobody watches, is not executed"
            continue
        wanted = failure or ABORTED
        if run.text(turn, call).split("\n")[0] != wanted or not event(run.lines[turn.ends[call]])["isError"]:
            yield f"{call} was prepared after the abort and ends with {run.text(turn, call)!r}, not {wanted!r}"
        if call in turn.executed:
            yield f"{call} was prepared after the abort and executed"


def unwatched(run: Run, turn: Turn) -> bool:
    """Say whether nobody looks at an abort between the preparation of a call and its execution."""
    return run.name == LATEST and run.sequential(turn) and not run.hooked


def own_failure(run: Run, turn: Turn, call: str) -> str | None:
    """Return the first line of what is wrong with a call, abort or not: its tool, arguments or hook."""
    name = turn.calls[call]
    if name not in turn.tools:
        return f"Tool {name} not found"
    shim = next(tool for tool in run.scenario.tools if tool.name == name).prepare_arguments
    if shim is not None and shim.throws is not None:
        return shim.throws
    calm = next((other for other in turns_of(run.calm) if other.number == turn.number), None)
    if calm is not None and call in calm.ends:
        said = text_of(run.calm[calm.ends[call]]).split("\n")[0]
        if said.startswith(("Validation failed for tool", "Invalid arguments for tool")):
            return said
    hook = (run.scenario.hooks.before_tool_call or {}).get(call)
    return None if hook is None else hook.throws


def hook_is_asked_or_not(run: Run) -> Complaints:
    """Only after the before hook is the abort looked at: a call that ends aborted in its preparation has asked it.

    In 1.6.0 it is also looked at before, so that a call whose preparation had not begun asks nobody.
    """
    for turn, call in late_preparation(run):
        if run.name == LATEST and not_begun(run, turn, call):
            if call in turn.befores:
                yield f"{call} was to be prepared after the abort and asked its hook"
        elif run.text(turn, call) == ABORTED and run.hooked and call not in turn.befores:
            yield f"{call} was aborted without asking its hook"


def prepared_calls(run: Run) -> Complaints:
    """In 0.80.2 a call that was prepared before the abort and waits is executed; later it is cancelled."""
    for turn in run.turns:
        for call in turn.starts:
            waits = turn.prepared(call) <= run.at < min(turn.executed.get(call, NEVER), turn.ends.get(call, NEVER))
            if not waits or run.threw:
                continue
            if run.name == OLD and call not in turn.executed:
                yield f"{call} was prepared before the abort and not executed"
            if run.name != OLD and run.text(turn, call) != ABORTED:
                yield f"{call} waited at the abort and ends with {run.text(turn, call)!r}"


def nothing_is_executed_after(run: Run) -> Complaints:
    """After the abort no tool starts, but in 0.80.2 one of a parallel batch that was prepared before.

    In 1.6.0 one that nobody watches starts as well.
    """
    for turn in run.turns:
        for call, started in turn.executed.items():
            excused = run.name == OLD and turn.prepared(call) <= run.at
            excused = excused or (unwatched(run, turn) and not not_begun(run, turn, call))
            if started > run.at and not excused:
                yield f"{call} is executed after the abort"


def running_tools_finish(run: Run) -> Complaints:
    """No running tool is interrupted: after hook, end and result follow as usual."""
    for turn in run.turns:
        for call, started in turn.executed.items():
            if run.threw and call not in turn.ends:
                continue
            if not turn.ends.get(call, 0) > started:
                yield f"{call} was executed and has no end"
            hooked = run.scenario.hooks.after_tool_call is not None
            if hooked and not started < turn.afters.get(call, 0) < turn.ends.get(call, NEVER):
                yield f"{call} was executed and its after hook was not asked"


RULES: Final[Sequence[Callable[[Run], Complaints]]] = (
    calls_pair,
    calls_start_in_order,
    none_is_announced_after,
    late_preparation_fails,
    hook_is_asked_or_not,
    prepared_calls,
    nothing_is_executed_after,
    running_tools_finish,
)
