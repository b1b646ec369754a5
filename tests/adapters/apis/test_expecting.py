"""The comparison with what is expected: it means something only if it notices what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from tests.adapters.apis.expecting import differences
from turnwheel.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall, Usage

EXPECT: dict[str, Any] = {
    "content": [
        {"type": "thinking", "thinking": "hm m", "signature": "sealed"},
        {"type": "text", "text": "hello"},
        {"type": "toolCall", "id": "c1", "name": "add", "arguments": {"a": 1}},
        {"type": "toolCall", "id": None, "name": "sub", "arguments": None},
    ],
    "stopReason": "toolUse",
    "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4},
    "alt": {"usage.output": [2, 5]},
}
GOOD = AssistantMessage(
    (
        ThinkingContent("hm\n\nm", "(sealed)"),
        TextContent("hel"),
        TextContent("lo"),
        ToolCall("c1|x", "add", {"a": 1}),
        ToolCall("made up", "sub", "raw"),
    ),
    "toolUse",
    usage=Usage(1, 5, 3, 4),
)


def test_what_is_right() -> None:
    """How texts are cut, how thoughts are joined, ids that are made up, and other values that will do are all right."""
    assert differences(EXPECT, GOOD, "openai-responses") == []


@pytest.mark.parametrize(
    ("got", "about"),
    [
        (evolve(GOOD, stop_reason="stop"), "stop reason"),
        (evolve(GOOD, usage=Usage(1, 6, 3, 4)), "output"),
        (evolve(GOOD, content=GOOD.content[1:]), "thinking"),
        (evolve(GOOD, content=(*GOOD.content[:2], *GOOD.content[3:])), "text"),
        (evolve(GOOD, content=GOOD.content[:3]), "calls"),
        (evolve(GOOD, content=(*GOOD.content[1:3], GOOD.content[0], *GOOD.content[3:])), "order"),
        (evolve(GOOD, content=(*GOOD.content[:3], ToolCall("c2", "add", {"a": 1}), GOOD.content[4])), "id"),
        (evolve(GOOD, content=(*GOOD.content[:3], ToolCall("c1", "add", {"a": 2}), GOOD.content[4])), "arguments"),
        (evolve(GOOD, content=(*GOOD.content[:4], ToolCall("c1|x", "sub", {}))), "ids"),
        (evolve(GOOD, content=(ThinkingContent("hm m", "other"), *GOOD.content[1:])), "the signature"),
        (evolve(GOOD, stop_reason="error"), "an error without a message"),
    ],
)
def test_what_is_wrong(got: AssistantMessage, about: str) -> None:
    """Each kind of difference is told."""
    assert any(told.startswith(about) for told in differences(EXPECT, got, "openai-responses"))
