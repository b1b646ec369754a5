"""Traces of runs that were aborted at a given moment, read turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from attrs import evolve, field, frozen

import turnwheel_tools.arguments
from turnwheel.table import dialect
from turnwheel.testing.play import Line, play
from turnwheel.testing.scenario import Abort, Scenario

OLD: Final = "pi-0.80.2"
NEW: Final = "pi-0.85.1"
LATEST: Final = "pi-1.6.0"
NEVER: Final = 1_000_000
"""A line that no trace reaches."""


def played(scenario: Scenario, name: str, abort: Abort | None) -> list[Line]:
    """Return the trace of a scenario that is aborted then and not otherwise."""
    return play(
        evolve(scenario, abort=abort),
        dialect(name),
        lambda tool, arguments, rules: turnwheel_tools.arguments.prepare_arguments(tool, arguments, rules=rules),
    )


def event(line: Line) -> Any:
    """Return the event of a line, or {}."""
    return line.get("event", {})


def kind(line: Line) -> str:
    """Return the type of the event of a line, or the name of the callback."""
    return str(event(line).get("type") or line.get("call", {}).get("name") or next(iter(line)))


def role(line: Line) -> str:
    """Return whose message a line tells of."""
    return str(event(line).get("message", {}).get("role", ""))


@frozen
class Turn:
    """The lines of one turn, from its answer to its end; all places are those of lines."""

    number: int
    answered: int
    end: int
    message: Any
    tools: Sequence[str]
    starts: dict[str, int] = field(factory=dict)
    ends: dict[str, int] = field(factory=dict)
    befores: dict[str, int] = field(factory=dict)
    executed: dict[str, int] = field(factory=dict)
    afters: dict[str, int] = field(factory=dict)
    results: list[str] = field(factory=list)

    @property
    def calls(self) -> dict[str, str]:
        """The calls of the answer: which tool each id calls."""
        return {block["id"]: block["name"] for block in self.message["content"] if block["type"] == "toolCall"}

    @property
    def hard_stop(self) -> bool:
        """Whether the answer is an error or was aborted."""
        return self.message["stopReason"] in ("error", "aborted")

    def refused(self, name: str) -> bool:
        """Say whether the calls were refused without being looked at, since the answer was cut off."""
        return name != OLD and self.message["stopReason"] == "length"

    def prepared(self, call: str) -> int:
        """Return the first line that shows that a call is through with its preparation."""
        signs = [*self.starts.values(), *self.executed.values()]
        return min((at for at in (*signs, self.ends.get(call, NEVER)) if at > self.starts[call]), default=NEVER)


@frozen
class Run:
    """A trace that was aborted at a line, beside the calm one of the same scenario."""

    scenario: Scenario
    name: str
    lines: Sequence[Line]
    at: int
    calm: Sequence[Line]
    turns: Sequence[Turn] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "turns", turns_of(self.lines))

    @property
    def threw(self) -> bool:
        """Whether the run failed."""
        return "throws" in self.lines[-1]

    @property
    def hooked(self) -> bool:
        """Whether there is a before hook."""
        return self.scenario.hooks.before_tool_call is not None

    def sequential(self, turn: Turn) -> bool:
        """Say whether the calls of a turn run one after the other: one tool of them is enough to want it."""
        called = {name for name in turn.calls.values() if name in turn.tools}
        wanting = {tool.name for tool in self.scenario.tools if tool.execution_mode == "sequential"}
        return self.scenario.config.tool_execution == "sequential" or bool(called & wanting)

    def places(self, *kinds: str) -> list[int]:
        """Return the lines of these kinds."""
        return [at for at, line in enumerate(self.lines) if kind(line) in kinds]

    def text(self, turn: Turn, call: str) -> str:
        """Return what a call ended with; nothing where it did not."""
        return text_of(self.lines[turn.ends[call]]) if call in turn.ends else ""


def text_of(line: Line) -> str:
    """Return the text of the result of an ended call."""
    return "".join(block.get("text", "") for block in event(line)["result"].get("content") or ())


def turns_of(lines: Sequence[Line]) -> list[Turn]:
    """Return the turns of a trace that have got an answer."""
    found: list[Turn] = []
    tools: Sequence[str] = ()
    for at, line in enumerate(lines):
        if kind(line) == "stream":
            tools = line["call"]["tools"]
        if kind(line) == "message_end" and role(line) == "assistant" and not given(lines, at):
            found.append(turn_at(len(found), lines, at, tools))
    return found


def given(lines: Sequence[Line], at: int) -> bool:
    """Say whether a message was given by somebody, and is no answer: it was injected before the request."""
    requests = [place for place in range(at) if kind(lines[place]) == "stream"]
    behind = lines[requests[-1] : at] if requests else ()
    return not requests or any(kind(line) == "message_end" and role(line) == "assistant" for line in behind)


def turn_at(number: int, lines: Sequence[Line], at: int, tools: Sequence[str]) -> Turn:
    """Return the turn whose answer is at line `at`."""
    ends = [place for place in range(at, len(lines)) if kind(lines[place]) == "turn_end"]
    turn = Turn(number, at, ends[0] if ends else len(lines) - 1, event(lines[at])["message"], tools)
    places = {
        "tool_execution_start": turn.starts,
        "tool_execution_end": turn.ends,
        "beforeToolCall": turn.befores,
        "execute": turn.executed,
        "afterToolCall": turn.afters,
    }
    for place in range(at, turn.end):
        line = lines[place]
        if (noted := places.get(kind(line))) is not None:
            noted[(event(line) or line["call"])["toolCallId"]] = place
        if kind(line) == "message_end" and role(line) == "toolResult":
            turn.results.append(event(line)["message"]["toolCallId"])
    return turn


def moments(calm: Sequence[Line], what: str) -> Iterator[tuple[int, Abort]]:
    """Yield each event or callback of a trace: its line, and the abort that happens in it."""
    seen: list[str] = []
    for at, line in enumerate(calm):
        if what == "event" and what in line:
            yield at, Abort(on_event=len(seen))
            seen.append("event")
        elif what == "call" and what in line:
            name: Any = kind(line)
            yield at, Abort(on_call=name, nth=seen.count(kind(line)))
            seen.append(kind(line))


def aborted(scenario: Scenario, name: str, what: str) -> Iterator[tuple[str, Run]]:
    """Yield the run aborted at each of its moments, and a word for the moment."""
    calm = played(scenario, name, None)
    for at, abort in moments(calm, what):
        yield f"aborted at line {at}, {kind(calm[at])}", Run(scenario, name, played(scenario, name, abort), at, calm)
