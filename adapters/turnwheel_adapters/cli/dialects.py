"""`turnwheel dialects`: the versions of the loop, their tables, and in what they differ."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import pairwise

from turnwheel.difference import Difference, SwitchDifference, TableDifference, diff
from turnwheel.rules import Dialect, Rule
from turnwheel.table import DEFAULT_DIALECT, DIALECTS
from turnwheel_adapters.cli.markdown import as_markdown, emitted, in_words, known
from turnwheel_adapters.cli.output import named_dialect, write
from turnwheel_adapters.wording import count, listed

EXAMPLES = """examples:
  turnwheel dialects                              all of them, and what changed from each to the next
  turnwheel dialects --table pi-0.85.1            the three tables of one, in Markdown
  turnwheel dialects --diff pi-0.80.2 pi-0.85.1   what changed between two
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--table", metavar="D", help="write the tables of a dialect as Markdown")
    form.add_argument("--diff", nargs=2, metavar=("A", "B"), help="write only in what B differs from A")


def run(arguments: Namespace) -> None:
    """Write what the arguments ask for."""
    if arguments.table is not None:
        lines: Iterable[str] = as_markdown(named_dialect(arguments.table))
    elif arguments.diff is not None:
        lines = differences(diff(*map(named_dialect, arguments.diff)))
    else:
        lines = overview([build() for build in DIALECTS.values()])
    write("".join(f"{line}\n" for line in lines))


def overview(dialects: list[Dialect]) -> Iterator[str]:
    """Yield the dialects with the size of their tables, and what changed from each to the next."""
    for dialect in dialects:
        sizes = listed([f"{len(table.rules)} ({table.name})" for table in dialect.tables])
        total = count(sum(len(table.rules) for table in dialect.tables), "row")
        yield f"{dialect.name:12} {total}: {sizes}{'; the default' if dialect.name == DEFAULT_DIALECT else ''}"
    for before, after in pairwise(dialects):
        yield ""
        yield from differences(diff(before, after))


def differences(difference: Difference) -> Iterator[str]:
    """Yield in words what changed, each row with its reason."""
    if not difference:
        yield f"{difference.before} and {difference.after} have the same rows and switches."
        return
    yield f"From {difference.before} to {difference.after}"
    for table in difference.tables:
        yield ""
        yield f"  {table.table}: {_sizes(table)}"
        yield from _rows(table)
    if difference.switches:
        yield ""
        yield f"  switches: {len(difference.switches)} changed"
    for switch in difference.switches:
        yield from _switch(switch)


def _sizes(table: TableDifference) -> str:
    numbers = {"gone": len(table.gone), "new": len(table.added), "changed": len(table.changed)}
    return ", ".join(f"{number} {what}" for what, number in numbers.items() if number)


def _rows(table: TableDifference) -> Iterator[str]:
    for rule in table.gone:
        yield from _row("-", rule)
    for rule in table.added:
        yield from _row("+", rule)
    for before, after in table.changed:
        yield f"    ~ {known(after)}"
        yield f"        was: {_does(before)}"
        yield f"        now: {_does(after)}"
        yield f"        {after.why}"


def _row(sign: str, rule: Rule) -> Iterator[str]:
    yield f"    {sign} {known(rule)}: {_does(rule)}"
    yield f"        {rule.why}"


def _does(rule: Rule) -> str:
    """Return what a row does, in words."""
    sets = ", ".join(f"{fact}={in_words(value)}" for fact, value in rule.sets.items())
    parts = {"emits": emitted(rule), "asks": str(rule.asks or ""), "sets": sets}
    return "; ".join([f"to {rule.dest}", *(f"{verb} {what}" for verb, what in parts.items() if what)])


def _switch(switch: SwitchDifference) -> Iterator[str]:
    yield f"    ~ {switch.name}: {in_words(switch.before)} → {in_words(switch.after)}, since {switch.since}"
    yield f"        {switch.why}"
