"""What every file owes the reader: tests say what they test, and nothing names a machine, a registry or its making."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

HOSTS: Final = [("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("deb", "debian", "org")]
FOLDERS: Final = ["work", "tmp", "root"]
TICKETS: Final = ["issue", "bug", "ticket", "pr", "pull request"]
MAKING: Final = [("co", "authored", "by"), ("ai", "generated"), ("claude", "code"), ("this", "workplace")]

NEVER: Final = {
    "a registry's host": "|".join(re.escape(".".join(parts)) for parts in HOSTS),
    "a path of one machine": rf"(?<![\w.])/(?:{'|'.join(FOLDERS)})(?![\w.-])",
    "the number of an issue": rf"\b(?:{'|'.join(TICKETS)})s? #?\d+|\(#\d+\)",
    "how it was made": "|".join(rf"\b{'[- ]'.join(parts)}\b" for parts in MAKING),
}
"""What no file may name, as patterns. They are put together here, so that this file does not name it either."""


def blemishes(text: str) -> list[tuple[int, str]]:
    """Return line number and kind of everything in a text that no file may name."""
    return [
        (number, what)
        for number, line in enumerate(text.splitlines(), 1)
        for what, pattern in NEVER.items()
        if re.search(pattern, line, re.IGNORECASE)
    ]


def undescribed(source: str) -> list[tuple[int, str]]:
    """Return line number and name of each test function without a docstring."""
    return [
        (node.lineno, node.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test") and not ast.get_docstring(node)
    ]


def committed() -> list[Path]:
    """Return the files that are committed or would be; outside a git checkout, those that are not ignored."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        found = [ROOT / name for name in listed.split("\0") if name]
    else:
        ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines())]
        found = [path for path in ROOT.rglob("*") if not _matches(path.relative_to(ROOT), ignored)]
    return sorted(path for path in found if path.is_file())


def _matches(path: Path, patterns: list[str]) -> bool:
    return any(fnmatch(part, pattern) for part in path.parts for pattern in patterns)


class TestDetectors:
    """The detectors themselves: an empty list means something only if they find what is planted."""

    @pytest.mark.parametrize(
        ("pieces", "what"),
        [
            (("see https://", "files.", "pythonhosted", ".org/x"), "a registry's host"),
            (("cd ", "/", "tmp"), "a path of one machine"),
            (('open("', "/", "work", '/a")'), "a path of one machine"),
            (("fixes iss", "ue ", "12"), "the number of an issue"),
            (("mended (", "#", "7)"), "the number of an issue"),
            (("Co-", "Authored-", "By: x"), "how it was made"),
        ],
    )
    def test_finds_what_is_planted(self, pieces: tuple[str, ...], what: str) -> None:
        """Each kind of forbidden name is found, with its line."""
        assert blemishes("fine\n" + "".join(pieces)) == [(2, what)]

    @pytest.mark.parametrize("text", ["src/tmp/x", "./work", "/workshop", "fill: #123", "the issue is 3 rows", "a.tmp"])
    def test_leaves_the_rest_alone(self, text: str) -> None:
        """What only looks similar passes."""
        assert blemishes(text) == []

    def test_finds_a_test_without_docstring(self) -> None:
        """A test that does not say what it tests is found, in a class too; helpers need not say."""
        source = "def help(): pass\nclass TestA:\n    async def test_b(self): pass\n    def test_c(self): 'Says.'\n"

        assert undescribed(source) == [(3, "test_b")]


class TestFiles:
    """The rules, held against the files."""

    @pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
    def test_the_front_door_is_there(self, name: str) -> None:
        """A newcomer finds the files that are looked for first."""
        assert (ROOT / name).read_text(encoding="utf-8").strip()

    def test_every_test_says_what_it_tests(self) -> None:
        """Every test function has a docstring."""
        files = sorted((ROOT / "tests").rglob("test_*.py"))
        found = [
            f"{path.relative_to(ROOT)}:{line}: {name} has no docstring"
            for path in files
            for line, name in undescribed(path.read_text(encoding="utf-8"))
        ]

        assert files
        assert found == []

    def test_no_file_names_what_none_may(self) -> None:
        """No committed file names a registry, a path of one machine, an issue or how it was made."""
        files = committed()
        found = [
            f"{path.relative_to(ROOT)}:{line}: names {what}"
            for path in files
            for line, what in blemishes(path.read_text(encoding="utf-8", errors="replace"))
        ]

        assert files
        assert found == []
