"""The tool bash, with a real shell."""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.agents import within
from tests.tools.calling import call, called, text
from turnwheel.messages import ToolResult
from turnwheel_tools import ToolError
from turnwheel_tools.bash import bash_tool
from turnwheel_tools.shell import allowed, decoded


def bash(folder: Path, command: str, **more: Any) -> ToolResult:
    return call(bash_tool(folder), command=command, **more)


def failed(folder: Path, command: str, **more: Any) -> str:
    """Return what the model is told of a command that fails."""
    with pytest.raises(ToolError) as caught:
        bash(folder, command, **more)
    return str(caught.value)


def running(mark: str) -> list[int]:
    """Return the processes whose command line has a mark in it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def left(mark: str) -> list[int]:
    """Return the processes with a mark that are still there; those that were ended have a moment to be gone."""
    for _ in range(100):
        if not running(mark):
            return []
        time.sleep(0.02)
    return running(mark)


class TestOutput:
    def test_both_streams(self, tmp_path: Path) -> None:
        """Both streams come together, in their order, and the folder is that of the tool."""
        result = bash(tmp_path, "echo one; echo two >&2; pwd")

        assert text(result) == f"one\ntwo\n{tmp_path}\n"
        assert result.details == {"exitCode": 0, "bytes": len(text(result)), "fullOutput": None}

    def test_nothing(self, tmp_path: Path) -> None:
        """A command that says nothing is told to have said nothing."""
        assert text(bash(tmp_path, "true")) == "(no output)"

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("printf no-newline", "no-newline"),
            ("printf 'a\\0b\\n'", "a\0b\n"),
            ("printf 'caf\\351\\n'", "caf\ufffd\n\n[U+FFFD stands for bytes that are not valid UTF-8.]"),
            ("printf '\\303\\251'", "é"),
        ],
    )
    def test_odd_output(self, tmp_path: Path, command: str, said: str) -> None:
        """Output without a newline, with NUL, and in no UTF-8 is shown, and nothing crashes."""
        assert text(bash(tmp_path, command)).rstrip("\n") == said.rstrip("\n")

    def test_much(self, tmp_path: Path) -> None:
        """Of much output the end is shown, and a file has all of it."""
        result = bash(tmp_path, "seq 1 50000")
        file = Path(result.details["fullOutput"])

        assert text(result).splitlines()[-3] == "50000"
        assert "The last " in text(result)
        assert len(text(result)) < 60_000
        assert file.read_text().splitlines() == [str(n) for n in range(1, 50001)]
        file.unlink()

    def test_many_lines(self, tmp_path: Path) -> None:
        """Of many short lines the last 2,000 are shown, and a file has all of them, too."""
        result = bash(tmp_path, "seq 1 2500")
        file = Path(result.details["fullOutput"])

        assert text(result).startswith("501\n")
        assert len(file.read_text().splitlines()) == 2500
        file.unlink()

    def test_a_hundred_megabytes(self, tmp_path: Path) -> None:
        """100 MB of output stay out of memory."""
        tracemalloc.start()
        result = bash(tmp_path, "head -c 100000000 /dev/zero | tr '\\0' 'x'")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        file = Path(result.details["fullOutput"])

        assert result.details["bytes"] == file.stat().st_size == 100_000_000
        assert most < 64_000_000
        file.unlink()

    def test_it_is_told_while_it_comes(self, tmp_path: Path) -> None:
        """What a command says is told while it runs."""
        told: list[str] = []
        call(bash_tool(tmp_path), told=lambda r: told.append(text(r)), command="echo one; sleep 0.5; echo two")

        assert told[0] == "one\n"

    def test_standard_input(self, tmp_path: Path) -> None:
        """A command that reads finds nothing, and does not wait."""
        assert text(bash(tmp_path, "cat; echo end")) == "end\n"


class TestEnds:
    def test_exit_codes(self, tmp_path: Path) -> None:
        """A command that fails is an error with what it said, and its code."""
        assert failed(tmp_path, "echo oops; exit 3") == "oops\n\n[Command exited with code 3]"
        assert "ended by signal 9" in failed(tmp_path, "kill -9 $$")

    def test_a_timeout(self, tmp_path: Path) -> None:
        """A command that takes too long is ended, with what it had said."""
        began = time.monotonic()
        told = failed(tmp_path, "echo begun; sleep 100", timeout=0.3)

        assert told == "begun\n\n[Command timed out after 0.3 seconds, and was ended]"
        assert time.monotonic() - began < 5

    def test_one_that_ignores_sigterm(self, tmp_path: Path) -> None:
        """A command that does not want to end is ended."""
        mark = f"stubborn-{os.getpid()}"
        failed(tmp_path, f"trap '' TERM; echo {mark}; while true; do sleep 0.1; done", timeout=0.3)

        assert left(mark) == []

    @within(20)
    async def test_an_abort(self, tmp_path: Path) -> None:
        """An abort ends the command and all that it has started."""
        began = time.monotonic()
        seconds = f"1000.{os.getpid()}"
        with pytest.raises(ToolError, match="Command aborted"):
            await called(
                bash_tool(tmp_path),
                aborted=lambda: time.monotonic() - began > 0.4,
                command=f"sleep {seconds} & sleep {seconds}",
            )
        assert time.monotonic() - began < 5
        assert left(seconds) == []

    @within(20)
    async def test_a_cancellation(self, tmp_path: Path) -> None:
        """A task that is cancelled leaves no process, either."""
        seconds = f"1001.{os.getpid()}"
        with anyio.move_on_after(0.4):
            await called(bash_tool(tmp_path), command=f"sleep {seconds} & sleep {seconds}")
        assert left(seconds) == []

    def test_what_is_left_running(self, tmp_path: Path) -> None:
        """A command that leaves something running in the background does not wait for it."""
        began = time.monotonic()
        result = bash(tmp_path, "sleep 3 & echo started")

        assert text(result) == "started\n"
        assert time.monotonic() - began < 2

    def test_no_such_shell(self, tmp_path: Path) -> None:
        """A folder that is gone is told of."""
        tool = bash_tool(tmp_path / "gone")
        with pytest.raises(ToolError, match="cannot be run"):
            call(tool, command="true")

    def test_a_nul(self, tmp_path: Path) -> None:
        """A command with NUL is refused before anything runs."""
        assert "NUL" in failed(tmp_path, "echo \0")


class TestEnvironment:
    def test_no_keys(self, tmp_path: Path) -> None:
        """A command gets what it needs to run, and no keys; what the user adds it gets as well."""
        environ = {"PATH": os.environ["PATH"], "HOME": "/home/x", "OPENAI_API_KEY": "sk-1", "AWS_SECRET": "s"}
        tool = bash_tool(tmp_path, environ=environ, variables={"MINE": "yes"})
        told = dict(line.partition("=")[::2] for line in text(call(tool, command="env")).splitlines())

        assert (told["HOME"], told["MINE"]) == ("/home/x", "yes")
        assert not {name for name in told if re.search("KEY|SECRET", name)}

    def test_names_in_any_case(self) -> None:
        """On some systems the names of variables are written in other ways."""
        assert allowed({"Path": "x", "Key": "y"}, {}) == {"Path": "x"}


def test_a_cut_character() -> None:
    """A character of which only the end is left is no invalid one."""
    assert decoded("é".encode()[1:] + b"x") == ("x", False)
    assert decoded("\ufffd".encode()) == ("\ufffd", False)
