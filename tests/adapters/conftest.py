"""The command, ready to be run in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.commands import Command


@pytest.fixture
def turnwheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command."""
    return Command(tmp_path, capsys)
