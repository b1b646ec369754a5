"""What is typed while a run is on."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from turnwheel.agent import Agent
from turnwheel.messages import user
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedModel
from turnwheel_adapters.cli.steering import queue_line

SCRIPT = """[
  {"text": "one", "toolCalls": [{"id": "a", "name": "read", "arguments": {"path": "answers.json"}}]},
  {"text": "two"}, {"text": "three"}, {"text": "four"}
]"""


@pytest.fixture
def agent() -> Agent:
    return Agent(ScriptedModel([ScriptedAnswer(text="hello")]))


class TestQueueLine:
    """One line."""

    def test_a_line_steers(self, agent: Agent) -> None:
        """A line is a steering message, without the white space around it."""
        queue_line(agent, " only the login page \n")

        assert agent.queued_steering == (user("only the login page"),)

    def test_two_arrows_follow_up(self, agent: Agent) -> None:
        """A line that begins with >> is a follow-up."""
        queue_line(agent, ">> then the tests\n")

        assert agent.queued_follow_up == (user("then the tests"),)
        assert agent.queued_steering == ()

    @pytest.mark.parametrize("line", ["\n", "   \n", ">>\n", ">>  \n"])
    def test_an_empty_line_says_nothing(self, agent: Agent, line: str) -> None:
        """Return alone, or arrows alone, queue nothing."""
        queue_line(agent, line)

        assert not agent.has_queued()


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "turnwheel_adapters.cli.main", *arguments]
        environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment, close_fds=True
        )
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + 20
        while text not in self.seen:
            assert time.monotonic() < until, self.seen
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.ours, 4096).decode()
                except OSError:
                    assert text in self.seen, self.seen


class TestTerminal:
    """The command on a real terminal."""

    @pytest.mark.parametrize("line", ["to the left", ">> and then?"])
    def test_a_line_is_shown_where_it_went_in(self, tmp_path: Path, line: str) -> None:
        """What is typed goes in at the next poll, and is shown there."""
        (tmp_path / "answers.json").write_text(SCRIPT)
        terminal = Terminal(tmp_path, "run", "--model", "scripted:answers.json", "go")
        terminal.type(f"{line}\n")
        terminal.wait_for("stopped:")
        terminal.process.wait(20)

        assert f"» {line.removeprefix('>> ')}" in terminal.seen
