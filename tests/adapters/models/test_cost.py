"""What an answer costs grows with its length, and no faster."""

from __future__ import annotations

import json
import time

from tests.adapters.models.server import Answer, serving
from tests.engine.agents import within
from turnwheel.abort import AbortSignal
from turnwheel.requests import ModelRequest
from turnwheel.stream import TextDelta
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.chat import API
from turnwheel_adapters.models.http import HttpModel

FEW, MANY = 10_000, 100_000


def body(deltas: int) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"content": "four"}}]}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return f"data: {json.dumps(chunk)}\n\n".encode() * deltas + f"data: {json.dumps(last)}\n\n".encode()


async def spent(deltas: int) -> float:
    """Return the processor's seconds for an answer of so many deltas, without those of the server's thread."""
    with serving(Answer(body(deltas))) as server:
        model = HttpModel(Target("p", "m", "openai-chat", server.url), API, "key")
        began = time.thread_time()
        found = sum([isinstance(step, TextDelta) async for step in model(ModelRequest("m"), AbortSignal())])
        assert found == deltas
        return time.thread_time() - began


@within(60)
async def test_deltas() -> None:
    """100,000 deltas over a real connection cost at most 12 times what 10,000 cost."""
    await spent(1000)
    few, many = [min([await spent(deltas) for _ in range(3)]) for deltas in (FEW, MANY)]

    assert many < 12 * few
