"""Arguments that a model wrote badly: the tool does not run, the model is told what it wrote, and may try again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.models.server import Answer, serving
from tests.engine.agents import both
from turnwheel.agent import Agent
from turnwheel.messages import TextContent, ToolResultMessage
from turnwheel.table import DIALECTS
from turnwheel.tool import Tool
from turnwheel_adapters.models.providers import Provider
from turnwheel_adapters.models.routing import ProviderModels, Setup
from turnwheel_tools import define

RAW = '{"path": "a.py", "n": }'


def chunks(*deltas: dict[str, Any], finish: str) -> bytes:
    told: list[Any] = [{"choices": [{"delta": delta}]} for delta in deltas]
    told.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in told).encode() + b"data: [DONE]\n\n"


BAD = chunks(
    {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "edit", "arguments": RAW}}]}, finish="tool_calls"
)
GOOD = chunks({"content": "sorry"}, finish="stop")


@pytest.mark.parametrize("checked", [False, True], ids=["plain tool", "checked tool"])
@pytest.mark.parametrize("dialect", DIALECTS)
@both
async def test_the_model_is_told(dialect: str, checked: bool) -> None:
    """In each dialect, with a tool that checks its arguments or not, the result quotes what the model wrote."""
    ran: list[Any] = []
    tool = define("edit", "Edit.", {"type": "object"}, ran.append) if checked else Tool("edit", run=ran.append)
    with serving(Answer(BAD), Answer(GOOD)) as server:
        setup = Setup(providers={"one": Provider("one", "openai-chat", server.url, key_needed=False)}, environ={})
        agent = Agent(ProviderModels("one/m", setup), model="one/m", tools=[tool], dialect=dialect)
        answer = await agent.prompt("edit it")

    (result,) = [message for message in agent.state.messages if isinstance(message, ToolResultMessage)]
    assert isinstance(result.content, tuple)
    assert isinstance(result.content[0], TextContent)
    assert result.is_error
    assert RAW in result.content[0].text or json.dumps(RAW)[1:-1] in result.content[0].text
    assert (ran, answer and answer.text) == ([], "sorry")
    sent = server.requests[1].json["messages"]
    (call,) = next(message["tool_calls"] for message in sent if "tool_calls" in message)
    assert json.loads(call["function"]["arguments"]) == {"unreadable_arguments": RAW}
