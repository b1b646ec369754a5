"""The API openai-responses."""

from __future__ import annotations

from typing import Final

from turnwheel_adapters.apis.api import Api
from turnwheel_adapters.apis.responses.request import body, path
from turnwheel_adapters.apis.responses.stream import ResponsesDecoder

API: Final = Api("openai-responses", path, body, ResponsesDecoder)
