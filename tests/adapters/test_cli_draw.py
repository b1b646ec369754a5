"""`turnwheel draw`: tables and differences in every format, and what it cannot draw."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from tests.adapters.commands import Command
from turnwheel.table import dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import graph_of
from turnwheel_diagrams.grid import to_grid
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.themes import DARK


class TestTables:
    """A table of a dialect."""

    def test_the_loop_as_mermaid(self, turnwheel: Command) -> None:
        """Without arguments it draws the loop of the default dialect in Mermaid."""
        ended = turnwheel("draw")

        assert (ended.status, ended.err) == (0, "")
        assert ended.out == to_mermaid(graph_of(dialect().loop, "pi-0.85.1"))

    @pytest.mark.parametrize("machine", ["loop", "batch", "call"])
    def test_dialect_and_machine(self, turnwheel: Command, machine: str) -> None:
        """The table of that name of that dialect is drawn."""
        table = {table.name: table for table in dialect("pi-1.6.0").tables}[machine]
        ended = turnwheel("draw", "--dialect", "pi-1.6.0", "--machine", machine)

        assert ended.out == to_mermaid(graph_of(table, "pi-1.6.0"))

    def test_full_dark_dot(self, turnwheel: Command) -> None:
        """Format, theme and fullness are as asked for."""
        ended = turnwheel("draw", "--format", "dot", "--theme", "dark", "--full")

        assert ended.out == to_dot(graph_of(dialect().loop, "pi-0.85.1", full=True), DARK)

    def test_grid(self, turnwheel: Command) -> None:
        """A grid is a Markdown table."""
        assert turnwheel("draw", "--format", "grid", "--machine", "batch").out == to_grid(dialect().batch)

    def test_svg(self, turnwheel: Command) -> None:
        """An SVG goes to standard output and is one."""
        assert ET.fromstring(turnwheel("draw", "--format", "svg").out).tag.endswith("svg")

    def test_png_into_a_file(self, turnwheel: Command) -> None:
        """With -o the picture goes into a file, and nothing is printed."""
        ended = turnwheel("draw", "--format", "png", "-o", "loop.png")

        assert (ended.status, ended.out, ended.err) == (0, "", "")
        assert (turnwheel.folder / "loop.png").read_bytes().startswith(b"\x89PNG")

    def test_png_into_a_pipe(self) -> None:
        """A PNG goes to standard output, byte for byte, where that is no terminal."""
        command = [sys.executable, "-m", "turnwheel_adapters.cli.main", "draw", "--format", "png"]
        done = subprocess.run(command, capture_output=True, check=True)

        assert done.stdout.startswith(b"\x89PNG\r\n\x1a\n")


class TestDifferences:
    """Two dialects."""

    @pytest.mark.parametrize("full", [False, True], ids=["reader", "full"])
    def test_are_compared(self, turnwheel: Command, full: bool) -> None:
        """What differs is drawn, for a reader or in full."""
        ended = turnwheel("draw", "--diff", "pi-0.80.2", "pi-1.6.0", "--format", "dot", *["--full"][: int(full)])
        graph = difference_of(dialect("pi-0.80.2"), dialect("pi-1.6.0"), "loop", full=full)

        assert (ended.status, ended.out) == (0, to_dot(graph))

    def test_have_no_grid(self, turnwheel: Command) -> None:
        """A grid of a difference is refused, with the formats that there are."""
        ended = turnwheel("draw", "--diff", "pi-0.80.2", "pi-1.6.0", "--format", "grid")

        assert (ended.status, ended.out) == (2, "")
        assert "a difference has no grid: choose mermaid, dot, svg or png" in ended.err

    def test_exclude_a_dialect(self, turnwheel: Command) -> None:
        """A difference has two dialects already; a third is refused."""
        ended = turnwheel("draw", "--diff", "pi-0.80.2", "pi-1.6.0", "--dialect", "pi-0.85.1")

        assert (ended.status, ended.out) == (2, "")
        assert "not allowed with" in ended.err


class TestBadInput:
    """What cannot be drawn."""

    @pytest.mark.parametrize(
        "arguments", [("--dialect", "pi-9"), ("--diff", "pi-0.80.2", "pi-9"), ("--dialect", "pi-9", "--format", "grid")]
    )
    def test_an_unknown_dialect(self, turnwheel: Command, arguments: tuple[str, ...]) -> None:
        """The dialects that there are are named, in one line."""
        ended = turnwheel("draw", *arguments)

        assert (ended.status, ended.out) == (2, "")
        assert "'pi-9'" in ended.err
        assert "pi-0.80.2, pi-0.85.1, pi-1.6.0" in ended.err

    @pytest.mark.parametrize(
        "arguments", [("--machine", "wheel"), ("--format", "gif"), ("--theme", "pink"), ("--diff", "pi-0.80.2")]
    )
    def test_an_unknown_choice(self, turnwheel: Command, arguments: tuple[str, ...]) -> None:
        """An unknown machine, format or theme, or half a difference, is bad usage."""
        ended = turnwheel("draw", *arguments)

        assert (ended.status, ended.out) == (2, "")
        assert arguments[0] in ended.err

    def test_a_file_that_cannot_be_written(self, turnwheel: Command) -> None:
        """The file and the reason are told, in one line, and no traceback."""
        ended = turnwheel("draw", "-o", "nowhere/loop.mmd")

        assert (ended.status, ended.out) == (1, "")
        assert "nowhere/loop.mmd cannot be written: No such file or directory" in ended.err
        assert len(ended.err.splitlines()) == 1
