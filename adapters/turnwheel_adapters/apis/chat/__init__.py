"""The API openai-chat, and what imitates it."""

from __future__ import annotations

from typing import Final

from turnwheel_adapters.apis.api import Api
from turnwheel_adapters.apis.chat.request import body, path
from turnwheel_adapters.apis.chat.stream import ChatDecoder

API: Final = Api("openai-chat", path, body, ChatDecoder)
