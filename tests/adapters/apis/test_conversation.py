"""A transcript repaired: whatever it is, what is sent is whole, the same in shape for all APIs, and valid for each."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.messages import (
    AssistantMessage,
    Content,
    CustomMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UnknownContent,
    UserMessage,
)
from turnwheel.requests import ModelRequest
from turnwheel.wire import to_json
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.compat import Compat
from turnwheel_adapters.apis.conversation import (
    NO_IMAGE,
    NO_OUTPUT,
    NO_RESULT,
    UNREADABLE,
    Said,
    fitted,
    prompt_of,
)
from turnwheel_adapters.models.routing import api_of

TARGETS: Final = {
    "anthropic": Target("p", "m", "anthropic-messages", "http://localhost"),
    "chat": Target("p", "m", "openai-chat", "http://localhost"),
    "mistral": Target("p", "m", "openai-chat", "http://localhost", Compat(tool_ids="mistral")),
    "any": Target("p", "m", "openai-chat", "http://localhost", Compat(tool_ids="any")),
    "responses": Target("p", "m", "openai-responses", "http://localhost"),
    "gemini": Target("p", "m", "google-gemini", "http://localhost"),
}
VALID: Final = {
    "anthropic": r"[a-zA-Z0-9_-]{1,64}",
    "chat": r"[a-zA-Z0-9_-]{1,40}",
    "mistral": r"[a-zA-Z0-9]{9}",
    "any": r"(?s).+",
    "responses": r"[a-zA-Z0-9_-]{1,64}(\|fc_[a-zA-Z0-9_-]{1,61})?",
    "gemini": r"(?s).+",
}
ANTHROPIC: Final = TARGETS["anthropic"]

_texts = st.one_of(st.just(""), st.just("  "), st.text(max_size=5), st.just("half \ud800 of it"))
_ids = st.sampled_from(["", "a", "b", "call_1", "call_1|fc_9", "call|odd", "é" * 50, "x" * 90, "x" * 89 + "y", "9 9"])
_arguments: st.SearchStrategy[Any] = st.one_of(
    st.just({}),
    st.just({"a": [1, "\ud800", float("nan")]}),
    st.just("raw"),
    st.none(),
    st.dictionaries(st.text(), st.text()),
)
_contents: st.SearchStrategy[Content] = st.one_of(
    st.builds(TextContent, _texts, st.sampled_from([None, "sealed"])),
    st.builds(ThinkingContent, _texts, st.sampled_from([None, "sealed"]), st.sampled_from([None, True])),
    st.builds(ImageContent, st.just("aGk="), st.just("image/png")),
    st.builds(ToolCall, _ids, st.sampled_from(["t", "u"]), _arguments, st.sampled_from([None, "sealed"])),
    st.just(UnknownContent({"type": "odd"})),
)
_messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, st.one_of(_texts, st.lists(_contents, max_size=3))),
    st.builds(
        AssistantMessage,
        st.lists(_contents, max_size=4),
        st.sampled_from(["stop", "toolUse", "length", "error", "aborted"]),
        provider=st.sampled_from(["p", "other", None]),
        model=st.just("m"),
    ),
    st.builds(ToolResultMessage, _ids, st.just("t"), st.one_of(_texts, st.none(), st.lists(_contents, max_size=2))),
    st.builds(CustomMessage, st.sampled_from(["note", "system"]), _texts),
)
transcripts = st.lists(_messages, max_size=9)


def native(messages: Sequence[Message], target: Target) -> list[Message]:
    """Return the messages as if those of the provider `p` were that target's own."""
    return [
        evolve(message, api=target.api)
        if isinstance(message, AssistantMessage) and message.provider == "p"
        else message
        for message in messages
    ]


def shape(messages: Sequence[Said]) -> list[tuple[Any, ...]]:
    """Return what does not depend on the API: roles, kinds of blocks, names of calls, errors."""
    return [
        (
            message.role,
            [
                (type(block).__name__, getattr(block, "name", ""))
                for block in message.content
                if not isinstance(block, str)
            ],
            getattr(message, "is_error", None),
        )
        for message in messages
        if isinstance(message.content, tuple)
    ]


class TestAnything:
    """Whatever a transcript holds."""

    @given(transcripts)
    def test_the_same_shape_everywhere(self, messages: list[Message]) -> None:
        """A broken transcript is repaired in the same way for each API."""
        shapes = [shape(fitted(native(messages, target), target)) for target in TARGETS.values()]

        assert all(each == shapes[0] for each in shapes)

    @pytest.mark.parametrize("name", TARGETS)
    @given(transcripts)
    def test_calls_and_results(self, name: str, messages: list[Message]) -> None:
        """Each call is followed at once by its one result, in their order; and there is no other result."""
        said = fitted(native(messages, TARGETS[name]), TARGETS[name])
        due: list[str] = []
        for message in said:
            if isinstance(message, ToolResultMessage):
                assert due
                assert message.tool_call_id == due.pop(0)
                continue
            assert due == []
            if isinstance(message, AssistantMessage):
                due = [call.id for call in message.tool_calls]
        assert due == []

    @pytest.mark.parametrize("name", TARGETS)
    @given(transcripts)
    def test_ids(self, name: str, messages: list[Message]) -> None:
        """Ids are unique, and as the API takes them."""
        said = fitted(native(messages, TARGETS[name]), TARGETS[name])
        ids = [call.id for message in said if isinstance(message, AssistantMessage) for call in message.tool_calls]

        assert len(set(ids)) == len(ids)
        assert [id_ for id_ in ids if not re.fullmatch(VALID[name], id_)] == []

    @pytest.mark.parametrize("name", TARGETS)
    @given(transcripts)
    def test_twice_is_once(self, name: str, messages: list[Message]) -> None:
        """What is repaired needs no repair."""
        once = fitted(native(messages, TARGETS[name]), TARGETS[name])

        assert to_json(fitted(once, TARGETS[name])) == to_json(once)

    @pytest.mark.parametrize("name", TARGETS)
    @given(transcripts)
    def test_it_can_be_sent(self, name: str, messages: list[Message]) -> None:
        """The request is JSON in UTF-8, with no number that JSON lacks, and no message or text in it is empty."""
        target = TARGETS[name]
        body = api_of(target.api).body(ModelRequest("m", messages=native(messages, target)), target)
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)

        assert text.encode()
        for message in fitted(native(messages, target), target):
            assert message.content
            assert all(block.text.strip() or block.text_signature for block in _texts_of(message))


def _texts_of(message: Said) -> list[TextContent]:
    blocks = message.content if isinstance(message.content, tuple) else ()
    return [block for block in blocks if isinstance(block, TextContent)]


def own(*content: Content, stop: Any = "toolUse") -> AssistantMessage:
    """Return an answer of the target's own model."""
    return AssistantMessage(content, stop, api=ANTHROPIC.api, provider="p", model="m")


CALL: Final = ToolCall("a", "t", {"x": 1})


class TestEachRule:
    """The lines of its contract."""

    def test_failed_answers(self) -> None:
        """An answer that failed or was aborted is left out, with the results of its calls."""
        said = fitted([own(CALL, stop="error"), ToolResultMessage("a", "t", "late"), own(stop="aborted")], ANTHROPIC)

        assert said == []

    def test_what_says_nothing(self) -> None:
        """Empty messages, blank texts, unknown blocks and custom messages are left out."""
        messages: list[Message] = [
            UserMessage(""),
            UserMessage([TextContent(" "), UnknownContent({"type": "odd"})]),
            CustomMessage("note", "mine"),
            UserMessage("hello"),
        ]

        assert fitted(messages, ANTHROPIC) == [UserMessage((TextContent("hello"),))]

    def test_a_missing_result(self) -> None:
        """A call without a result gets one that is an error."""
        result = fitted([own(CALL)], ANTHROPIC)[1]

        assert result == ToolResultMessage("a", "t", (TextContent(NO_RESULT),), is_error=True)

    def test_a_result_too_many(self) -> None:
        """Of two results the first counts, and one that no call asked for is left out."""
        results = [ToolResultMessage("a", "t", text) for text in ("first", "second")]
        said = fitted([ToolResultMessage("z", "t", "of nothing"), own(CALL), *results], ANTHROPIC)

        assert [message.role for message in said] == ["assistant", "toolResult"]
        assert said[1].content == (TextContent("first"),)

    def test_results_out_of_place(self) -> None:
        """Results stand behind their answer, in the order of its calls, whatever came between."""
        answer = own(CALL, ToolCall("b", "t", {}))
        results = [ToolResultMessage("b", "t", "of b"), ToolResultMessage("a", "t", "of a")]
        said = fitted([answer, results[0], UserMessage("wait"), results[1]], ANTHROPIC)

        assert [text.text for message in said for text in _texts_of(message)] == ["of a", "of b", "wait"]

    def test_an_id_that_comes_again(self) -> None:
        """Two answers that call with the same id keep each its own result, under ids that differ."""
        messages: list[Message] = []
        for text in ("one", "two"):
            messages += [own(CALL), ToolResultMessage("a", "t", text)]
        said = fitted(messages, ANTHROPIC)

        first, second = (message for message in said if isinstance(message, ToolResultMessage))
        assert (first.content, second.content) == ((TextContent("one"),), (TextContent("two"),))
        assert first.tool_call_id == "a" != second.tool_call_id

    def test_a_result_of_a_later_call(self) -> None:
        """A call without a result does not take that of a later call with the same id."""
        said = fitted([own(CALL), own(CALL), ToolResultMessage("a", "t", "of the second")], ANTHROPIC)

        assert [text.text for message in said for text in _texts_of(message)] == [NO_RESULT, "of the second"]

    def test_an_id_that_another_call_has(self) -> None:
        """An id that has to be made valid leaves alone what is the valid id of another call."""
        said = fitted([own(ToolCall("a b", "t"), ToolCall("a_b", "t"))], ANTHROPIC)

        assert isinstance(said[0], AssistantMessage)
        first, second = said[0].tool_calls
        assert second.id == "a_b" != first.id

    @pytest.mark.parametrize(
        ("name", "id_", "sent"),
        [
            ("anthropic", "toolu_01", "toolu_01"),
            ("anthropic", "call_1|fc_2", "call_1"),
            ("anthropic", "a b/c", "a_b_c"),
            ("chat", "x" * 50, "x" * 40),
            ("responses", "call_1|fc_2", "call_1|fc_2"),
            ("responses", "call_1|msg", "call_1"),
            ("mistral", "abcDEF123", "abcDEF123"),
            ("any", "any id at all", "any id at all"),
            ("gemini", "", "call"),
        ],
    )
    def test_ids(self, name: str, id_: str, sent: str) -> None:
        """A valid id stays as it is, any other is made valid."""
        target = TARGETS[name]
        answer = evolve(own(ToolCall(id_, "t", {})), api=target.api)

        assert [
            each.tool_calls[0].id for each in fitted([answer], target)[:1] if isinstance(each, AssistantMessage)
        ] == [sent]

    def test_thinking_of_ones_own(self) -> None:
        """Thinking of the same model goes back with its signature."""
        thought = ThinkingContent("hm", "sealed")

        assert fitted([own(thought)], ANTHROPIC)[0].content == (thought,)

    def test_thinking_of_another_model(self) -> None:
        """Thinking of another model is text where it can be read, and all signatures go."""
        content = (
            ThinkingContent("hm", "sealed"),
            ThinkingContent("hidden", "opaque", redacted=True),
            TextContent("so", "sealed"),
            evolve(CALL, thought_signature="sealed"),
        )
        said = fitted([evolve(own(*content), model="older")], ANTHROPIC)

        assert said[0].content == (TextContent("hm"), TextContent("so"), CALL)

    def test_images(self) -> None:
        """A model without images is told that there was one, in messages and results."""
        image = ImageContent("aGk=", "image/png")
        blind = evolve(ANTHROPIC, images=False)
        said = fitted([UserMessage([image]), own(CALL), ToolResultMessage("a", "t", [image])], blind)

        assert [said[0].content, said[2].content] == [(TextContent(NO_IMAGE),)] * 2
        assert fitted([UserMessage([image])], ANTHROPIC)[0].content == (image,)

    @pytest.mark.parametrize("arguments", ["raw", None, [1]])
    def test_arguments(self, arguments: Any) -> None:
        """Arguments that are no object go back within one."""
        (answer, _) = fitted([own(evolve(CALL, arguments=arguments))], ANTHROPIC)

        assert isinstance(answer, AssistantMessage)
        assert answer.tool_calls[0].arguments == {UNREADABLE: arguments}

    def test_texts(self) -> None:
        """Halves of surrogate pairs are replaced, and a result without content says so."""
        said = fitted([UserMessage("a\ud800"), own(CALL), ToolResultMessage("a", "t", None)], ANTHROPIC)

        assert said[0].content == (TextContent("a\ufffd"),)
        assert said[2].content == (TextContent(NO_OUTPUT),)

    def test_system_messages(self) -> None:
        """The message that leads a transcript of a later dialect is the system prompt; later ones are the user's."""
        lead, later = CustomMessage("system", "be brief"), CustomMessage("system", "be kind")
        messages: list[Message] = [lead, UserMessage("hi"), later]

        assert prompt_of(ModelRequest("m", messages=messages)) == "be brief"
        assert prompt_of(ModelRequest("m", system_prompt="mine", messages=messages)) == "mine"
        assert fitted(messages, ANTHROPIC) == [UserMessage((TextContent(text),)) for text in ("hi", "be kind")]
