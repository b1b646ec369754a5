"""Policies: which calls may run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.agents import both
from turnwheel.agent import Agent
from turnwheel.effects import BeforeToolCall
from turnwheel.messages import AssistantMessage, ToolCall, ToolResultMessage
from turnwheel.outcomes import BeforeResult
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel.tool import Context
from turnwheel_tools.policies import Policy, allow_paths, ask, deny_commands, every, read_only
from turnwheel_tools.traits import is_read_only, replay_of
from turnwheel_tools.workspace import NAMES, READ_ONLY, coding_tools


def judged(policy: Policy, folder: Path, name: str, **arguments: Any) -> str | None:
    """Return the reason for which a call is refused, None where it may run."""
    (tool,) = coding_tools(folder, [name])
    call = ToolCall("c", name, arguments)
    effect = BeforeToolCall(1, call, tool, arguments, AssistantMessage(), Context())

    async def run() -> BeforeResult | None:
        said = policy(effect)
        return said if said is None or isinstance(said, BeforeResult) else await said

    answer = anyio.run(run)
    return answer.reason if answer is not None and answer.block else None


class TestTraits:
    def test_of_the_coding_tools(self, tmp_path: Path) -> None:
        """Each coding tool says whether it changes anything, and whether it may run twice."""
        tools = coding_tools(tmp_path)

        assert [tool.name for tool in tools if is_read_only(tool)] == list(READ_ONLY)
        assert {tool.name for tool in tools if replay_of(tool) == "never"} == {"edit", "bash"}

    def test_by_name(self, tmp_path: Path) -> None:
        """Tools are made by name, each once; a name that there is not is told with those that there are."""
        assert [tool.name for tool in coding_tools(tmp_path, ["ls", "read", "ls"])] == ["ls", "read"]
        with pytest.raises(ValueError, match=f"there is no tool 'x'; choose from {', '.join(NAMES)}"):
            coding_tools(tmp_path, ["x"])


class TestPolicies:
    def test_read_only(self, tmp_path: Path) -> None:
        """Only tools that change nothing may run."""
        assert judged(read_only, tmp_path, "read", path="a") is None
        assert "write may change something" in (judged(read_only, tmp_path, "write", path="a") or "")

    @pytest.mark.parametrize("says", [True, False])
    def test_ask(self, tmp_path: Path, says: bool) -> None:
        """Somebody is asked about what may change something, by a plain or a coroutine function."""
        asked: list[str] = []

        async def slowly(call: BeforeToolCall) -> bool:
            asked.append(call.tool.name)
            return says

        for policy in (ask(lambda call: says), ask(slowly)):
            assert (judged(policy, tmp_path, "bash", command="ls") is None) is says
            assert judged(policy, tmp_path, "ls") is None
        assert asked == ["bash"]

    def test_nobody_to_ask(self, tmp_path: Path) -> None:
        """Without a terminal what would be asked about is refused."""
        assert "does not want bash" in (judged(ask(), tmp_path, "bash", command="ls") or "")

    def test_deny_commands(self, tmp_path: Path) -> None:
        """A command in which a pattern is found is refused."""
        policy = deny_commands(r"\brm\b", "sudo")

        assert "not allowed" in (judged(policy, tmp_path, "bash", command="ls; rm -rf x") or "")
        assert judged(policy, tmp_path, "bash", command="make warm") is None

    @pytest.mark.parametrize(
        ("path", "allowed"),
        [("src/login.py", True), ("src/other.py", False), ("../src/login.py", False), ("src/../src/login.py", True)],
    )
    def test_allow_paths(self, tmp_path: Path, path: str, allowed: bool) -> None:
        """Only files that match may be changed, however they are named; reading is free."""
        policy = allow_paths(tmp_path, "src/login*")

        assert (judged(policy, tmp_path, "edit", path=path) is None) is allowed
        assert judged(policy, tmp_path, "read", path=path) is None

    def test_every(self, tmp_path: Path) -> None:
        """Of several policies each must agree."""
        policy = every(allow_paths(tmp_path, "*.py"), ask(lambda call: call.tool.name != "bash"))

        assert judged(policy, tmp_path, "write", path="a.py") is None
        assert judged(policy, tmp_path, "write", path="a.txt") is not None
        assert judged(policy, tmp_path, "bash", command="ls") is not None

    @both
    async def test_the_model_is_told(self, tmp_path: Path) -> None:
        """In an agent the reason is what the model reads, and nothing is written."""
        call = ScriptedCall("c", "write", {"path": "a.txt", "content": "x"})
        model = ScriptedModel([ScriptedAnswer(tool_calls=[call]), ScriptedAnswer(text="ok")])
        agent = Agent(model, tools=coding_tools(tmp_path), before_tool_call=read_only)
        await agent.prompt("write")

        (result,) = [message for message in agent.state.messages if isinstance(message, ToolResultMessage)]
        assert result.is_error
        assert "Not allowed" in str(result.content)
        assert not (tmp_path / "a.txt").exists()
