"""Requests of openai-chat out of transcripts that are unlike those of the golden files."""

from __future__ import annotations

from typing import Any

import pytest

from turnwheel.messages import AssistantMessage, Content, Message, TextContent, ThinkingContent, ToolCall, user
from turnwheel.requests import ModelRequest
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.chat import API
from turnwheel_adapters.apis.compat import Compat


def sent(compat: Compat, *messages: Message, prompt: str = "") -> list[Any]:
    """Return the messages of a request."""
    target = Target("provider", "model", "openai-chat", "http://localhost", compat)
    told: Any = API.body(ModelRequest("model", system_prompt=prompt, messages=messages), target)["messages"]
    return list(told)


def answer(*content: Content, model: str = "model") -> AssistantMessage:
    return AssistantMessage(content, "toolUse", api="openai-chat", provider="provider", model=model)


class TestReasoningContent:
    def test_calls_without_thinking(self) -> None:
        """A server that wants reasoning_content gets an empty one with calls that were made without it."""
        told = sent(Compat(reasoning_back="reasoning_content"), answer(ToolCall("c", "add", {})))

        assert told[0]["reasoning_content"] == ""

    def test_calls_of_another_model(self) -> None:
        """So it is where another model thought: its thinking is text."""
        foreign = answer(ThinkingContent("hm"), ToolCall("c", "add", {}), model="other")
        told = sent(Compat(reasoning_back="reasoning_content"), foreign)

        assert (told[0]["content"], told[0]["reasoning_content"]) == ("hm", "")

    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_details", None])
    def test_texts_without_thinking(self, field: Any) -> None:
        """A text without thinking has no field for it."""
        assert sent(Compat(reasoning_back=field), answer(TextContent("x"))) == [{"role": "assistant", "content": "x"}]


class TestReasoningDetails:
    def test_they_go_back(self) -> None:
        """What the thinking keeps goes back, then what signs the calls; an empty thinking adds nothing to the text."""
        kept = ThinkingContent("", "reasoning_details", extra={"reasoningDetails": [{"id": "rs_1"}]})
        told = sent(Compat(reasoning_back="reasoning_details"), answer(kept, ToolCall("c", "add", {}, '{"id":"c"}')))

        assert told[0]["reasoning_details"] == [{"id": "rs_1"}, {"id": "c"}]
        assert told[0]["content"] is None

    @pytest.mark.parametrize("signature", ["c2ln", "5", "", "[" * 100_000])
    def test_other_signatures(self, signature: str) -> None:
        """A signature that is no entry stays out."""
        told = sent(Compat(reasoning_back="reasoning_details"), answer(ToolCall("c", "add", {}, signature)))

        assert "reasoning_details" not in told[0]


class TestCacheMarks:
    def test_without_a_prompt(self) -> None:
        """Where an answer comes first, only the user's message is marked."""
        told = sent(Compat(takes_cache_control=True), answer(ToolCall("c", "add", {})), user("hi"))

        assert told[0]["content"] is None
        assert told[-1]["content"] == [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
