"""Writes a request of the API openai-chat, as the flags of its server want it. Source: the reference of OpenAI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
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
from turnwheel.tool import Tool
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.chat.stream import DETAILS
from turnwheel_adapters.apis.compat import Compat
from turnwheel_adapters.apis.conversation import Said, fitted, prompt_of
from turnwheel_adapters.apis.efforts import effort_of, thinks
from turnwheel_adapters.apis.strict import fits_strict

MARK: Final = {"type": "ephemeral"}
IMAGES: Final = "(images of the results above)"
BETWEEN: Final = "(the results were received)"
"""What a model is made to say where results and a user's message may not follow each other."""
Part = dict[str, Json]


def path(target: Target) -> str:
    """Return the path of a request."""
    return "/chat/completions"


def body(request: ModelRequest, target: Target) -> Part:
    """Return the JSON of a request."""
    settings, compat = target.settings, target.compat
    messages = _messages(request, target)
    told: Part = {"model": target.model, "stream": True, "messages": messages}
    if compat.takes_usage_option:
        told["stream_options"] = {"include_usage": True}
    if compat.takes_store:
        told["store"] = False
    calls = compat.wants_tools_with_calls and any("tool_calls" in message for message in messages)
    if request.tools or compat.takes_empty_tools or calls:
        told["tools"] = [_tool(tool, compat) for tool in request.tools]
    if settings.max_tokens is not None:
        told[compat.max_tokens] = settings.max_tokens
    if settings.temperature is not None and not thinks(target.model):
        told["temperature"] = settings.temperature
    if settings.cache and settings.session_id and compat.takes_cache_key:
        told["prompt_cache_key"] = settings.session_id
    if settings.cache and compat.takes_cache_control:
        _mark(messages)
    return told | _thinking(target, request.thinking_level)


def _thinking(target: Target, level: str) -> Part:
    """Return how the server is asked to think."""
    match target.compat.thinking:
        case "effort":
            effort = effort_of(target.model, level)
            return {"reasoning_effort": effort} if effort is not None else {}
        case "openrouter":
            # Some models cannot be kept from thinking and refuse to be asked, so off says nothing.
            return {"reasoning": {"effort": level}} if level != "off" else {}
        case "zai":
            return {"thinking": {"type": "disabled" if level == "off" else "enabled"}}
        case "qwen":
            return {"enable_thinking": level != "off"}
    return {}


def _tool(tool: Tool, compat: Compat) -> Part:
    strict = {"strict": fits_strict(tool.parameters)} if compat.takes_strict_tools else {}
    told = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters), **strict}
    return {"type": "function", "function": told}


def _messages(request: ModelRequest, target: Target) -> list[Part]:
    told: list[Part] = []
    if prompt := prompt_of(request):
        developer = target.compat.takes_developer_role and thinks(target.model)
        told.append({"role": "developer" if developer else "system", "content": prompt})
    images: list[Part] = []
    for message in fitted(request.messages, target):
        if isinstance(message, ToolResultMessage):
            result, beside = _result(message, target.compat)
            told.append(result)
            images += beside
            continue
        _put_images(told, images, target.compat)
        images = []
        _put(told, _answer(message, target.compat) if isinstance(message, AssistantMessage) else _user(message), target)
    _put_images(told, images, target.compat)
    return told


def _put(told: list[Part], message: Part, target: Target) -> None:
    after_result = bool(told) and told[-1]["role"] == "tool"
    if target.compat.wants_answer_after_results and after_result and message["role"] == "user":
        told.append({"role": "assistant", "content": BETWEEN})
    told.append(message)


def _put_images(told: list[Part], images: Sequence[Part], compat: Compat) -> None:
    """Put the images of results into a message of the user's, where results may not hold them."""
    if not images:
        return
    if compat.wants_answer_after_results:
        told.append({"role": "assistant", "content": BETWEEN})
    told.append({"role": "user", "content": [{"type": "text", "text": IMAGES}, *images]})


def _user(message: Said) -> Part:
    parts = list(_parts(message.content))
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return {"role": "user", "content": texts[0] if len(parts) == len(texts) == 1 else parts}


def _parts(content: object) -> Iterator[Part]:
    blocks: Iterable[Content] = content if isinstance(content, list | tuple) else ()
    for block in blocks:
        if isinstance(block, TextContent):
            yield {"type": "text", "text": block.text}
        elif isinstance(block, ImageContent):
            yield {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _answer(message: AssistantMessage, compat: Compat) -> Part:
    said = "".join(block.text for block in message.content if isinstance(block, TextContent))
    told: Part = {"role": "assistant", "content": said or None}
    if calls := message.tool_calls:
        told["tool_calls"] = [_call(call) for call in calls]
    elif not said:
        told["content"] = ""
    return told | _thoughts(message, compat)


def _call(call: ToolCall) -> Part:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _thoughts(message: AssistantMessage, compat: Compat) -> Part:
    """Return the thinking of an answer in the field in which its server wants it back."""
    thoughts = [block for block in message.content if isinstance(block, ThinkingContent)]
    if compat.reasoning_back == "reasoning_details":
        details = [entry for block in thoughts for entry in block.extra.get(DETAILS, ())]
        details += filter(None, map(_detail, message.tool_calls))
        return {"reasoning_details": details} if details else {}
    said = "".join(block.thinking for block in thoughts)
    # Servers that want reasoning_content refuse calls without it, as those are that another model has made.
    wanted = compat.reasoning_back == "reasoning_content" and message.tool_calls
    return {compat.reasoning_back: said} if compat.reasoning_back is not None and (said or wanted) else {}


def _detail(call: ToolCall) -> Part | None:
    """Return the entry of reasoning_details that signs a call; None where its signature is something else."""
    try:
        entry = json.loads(call.thought_signature or "")
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _result(message: ToolResultMessage, compat: Compat) -> tuple[Part, list[Part]]:
    """Return a result, and its images where they cannot be in it."""
    parts = list(_parts(message.content))
    images = [part for part in parts if part["type"] == "image_url"]
    name = {"name": message.tool_name} if compat.wants_tool_name else {}
    told: Part = {"role": "tool", "tool_call_id": message.tool_call_id, **name}
    if images and compat.takes_images_in_results:
        return {**told, "content": parts}, []
    said = "\n".join(part["text"] for part in parts if part["type"] == "text")
    return {**told, "content": said or "(see the image)"}, images


def _mark(messages: Sequence[Part]) -> None:
    """Mark system prompt and last user message for a server that hands the marks on to Anthropic."""
    system = [message for message in messages[:1] if message["role"] in ("system", "developer")]
    users = [message for message in messages if message["role"] == "user"][-1:]
    for message in (*system, *users):
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        texts = [part for part in message["content"] if part["type"] == "text"]
        if texts:
            texts[-1]["cache_control"] = MARK
