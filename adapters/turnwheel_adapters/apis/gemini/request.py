"""Writes a request of the API google-gemini. Source: models.streamGenerateContent of the Gemini API, v1beta."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import quote

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
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.conversation import Said, fitted, prompt_of
from turnwheel_adapters.apis.gemini.thinking import thinking_config

UNSIGNED: Final = "skip_thought_signature_validator"
"""What Gemini 3 takes in place of the signature of a call that another model made. Source: its guide to signatures."""
_THIRD: Final = "*gemini-3*"


def path(target: Target) -> str:
    """Return the path of a streaming request."""
    return f"/models/{quote(target.model.removeprefix('models/'), safe='')}:streamGenerateContent?alt=sse"


def body(request: ModelRequest, target: Target) -> dict[str, Json]:
    """Return the JSON of a request."""
    settings = target.settings
    config: dict[str, Json] = {}
    if settings.max_tokens is not None:
        config["maxOutputTokens"] = settings.max_tokens
    if settings.temperature is not None:
        config["temperature"] = settings.temperature
    if (thinking := thinking_config(target.model, request.thinking_level, settings.thinking_budgets)) is not None:
        config["thinkingConfig"] = thinking
    told: dict[str, Json] = {"contents": _contents(fitted(request.messages, target), target.model)}
    if prompt := prompt_of(request):
        told["systemInstruction"] = {"parts": [{"text": prompt}]}
    if request.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": dict(tool.parameters)}
            for tool in request.tools
        ]
        told["tools"] = [{"functionDeclarations": declared}]
    if config:
        told["generationConfig"] = config
    return told


def _contents(messages: Iterable[Said], model: str) -> list[dict[str, Json]]:
    """Return the turns; neighbours of one role are one turn, as the results of one answer must be."""
    turns: list[dict[str, Json]] = []
    images: list[dict[str, Json]] = []
    third = fnmatchcase(model, _THIRD)
    for message in messages:
        if isinstance(message, ToolResultMessage):
            response, beside = _response(message, third)
            _put(turns, "user", [response])
            images += beside
            continue
        # Images of results that do not fit into them follow behind all the results.
        _put(turns, "user", images)
        images = []
        if isinstance(message, AssistantMessage):
            _put(turns, "model", list(_model_parts(message, third)))
        else:
            _put(turns, "user", [part for block in message.content for part in _part(block)])
    _put(turns, "user", images)
    return turns


def _put(turns: list[dict[str, Json]], role: str, parts: list[dict[str, Json]]) -> None:
    if not parts:
        return
    if turns and turns[-1]["role"] == role:
        turns[-1]["parts"] += parts
    else:
        turns.append({"role": role, "parts": parts})


def _part(block: Content | str) -> Iterator[dict[str, Json]]:
    if isinstance(block, TextContent):
        yield {"text": block.text}
    elif isinstance(block, ImageContent):
        yield _image(block)


def _image(block: ImageContent) -> dict[str, Json]:
    return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}


def _model_parts(message: AssistantMessage, third: bool) -> Iterator[dict[str, Json]]:
    unsigned = third
    for block in message.content:
        if isinstance(block, TextContent):
            yield {"text": block.text, **_signature(block.text_signature)}
        elif isinstance(block, ThinkingContent) and block.thinking_signature:
            yield {"thought": True, "text": block.thinking, **_signature(block.thinking_signature)}
        elif isinstance(block, ToolCall):
            # Of parallel calls only the first is signed.
            signature = block.thought_signature or (UNSIGNED if unsigned else None)
            unsigned = False
            yield {"functionCall": {"name": block.name, "args": block.arguments}, **_signature(signature)}


def _signature(signature: str | None) -> dict[str, Json]:
    return {"thoughtSignature": signature} if signature else {}


def _response(message: ToolResultMessage, third: bool) -> tuple[dict[str, Json], list[dict[str, Json]]]:
    """Return the part of a result, and its images where they do not fit into it (before Gemini 3)."""
    blocks = message.content if isinstance(message.content, list | tuple) else ()
    said = "\n".join(block.text for block in blocks if isinstance(block, TextContent))
    images = [_image(block) for block in blocks if isinstance(block, ImageContent)]
    answer = {"error" if message.is_error else "output": said or "(see the image)"}
    response: dict[str, Json] = {"name": message.tool_name, "response": answer}
    if images and third:
        response["parts"] = images
        images = []
    return {"functionResponse": response}, images
