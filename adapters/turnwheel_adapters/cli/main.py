"""Where the command `turnwheel` begins: its arguments, and what becomes of errors."""

from __future__ import annotations

import sys
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final, NoReturn

from turnwheel.errors import ParseError
from turnwheel_adapters.cli import (
    check,
    conform,
    dialects,
    draw,
    explain,
    explore,
    inspect,
    models,
    output,
    run,
    sequence,
)
from turnwheel_adapters.cli.output import CommandError, UsageError

COMMANDS: Final = {
    "run": (run, "run an agent on one prompt, and watch events and states"),
    "explain": (explain, "say why a recorded run went on or stopped, decision by decision"),
    "sequence": (sequence, "show a recorded run as a tree of text"),
    "inspect": (inspect, "write a recorded run as a page to step through in a browser"),
    "conform": (conform, "play scenarios and write their traces"),
    "explore": (explore, "walk every run of a dialect in a finite world, and try claims about them"),
    "check": (check, "hold the logs of runs against the promises of the loop"),
    "draw": (draw, "draw the machine from its table"),
    "models": (models, "list the providers of models, and whether a key is set"),
    "dialects": (dialects, "list the dialects, their tables and their differences"),
}

DESCRIPTION: Final = "Pi's agent loop as an explicit, deterministic state machine."
EPILOG: Final = """start here:
  turnwheel run "read README.md and tell me how long it is"   works offline, without a key
  turnwheel dialects --table pi-0.85.1                        every rule by which a run goes on or stops

exit status: 0 ended normally, 1 ended in error, 2 bad usage, 130 aborted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say (those of the process by default) and return the exit status."""
    output.set_up_streams()
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parser().parse_args(given)
        arguments.command.run(arguments)
        sys.stdout.flush()
    except SystemExit as end:
        return int(end.code or output.OK)
    except BrokenPipeError:
        output.close_quietly()
        return output.FAILED
    except KeyboardInterrupt:
        output.complain("interrupted")
        return output.ABORTED
    except Exception as error:
        return _failed(error, debug="--debug" in given)
    return output.OK


def _failed(error: Exception, *, debug: bool) -> int:
    """Tell of an error in one line, or all that is known of it; return the exit status."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, CommandError):
        output.complain(str(error))
        return error.status
    if isinstance(error, ParseError):
        output.complain(str(error))
        return output.BAD_USAGE
    output.complain(f"{type(error).__name__}: {error} (--debug shows where)")
    return output.FAILED


class _Parser(ArgumentParser):
    """Tells of bad usage as every error is told of."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def _parser() -> ArgumentParser:
    parser = _Parser(
        "turnwheel",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"turnwheel {_version()}", help="tell the version")
    parser.add_argument("--debug", action="store_true", help="show a traceback with an error")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (command, about) in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=about,
            description=f"{about.capitalize()}.",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.configure(sub)
        sub.add_argument("--debug", action="store_true", help="show a traceback with an error")
        sub.set_defaults(command=command)
    return parser


def _version() -> str:
    try:
        return version("turnwheel")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
