"""`turnwheel run` among streams that are closed or badly encoded, early interrupts, and models that say odd things."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.commands import Command
from turnwheel import events as ev
from turnwheel.agent import Agent
from turnwheel.messages import ToolResult
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedModel
from turnwheel_adapters.cli.interrupt import aborting_on_interrupt
from turnwheel_adapters.cli.output import json_line
from turnwheel_adapters.cli.screen import PlainScreen
from turnwheel_adapters.cli.view import HumanView

TWICE = """[{"toolCalls": [
  {"id": "c", "name": "read", "arguments": {"path": "a.md"}},
  {"id": "c", "name": "read", "arguments": {"path": "b.md"}}
]}, {"text": "done"}]"""

INTERRUPTED = """
import os, signal, sys
from turnwheel_adapters.cli.main import main

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.argv[1] = ""
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Importing())
sys.exit(main(sys.argv[2:]))
"""
"""The command, interrupted while it imports the module that it is given first."""


def ran(folder: Path, *command: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run Python with these arguments in a process of its own."""
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "", "PYTHONIOENCODING": "utf-8:strict"}
    return subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, timeout=60, check=False
    )


class TestSharedIds:
    """Two calls of one answer that share an id."""

    def test_both_are_shown(self, turnwheel: Command) -> None:
        """Each has its lines, which do not claim to know which of the two has ended, and the run goes on."""
        turnwheel.write("a.md", "one\n")
        ended = turnwheel("run", "--model", f"scripted:{turnwheel.write('s.json', TWICE)}", "go")
        lines = ended.out.splitlines()

        assert (ended.status, lines[:2]) == (0, ["→ read a.md", "→ read b.md"])
        assert [line[:12] for line in sorted(lines[2:4])] == ["← read: 1 li", "✗ read: b.md"]
        assert lines[4] == "done"

    def test_an_end_without_a_start(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An end that nothing is known of is shown with the name of its tool."""
        HumanView(PlainScreen())(ev.ToolExecutionEnd("c", "read", ToolResult.of("x"), is_error=False))

        assert capsys.readouterr().out == "← read: x\n"


class TestInterrupts:
    """Ctrl-C where no run is on."""

    def test_without_a_run(self) -> None:
        """Before a run begins, and after its end, an interrupt is not swallowed."""
        agent = Agent(ScriptedModel([ScriptedAnswer(text="hi")]))
        with aborting_on_interrupt(agent):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            agent.run_sync("go")
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

    def test_with_a_run(self) -> None:
        """While a run is on the first one aborts it."""
        agent = Agent(ScriptedModel([ScriptedAnswer(text="hi")]))
        agent.subscribe(lambda event: signal.raise_signal(signal.SIGINT) if event.type == "turn_start" else None)
        with aborting_on_interrupt(agent):
            answer = agent.run_sync("go")

        assert answer is not None
        assert answer.stop_reason == "aborted"

    @pytest.mark.parametrize(
        ("module", "form"), [("turnwheel.wire", ["--json=deltas"]), ("anyio._backends._asyncio", [])]
    )
    def test_while_the_run_is_being_set_up(self, tmp_path: Path, module: str, form: list[str]) -> None:
        """An interrupt between the arguments and the run ends the command at once, in one line."""
        ended = ran(tmp_path, sys.executable, "-c", INTERRUPTED, module, "run", *form, "hello")

        assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"turnwheel: interrupted\n")


class TestClosedStreams:
    """Standard streams that are not there."""

    def closed(self, folder: Path, stream: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run the command with one of its streams closed."""
        close = f'exec "$0" "$@" {stream}'
        return ran(folder, "sh", "-c", close, sys.executable, "-m", "turnwheel_adapters.cli.main", *arguments)

    def test_stdin(self, tmp_path: Path) -> None:
        """A run needs no standard input."""
        ended = self.closed(tmp_path, "<&-", "run", "hello")

        assert (ended.returncode, ended.stderr) == (0, b"")

    def test_a_prompt_from_stdin(self, tmp_path: Path) -> None:
        """A prompt that is to come from there is bad usage."""
        ended = self.closed(tmp_path, "<&-", "run", "-")

        assert (ended.returncode, ended.stderr[:36]) == (2, b"turnwheel: standard input is closed,")

    @pytest.mark.parametrize("command", [["run", "hello"], ["run", "--json", "hello"], ["dialects"]])
    def test_stdout(self, tmp_path: Path, command: list[str]) -> None:
        """Where nothing can be shown, one line says so."""
        ended = self.closed(tmp_path, ">&-", *command)

        assert (ended.returncode, ended.stderr.count(b"\n")) == (1, 1)
        assert ended.stderr.startswith(b"turnwheel: standard output is closed")

    def test_stderr(self, tmp_path: Path) -> None:
        """An error that cannot be told still has its status."""
        assert self.closed(tmp_path, "2>&-", "run", "").returncode == 2


class TestEncoding:
    """Input that is not UTF-8."""

    def test_a_prompt(self, tmp_path: Path) -> None:
        """What cannot be read of a prompt is replaced."""
        command = [sys.executable, "-m", "turnwheel_adapters.cli.main", "run", "-"]
        ended = ran(tmp_path, *command, given=b"caf\xe9 read a.md")

        assert (ended.returncode, ended.stderr) == (0, b"")

    def test_a_line_that_is_typed(self, tmp_path: Path) -> None:
        """A badly encoded line does not end steering: what is typed behind it goes in."""
        call = {"toolCalls": [{"id": "c", "name": "read", "arguments": {"path": "s.json"}}]}
        (tmp_path / "s.json").write_text(json.dumps([*[call] * 200, *[{"text": "x"}] * 3]))
        ours, theirs = pty.openpty()
        os.write(ours, b"caf\xe9\nand more\n")
        command = [sys.executable, "-m", "turnwheel_adapters.cli.main", "run", "--model", "scripted:s.json", "go"]
        strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
        ended = subprocess.run(
            command, cwd=tmp_path, env=strict, stdin=theirs, capture_output=True, timeout=60, check=False
        )
        os.close(ours)
        os.close(theirs)

        assert (ended.returncode, ended.stderr) == (0, b"")
        assert "» and more\n" in ended.stdout.decode()


class TestJson:
    """Numbers that JSON does not have."""

    @pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
    def test_is_null(self, number: float) -> None:
        """Wherever they are, they are written as null, as JavaScript does it; all else stays."""
        assert json_line({"a": [number, 1.5, {"b": (number, "x")}]}) == '{"a":[null,1.5,{"b":[null,"x"]}]}\n'

    def test_in_a_run(self, turnwheel: Command) -> None:
        """What a model made too large for a number leaves every line JSON."""
        script = (
            '[{"toolCalls": [{"id": "c", "name": "read", "arguments": {"path": "a", "limit": 1e999}}]}, {"text": "x"}]'
        )
        out = turnwheel("run", "--json", "--model", f"scripted:{turnwheel.write('s.json', script)}", "go").out

        assert "Infinity" not in out
        assert all(json.loads(line) for line in out.splitlines())
