"""Whether the official SDKs' own types of requests take what the codecs write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from anthropic.types import message_create_params
from google.genai import types as gemini
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

GOLDEN: Final = Path(__file__).parents[1] / "adapters" / "apis" / "golden"

BEYOND: Final[Mapping[str, frozenset[str]]] = {
    "openai-chat": frozenset(
        {"reasoning", "thinking", "enable_thinking", "cache_control", "reasoning_content", "reasoning_details", "name"}
    ),
}
"""Keys that imitators of an API take and its maker's types do not know; a flag of Compat asks for each."""


def _typed(kind: Any) -> Callable[[Any], object]:
    adapter = TypeAdapter(with_config(ConfigDict(extra="forbid"))(kind))
    check: Callable[[Any], object] = adapter.validate_python
    return check


def _gemini(body: Mapping[str, Any]) -> None:
    told = dict(body)
    for content in told.pop("contents"):
        gemini.Content.model_validate(content)
    if system := told.pop("systemInstruction", None):
        gemini.Content.model_validate(system)
    for tool in told.pop("tools", ()):
        gemini.Tool.model_validate(tool)
    gemini.GenerationConfig.model_validate(told.pop("generationConfig", {}))
    if told:
        raise ValueError(f"unknown keys: {', '.join(told)}")


def _checks() -> dict[str, Callable[[Any], object]]:
    return {
        "anthropic-messages": _typed(message_create_params.MessageCreateParamsStreaming),
        "openai-chat": _typed(completion_create_params.CompletionCreateParamsStreaming),
        "openai-responses": _typed(response_create_params.ResponseCreateParamsStreaming),
        "google-gemini": _gemini,
    }


def refused() -> tuple[int, list[str]]:
    """Return how many requests were tried, and what is wrong with those that the types refuse."""
    problems: list[str] = []
    tried = 0
    for api, check in _checks().items():
        for file in sorted((GOLDEN / api).glob("*.json")):
            tried += 1
            body = _without(json.loads(file.read_text(encoding="utf-8")), BEYOND.get(api, frozenset()))
            try:
                check(body)
            except (ValidationError, ValueError) as error:
                problems.append(f"{api}/{file.stem}: {error}")
    return tried, problems


def _without(value: Any, keys: frozenset[str], *, inside: bool = False) -> Any:
    """Leave out keys that are known not to be the maker's; a schema and the arguments of a call stay as they are."""
    if isinstance(value, list):
        return [_without(part, keys) for part in value]
    if not isinstance(value, dict):
        return value
    tool = value.get("role") == "tool"
    return {
        name: part if name in ("parameters", "function") else _without(part, keys)
        for name, part in value.items()
        if name not in keys or (name == "name" and not tool)
    }
