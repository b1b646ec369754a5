"""What is told of a run when it is over: the way through the states, how much it took, and why it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import final

from turnwheel import events as ev
from turnwheel.messages import AssistantMessage, Message
from turnwheel.rules import AnyState, Decision, State
from turnwheel_adapters.wording import count


@final
class Story:
    """Notes what happens in a run: call it with each event, and `decided` with each decision."""

    def __init__(self) -> None:
        self.events = 0
        self.decisions = 0
        self.turns = 0
        self.path: list[AnyState] = []
        """The states of the loop, in order; a state that follows itself counts once."""
        self.why = ""
        """The reason of the rule that the loop fired last."""

    def __call__(self, event: ev.Event) -> None:
        """Note an event."""
        self.events += 1
        self.turns += isinstance(event, ev.TurnEnd)

    def decided(self, decision: Decision) -> None:
        """Note a decision."""
        self.decisions += 1
        if decision.machine == "loop":
            self.why = decision.rule.why
            for state in (decision.rule.source, decision.rule.dest):
                if not self.path or self.path[-1] is not state:
                    self.path.append(state)

    def lines(self, messages: Iterable[Message]) -> Iterator[str]:
        """Yield the lines that sum the run up; `messages` is what it has added."""
        usages = [m.usage for m in messages if isinstance(m, AssistantMessage) and m.usage is not None]
        tokens_in = sum(usage.input + usage.cache_read + usage.cache_write for usage in usages)
        tokens_out = sum(usage.output for usage in usages)
        yield f"states:  {path_in_brief(self.path)}"
        yield (
            f"counted: {count(self.turns, 'turn')}, {tokens_in:,} tokens in, {tokens_out:,} out, "
            f"{count(self.events, 'event')}, {count(self.decisions, 'decision')}"
        )
        yield f"stopped: {self.why}"


def path_in_brief(path: Sequence[AnyState]) -> str:
    """Return the way through the states; turns in a row that went the same way are told once, with their number."""
    ways: list[list[str]] = [[]]
    for state in path:
        if state is State.Streaming and ways[-1]:
            ways.append([])
        ways[-1].append(str(state))
    return " → ".join(_repeated(" → ".join(way), len(list(same))) for way, same in groupby(ways))


def _repeated(way: str, times: int) -> str:
    return way if times == 1 else f"{times} times ({way})"
