"""What Pi's traces show for an abort (all dialects), as rules: each yields what it complains of in a trace.

The rules about tool calls are in tests.engine.abort_calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.engine import abort_calls
from tests.engine.abort_calls import Complaints
from tests.engine.abort_traces import LATEST, OLD, Run, Turn, event, kind, role
from turnwheel.testing.scenario import Throws


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


def hard_stop_is_quiet(run: Run) -> Complaints:
    """Behind an answer with error or aborted: turn_end without results and agent_end, no callback.

    In 1.6.0 the finish hook hears of it first, and what it says does not count.
    """
    for turn in run.turns:
        if turn.hard_stop:
            follows = [kind(line) for line in run.lines[turn.answered + 1 :]]
            told = ["finishTurn"] if finishing(run) is not None else []
            wanted = ["throws"] if run.threw else ["turn_end", "agent_end", "result"]
            if follows != [*told, *wanted] or (run.threw and not told):
                yield f"after a hard stop: {follows}"


def finishing(run: Run) -> Sequence[Any] | None:
    """Return what the finish hook of a run says each time; None where there is none."""
    hooks = run.scenario.hooks
    if run.name != LATEST:
        return None
    return hooks.should_stop_after_turn if hooks.finish_turn is None else hooks.finish_turn


def the_hook_hears_of_every_turn(run: Run) -> Complaints:
    """In 1.6.0 the finish hook is asked right before every turn_end, and nowhere else."""
    wanted = [] if finishing(run) is None else [turn.end - 1 for turn in run.turns]
    if run.places("finishTurn") != wanted:
        yield f"the finish hook is asked at {run.places('finishTurn')}, not at {wanted}"


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
    hooks = run.scenario.hooks
    goes_on = chain(run, turn)
    if run.name == OLD and asks.fails("prepareNextTurn", hooks.prepare_next_turn):
        return asks.failed()
    wish = finish(run, turn) if run.name == LATEST else asks.ask("shouldStopAfterTurn", hooks.should_stop_after_turn)
    if isinstance(wish, Throws):
        return asks.failed()
    if wish in (True, "end"):
        return [*asks.names, "agent_end"]
    brought = asks.ask("getSteeringMessages", run.scenario.steering)
    if not isinstance(brought, Throws) and not (goes_on or brought):
        brought = asks.ask("getFollowUpMessages", run.scenario.follow_up)
        if not brought and wish != "continue":
            return [*asks.names, "agent_end"]
    if isinstance(brought, Throws):
        return asks.failed()
    if run.name != OLD:
        if asks.fails("prepareNextTurn", hooks.prepare_next_turn):
            return asks.failed()
        if not brought and isinstance(asks.ask("getSteeringMessages", run.scenario.steering), Throws):
            return asks.failed()
    return [*asks.names, "turn_start"]


def finish(run: Run, turn: Turn) -> str | None:
    """Return what the finish hook has said of a turn."""
    items = finishing(run) or ()
    said = items[turn.number] if turn.number < len(items) else None
    if isinstance(said, bool) or said is None:
        return "end" if said else None
    return str(said.action) if said.action else None


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
    hard_stop_is_quiet,
    the_hook_hears_of_every_turn,
    the_model_answers_aborted,
    the_loop_goes_on_as_ever,
    *abort_calls.RULES,
)


def judged(run: Run) -> list[str]:
    """Return everything that any rule complains of."""
    return [f"{rule.__name__}: {complaint}" for rule in RULES for complaint in rule(run)]
