"""In what a server differs from the API that it imitates: flags, as data."""

from __future__ import annotations

from typing import Literal, final

from attrs import frozen


@final
@frozen
class Compat:
    """Flags of a provider. The defaults are those of the API's own maker (for openai-chat: OpenAI).

    Those that begin with `takes_` say what a server understands, those with `wants_` what it demands.
    """

    max_tokens: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """Under which name openai-chat is told the limit of an answer."""
    takes_developer_role: bool = True
    """Whether the system prompt of a reasoning model goes as role developer."""
    takes_usage_option: bool = True
    """Whether stream_options.include_usage may be sent."""
    takes_store: bool = True
    """Whether `store: false` may be sent."""
    takes_empty_tools: bool = False
    """Whether `tools: []` may be sent; else the key is left out."""
    wants_tools_with_calls: bool = False
    """Whether a history that holds calls must come with a tools key, if only an empty one."""
    takes_strict_tools: bool = True
    """Whether a tool's declaration may say `strict`."""
    takes_cache_key: bool = True
    """Whether prompt_cache_key may be sent."""
    takes_cache_control: bool = False
    """Whether an openai-chat server takes Anthropic's cache_control marks in content blocks."""
    thinking: Literal["effort", "openrouter", "zai", "qwen", "deepseek", "none"] = "effort"
    """How an openai-chat server is asked to think: reasoning_effort, reasoning.effort, thinking.type, enable_thinking,
    by the choice of the model, or not at all."""
    reasoning_back: Literal["reasoning_content", "reasoning", "reasoning_details"] | None = None
    """The field in which thinking goes back to the server that sent it; None: it does not. An answer with calls has
    reasoning_content even where there is no thinking, since servers that want it refuse calls without it."""
    tool_ids: Literal["openai", "mistral", "any"] = "openai"
    """Which ids of calls are taken: up to 40 of [A-Za-z0-9_-]; exactly 9 of [A-Za-z0-9]; whatever there is."""
    wants_tool_name: bool = False
    """Whether a result must name its tool."""
    wants_answer_after_results: bool = False
    """Whether a user's message may not follow results directly."""
    takes_images_in_results: bool = False
    """Whether a result may hold images; else they follow in a user message."""
