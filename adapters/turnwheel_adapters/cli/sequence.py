"""`turnwheel sequence`: a recorded run as a tree of text."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from turnwheel_adapters.cli.output import write
from turnwheel_adapters.cli.recorded import add_file, open_recording, shown
from turnwheel_adapters.cli.tree import as_list, drawn

EXAMPLES = """examples:
  turnwheel run --record run.jsonl "read README.md and LICENSE"
  turnwheel sequence run.jsonl
  turnwheel sequence --markdown run.jsonl > run.md
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    add_file(parser)
    parser.add_argument("--markdown", action="store_true", help="write a nested list in Markdown")


def run(arguments: Namespace) -> None:
    """Show a recording. Raises ParseError for one that cannot be read or that its dialect does not know."""
    # Here, so that the other commands start without it.
    from turnwheel_adapters.cli.sequence_tree import sequence

    recording, dialect = open_recording(arguments.file)
    tree = sequence(recording, dialect, shown(arguments.file))
    write("".join(f"{line}\n" for line in (as_list if arguments.markdown else drawn)(tree)))
