"""An agent with the coding tools, in a folder of its own, under a policy.

The script stands for a model: it reads a file, changes it, runs it, and tries to change another one, which the policy
refuses. What a refused or failed call says, the model reads, and goes on.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from turnwheel import TextContent
from turnwheel.agent import Agent
from turnwheel.events import Event, ToolExecutionEnd, ToolExecutionStart
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel_tools import coding_tools
from turnwheel_tools.policies import allow_paths, deny_commands, every


def call(number: int, name: str, **arguments: Any) -> ScriptedAnswer:
    """Return an answer that calls a tool."""
    return ScriptedAnswer(tool_calls=[ScriptedCall(f"c{number}", name, arguments)])


SCRIPT = [
    call(1, "read", path="greet.py"),
    call(2, "edit", path="greet.py", edits=[{"oldText": "Hello", "newText": "Good morning"}]),
    call(3, "bash", command=f"{sys.executable} greet.py"),
    call(4, "write", path="README.md", content="It says good morning now.\n"),
    ScriptedAnswer(text="The greeting is changed; README.md may not be touched."),
]


def show(event: Event) -> None:
    """Print each call, and the first line of what came of it."""
    if isinstance(event, ToolExecutionStart):
        print(f"{event.tool_name:6}", end="")
    elif isinstance(event, ToolExecutionEnd):
        blocks = event.result.content if isinstance(event.result.content, tuple) else ()
        text = "".join(block.text for block in blocks if isinstance(block, TextContent))
        print("error:" if event.is_error else "ok:", text.splitlines()[0])


with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "greet.py").write_text('print("Hello, world")\n', encoding="utf-8")
    agent = Agent(
        ScriptedModel(SCRIPT),
        tools=coding_tools(folder),
        before_tool_call=every(allow_paths(folder, "*.py"), deny_commands(r"\brm\b", r"\bsudo\b")),
    )
    agent.subscribe(show)
    answer = agent.run_sync("let it say good morning")
    print(answer.text if answer is not None else "no answer")
