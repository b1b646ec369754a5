"""`turnwheel check`: logs in, verdicts out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.commands import Command, process

HELLO = '{"prompts": ["hi"], "model": [{"text": "hello"}]}'
START, TURN, END = '{"type":"agent_start"}', '{"type":"turn_start"}', '{"type":"agent_end","messages":[]}'


@pytest.fixture
def events(turnwheel: Command) -> list[str]:
    """Return the log of a run, as the command writes it."""
    turnwheel.write("answers.json", '[{"text": "hello", "deltas": 2}]')
    return turnwheel("run", "--json", "--model", "scripted:answers.json", "hi").out.splitlines()


def saved(turnwheel: Command, *lines: str, name: str = "log.jsonl") -> str:
    return turnwheel.write(name, "".join(f"{line}\n" for line in lines))


class TestVerdicts:
    def test_kept(self, turnwheel: Command, events: list[str]) -> None:
        """A good log gets a line for each promise: how often it was judged, or that nothing was relevant."""
        ended = turnwheel("check", saved(turnwheel, *events))

        assert (ended.status, ended.err) == (0, "")
        assert ended.out.splitlines() == [
            f"log.jsonl: {len(events)} things seen",
            f"  kept     lifecycle: judged {len(events)} times",
            "  kept     one model call a turn: judged 1 time",
            "  -        results in call order: saw nothing relevant",
            "  -        hard stop: saw nothing relevant",
            "  -        steering before follow-up: saw nothing relevant",
            "  -        terminate by all: saw nothing relevant",
        ]

    def test_broken(self, turnwheel: Command, events: list[str]) -> None:
        """Each break is told with its line in the file, blank lines counted, and the status is 1."""
        ended = turnwheel("check", saved(turnwheel, "", events[0], *events[2:]))

        assert (ended.status, ended.err) == (1, "turnwheel: 1 broken promise\n")
        assert "  BROKEN   lifecycle: " in ended.out
        assert "           line 3: message_start (user) outside of a turn\n" in ended.out

    def test_deltas(self, turnwheel: Command) -> None:
        """A log without growing partials is judged like one with them."""
        log = turnwheel("run", "--json=deltas", "read README.md").out
        turnwheel.write("log.jsonl", log)

        assert turnwheel("check", "log.jsonl").status == 0

    def test_traces(self, turnwheel: Command) -> None:
        """Traces are judged more deeply, since they show the polls; several may stand in one file."""
        turnwheel.write("a.json", HELLO)
        turnwheel.write("log.jsonl", turnwheel("conform", "a.json", "a.json").out)

        assert "kept     steering before follow-up: judged 2 times\n" in turnwheel("check", "log.jsonl").out

    def test_several_logs(self, turnwheel: Command, events: list[str]) -> None:
        """Each log is judged for itself, and one that is broken makes the status 1."""
        good, bad = saved(turnwheel, *events), saved(turnwheel, START, TURN, name="bad.jsonl")
        ended = turnwheel("check", bad, good)

        assert ended.status == 1
        assert [line for line in ended.out.splitlines() if not line.startswith(" ")] == [
            "bad.jsonl: 2 things seen",
            f"log.jsonl: {len(events)} things seen",
        ]

    def test_standard_input(self, tmp_path: Path) -> None:
        """A dash is standard input."""
        out, _ = process(["check", "-"], tmp_path).communicate(f"{START}\n".encode(), timeout=60)

        assert b"standard input: 1 thing seen\n" in out
        assert b"line 1: the log ends, and there was no agent_end\n" in out

    def test_what_was_left_out(self, turnwheel: Command) -> None:
        """What is not known and what is torn is said."""
        ended = turnwheel("check", saved(turnwheel, START, '{"type":"session\\u001b"}', '{"type":"turn'))

        assert ended.status == 0
        assert "  left out, since it is not known: session\\x1b (1)\n" in ended.out
        assert "  left out, since it is torn: line 3; the end of its run is not asked for\n" in ended.out

    def test_no_stop_hook(self, turnwheel: Command) -> None:
        """A run that ends in the middle of a chain is broken if it had no stop hook."""
        turnwheel.write("log.jsonl", turnwheel("run", "--json", "--max-turns", "1", "read README.md").out)

        assert turnwheel("check", "log.jsonl").status == 0
        assert "BROKEN   terminate by all" in turnwheel("check", "--no-stop-hook", "log.jsonl").out


class TestJson:
    def test_report(self, turnwheel: Command) -> None:
        """The report as JSON names every promise, its verdict, and where it is broken."""
        ended = turnwheel("check", "--json", saved(turnwheel, START, '{"type":"session"}', END))
        report = json.loads(ended.out)
        lifecycle, *others = report["promises"]

        assert ended.status == 1
        assert (report["log"], report["seen"], report["skipped"], report["torn"]) == (
            "log.jsonl",
            2,
            {"session": 1},
            None,
        )
        assert (lifecycle["verdict"], lifecycle["relevant"]) == ("broken", 2)
        assert lifecycle["breaks"] == [{"line": 3, "text": "agent_end, and there was no turn"}]
        assert {other["verdict"] for other in others} == {"nothing"}

    def test_the_entry_of_an_array(self, turnwheel: Command) -> None:
        """In a log of whole traces a break has line and entry."""
        log = saved(turnwheel, '[{"event":{"type":"agent_start"}},{"result":{"messages":[]}}]')
        report = json.loads(turnwheel("check", "--json", log).out)

        assert report["promises"][0]["breaks"][0].items() >= {"line": 1, "entry": 2}.items()


class TestUnreadable:
    @pytest.mark.parametrize(
        ("write", "problem"),
        [
            (lambda turnwheel: "nowhere.jsonl", "nowhere.jsonl: cannot be read: "),
            (saved, "log.jsonl: expected JSON lines, and there is none"),
            (lambda turnwheel: saved(turnwheel, "hello"), "log.jsonl: line 1, column 1: expected JSON"),
            (lambda turnwheel: saved(turnwheel, START, '{"event":{}}', END), "log.jsonl: line 2: expected an event"),
        ],
    )
    def test_status(self, turnwheel: Command, write: Callable[[Command], Any], problem: str) -> None:
        """A log that cannot be read is one line on stderr, and status 2."""
        ended = turnwheel("check", write(turnwheel))

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith(f"turnwheel: {problem}")
