"""What Pi's traces show for an abort (0.80.2 and 0.85.1), as rules: each yields what it complains of in a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tests.engine.abort_traces import NEVER, NEW, OLD, Run, Turn, event, kind, role, text_of, turns_of
from turnwheel.testing.scenario import Throws

ABORTED: Final = "Operation aborted"

Complaints = Iterator[str]


def the_past_stays(run: Run) -> Complaints:
    """Aborting sets a signal: up to that moment nothing differs."""
    if list(run.lines[: run.at + 1]) != list(run.calm[: run.at + 1]):
        yield "the trace before the abort is another one"


def one_life(run: Run) -> Complaints:
    """One agent_start first, one agent_end last; where the run throws, none. One last line."""
    events = [kind(line) for line in run.lines if "event" in line]
    if events and (events[0], events.count("agent_start")) != ("agent_start", 1):
        yield "agent_start is not once and first"
    ends = 0 if run.threw else 1
    if events.count("agent_end") != ends or (ends and events[-1] != "agent_end"):
        yield f"{events.count('agent_end')} agent_end in a run that {'threw' if run.threw else 'returned'}"
    if any("result" in line or "throws" in line for line in run.lines[:-1]):
        yield "something follows the result"


def the_result_is_what_was_told(run: Run) -> Complaints:
    """All messages that were told since the run began, and no other ones, are in agent_end and in the result."""
    told = [event(line)["message"] for line in run.lines if kind(line) == "message_end"]
    if not run.threw and not (told == event(run.lines[-2]).get("messages") == run.lines[-1]["result"]["messages"]):
        yield "messages that were told, those of agent_end and those of the result differ"


def turns_nest(run: Run) -> Complaints:
    """One turn follows another, with everything but agent_start and agent_end inside."""
    inside = False
    for at, line in enumerate(run.lines):
        if kind(line) in ("turn_start", "turn_end"):
            if inside == (kind(line) == "turn_start"):
                yield f"{kind(line)} at line {at} does not nest"
            inside = not inside
        elif "event" in line and inside == (kind(line) in ("agent_start", "agent_end")):
            yield f"{kind(line)} at line {at} is on the wrong side of a turn"
    if inside and not run.threw:
        yield "a turn has no end"


def messages_pair(run: Run) -> Complaints:
    """Every message that starts ends, with nothing but its updates in between."""
    current = ""
    for at, line in enumerate(run.lines):
        what = kind(line)
        if what == "message_start":
            if current:
                yield f"a message starts inside another at line {at}"
            current = role(line)
        elif what == "message_end":
            if current != role(line):
                yield f"a message of {role(line)} ends at line {at} that did not start"
            current = ""
        elif current and what != "message_update" and not ("throws" in line or "call" in line):
            yield f"{what} inside a message at line {at}"
    if current and not run.threw:
        yield "a message has no end"


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
    """In the order of the answer and without a gap; where some are missing, there was an abort."""
    for turn in run.turns:
        ids = [*turn.calls]
        if [*turn.starts] != ids[: len(turn.starts)]:
            yield f"announced {[*turn.starts]} of {ids}"
        if len(turn.starts) < len(ids) and not (turn.hard_stop or run.threw or run.at < turn.end):
            yield f"{ids[len(turn.starts) :]} dropped before the abort"


def none_is_announced_after(run: Run) -> Complaints:
    """After the abort no call is announced but the first of its batch; refused calls are no matter of abort."""
    for turn in run.turns:
        for call, start in turn.starts.items():
            if start > run.at and call != next(iter(turn.calls)) and not turn.refused(run.name):
                yield f"{call} is announced after the abort"


def hard_stop_is_quiet(run: Run) -> Complaints:
    """Behind an answer with error or aborted: turn_end without results and agent_end, no callback."""
    for turn in run.turns:
        if turn.hard_stop:
            follows = [kind(line) for line in run.lines[turn.answered + 1 :]]
            if follows != ["turn_end", "agent_end", "result"]:
                yield f"after a hard stop: {follows}"


def late_preparation_fails(run: Run) -> Complaints:
    """Not prepared at the abort is not executed: the call ends aborted, or with what was wrong with it anyway."""
    for turn in run.turns:
        for call in turn.starts:
            if turn.prepared(call) <= run.at or turn.refused(run.name) or call not in turn.ends:
                continue
            wanted = own_failure(run, turn, call) or ABORTED
            if run.text(turn, call).split("\n")[0] != wanted or not event(run.lines[turn.ends[call]])["isError"]:
                yield f"{call} was prepared after the abort and ends with {run.text(turn, call)!r}, not {wanted!r}"
            if call in turn.executed:
                yield f"{call} was prepared after the abort and executed"


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
        if said.startswith("Validation failed for tool"):
            return said
    hook = (run.scenario.hooks.before_tool_call or {}).get(call)
    return None if hook is None else hook.throws


def hook_is_still_asked(run: Run) -> Complaints:
    """Only after the before hook is the abort looked at: a call that ends aborted in its preparation has asked it."""
    for turn in run.turns:
        for call in turn.starts:
            ended = turn.ends.get(call)
            if ended is None or turn.prepared(call) <= run.at or run.text(turn, call) != ABORTED:
                continue
            if run.scenario.hooks.before_tool_call is not None and call not in turn.befores:
                yield f"{call} was aborted without asking its hook"


def prepared_calls(run: Run) -> Complaints:
    """In 0.80.2 a call that was prepared before the abort and waits is executed; in 0.85.1 it is cancelled."""
    for turn in run.turns:
        for call in turn.starts:
            waits = turn.prepared(call) <= run.at < min(turn.executed.get(call, NEVER), turn.ends.get(call, NEVER))
            if not waits or run.threw:
                continue
            if run.name == OLD and call not in turn.executed:
                yield f"{call} was prepared before the abort and not executed"
            if run.name == NEW and run.text(turn, call) != ABORTED:
                yield f"{call} waited at the abort and ends with {run.text(turn, call)!r}"


def nothing_is_executed_after(run: Run) -> Complaints:
    """In 0.85.1 no tool starts after the abort; in 0.80.2 only one that was prepared before, in a parallel batch."""
    for turn in run.turns:
        for call, started in turn.executed.items():
            if started > run.at and (run.name == NEW or turn.prepared(call) > run.at):
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


def the_model_answers_aborted(run: Run) -> Complaints:
    """At most once more the model is asked, and answers aborted; an answer under way grows no further."""
    if run.scenario.config.model_on_abort == "ignore":
        return
    requests = [at for at in run.places("stream") if at > run.at]
    if len(requests) > 1:
        yield "the model is asked twice after the abort"
    if any(at > run.at for at in run.places("message_update")):
        yield "an answer grows after the abort"
    pending = requests or kind(run.lines[run.at]) in ("message_update", "stream", "convertToLlm", "transformContext")
    if pending and not run.threw:
        last = run.turns[-1].message
        if (last["stopReason"], last.get("errorMessage")) != ("aborted", "Request was aborted"):
            yield f"the model was asked or answering, and ends with {last['stopReason']}"


def the_loop_goes_on_as_ever(run: Run) -> Complaints:
    """Between turns the signal is not looked at: hooks, polls and the next turn are those that the rules ask for."""
    for turn in run.turns:
        if turn.hard_stop or kind(run.lines[turn.end]) != "turn_end":
            continue
        follows = [kind(line) for line in run.lines[turn.end + 1 :]]
        wanted = after_turn(run, turn)
        if follows[: len(wanted)] != wanted:
            yield f"after turn {turn.number}: {follows[: len(wanted)]}, not {wanted}"


def after_turn(run: Run, turn: Turn) -> list[str]:
    """Return what follows a turn_end, up to the next event or to the throw."""
    asks = Asks(run, turn.end)
    goes_on = chain(run, turn)
    if run.name == OLD and asks.fails("prepareNextTurn", run.scenario.hooks.prepare_next_turn):
        return asks.failed()
    stop = asks.ask("shouldStopAfterTurn", run.scenario.hooks.should_stop_after_turn)
    if isinstance(stop, Throws):
        return asks.failed()
    if stop:
        return [*asks.names, "agent_end"]
    brought = asks.ask("getSteeringMessages", run.scenario.steering)
    if not isinstance(brought, Throws) and not (goes_on or brought):
        brought = asks.ask("getFollowUpMessages", run.scenario.follow_up)
        if not brought:
            return [*asks.names, "agent_end"]
    if isinstance(brought, Throws):
        return asks.failed()
    if run.name == NEW:
        if asks.fails("prepareNextTurn", run.scenario.hooks.prepare_next_turn):
            return asks.failed()
        if not brought and isinstance(asks.ask("getSteeringMessages", run.scenario.steering), Throws):
            return asks.failed()
    return [*asks.names, "turn_start"]


def chain(run: Run, turn: Turn) -> bool:
    """Say whether results wait for the model: there are some, and not every one of them says terminate."""
    results = [event(run.lines[at])["result"].get("terminate") for at in turn.ends.values()]
    return not all(said is True for said in results)


class Asks:
    """The callbacks that are asked after a turn, each with what the scenario says to this call of it."""

    def __init__(self, run: Run, after: int) -> None:
        self.before = [kind(line) for line in run.lines[:after]]
        self.names: list[str] = []

    def ask(self, name: str, items: Sequence[Any] | None) -> Any:
        """Return what a callback says; it is not asked where it is not configured."""
        if items is None:
            return None
        nth = [*self.before, *self.names].count(name)
        self.names.append(name)
        return items[nth] if nth < len(items) else None

    def fails(self, name: str, items: Sequence[Any] | None) -> bool:
        """Ask, and say whether that fails."""
        said = self.ask(name, items)
        return said is not None and said.throws is not None

    def failed(self) -> list[str]:
        """Return what follows where the last one fails."""
        return [*self.names, "throws"]


RULES: Final[Sequence[Callable[[Run], Complaints]]] = (
    the_past_stays,
    one_life,
    the_result_is_what_was_told,
    turns_nest,
    messages_pair,
    calls_pair,
    calls_start_in_order,
    none_is_announced_after,
    hard_stop_is_quiet,
    late_preparation_fails,
    hook_is_still_asked,
    prepared_calls,
    nothing_is_executed_after,
    running_tools_finish,
    the_model_answers_aborted,
    the_loop_goes_on_as_ever,
)


def judged(run: Run) -> list[str]:
    """Return everything that any rule complains of."""
    return [f"{rule.__name__}: {complaint}" for rule in RULES for complaint in rule(run)]
