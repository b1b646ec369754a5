"""Plays scenarios on the published packages of Pi, where node and these are installed."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from turnwheel.messages import Json

NODE: Final = Path(__file__).parent / "node"
PI_VERSIONS: Final = ("pi-0.80.2", "pi-0.85.1", "pi-1.6.0")
"""The versions that scenarios can be played on."""
PATIENCE: Final = 5
"""After so many seconds a process that should have ended is killed."""


def installed(version: str) -> bool:
    """Say whether scenarios can be played on this version ("pi-0.85.1")."""
    return not why_missing(version)


def why_missing(version: str) -> str:
    """Say in a line what is missing to play scenarios on this version, and how to get it; "" if nothing is."""
    if shutil.which("node") is None:
        return "node is not installed: real Pi needs it, and then `make pi`"
    packages = NODE / version / "node_modules" / "@earendil-works"
    if not all((packages / name / "package.json").exists() for name in ("pi-agent-core", "pi-ai")):
        return f"real {version} is not installed: run `make pi`"
    return ""


class RealPi:
    """A process that plays scenarios on one version of Pi, from `with` on or until `close`."""

    def __init__(self, version: str) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self._process = subprocess.Popen(
            ["node", "scenario_runner.mjs", version, "--serve"],
            cwd=NODE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )

    def play(self, scenario: Json) -> list[Json]:
        """Return the trace; one line, `scenarioError`, where `scenario` is none or its run never ends.

        Raises RuntimeError with what node said on stderr if it is no longer there.
        """
        return self.play_text(json.dumps(scenario))

    def play_text(self, line: str) -> list[Json]:
        """Do as `play` does, for a scenario that is one line of JSON text."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(line.encode() + b"\n")
            stdin.flush()
            answer = stdout.readline()
        except (OSError, ValueError) as error:
            raise self._died() from error
        if not answer.endswith(b"\n"):
            raise self._died()
        trace: list[Json] = json.loads(answer)
        return trace

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        self._wait()
        self._stderr.close()

    def _wait(self) -> int:
        """Return the process's exit status, killing it if it goes on."""
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _died(self) -> RuntimeError:
        if self._stderr.closed:
            return RuntimeError("real Pi is closed")
        status = self._wait()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip()
        return RuntimeError(f"real Pi ended with status {status}: {said}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
