"""The partial message: what the steps of an answer add up to, read whenever and as often as somebody likes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine import strategies as some
from turnwheel.messages import AssistantMessage, Content, TextContent, ThinkingContent, ToolCall, UnknownContent
from turnwheel.stream import (
    Delta,
    Partial,
    Started,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)

Steps = list[Delta | Started]


def folded(*steps: Delta | Started) -> AssistantMessage:
    """Return the message after all of `steps`."""
    return Partial(list(steps)).after(len(steps))


def content(*steps: Delta | Started) -> list[Content]:
    """Return the blocks after all of `steps`."""
    return list(folded(*steps).content)


class TestOneBlock:
    """Each kind of step."""

    def test_nothing_yet(self) -> None:
        """Before any step there is an empty answer, as Pi shows it: no content, stop reason stop."""
        assert folded() == AssistantMessage((), "stop")

    def test_text_grows(self) -> None:
        """A text block begins empty, and deltas are put behind one another."""
        assert content(TextStart(0), TextDelta(0, "ab"), TextDelta(0, "c"), TextEnd(0)) == [TextContent("abc")]

    def test_thinking_grows(self) -> None:
        """Thinking is a block of its own kind."""
        assert content(ThinkingStart(0), ThinkingDelta(0, "hm"), ThinkingDelta(0, "m")) == [ThinkingContent("hmm")]

    def test_a_call_waits_for_its_end(self) -> None:
        """The pieces of a call's arguments are not shown; the end puts the whole call there."""
        steps: Steps = [ToolCallStart(0, "c1", "work"), ToolCallDelta(0, '{"n":')]

        assert content(*steps) == [ToolCall("c1", "work", {})]
        assert content(*steps, ToolCallEnd(0, ToolCall("c1", "work", {"n": 1}))) == [ToolCall("c1", "work", {"n": 1})]

    def test_arguments_so_far(self) -> None:
        """A step that says what can be told of the arguments by now shows them, until a later one or the end."""
        steps: Steps = [ToolCallStart(0, "c1", "work"), ToolCallDelta(0, '{"n":1', so_far={"n": 1})]

        assert content(*steps) == [ToolCall("c1", "work", {"n": 1})]
        assert content(*steps, ToolCallDelta(0, "2")) == [ToolCall("c1", "work", {"n": 1})]
        assert content(*steps, ToolCallEnd(0, ToolCall("c1", "work", {"n": 12}))) == [ToolCall("c1", "work", {"n": 12})]

    def test_a_call_may_end_without_the_call(self) -> None:
        """An end that brings no call leaves the block as it is."""
        assert content(ToolCallStart(0, "c1", "work"), ToolCallEnd(0)) == [ToolCall("c1", "work")]

    def test_a_start_begins_anew(self) -> None:
        """A second start at the same place empties the block, of whatever kind it was."""
        steps: Steps = [TextStart(0), TextDelta(0, "old"), ThinkingStart(0), ThinkingDelta(0, "new")]

        assert content(*steps) == [ThinkingContent("new")]


class TestManyBlocks:
    """Blocks and their places."""

    def test_blocks_grow_in_any_order(self) -> None:
        """Deltas go to the block that they name, also when they alternate."""
        steps: Steps = [TextStart(0), ThinkingStart(1), TextDelta(0, "a"), ThinkingDelta(1, "x"), TextDelta(0, "b")]

        assert content(*steps) == [TextContent("ab"), ThinkingContent("x")]

    @pytest.mark.parametrize(
        ("step", "block"),
        [
            (TextDelta(0, "a"), TextContent("a")),
            (TextEnd(0), TextContent("")),
            (ThinkingDelta(0, "a"), ThinkingContent("a")),
            (ToolCallDelta(0, "{"), ToolCall("", "")),
        ],
    )
    def test_an_unannounced_block_begins(self, step: Delta, block: Content) -> None:
        """A step for a block that is not there lets it begin."""
        assert content(step) == [block]

    def test_missing_blocks_before_it(self) -> None:
        """A step beyond the last block creates the ones between, of its own kind."""
        assert content(TextDelta(2, "c")) == [TextContent(""), TextContent(""), TextContent("c")]

    def test_opened_blocks_are_taken_first(self) -> None:
        """Where a step says which blocks begin with it, these are put there."""
        odd = UnknownContent({"type": "odd"})

        assert content(TextDelta(1, "b", opened=(odd, TextContent("")))) == [odd, TextContent("b")]


class TestFrame:
    """What `Started` brings."""

    def test_the_frame_is_kept(self) -> None:
        """Provider and model of the frame stay while blocks grow."""
        frame = AssistantMessage(provider="p", model="m")

        assert folded(Started(frame), TextDelta(0, "a")) == AssistantMessage(
            (TextContent("a"),), provider="p", model="m"
        )

    def test_steps_before_the_start_count(self) -> None:
        """Blocks that came before the start are in the message that it announces."""
        assert folded(TextDelta(0, "a"), Started(AssistantMessage(model="m"))) == AssistantMessage(
            (TextContent("a"),), model="m"
        )

    def test_blocks_of_the_frame_grow(self) -> None:
        """A frame may bring blocks; deltas go on from their text."""
        frame = AssistantMessage((TextContent("a", "signed"), ThinkingContent("b")))

        assert content(Started(frame), TextDelta(0, "x"), ThinkingDelta(1, "y")) == [
            TextContent("ax", "signed"),
            ThinkingContent("by"),
        ]


class TestReading:
    """Whoever reads, and when."""

    def test_reading_back(self) -> None:
        """An earlier moment can be read after a later one."""
        partial = Partial([TextDelta(0, letter) for letter in "abc"])

        assert [partial.after(count).text for count in (3, 1, 0, 2)] == ["abc", "a", "", "ab"]

    def test_a_message_that_was_read_stays(self) -> None:
        """What was read once does not change when the answer grows."""
        steps: Steps = [TextDelta(0, "a")]
        partial = Partial(steps)
        early = partial.after(1)
        steps.append(TextDelta(0, "b"))

        assert (early.text, partial.after(2).text) == ("a", "ab")

    @given(st.lists(some.deltas | st.builds(Started, some.assistant_messages), max_size=8), st.lists(st.integers(0, 8)))
    def test_any_order_of_reading(self, steps: Steps, reads: list[int]) -> None:
        """Whatever was read before, a moment reads as if its steps were folded for the first time."""
        partial = Partial(steps)

        for count in (min(read, len(steps)) for read in reads):
            assert partial.after(count) == Partial(list(steps)).after(count)

    @given(st.lists(some.deltas, max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
    def test_reading_while_it_grows(self, steps: Steps, reads: list[bool]) -> None:
        """Reading some moments while steps arrive changes none of the later ones."""
        arrived: Steps = []
        partial = Partial(arrived)
        for step, read in zip(steps, reads, strict=False):
            arrived.append(step)
            if read:
                partial.after(len(arrived))

        assert partial.after(len(arrived)) == folded(*steps)
