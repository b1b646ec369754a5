"""`turnwheel draw`: the machine as a picture, drawn from its table, and runs drawn on it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final, cast

from turnwheel.rules import Dialect, Table
from turnwheel.table import DEFAULT_DIALECT
from turnwheel_adapters.cli.output import CommandError, UsageError, check_stdout, named_dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import Graph, graph_of
from turnwheel_diagrams.grid import to_grid
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.render import NoGraphviz, PictureFormat, rendered
from turnwheel_diagrams.themes import THEMES, Theme

MACHINES: Final = ("loop", "batch", "call")
FORMATS: Final = ("mermaid", "dot", "svg", "png", "grid")

EXAMPLES = """examples:
  turnwheel draw                                          the loop, as Mermaid
  turnwheel draw --machine call --format svg -o call.svg  a tool call, as a picture (needs Graphviz)
  turnwheel draw --full --format dot                      every row of the table an edge of its own
  turnwheel draw --diff pi-0.80.2 pi-0.85.1 --format svg  what is added, gone and moved, and why
  turnwheel draw --run run.jsonl --format svg             how often each row fired in a run, and where it ended
  turnwheel draw --runs a.jsonl b.jsonl --format svg      where two runs part
  turnwheel draw --format grid                            states and triggers, as a Markdown table
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dialect", default=DEFAULT_DIALECT, metavar="D", help="whose table (default: %(default)s)")
    what.add_argument("--diff", nargs=2, metavar=("A", "B"), help="draw in what B differs from A")
    what.add_argument(
        "--run", nargs="+", metavar="FILE", help="draw recordings (turnwheel run --record), or counts of many, added up"
    )
    what.add_argument("--runs", nargs=2, metavar=("A", "B"), help="draw two recordings, and where they part")
    parser.add_argument(
        "--machine", choices=MACHINES, help="which table (default: loop; with --runs that in which they part)"
    )
    parser.add_argument("--format", choices=FORMATS, default="mermaid", help="(default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="every row an edge, and the ways to fail as well")
    parser.add_argument("--theme", choices=list(THEMES), default="light", help="(default: %(default)s)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file (default: standard output)")


def run(arguments: Namespace) -> None:
    """Draw what the arguments ask for. Raises CommandError where that cannot be done."""
    form = arguments.format
    if form == "grid":
        for option, given in (("difference", arguments.diff), ("run", arguments.run or arguments.runs)):
            if given:
                raise UsageError(f"a {option} has no grid: choose mermaid, dot, svg or png")
        _put(to_grid(_table(named_dialect(arguments.dialect), arguments.machine)).encode(), arguments.output)
        return
    drawn = _drawn(_graph(arguments), THEMES[arguments.theme], form)
    if form == "png" and not arguments.output and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("a png is not for a terminal: name a file with -o")
    _put(drawn, arguments.output)


def _graph(arguments: Namespace) -> Graph:
    if arguments.diff:
        before, after = map(named_dialect, arguments.diff)
        return difference_of(before, after, arguments.machine or "loop", full=arguments.full)
    if arguments.run or arguments.runs:
        # Here, so that the other commands start without what reads recordings.
        from turnwheel_adapters.cli.draw_runs import drawn_runs, drawn_two

        if arguments.run:
            return drawn_runs(arguments.run, arguments.machine or "loop", full=arguments.full)
        return drawn_two(tuple(arguments.runs), arguments.machine, full=arguments.full)
    dialect = named_dialect(arguments.dialect)
    return graph_of(_table(dialect, arguments.machine), dialect.name, full=arguments.full)


def _table(dialect: Dialect, machine: str | None) -> Table:
    return {table.name: table for table in dialect.tables}[machine or "loop"]


def _drawn(graph: Graph, theme: Theme, form: str) -> bytes:
    if form == "mermaid":
        return to_mermaid(graph, theme).encode()
    dot = to_dot(graph, theme)
    if form == "dot":
        return dot.encode()
    try:
        return rendered(dot, cast(PictureFormat, form))
    except NoGraphviz as error:
        raise CommandError(str(error)) from error


def _put(drawn: bytes, file: str | None) -> None:
    if file is None:
        check_stdout()
        sys.stdout.buffer.write(drawn)
        return
    try:
        Path(file).write_bytes(drawn)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}") from error
