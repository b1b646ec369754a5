"""An agent on each API: the model calls a tool, reads its result in the next request, and answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.adapters.models.server import Answer, serving
from tests.engine.agents import both
from turnwheel.agent import Agent
from turnwheel.tool import Tool
from turnwheel_adapters.apis.api import ApiName
from turnwheel_adapters.models.providers import Provider
from turnwheel_adapters.models.routing import ProviderModels, Setup


def events(*data: Any, named: bool = False) -> bytes:
    """Return a body of events, each with the name that its type says if they are `named`."""
    told = ""
    for each in data:
        name = f"event: {each['type']}\n" if named else ""
        told += f"{name}data: {json.dumps(each)}\n\n"
    return told.encode()


def chat(delta: dict[str, Any], finish: str) -> bytes:
    return events({"choices": [{"delta": delta}]}, {"choices": [{"delta": {}, "finish_reason": finish}]})


def responses(item: dict[str, Any]) -> bytes:
    return events(
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed"}},
        named=True,
    )


def anthropic(block: dict[str, Any], delta: dict[str, Any], stop: str) -> bytes:
    return events(
        {"type": "message_start", "message": {"id": "m", "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}},
        {"type": "message_stop"},
        named=True,
    )


def gemini(part: dict[str, Any]) -> bytes:
    return events({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})


CALL: Final = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at": "sky"}'}}
FUNCTION: Final = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": "sky"}'}
TEXT: Final = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "It is blue."}]}
USE: Final = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
INPUT: Final = {"type": "input_json_delta", "partial_json": '{"at": "sky"}'}

ANSWERS: Final[dict[ApiName, tuple[bytes, bytes]]] = {
    "openai-chat": (chat({"tool_calls": [CALL]}, "tool_calls"), chat({"content": "It is blue."}, "stop")),
    "openai-responses": (responses(FUNCTION), responses(TEXT)),
    "anthropic-messages": (
        anthropic(USE, INPUT, "tool_use"),
        anthropic({"type": "text", "text": ""}, {"type": "text_delta", "text": "It is blue."}, "end_turn"),
    ),
    "google-gemini": (
        gemini({"functionCall": {"name": "look", "args": {"at": "sky"}}}),
        gemini({"text": "It is blue."}),
    ),
}
RESULTS: Final[dict[ApiName, Callable[[Any], Any]]] = {
    "openai-chat": lambda body: body["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": "blue"},
    "openai-responses": lambda body: (
        body["input"][-1] == {"type": "function_call_output", "call_id": "c1", "output": "blue"}
    ),
    "anthropic-messages": lambda body: (
        body["messages"][-1]["content"][0]["content"] == [{"type": "text", "text": "blue"}]
    ),
    "google-gemini": lambda body: (
        body["contents"][-1]["parts"] == [{"functionResponse": {"name": "look", "response": {"output": "blue"}}}]
    ),
}
"""Whether the second request holds the result as the API wants it."""


@pytest.mark.parametrize("api", ANSWERS)
@both
async def test_a_turn_with_a_tool(api: ApiName) -> None:
    """The tool gets its arguments, the next request has its result, and the answer is the model's last."""
    looked: list[Any] = []

    def look(arguments: dict[str, str]) -> str:
        looked.append(arguments)
        return "blue"

    with serving(*(Answer(body) for body in ANSWERS[api])) as server:
        setup = Setup(providers={"p": Provider("p", api, server.url, key_needed=False)}, environ={})
        agent = Agent(ProviderModels("p/m", setup), model="p/m", tools=[Tool("look", run=look)])
        answer = await agent.prompt("which colour has the sky?")

    assert looked == [{"at": "sky"}]
    assert RESULTS[api](server.requests[1].json)
    assert answer is not None
    assert (answer.text, answer.stop_reason, answer.api) == ("It is blue.", "stop", api)
    assert [message.role for message in agent.state.messages] == ["user", "assistant", "toolResult", "assistant"]
