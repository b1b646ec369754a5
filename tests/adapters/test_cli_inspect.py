"""`turnwheel inspect`: the page of a recorded run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.commands import Command
from tests.engine.recordings import record

WITHOUT_GRAPHVIZ = """
import sys
from turnwheel_adapters.cli.main import main

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "pygraphviz":
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
sys.exit(main(sys.argv[1:]))
"""
"""The command where neither the package nor the command of Graphviz is there."""


def recorded(turnwheel: Command, name: str = "run.jsonl", lines: int | None = None) -> str:
    """Write a recording, or the first lines of one."""
    return turnwheel.write(name, "".join(record("parallel tools", "pi-0.85.1")[:lines]))


def page(turnwheel: Command, name: str = "run.html") -> str:
    """Return what was written."""
    return (turnwheel.folder / name).read_text(encoding="utf-8")


class TestPage:
    """A page that is written."""

    def test_beside_the_recording(self, turnwheel: Command) -> None:
        """By default it is written beside the recording, and stdout says where."""
        (turnwheel.folder / "deep").mkdir()
        ended = turnwheel("inspect", recorded(turnwheel, "deep/run.jsonl"))

        assert (ended.status, ended.err) == (0, "")
        assert ended.out.startswith(f"{Path('deep/run.html')}: ")
        assert page(turnwheel, "deep/run.html").startswith("<!doctype html>")

    def test_two_runs(self, turnwheel: Command) -> None:
        """Two recordings make one page, which has the names of both."""
        ended = turnwheel("inspect", recorded(turnwheel, "a.jsonl"), recorded(turnwheel, "b.jsonl"))

        assert (ended.status, ended.err) == (0, "")
        assert "Both runs took the same decisions." in page(turnwheel, "a-b.html")

    def test_the_same_bytes(self, turnwheel: Command) -> None:
        """Writing it again gives the same bytes."""
        run = recorded(turnwheel)
        turnwheel("inspect", run, "-o", "one.html")
        turnwheel("inspect", run, "-o", "two.html")

        assert page(turnwheel, "one.html") == page(turnwheel, "two.html")

    def test_is_there_already(self, turnwheel: Command) -> None:
        """A file that is there is not touched, unless --force says to replace it."""
        run = recorded(turnwheel)
        turnwheel.write("run.html", "mine")
        ended = turnwheel("inspect", run)

        assert (ended.status, ended.out, page(turnwheel)) == (2, "", "mine")
        assert ended.err == (
            "turnwheel: run.html is there already: name another file with -o, or replace it with --force\n"
        )
        assert turnwheel("inspect", "--force", run).status == 0
        assert page(turnwheel) != "mine"

    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_the_recording_itself(self, turnwheel: Command, force: list[str]) -> None:
        """The recording is never replaced by its page."""
        run = recorded(turnwheel)
        before = page(turnwheel, run)
        ended = turnwheel("inspect", *force, run, "-o", run)

        assert (ended.status, page(turnwheel, run)) == (2, before)
        assert ended.err == "turnwheel: run.jsonl is the recording itself: name another file with -o\n"

    @pytest.mark.parametrize("arguments", [["-"], ["run.jsonl", "-o", "-"]])
    def test_needs_a_file(self, turnwheel: Command, arguments: list[str]) -> None:
        """Without a name, and on standard output, there is no page."""
        recorded(turnwheel)

        assert turnwheel("inspect", *arguments)[::2] == (2, "turnwheel: the page needs a file: name one with -o\n")

    def test_cannot_be_written(self, turnwheel: Command) -> None:
        """A place that cannot be written is told of in one line."""
        ended = turnwheel("inspect", recorded(turnwheel), "-o", "missing/run.html")

        assert (ended.status, ended.err.count("\n")) == (2, 1)
        assert ended.err.startswith(f"turnwheel: {Path('missing/run.html')}: cannot be written: ")


class TestDamaged:
    """Recordings that are not whole."""

    def test_breaks_off(self, turnwheel: Command) -> None:
        """A torn last line is told of on stderr, and in the page."""
        text = "".join(record("parallel tools", "pi-0.85.1")[:12])
        ended = turnwheel("inspect", turnwheel.write("run.jsonl", text[:-9]))

        assert ended.status == 0
        assert ended.err == ("turnwheel: run.jsonl: line 12 is torn and left out: the recording breaks off there\n")
        assert '"torn":12' in page(turnwheel)

    @pytest.mark.parametrize("text", ["", "{}\n", "no json\n", json.dumps({"type": "agent_start"})])
    def test_no_recording(self, turnwheel: Command, text: str) -> None:
        """What is no recording gets one line, and no page."""
        ended = turnwheel("inspect", turnwheel.write("run.jsonl", text))

        assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert ended.err.startswith("turnwheel: run.jsonl: ")
        assert not (turnwheel.folder / "run.html").exists()

    def test_a_line_in_the_middle(self, turnwheel: Command) -> None:
        """A line in the middle that is not whole is an error with its number, and there is no page."""
        lines = record("parallel tools", "pi-0.85.1")
        ended = turnwheel("inspect", turnwheel.write("run.jsonl", "".join([*lines[:4], "{\n", *lines[4:]])))

        assert (ended.status, ended.err) == (2, "turnwheel: run.jsonl: line 5: this is not JSON\n")
        assert not (turnwheel.folder / "run.html").exists()

    def test_a_row_that_is_not_known(self, turnwheel: Command) -> None:
        """A decision that is not of the dialect is an error with its position, and there is no page."""
        text = "".join(record("hard stop", "pi-0.85.1")).replace("CheckStop ready", "x")
        ended = turnwheel("inspect", turnwheel.write("run.jsonl", text))

        assert (ended.status, ended.err.count("\n")) == (2, 1)
        assert ended.err.startswith("turnwheel: run.jsonl: position 8: the loop of pi-0.85.1 has no row 'x hard_stop'")
        assert not (turnwheel.folder / "run.html").exists()


class TestWithoutGraphviz:
    """A machine without Graphviz."""

    def test_says_how_to_get_it(self, turnwheel: Command) -> None:
        """The page has no picture, and stderr says in one line how to get one."""
        command = [sys.executable, "-c", WITHOUT_GRAPHVIZ, "inspect", recorded(turnwheel)]
        paths = {"PATH": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        ended = subprocess.run(
            command, cwd=turnwheel.folder, env={**os.environ, **paths}, capture_output=True, text=True, check=False
        )

        assert ended.returncode == 0
        assert ended.stderr.startswith("turnwheel: the states are shown as a row of boxes; for a picture: pip install")
        assert "<template data-picture" not in page(turnwheel)
