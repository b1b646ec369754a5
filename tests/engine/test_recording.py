"""Recordings: what is written, what is read back, and what is said of files that are none; and explanations."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.recordings import CASES, Observed, record
from turnwheel.agent import Agent
from turnwheel.errors import Misuse, ParseError
from turnwheel.events import AgentStart, MessageUpdate, ToolExecutionEnd
from turnwheel.explaining import decides_to_stop, explain
from turnwheel.messages import ToolResult
from turnwheel.recording import (
    Entry,
    Header,
    RecordedDecision,
    RecordedEffect,
    RecordedEnd,
    RecordedEvent,
    Recorder,
    read_recording,
)
from turnwheel.rules import Decision, Not
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedModel
from turnwheel.wire import event_to_json

HEADER = (
    '{"turnwheel":"recording","version":1,"dialect":"pi-0.85.1","model":"m0","thinkingLevel":"off",'
    '"toolExecution":"parallel","hooks":[],"tools":[]}'
)
EVENT = '{"at":0,"event":{"type":"agent_start"}}'
END = '{"at":1,"ended":{"failure":null,"aborted":false}}'


def recorder_and_lines(clock: Callable[[], int] | None = None) -> tuple[Recorder, list[str]]:
    lines: list[str] = []
    recorder = Recorder(lines.append, clock=clock)
    recorder.header(dialect="pi-0.85.1")
    return recorder, lines


def with_text(text: Any) -> dict[str, Any]:
    """Return what is written of an event whose result has these details, read as JSON."""
    recorder, lines = recorder_and_lines()
    recorder.step(0, ToolExecutionEnd("c1", "read", ToolResult.of("", details=text), False))
    assert len(lines[1].splitlines()) == 1
    written: dict[str, Any] = json.loads(lines[1].encode())
    return written


class TestRoundTrip:
    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_what_was_observed_is_read_back(self, name: str, language: str) -> None:
        """Decisions, events and effects come back in the order in which they came, with their positions."""
        seen: Observed = []
        recording = read_recording(record(name, language, seen=seen))

        assert recording.torn is None
        assert [_brief(entry) for entry in recording.entries[:-1]] == [_brief_seen(each) for each in seen]

    @pytest.mark.parametrize(
        ("name", "failure", "aborted"),
        [("parallel tools", None, False), ("abort", None, True), ("failing listener", "no space left", False)],
    )
    def test_the_end(self, name: str, failure: str | None, aborted: bool) -> None:
        """The last line says how the run ended, at the number of its steps."""
        recording = read_recording(record(name, "pi-0.85.1"))
        last = recording.entries[-2]

        assert recording.ended == RecordedEnd(last.at + isinstance(last, RecordedEvent), None, failure, aborted)

    def test_the_header(self) -> None:
        """The header says what was recorded, hooks in the order in which turnwheel names them."""
        recorder, lines = recorder_and_lines()
        recorder.ended()
        recorder.header(dialect=dialect("pi-1.6.0"), model="m1", hooks={"finish_turn", "steering"}, tools=["read"])

        assert read_recording(lines[2:]).header == Header(
            "pi-1.6.0", "m1", "off", "parallel", ("steering", "finish_turn"), ("read",)
        )

    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_identical_runs(self, name: str, language: str) -> None:
        """Without a clock, identical runs have recordings that are the same byte for byte."""
        assert record(name, language) == record(name, language)

    def test_time(self) -> None:
        """With a clock the header says when the run began, and each entry how long after that it came."""
        recording = read_recording(record("hard stop", "pi-0.85.1", clock=count(1000).__next__))

        assert recording.header.began == 1000
        assert [entry.time for entry in recording.entries] == [*range(1, len(recording.entries) + 1)]

    def test_events_are_those_of_the_wire(self) -> None:
        """An event is written as Pi's JSON, as turnwheel.wire has it without partials."""
        seen: Observed = []
        lines = [json.loads(line) for line in record("parallel tools", "pi-1.6.0", seen=seen)]
        steps = [each[1] for each in seen if not isinstance(each, Decision)]
        events: list[Any] = [step for step in steps if not hasattr(step, "id")]

        assert [line["event"] for line in lines if "event" in line] == [
            event_to_json(event, partials=False) for event in events
        ]

    def test_no_growing_partial(self) -> None:
        """An update is written without what the message had become."""
        updates = [json.loads(line)["event"] for line in record("parallel tools", "pi-0.85.1") if "_update" in line]

        assert updates
        assert all("message" not in update for update in updates)

    def test_little_of_an_effect(self) -> None:
        """An effect is its id and type, and for a call or a request a few facts: neither arguments nor history."""
        effects = [json.loads(line).get("effect") for line in record("parallel tools", "pi-0.85.1")]
        request = {"id": 2, "type": "call_model", "model": "m0", "thinkingLevel": "off", "messages": 1}

        assert request in effects
        assert {"id": 5, "type": "execute_tool", "toolCallId": "a", "toolName": "slow"} in effects

    def test_an_agent(self) -> None:
        """A recorder observes an Agent as well."""
        recorder, lines = recorder_and_lines()
        agent = Agent(ScriptedModel([ScriptedAnswer(text="hi")]), on_decision=recorder.decided, on_step=recorder.step)
        agent.run_sync("hello")
        recorder.ended(agent.failure)

        assert len(read_recording(lines).entries) == len(lines) - 1


def _brief(entry: Entry) -> tuple[Any, ...]:
    match entry:
        case RecordedDecision():
            return entry.at, entry.machine, entry.rule, entry.guards, entry.call
        case RecordedEffect():
            return entry.at, entry.id, entry.type
        case RecordedEvent(event=event):
            return entry.at, event.step if isinstance(event, MessageUpdate) else event
    return (entry,)


def _brief_seen(each: Decision | tuple[int, Any]) -> tuple[Any, ...]:
    if isinstance(each, Decision):
        return each.at, each.machine, each.rule.name, each.guards, each.call
    at, step = each
    if isinstance(step, MessageUpdate):
        return at, step.step
    return (at, step.id, step.type) if hasattr(step, "id") else (at, step)


class TestLines:
    @given(st.text(st.characters(exclude_categories=[]), max_size=5))
    @settings(max_examples=60, deadline=None)
    def test_any_text_is_one_line(self, text: str) -> None:
        """Whatever a text holds, ends of lines or half a surrogate pair, it is one line of UTF-8 and comes back."""
        assert with_text(text)["event"]["result"]["details"] == text

    def test_what_is_no_json(self) -> None:
        """A number that JSON lacks is null, and an object is its text: a recording does not break a run."""
        assert with_text({"a": [float("inf")], "b": {1.5}})["event"]["result"]["details"] == {"a": [None], "b": "{1.5}"}

    def test_order_is_kept(self) -> None:
        """A recorder is begun once, and takes neither steps before that nor those of another run."""
        recorder, _ = recorder_and_lines()
        with pytest.raises(Misuse, match="has begun already"):
            recorder.header(dialect="pi-0.85.1")
        recorder.step(4, AgentStart())
        with pytest.raises(Misuse, match="position 0 comes after 5: this is another run"):
            recorder.step(0, AgentStart())
        recorder.ended()
        with pytest.raises(Misuse, match=r"call header\(\) first"):
            recorder.step(5, AgentStart())


class TestTorn:
    @pytest.mark.parametrize("cut", range(1, len(END)))
    def test_at_every_byte(self, cut: int) -> None:
        """A last line that is torn is left out and its number noted, wherever it is torn."""
        recording = read_recording(f"{HEADER}\n{EVENT}\n{END[:cut]}".encode().split(b"\n"))

        assert (len(recording.entries), recording.torn, recording.ended) == (1, 3, None)

    def test_within_a_letter(self) -> None:
        """A line may be torn in the middle of a letter."""
        torn = '{"at":1,"ended":{"failure":"é'.encode()[:-1]

        assert read_recording([HEADER.encode(), EVENT.encode(), torn]).torn == 3

    def test_whole_without_newline(self) -> None:
        """A last line that lacks nothing but its newline counts, and blank lines do not."""
        recording = read_recording(f"{HEADER}\n\n{EVENT}\n{END}".split("\n"))

        assert (recording.torn, recording.ended) == (None, RecordedEnd(1, None, None, False))

    def test_only_the_last_line(self) -> None:
        """A line in the middle that is not whole is an error with its number."""
        with pytest.raises(ParseError, match="run: line 2: this is not JSON"):
            read_recording([HEADER, EVENT[:9], END], "run")


class TestRefused:
    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ('{"type":"agent_start"}', "this is a log of events, Pi's JSON"),
            ('{"event":{"type":"agent_start"}}', "this is a conform trace"),
            ('[{"event":{"type":"agent_start"}}]', "this is a conform trace"),
            ("hello", "this is not JSON"),
            ('{"prompts":[]}', "this is some other JSON"),
            (HEADER.replace('"version":1', '"version":2'), "version 2 of the format, and version 1 is what"),
            (HEADER.replace('"model":"m0",', ""), "line 1: missing `model`"),
            (HEADER.replace('"parallel"', '"both"'), "line 1.toolExecution: expected one of sequential, parallel"),
        ],
    )
    def test_what_a_file_is_instead(self, line: str, problem: str) -> None:
        """The error names the file, and says what it is where it is no recording."""
        with pytest.raises(ParseError) as raised:
            read_recording([line], "some.jsonl")

        assert str(raised.value).startswith("some.jsonl: ")
        assert problem in str(raised.value)

    def test_nothing(self) -> None:
        """A file without lines is told of as such."""
        with pytest.raises(ParseError, match="and there is nothing"):
            read_recording(["", " \n"])

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ('{"event":{"type":"agent_start"}}', "line 2: expected the position"),
            ('{"at":-1,"event":{"type":"agent_start"}}', "line 2: expected the position"),
            ('{"at":0,"event":{"type":"agent_begin"}}', "line 2: event.type: expected one of"),
            ('{"at":0,"time":"now","event":{"type":"agent_start"}}', "line 2: event: expected the time"),
            (
                '{"at":0,"decision":{"machine":"loop","rule":"x","guards":{"a":1}}}',
                "line 2: decision.guards.a: expected",
            ),
            (
                '{"at":0,"decision":{"machine":"car","rule":"x","guards":{}}}',
                "line 2: decision.machine: expected one of",
            ),
            ('{"at":0,"effect":{"id":"1","type":"x"}}', "line 2: effect.id: expected a whole number"),
            ('{"at":0,"ended":{"failure":1,"aborted":false}}', "line 2: ended: expected a text or null"),
            (
                '{"at":0,"effect":{},"event":{}}',
                "line 2: expected one of event, decision, effect, ended, got event and",
            ),
            ("[]", "line 2: expected an object"),
            (END, "line 3: the recording is over"),
            (HEADER, "line 2: the recording is over, or another begins here"),
        ],
    )
    def test_lines_that_do_not_fit(self, line: str, problem: str) -> None:
        """The error names the line, the place in it, and what was expected."""
        with pytest.raises(ParseError) as raised:
            read_recording([HEADER, line, END])

        assert str(raised.value).startswith(problem)

    def test_what_is_not_known_is_left_out(self) -> None:
        """Keys and kinds of entries that a later turnwheel may add are passed over."""
        more = ['{"at":0,"outcome":{}}', '{"at":0,"new":1,"decision":{"machine":"loop","rule":"x","guards":{},"y":2}}']

        assert read_recording([HEADER.replace("{", '{"more":1,', 1), *more, END]).entries[:-1] == (
            RecordedDecision(0, None, "loop", "x", {}),
        )


class TestExplaining:
    @pytest.mark.parametrize("language", DIALECTS)
    def test_each_choice_of_each_table(self, language: str) -> None:
        """Guards are sorted into held and not held, and an alternative lacks exactly what would have to change."""
        for table in dialect(language).tables:
            for choice in table.choices.values():
                for verdict in filter(None, choice.verdicts):
                    why = explain(dialect(language), table.name, verdict.rule.name, verdict.guards)
                    assert why.rule is verdict.rule
                    assert {guard.name for guard in why.held} == {n for n, said in verdict.guards.items() if said}
                    assert len(why.held) + len(why.not_held) == len(verdict.guards)
                    for other in why.alternatives:
                        assert other.lacked
                        changed = {_name(c): not isinstance(c, Not) for c in other.lacked}
                        assert {**verdict.guards, **changed}.items() >= other.rule.requires().items()

    @pytest.mark.parametrize(
        ("machine", "rule", "guards", "problem"),
        [
            ("car", "Done", {}, "the car of pi-0.85.1 has no row 'Done'"),
            ("loop", "CheckStop ready", {}, "the loop of pi-0.85.1 has no row 'CheckStop ready'"),
            ("loop", "TurnEnd stop stop_wanted", {"stop_wanted": False}, "does not fire where the guards say: !stop_w"),
            ("loop", "TurnEnd stop stop_wanted", {}, "does not fire where the guards say: no guard"),
        ],
    )
    def test_a_decision_of_another_table(self, machine: str, rule: str, guards: dict[str, bool], problem: str) -> None:
        """A row that the table lacks, and guards that do not lead to it, are errors that name them."""
        with pytest.raises(ValueError, match=problem):
            explain(dialect("pi-0.85.1"), machine, rule, guards)

    @pytest.mark.parametrize("language", DIALECTS)
    def test_rows_that_decide(self, language: str) -> None:
        """Of the loop, the rows that judge a turn decide, and all that end the run; those within an answer do not."""
        rules = dialect(language).loop.rules
        deciding = {(rule.source, rule.trigger) for rule in rules if decides_to_stop(rule)}

        assert {rule.name for rule in rules if rule.dest == "Done"} <= {r.name for r in rules if decides_to_stop(r)}
        assert {("CheckStop", "ready"), ("AwaitSteering", "steering"), ("ExecutingTools", "ready")} <= deciding
        assert ("AwaitSteering", "prepared") in deciding or language == "pi-0.80.2"
        assert not {("Streaming", "finished"), ("AwaitSteering", "steering_again"), ("Streaming", "started")} & deciding


def _name(condition: Any) -> str:
    return str(condition.guard.name if isinstance(condition, Not) else condition.name)
