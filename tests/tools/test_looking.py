"""The tools find, ls and grep, on real files; grep with ripgrep and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tools.calling import call, text
from turnwheel_tools import ToolError
from turnwheel_tools.find import find_tool, ls_tool
from turnwheel_tools.grep import MAX_LINE, grep_tool


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with a bit of everything."""
    files = {
        "README.md": "hello\nworld\n",
        ".gitignore": "*.log\n/build/\n!keep.log\n",
        "keep.log": "hello\n",
        "a.log": "hello\n",
        "build/out.txt": "hello\n",
        ".git/config": "hello\n",
        "src/app.py": "def main():\n    say('Hello')\n\n\ndef other():\n    return main()\n",
        "src/deep/app_test.py": "from app import main\n",
        "src/deep/.gitignore": "*.tmp\n!inner.log\n",
        "src/deep/inner.log": "inner\n",
        "src/deep/x.tmp": "hello\n",
        "src/größe.txt": "Grüße\r\nhello there\r\n",
        ".hidden": "hello\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content.encode())
    (tmp_path / "data.bin").write_bytes(b"\0hello\0")
    return tmp_path


def lines(folder_tool: object, **arguments: object) -> list[str]:
    return text(call(folder_tool, **arguments)).splitlines()  # type: ignore[arg-type]


class TestFind:
    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("*.py", ["src/app.py", "src/deep/app_test.py"]),
            ("src/*.py", ["src/app.py"]),
            ("src/**/*.py", ["src/app.py", "src/deep/app_test.py"]),
            ("deep", ["src/deep/"]),
            ("*.log", ["keep.log", "src/deep/inner.log"]),
            ("*.tmp", ["(no file that matches)"]),
            (".*", [".gitignore", ".hidden", "src/deep/.gitignore"]),
            ("größe*", ["src/größe.txt"]),
        ],
    )
    def test_globs(self, tree: Path, pattern: str, found: list[str]) -> None:
        """A glob finds names anywhere, with a slash paths; what .gitignore leaves out is left out."""
        assert lines(find_tool(tree), pattern=pattern) == found

    def test_in_a_folder(self, tree: Path) -> None:
        """Within a folder the glob is of that folder, and paths are of the root."""
        assert lines(find_tool(tree), pattern="*.py", path="src/deep") == ["src/deep/app_test.py"]

    def test_a_limit(self, tree: Path) -> None:
        """Where there are more, that is said."""
        told = lines(find_tool(tree), pattern="*.py", limit=1)

        assert told[0] == "src/app.py"
        assert "there are more" in told[-1]

    def test_a_folder_that_is_none(self, tree: Path) -> None:
        """A folder that is not there, or is a file, is told of."""
        with pytest.raises(ToolError, match=r"scr does not exist\. Similar: src"):
            call(find_tool(tree), pattern="*", path="scr")
        with pytest.raises(ToolError, match="is a file"):
            call(find_tool(tree), pattern="*", path="README.md")
        with pytest.raises(ToolError, match="outside"):
            call(find_tool(tree), pattern="*", path="..")


class TestLs:
    def test_a_folder(self, tree: Path) -> None:
        """All is listed, hidden or not, in order of names, folders with a slash."""
        assert lines(ls_tool(tree), path="src") == ["app.py", "deep/", "größe.txt"]
        assert ".git/" in lines(ls_tool(tree))

    def test_an_empty_one(self, tree: Path) -> None:
        """An empty folder is said to be empty."""
        (tree / "empty").mkdir()

        assert lines(ls_tool(tree), path="empty") == ["(no entry)"]

    def test_a_limit(self, tree: Path) -> None:
        """Where there are more, that is said."""
        assert "The first 2 are told; there are more." in text(call(ls_tool(tree), limit=2))


@pytest.fixture(params=["python", "ripgrep"])
def program(request: pytest.FixtureRequest) -> str | None:
    """Return how grep searches."""
    if request.param == "python":
        return None
    if shutil.which("rg") is None:
        pytest.skip("ripgrep is not there: install it to search with it")
    return "rg"


class TestGrep:
    def test_matches(self, tree: Path, program: str | None) -> None:
        """Each match is told with path and line, in order; ignored, binary and git's own files are not searched."""
        assert lines(grep_tool(tree, ripgrep=program), pattern="hello") == [
            ".hidden:1: hello",
            "README.md:1: hello",
            "keep.log:1: hello",
            "src/größe.txt:2: hello there",
        ]

    @pytest.mark.parametrize(
        ("options", "found"),
        [
            ({"pattern": "hello", "ignoreCase": True, "path": "src/app.py"}, ["src/app.py:2:     say('Hello')"]),
            ({"pattern": "main()", "literal": True}, ["src/app.py:1: def main():", "src/app.py:6:     return main()"]),
            ({"pattern": "^def \\w+", "glob": "*.py"}, ["src/app.py:1: def main():", "src/app.py:5: def other():"]),
            ({"pattern": "main", "path": "src/deep"}, ["src/deep/app_test.py:1: from app import main"]),
            ({"pattern": "zzz"}, ["(no match)"]),
            ({"pattern": "Grüße"}, ["src/größe.txt:1: Grüße"]),
            (
                {"pattern": "say", "context": 1},
                ["src/app.py-1- def main():", "src/app.py:2:     say('Hello')", "src/app.py-3- "],
            ),
        ],
    )
    def test_options(self, tree: Path, program: str | None, options: dict[str, object], found: list[str]) -> None:
        """Each option does what it says, in the same way whichever program searches."""
        assert lines(grep_tool(tree, ripgrep=program), **options) == found

    def test_a_limit(self, tree: Path, program: str | None) -> None:
        """Where there are more matches, that is said."""
        told = text(call(grep_tool(tree, ripgrep=program), pattern="hello", limit=2))

        assert told.count(": hello") == 2
        assert "The first 2 matches are told; there are more." in told

    def test_a_long_line(self, tree: Path, program: str | None) -> None:
        """A long line is cut, and that is said."""
        (tree / "long.txt").write_text("needle" + "x" * 10_000)
        told = text(call(grep_tool(tree, ripgrep=program), pattern="needle"))

        assert len(told) < MAX_LINE + 200
        assert f"the first {MAX_LINE} characters" in told

    def test_a_bad_pattern(self, tree: Path, program: str | None) -> None:
        """What is no regular expression is told of."""
        with pytest.raises(ToolError, match=r"unclosed|unterminated"):
            call(grep_tool(tree, ripgrep=program), pattern="(unclosed")
