"""`turnwheel explore`: the report for people and for programs, claims, the saved scenario, and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest

from tests.adapters.commands import Command
from turnwheel.table import DIALECTS
from turnwheel_adapters.cli.progress import EVERY, Lines

SMALL = ("explore", "--turns", "1", "--calls", "1", "--queue", "1")
BROKEN = "aborted and emits(tool_execution_start)"


def report(turnwheel: Command, *arguments: str) -> dict[str, Any]:
    """Return the report as JSON."""
    read: dict[str, Any] = json.loads(turnwheel(*SMALL, "--json", *arguments).out)
    return read


class TestReport:
    def test_figures_for_people(self, turnwheel: Command) -> None:
        """The bounds, the figures and each rule with its count; nothing on stderr of a short run."""
        ended = turnwheel(*SMALL)
        lines = ended.out.splitlines()

        assert (ended.status, ended.err) == (0, "")
        assert lines[0] == (
            "pi-0.85.1: all runs of up to 1 model call, 1 tool call in an answer and 1 message in each queue"
        )
        assert [line.split()[0] for line in lines[2:7]] == ["states", "edges", "paths", "depth", "rules"]
        assert any(line.endswith("  AwaitSteering begin prompt") for line in lines)
        assert "       never  Prepared cancel" in lines
        assert lines[-1] == "no dead end, and no cycle of the machine by itself"

    def test_the_same_twice(self, turnwheel: Command) -> None:
        """The report is the same, byte for byte, on every run."""
        assert turnwheel(*SMALL).out == turnwheel(*SMALL).out

    @pytest.mark.parametrize("name", ["pi-0.80.2", "pi-0.85.1"])
    def test_json(self, turnwheel: Command, name: str) -> None:
        """The same figures for programs, with every table of the dialect that was asked for."""
        read = report(turnwheel, "--dialect", name)

        assert name in DIALECTS
        assert read["dialect"] == name
        assert read["bounds"] == {"turns": 1, "calls": 1, "queue": 1, "failures": True}
        assert read["states"] < read["edges"] < read["paths"]
        assert {*read["fired"]} == {"loop", "batch", "call"}
        assert (read["deadEnds"], read["cycles"], read["claims"]) == ([], [], [])

    def test_without_failures(self, turnwheel: Command) -> None:
        """The flag leaves failures out, so the rules for them never fire."""
        never = {found["rule"] for found in report(turnwheel, "--no-failures")["neverFired"]}

        assert "Streaming failed" in never
        assert "Streaming failed" not in {found["rule"] for found in report(turnwheel)["neverFired"]}


class TestClaims:
    def test_one_that_holds(self, turnwheel: Command) -> None:
        """It is told, and the status is 0."""
        ended = turnwheel(*SMALL, "--never", "emits(agent_end) and failed")

        assert (ended.status, ended.err) == (0, "")
        assert "holds: never emits(agent_end) and failed" in ended.out

    def test_one_that_is_broken(self, turnwheel: Command) -> None:
        """The shortest path is told step by step, with what followed, and the status is 1."""
        ended = turnwheel(*SMALL, "--never", BROKEN)

        assert (ended.status, ended.err) == (1, "turnwheel: 1 broken claim\n")
        assert f"never {BROKEN}; the shortest way there:\n   1. the run begins with a prompt\n" in ended.out
        assert "   5. the run is aborted\n   6. the machine goes on → emits tool_execution_start; asks " in ended.out
        assert f"broken: never {BROKEN}" in ended.out

    def test_kinds_in_their_order(self, turnwheel: Command) -> None:
        """Claims of all kinds go together, and are reported in the order in which they were made."""
        claims = ["--eventually", "emits(agent_end)", "--never", "shown", "--always", "not failed or state == Done"]
        told = report(turnwheel, *claims)["claims"]

        assert [(claim["kind"], claim["holds"]) for claim in told] == [
            ("eventually", False),
            ("never", False),
            ("always", True),
        ]
        assert told[1]["path"][-1] == "the model's answer begins → emits message_start; in Streaming"

    def test_one_that_no_scenario_shows(self, turnwheel: Command) -> None:
        """The path is told all the same, with the reason why there is no scenario, and no file is written."""
        ended = turnwheel(*SMALL, "--never", "state == Done and executing", "--save", "found.json")

        assert "no scenario can say this: the run is broken off" in ended.out
        assert not (turnwheel.folder / "found.json").exists()

    def test_the_saved_scenario_plays(self, turnwheel: Command) -> None:
        """What is written with --save is what the report shows, and conform plays it: the same thing is seen."""
        found = report(turnwheel, "--never", BROKEN, "--save", "found.json")["claims"][0]["scenario"]
        saved = json.loads((turnwheel.folder / "found.json").read_text(encoding="utf-8"))
        trace = [json.loads(line) for line in turnwheel("conform", "found.json").out.splitlines()]
        events = [line["event"]["type"] for line in trace if "event" in line]

        assert saved == found
        assert saved["abort"] == {"onEvent": 5}
        assert "tool_execution_start" in events[6:]


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (["--turns", "-1"], "argument --turns: expected a number from 0 to 99, got '-1'"),
            (["--calls", "10"], "argument --calls: expected a number from 0 to 9, got '10'"),
            (["--queue", "two"], "argument --queue: expected a number from 0 to 99, got 'two'"),
            (["--dialect", "pi-9"], "there is no dialect 'pi-9'"),
            (["--never", "chian"], "claim 'chian': there is no chian; there are prompt, "),
            (["--never", "__import__('os')"], "there is no __import__(…)"),
        ],
    )
    def test_bad_usage_is_status_2(self, turnwheel: Command, arguments: list[str], problem: str) -> None:
        """What cannot be done is told in one line, before anything is explored."""
        ended = turnwheel("explore", *arguments)

        assert (ended.status, ended.out) == (2, "")
        assert problem in ended.err

    def test_a_file_that_cannot_be_written(self, turnwheel: Command) -> None:
        """It is named, and the status says that the command failed."""
        ended = turnwheel(*SMALL, "--never", BROKEN, "--save", "no/such/folder.json")

        assert ended.status == 1
        assert ended.err == "turnwheel: no/such/folder.json: cannot be written: No such file or directory\n"


class TestProgress:
    def test_lines_every_few_seconds(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A short search says nothing; a long one tells how far it is, each time that some seconds have passed."""
        times = iter([0.0, 1.0, EVERY, EVERY + 1, 2 * EVERY + 1])
        lines = Lines(lambda: next(times))
        for walked in (0, 1000, 2000, 3000):
            lines(5000, walked)

        assert capsys.readouterr() == (
            "",
            "exploring: 5,000 states, 4,000 not walked yet\nexploring: 5,000 states, 2,000 not walked yet\n",
        )

    def test_a_terminal_shows_a_spinner(self, turnwheel: Command) -> None:
        """Where stderr is a terminal, it tells how far the search is, and stdout is what it always is."""
        outside, inside = os.openpty()
        command = [sys.executable, "-m", "turnwheel_adapters.cli.main", *SMALL]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        shown = b""
        with (turnwheel.folder / "out").open("wb") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=inside)
            os.close(inside)
            # A terminal that nobody holds open any more cannot be read.
            with suppress(OSError):
                while piece := os.read(outside, 1000):
                    shown += piece
        os.close(outside)

        assert process.wait() == 0
        assert b"exploring: " in shown
        assert (turnwheel.folder / "out").read_text(encoding="utf-8") == turnwheel(*SMALL).out
