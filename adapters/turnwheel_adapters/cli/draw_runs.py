"""Draws recorded runs on the machine, for `turnwheel draw --run` and `--runs`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from turnwheel.counting import MACHINES, Counts
from turnwheel.errors import ParseError
from turnwheel.explaining import row_of
from turnwheel.recorded import Recording
from turnwheel.rules import Dialect, Table
from turnwheel.table import dialect
from turnwheel_adapters.cli.output import UsageError, complain, read_file
from turnwheel_adapters.cli.recorded import open_recording, shown
from turnwheel_adapters.wording import count
from turnwheel_diagrams.comparing import Divergence, decisions_of, first_difference, in_words
from turnwheel_diagrams.graph import Graph
from turnwheel_diagrams.overlays import Place, counted, parted, place_of, rule_of


def drawn_runs(files: Sequence[str], machine: str, *, full: bool) -> Graph:
    """Return the graph of recordings and counts, added up. Raises ParseError, naming the file, for what is neither."""
    if files.count("-") > 1:
        raise UsageError("standard input can be read once only")
    total: Counts | None = None
    place: Place | None = None
    for file in files:
        counts, place = _read(file, machine)
        if total is not None and counts.dialect != total.dialect:
            raise UsageError(
                f"{shown(file)} is of {counts.dialect}, and {shown(files[0])} of {total.dialect}: runs of one dialect "
                "can be added up; turnwheel draw --diff shows in what dialects differ"
            )
        if total is None:
            total = counts
        else:
            total.update(counts)
    assert total is not None
    note = f"{count(total.runs, 'run')}, {count(total.decisions, 'decision')}"
    # Of several runs none is the one that is somewhere.
    language = dialect(total.dialect)
    here = place if len(files) == 1 else None
    return counted(_table(language, machine), language.name, total, place=here, full=full, notes=[note])


def drawn_two(files: tuple[str, str], machine: str | None, *, full: bool) -> Graph:
    """Return the graph of two runs with the place where they part, which is told on stderr too.

    `machine` None is the one in which they part. Raises UsageError for runs of two dialects, since these have two
    pictures, and ParseError for what is no recording.
    """
    if files == ("-", "-"):
        raise UsageError("standard input can be read once only")
    (a, language), (b, other) = (open_recording(file) for file in files)
    if language.name != other.name:
        raise UsageError(
            f"{shown(files[0])} is of {language.name}, and {shown(files[1])} of {other.name}: two runs of one dialect "
            "can be compared; turnwheel draw --diff shows in what dialects differ"
        )
    for recording, file in ((a, files[0]), (b, files[1])):
        _check(recording, language, file)
    parting = first_difference(a, b)
    words = in_words(parting, language, other)
    complain(" ".join(words))
    counts = Counts.of(a)
    counts.update(Counts.of(b))
    table = _table(language, machine or _machine_of(parting))
    return parted(
        table, language.name, counts, parting, full=full, notes=[f"A: {shown(files[0])}, B: {shown(files[1])}", *words]
    )


def _machine_of(parting: Divergence | None) -> str:
    told = None if parting is None else parting.a or parting.b
    return "loop" if told is None else told.machine


def _read(file: str, machine: str) -> tuple[Counts, Place | None]:
    """Read a recording, or counts."""
    if file != "-" and (data := _counts_in(read_file(file))) is not None:
        counts = Counts.from_json(data, file)
        _check_counts(counts, file)
        return counts, None
    recording, language = open_recording(file)
    _check(recording, language, file)
    return Counts.of(recording), place_of(recording, language, machine)


def _counts_in(content: bytes) -> object | None:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.get("turnwheel") == "counts" else None


def _check(recording: Recording, language: Dialect, file: str) -> None:
    """Raise ParseError for a decision that the dialect does not know."""
    for decision in decisions_of(recording):
        try:
            rule_of(decision, language)
        except ValueError as error:
            raise ParseError(str(error), source=shown(file)) from error


def _check_counts(counts: Counts, file: str) -> None:
    try:
        language = dialect(counts.dialect)
        for machine in MACHINES:
            for rule in counts.of_machine(machine):
                row_of(language, machine, rule)
    except ValueError as error:
        raise ParseError(str(error), source=file) from error


def _table(language: Dialect, machine: str) -> Table:
    return {table.name: table for table in language.tables}[machine]
