"""The demo model: which calls it makes of a request, and what it makes of their results."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.messages import (
    ABSENT,
    AssistantMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    user,
)
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished, Partial, StreamStep
from turnwheel.tool import Tool
from turnwheel.transcript import Transcript
from turnwheel_adapters.models.demo import DemoModel, answer_to
from turnwheel_adapters.models.demo_words import files_named_in
from turnwheel_tools.read import read_tool

READ = Tool("read")


def request(*messages: Message | str, tools: tuple[Tool, ...] = (READ,)) -> ModelRequest:
    said = [user(message) if isinstance(message, str) else message for message in messages]
    return ModelRequest("demo", messages=Transcript(said), tools=tools)


def reads(number: int, path: str, **more: Json) -> ToolCall:
    return ToolCall(f"call-{number}", "read", {"path": path, **more})


def asked(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(calls, "toolUse")


def result(number: int, text: str, details: Json = ABSENT, *, error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(f"call-{number}", "read", (TextContent(text),), error, details)


def part(first: int, last: int, lines: int, size: int = 9_000) -> Json:
    return {"lines": lines, "bytes": size, "truncated": last < lines, "firstLine": first, "lastLine": last}


def stream(given: ModelRequest, signal: AbortSignal | None = None) -> list[StreamStep]:
    return list(DemoModel()(given, signal if signal is not None else AbortSignal()))


class TestFilesNamedIn:
    @pytest.mark.parametrize(
        ("text", "files"),
        [
            ("read engine/x/__init__.py and README.md, please", ["engine/x/__init__.py", "README.md"]),
            ("how long is (src/a.c)?", ["src/a.c"]),
            ("is it in docs/ or .gitignore?", [".gitignore"]),
            ("""compare "my notes.txt" with 'an old/one' and `b.md`.""", ["my notes.txt", "an old/one", "b.md"]),
            ("open @a.md, then the Makefile", ["a.md", "Makefile"]),
            ("a.md or a.md or a.md", ["a.md"]),
        ],
    )
    def test_finds_files(self, text: str, files: list[str]) -> None:
        """A word with an extension or a slash is a file; quotes hold one together, punctuation is no part of it."""
        assert files_named_in(text) == files

    @pytest.mark.parametrize(
        "text", ["", "hello", "e.g. this and/or that.", "see https://example.org/a.html", "Pi 0.85.1!", "a / b ..."]
    )
    def test_leaves_other_words_alone(self, text: str) -> None:
        """Addresses, versions, abbreviations and lone slashes are no files."""
        assert files_named_in(text) == []

    @given(st.text(alphabet="ab./\\\"'`“” \n(,"))
    def test_names_only_what_was_said(self, text: str) -> None:
        """Whatever the request is, each file named in it is there once, word for word."""
        files = files_named_in(text)

        assert len(files) == len(set(files))
        assert all(file and file in text for file in files)


class TestAsking:
    def test_all_files_in_one_answer(self) -> None:
        """Each file that the request names is called for at once, after a thought and a word."""
        thinking, text, *calls = answer_to(request("read a.py and b/c")).content

        assert isinstance(thinking, ThinkingContent)
        assert isinstance(text, TextContent)
        assert calls == [reads(1, "a.py"), reads(2, "b/c")]

    def test_stop_reason_is_tool_use(self) -> None:
        """An answer with calls says so; one without stops."""
        assert answer_to(request("read a.py")).stop_reason == "toolUse"
        assert answer_to(request("hello")).stop_reason == "stop"

    def test_only_tools_of_the_context(self) -> None:
        """Without a tool for it nothing is called, and the answer says what is missing."""
        answer = answer_to(request("read a.py", tools=(Tool("grep"),)))

        assert answer.tool_calls == ()
        assert "without a tool" in answer.text

    def test_ids_go_on(self) -> None:
        """A later request of the same run gets new ids."""
        before = (asked(reads(1, "a.py"), reads(2, "b.py")), result(1, "x"), result(2, "y"), AssistantMessage())

        assert answer_to(request("read a.py, b.py", *before, "now c.py")).tool_calls == (reads(3, "c.py"),)

    def test_a_finished_request_is_over(self) -> None:
        """What an earlier request brought is not told again."""
        before = (asked(reads(1, "a.py")), result(1, "x"), AssistantMessage((TextContent("a.py has 1 line."),)))

        assert "a.py" not in answer_to(request("read a.py", *before, "hello")).text

    def test_steering_adds_files(self) -> None:
        """What is steered in while tools run is read too, and what was read already is not read again."""
        given = request("read a.py", asked(reads(1, "a.py")), result(1, "x"), "a.py and b.py")

        assert answer_to(given).tool_calls == (reads(2, "b.py"),)

    def test_without_files_it_says_what_it_can_do(self) -> None:
        """A request that names no file gets an offer."""
        assert "read files" in answer_to(request("hello")).text

    def test_no_message_at_all(self) -> None:
        """An empty context gets the offer, too."""
        assert "read files" in answer_to(request()).text


class TestTelling:
    def test_counts_from_details(self) -> None:
        """Lines and bytes are what the tool said, not what can be counted in the text shown."""
        given = request("read a.py", asked(reads(1, "a.py")), result(1, "shown\n", part(1, 1200, 1200, 34_567)))

        assert answer_to(given).text == "a.py has 1,200 lines (34,567 bytes)."

    def test_counts_from_text(self) -> None:
        """Where the tool gives no details, its text is counted; bytes are those of UTF-8."""
        given = request("read a.py", asked(reads(1, "a.py")), result(1, "ä\nb"))

        assert answer_to(given).text == "a.py has 2 lines (4 bytes)."

    def test_adds_several_files_up(self) -> None:
        """Two files that could be read get a sum, in which failures do not count."""
        calls = (reads(1, "a.py"), reads(2, "b.py"), reads(3, "x.md"))
        results = (result(1, "a\n"), result(2, "b\nc\n"), result(3, "it is gone", error=True))
        answer = answer_to(request("read a.py, b.py, x.md", asked(*calls), *results))

        assert answer.text.splitlines()[2:] == [
            "x.md could not be read: it is gone",
            "Together: 3 lines, 6 bytes.",
        ]

    def test_tells_of_an_image(self) -> None:
        """An image has a type and a size, and no lines."""
        details = {"mimeType": "image/png", "bytes": 12}
        image = ToolResultMessage("call-1", "read", (ImageContent("", "image/png"),), details=details)

        assert answer_to(request("read a.png", asked(reads(1, "a.png")), image)).text == (
            "a.png is an image (image/png, 12 bytes)."
        )


class TestGoingOn:
    def test_asks_for_the_rest(self) -> None:
        """A result that was cut is followed by a call that goes on where it ended."""
        given = request("read a.py", asked(reads(1, "a.py")), result(1, "…", part(1, 2000, 5000)))

        assert answer_to(given).tool_calls == (reads(2, "a.py", offset=2001),)

    def test_reads_the_note_where_there_are_no_details(self) -> None:
        """The note at the end of the text says where to go on, too."""
        given = request("read a.py", asked(reads(1, "a.py")), result(1, "a\n[1 line left. Use offset=2 to go on.]"))

        assert answer_to(given).tool_calls == (reads(2, "a.py", offset=2),)

    def test_a_long_line_has_no_rest(self) -> None:
        """Where only a part of the last line was shown, there is nothing to ask for."""
        details = {"lines": 1, "bytes": 99_999, "truncated": True, "firstLine": 1, "lastLine": 1}

        assert answer_to(request("a.py", asked(reads(1, "a.py")), result(1, "x", details))).tool_calls == ()

    def test_gives_up_after_three_times(self) -> None:
        """After the first part and three more it answers, and says how far it has seen."""
        said: list[Message] = [user("read a.py")]
        for turn in range(4):
            call = reads(turn + 1, "a.py", **({"offset": turn * 10 + 1} if turn else {}))
            said += [asked(call), result(turn + 1, "…", part(turn * 10 + 1, turn * 10 + 10, 99))]

        assert answer_to(request(*said)).text == "a.py has 99 lines (9,000 bytes), of which I have seen the first 40."

    def test_tells_where_it_failed(self) -> None:
        """A file that was read in part and then failed is told of as such, and counts in no sum."""
        given = request(
            "read a.py and b.py",
            asked(reads(1, "a.py"), reads(2, "b.py")),
            result(1, "…", part(1, 10, 20)),
            result(2, "x"),
            asked(reads(3, "a.py", offset=11)),
            result(3, "gone", error=True),
        )

        assert answer_to(given).text.splitlines() == [
            "a.py could not be read to its end: gone",
            "b.py has 1 line (1 byte).",
        ]


class TestStream:
    def test_steps_add_up(self) -> None:
        """The steps, told one after the other, make the content of the final message."""
        *told, last = stream(request("read a.py and b.py"))

        assert isinstance(last, Finished)
        assert Partial(told).after(len(told)).content == last.message.content  # type: ignore[arg-type]

    def test_words_come_one_by_one(self) -> None:
        """Thinking, text and calls are all streamed in more than one delta."""
        kinds = [step.type for step in stream(request("read a.py and b.py"))]

        assert kinds[0] == "start"
        assert all(kinds.count(kind) > 1 for kind in ("thinking_delta", "text_delta", "toolcall_delta"))

    def test_is_deterministic(self) -> None:
        """The same context has the same answer, from another model too."""
        assert stream(request("read a.py")) == stream(request("read a.py"))

    def test_counts_usage(self) -> None:
        """Usage grows with what is asked, adds up, and costs nothing."""
        short, long = (answer_to(request(text)).usage for text in ("hello", "hello " * 30))

        assert short is not None
        assert long is not None
        assert long.input > short.input > 0
        assert short.total_tokens == short.input + short.output
        assert short.cost.total == 0

    @pytest.mark.parametrize("after", [0, 1, 5, 30])
    def test_abort_ends_the_answer(self, after: int) -> None:
        """Once the signal is set the answer ends as aborted, with what was said up to then."""
        signal = AbortSignal()
        steps = DemoModel()(request("read a.py and b.py"), signal)
        told = [next(steps) for _ in range(after)]
        signal.abort()
        (last,) = steps

        assert isinstance(last, Finished)
        assert last.message.stop_reason == "aborted"
        assert last.message.error_message == "Request was aborted"
        assert last.message.content == Partial(told).after(after).content  # type: ignore[arg-type]


class TestRun:
    def test_reads_a_long_file_in_a_third_turn(self, tmp_path: Path) -> None:
        """With the real tool, a file that does not fit is read on in the next turn, and then told of."""
        (tmp_path / "long.txt").write_text("line\n" * 2500)
        agent = Agent(DemoModel(), tools=[read_tool(tmp_path)])
        agent.run_sync("read long.txt")
        messages = agent.state.messages
        answers = [message for message in messages if isinstance(message, AssistantMessage)]

        assert [len(answer.tool_calls) for answer in answers] == [1, 1, 0]
        assert answers[-1].text == "long.txt has 2,500 lines (12,500 bytes), read in 2 parts."
