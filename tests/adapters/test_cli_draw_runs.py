"""`turnwheel draw --run` and `--runs`: recorded runs on the machine."""

from __future__ import annotations

import json

import pytest

from tests.adapters.commands import Command
from tests.engine.recordings import record
from turnwheel.counting import Counts
from turnwheel.recorded import read_recording


def wrote(turnwheel: Command, *names: str, language: str = "pi-0.85.1") -> list[str]:
    """Write the recordings of scripted runs, and return the names of the files."""
    return [turnwheel.write(f"{name.replace(' ', '-')}.jsonl", "".join(record(name, language))) for name in names]


class TestRun:
    @pytest.mark.parametrize("form", ["dot", "mermaid", "svg", "png"])
    def test_every_format(self, turnwheel: Command, form: str) -> None:
        """A run is drawn in each format, and the picture goes to the file that -o names."""
        (file,) = wrote(turnwheel, "follow-up")
        ended = turnwheel("draw", "--run", file, "--format", form, "-o", "picture")

        assert (ended.status, ended.err) == (0, "")
        assert (turnwheel.folder / "picture").stat().st_size > 1000

    def test_runs_add_up(self, turnwheel: Command) -> None:
        """Recordings, and counts of many, are added up, and the picture says of how many it is."""
        files = wrote(turnwheel, "follow-up", "stop hook")
        counts = Counts.of(read_recording(record("hard stop", "pi-0.85.1")))
        files.append(turnwheel.write("counts.json", json.dumps(counts.to_json())))
        ended = turnwheel("draw", "--run", *files, "--format", "dot")

        assert ended.status == 0
        assert "3 runs, " in ended.out

    @pytest.mark.parametrize("machine", ["batch", "call"])
    def test_the_other_machines(self, turnwheel: Command, machine: str) -> None:
        """--machine draws the same run on the batch's table, and on the call's."""
        (file,) = wrote(turnwheel, "parallel tools")

        assert "fired" in turnwheel("draw", "--run", file, "--machine", machine, "--format", "dot").out

    def test_a_torn_recording(self, turnwheel: Command) -> None:
        """A recording that breaks off is drawn as far as it goes, and that is said."""
        lines = record("follow-up", "pi-0.85.1")
        file = turnwheel.write("torn.jsonl", "".join(lines[:9]) + lines[9][:5])
        ended = turnwheel("draw", "--run", file, "--format", "dot")

        assert ended.status == 0
        assert "line 10 is torn" in ended.err


class TestRuns:
    def test_where_they_part(self, turnwheel: Command) -> None:
        """Picture and stderr say where two runs part and which guard said something else."""
        files = wrote(turnwheel, "parallel tools", "follow-up")
        ended = turnwheel("draw", "--runs", *files, "--format", "dot")

        assert ended.status == 0
        for told in (ended.out, ended.err):
            assert "The guard calls says yes in A and no in B." in told

    def test_the_machine_in_which_they_part(self, turnwheel: Command) -> None:
        """Runs that part in a tool call are drawn on the call's table, unless --machine says otherwise."""
        lines = record("parallel tools", "pi-0.85.1")
        at = next(number for number, line in enumerate(lines) if '"machine":"call"' in line and "blocked" in line)
        entry = json.loads(lines[at])
        entry["decision"]["call"] = 9
        files = wrote(turnwheel, "parallel tools")
        files.append(turnwheel.write("b.jsonl", "".join([*lines[:at], json.dumps(entry) + "\n", *lines[at + 1 :]])))

        assert 'digraph "pi-0.85.1 call"' in turnwheel("draw", "--runs", *files, "--format", "dot").out
        assert (
            'digraph "pi-0.85.1 loop"'
            in turnwheel("draw", "--runs", *files, "--format", "dot", "--machine", "loop").out
        )

    def test_equal_runs(self, turnwheel: Command) -> None:
        """Equal runs are said to be equal, and drawn together."""
        (file,) = wrote(turnwheel, "follow-up")
        ended = turnwheel("draw", "--runs", file, file, "--format", "dot")

        assert (ended.status, ended.err) == (0, "turnwheel: Both runs took the same decisions.\n")


class TestBadInput:
    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("", "there is nothing"),
            ('{"type": "agent_start"}\n', "this is a log of events, Pi's JSON"),
            ('{"call": "x"}\n', "this is a conform trace"),
            ("hello", "this is not JSON"),
            ('{"turnwheel": "counts", "version": 9}', "expected version 1 of counts"),
            (
                '{"turnwheel": "counts", "version": 1, "dialect": "pi-9", "runs": 1, "fired": {}}',
                "pi-9",
            ),
            (
                '{"turnwheel": "counts", "version": 1, "dialect": "pi-0.85.1", "fired": {"loop": {"odd": 1}}}',
                "has no row 'odd'",
            ),
        ],
    )
    def test_no_recording(self, turnwheel: Command, content: str, complaint: str) -> None:
        """What is no recording is told of in one line that names the file, with exit status 2."""
        turnwheel.write("x", content)
        ended = turnwheel("draw", "--run", "x")

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("turnwheel: x: ")
        assert complaint in ended.err

    def test_a_missing_file(self, turnwheel: Command) -> None:
        """A file that is not there is named."""
        assert turnwheel("draw", "--run", "none.jsonl").err.startswith("turnwheel: none.jsonl: cannot be read")

    def test_an_unknown_decision(self, turnwheel: Command) -> None:
        """A decision that the dialect lacks is told of with file and position."""
        text = "".join(record("follow-up", "pi-0.85.1")).replace("AwaitFollowUp follow_up !pending", "odd")
        ended = turnwheel("draw", "--run", turnwheel.write("odd.jsonl", text))

        assert ended.status == 2
        assert "odd.jsonl: position " in ended.err

    def test_two_dialects(self, turnwheel: Command) -> None:
        """Runs of two dialects are neither added up nor compared."""
        (one,) = wrote(turnwheel, "follow-up")
        (other,) = wrote(turnwheel, "hard stop", language="pi-1.6.0")
        for option in ("--run", "--runs"):
            ended = turnwheel("draw", option, one, other)
            assert ended.status == 2
            assert "pi-1.6.0" in ended.err
            assert "pi-0.85.1" in ended.err

    @pytest.mark.parametrize(
        "options",
        [
            ("--run", "a", "--diff", "pi-0.80.2", "pi-0.85.1"),
            ("--run", "a", "--dialect", "pi-0.80.2"),
            ("--runs", "a"),
            ("--run", "a", "--format", "grid"),
            ("--runs", "a", "b", "--format", "grid"),
            ("--run", "-", "-"),
            ("--runs", "-", "-"),
        ],
    )
    def test_options_that_do_not_go_together(self, turnwheel: Command, options: tuple[str, ...]) -> None:
        """Bad usage is told of in one line, with exit status 2."""
        ended = turnwheel("draw", *options)

        assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
