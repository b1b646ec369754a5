"""`turnwheel run`: what it shows, what it prints as JSON, and how it ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.adapters.commands import Command, process
from turnwheel.messages import ToolResult
from turnwheel.rules import State
from turnwheel_adapters.cli.output import brief, harmless
from turnwheel_adapters.cli.story import path_in_brief
from turnwheel_adapters.cli.view import call_in_brief, result_in_brief

FAILING = '[{"error": "overloaded"}]'
CALLING = '[{"toolCalls": [{"id": "a", "name": "read", "arguments": {"path": "a.md"}}]}, {"text": "done"}]'


class TestShown:
    def test_a_run_with_tools(self, turnwheel: Command) -> None:
        """The answer, a line for each tool's start and end, well or badly, and the answer made of them."""
        turnwheel.write("a.md", "one\ntwo\n")
        ended = turnwheel("run", "read a.md and b.md")

        assert (ended.status, ended.err) == (0, "")
        lines = ended.out.splitlines()
        assert lines[1:4] == ["I will read a.md and b.md.", "→ read a.md", "→ read b.md"]
        assert [line[:14] for line in sorted(lines[4:6])] == ["← read a.md: 2", "✗ read b.md: b"]
        assert lines[6:8] == [
            "(thinking) The results are in, 1 error among them. Now I can answer.",
            "a.md has 2 lines (8 bytes).",
        ]

    def test_the_end_is_summed_up(self, turnwheel: Command) -> None:
        """At the end come the way through the states, what was counted, and the reason of the last rule."""
        states, counted, stopped = turnwheel("run", "hello").out.splitlines()[-3:]

        assert states.endswith("AwaitSteering → Streaming → CheckStop → TurnEnd → AwaitSteering → AwaitFollowUp → Done")
        assert counted.startswith("counted: 1 turn, ")
        assert counted.endswith(" events, 8 decisions")
        assert stopped == "stopped: Nothing is left to do."

    def test_an_answer_that_was_not_streamed(self, turnwheel: Command) -> None:
        """An answer without deltas is shown when it is whole."""
        turnwheel.write("s.json", '[{"thinking": "hm", "text": "all at once"}]')
        shown = turnwheel("run", "--model", "scripted:s.json", "go").out.splitlines()

        assert shown[:2] == ["(thinking) hm", "all at once"]

    def test_no_escape_code_gets_through(self, turnwheel: Command) -> None:
        """Control characters of a model are spelled out, and none are written where there is no terminal."""
        turnwheel.write("s.json", json.dumps([{"thinking": "hm", "text": "\x1b[2Jx\x9b\r", "deltas": 3}]))
        shown = turnwheel("run", "--model", "scripted:s.json", "go").out

        assert "\\x1b[2Jx\\x9b\\x0d" in shown
        assert "\x1b" not in shown

    def test_max_turns_is_a_stop_hook(self, turnwheel: Command) -> None:
        """After so many turns the run ends, normally, and says by which rule."""
        turnwheel.write("a.md", "x")
        ended = turnwheel("run", "--max-turns", "1", "read a.md")

        assert ended.status == 0
        assert "states:  AwaitSteering → Streaming → CheckStop → ExecutingTools → TurnEnd → Done\n" in ended.out
        assert "counted: 1 turn" in ended.out
        assert "The stop hook outranks" in ended.out

    @pytest.mark.parametrize("dialect", ["pi-0.85.1", "pi-1.6.0"])
    def test_max_turns_in_each_dialect_that_has_such_a_hook(self, turnwheel: Command, dialect: str) -> None:
        """The hook is the one that the Agent of the dialect has; the run ends after the same turn."""
        turnwheel.write("a.md", "x")
        ended = turnwheel("run", "--dialect", dialect, "--max-turns", "1", "--json", "read a.md")

        assert (ended.status, ended.err) == (0, "")
        assert sum(json.loads(line)["type"] == "turn_end" for line in ended.out.splitlines()) == 1

    def test_without_tools(self, turnwheel: Command) -> None:
        """A model that is given no tool calls none."""
        assert "→" not in turnwheel("run", "--tools", "", "read a.md").out.partition("states:")[0]

    def test_dialects_differ(self, turnwheel: Command) -> None:
        """The dialect decides: only the earlier one runs the calls of an answer that was cut off."""
        cut = CALLING.replace('[{"tool', '[{"stopReason": "length", "tool', 1)
        model = f"scripted:{turnwheel.write('s.json', cut)}"

        assert "ExecutingTools" in turnwheel("run", "--model", model, "--dialect", "pi-0.80.2", "go").out
        assert "ExecutingTools" not in turnwheel("run", "--model", model, "go").out


class TestJson:
    def events(self, turnwheel: Command, *options: str) -> list[dict[str, object]]:
        turnwheel.write("a.md", "x\n")
        ended = turnwheel("run", *options, "read a.md")
        assert (ended.status, ended.err) == (0, "")
        return [json.loads(line) for line in ended.out.splitlines()]

    def test_prints_each_event(self, turnwheel: Command) -> None:
        """Each line is an event in Pi's JSON, from the first to the last."""
        kinds = [event["type"] for event in self.events(turnwheel, "--json")]

        assert kinds[:2] == ["agent_start", "turn_start"]
        assert kinds[-1] == "agent_end"
        assert {"message_update", "tool_execution_start", "tool_execution_end", "turn_end"} < set(kinds)

    def test_updates_carry_the_partial(self, turnwheel: Command) -> None:
        """Pi's form shows in each update what the message has become."""
        updates = [event for event in self.events(turnwheel, "--json") if event["type"] == "message_update"]

        assert all("message" in update for update in updates)

    def test_deltas_leave_the_partial_out(self, turnwheel: Command) -> None:
        """--json=deltas shows the step only, so that the output grows with the answer."""
        updates = [event for event in self.events(turnwheel, "--json=deltas") if event["type"] == "message_update"]

        assert updates
        assert not any("message" in update for update in updates)

    def test_half_a_surrogate_pair(self, turnwheel: Command) -> None:
        """What UTF-8 cannot hold is written as JSON's escape."""
        turnwheel.write("s.json", '[{"text": "\\ud800"}]')
        out = turnwheel("run", "--json", "--model", "scripted:s.json", "go").out

        assert '"text":"\\ud800"' in out


class TestEnds:
    @pytest.mark.parametrize(
        ("script", "problem"),
        [
            (FAILING, "the model failed: overloaded"),
            ('[{"throws": "no such host"}]', "the run failed: no such host"),
        ],
    )
    def test_an_error_is_status_1(self, turnwheel: Command, script: str, problem: str) -> None:
        """A run that ended in error says so in one line on stderr."""
        turnwheel.write("s.json", script)
        ended = turnwheel("run", "--model", "scripted:s.json", "go")

        assert ended.status == 1
        assert ended.err.startswith(f"turnwheel: {problem}")
        assert ended.err.count("\n") == 1

    def test_json_has_stdout_for_itself(self, turnwheel: Command) -> None:
        """An error of the model does not get into the JSON lines."""
        turnwheel.write("s.json", FAILING)
        ended = turnwheel("run", "--json", "--model", "scripted:s.json", "go")

        assert ended.status == 1
        assert [json.loads(line)["type"] for line in ended.out.splitlines()][-1] == "agent_end"

    def test_debug_shows_where(self, turnwheel: Command) -> None:
        """With --debug, before or behind the command, a traceback comes before the line."""
        turnwheel.write("s.json", '[{"throws": "no such host"}]')
        for arguments in (["--debug", "run"], ["run", "--debug"]):
            ended = turnwheel(*arguments, "--model", "scripted:s.json", "go")

            assert "Traceback" in ended.err
            assert ended.err.splitlines()[-1].startswith("turnwheel: the run failed")

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            ([], "the following arguments are required: COMMAND"),
            (["fly"], "invalid choice: 'fly'"),
            (["run"], "the following arguments are required: PROMPT"),
            (["run", " "], "the prompt is empty"),
            (
                ["run", "go", "--model", "nope/x"],
                "there is no model 'nope/x'; choose from demo, scripted:FILE, PROVIDER/NAME",
            ),
            (["run", "go", "--model", "demo:x"], "the model demo has no variants"),
            (["run", "go", "--model", "scripted"], "the model scripted needs a file"),
            (["run", "go", "--model", "scripted:none.json"], "none.json: cannot be read: No such file"),
            (["run", "go", "--tools", "read,fly"], "there is no tool 'fly'; choose from read"),
            (["run", "go", "--dialect", "pi-9"], "there is no dialect 'pi-9'; there are pi-0.80.2"),
            (["run", "go", "--max-turns", "0"], "expected a whole number from 1 on, got '0'"),
            (["run", "go", "--json=all"], "ignored explicit argument 'all'"),
        ],
    )
    def test_bad_usage_is_status_2(self, turnwheel: Command, arguments: list[str], problem: str) -> None:
        """What cannot be done as asked is told in one line that says what there is, and nothing is run."""
        ended = turnwheel(*arguments)

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("turnwheel: ")
        assert problem in ended.err
        assert ended.err.count("\n") == 1

    def test_a_bad_script_is_named(self, turnwheel: Command) -> None:
        """A script that is not valid is told of with its file, the place in it, and what was expected."""
        turnwheel.write("s.json", '[{"text": 5}]')
        ended = turnwheel("run", "--model", "scripted:s.json", "go")

        assert ended.status == 2
        assert ended.err == "turnwheel: s.json: [0].text: expected a string or null, got 5\n"

    @pytest.mark.parametrize("option", ["--help", "--version"])
    def test_help_and_version(self, turnwheel: Command, option: str) -> None:
        """Help and version are no errors."""
        ended = turnwheel(option)

        assert (ended.status, ended.err) == (0, "")
        assert "turnwheel" in ended.out


class TestProcess:
    def test_prompt_from_standard_input(self, tmp_path: Path) -> None:
        """The prompt - is read from standard input, and a run that ended well has status 0."""
        (tmp_path / "a.md").write_text("x\n")
        running = process(["run", "-"], tmp_path)
        out, err = running.communicate(b"read a.md", timeout=60)

        assert (running.returncode, err) == (0, b"")
        assert "a.md has 1 line (2 bytes)." in out.decode()

    def test_an_interrupt_aborts(self, tmp_path: Path) -> None:
        """Ctrl-C ends the answer as aborted: the run is summed up, and the status is 130."""
        (tmp_path / "s.json").write_text(json.dumps([{"text": "word " * 40_000, "deltas": 40_000}]))
        running = process(["run", "--model", "scripted:s.json", "go"], tmp_path)
        assert running.stdout is not None
        assert running.stdout.read(20) == b"word " * 4
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)

        assert running.returncode == 130
        assert err == b"turnwheel: the run was aborted\n"
        assert b"stopped: The call failed or was cancelled" in out

    @pytest.mark.parametrize("form", [[], ["--json=deltas"]])
    def test_a_reader_that_goes_away(self, tmp_path: Path, form: list[str]) -> None:
        """When nobody reads stdout any more the command ends, without a word."""
        (tmp_path / "s.json").write_text(json.dumps([{"text": "word " * 40_000, "deltas": 40_000}]))
        running = process(["run", *form, "--model", "scripted:s.json", "go"], tmp_path)
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(5)
        running.stdout.close()

        assert running.stderr.read() == b""
        assert running.wait(timeout=60) == 1
        running.stderr.close()
        assert running.stdin is not None
        running.stdin.close()


class TestWords:
    def test_turns_that_went_the_same_way(self) -> None:
        """Turns in a row with the same states are told once, with their number."""
        turn = [State.Streaming, State.CheckStop, State.TurnEnd, State.AwaitSteering]
        path = [State.AwaitSteering, *turn * 3, State.AwaitFollowUp, State.Done]

        assert path_in_brief(path) == (
            "AwaitSteering → 2 times (Streaming → CheckStop → TurnEnd → AwaitSteering) → "
            "Streaming → CheckStop → TurnEnd → AwaitSteering → AwaitFollowUp → Done"
        )

    def test_a_call(self) -> None:
        """A call is told by its name, its first argument, and the others with their names."""
        assert call_in_brief("read", {"path": "a.md", "offset": 5}) == "read a.md offset=5"
        assert call_in_brief("odd", [1]) == "odd [1]"

    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (ToolResult.of("x", details={"lines": 1200, "firstLine": 1, "lastLine": 1200}), "1,200 lines"),
            (ToolResult.of("x", details={"lines": 9, "firstLine": 2, "lastLine": 4}), "lines 2-4 of 9"),
            (ToolResult.of("one\ntwo"), "one …"),
            (ToolResult(), "nothing"),
        ],
    )
    def test_a_result(self, result: ToolResult, words: str) -> None:
        """A result is told by its lines where it counts them, else by how its text begins."""
        assert result_in_brief(result) == words

    def test_brief(self) -> None:
        """A long text is cut, on one line, to what was allowed."""
        assert brief("a\n b\tc") == "a b c"
        assert brief("x" * 500, 10) == "x" * 9 + "…"

    def test_harmless(self) -> None:
        """Line ends and tabs stay; every other control character is spelled out."""
        assert harmless("a\n\tb\x1bc\x00") == "a\n\tb\\x1bc\\x00"
