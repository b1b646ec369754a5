"""The API google-gemini."""

from __future__ import annotations

from typing import Final

from turnwheel_adapters.apis.api import Api
from turnwheel_adapters.apis.gemini.request import body, path
from turnwheel_adapters.apis.gemini.stream import GeminiDecoder

API: Final = Api("google-gemini", path, body, GeminiDecoder, closes=True)
