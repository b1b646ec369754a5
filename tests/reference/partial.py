"""The scripted model's answer: its final message, the steps in which it arrives, and the partial message that grows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy

from tests.reference.shapes import Failed, Json

EXHAUSTED: Json = {"error": "script exhausted", "start": False}
"""The answer to calls beyond the script."""

BLOCKS = {"text": "text", "thinking": "thinking", "toolCall": "toolcall"}
"""How the steps of a block are called, by its type."""


class Answer:
    """One answer: iterate for its steps, each looked at when it is asked for; `final` is the message in the end."""

    def __init__(self, entry: Json, *, aborted: Callable[[], bool]) -> None:
        """`aborted` says whether the answer has to end as aborted now."""
        self.final = final_message(entry)
        self._steps = steps(entry, self.final)
        self._aborted = aborted

    def __iter__(self) -> Iterator[Json]:
        """Yield steps with `type`, `contentIndex`, `delta` and, but for the last one, `partial`."""
        partial: Json = {"role": "assistant", "content": [], "stopReason": "stop"}
        for step in self._steps:
            if self._aborted():
                break
            if step["type"] == "throw":
                raise Failed(step["message"])
            if step["type"] in ("done", "error"):
                yield step
                return
            if step["type"] != "start":
                grow(partial["content"], step, self.final["content"])
            yield {**step, "partial": deepcopy(partial)}
        if self._aborted():
            self.final = {**partial, "stopReason": "aborted", "errorMessage": "Request was aborted"}
            yield {"type": "error"}


def final_message(entry: Json) -> Json:
    """Return the message that an entry of the script means."""
    message = {**entry.get("message", {}), "role": "assistant"}
    content = message.get("content", _blocks(entry))
    message["content"] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if "error" in entry:
        message["errorMessage"] = entry["error"]
    if "usage" in entry:
        message["usage"] = entry["usage"]
    calls = any(block["type"] == "toolCall" for block in message["content"])
    natural = "error" if "error" in entry else "toolUse" if calls else "stop"
    message["stopReason"] = entry.get("stopReason") or message.get("stopReason") or natural
    return message


def _blocks(entry: Json) -> list[Json]:
    return [
        *({"type": key, key: entry[key]} for key in ("thinking", "text") if key in entry),
        *({"type": "toolCall", "arguments": {}, **call} for call in entry.get("toolCalls", [])),
    ]


def steps(entry: Json, final: Json) -> list[Json]:
    """Return the steps in which an answer arrives."""
    deltas = entry.get("deltas", 0)
    if isinstance(deltas, list):
        return [{"contentIndex": 0, "delta": "", **step} for step in deltas]
    found: list[Json] = []
    if entry.get("start", True):
        found.append({"type": "start"})
        for index, block in enumerate(final["content"] if deltas else []):
            found += _pieces(index, block, deltas)
    if entry.get("end") != "none":
        found.append({"type": "done"})
    return found


def _pieces(index: int, block: Json, count: int) -> list[Json]:
    kind = BLOCKS.get(block["type"])
    if kind is None:
        return []
    if kind == "toolcall":
        pieces = [json.dumps(block["arguments"], ensure_ascii=False, separators=(",", ":"))]
    else:
        text = block[kind]
        pieces = [text[j * len(text) // count : (j + 1) * len(text) // count] for j in range(count)]
    return [
        {"type": f"{kind}_start", "contentIndex": index},
        *({"type": f"{kind}_delta", "contentIndex": index, "delta": piece} for piece in pieces),
        {"type": f"{kind}_end", "contentIndex": index},
    ]


def grow(content: list[Json], step: Json, final: list[Json]) -> None:
    """Put into a partial message's content what a step brings."""
    kind, _, what = step["type"].partition("_")
    index = step["contentIndex"]
    while len(content) <= index:
        content.append(_empty(kind, len(content), final))
    if what == "start":
        content[index] = _empty(kind, index, final)
    elif what == "delta" and content[index]["type"] == kind:
        content[index][kind] += step["delta"]
    elif kind == "toolcall" and what == "end" and index < len(final):
        content[index]["arguments"] = final[index].get("arguments", {})


def _empty(kind: str, index: int, final: list[Json]) -> Json:
    if kind != "toolcall":
        return {"type": kind, kind: ""}
    named = final[index] if index < len(final) else {}
    return {"type": "toolCall", **{key: named[key] for key in ("id", "name") if key in named}, "arguments": {}}
