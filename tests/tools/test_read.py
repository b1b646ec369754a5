"""The tool read, on real files."""

from __future__ import annotations

import base64
import os
import re
import socket
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnwheel.messages import ABSENT, ImageContent, TextContent, ToolResult
from turnwheel_tools import ToolError, prepare_arguments, read_tool
from turnwheel_tools.limits import MAX_BYTES, MAX_LINES
from turnwheel_tools.read import MAX_IMAGE_BYTES

PNG: Final = b"\x89PNG\r\n\x1a\n" + bytes(20)


def read(root: Path, path: str, aborted: Callable[[], bool] = lambda: False, **more: Any) -> ToolResult:
    """Call the tool as a host does."""
    tool = read_tool(root)
    arguments = prepare_arguments(tool, {"path": path, **more})
    result = tool.run(arguments, call_id="c1", report=lambda _: None, aborted=aborted)
    assert isinstance(result, ToolResult)
    return result


def text(result: ToolResult) -> str:
    """Return the text of a result that has nothing else."""
    assert isinstance(result.content, tuple)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def refusal(root: Path, path: str, **more: Any) -> str:
    """Return what the model is told where the call fails."""
    with pytest.raises(ToolError) as failure:
        read(root, path, **more)
    return str(failure.value)


class TestText:
    def test_a_small_file_is_shown_as_it_is(self, tmp_path: Path) -> None:
        """No note, nothing changed; the details say what was read."""
        (tmp_path / "a.txt").write_bytes("eins\nzwei ü\n".encode())

        result = read(tmp_path, "a.txt")

        assert text(result) == "eins\nzwei ü\n"
        assert result.details == {
            "path": "a.txt", "lines": 2, "bytes": 13, "truncated": False, "firstLine": 1, "lastLine": 2,
        }  # fmt: skip
        assert result.is_error is ABSENT

    @pytest.mark.parametrize("content", [b"one", b"one\r\ntwo\r\n", b"a\rb\n", b"\n", b"\xe2\x80\xa8x\x0c\n"])
    def test_line_ends_are_content(self, tmp_path: Path, content: bytes) -> None:
        """A missing last line end, carriage returns and other separators stay as they are."""
        (tmp_path / "a").write_bytes(content)

        assert text(read(tmp_path, "a")).encode() == content

    def test_only_a_line_feed_ends_a_line(self, tmp_path: Path) -> None:
        """Carriage returns, form feeds and Unicode's line separators do not count as lines."""
        (tmp_path / "a").write_bytes("1\r1\x0c1\x851\u20281\n2\n".encode())

        assert text(read(tmp_path, "a", offset=2)) == "2\n"
        assert text(read(tmp_path, "a", limit=1)).startswith("1\r1\x0c1\x851\u20281\n\n[Lines 1-1 of 2 shown")

    def test_a_byte_order_mark_is_dropped(self, tmp_path: Path) -> None:
        """It is no part of the first line, and of no other."""
        (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\ntwo\n")

        assert text(read(tmp_path, "a")) == "one\ntwo\n"
        assert text(read(tmp_path, "a", offset=2)) == "two\n"

    def test_invalid_bytes_are_shown_and_said(self, tmp_path: Path) -> None:
        """Bytes that are not UTF-8 become U+FFFD, and a note says so."""
        (tmp_path / "a").write_bytes(b"caf\xe9\n")

        assert text(read(tmp_path, "a")) == "caf\ufffd\n\n[U+FFFD stands for bytes that are not valid UTF-8.]"

    def test_a_replacement_character_of_the_file_is_no_fault(self, tmp_path: Path) -> None:
        """U+FFFD that is in the file, and invalid bytes that are not shown, need no note."""
        (tmp_path / "a").write_bytes("\ufffd\n".encode() + b"\xff\n")

        assert "valid" not in text(read(tmp_path, "a", limit=1))

    @pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
    def test_an_empty_file(self, tmp_path: Path, content: bytes) -> None:
        """It is said to be empty, at whatever offset."""
        (tmp_path / "a").write_bytes(content)

        result = read(tmp_path, "a", offset=3)

        assert text(result) == "[a is empty]"
        assert result.details == {
            "path": "a", "lines": 0, "bytes": len(content), "truncated": False, "firstLine": 0, "lastLine": 0,
        }  # fmt: skip

    def test_svg_is_text(self, tmp_path: Path) -> None:
        """An image that is written as text is shown as text."""
        (tmp_path / "a.svg").write_text("<svg/>")

        assert text(read(tmp_path, "a.svg")) == "<svg/>"


class TestParts:
    def test_two_thousand_lines_at_once(self, tmp_path: Path) -> None:
        """A note says what was shown, how much is left, and how to go on."""
        (tmp_path / "a").write_text("x\n" * (MAX_LINES + 5))

        result = read(tmp_path, "a")

        assert text(result) == "x\n" * 2000 + "\n[Lines 1-2000 of 2005 shown, 5 left. Use offset=2001 to go on.]"
        assert result.details["truncated"] is True
        assert result.details["lastLine"] == 2000

    def test_fifty_kilobytes_at_once(self, tmp_path: Path) -> None:
        """The line that does not fit any more is left for the next call, whole."""
        (tmp_path / "a").write_text(("€" * 100 + "\n") * 200)

        result = read(tmp_path, "a")

        assert text(result).startswith(
            ("€" * 100 + "\n") * (MAX_BYTES // 301) + "\n[Lines 1-170 of 200 shown, 30 left."
        )

    def test_exactly_the_limits(self, tmp_path: Path) -> None:
        """A file that just fits is shown without a note."""
        (tmp_path / "lines").write_text("x\n" * MAX_LINES)
        (tmp_path / "bytes").write_text("x" * MAX_BYTES)

        assert text(read(tmp_path, "lines")) == "x\n" * MAX_LINES
        assert text(read(tmp_path, "bytes")) == "x" * MAX_BYTES

    def test_offset_and_limit(self, tmp_path: Path) -> None:
        """They choose lines; a note says how many are left."""
        (tmp_path / "a").write_text("1\n2\n3\n4\n5")

        assert text(read(tmp_path, "a", offset=2, limit=2)) == (
            "2\n3\n\n[Lines 2-3 of 5 shown, 2 left. Use offset=4 to go on.]"
        )
        assert text(read(tmp_path, "a", offset=4, limit=2)) == "4\n5"

    def test_a_limit_above_the_own_one(self, tmp_path: Path) -> None:
        """More than 2,000 lines cannot be asked for."""
        (tmp_path / "a").write_text("\n" * 3000)

        assert read(tmp_path, "a", limit=2500).details["lastLine"] == MAX_LINES

    def test_offset_beyond_the_end(self, tmp_path: Path) -> None:
        """The failure says how many lines there are."""
        (tmp_path / "a").write_text("1\n2\n")

        assert refusal(tmp_path, "a", offset=3) == "offset 3 is beyond the end of a, which has 2 lines."

    @pytest.mark.parametrize("cut", [0, 1, 2])
    def test_a_very_long_line(self, tmp_path: Path, cut: int) -> None:
        """Its beginning is shown, up to a whole character, and how to go on behind it."""
        (tmp_path / "a").write_text("1\n" + "x" * cut + "€" * MAX_BYTES + "\n3\n")

        result = read(tmp_path, "a", offset=2)

        assert re.fullmatch(
            "x*€{17065,17066}\n\n\\[Line 2 is longer than 50 KB; only its beginning is shown.\\]\n"
            "\\[Lines 2-2 of 3 shown, 1 left. Use offset=3 to go on.\\]",
            text(result),
        )
        assert result.details["truncated"] is True

    def test_a_long_last_line_is_truncated(self, tmp_path: Path) -> None:
        """Where no line is left, the details still say that something was."""
        (tmp_path / "a").write_text("x" * (MAX_BYTES + 1))

        result = read(tmp_path, "a")

        assert text(result).endswith("[Line 1 is longer than 50 KB; only its beginning is shown.]")
        assert result.details["truncated"] is True

    @given(
        st.lists(st.sampled_from([b"", b"a", b"\xc3\xbc\r", b"x" * 20_000, b"y" * 300_000]), max_size=12),
        st.integers(1, 4),
    )
    @example([b"z"] * (MAX_LINES + 3), 5000)
    def test_reading_on_gives_the_whole_file(self, lines: list[bytes], limit: int) -> None:
        """Following the notes shows every line once, in order; of very long lines their beginning."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a").write_bytes(b"".join(line + b"\n" for line in lines))
            shown, offset = [], 1
            while offset <= len(lines):
                result = read(Path(folder), "a", offset=offset, limit=limit)
                shown += text(result).split("\n")[: result.details["lastLine"] - offset + 1]
                offset = result.details["lastLine"] + 1

        assert [line.encode() for line in shown] == [line[:MAX_BYTES] for line in lines]

    def test_a_large_file_is_not_held(self, tmp_path: Path) -> None:
        """Memory does not grow with the file."""
        (tmp_path / "a").write_bytes(b"line\n" * 4_000_000)

        tracemalloc.start()
        end, beginning = read(tmp_path, "a", offset=3_999_999), read(tmp_path, "a", limit=1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert text(end) == "line\nline\n"
        assert text(beginning).startswith("line\n\n[Lines 1-1 of 4000000 shown")
        assert peak < 2_000_000


class TestImages:
    @pytest.mark.parametrize(
        ("content", "mime_type"),
        [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0" + bytes(9), "image/jpeg"),
            (b"GIF89a" + bytes(9), "image/gif"),
            (b"GIF87a" + bytes(9), "image/gif"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        ],
    )
    def test_is_known_by_its_content(self, tmp_path: Path, content: bytes, mime_type: str) -> None:
        """Whatever its name: a text that names file and type, then the image."""
        (tmp_path / "a.txt").write_bytes(content)

        result = read(tmp_path, "a.txt")

        assert result.content == (
            TextContent(f"a.txt ({mime_type})"),
            ImageContent(base64.b64encode(content).decode(), mime_type),
        )
        assert result.details == {"path": "a.txt", "mimeType": mime_type, "bytes": len(content)}

    def test_the_largest_one(self, tmp_path: Path) -> None:
        """An image of five megabytes is shown, one byte more is refused."""
        (tmp_path / "a").write_bytes(PNG.ljust(MAX_IMAGE_BYTES, b"\0"))
        (tmp_path / "b").write_bytes(PNG.ljust(MAX_IMAGE_BYTES + 1, b"\0"))

        assert read(tmp_path, "a").details["bytes"] == MAX_IMAGE_BYTES
        assert refusal(tmp_path, "b") == "b is an image of 5,242,881 bytes; at most 5,242,880 bytes are shown."


class TestRefusals:
    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b"PK\x03\x04\0", "a ZIP archive"),
            (b"\xff\xfea\0", "text in UTF-16"),
            (b"RIFF\0\0\0\0WAVE", "of no known kind"),
        ],
    )
    def test_a_binary_file(self, tmp_path: Path, content: bytes, kind: str) -> None:
        """Size and kind are named."""
        (tmp_path / "a").write_bytes(content)

        assert refusal(tmp_path, "a").startswith(f"a is a binary file, {kind}, {len(content)} bytes.")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        """Names that are similar are offered, whatever their case."""
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/README.md").touch()

        assert refusal(tmp_path, "docs/Readme.txt") == "docs/Readme.txt does not exist. Similar: docs/README.md"
        assert refusal(tmp_path, "docs/zzz") == "docs/zzz does not exist."
        assert refusal(tmp_path, "nowhere/a") == "nowhere/a does not exist."

    def test_below_a_file(self, tmp_path: Path) -> None:
        """A path that goes on behind a file leads to nothing."""
        (tmp_path / "a").touch()

        assert refusal(tmp_path, "a/b") == "a/b does not exist."

    def test_a_missing_root(self, tmp_path: Path) -> None:
        """It has no similar names, since they would lie outside."""
        (tmp_path / "gone2").mkdir()

        assert refusal(tmp_path / "gone", ".") == ". does not exist."

    @pytest.mark.parametrize("path", ["sub", ".", ""])
    def test_a_directory(self, tmp_path: Path, path: str) -> None:
        """It is said to be one."""
        (tmp_path / "sub").mkdir()

        assert refusal(tmp_path, path) == f"{path or '.'} is a directory, and read shows files only."

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read everything")
    def test_without_permission(self, tmp_path: Path) -> None:
        """A file that may not be read, and one in a directory that may not be entered."""
        (tmp_path / "a").touch(mode=0o000)
        (tmp_path / "sub").mkdir(mode=0o000)

        assert refusal(tmp_path, "a") == "There is no permission to read a."
        assert refusal(tmp_path, "sub/a") == "There is no permission to read sub/a."

    def test_a_pipe(self, tmp_path: Path) -> None:
        """A pipe that nobody writes to is refused, not waited for."""
        os.mkfifo(tmp_path / "pipe")

        assert "not a regular file" in refusal(tmp_path, "pipe")

    def test_a_device_and_a_socket(self, tmp_path: Path) -> None:
        """They are refused as well."""
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(tmp_path / "s"))

            assert "not a regular file" in refusal(tmp_path, "s")
        assert "not a regular file" in refusal(Path("/dev"), "null")


class TestPaths:
    @pytest.mark.parametrize(
        "path", ["a.txt", "./a.txt", "@a.txt", "sub/../a.txt", "{root}/a.txt", "@{root}/a.txt", "link"]
    )
    def test_leads_to_the_file(self, tmp_path: Path, path: str) -> None:
        """Relative, absolute, with an @ in front, by a link: as long as it stays inside."""
        (tmp_path / "sub").mkdir()
        (tmp_path / "a.txt").write_text("here")
        (tmp_path / "link").symlink_to("a.txt")

        result = read(tmp_path, path.format(root=tmp_path))

        assert text(result) == "here"
        assert result.details["path"] == "a.txt"

    def test_only_one_at_is_dropped(self, tmp_path: Path) -> None:
        """A name that begins with @ can be reached behind a dot."""
        (tmp_path / "@a").write_text("at")

        assert text(read(tmp_path, "./@a")) == "at"
        assert text(read(tmp_path, "@@a")) == "at"

    @pytest.mark.parametrize(
        "path", ["../b", "{outside}/b", "@../b", "link", "folder/b", "sub/../../b", "/dev/null", "~"]
    )
    def test_outside_is_refused(self, tmp_path: Path, path: str) -> None:
        """No way leads out of the root, be it by a link or through the home directory."""
        root = tmp_path / "in"
        root.mkdir()
        (tmp_path / "b").write_text("secret")
        (root / "link").symlink_to("../b")
        (root / "folder").symlink_to("..")

        assert "is outside of" in refusal(root, path.format(outside=tmp_path))

    def test_a_root_behind_a_link(self, tmp_path: Path) -> None:
        """The root itself may be reached by a link, and a sibling that begins with its name is outside."""
        (tmp_path / "in").mkdir()
        (tmp_path / "inner").write_text("secret")
        (tmp_path / "in/a").write_text("here")
        (tmp_path / "way").symlink_to("in")

        assert text(read(tmp_path / "way", str(tmp_path / "way/a"))) == "here"
        assert "is outside of" in refusal(tmp_path / "in", "../inner")

    def test_home(self) -> None:
        """~ is the home directory, where that is inside of the root."""
        assert refusal(Path("/"), "~").endswith(
            f"{Path.home().resolve().relative_to('/')} is a directory, and read shows files only."
        )

    @pytest.mark.parametrize("path", ["a\0b", "loop", "x" * 5000, "~nobody-of-this-name/a"])
    def test_an_unusable_path(self, tmp_path: Path, path: str) -> None:
        """What the file system does not take fails in words."""
        (tmp_path / "loop").symlink_to("loop")

        assert re.search("is not a usable path|cannot be read", refusal(tmp_path, path))


class TestAbort:
    def test_before_anything(self, tmp_path: Path) -> None:
        """An aborted call looks at nothing."""
        with pytest.raises(ToolError, match=r"^Operation aborted$"):
            read(tmp_path, "missing", aborted=lambda: True)

    def test_between_chunks(self, tmp_path: Path) -> None:
        """A long file is not read to its end once the run has been aborted."""
        (tmp_path / "a").write_bytes(b"line\n" * 400_000)
        asked: list[None] = []

        def at_the_third_time() -> bool:
            asked.append(None)
            return len(asked) == 3

        with pytest.raises(ToolError, match=r"^Operation aborted$"):
            read(tmp_path, "a", aborted=at_the_third_time)


class TestTool:
    def test_declaration(self) -> None:
        """Name, description and parameters are what a model needs."""
        tool = read_tool()

        assert tool.name == "read"
        assert "2,000 lines or 50 KB" in tool.description
        assert list(tool.parameters["properties"]) == ["path", "offset", "limit"]
        assert tool.parameters["required"] == ["path"]

    def test_the_root_is_fixed_at_once(self, tmp_path: Path) -> None:
        """A change of the working directory later does not move it."""
        (tmp_path / "a").write_text("here")
        before = Path.cwd()
        os.chdir(tmp_path)
        tool = read_tool()
        os.chdir(before)

        assert text(tool.run({"path": "a"}, call_id="c", report=lambda _: None, aborted=lambda: False)) == "here"
