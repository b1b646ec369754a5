"""`turnwheel explain`: why a recorded run went on where it did, and why it stopped."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from turnwheel_adapters.cli.output import write
from turnwheel_adapters.cli.recorded import add_file, open_recording, shown

EXAMPLES = """examples:
  turnwheel run --record run.jsonl "read README.md"
  turnwheel explain run.jsonl                  each decision by which the run stopped or went on
  turnwheel explain --why-stopped run.jsonl    the end of the run, in one paragraph

yes and no say which guards held; else says which other rule could have fired, and under which conditions.
A position is the number of events and effects before the decision.
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    add_file(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help="explain every decision, those of batches and calls as well")
    what.add_argument("--why-stopped", action="store_true", help="say in one paragraph why the run ended")


def run(arguments: Namespace) -> None:
    """Explain a recording. Raises ParseError for one that cannot be read or that its dialect does not know."""
    # Here, so that the other commands start without it.
    from turnwheel_adapters.cli.explanations import explained, in_full, stops, why_stopped

    recording, dialect = open_recording(arguments.file)
    decisions = [*explained(recording, dialect, shown(arguments.file))]
    if arguments.why_stopped:
        write(f"{why_stopped(recording, decisions)}\n")
        return
    for each in decisions if arguments.all else stops(decisions):
        write("".join(f"{line}\n" for line in [*in_full(each, recording.header), ""]))
