"""The Agent in the dialect 1.6.0: its transcript leads with prompt and tools, and it hands on other hooks."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.engine.agents import Model, agent_of, both, roles, words_of, work
from tests.engine.by_hand import LATEST
from turnwheel.agent import Agent
from turnwheel.loadout import declared
from turnwheel.messages import CustomMessage, user
from turnwheel.outcomes import NextRequest
from turnwheel.tool import Tool


def latest(*answers: Any, **setup: Any) -> Agent:
    """Return an agent of 1.6.0 with a prompt and the tool `work`."""
    return agent_of(*answers, dialect=LATEST, system_prompt="Be brief.", **setup)


def contents(agent: Agent) -> list[Any]:
    """Return what the system messages of the transcript say."""
    return [message.content for message in agent.state.messages if isinstance(message, CustomMessage)]


class TestTranscript:
    """The leading system message."""

    def test_is_there_from_the_start(self) -> None:
        """A new agent has one, with prompt and tools."""
        agent = latest()

        assert contents(agent) == ["Be brief."]
        assert [*declared(agent.state.messages)] == ["work"]

    def test_not_in_earlier_dialects(self) -> None:
        """In 0.85.1 a new agent has no message."""
        assert roles(agent_of(system_prompt="Be brief.").state.messages) == []

    def test_is_put_in_front(self) -> None:
        """Messages that the agent is given stand behind it."""
        assert roles(latest(messages=[user("old")]).state.messages) == ["system", "user"]

    def test_one_is_enough(self) -> None:
        """A transcript that leads with one already is taken as it is."""
        assert contents(latest(messages=[CustomMessage("system", "mine"), user("old")])) == ["mine"]

    @both
    async def test_stays_in_front(self) -> None:
        """Runs add behind it, and tell nothing of it."""
        agent = latest("hi", "well")
        heard = words_of(agent)
        await agent.prompt("go")
        await agent.prompt("and?")

        assert roles(agent.state.messages) == ["system", "user", "assistant", "user", "assistant"]
        assert "start system" not in heard

    @both
    async def test_reset_keeps_one(self) -> None:
        """A reset forgets all but prompt and tools."""
        agent = latest("hi")
        await agent.prompt("go")
        agent.reset()

        assert contents(agent) == ["Be brief."]
        assert roles(agent.state.messages) == ["system"]

    @pytest.mark.parametrize("messages", [[], [CustomMessage("system", "a"), CustomMessage("system", "b")]])
    @both
    async def test_is_nothing_to_go_on_from(self, messages: Any) -> None:
        """A transcript of system messages only cannot be continued."""
        with pytest.raises(ValueError, match="No messages to continue from"):
            await latest("hi", messages=messages).continue_()

    @both
    async def test_another_prompt(self) -> None:
        """A prompt that is set between two runs leads the next one, in place of the old one."""
        agent = latest("hi", "well")
        await agent.prompt("go")
        agent.state.system_prompt = "Be long."
        await agent.prompt("and?")

        assert contents(agent) == ["Be long."]
        assert roles(agent.state.messages) == ["system", "user", "assistant", "user", "assistant"]

    @both
    async def test_other_tools(self) -> None:
        """Tools that are set between two runs are announced by the next one."""
        agent = latest("hi", "well")
        await agent.prompt("go")
        agent.state.tools = [*agent.state.tools, Tool("more")]
        heard = words_of(agent)
        await agent.prompt("and?")

        assert heard[2:6] == ["start system", "end system", "start user", "end user"]
        assert [*declared(agent.state.messages)] == ["work", "more"]
        assert contents(agent) == ["Be brief.", ""]

    @both
    async def test_what_the_model_gets(self) -> None:
        """The request has the system message among its messages, and no prompt beside them."""
        model = Model("hi")
        agent = Agent(model, dialect=LATEST, system_prompt="Be brief.", tools=[work(lambda arguments: "ok")])
        await agent.prompt("go")

        assert (model.requests[0].system_prompt, roles(model.requests[0].messages)) == ("", ["system", "user"])


class TestHooks:
    """The hooks that this Agent hands on."""

    @both
    async def test_finishing(self) -> None:
        """The finish hook is handed on: asked for one more turn, there is one."""
        wishes: Any = iter(["continue", None])
        agent = latest("hi", "well", finish_turn=lambda turn: next(wishes))
        await agent.prompt("go")

        assert roles(agent.state.messages) == ["system", "user", "assistant", "assistant"]

    @both
    async def test_preparing_a_request(self) -> None:
        """The hook of requests is handed on, and its changes do not change the agent's settings."""
        model = Model("hi")
        agent = Agent(model, dialect=LATEST, prepare_request=lambda asked: NextRequest(model="m1"))
        await agent.prompt("go")

        assert (model.requests[0].model, agent.state.model) == ("m1", "m0")

    @pytest.mark.parametrize(("dialect", "hook"), [(LATEST, "should_stop"), ("pi-0.85.1", "finish_turn")])
    def test_one_that_it_does_not_have(self, dialect: str, hook: str) -> None:
        """A hook of another dialect is refused when the agent is made, with those that there are."""
        instead = "finish_turn" if dialect == LATEST else "should_stop"
        hooks: dict[str, Any] = {hook: lambda turn: None}

        with pytest.raises(ValueError, match=f"{re.escape(dialect)} does not hand on {hook}; it has .*{instead}"):
            agent_of("hi", dialect=dialect, **hooks)
