"""The tools stay inside of their folder, whatever they are told, and whatever is moved meanwhile."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.calling import call, text
from turnwheel_tools import ToolError
from turnwheel_tools.opening import open_inside, replace_inside
from turnwheel_tools.paths import Root
from turnwheel_tools.workspace import coding_tools

SECRET = "the secret of the house next door"

parts = st.one_of(
    st.sampled_from(
        [
            "..",
            ".",
            "a",
            "b.txt",
            "out",
            "loop",
            "file",
            "~",
            "",
            "secret.txt",
            "x" * 300,
            "\u202e..",
            "\uff0e\uff0e",
            "a\0b",
        ]
    ),
    st.text(max_size=4),
)
paths = st.one_of(
    st.lists(parts, min_size=1, max_size=5).map("/".join),
    st.lists(parts, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names)),
    st.sampled_from(
        ["/etc/passwd", "~root/x", "file:///etc/passwd", "@../secret.txt", "../secret.txt", "a/../../secret.txt"]
    ),
)


@pytest.fixture(scope="module")
def house() -> Iterator[Path]:
    """Return a folder beside one with a secret, to which links lead."""
    above = Path(tempfile.mkdtemp())
    (above / "secret.txt").write_text(SECRET)
    root = above / "root"
    (root / "a").mkdir(parents=True)
    (root / "b.txt").write_text("hello")
    (root / "out").symlink_to(above)
    (root / "file").symlink_to(above / "secret.txt")
    (root / "loop").symlink_to(root / "loop")
    (root / "a" / "up").symlink_to("../..")
    yield root
    shutil.rmtree(above)


def outside(root: Path) -> list[tuple[str, str]]:
    """Return what there is beside the folder."""
    return sorted(
        (path.name, path.read_text() if path.is_file() else "") for path in root.parent.iterdir() if path != root
    )


class TestAnyPath:
    @pytest.mark.parametrize(
        ("name", "more"),
        [
            ("read", {}),
            ("ls", {}),
            ("find", {"pattern": "*"}),
            ("grep", {"pattern": "secret|house"}),
            ("write", {"content": "gotcha"}),
            ("edit", {"oldText": SECRET, "newText": "gotcha"}),
        ],
    )
    @given(path=paths)
    def test_nothing_gets_out(self, house: Path, name: str, more: dict[str, Any], path: str) -> None:
        """No path reads, lists or changes anything outside: it works inside, or is refused in a sentence."""
        (tool,) = coding_tools(house, [name])
        before = outside(house)
        try:
            said = text(call(tool, path=path, **more))
        except ToolError as error:
            said = str(error)

        assert outside(house) == before
        assert SECRET not in said or name == "edit"
        assert said

    @pytest.mark.parametrize(
        "path", ["../secret.txt", "out/secret.txt", "file", "a/up/secret.txt", "/etc/passwd", "~/x"]
    )
    def test_the_refusal(self, house: Path, path: str) -> None:
        """The refusal says that it is outside."""
        with pytest.raises(ToolError, match="is outside of"):
            call(coding_tools(house, ["read"])[0], path=path)


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="this system cannot open a path step by step")
class TestMovedMeanwhile:
    """What was looked at is replaced by a link before it is opened."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Root:
        (tmp_path / "secret.txt").write_text(SECRET)
        (tmp_path / "root" / "deep").mkdir(parents=True)
        (tmp_path / "root" / "deep" / "a.txt").write_text("mine")
        return Root(tmp_path / "root")

    def test_a_file(self, root: Root) -> None:
        """A file that becomes a link is neither read nor written."""
        path = root.locate("deep/a.txt")
        path.unlink()
        path.symlink_to(root.path.parent / "secret.txt")

        with pytest.raises(ToolError, match="has become a link"):
            open_inside(root, path)
        with pytest.raises(ToolError, match="has become a link"):
            replace_inside(root, path, b"gotcha")
        assert (root.path.parent / "secret.txt").read_text() == SECRET

    def test_a_folder(self, root: Root) -> None:
        """A folder on the way that becomes a link is not followed."""
        path = root.locate("deep/secret.txt")
        (root.path / "deep" / "a.txt").unlink()
        (root.path / "deep").rmdir()
        (root.path / "deep").symlink_to(root.path.parent)

        with pytest.raises((ToolError, OSError)):
            open_inside(root, path)
        with pytest.raises((ToolError, OSError)):
            replace_inside(root, path, b"gotcha")
        assert (root.path.parent / "secret.txt").read_text() == SECRET
