"""The API anthropic-messages."""

from __future__ import annotations

from typing import Final

from turnwheel_adapters.apis.anthropic.request import body, path
from turnwheel_adapters.apis.anthropic.stream import AnthropicDecoder
from turnwheel_adapters.apis.api import Api

HEADERS: Final = {"anthropic-version": "2023-06-01", "anthropic-beta": "interleaved-thinking-2025-05-14"}
"""The version of the API, and that a model may think between its calls, which the newer ones do anyway."""

API: Final = Api("anthropic-messages", path, body, AnthropicDecoder, HEADERS)
