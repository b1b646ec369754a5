"""Models by name: who is asked, at which address, with which key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.models.server import Answer, Request, serving
from tests.engine.agents import both
from turnwheel.agent import Agent
from turnwheel.messages import user
from turnwheel.outcomes import NextTurn
from turnwheel.tool import Tool
from turnwheel_adapters.models import open_model
from turnwheel_adapters.models.providers import Provider
from turnwheel_adapters.models.routing import ProviderModels, Setup

CHAT = (
    b'data: {"choices":[{"delta":{"content":"from %s"}}]}\n\n'
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
CALL = (
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"look","arguments":"{}"}}]}'
    b"}]}\n\n"
    b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)


def setup_at(url: str, **environ: str) -> Setup:
    """Return a setup with two providers at a server, `one` and `two`, and only these variables."""
    providers = {
        name: Provider(name, "openai-chat", f"{url}/{name}", (f"{name.upper()}_KEY",)) for name in ("one", "two")
    }
    return Setup(providers=providers, environ=environ)


def by_path(request: Request) -> Answer:
    """Answer with the name of the provider that was asked."""
    return Answer(CHAT % request.path.split("/")[1].encode())


class TestKeys:
    @both
    async def test_from_the_environment(self) -> None:
        """The provider's variable holds the key, which goes in its header."""
        with serving(by_path) as server:
            agent = Agent(ProviderModels("one/m", setup_at(server.url, ONE_KEY="k1")), model="one/m")
            answer = await agent.prompt("hello")

        assert answer is not None
        assert (answer.text, answer.provider, answer.model) == ("from one", "one", "m")
        assert server.requests[0].headers["authorization"] == "Bearer k1"
        assert server.requests[0].path == "/one/chat/completions"

    @both
    async def test_a_callable_is_asked_each_time(self) -> None:
        """A key that expires is asked for anew for each request."""
        keys = iter(["first", "second"])

        async def key() -> str:
            return next(keys)

        with serving(by_path) as server:
            setup = setup_at(server.url)
            model = ProviderModels("one/m", Setup(key=key, providers=setup.providers, environ={}))
            for _ in range(2):
                await Agent(model, model="one/m").prompt("hello")

        assert [r.headers["authorization"] for r in server.requests] == ["Bearer first", "Bearer second"]

    def test_none_is_set(self) -> None:
        """Without a key the model is not opened, and the error names the variable."""
        with pytest.raises(ValueError, match="there is no key for one: set ONE_KEY"):
            ProviderModels("one/m", setup_at("http://127.0.0.1:9"))

    def test_a_server_of_ones_own(self) -> None:
        """With an address of one's own no key is needed."""
        ProviderModels("openai-chat/m", Setup(base_url="http://127.0.0.1:9/v1", environ={}))

    def test_a_key_is_never_shown(self) -> None:
        """Neither the setup nor the model shows the key or the environment."""
        setup = Setup(key="sk-secret-123", environ={"OPENAI_API_KEY": "sk-secret-456"})

        assert "sk-secret" not in repr(setup) + repr(ProviderModels("openai/m", setup))


class TestNames:
    @pytest.mark.parametrize(
        ("name", "complaint"),
        [
            ("nobody/m", "there is no model 'nobody/m'"),
            ("openai", "which model of openai"),
            ("azure/m", "azure has no address of its own: give --base-url or set AZURE_OPENAI_BASE_URL"),
        ],
    )
    def test_what_cannot_be_opened(self, name: str, complaint: str) -> None:
        """The error says what is missing."""
        with pytest.raises(ValueError, match=complaint):
            open_model(name, Setup(key="k", environ={}))

    def test_an_address_that_is_none(self) -> None:
        """An address without http is refused at once."""
        with pytest.raises(ValueError, match="begins with http:// or https://, got 'localhost:8000'"):
            open_model("openai-chat/m", Setup(base_url="localhost:8000", environ={}))

    def test_an_address_from_the_environment(self) -> None:
        """Azure's address is the user's own resource, and may come from its variable."""
        environ = {"AZURE_OPENAI_BASE_URL": "https://mine.example/openai/v1", "AZURE_OPENAI_API_KEY": "k"}

        assert "azure/m" in repr(open_model("azure/m", Setup(environ=environ)))

    @both
    async def test_a_model_with_a_slash(self) -> None:
        """Only the first slash parts provider and model."""
        with serving(by_path) as server:
            model = ProviderModels("one/maker/m:free", setup_at(server.url, ONE_KEY="k"))
            await Agent(model, model="one/maker/m:free").prompt("hello")

        assert server.requests[0].json["model"] == "maker/m:free"


class TestSeveral:
    @both
    async def test_a_hook_changes_the_provider(self) -> None:
        """A hook that names a model of another provider sends the next request there, with that one's key."""

        def next_turn(turn: Any) -> NextTurn:
            return NextTurn(model="two/n")

        def choose(request: Request) -> Answer:
            return Answer(CALL) if len(server.requests) <= 1 else by_path(request)

        with serving(choose) as server:
            agent = Agent(
                ProviderModels("one/m", setup_at(server.url, ONE_KEY="k1", TWO_KEY="k2")),
                model="one/m",
                tools=[Tool("look", run=lambda arguments: "seen")],
                prepare_next_turn=next_turn,
            )
            answer = await agent.prompt("hello")

        assert answer is not None
        assert (answer.text, answer.provider, answer.model) == ("from two", "two", "n")
        assert [r.headers["authorization"] for r in server.requests] == ["Bearer k1", "Bearer k2"]

    @both
    async def test_another_name_goes_to_the_opened_model(self) -> None:
        """An agent that names no provider asks the model that was opened."""
        with serving(by_path) as server:
            await Agent(ProviderModels("one/m", setup_at(server.url, ONE_KEY="k"))).prompt("hello")

        assert server.requests[0].json["model"] == "m"

    @both
    async def test_connections_are_kept(self) -> None:
        """Within `async with` two requests share a connection; without it each has its own."""
        with serving(by_path) as server:
            model = ProviderModels("one/m", setup_at(server.url, ONE_KEY="k"))
            async with model:
                for _ in range(2):
                    await Agent(model, model="one/m", messages=[user("a")]).prompt("hello")
            kept = server.connections
            await Agent(model, model="one/m").prompt("hello")

        assert (kept, server.connections) == (1, 2)
