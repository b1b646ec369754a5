"""`turnwheel sequence`: a recorded run as a tree."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.commands import Command
from tests.engine.recordings import CASES, record
from turnwheel.events import MessageEnd, ToolExecutionEnd, ToolExecutionStart, TurnStart
from turnwheel.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall, ToolResult, user
from turnwheel.recorded import Entry, Header, RecordedDecision, RecordedEvent, Recording
from turnwheel.rules import Rule
from turnwheel.table import dialect
from turnwheel_adapters.cli.sequence_tree import sequence
from turnwheel_adapters.cli.tree import Node, as_list, drawn

STOPPED = "└─ stopped: Nothing is left to do."


def tree(turnwheel: Command, name: str, *options: str, language: str = "pi-0.85.1") -> list[str]:
    turnwheel.write("run.jsonl", "".join(record(name, language)))
    ended = turnwheel("sequence", *options, "run.jsonl")
    assert (ended.status, ended.err) == (0, "")
    lines: list[str] = ended.out.splitlines()
    return lines


class TestTree:
    def test_tools_side_by_side(self, turnwheel: Command) -> None:
        """Calls that overlap are shown with the order of their ends, updates are counted."""
        assert tree(turnwheel, "parallel tools") == [
            "pi-0.85.1, model m0, thinking off, tools slow, quick",
            "├─ turn 1",
            "│  ├─ prompt: go",
            "│  ├─ answer (toolUse): no text",
            "│  └─ 2 calls, side by side",
            "│     ├─ slow: at last (1 update, ended as number 2)",
            "│     └─ quick: ok (ended as number 1)",
            "├─ turn 2",
            "│  └─ answer (stop, 5 updates): both are in",
            STOPPED,
        ]

    def test_messages_that_went_in(self, turnwheel: Command) -> None:
        """A message that cut in and one that followed up are told apart."""
        lines = tree(turnwheel, "follow-up")

        assert "│  ├─ steering: by the way" in lines
        assert "│  ├─ follow-up: and then?" in lines
        assert lines[-1] == STOPPED

    @pytest.mark.parametrize(
        ("language", "calls"),
        [
            ("pi-0.85.1", ["1 call", "slow: ok", "1 call not taken up"]),
            ("pi-1.6.0", ["2 calls, one after the other", "slow: ok", "quick: error: Operation aborted"]),
        ],
    )
    def test_abort(self, turnwheel: Command, language: str, calls: list[str]) -> None:
        """Calls that the abort dropped are counted, where the dialect drops them; the abort is told at the end."""
        lines = tree(turnwheel, "abort", language=language)

        assert [line.strip("│├└─ ") for line in lines[4:7]] == calls
        assert lines[-2] == "├─ aborted"

    def test_a_failure(self, turnwheel: Command) -> None:
        """What made the run fail is told before the reason of the rule."""
        assert tree(turnwheel, "failing listener")[-2:] == [
            "├─ failed: no space left",
            (
                "└─ stopped: The world failed outside a tool call, or a listener did: the run breaks off, "
                "no event is made up for it."
            ),
        ]

    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_every_run(self, turnwheel: Command, name: str, language: str) -> None:
        """Each run of each dialect has its turns, and an end with a reason."""
        lines = tree(turnwheel, name, language=language)

        assert lines[1] == "├─ turn 1"
        assert lines[-1].startswith("└─ stopped: ")

    def test_breaks_off(self, turnwheel: Command) -> None:
        """A recording without an end shows what there is."""
        turnwheel.write("run.jsonl", "".join(record("parallel tools", "pi-0.85.1")[:24]))
        ended = turnwheel("sequence", "run.jsonl")

        assert ended.status == 0
        assert ended.err == "turnwheel: run.jsonl: the recording breaks off before the end of the run\n"
        assert ended.out.splitlines()[-1] == "└─ the recording breaks off here"

    def test_a_row_that_is_not_known(self, turnwheel: Command) -> None:
        """A decision that is not of the dialect is an error with its position."""
        turnwheel.write("run.jsonl", "".join(record("hard stop", "pi-0.85.1")).replace("CheckStop ready", "x"))
        ended = turnwheel("sequence", "run.jsonl")

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("turnwheel: run.jsonl: position 8: the loop of pi-0.85.1 has no row 'x hard_stop'")


class TestMarkdown:
    def test_a_nested_list(self, turnwheel: Command) -> None:
        """The same as a nested list."""
        assert tree(turnwheel, "hard stop", "--markdown")[:4] == [
            "- pi-0.85.1, model m0, thinking off, no tools",
            "  - turn 1",
            "    - prompt: go",
            "    - answer (error): error: overloaded",
        ]

    def test_what_looks_like_markdown(self) -> None:
        """Words of a model are shown, and are no markup."""
        node = Node("<b> *x* [y](z) `c`")

        assert list(as_list(node)) == [r"- \<b\> \*x\* \[y\](z) \`c\`"]
        assert list(drawn(node)) == ["<b> *x* [y](z) `c`"]


class TestBuilt:
    """Runs that no script gives easily, put together by hand."""

    def built(self, *what: Any, hooks: tuple[str, ...] = (), language: str = "pi-1.6.0") -> list[str]:
        entries: list[Entry] = [
            RecordedDecision(0, None, *each) if isinstance(each, tuple) else RecordedEvent(0, None, each)
            for each in what
        ]
        header = Header(language, "m0", "off", "parallel", hooks, ())
        lines = drawn(sequence(Recording(header, entries), dialect(language), "run"))
        return [line.strip("│├└─ ") for line in lines][1:-1]

    def test_calls_with_one_id(self) -> None:
        """Of calls with the same id, the position in the answer says which one has ended."""
        start, end = ToolExecutionStart("c", "read", {}), ToolExecutionEnd("c", "read", ToolResult.of("x"), False)

        assert self.built(TurnStart(), self.call(0), start, self.call(1), start, self.call(1), end)[1:] == [
            "2 calls, side by side",
            "read: not ended",
            "read: x (ended as number 1)",
        ]

    def call(self, index: int) -> tuple[Any, ...]:
        return ("call", "Listed announce", {}, index)

    def test_refused_calls(self) -> None:
        """Calls that the loop itself ends are told apart by their ids."""
        answer = AssistantMessage([ToolCall("a", "read", {}), ToolCall("b", "read", {})], "length")
        calls = [
            event
            for id_ in ("a", "b")
            for event in (ToolExecutionStart(id_, "read", {}), ToolExecutionEnd(id_, "read", ToolResult.of(id_), True))
        ]

        assert self.built(TurnStart(), MessageEnd(answer), *calls)[1:] == [
            "answer (length): no text",
            "2 calls, one after the other",
            "read: error: a",
            "read: error: b",
        ]

    @pytest.mark.parametrize(("pending", "label"), [(False, "prepared"), (True, "steering or prepared")])
    def test_messages_of_the_preparing_hook(self, pending: bool, label: str) -> None:
        """Since Pi 0.86.0 the hook that prepares turns may bring messages; the recording cannot always tell them."""
        polled = ("loop", self.row("steering", "chain").name, {"pending": pending})
        prepared = ("loop", self.row("prepared", "pending").name, {"pending": True})
        shown = self.built(polled, prepared, TurnStart(), MessageEnd(user("hi")), hooks=("prepare_next_turn",))

        assert shown == ["turn 1", f"{label}: hi"]

    def row(self, trigger: str, guard: str) -> Rule:
        rules = dialect("pi-1.6.0").loop.rules
        return next(
            r for r in rules if r.source == "AwaitSteering" and r.trigger == trigger and str(r.when[-1]) == guard
        )

    def test_an_answer_that_only_thought(self) -> None:
        """Thoughts are shown where nothing was said."""
        answer = AssistantMessage([ThinkingContent("hm"), TextContent("")], "stop")

        assert self.built(TurnStart(), MessageEnd(answer))[1:] == ["answer (stop): (thinking) hm"]
