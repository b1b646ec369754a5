"""What was found about the mutants, as Markdown: the whole table, and the part of it that docs/mutants.md shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.mutants.equivalents import EQUIVALENTS, reason
from tests.mutants.judges import JUDGES, Finding
from tests.mutants.mutants import KINDS

PAGE: Final = Path(__file__).parents[2] / "docs" / "mutants.md"
HEAD: Final = ("dialect", "mutant", "build", *JUDGES)
TOTALS: Final = ("dialect", "kind", "mutants", "build", *JUDGES, "nobody")

_FOUND: Final = re.compile(r"(<!-- begin: mutants -->\n).*(<!-- end -->\n)", re.DOTALL)


def whole(findings: Sequence[Finding]) -> str:
    """Return all findings: who notices a mutant, a judge with the first scenario that shows it."""
    return f"{_table(HEAD, map(_row, findings))}\n{_totals(findings)}"


def renewed(page: str, findings: Sequence[Finding]) -> str:
    """Return the page with fresh tables between its markers. Raises ValueError where it has none."""
    alone = [each for each in findings if each.kind != "engine" and sum(map(bool, each.noticed.values())) == 1]
    parts = [
        "## Totals",
        _totals(findings),
        "## Mutants of the engine",
        _table(HEAD, (_row(each) for each in findings if each.kind == "engine")),
        "## Noticed by one judge alone",
        _table(("dialect", "mutant", "judge", "scenario"), map(_alone, alone)),
        "## Noticed by nobody",
        _table(("why", "mutants", "dialects"), _unnoticed()),
    ]
    text = "\n\n".join(part.strip() for part in parts)
    page, count = _FOUND.subn(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)
    if not count:
        raise ValueError("the page lacks the markers <!-- begin: mutants --> and <!-- end -->")
    return page


def wrong(findings: Iterable[Finding]) -> list[str]:
    """Return what is not as it should be: the corpus notices exactly the mutants that are not listed as equivalent."""
    said: list[str] = []
    for each in findings:
        listed = reason(each.name, each.of)
        if listed and any(each.noticed.values()):
            said.append(f"{each.of}: {each.name}: noticed, though it is listed: {listed}")
        elif not listed and not each.noticed["corpus"]:
            said.append(f"{each.of}: {each.name}: the corpus does not notice it")
    return said


def counted(findings: Iterable[Finding], of: str, kind: str) -> list[int]:
    """Return the numbers of a line of the totals: mutants, those that build and each judge notice, the rest."""
    these = [each for each in findings if (each.of, each.kind) == (of, kind)]
    judges = [sum(bool(each.noticed[judge]) for each in these) for judge in JUDGES]
    nobody = sum(not any(each.noticed.values()) for each in these)
    return [len(these), sum(each.refused for each in these), *judges, nobody]


def _totals(findings: Sequence[Finding]) -> str:
    names = list(dict.fromkeys(each.of for each in findings))
    return _table(TOTALS, ([of, kind, *map(str, counted(findings, of, kind))] for of in names for kind in KINDS))


def _row(found: Finding) -> list[str]:
    return [found.of, _code(found.name), "refused" if found.refused else "", *found.noticed.values()]


def _alone(found: Finding) -> list[str]:
    ((judge, sample),) = ((judge, sample) for judge, sample in found.noticed.items() if sample)
    return [found.of, _code(found.name), judge, sample]


def _unnoticed() -> Iterable[list[str]]:
    for each in EQUIVALENTS:
        yield [each.reason, "<br>".join(map(_code, each.names)), ", ".join(each.dialects)]


def _code(name: str) -> str:
    return f"`{name}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |\n" for cells in (head, *rows)]
    return "".join([lines[0], f"|{'---|' * len(head)}\n", *lines[1:]])
