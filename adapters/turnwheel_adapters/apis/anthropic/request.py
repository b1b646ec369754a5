"""Writes a request of the API anthropic-messages. Source: the reference of the Messages API, version 2023-06-01."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from turnwheel.messages import (
    AssistantMessage,
    Content,
    ImageContent,
    Json,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
)
from turnwheel.requests import ModelRequest
from turnwheel_adapters.apis.anthropic.families import limits
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.conversation import Said, fitted, prompt_of

MARK: Final = {"type": "ephemeral"}
"""What marks the end of a part of the prompt that is worth keeping. A request may have four marks; it gets three."""
Block = dict[str, Json]


def path(target: Target) -> str:
    """Return the path of a request, behind a base URL with or without the version."""
    return "/messages" if target.base_url.endswith("/v1") else "/v1/messages"


def body(request: ModelRequest, target: Target) -> Block:
    """Return the JSON of a request."""
    told: Block = {
        "model": target.model,
        "stream": True,
        **limits(target.model, request.thinking_level, target.settings),
        "messages": _turns(fitted(request.messages, target)),
    }
    if prompt := prompt_of(request):
        told["system"] = [{"type": "text", "text": prompt}]
    if request.tools:
        told["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in request.tools
        ]
    if target.settings.cache:
        _mark(told)
    return told


def _mark(told: Block) -> None:
    """Mark what stays the same in every request, tools and system prompt, and all up to the last user message."""
    for blocks in (told.get("tools"), told.get("system")):
        if blocks:
            blocks[-1]["cache_control"] = MARK
    last = next((turn for turn in reversed(told["messages"]) if turn["role"] == "user"), None)
    if last is not None:
        last["content"][-1]["cache_control"] = MARK


def _turns(messages: Iterable[Said]) -> list[Block]:
    """Return the turns; neighbours of one role are one turn, so that results stand in one with what follows them."""
    turns: list[Block] = []
    for message in messages:
        role, blocks = _turn(message)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _turn(message: Said) -> tuple[str, list[Block]]:
    if isinstance(message, AssistantMessage):
        return "assistant", [told for block in message.content for told in _block(block)]
    content = [told for block in _blocks(message) for told in _block(block)]
    if not isinstance(message, ToolResultMessage):
        return "user", content
    failed = {"is_error": True} if message.is_error else {}
    return "user", [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content, **failed}]


def _blocks(message: Said) -> Iterable[Content]:
    return message.content if isinstance(message.content, list | tuple) else ()


def _block(block: Content) -> Iterator[Block]:
    match block:
        case TextContent(text=text):
            if text.strip():
                yield {"type": "text", "text": text}
        case ImageContent(data=data, mime_type=kind):
            yield {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        case ThinkingContent(thinking_signature=str(sealed), redacted=True):
            yield {"type": "redacted_thinking", "data": sealed}
        case ThinkingContent(thinking=thought, thinking_signature=str(signature)):
            yield {"type": "thinking", "thinking": thought, "signature": signature}
        case ThinkingContent(thinking=thought):
            # Without a signature it is refused as thinking.
            if thought.strip():
                yield {"type": "text", "text": thought}
        case ToolCall(id=id_, name=name, arguments=arguments):
            yield {"type": "tool_use", "id": id_, "name": name, "input": arguments}
