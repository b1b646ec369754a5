"""Scripted runs and their recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.conformance.traces import validate
from turnwheel.driver import Driver
from turnwheel.effects import Effect
from turnwheel.events import Event
from turnwheel.machine import Machine
from turnwheel.recording import Recorder
from turnwheel.rules import Decision
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.play import ScenarioHost
from turnwheel.testing.scenario import read_scenario

TWO_CALLS: Final = {"toolCalls": [{"id": "a", "name": "slow"}, {"id": "b", "name": "quick"}]}
ONE_CALL: Final = {"toolCalls": [{"id": "a", "name": "slow"}]}
TOOLS: Final = [{"name": "slow"}, {"name": "quick"}]

SCENARIOS: Final[Mapping[str, dict[str, Any]]] = {
    "parallel tools": {
        "prompts": ["go"],
        "tools": TOOLS,
        "model": [TWO_CALLS, {"text": "both \u2028 are in", "deltas": 3}],
        "toolResults": {
            "a": {"delay": 5, "text": "at last", "updates": [{"text": "half", "at": 2}]},
            "b": {"delay": 1},
        },
    },
    "abort": {
        "prompts": ["go"],
        "config": {"toolExecution": "sequential"},
        "tools": TOOLS,
        "model": [TWO_CALLS],
        "abort": {"onCall": "execute"},
    },
    "hard stop": {"prompts": ["go"], "model": [{"error": "overloaded"}], "followUp": [["later"]]},
    "stop hook": {
        "prompts": ["go"],
        "tools": TOOLS,
        "model": [ONE_CALL],
        "steering": [[], ["wait"]],
        "hooks": {"shouldStopAfterTurn": [True]},
    },
    "follow-up": {
        "prompts": ["go"],
        "model": [{"text": "done"}, {"text": "more"}, {"text": "again"}],
        "steering": [[], ["by the way"]],
        "followUp": [["and then?"]],
    },
    "failing listener": {"prompts": ["go"], "model": [{"text": "done"}]},
}
"""A run of each kind, by name."""

CASES: Final = [(name, language) for name in SCENARIOS for language in DIALECTS]
"""Each of them in each dialect."""

Observed = list[Decision | tuple[int, Event | Effect]]


def record(
    name: str, language: str, *, clock: Callable[[], int] | None = None, seen: Observed | None = None
) -> list[str]:
    """Return the recording of a run; `seen` also takes what the observers are given."""
    host = ScenarioHost(read_scenario(SCENARIOS[name]), dialect(language), validate)
    lines: list[str] = []
    seen = [] if seen is None else seen
    begun = host.begun()
    recorder = Recorder(lines.append, clock=clock)
    recorder.header(dialect=language, hooks=begun.config.hooks, tools=[tool.name for tool in begun.context.tools])

    def listen(event: Event) -> None:
        host.listen(event)
        if name == "failing listener" and event.type == "turn_end":
            raise RuntimeError("no space left")

    def decided(decision: Decision) -> None:
        seen.append(decision)
        recorder.decided(decision)

    def step(position: int, step: Event | Effect) -> None:
        seen.append((position, step))
        recorder.step(position, step)

    driver = Driver(Machine(begun, dialect(language)), host, signal=host.signal, on_decision=decided, on_step=step)
    failure = None
    try:
        driver.run(listen)
    except RuntimeError as error:
        failure = error
    recorder.ended(failure, aborted=host.signal.aborted)
    return lines
