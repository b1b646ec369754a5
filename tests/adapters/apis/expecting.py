"""Whether a message is what a recording says that a client must end with.

The rules: texts and thoughts as a whole, calls one by one, kinds in their order, signatures, the stop reason, tokens.
`alt` of a recording lists other values that will do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from turnwheel.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall

Block = dict[str, Any]
_TOKENS: Final = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
}


def differences(expect: Mapping[str, Any], got: AssistantMessage, api: str) -> list[str]:
    """Return in what a message differs from what is expected; nothing where it is right."""
    return [*_content(expect, got, api), *_end(expect, got)]


def _end(expect: Mapping[str, Any], got: AssistantMessage) -> Iterator[str]:
    alt = expect.get("alt") or {}
    if got.stop_reason not in alt.get("stopReason", [expect["stopReason"]]):
        yield f"stop reason: expected {expect['stopReason']}, got {got.stop_reason}"
    if got.stop_reason == "error" and not got.error_message:
        yield "an error without a message"
    wanted = expect["usage"] or dict.fromkeys(_TOKENS, 0)
    for name, field in _TOKENS.items():
        used = getattr(got.usage, field)
        if used not in alt.get(f"usage.{name}", [wanted[name]]):
            yield f"{name}: expected {wanted[name]} tokens, got {used}"


def _content(expect: Mapping[str, Any], got: AssistantMessage, api: str) -> Iterator[str]:
    wanted, there = _told(expect["content"]), _told(_blocks(got))
    for kind in ("text", "thinking"):
        mine, theirs = (_joined(blocks, kind) for blocks in (wanted, there))
        if mine != theirs:
            yield f"{kind}: expected {mine[:80]!r}, got {theirs[:80]!r}"
    yield from _calls(expect, wanted, there, failed=got.stop_reason == "error")
    ids = [block["id"] for block in there if block["type"] == "toolCall"]
    if len(set(ids)) != len(ids) or not all(ids):
        yield f"ids are missing or not unique: {ids}"
    if api != "openai-chat":
        said = [str(block.get("signature")) for block in _blocks(got)]
        for block in expect["content"]:
            seals = [seal for seal in (block.get("signature"), block.get("signatureAlt")) if seal]
            if seals and not any(json.dumps(seal)[1:-1] in each or seal in each for seal in seals for each in said):
                yield f"the signature {seals[0][:40]}… is missing"


def _calls(expect: Mapping[str, Any], wanted: list[Block], there: list[Block], *, failed: bool) -> Iterator[str]:
    calls, found = ([block for block in blocks if block["type"] == "toolCall"] for blocks in (wanted, there))
    if failed and not found:
        return
    if len(calls) != len(found):
        # One that was cut off may be left out.
        calls = [call for call in calls if call["arguments"] is not None]
    if (expect.get("alt") or {}).get("toolOrder") == "any":
        calls, found = (sorted(each, key=lambda call: str(call["name"])) for each in (calls, found))
    if [call["name"] for call in calls] != [call["name"] for call in found]:
        yield f"calls: expected {[call['name'] for call in calls]}, got {[call['name'] for call in found]}"
        return
    for call, other in zip(calls, found, strict=True):
        if call["id"] is not None and call["id"] != other["id"].partition("|")[0]:
            yield f"id: expected {call['id']}, got {other['id']}"
        if call["arguments"] is not None and call["arguments"] != other["arguments"]:
            yield f"arguments: expected {call['arguments']}, got {other['arguments']}"
    if _kinds(wanted) != _kinds(there) and len(calls) == len([each for each in wanted if each["type"] == "toolCall"]):
        yield f"order: expected {_kinds(wanted)}, got {_kinds(there)}"


def _told(blocks: list[Block]) -> list[Block]:
    """Leave out what says nothing: blank texts, and thoughts that are sealed or empty."""
    return [
        block
        for block in blocks
        if block["type"] == "toolCall" or (str(block[block["type"]]).strip() and not block.get("redacted"))
    ]


def _kinds(blocks: list[Block]) -> list[str]:
    return [kind for kind, group in groupby(block["type"] for block in blocks) for _ in _each(kind, group)]


def _each(kind: str, group: Iterator[str]) -> list[str]:
    return list(group) if kind == "toolCall" else [kind]


def _joined(blocks: list[Block], kind: str) -> str:
    said = "".join(block[kind] for block in blocks if block["type"] == kind)
    # How parts of a summary are joined is the client's own choice.
    return "".join(said.split()) if kind == "thinking" else said


def _blocks(message: AssistantMessage) -> list[Block]:
    told: list[Block] = []
    for block in message.content:
        match block:
            case TextContent():
                told.append({"type": "text", "text": block.text, "signature": block.text_signature})
            case ThinkingContent():
                seal = {"signature": block.thinking_signature, "redacted": block.redacted}
                told.append({"type": "thinking", "thinking": block.thinking, **seal})
            case ToolCall():
                call = {"id": block.id, "name": block.name, "arguments": block.arguments}
                told.append({"type": "toolCall", **call, "signature": block.thought_signature})
    return told
