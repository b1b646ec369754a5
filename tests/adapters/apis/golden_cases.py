"""Requests as they are sent: the cases, and the files that hold what is sent for each.

`python -m tests.adapters.apis.golden_cases` writes the files anew; look at what changed before you keep it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, final

from attrs import evolve, frozen

from turnwheel.messages import (
    AssistantMessage,
    Content,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    user,
)
from turnwheel.requests import ModelRequest
from turnwheel.tool import Tool
from turnwheel_adapters.apis.api import LEVELS, ApiName, Settings, Target
from turnwheel_adapters.apis.compat import Compat
from turnwheel_adapters.models.providers import PROVIDERS
from turnwheel_adapters.models.routing import api_of

GOLDEN: Final = Path(__file__).parent / "golden"
IMAGE: Final = ImageContent("iVBORw0KGgo=", "image/png")
STRICT: Final = Tool(
    "add",
    "Add two numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)
LOOSE: Final = Tool(
    "look",
    "Look at a file.",
    {"type": "object", "properties": {"path": {"type": "string"}, "from": {"type": "integer"}}, "required": ["path"]},
)
MODELS: Final[dict[ApiName, tuple[str, str]]] = {
    "anthropic-messages": ("anthropic", "claude-sonnet-4-5"),
    "openai-chat": ("openai-chat", "gpt-5"),
    "openai-responses": ("openai", "gpt-5"),
    "google-gemini": ("google", "gemini-2.5-flash"),
}


@final
@frozen
class Case:
    """A request, and to whom it goes."""

    name: str
    target: Target
    request: ModelRequest

    @property
    def file(self) -> Path:
        """Where it is written down."""
        return GOLDEN / self.target.api / f"{self.name}.json"

    def written(self) -> str:
        """Return what is sent, to be read."""
        body = api_of(self.target.api).body(self.request, self.target)
        return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def target_of(api: ApiName, model: str | None = None, *, compat: Compat | None = None, **settings: Any) -> Target:
    """Return a target of the API's own maker."""
    name, usual = MODELS[api]
    target = PROVIDERS[name].target(name, model or usual, None, Settings(**settings))
    return target if compat is None else evolve(target, compat=compat)


def conversation(target: Target) -> list[Message]:
    """Return a conversation that has everything, with answers of the target's own model and of another one."""
    seals = _seals(target.api)
    thought = ThinkingContent("I need both.", seals["thought"], extra=seals["details"])
    calls = [
        ToolCall(seals["call"], "add", {"a": 1, "b": 2.5}, seals["signature"]),
        ToolCall("call_2", "look", {"path": "größe.md"}),
    ]
    mine: Any = {"api": target.api, "provider": target.provider, "model": target.model}
    older = AssistantMessage(
        (ThinkingContent("Hm.", "foreign"), TextContent("Hello!", "foreign")), "stop", api="openai-chat", provider="x"
    )
    sealed: list[Content] = [ThinkingContent("", "opaque", redacted=True)] if target.api == "anthropic-messages" else []
    return [
        user("hello"),
        older,
        user("What is this, and what is 1 + 2.5?", images=[IMAGE]),
        AssistantMessage((*sealed, thought, TextContent("Let me see.", seals["text"]), *calls), "toolUse", **mine),
        ToolResultMessage(seals["call"], "add", (TextContent("3.5"),)),
        ToolResultMessage("call_2", "look", (TextContent("no such file"), IMAGE), is_error=True),
        AssistantMessage((TextContent("failed half"),), "error", error_message="overloaded", **mine),
        UserMessage("Go on, 你好 👋."),
    ]


def _seals(api: ApiName) -> dict[str, Any]:
    """Return what an API's own answers are signed with."""
    seals: dict[str, Any] = {"thought": "c2lnbmVk", "text": None, "call": "call_1", "signature": None, "details": {}}
    if api == "openai-responses":
        item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA", "status": "completed"}
        seals["thought"] = json.dumps(item)
        seals["text"] = json.dumps({"v": 1, "id": "msg_1", "phase": "commentary"})
        seals["call"] = "call_1|fc_1"
    elif api == "google-gemini":
        seals |= {"text": "dGV4dA==", "signature": "Y2FsbA=="}
    elif api == "openai-chat":
        seals["thought"] = "reasoning_content"
        seals["signature"] = json.dumps({"type": "reasoning.encrypted", "id": "call_1", "data": "eA=="})
        seals["details"] = {"reasoningDetails": [{"type": "reasoning.text", "index": 0, "text": "I need both."}]}
    return seals


def everything(target: Target, level: str = "medium") -> ModelRequest:
    """Return a request that has everything."""
    return ModelRequest(target.model, level, "Be brief.", conversation(target), [STRICT, LOOSE])


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for api in MODELS:
        target = target_of(api)
        yield Case("everything", target, everything(target))
        yield Case("small", target, ModelRequest(target.model, messages=[user("hello")]))
        limited = target_of(api, max_tokens=3000, temperature=0.5, cache=False)
        yield Case("limited", limited, ModelRequest(target.model, messages=[user("hello")]))
        session = target_of(api, session_id="s-1")
        yield Case("session", session, ModelRequest(target.model, messages=[user("hello")]))
        blind = evolve(target, images=False)
        yield Case("no-images", blind, everything(blind, "off"))
    yield from _levels()
    yield from _flags()
    yield from _providers()


def _levels() -> Iterator[Case]:
    families: dict[ApiName, list[str]] = {
        "anthropic-messages": ["claude-3-5-haiku-20241022", "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7"],
        "openai-chat": ["gpt-4.1", "gpt-5", "o4-mini", "some-model"],
        "openai-responses": ["gpt-4.1", "gpt-5", "gpt-5.1", "gpt-5.2", "o3"],
        "google-gemini": ["gemini-2.0-flash", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro-preview"],
    }
    for api, models in families.items():
        for model in models:
            for level in LEVELS:
                target = target_of(api, model)
                yield Case(f"thinking-{model}-{level}", target, ModelRequest(model, level, messages=[user("hi")]))
    budgets = target_of("anthropic-messages", max_tokens=2000, thinking_budgets={"high": 5000})
    yield Case("thinking-budget", budgets, ModelRequest("claude-sonnet-4-5", "high", messages=[user("hi")]))


def _flags() -> Iterator[Case]:
    flags: dict[str, Compat] = {
        "max_tokens": Compat(max_tokens="max_tokens"),
        "no-developer": Compat(takes_developer_role=False),
        "no-usage-option": Compat(takes_usage_option=False),
        "no-store": Compat(takes_store=False),
        "empty-tools": Compat(takes_empty_tools=True),
        "tools-with-calls": Compat(wants_tools_with_calls=True),
        "no-strict": Compat(takes_strict_tools=False),
        "no-cache-key": Compat(takes_cache_key=False),
        "cache-control": Compat(takes_cache_control=True),
        "thinking-openrouter": Compat(thinking="openrouter"),
        "thinking-zai": Compat(thinking="zai"),
        "thinking-qwen": Compat(thinking="qwen"),
        "thinking-none": Compat(thinking="none"),
        "reasoning-content": Compat(reasoning_back="reasoning_content"),
        "reasoning-details": Compat(reasoning_back="reasoning_details"),
        "ids-mistral": Compat(tool_ids="mistral"),
        "ids-any": Compat(tool_ids="any"),
        "tool-name": Compat(wants_tool_name=True),
        "answer-after-results": Compat(wants_answer_after_results=True),
        "images-in-results": Compat(takes_images_in_results=True),
    }
    for name, compat in flags.items():
        target = target_of("openai-chat", compat=compat, max_tokens=100, session_id="s-1")
        request = everything(target)
        bare = name in ("empty-tools", "tools-with-calls")
        yield Case(f"flag-{name}", target, evolve(request, tools=()) if bare else request)
    third = target_of("google-gemini", "gemini-3-pro-preview")
    yield Case("third", third, everything(third))


def _providers() -> Iterator[Case]:
    for name, provider in PROVIDERS.items():
        if provider.api == "openai-chat" and provider.base_url is not None:
            target = provider.target(name, "some-model", None, Settings(max_tokens=100, session_id="s-1"))
            yield Case(f"provider-{name}", target, everything(target))


if __name__ == "__main__":
    for case in cases():
        case.file.parent.mkdir(parents=True, exist_ok=True)
        case.file.write_text(case.written(), encoding="utf-8")
