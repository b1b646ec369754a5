"""What the loop costs by itself: microseconds a turn and a text delta on the sync driver, and how both grow.

Run by `make bench`. The model and the tool answer at once, so all that is measured is the machine and its driver.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from turnwheel import effects as fx
from turnwheel.convert import Converter, standard_roles
from turnwheel.driver import Driver
from turnwheel.machine import Machine
from turnwheel.messages import AssistantMessage, Message, TextContent, ToolCall, ToolResult, user
from turnwheel.outcomes import Begun, RunConfig
from turnwheel.stream import Finished, Started, StreamStep, TextDelta, TextEnd, TextStart
from turnwheel.tool import Context, Tool

TOOL = Tool("ping")
RESULT = ToolResult((TextContent("pong"),))
LAST = AssistantMessage((TextContent("done"),))
CALLING: tuple[StreamStep, ...] = (Started(), Finished(AssistantMessage((ToolCall("c", "ping", {"n": 1}),), "toolUse")))


class BenchHost:
    """A host that answers at once: `turns` turns of one call each, then a text of `deltas` deltas."""

    def __init__(self, turns: int, deltas: int) -> None:
        self.turns = turns
        self.steps: list[StreamStep] = [Started(), TextStart(0)]
        self.steps += [TextDelta(0, "four") for _ in range(deltas)]
        self.steps += [TextEnd(0), Finished(LAST)]
        self.convert = Converter(standard_roles)

    def poll_steering(self, effect: fx.PollSteering | fx.PollSteeringAgain) -> tuple[Message, ...]:
        return ()

    def poll_follow_up(self, effect: fx.PollFollowUp) -> tuple[Message, ...]:
        return ()

    def call_model(self, effect: fx.CallModel) -> Iterator[StreamStep]:
        self.convert(effect.request.context.messages)
        self.turns -= 1
        if self.turns > 0:
            return iter(CALLING)
        return iter(self.steps)

    def prepare_next_turn(self, effect: fx.PrepareNextTurn) -> None:
        return None

    def prepare_request(self, effect: fx.PrepareRequest) -> None:
        return None

    def ask_to_stop(self, effect: fx.AskToStop) -> bool:
        return False

    def finish_turn(self, effect: fx.FinishTurn) -> None:
        return None

    def before_tool_call(self, effect: fx.BeforeToolCall) -> None:
        return None

    def after_tool_call(self, effect: fx.AfterToolCall) -> None:
        return None

    def prepare_arguments(self, effect: fx.PrepareArguments) -> Any:
        return dict(effect.call.arguments)

    def execute_tool(self, effect: fx.ExecuteTool, report: Callable[[ToolResult], None]) -> ToolResult:
        return RESULT

    def now(self) -> None:
        return None

    def wait(self) -> Sequence[Any] | None:
        return None


def seconds(turns: int, deltas: int = 0) -> float:
    """Return how long one run takes; hooks are not configured, both queues are."""
    config = RunConfig(hooks=frozenset({"steering", "follow_up"}))
    machine = Machine(Begun(Context(tools=(TOOL,)), (user("go"),), config))
    driver = Driver(machine, BenchHost(turns, deltas))
    gc.collect()
    began = time.perf_counter()
    driver.run(lambda event: None)
    return time.perf_counter() - began


def measure(rounds: int, turns: int, deltas: int = 0) -> float:
    """Return the median of several runs, in seconds."""
    return median(seconds(turns, deltas) for _ in range(rounds))


def import_ms(statement: str) -> float:
    """Return how long an import takes in a fresh process, in milliseconds: the best of several."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    took = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(7)]
    return min(float(done.stdout) for done in took) * 1000


def main() -> None:
    """Print the figures."""
    seconds(50, 50)
    short, long = measure(7, 200), measure(5, 2000)
    few, many = measure(7, 1, 10_000), measure(5, 1, 100_000)
    both = import_ms("import attrs, transitions; import turnwheel")
    print(f"a turn:      {short / 200 * 1e6:7.1f} µs at 200 turns, {long / 2000 * 1e6:7.1f} µs at 2,000")
    print(f"             2,000 turns cost {long / short:.1f} times 200")
    print(f"a delta:     {few / 10_000 * 1e6:7.2f} µs at 10,000,   {many / 100_000 * 1e6:7.2f} µs at 100,000")
    print(f"             100,000 deltas cost {many / few:.1f} times 10,000")
    print(
        f"importing:   turnwheel {both - import_ms('import attrs, transitions'):.1f} ms more than attrs and transitions"
    )


if __name__ == "__main__":
    main()
