"""The providers as data, and how more of them are read from a file."""

from __future__ import annotations

import pytest

from turnwheel.errors import ParseError
from turnwheel_adapters.apis.api import Settings
from turnwheel_adapters.models.providers import PROVIDERS, read_providers
from turnwheel_adapters.models.routing import api_of

MINE = """
[mine]
api = "openai-chat"
base_url = "https://llm.example/v1/"
keys = "MY_KEY"
text_only = ["small-*"]
[mine.compat]
max_tokens = "max_tokens"
"""


class TestBuiltIn:
    @pytest.mark.parametrize("name", PROVIDERS)
    def test_each_is_whole(self, name: str) -> None:
        """Each has a codec, an address that can be asked for, and says where its key comes from if it needs one."""
        provider = PROVIDERS[name]

        assert api_of(provider.api).name == provider.api
        assert provider.base_url is not None or provider.base_url_from is not None
        assert provider.base_url is None or provider.base_url.startswith(("https://", "http://localhost:"))
        assert provider.keys

    def test_those_that_must_be_there(self) -> None:
        """The names that users were promised."""
        promised = "anthropic openai openai-chat google azure openrouter groq mistral deepseek xai together fireworks"
        local = "cerebras moonshot ollama lmstudio vllm llamacpp"

        assert {*promised.split(), *local.split()} <= set(PROVIDERS)

    def test_a_text_only_model(self) -> None:
        """A model that takes no images is known by its name."""
        provider = PROVIDERS["deepseek"]

        assert not provider.target("deepseek", "deepseek-chat", None, Settings()).images
        assert PROVIDERS["openai"].target("openai", "gpt-5", None, Settings()).images


class TestFile:
    def test_one(self) -> None:
        """A table is a provider; what it leaves out is as it is for the API's own server."""
        provider = read_providers(MINE)["mine"]
        target = provider.target("mine", "small-1", None, Settings())

        assert (target.base_url, target.images, [*provider.keys]) == ("https://llm.example/v1", False, ["MY_KEY"])
        assert (target.compat.max_tokens, target.compat.takes_store) == ("max_tokens", True)

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("mine", "this is not TOML"),
            ("mine = 1", "mine: expected a table"),
            ('[mine]\napi = "openai"', "expected one of anthropic-messages, openai-chat"),
            ('[mine]\nbase_url = "x"', "api is missing"),
            ('[mine]\napi = "openai-chat"\nbase_url = 3', "got 3"),
            ('[mine]\napi = "openai-chat"\nurl = "x"', "mine: there is no 'url'; there are title, api, base_url"),
            ('[mine]\napi = "openai-chat"\n[mine.compat]\nstore = true', "mine.compat: there is no 'store'"),
            ('[mine]\napi = "openai-chat"\n[mine.compat]\ntakes_store = "no"', "got 'no'"),
        ],
    )
    def test_what_does_not_fit(self, text: str, complaint: str) -> None:
        """The error names the file, the entry and what was expected."""
        with pytest.raises(ParseError, match=r"^p\.toml") as caught:
            read_providers(text, "p.toml")
        assert complaint in str(caught.value)
