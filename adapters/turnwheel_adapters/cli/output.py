"""What the commands share: how lines and JSON are written, and how errors are told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Final, TextIO

from turnwheel.errors import ParseError
from turnwheel.messages import Json
from turnwheel.rules import Dialect
from turnwheel.table import dialect

OK: Final = 0
FAILED: Final = 1
BAD_USAGE: Final = 2
ABORTED: Final = 130


class CommandError(Exception):
    """The command failed. The text says why, and what to do."""

    status = FAILED


class UsageError(CommandError):
    """The command cannot do what was asked of it, and has not begun to."""

    status = BAD_USAGE


class AbortedError(CommandError):
    """The command was ended before its time."""

    status = ABORTED


def named_dialect(name: str) -> Dialect:
    """Return the dialect of that name. Raises UsageError where there is none."""
    try:
        return dialect(name)
    except ValueError as error:
        raise UsageError(f"{error}") from error


def read_file(name: str) -> bytes:
    """Return what is in a file. Raises ParseError, naming it, where it cannot be read."""
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ParseError(f"cannot be read: {error.strerror or error}", source=name) from error
    except ValueError as error:
        raise ParseError(f"is no file name: {error}", source=repr(name)) from error


def set_up_streams() -> None:
    """Write UTF-8 whatever the locale says; half a surrogate pair, which it lacks, as JSON's escape.

    What is read and is badly encoded is replaced.
    """
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    if (reconfigure := getattr(sys.stdin, "reconfigure", None)) is not None:
        reconfigure(errors="replace")


def check_stdout() -> None:
    """Raise CommandError where standard output is closed: nothing could be shown."""
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        raise CommandError("standard output is closed, so nothing can be shown: send it to a file, or to /dev/null")


def write(text: str) -> None:
    """Write to stdout, at once. Raises CommandError where it is closed."""
    check_stdout()
    sys.stdout.write(text)
    sys.stdout.flush()


def json_line(value: Json) -> str:
    """Return a value as one line of compact JSON. A number that JSON lacks, such as infinity, is null, as Pi's is."""
    dumps = partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return dumps(value) + "\n"
    except ValueError:
        return dumps(_finite(value)) + "\n"


def _finite(value: Json) -> Json:
    match value:
        case float() if not isfinite(value):
            return None
        case Mapping():
            return {key: _finite(part) for key, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
    return value


def complain(problem: str) -> None:
    """Tell of an error, in one line on stderr, unless that is closed."""
    stderr: TextIO | None = sys.stderr
    if stderr is not None:
        stderr.write(f"turnwheel: {brief(problem, 2000)}\n")


def close_quietly() -> None:
    """Let go of a stdout that nobody reads any more, so that the interpreter does not complain about it at its end."""
    with suppress(OSError, ValueError):
        number = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)


# --- text for people ----------------------------------------------------------------------------------------------

_VISIBLE: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def harmless(text: str) -> str:
    """Return a text with control characters spelled out: what a model or a tool says must not steer a terminal."""
    return text.translate(_VISIBLE)


def brief(text: str, most: int = 100) -> str:
    """Return a text on one line, shortened to at most so many characters."""
    line = " ".join(harmless(text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1] + "…"
