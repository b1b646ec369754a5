"""`turnwheel conform`: plays scenarios and writes their traces, to be compared with those of real Pi."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from turnwheel.errors import ParseError
from turnwheel.messages import Json
from turnwheel.rules import Dialect
from turnwheel.table import DEFAULT_DIALECT
from turnwheel.tool import Tool
from turnwheel_adapters.cli.output import UsageError, json_line, named_dialect, read_file, write
from turnwheel_adapters.cli.timeline import timeline
from turnwheel_tools.arguments import prepare_arguments

if TYPE_CHECKING:
    from turnwheel.testing.scenario import Scenario

EXAMPLES = """examples:
  turnwheel conform tests/conformance/corpus/*.json         one trace after the other, JSON lines
  turnwheel conform --timeline steering.json                one run, for people
  turnwheel conform --serve --dialect pi-0.80.2             a scenario per line in, a trace per line out
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    parser.add_argument("files", nargs="*", metavar="FILE", help="a scenario, in JSON")
    parser.add_argument("--dialect", default=DEFAULT_DIALECT, metavar="D", help="whose rules (default: %(default)s)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--timeline", action="store_true", help="abridge the trace, for people, with numbered events")
    form.add_argument(
        "--serve",
        action="store_true",
        help="read a scenario per line from standard input and answer each with a JSON array, the trace; one that is "
        'not valid is answered with [{"scenarioError": "why"}]',
    )


def run(arguments: Namespace) -> None:
    """Play what the arguments name. Raises ParseError for a bad scenario, before any is played."""
    dialect = named_dialect(arguments.dialect)
    if arguments.serve:
        if arguments.files:
            raise UsageError("--serve takes its scenarios from standard input: name no file (or leave --serve out)")
        for line in served(sys.stdin.buffer, dialect):
            write(line)
        return
    if not arguments.files:
        raise UsageError("no scenario is named: name files, or --serve (see turnwheel conform --help)")
    scenarios = [(name, _read(read_file(name), name)) for name in arguments.files]
    for name, scenario in scenarios:
        lines = traced(scenario, dialect)
        if not arguments.timeline:
            write("".join(map(json_line, lines)))
            continue
        write("".join(f"{line}\n" for line in timeline(lines, f"{name}, {dialect.name}")))


def served(requests: Iterable[bytes], dialect: Dialect) -> Iterator[str]:
    """Yield an answer for each line that is not blank; whatever is wrong with one is said in its answer."""
    return (_answer(request, dialect) for request in requests if request.strip())


def _answer(request: bytes, dialect: Dialect) -> str:
    try:
        return json_line(traced(_read(request), dialect))
    except ParseError as error:
        return _refused(str(error))
    except Exception as error:
        return _refused(f"cannot be played: {type(error).__name__}: {error}")


def _refused(why: str) -> str:
    return json_line([{"scenarioError": why}])


def traced(scenario: Scenario, dialect: Dialect) -> list[Json]:
    """Return the trace of a scenario, its arguments coerced and validated as the dialect does."""
    from turnwheel.testing.play import play

    return [*play(scenario, dialect, _validated)]


def _read(text: bytes, source: str = "") -> Scenario:
    # Here, like what plays them, so that the other commands start without it.
    from turnwheel.testing.scenario import read_scenario_text

    return read_scenario_text(text, source)


def _validated(tool: Tool, arguments: Json, rules: str) -> Json:
    return prepare_arguments(tool, arguments, rules=rules)
