"""`turnwheel run --record`: what is written, when, and what becomes of files that cannot be written."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.adapters.commands import Command, process
from turnwheel.recording import RecordedDecision, RecordedEnd, RecordedEvent, Recording, read_recording
from turnwheel.table import DIALECTS
from turnwheel.wire import to_json


def recorded(folder: Path, name: str = "run.jsonl") -> Recording:
    return read_recording((folder / name).read_bytes().split(b"\n"))


def text_of(ended: object) -> str:
    """Return what a run printed, but for the lines of tools that end in either order."""
    return "\n".join(line for line in str(ended).splitlines() if not line.startswith(("←", "✗")))


def long_answer(folder: Path) -> None:
    """Write the script of an answer that takes a while."""
    (folder / "s.json").write_text(json.dumps([{"text": "word " * 40_000, "deltas": 40_000}]))


class TestWritten:
    @pytest.mark.parametrize("language", DIALECTS)
    def test_the_demo_run(self, turnwheel: Command, language: str) -> None:
        """The whole run is in the file, from its header to its end; what is shown is what it is without."""
        turnwheel.write("a.md", "x\n")
        plain = turnwheel("run", "--dialect", language, "read a.md and b.md")
        ended = turnwheel("run", "--dialect", language, "--record", "run.jsonl", "read a.md and b.md")
        recording = recorded(turnwheel.folder)

        assert (ended.status, ended.err, text_of(ended.out)) == (0, "", text_of(plain.out))
        header = recording.header
        assert (header.dialect, header.model, header.tools) == (language, "demo", ("read", "grep", "find", "ls"))
        assert header.hooks == ("steering", "follow_up")
        assert isinstance(recording.entries[0], RecordedDecision)
        assert recording.ended is not None
        assert (recording.ended.failure, recording.ended.aborted) == (None, False)

    def test_beside_json(self, turnwheel: Command) -> None:
        """With --json, standard output has the events, and the recording has the same ones."""
        turnwheel.write("s.json", '[{"text": "hello"}]')
        ended = turnwheel("run", "--json", "--record", "run.jsonl", "--model", "scripted:s.json", "go")
        events = [entry.event for entry in recorded(turnwheel.folder).entries if isinstance(entry, RecordedEvent)]

        assert [json.loads(line) for line in ended.out.splitlines()] == [to_json(event) for event in events]

    def test_times(self, turnwheel: Command) -> None:
        """The header says when the run began, and no entry comes before that."""
        turnwheel("run", "--record", "run.jsonl", "hello")
        recording = recorded(turnwheel.folder)

        assert recording.header.began is not None
        assert all(entry.time is not None and entry.time >= 0 for entry in recording.entries)

    def test_the_stop_hook_is_named(self, turnwheel: Command) -> None:
        """--max-turns is a hook, and the header says that it was there."""
        turnwheel("run", "--record", "run.jsonl", "--max-turns", "1", "hello")

        assert recorded(turnwheel.folder).header.hooks == ("steering", "follow_up", "should_stop")

    def test_a_run_that_fails(self, turnwheel: Command) -> None:
        """What made the run fail is in its last line, and the status is that of the run."""
        turnwheel.write("s.json", '[{"throws": "no such host"}]')
        ended = turnwheel("run", "--record", "run.jsonl", "--model", "scripted:s.json", "go")
        end = recorded(turnwheel.folder).ended

        assert ended.status == 1
        assert end is not None
        assert (end.failure, end.aborted) == ("no such host", False)

    def test_without_the_option(self, turnwheel: Command) -> None:
        """No recording is written unasked."""
        turnwheel("run", "hello")

        assert list(turnwheel.folder.iterdir()) == []


class TestProcess:
    def test_an_interrupt(self, tmp_path: Path) -> None:
        """An aborted run is recorded to its end, with the reason of the abort."""
        long_answer(tmp_path)
        running = process(["run", "--record", "run.jsonl", "--model", "scripted:s.json", "go"], tmp_path)
        assert running.stdout is not None
        running.stdout.read(20)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        end = recorded(tmp_path).ended

        assert running.returncode == 130
        assert isinstance(end, RecordedEnd)
        assert end.aborted == "interrupted"

    def test_a_crash(self, tmp_path: Path) -> None:
        """What was shown is in the file even if the process is killed: lines do not wait for more."""
        long_answer(tmp_path)
        running = process(["run", "--record", "run.jsonl", "--model", "scripted:s.json", "go"], tmp_path)
        assert running.stdout is not None
        assert running.stdout.read(20) == b"word " * 4
        running.kill()
        running.communicate(timeout=60)

        assert (tmp_path / "run.jsonl").read_bytes().count(b'"delta":"word "') >= 4
        assert recorded(tmp_path).ended is None

    def test_a_pipe(self, tmp_path: Path) -> None:
        """What is there and is no file, such as standard error, is written to."""
        running = process(["run", "--record", "/dev/stderr", "hello"], tmp_path)
        _, err = running.communicate(timeout=60)

        assert running.returncode == 0
        assert read_recording(err.split(b"\n")).ended is not None


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("there.jsonl", "there.jsonl is there already: name another file, or replace it with --force"),
            ("nowhere/run.jsonl", "nowhere/run.jsonl: cannot be written: No such file or directory"),
            (".", ".: cannot be written: Is a directory"),
            ("-", "--record needs a file: standard output shows the run itself"),
            ("a\0b", "'a\\x00b' is no file name: embedded null byte"),
        ],
    )
    def test_before_the_run(self, turnwheel: Command, name: str, problem: str) -> None:
        """A file that cannot be written, or holds something, is told of before anything runs."""
        turnwheel.write("there.jsonl", "precious")
        ended = turnwheel("run", "--record", name, "hello")

        assert (ended.status, ended.out, ended.err) == (2, "", f"turnwheel: {problem}\n")
        assert (turnwheel.folder / "there.jsonl").read_text() == "precious"

    def test_force(self, turnwheel: Command) -> None:
        """--force replaces what is there."""
        turnwheel.write("there.jsonl", "precious\n" * 1000)

        assert turnwheel("run", "--force", "--record", "there.jsonl", "hello").status == 0
        assert recorded(turnwheel.folder, "there.jsonl").torn is None

    @pytest.mark.parametrize("arguments", [["--tools", "fly", "go"], ["--dialect", "pi-9", "go"], [" "]])
    def test_no_file_for_bad_usage(self, turnwheel: Command, arguments: list[str]) -> None:
        """A run that cannot begin leaves no file behind."""
        ended = turnwheel("run", "--record", "run.jsonl", *arguments)

        assert ended.status == 2
        assert list(turnwheel.folder.iterdir()) == []

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_a_full_disk_at_the_beginning(self, turnwheel: Command) -> None:
        """Where not even the header can be written, nothing runs."""
        ended = turnwheel("run", "--record", "/dev/full", "hello")

        assert (ended.status, ended.out) == (2, "")
        assert ended.err == "turnwheel: /dev/full: cannot be written: No space left on device\n"

    def test_a_reader_that_goes_away(self, tmp_path: Path) -> None:
        """Where writing fails in the middle the run goes on to its end; that the recording is not whole is an error."""
        long_answer(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        running = process(["run", "--record", "pipe", "--model", "scripted:s.json", "go"], tmp_path)
        with (tmp_path / "pipe").open("rb") as reader:
            reader.readline()
        out, err = running.communicate(timeout=60)

        assert b"stopped: Nothing is left to do." in out
        assert running.returncode == 1
        assert err.decode().splitlines() == [
            "turnwheel: pipe: Broken pipe: the recording breaks off, and the run goes on",
            "turnwheel: pipe: the recording is not whole",
        ]
