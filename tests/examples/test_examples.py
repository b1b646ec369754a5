"""The examples: each runs as it stands, offline, and prints what it should."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from turnwheel.table import dialect

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
NAMES: Final = sorted(path.stem for path in EXAMPLES.glob("*.py"))

PRINTED: Final = {
    "agent_loop": """\
user        find the number
assistant   It is in 1…100.
toolResult  50 is too high
assistant   It is in 1…49.
toolResult  25 is too low
assistant   It is in 26…49.
toolResult  37 is too low
assistant   It is in 38…49.
toolResult  43 is too high
assistant   It is in 38…42.
toolResult  40 is too low
assistant   It is in 41…42.
toolResult  41 is too low
assistant   It is 42.
""",
    "coding_agent": """\
read  ok: print("Hello, world")
edit  ok: greet.py is changed: 1 edit.
bash  ok: Good morning, world
write error: Not allowed: README.md may not be changed; only *.py may.
The greeting is changed; README.md may not be touched.
""",
    "direct_call": """\
'Brot'
' und'
' Butter'
' und'
' Marmelade'
stop: Brot und Butter und Marmelade
""",
    "hundred_agents": """\
100 agents, 200 turns, 300 tool calls
300 tools ran at the same time
""",
    "iterate": """\
1: 'one, '
2: 'two, t'
3: 'hree,'
kept: 'one, two, three,'
stop reason aborted, still running: False
""",
    "own_tool": """\
user:   how much are two cups of tea?
call:   price {'drink': 'tea', 'cups': '2'}
result: 2 cups: 4 dollars
user:   and how much is cocoa?
call:   price {'drink': 'cocoa', 'cups': 1}
failed: Validation failed for tool "price":
  - drink: must be equal to one of the allowed values

Received arguments:
{
  "drink": "cocoa",
  "cups": 1
}
ended after 2 of 3 answers
""",
    "workflow": """\
draft 1: Our utterly amazing kettle boils water.
editor:  How much water?
draft 2: Our amazing kettle boils a litre of water.
editor:  Leave out the praise, and say how long it takes.
draft 3: The kettle boils a litre of water in two minutes.
editor:  OK
""",
}
"""What the examples print, but for those that say more than is fixed: reasons of the table, a run that was searched."""
FREE: Final = ("bare_machine", "stop_hook_property")


def printed_by(name: str) -> str:
    """Run an example in a process of its own, every warning an error, and return what it prints."""
    ended = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert ended.stderr.decode() == ""
    assert ended.returncode == 0
    return ended.stdout.decode().replace("\r\n", "\n")


class TestExamples:
    """Programs that a user can copy."""

    @pytest.mark.parametrize("name", PRINTED)
    def test_prints_exactly_this(self, name: str) -> None:
        """The example prints the same every time."""
        assert printed_by(name) == PRINTED[name]

    def test_the_bare_machine_tells_events_and_effects(self) -> None:
        """By hand: a tool runs in the first turn, and what was said meanwhile goes into the second."""
        steps = [line.removeprefix("    ") for line in printed_by("bare_machine").splitlines() if line[0] == " "]

        message = ["message_start", "message_end"]
        assert steps == [
            *("agent_start", "turn_start", *message, "? poll_steering", "? call_model", *message),
            *("tool_execution_start", "? prepare_arguments", "? execute_tool", "tool_execution_end", *message),
            *("turn_end", "? poll_steering", "turn_start", *message, "? call_model", *message, "turn_end"),
            *("? poll_steering", "agent_end"),
        ]

    def test_the_bare_machine_tells_reasons(self) -> None:
        """By hand: every reason that is printed is one of the table."""
        reasons = [line.split(": ", 1)[1] for line in printed_by("bare_machine").splitlines() if line[0] != " "]

        assert len(reasons) > 20
        assert set(reasons) <= {rule.why for table in dialect().tables for rule in table.rules}

    def test_the_property_finds_the_mistake(self) -> None:
        """The run that shows it is a small one: one answer, one call at most, and the hook cuts it short."""
        found, ended, free, mended = printed_by("stop_hook_property").splitlines()
        (answer,) = json.loads(found)["model"]

        assert len(answer.get("toolCalls", [])) <= 1
        assert int(ended.split(": ")[1]) < int(free.split(": ")[1])
        assert mended == "mended: right in 200 runs"

    def test_none_is_left_out(self) -> None:
        """Each example is run by a test."""
        assert sorted([*PRINTED, *FREE]) == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_is_short_and_says_what_it_shows(self, name: str) -> None:
        """An example has at most 80 lines, and opens with what it shows."""
        source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")

        assert len(source.splitlines()) <= 80
        assert ast.get_docstring(ast.parse(source))
