"""The Agent, held against the Agent of real Pi on scripted stories; the format is in STORIES.md."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from tests.conformance.agent_player import play

HERE: Final = Path(__file__).parent
NODE: Final = HERE / "node"
DIALECTS: Final = ("pi-0.80.2", "pi-0.85.1")
STORIES: Final = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((HERE / "stories").glob("*.json"))}
PLAYED: Final = [
    (dialect, name)
    for dialect in DIALECTS
    for name, story in STORIES.items()
    if dialect in story.get("dialects", DIALECTS)
]


def golden(dialect: str, name: str) -> list[Any]:
    """Return the trace that real Pi gave."""
    text = (HERE / "stories" / "golden" / dialect / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


class TestAgent:
    """turnwheel's Agent against what Pi's did."""

    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    @pytest.mark.parametrize(("dialect", "name"), PLAYED)
    def test_does_what_pi_does(self, dialect: str, name: str, backend: str) -> None:
        """Every listener sees the same events and the same state, and every action has the same result."""
        trace = anyio.run(play, STORIES[name], dialect, backend=backend)

        assert trace == golden(dialect, name)


class TestGolden:
    """What is checked in against real Pi, where that is installed."""

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_is_what_pi_does_now(self, dialect: str) -> None:
        """Playing all stories on the Agent of Pi gives the traces that are checked in."""
        names = [name for played, name in PLAYED if played == dialect]
        traces = {name: golden(dialect, name) for name in names}
        if shutil.which("node") is None or not (NODE / dialect / "node_modules").exists():
            pytest.skip(f"real {dialect} is not installed: run `make pi`")
        files = [str(HERE / "stories" / f"{name}.json") for name in names]
        command = ["node", "agent_story.mjs", dialect, *files]

        said = subprocess.run(command, cwd=NODE, check=True, capture_output=True, text=True).stdout

        assert dict(zip(names, map(json.loads, said.splitlines()), strict=True)) == traces
