"""A whole story on real files: read, edit, test, fail, edit again, pass, with a word of the user's in between."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from tests.engine.agents import within
from turnwheel.agent import Agent
from turnwheel.events import Event, ToolExecutionEnd
from turnwheel.messages import ToolResultMessage, UserMessage
from turnwheel.recording import Recorder, read_recording
from turnwheel.table import dialect
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel_adapters.cli.sequence_tree import sequence
from turnwheel_adapters.cli.tree import drawn
from turnwheel_tools.policies import allow_paths
from turnwheel_tools.workspace import coding_tools

PAGE = """def login(user, password):
    if password == "":
        return "welcome"
    return "welcome"
"""
TEST = """from login import login

assert login("ann", "") == "no password", login("ann", "")
assert login("ann", "secret") == "welcome"
print("all passed")
"""
WORD = "only touch the login page"


def call(number: int, name: str, **arguments: Any) -> ScriptedAnswer:
    return ScriptedAnswer(tool_calls=[ScriptedCall(f"c{number}", name, arguments)])


def edit(number: int, path: str, old: str, new: str) -> ScriptedAnswer:
    return call(number, "edit", path=path, edits=[{"oldText": old, "newText": new}])


RUN = f"{sys.executable} -B test_login.py"
SCRIPT = [
    call(1, "read", path="login.py"),
    edit(
        2, "login.py", 'if password == "":\n        return "welcome"', 'if not password:\n        return "no passwort"'
    ),
    call(3, "bash", command=RUN),
    edit(4, "test_login.py", "no password", "no passwort"),
    edit(5, "login.py", "no passwort", "no password"),
    call(6, "bash", command=RUN),
    ScriptedAnswer(text="The login page refuses an empty password now."),
]


@within(30)
async def test_the_login_page(tmp_path: Path) -> None:
    """The recorded run shows the failing test, the user's word before the next call, the refused edit, and the pass."""
    (tmp_path / "login.py").write_text(PAGE)
    (tmp_path / "test_login.py").write_text(TEST)
    lines: list[str] = []
    recorder = Recorder(lines.append)
    agent = Agent(
        ScriptedModel(SCRIPT),
        tools=coding_tools(tmp_path),
        before_tool_call=allow_paths(tmp_path, "login.py"),
        on_decision=recorder.decided,
        on_step=recorder.step,
    )

    def listen(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and event.tool_call_id == "c3":
            agent.steer(WORD)

    agent.subscribe(listen)
    recorder.header(dialect="pi-0.85.1", hooks=["steering", "follow_up", "before_tool_call"])
    answer = await agent.prompt("refuse an empty password")
    recorder.ended(agent.failure)

    results = {m.tool_call_id: m for m in agent.state.messages if isinstance(m, ToolResultMessage)}
    said = [m.role for m in agent.state.messages]
    words = [m for m in agent.state.messages if isinstance(m, UserMessage)]
    assert answer is not None
    assert answer.text == "The login page refuses an empty password now."
    assert [id_ for id_, result in results.items() if result.is_error] == ["c3", "c4"]
    assert "AssertionError: no passwort" in str(results["c3"].content)
    assert "only login.py may" in str(results["c4"].content)
    assert "all passed" in str(results["c6"].content)
    assert (tmp_path / "test_login.py").read_text() == TEST
    assert said.index("toolResult") < said.index("user", 1)
    assert WORD in str(words[1].content)

    out = io.StringIO()
    for line in drawn(sequence(read_recording(lines), dialect("pi-0.85.1"), "run")):
        print(line, file=out)
    told = out.getvalue()
    assert told.index("error: Traceback") < told.index(f"steering: {WORD}") < told.index("all passed")
    assert told.rstrip().endswith("stopped: Nothing is left to do.")
