"""`turnwheel explore`: walks every run of a dialect in a finite world, and tries claims about them."""

from __future__ import annotations

import json
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turnwheel.messages import Json
from turnwheel.rules import Dialect
from turnwheel.table import DEFAULT_DIALECT
from turnwheel_adapters.cli.output import CommandError, json_line, named_dialect, write
from turnwheel_adapters.cli.progress import progress
from turnwheel_adapters.wording import count, listed

if TYPE_CHECKING:
    from turnwheel.testing.exploring.explore import Finding, Report

EXAMPLES = """a state is a point at which the world may do something, and what it has left; an edge is what it does

a claim is a small expression: the facts of a run, the guards and the states of the tables (turnwheel dialects --table);
and, or, not, comparisons; emits(EVENT), asks(EFFECT), awaits(EFFECT), fired("part of a rule's name")
  turnwheel explore --never 'state == Done and chain'
  turnwheel explore --always 'not aborted or not asks(ExecuteTool)' --save found.json && turnwheel conform found.json
  turnwheel explore --eventually 'emits(agent_end) or failed'

exit status: 0 all claims hold, 1 one is broken or a run gets stuck, 2 bad usage
"""
_BOUNDS: Final = (
    ("turns", "T", 3, 99, "model calls that are answered in every way; later ones get an error"),
    ("calls", "K", 2, 9, "tool calls in one answer, at most"),
    ("queue", "Q", 2, 99, "messages in each queue, in all"),
)
"""The bounds of the world: name, letter, usual and largest value, meaning."""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    parser.add_argument("--dialect", default=DEFAULT_DIALECT, metavar="D", help="whose rules (default: %(default)s)")
    for name, letter, usual, most, what in _BOUNDS:
        parser.add_argument(
            f"--{name}", type=_bound(most), default=usual, metavar=letter, help=f"{what} (default: %(default)s)"
        )
    parser.add_argument("--no-failures", action="store_true", help="let nothing fail outside of a tool call")
    for kind, what in (
        ("never", "claim that this is true of no moment of a run"),
        ("always", "claim that this is true of every moment"),
        ("eventually", "claim that every run comes to a moment of which this is true"),
    ):
        parser.add_argument(f"--{kind}", action=_Claim, dest="claims", default=[], metavar="CLAIM", help=what)
    parser.add_argument("--save", metavar="FILE", help="write the scenario of the first broken claim to a file")
    parser.add_argument("--json", action="store_true", help="write the report as JSON")


def run(arguments: Namespace) -> None:
    """Explore, and report. Raises CommandError where a claim is broken or a run gets stuck."""
    # Here, so that the other commands start without it.
    from turnwheel.testing.exploring.claims import parse_claim
    from turnwheel.testing.exploring.explore import explore
    from turnwheel.testing.exploring.ways import Bounds

    dialect = named_dialect(arguments.dialect)
    bounds = Bounds(arguments.turns, arguments.calls, arguments.queue, failures=not arguments.no_failures)
    claims = [parse_claim(text, kind, dialect) for kind, text in arguments.claims]
    with progress() as heard:
        report = explore(dialect, bounds, claims, heard)
    if arguments.json:
        write(json_line(as_json(report, dialect)))
    else:
        write("".join(f"{line}\n" for line in in_words(report, dialect)))
    if arguments.save is not None:
        _save(arguments.save, report, dialect)
    if not report.holds:
        raise CommandError(_verdict(report))


class _Claim(Action):
    """Collects claims of all kinds in one list, in the order in which they were given."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        """Add one."""
        kind = (option or "").removeprefix("--")
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (kind, values)])


def _bound(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) > most:
            raise ArgumentTypeError(f"expected a number from 0 to {most}, got {text!r}")
        return int(text)

    return read


def _verdict(report: Report) -> str:
    found = {"broken claim": len(report.broken), "dead end": len(report.dead_ends), "cycle": len(report.cycles)}
    return ", ".join(count(number, what) for what, number in found.items() if number)


# --- for people ---------------------------------------------------------------------------------------------------


def in_words(report: Report, dialect: Dialect) -> Iterator[str]:
    """Yield the lines of a report: figures, how often each rule fired, and what is wrong."""
    bounds = report.bounds
    sizes = [count(bounds.turns, "model call"), count(bounds.calls, "tool call") + " in an answer"]
    yield f"{report.dialect}: all runs of up to {listed([*sizes, count(bounds.queue, 'message') + ' in each queue'])}"
    yield ""
    rules = sum(len(table) for table in report.fired.values())
    for name, value in (
        ("states", f"{report.states:,} ({report.places:,} places of the machine)"),
        ("edges", f"{report.edges:,}"),
        ("paths", "no end of them: there are cycles" if report.paths is None else f"{report.paths:,}"),
        ("depth", f"{count(report.depth, 'edge')} to the state that is farthest from the start"),
        ("rules", f"{rules - len(report.never_fired)} of {rules} fired"),
    ):
        yield f"{name:8}{value}"
    for table, fired in report.fired.items():
        yield ""
        yield f"{table}: edges on which each rule fired"
        for rule, times in fired.items():
            yield f"{f'{times:,}' if times else 'never':>12}  {rule}"
    for finding in [*report.dead_ends, *report.cycles, *report.broken.values()]:
        yield ""
        often = f", in {count(finding.states, 'state')}" if finding.states else ""
        yield f"{finding.problem}{often}; the shortest way there:"
        yield from _shown(finding, report, dialect)
    yield ""
    for claim in report.claims:
        yield f"{'broken' if claim in report.broken else 'holds'}: {claim.kind} {claim.name}"
    if not (report.dead_ends or report.cycles):
        yield "no dead end, and no cycle of the machine by itself"


def _shown(finding: Finding, report: Report, dialect: Dialect) -> Iterator[str]:
    from turnwheel.testing.exploring.walk import in_words as steps

    for number, line in enumerate(steps(dialect, report.bounds, finding.path), 1):
        yield f"{number:4}. {line}"
    scenario, why = _scenario(finding, report, dialect)
    yield "      " + (why or f"as a scenario, for turnwheel conform: {json_line(scenario).strip()}")


# --- as data ------------------------------------------------------------------------------------------------------


def as_json(report: Report, dialect: Dialect) -> dict[str, Json]:
    """Return a report as JSON data."""
    bounds = report.bounds
    return {
        "dialect": report.dialect,
        "bounds": {
            "turns": bounds.turns,
            "calls": bounds.calls,
            "queue": bounds.queue,
            "failures": bounds.failures,
        },
        "places": report.places,
        "states": report.states,
        "edges": report.edges,
        "paths": report.paths,
        "depth": report.depth,
        "fired": {table: dict(rules) for table, rules in report.fired.items()},
        "neverFired": [{"table": table, "rule": rule} for table, rule in report.never_fired],
        "deadEnds": [_as_json(finding, report, dialect) for finding in report.dead_ends],
        "cycles": [_as_json(finding, report, dialect) for finding in report.cycles],
        "claims": [
            {
                "kind": claim.kind,
                "claim": claim.name,
                "holds": claim not in report.broken,
                **(_as_json(report.broken[claim], report, dialect) if claim in report.broken else {}),
            }
            for claim in report.claims
        ],
    }


def _as_json(finding: Finding, report: Report, dialect: Dialect) -> dict[str, Json]:
    from turnwheel.testing.exploring.walk import in_words as steps

    scenario, why = _scenario(finding, report, dialect)
    return {
        "problem": finding.problem,
        **({"states": finding.states} if finding.states else {}),
        "path": list(steps(dialect, report.bounds, finding.path)),
        **({"noScenario": why} if why else {"scenario": scenario}),
    }


def _scenario(finding: Finding, report: Report, dialect: Dialect) -> tuple[dict[str, Json], str]:
    """Return the scenario of a finding, or why there is none."""
    from turnwheel.testing.exploring.walk import Unplayable, as_scenario

    try:
        return as_scenario(dialect, report.bounds, finding.path, finding.problem), ""
    except Unplayable as error:
        return {}, str(error)


def _save(name: str, report: Report, dialect: Dialect) -> None:
    """Write the first scenario that there is. Raises CommandError where it cannot be written."""
    findings: Sequence[Finding] = [*report.broken.values(), *report.dead_ends, *report.cycles]
    scenario = next((found for found, why in (_scenario(f, report, dialect) for f in findings) if not why), None)
    if scenario is None:
        return
    try:
        Path(name).write_text(json.dumps(scenario, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{name}: cannot be written: {error.strerror or error}") from error
