"""What a delta of openai-chat costs from socket to stream step, beside others on the same bytes: `make sdk-bench`."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Final

import anyio
import httpx
import openai
from httpx_sse import aconnect_sse

from tests.adapters.models.server import Answer, serving
from turnwheel.abort import AbortSignal
from turnwheel.requests import ModelRequest
from turnwheel.stream import TextDelta
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.chat import API
from turnwheel_adapters.models.http import HttpModel

FEW: Final = 10_000
MANY: Final = 100_000
TIMES: Final = 3
Reader = Callable[[str], Awaitable[int]]


def body(deltas: int) -> bytes:
    """Return an answer of so many deltas of four characters."""
    chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "four"}, "finish_reason": None}]}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return b"".join(
        [f"data: {json.dumps(chunk)}\n\n".encode() * deltas, f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode()]
    )


async def ours(url: str) -> int:
    """Read with our client."""
    model = HttpModel(Target("p", "m", "openai-chat", url), API, "key")
    return sum([isinstance(step, TextDelta) async for step in model(ModelRequest("m"), AbortSignal())])


async def raw(url: str) -> int:
    """Read the bytes with httpx, and do nothing with them."""
    async with httpx.AsyncClient() as client, client.stream("POST", f"{url}/chat/completions") as response:
        return sum([chunk.count(b"four") async for chunk in response.aiter_bytes()])


async def lines(url: str) -> int:
    """Read the events with httpx-sse, and do nothing with them."""
    async with httpx.AsyncClient() as client, aconnect_sse(client, "POST", f"{url}/chat/completions") as source:
        return sum(["four" in event.data async for event in source.aiter_sse()])


async def sdk(url: str) -> int:
    """Read with the openai SDK."""
    async with openai.AsyncOpenAI(api_key="key", base_url=url) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        return sum([bool(chunk.choices[0].delta.content) async for chunk in stream])


READERS: Final[dict[str, Reader]] = {
    "turnwheel": ours,
    "httpx, bytes only": raw,
    "httpx-sse, events only": lines,
    "openai SDK": sdk,
}


def seconds(read: Reader, deltas: int) -> float:
    """Return the seconds that an answer takes, the middle of a few."""
    spent: list[float] = []
    with serving(Answer(body(deltas))) as server:
        for _ in range(TIMES):
            began = time.perf_counter()
            # Of bytes alone, some deltas are cut in two.
            assert anyio.run(read, server.url) > 0.99 * deltas
            spent.append(time.perf_counter() - began)
    return median(spent)


def main() -> None:
    """Print the cost of a delta, and how it grows."""
    for name, read in READERS.items():
        few, many = seconds(read, FEW), seconds(read, MANY)
        print(f"{name:24}{many / MANY * 1e6:7.2f} µs a delta; {MANY:,} cost {many / few:4.1f} times {FEW:,}")


if __name__ == "__main__":
    main()
