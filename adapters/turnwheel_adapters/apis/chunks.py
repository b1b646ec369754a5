"""The JSON of an event's data, or why the answer cannot go on."""

from __future__ import annotations

import json
from typing import Final

from turnwheel.messages import Json
from turnwheel_adapters.apis.failures import Broken, Failure
from turnwheel_adapters.apis.sse import ServerEvent

DONE: Final = "[DONE]"
"""The data by which many servers say that the stream is over."""
_SHOWN: Final = 200


def object_of(event: ServerEvent) -> dict[str, Json]:
    """Return the JSON object that an event carries. Raises Broken where it carries anything else."""
    try:
        data = json.loads(event.data)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        shown = event.data if len(event.data) <= _SHOWN else f"{event.data[:_SHOWN]}…"
        raise Broken(
            Failure(
                "protocol",
                f"the server sent a chunk that is no JSON object: {shown!r}; try again, or look at the base URL",
                retryable=True,
                code="malformed_chunk",
            )
        )
    return data


def part(data: Json, *path: str) -> dict[str, Json]:
    """Return the object at a path, an empty one where there is none."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def text(data: Json, key: str) -> str:
    """Return the text under a key, an empty one where there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def number(data: Json, key: str) -> int:
    """Return the whole number under a key, 0 where there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if type(value) is int else 0


def objects(data: Json, key: str) -> list[dict[str, Json]]:
    """Return the objects of the list under a key."""
    value = data.get(key) if isinstance(data, dict) else None
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
