"""What users write with turnwheel passes their type checkers, too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER_CODE = "tests/typing/user_code.py"
INSTALLED = ROOT / "tests/typing/node_modules/.bin/pyright"


def complaints(*command: str) -> str:
    """Return what a command says where it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    return "" if done.returncode == 0 else done.stdout + done.stderr


class TestUserCode:
    """A file of user code."""

    def test_passes_mypy(self) -> None:
        """The strict form of mypy has nothing to say."""
        assert not complaints(sys.executable, "-m", "mypy", "--strict", USER_CODE)

    def test_passes_pyright(self) -> None:
        """Pyright has nothing to say either."""
        pyright = str(INSTALLED) if INSTALLED.exists() else shutil.which("pyright")
        if pyright is None:
            pytest.skip("pyright is not installed: run `make pi`")

        assert not complaints(pyright, "--pythonpath", sys.executable, USER_CODE)
