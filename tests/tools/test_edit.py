"""The tools write and edit, on real files."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.engine.agents import within
from tests.tools.calling import call, text
from turnwheel.agent import Agent
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel_tools import ToolError
from turnwheel_tools.edit import edit_tool
from turnwheel_tools.replacing import Decoded, Replacement, replaced
from turnwheel_tools.workspace import coding_tools
from turnwheel_tools.write import write_tool


def edit(folder: Path, path: str, *edits: tuple[str, str]) -> str:
    """Make edits of a file, and return what is in it then."""
    call(edit_tool(folder), path=path, edits=[{"oldText": old, "newText": new} for old, new in edits])
    return (folder / path).read_bytes().decode()


class TestWrite:
    def test_a_new_file(self, tmp_path: Path) -> None:
        """A file is written with its folders, and what was done is told."""
        result = call(write_tool(tmp_path), path="a/b/c.txt", content="one\ntwo\n")

        assert (tmp_path / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
        assert text(result) == "Created a/b/c.txt: 2 lines, 8 bytes."
        assert result.details == {"path": "a/b/c.txt", "bytes": 8, "lines": 2, "created": True}

    def test_a_file_that_is_there(self, tmp_path: Path) -> None:
        """A file is replaced, and keeps its mode; nothing else is left in the folder."""
        file = tmp_path / "run.sh"
        file.write_text("old")
        file.chmod(0o750)

        assert text(call(write_tool(tmp_path), path="run.sh", content="new")).startswith("Replaced run.sh")
        assert file.read_text() == "new"
        assert stat.S_IMODE(file.stat().st_mode) == 0o750
        assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]

    @pytest.mark.parametrize(
        ("path", "content", "complaint"),
        [
            ("../out.txt", "x", "is outside of"),
            ("folder", "x", "is no file that can be written"),
            ("file/below", "x", "cannot be written"),
            ("a.txt", "half \ud800", "a character that UTF-8 lacks"),
            ("x" * 300, "x", "cannot be written"),
        ],
    )
    def test_what_cannot_be(self, tmp_path: Path, path: str, content: str, complaint: str) -> None:
        """What cannot be written is told in a sentence, and leaves nothing behind."""
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("")
        with pytest.raises(ToolError, match=complaint):
            call(write_tool(tmp_path), path=path, content=content)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


class TestEdit:
    def test_one_and_several(self, tmp_path: Path) -> None:
        """Each old text is replaced in the file as it was, and the details hold the difference."""
        (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
        result = call(
            edit_tool(tmp_path),
            path="a.txt",
            edits=[{"oldText": "two", "newText": "one"}, {"oldText": "one", "newText": "1"}],
        )

        assert (tmp_path / "a.txt").read_text() == "1\none\nthree\n"
        assert text(result) == "a.txt is changed: 2 edits."
        assert "@@ -1,3 +1,3 @@\n+1\n one\n-two\n three\n" in result.details["diff"]

    def test_the_older_form(self, tmp_path: Path) -> None:
        """One edit may come as oldText and newText."""
        (tmp_path / "a.txt").write_text("one")
        call(edit_tool(tmp_path), path="a.txt", oldText="one", newText="two")

        assert (tmp_path / "a.txt").read_text() == "two"

    @pytest.mark.parametrize(
        ("before", "old", "new", "after"),
        [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
            ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
            ("a\nb\n", "a\r\nb", "c", "c\n"),
            ("a\nb\r\nc\n", "b", "x", "a\nx\r\nc\n"),
            ("a\n", "a", "b\r\n", "b\r\n\n"),
        ],
    )
    def test_line_ends(self, tmp_path: Path, before: str, old: str, new: str, after: str) -> None:
        """The line ends of the file stay, and new lines get those of what they replace."""
        (tmp_path / "a.txt").write_bytes(before.encode())

        assert edit(tmp_path, "a.txt", (old, new)) == after

    @pytest.mark.parametrize("bom", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
    def test_byte_order_marks(self, tmp_path: Path, bom: bytes) -> None:
        """A byte order mark stays, and with it the encoding."""
        encoding = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}[bom]
        (tmp_path / "a.txt").write_bytes(bom + "größe".encode(encoding))
        call(edit_tool(tmp_path), path="a.txt", edits=[{"oldText": "größe", "newText": "größer"}])

        assert (tmp_path / "a.txt").read_bytes() == bom + "größer".encode(encoding)

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        """Bytes beside the edit that are no UTF-8 stay as they are."""
        (tmp_path / "a.txt").write_bytes(b"caf\xe9 one \xff")
        call(edit_tool(tmp_path), path="a.txt", edits=[{"oldText": "one", "newText": "two"}])

        assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9 two \xff"

    @pytest.mark.parametrize(
        ("edits", "complaint"),
        [
            ([("nothing", "x")], "does not fit: its old text is not there"),
            ([("a", "x")], "fits 3 places"),
            ([("aa", "x")], "fits 2 places"),
            ([("", "x")], "has no old text"),
            ([("b", "b")], "Nothing in a.txt would change"),
            ([("aaab", "x"), ("b c", "y")], "touch the same place"),
            ([("b", "x"), ("zzz", "y")], "Edit 2 of 2 of a.txt does not fit"),
        ],
    )
    def test_what_does_not_fit(self, tmp_path: Path, edits: list[tuple[str, str]], complaint: str) -> None:
        """An edit that does not fit exactly once is told of, and nothing is changed."""
        (tmp_path / "a.txt").write_text("aaab c")
        with pytest.raises(ToolError, match=complaint):
            edit(tmp_path, "a.txt", *edits)
        assert (tmp_path / "a.txt").read_text() == "aaab c"

    def test_the_nearest(self, tmp_path: Path) -> None:
        """Where an old text is not there, the lines that are most like it are shown."""
        (tmp_path / "a.py").write_text("import os\n\n\ndef login(user,  password):\n    return None\n")
        with pytest.raises(ToolError, match=r"nearest is in line 4:\ndef login\(user,  password\):"):
            edit(tmp_path, "a.py", ("def login(user, password):", "x"))

    @pytest.mark.parametrize("name", ["edit", "write"])
    def test_a_pipe(self, tmp_path: Path, name: str) -> None:
        """What is no regular file is neither waited for nor replaced."""
        os.mkfifo(tmp_path / "pipe")
        more = {"oldText": "a", "newText": "b"} if name == "edit" else {"content": "x"}
        with pytest.raises(ToolError, match="regular file"):
            call(coding_tools(tmp_path, [name])[0], path="pipe", **more)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        """A file that is not there is told of with what has a similar name."""
        (tmp_path / "login.py").write_text("")
        with pytest.raises(ToolError, match=r"logon\.py does not exist\. Similar: login\.py"):
            edit(tmp_path, "logon.py", ("a", "b"))


ENDS = st.sampled_from(["\n", "\r\n"])
LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=8), min_size=1)
ENCODINGS = st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])


class TestReverse:
    @given(lines=LINES, end=ENDS, bom=ENCODINGS, data=st.data())
    def test_there_and_back(self, lines: list[str], end: str, bom: bytes, data: st.DataObject) -> None:
        """An edit and its reverse give the same bytes, whatever the text, its line ends and its encoding."""
        whole = "\n".join(lines)
        begin = data.draw(st.integers(0, len(whole)))
        old = whole[begin : data.draw(st.integers(begin, len(whole)))]
        new = "\n".join(data.draw(LINES))
        changed = whole[:begin] + new + whole[begin + len(old) :]
        # The reverse must fit once, too.
        assume(old and new and old != new and whole.count(old) == 1 and changed.count(new) == 1)
        assume(whole.find(old, begin + 1) < 0 and changed.find(new, changed.index(new) + 1) < 0)
        # Where all line ends are lost, nobody can tell which they were.
        assume("\n" not in old or "\n" in changed)
        raw = bom + whole.replace("\n", end).encode(Decoded.of(bom).encoding)

        def made(raw: bytes, one: str, other: str) -> bytes:
            text = Decoded.of(raw)
            return text.with_text(replaced(text.text, [Replacement(one, other)], "f"))

        assert made(made(raw, old, new), new, old) == raw

    @given(st.binary())
    def test_any_bytes(self, raw: bytes) -> None:
        """Whatever bytes are read as text are written as they were."""
        try:
            text = Decoded.of(raw)
        except UnicodeDecodeError:
            assume(False)
        assert text.with_text(text.text) == raw


class TestTogether:
    @within(60)
    async def test_many_edits_at_once(self, tmp_path: Path) -> None:
        """200 edits of 10 files at once lose nothing, and those of one file are made in the order of the calls."""
        for number in range(10):
            (tmp_path / f"{number}.txt").write_text("end")
        calls = [
            ScriptedCall(
                f"{turn}-{number}", "edit", {"path": f"{number}.txt", "oldText": "end", "newText": f"{turn} end"}
            )
            for turn in range(20)
            for number in range(10)
        ]
        model = ScriptedModel([ScriptedAnswer(tool_calls=calls), ScriptedAnswer(text="done")])
        await Agent(model, tools=coding_tools(tmp_path, ["edit"])).prompt("go")

        for number in range(10):
            assert (tmp_path / f"{number}.txt").read_text() == " ".join([*map(str, range(20)), "end"])
            assert not (tmp_path / f".{number}.txt").exists()
