"""Reads the recording that a command is given, and finds the dialect whose rules it was made by."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING

from turnwheel.errors import ParseError
from turnwheel.rules import Dialect
from turnwheel.table import dialect
from turnwheel_adapters.cli.output import complain, read_file

if TYPE_CHECKING:
    from turnwheel.recorded import Recording


def add_file(parser: ArgumentParser) -> None:
    """Have a command take the name of a recording."""
    parser.add_argument(
        "file", metavar="FILE", help="a recording, as turnwheel run --record FILE writes it; - is standard input"
    )


def shown(name: str) -> str:
    """Return what a file is called towards people."""
    return "standard input" if name == "-" else name


def open_recording(name: str) -> tuple[Recording, Dialect]:
    """Read a recording, and say on stderr if it breaks off. Raises ParseError, naming the file."""
    # Here, so that the other commands start without what reads JSON.
    from turnwheel.recorded import read_recording

    source = shown(name)
    recording = read_recording((sys.stdin.buffer.read() if name == "-" else read_file(name)).split(b"\n"), source)
    try:
        language = dialect(recording.header.dialect)
    except ValueError as error:
        raise ParseError(str(error), path="line 1", source=source) from error
    if recording.torn is not None:
        complain(f"{source}: line {recording.torn} is torn and left out: the recording breaks off there")
    elif recording.ended is None:
        complain(f"{source}: the recording breaks off before the end of the run")
    return recording, language
