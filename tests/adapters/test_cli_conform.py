"""`turnwheel conform`: traces for programs, timelines for people, and a server of traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.commands import Command, process
from turnwheel.table import dialect
from turnwheel_adapters.cli.conform import served

HELLO = '{"prompts": ["hi"], "model": [{"text": "hällo"}]}'
CALLING = json.dumps(
    {
        "tools": [{"name": "ping"}],
        "prompts": ["go"],
        "model": [{"toolCalls": [{"id": "c1", "name": "ping", "arguments": {"n": 1}}], "deltas": 1}, {"text": "done"}],
        "toolResults": {"c1": {"throws": "broke"}},
    }
)


def answers(*requests: bytes) -> list[list[dict[str, object]]]:
    """Return what the server answers, read."""
    return [json.loads(line) for line in served(requests, dialect())]


class TestTraces:
    def test_lines(self, turnwheel: Command) -> None:
        """A trace is compact JSON lines, in UTF-8, the last one the result."""
        turnwheel.write("a.json", HELLO)
        ended = turnwheel("conform", "a.json")
        lines = ended.out.splitlines()

        assert (ended.status, ended.err) == (0, "")
        assert lines[0] == '{"event":{"type":"agent_start"}}'
        assert list(json.loads(lines[-1])) == ["result"]
        assert "hällo" in ended.out

    def test_one_after_the_other(self, turnwheel: Command) -> None:
        """Several files give several traces, a file that is named twice gives two."""
        turnwheel.write("a.json", HELLO)
        once = turnwheel("conform", "a.json").out

        assert turnwheel("conform", "a.json", "a.json").out == once + once

    def test_dialects_differ(self, turnwheel: Command) -> None:
        """The dialect that is asked for plays, whichever the scenario names."""
        turnwheel.write(
            "a.json", HELLO.replace("{", '{"dialects": ["pi-1.6.0"], "hooks": {"prepareNextTurn": []}, ', 1)
        )
        hook = '"prepareNextTurn"'

        assert hook in turnwheel("conform", "--dialect", "pi-0.80.2", "a.json").out
        assert hook not in turnwheel("conform", "a.json").out

    def test_validates_arguments(self, turnwheel: Command) -> None:
        """Arguments are coerced by the tool's schema, as by the real validator."""
        turnwheel.write(
            "a.json", CALLING.replace('"ping"}]', '"ping", "parameters": {"properties": {"n": false}}}]', 1)
        )

        assert "Validation failed" in turnwheel("conform", "a.json").out

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('{"promts": []}', "a.json: promts: unknown key"),
            ('{"model": [{"text": 5}]}', "a.json: model[0].text: expected a string or null, got 5"),
            ("{", "a.json: line 1, column 2: expected JSON"),
            ("[" * 100_000, "a.json: expected JSON of a sensible depth"),
        ],
    )
    def test_a_bad_scenario_is_status_2(self, turnwheel: Command, text: str, problem: str) -> None:
        """File, place and expectation are told on stderr, and no trace is written, of no other file either."""
        turnwheel.write("good.json", HELLO)
        turnwheel.write("a.json", text)
        ended = turnwheel("conform", "good.json", "a.json")

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith(f"turnwheel: {problem}")

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            ([], "no scenario is named"),
            (["none.json"], "none.json: cannot be read: No such file"),
            (["--serve", "a.json"], "--serve takes its scenarios from standard input"),
            (["--serve", "--timeline"], "not allowed with argument"),
            (["--dialect", "pi-9", "a.json"], "there is no dialect 'pi-9'"),
        ],
    )
    def test_bad_usage_is_status_2(self, turnwheel: Command, arguments: list[str], problem: str) -> None:
        """What cannot be done as asked is told in one line."""
        ended = turnwheel("conform", *arguments)

        assert ended.status == 2
        assert problem in ended.err


class TestTimeline:
    def test_numbers_events_and_indents_calls(self, turnwheel: Command) -> None:
        """Events have the numbers that a scenario's abort counts by; calls stand between them without one."""
        turnwheel.write("a.json", HELLO)
        title, *lines = turnwheel("conform", "--timeline", "a.json").out.splitlines()

        assert title == "a.json, pi-0.85.1"
        assert lines[:3] == ["   0  agent_start", "   1  turn_start", '   2  message_start  user "hi"']
        assert "          stream  m0: 1 (user)" in lines
        assert lines[-1] == "      result: 2 (user, assistant)"

    def test_shows_tools(self, turnwheel: Command) -> None:
        """A call is shown with its arguments, its end with the beginning of the result."""
        turnwheel.write("a.json", CALLING)
        out = turnwheel("conform", "--timeline", "a.json").out

        assert 'tool_execution_start  c1 ping {"n":1}\n' in out
        assert 'execute  c1 args={"n":1}\n' in out
        assert 'tool_execution_end  c1 ping error "broke"\n' in out
        assert 'message_update  [0] toolcall_delta "{"n":1}"\n' in out

    def test_shows_what_a_run_threw(self, turnwheel: Command) -> None:
        """A run that failed ends with its error."""
        turnwheel.write("a.json", '{"prompts": ["hi"], "steering": [{"throws": "queue broke"}]}')

        assert turnwheel("conform", "--timeline", "a.json").out.splitlines()[-1] == "      throws: queue broke"


class TestServed:
    def test_a_trace_for_a_line(self) -> None:
        """A scenario gets its trace, as one array."""
        (trace,) = answers(HELLO.encode())

        assert trace[0] == {"event": {"type": "agent_start"}}
        assert list(trace[-1]) == ["result"]

    def test_blank_lines_are_skipped(self) -> None:
        """A blank line is no request."""
        assert answers(b"\n", b"  \r\n", b"") == []

    @pytest.mark.parametrize(
        ("request_", "problem"),
        [
            (b"{bad", "line 1, column 2: expected JSON"),
            (b"5", "expected an object, got 5"),
            (b'{"x": 1}', "x: unknown key"),
            (b'{"prompts": ["\xff"]}', "expected UTF-8 text"),
            (b"[" * 100_000, "expected JSON of a sensible depth"),
            (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "expected JSON of a sensible depth"),
            (b'{"prompts": [' + b"1" * 5_000 + b"]}", ""),
        ],
    )
    def test_goes_on_after_a_bad_one(self, request_: bytes, problem: str) -> None:
        """What is wrong with a scenario is its answer, and the next one is played."""
        (refused, trace) = answers(request_, HELLO.encode())

        assert list(refused[0]) == ["scenarioError"]
        assert str(refused[0]["scenarioError"]).startswith(problem)
        assert trace[0] == {"event": {"type": "agent_start"}}

    def test_in_a_process(self, tmp_path: Path) -> None:
        """Each answer is there before the next request is sent, and the end of input ends the server well."""
        running = process(["conform", "--serve"], tmp_path)
        assert running.stdin is not None
        assert running.stdout is not None
        for request, kind in ((HELLO.encode(), "event"), (b"\xc3\x28", "scenarioError"), (HELLO.encode(), "event")):
            running.stdin.write(request + b"\n")
            running.stdin.flush()
            assert kind in json.loads(running.stdout.readline())[0]
        out, err = running.communicate(timeout=60)

        assert (running.returncode, out, err) == (0, b"", b"")
