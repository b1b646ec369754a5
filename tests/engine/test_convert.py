"""What a model gets to see of a transcript, and that a growing transcript is converted message by message."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine import strategies as some
from turnwheel.convert import Converter, coding_agent_convert, coding_agent_roles, default_convert, standard_roles
from turnwheel.errors import ParseError
from turnwheel.messages import (
    AssistantMessage,
    CustomMessage,
    ImageContent,
    Json,
    Message,
    TextContent,
    ToolResultMessage,
    UserMessage,
    user,
)
from turnwheel.transcript import Transcript

STANDARD: tuple[Message, ...] = (user("x"), AssistantMessage(), ToolResultMessage("c1", "read", "y"))


def told(role: str, content: Json = None, **extra: Json) -> str:
    """Return the text that the coding agent's filter makes of one custom message."""
    (message,) = coding_agent_convert([CustomMessage(role, content, extra=extra)])
    assert isinstance(message, UserMessage)
    block = message.content[0]
    assert isinstance(block, TextContent)
    return block.text


class Counting:
    """A convert_one that keeps all and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, message: Message) -> Message | None:
        self.calls += 1
        return message


class TestDefaultConvert:
    """The filter of a plain agent."""

    def test_keeps_standard_roles(self) -> None:
        """What every model understands stays, as the same objects in the same order."""
        assert [id(message) for message in default_convert(STANDARD)] == [id(message) for message in STANDARD]

    def test_drops_other_roles(self) -> None:
        """A custom message is shown to no model."""
        assert default_convert([CustomMessage("custom", "x"), *STANDARD]) == Transcript(STANDARD)


class TestCodingAgentConvert:
    """The filter of a coding agent."""

    def test_keeps_standard_roles(self) -> None:
        """What every model understands stays."""
        assert coding_agent_convert(STANDARD) == Transcript(STANDARD)

    def test_drops_roles_that_it_does_not_know(self) -> None:
        """A custom message of a strange role is shown to no model."""
        assert len(coding_agent_convert([CustomMessage("note", "x")])) == 0

    @pytest.mark.parametrize("role", ["compactionSummary", "branchSummary", "bashExecution", "custom"])
    def test_keeps_the_time(self, role: str) -> None:
        """What becomes a user message keeps its timestamp."""
        (message,) = coding_agent_convert([CustomMessage(role, [], 17)])

        assert isinstance(message, UserMessage)
        assert message.timestamp == 17

    def test_a_compaction_gives_its_summary(self) -> None:
        """The model learns that there was more, and what it was about."""
        text = told("compactionSummary", summary="We fixed the parser.", tokensBefore=9000)

        assert "replaced by this summary" in text
        assert "We fixed the parser." in text

    def test_a_branch_gives_its_summary(self) -> None:
        """The model learns that another course was taken and given up, and what happened there."""
        text = told("branchSummary", summary="Tried regexes.", fromId="e1")

        assert "another course" in text
        assert "Tried regexes." in text


class TestBashExecution:
    """Commands that the user ran."""

    def test_command_and_output(self) -> None:
        """The model sees the command and, in a fence, its output; an end without failure needs no words."""
        text = told("bashExecution", command="ls", output="a\nb", exitCode=0, cancelled=False, truncated=False)

        assert text == "I ran this command:\n```\nls\n```\n\nIts output:\n\n```\na\nb\n```"

    def test_no_output(self) -> None:
        """A silent command is said to be one."""
        assert told("bashExecution", command="true", output="").endswith("(no output)")

    def test_a_fence_in_the_output(self) -> None:
        """Output with fences of its own stands between longer ones."""
        assert "\n````\n```sh\n```\n````" in told("bashExecution", command="cat x.md", output="```sh\n```")

    def test_failure(self) -> None:
        """An exit code that is not zero is told."""
        assert told("bashExecution", command="false", output="", exitCode=3).endswith("failed with exit code 3.")

    def test_cancellation(self) -> None:
        """A cancelled command is told, and its exit code is not."""
        text = told("bashExecution", command="sleep 9", output="", exitCode=130, cancelled=True)

        assert "cancelled" in text
        assert "130" not in text

    def test_truncation(self) -> None:
        """Where output was cut, the model learns where to find the rest."""
        text = told("bashExecution", command="x", output="y", truncated=True, fullOutputPath="out/full.log")

        assert text.endswith("all of it is in out/full.log.")

    def test_whole_output(self) -> None:
        """Where nothing was cut, a path that is there all the same is not worth a word."""
        text = told("bashExecution", command="x", output="y", truncated=False, fullOutputPath="out/full.log")

        assert "full.log" not in text

    def test_exclusion(self) -> None:
        """A command that is to be kept from the model is."""
        message = CustomMessage("bashExecution", extra={"command": "pass", "excludeFromContext": True})

        assert len(coding_agent_convert([message])) == 0


class TestCustom:
    """Messages of extensions."""

    def test_text(self) -> None:
        """A text is what the user says."""
        assert told("custom", "hello", customType="note", display=True) == "hello"

    def test_blocks(self) -> None:
        """Blocks are what the user sends; what else the message has stays away."""
        blocks = [{"type": "text", "text": "see"}, {"type": "image", "data": "aa", "mimeType": "image/png"}]
        (message,) = coding_agent_convert([CustomMessage("custom", blocks, 5, extra={"details": 1})])

        assert message == UserMessage((TextContent("see"), ImageContent("aa", "image/png")), 5)

    def test_what_no_user_can_send(self) -> None:
        """Other content is an error that says so."""
        with pytest.raises(ParseError, match="content: expected a string or a list, got 3"):
            coding_agent_convert([CustomMessage("custom", 3)])


class TestConverter:
    """Converting a transcript that grows."""

    @given(st.lists(some.message_lists, max_size=5))
    def test_is_the_filter(self, portions: Sequence[tuple[Message, ...]]) -> None:
        """However a transcript grew, what comes out is what the filter makes of the whole."""
        convert, transcript = Converter(standard_roles), Transcript()
        for portion in portions:
            transcript = transcript.appended(*portion)
            assert convert(transcript) == default_convert(transcript)

    def test_converts_each_message_once(self) -> None:
        """A run of n turns costs n calls, not n squared."""
        counting, transcript = Counting(), Transcript()
        convert = Converter(counting)
        for _ in range(200):
            transcript = transcript.appended(user("x"))
            convert(transcript)

        assert counting.calls == 200

    def test_the_result_grows_in_place(self) -> None:
        """The converted transcript extends the one before, so that whoever gets it can go on from there, too."""
        convert, transcript = Converter(coding_agent_roles), Transcript([user("x")])
        earlier = convert(transcript)
        later = convert(transcript.appended(user("y")))

        assert later.extends(earlier)
        assert len(earlier) == 1

    def test_another_transcript_begins_anew(self) -> None:
        """A transcript that does not go on from the last one is converted as a whole."""
        convert = Converter(standard_roles)
        convert(Transcript([user("x"), user("y")]))

        assert convert(Transcript([user("z")])) == Transcript([user("z")])

    def test_an_earlier_transcript_begins_anew(self) -> None:
        """Going back in the same transcript and on along another branch mixes nothing up."""
        convert, base = Converter(standard_roles), Transcript([user("x")])
        kept = convert(base.appended(user("y")))
        branch = base.appended(user("z"))

        assert convert(base) == base
        assert convert(branch) == branch
        assert kept == Transcript([user("x"), user("y")])

    def test_a_failure_is_tried_again(self) -> None:
        """A message that could not be converted is not lost: the next call meets it again."""
        convert = Converter(coding_agent_roles)
        bad = Transcript([user("x"), CustomMessage("custom", 3)])
        for _ in range(2):
            with pytest.raises(ParseError):
                convert(bad)
