"""`turnwheel check`: holds the logs of runs against the promises of the loop."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from turnwheel.messages import Json
from turnwheel_adapters.cli.output import CommandError, brief, json_line, read_file, write
from turnwheel_adapters.wording import count, listed

if TYPE_CHECKING:
    from turnwheel.testing.watching.log import Log
    from turnwheel.testing.watching.monitor import Monitor

EXAMPLES = """a log is JSON lines: events as `turnwheel run --json` writes them, or traces as `turnwheel conform` does
  turnwheel run --json "read README.md" > log.jsonl; turnwheel check log.jsonl
  turnwheel conform tests/conformance/corpus/*.json | turnwheel check -

exit status: 0 all promises are kept or not touched, 1 one is broken, 2 a log cannot be read
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    parser.add_argument("files", nargs="+", metavar="LOG", help="a log of one run or of several; - is standard input")
    parser.add_argument(
        "--no-stop-hook",
        action="store_true",
        help="take it that no stop hook (--max-turns is one) was there, which a log of events does not show",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object for each log")


def run(arguments: Namespace) -> None:
    """Judge each log. Raises ParseError for one that cannot be read, CommandError where a promise is broken."""
    # Here, so that the other commands start without it.
    from turnwheel.testing.watching.log import read_log
    from turnwheel.testing.watching.monitors import default_monitors, judge

    broken = 0
    for file in arguments.files:
        name = "standard input" if file == "-" else file
        log = read_log((sys.stdin.buffer.read() if file == "-" else read_file(file)).split(b"\n"), name)
        monitors = judge(log, default_monitors(stop_hook=not arguments.no_stop_hook))
        broken += sum(monitor.verdict == "broken" for monitor in monitors)
        if arguments.json:
            write(json_line(as_json(name, log, monitors)))
        else:
            write("".join(f"{line}\n" for line in in_words(name, log, monitors)))
    if broken:
        raise CommandError(count(broken, "broken promise"))


_WORDS: Final = {"kept": "kept", "broken": "BROKEN", "nothing": "-"}


def in_words(name: str, log: Log, monitors: Sequence[Monitor]) -> Iterator[str]:
    """Yield what was read, and a line for each promise and each break."""
    yield f"{brief(name)}: {count(len(log), 'thing')} seen"
    if log.skipped:
        kinds = [f"{brief(kind)} ({number:,})" for kind, number in log.skipped.items()]
        yield f"  left out, since it is not known: {listed(kinds)}"
    if log.torn:
        yield f"  left out, since it is torn: line {log.torn}; the end of its run is not asked for"
    for monitor in monitors:
        seen = f"judged {count(monitor.relevant, 'time')}" if monitor.relevant else "saw nothing relevant"
        yield f"  {_WORDS[monitor.verdict]:8} {monitor.name}: {seen}"
        for found in monitor.broken:
            yield f"           {log.place(found.position)}: {brief(found.text, 300)}"


def as_json(name: str, log: Log, monitors: Sequence[Monitor]) -> dict[str, Json]:
    """Return the same as JSON."""
    return {
        "log": name,
        "seen": len(log),
        "skipped": dict(log.skipped),
        "torn": log.torn,
        "promises": [
            {
                "name": monitor.name,
                "promise": monitor.promise,
                "verdict": monitor.verdict,
                "relevant": monitor.relevant,
                "breaks": [_break(log, found.position, found.text) for found in monitor.broken],
            }
            for monitor in monitors
        ],
    }


def _break(log: Log, position: int, text: str) -> dict[str, Json]:
    place = log.place(position)
    return {"line": place.line, **({} if place.entry is None else {"entry": place.entry}), "text": text}
