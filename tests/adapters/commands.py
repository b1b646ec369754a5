"""Runs the command, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pytest

from turnwheel_adapters.cli.main import main


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    out: str
    err: str


class Command:
    """The command in this process, in a directory of its own."""

    def __init__(self, folder: Path, streams: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._streams = streams

    def __call__(self, *arguments: str) -> Ended:
        """Run it with these arguments."""
        with chdir(self.folder):
            status = main(arguments)
        return Ended(status, *self._streams.readouterr())

    def write(self, name: str, text: str) -> str:
        """Write a file, and return its name."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


def process(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own; its streams are pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "turnwheel_adapters.cli.main", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
