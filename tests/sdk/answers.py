"""What the official SDKs make of a recorded stream, in the words of our messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import anthropic
import openai
from google import genai
from google.genai import types as gemini

_STOPS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "stop": "stop",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "length": "length",
    "completed": "stop",
    "STOP": "stop",
    "MAX_TOKENS": "length",
}


class Told(NamedTuple):
    """What is compared of an answer; tokens are input without cached ones, output, and those read from a cache."""

    text: str
    calls: tuple[tuple[str, str], ...]
    stop: str
    tokens: tuple[int, int, int]


def _stop(reason: Any, calls: object) -> str:
    stop = _STOPS.get(str(reason), "error")
    return "toolUse" if calls and stop == "stop" else stop


def _anthropic(url: str) -> Told:
    client = anthropic.Anthropic(api_key="key", base_url=url, max_retries=0)
    with client.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}]) as stream:
        message = stream.get_final_message()
    calls = tuple((block.name, _sorted(block.input)) for block in message.content if block.type == "tool_use")
    used = message.usage
    return Told(
        "".join(block.text for block in message.content if block.type == "text"),
        calls,
        _stop(message.stop_reason, calls),
        (used.input_tokens or 0, used.output_tokens or 0, used.cache_read_input_tokens or 0),
    )


def _chat(url: str) -> Told:
    client = openai.OpenAI(api_key="key", base_url=url, max_retries=0)
    with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as stream:
        done = stream.get_final_completion()
    choice, used = done.choices[0], done.usage
    calls = tuple((call.function.name, call.function.arguments) for call in choice.message.tool_calls or ())
    details = used.prompt_tokens_details if used is not None else None
    read = (details.cached_tokens or 0) if details is not None else 0
    tokens = (used.prompt_tokens - read, used.completion_tokens, read) if used is not None else (0, 0, 0)
    said = (choice.message.content or "") + (choice.message.refusal or "")
    return Told(said, calls, _stop(choice.finish_reason, calls), tokens)


def _responses(url: str) -> Told:
    client = openai.OpenAI(api_key="key", base_url=url, max_retries=0)
    with client.responses.stream(model="m", input="hi") as stream:
        done = stream.get_final_response()
    calls = tuple((item.name, item.arguments) for item in done.output if item.type == "function_call")
    said = ""
    for item in done.output:
        for part in getattr(item, "content", None) or ():
            said += getattr(part, "refusal", "") or (part.text if part.type == "output_text" else "")
    limited = done.incomplete_details is not None and done.incomplete_details.reason == "max_output_tokens"
    stop = "length" if limited else _stop(done.status, calls)
    used = done.usage
    read = used.input_tokens_details.cached_tokens if used is not None else 0
    tokens = (used.input_tokens - read, used.output_tokens, read) if used is not None else (0, 0, 0)
    return Told(said, calls, stop, tokens)


def _gemini(url: str) -> Told:
    options = gemini.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key="key", http_options=options)
    said, reason, used = "", None, None
    calls: list[tuple[str, str]] = []
    for chunk in client.models.generate_content_stream(model="m", contents="hi"):
        used = chunk.usage_metadata or used
        for candidate in (chunk.candidates or ())[:1]:
            reason = candidate.finish_reason or reason
            for part in (candidate.content.parts if candidate.content else None) or ():
                said += part.text if part.text and not part.thought else ""
                if part.function_call is not None:
                    calls.append((part.function_call.name or "", _sorted(part.function_call.args)))
    read = (used.cached_content_token_count or 0) if used is not None else 0
    tokens = (0, 0, 0)
    if used is not None:
        spent = (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
        tokens = (max(0, (used.prompt_token_count or 0) - read), spent, read)
    return Told(said, tuple(calls), _stop(reason.value if reason is not None else None, calls), tokens)


def _sorted(arguments: Any) -> str:
    import json

    return json.dumps(arguments, sort_keys=True)


SDKS: Final[Mapping[str, Callable[[str], Told]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "google-gemini": _gemini,
}
"""By API: what asks a server at an address, and tells what came of it. It raises what the SDK raises."""
