"""Writes a request of the API openai-responses, which keeps nothing on the server (`store` false).

Source: the reference of the Responses API, and its guide to reasoning, for what goes back with calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turnwheel.messages import (
    AssistantMessage,
    ImageContent,
    Json,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from turnwheel.requests import ModelRequest
from turnwheel.tool import Tool
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.conversation import Said, fitted, prompt_of
from turnwheel_adapters.apis.efforts import effort_of, thinks
from turnwheel_adapters.apis.strict import fits_strict

ENCRYPTED: Final = "reasoning.encrypted_content"
"""What must be asked for so that reasoning can go back without being stored."""
Item = dict[str, Json]


def path(target: Target) -> str:
    """Return the path of a request."""
    return "/responses"


def body(request: ModelRequest, target: Target) -> Item:
    """Return the JSON of a request."""
    settings, compat = target.settings, target.compat
    told: Item = {"model": target.model, "stream": True, "input": list(_items(fitted(request.messages, target)))}
    if compat.takes_store:
        told["store"] = False
    if prompt := prompt_of(request):
        told["instructions"] = prompt
    if request.tools or compat.takes_empty_tools:
        told["tools"] = [_tool(tool, target) for tool in request.tools]
    if settings.max_tokens is not None:
        told["max_output_tokens"] = settings.max_tokens
    if settings.cache and settings.session_id and compat.takes_cache_key:
        told["prompt_cache_key"] = settings.session_id
    reasoning = _reasoning(request, target)
    if reasoning:
        told["reasoning"] = reasoning
    if thinks(target.model):
        told["include"] = [ENCRYPTED]
    elif settings.temperature is not None:
        told["temperature"] = settings.temperature
    return told


def _reasoning(request: ModelRequest, target: Target) -> Item:
    effort = effort_of(target.model, request.thinking_level)
    if effort is None:
        return {}
    return {"effort": effort} if request.thinking_level == "off" else {"effort": effort, "summary": "auto"}


def _tool(tool: Tool, target: Target) -> Item:
    # What is not said to be unstrict is strict here.
    strict = target.compat.takes_strict_tools and fits_strict(tool.parameters)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": strict,
    }


def _items(messages: Sequence[Said]) -> Iterator[Item]:
    for message in messages:
        if isinstance(message, UserMessage):
            yield {"role": "user", "content": _inputs(message.content)}
        elif isinstance(message, ToolResultMessage):
            call_id = message.tool_call_id.partition("|")[0]
            yield {"type": "function_call_output", "call_id": call_id, "output": _output(message)}
        else:
            yield from _answer(message)


def _inputs(content: str | Sequence[object]) -> list[Item]:
    told: list[Item] = []
    for block in content:
        if isinstance(block, TextContent):
            told.append({"type": "input_text", "text": block.text})
        elif isinstance(block, ImageContent):
            url = f"data:{block.mime_type};base64,{block.data}"
            told.append({"type": "input_image", "detail": "auto", "image_url": url})
    return told


def _output(message: ToolResultMessage) -> Json:
    told = _inputs(message.content if isinstance(message.content, list | tuple) else ())
    if any(each["type"] == "input_image" for each in told):
        return told
    return "\n".join(each["text"] for each in told)


def _answer(message: AssistantMessage) -> Iterator[Item]:
    """Yield the items of an answer: those that were reasoned about with their ids, as they must go together."""
    reasoned = False
    for at, block in enumerate(message.content):
        if isinstance(block, ThinkingContent):
            item = _signed(block.thinking_signature)
            # Reasoning that nothing followed is refused.
            if item.get("encrypted_content") and at + 1 < len(message.content):
                reasoned = True
                yield {
                    "type": "reasoning",
                    "id": item.get("id"),
                    "summary": item.get("summary") or [],
                    "encrypted_content": item["encrypted_content"],
                }
        elif isinstance(block, TextContent):
            yield _message(block, reasoned)
        elif isinstance(block, ToolCall):
            call_id, _, own = block.id.partition("|")
            yield {
                "type": "function_call",
                **({"id": own} if own and reasoned else {}),
                "call_id": call_id,
                "name": block.name,
                "arguments": json.dumps(block.arguments, ensure_ascii=False),
            }


def _message(block: TextContent, reasoned: bool) -> Item:
    item = _signed(block.text_signature)
    if not (reasoned and item.get("id")):
        return {"role": "assistant", "content": block.text}
    phase = {"phase": item["phase"]} if item.get("phase") else {}
    content = [{"type": "output_text", "text": block.text, "annotations": []}]
    return {
        "type": "message",
        "role": "assistant",
        "id": item["id"],
        "status": "completed",
        "content": content,
        **phase,
    }


def _signed(signature: str | None) -> Mapping[str, Json]:
    """Return the item that a signature holds, an empty one where it holds none."""
    try:
        item = json.loads(signature or "{}")
    except ValueError:
        return {}
    return item if isinstance(item, dict) else {}
