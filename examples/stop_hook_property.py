"""A stop hook, tested with generated runs: Hypothesis finds its mistake, and the smallest run that shows it.

A scenario says what a model, its tools and the queues do; `run_with` runs it with hooks of one's own. What must hold is
said once, for every run: the hook ends a run after three failures in a row, and never before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from hypothesis import find, given, settings

from turnwheel.effects import FinishedTurn
from turnwheel.messages import AssistantMessage, Message, ToolResultMessage
from turnwheel.testing import Scenario, run_with, scenarios, write_scenario

StopHook = Callable[[FinishedTurn], bool]
THREE = [True, True, True]
RUNS = scenarios("pi-0.85.1", aborts=False)
SAME_EACH_TIME = settings(max_examples=200, derandomize=True, database=None, deadline=None)


def failures(messages: Iterable[Message]) -> list[bool]:
    """Say of each tool result, in order, whether it is an error."""
    return [message.is_error for message in messages if isinstance(message, ToolResultMessage)]


def gives_up(turn: FinishedTurn) -> bool:
    """Say stop when the last three tool calls of the run have failed. It has a mistake."""
    return all(failures(turn.new_messages)[-3:])


def gives_up_mended(turn: FinishedTurn) -> bool:
    """Say stop when the last three tool calls of the run have failed: if there are fewer, they have not."""
    last = failures(turn.new_messages)[-3:]
    return len(last) == 3 and all(last)


def goes_on_failing(messages: Sequence[Message]) -> bool:
    """Say whether there is an answer after three failures in a row."""
    answers = [at for at, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return any(failures(messages[:at])[-3:] == THREE for at in answers)


def is_right(hook: StopHook, scenario: Scenario) -> bool:
    """Say whether the hook ends this run where it should, and nowhere else."""
    run, free = run_with(scenario, should_stop=hook), run_with(scenario)
    ended_early = len(run.events) < len(free.events)
    return not goes_on_failing(run.messages) and (not ended_early or failures(run.messages)[-3:] == THREE)


@SAME_EACH_TIME
@given(RUNS)
def test_gives_up_after_three_failures(scenario: Scenario) -> None:
    """The property as a test, which pytest would find by its name."""
    assert is_right(gives_up_mended, scenario)


def main() -> None:
    """Run it."""
    found = find(RUNS, lambda scenario: not is_right(gives_up, scenario), settings=SAME_EACH_TIME)
    print(json.dumps(write_scenario(found)))
    print("messages with the hook:", len(run_with(found, should_stop=gives_up).messages))
    print("messages without it:", len(run_with(found).messages))
    test_gives_up_after_three_failures()
    print(f"mended: right in {SAME_EACH_TIME.max_examples} runs")


if __name__ == "__main__":
    main()
