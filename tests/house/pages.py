"""The pages of the documentation: their code blocks, and the tables in rules.md, which running this module renews."""

from __future__ import annotations

import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from turnwheel_adapters.cli.main import main

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
RULES: Final = DOCS / "rules.md"
RENEW: Final = ".venv/bin/python -m tests.house.pages"
COMMAND: Final = ".venv/bin/turnwheel"

_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLES: Final = re.compile(r"(<!-- begin: turnwheel (dialects --table \S+) -->\n).*(<!-- end -->\n)", re.DOTALL)
_LINK: Final = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


class Block(NamedTuple):
    """A fenced block of a page; its text begins at `line`, counted from 1."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page that name a language."""
    return [Block(found[1], found[2], page.count("\n", 0, found.start(2)) + 1) for found in _FENCE.finditer(page)]


def links(page: str) -> list[str]:
    """Return the targets of a page's links that lead to a file."""
    return [target for target in _LINK.findall(_FENCE.sub("", page)) if "://" not in target]


def run_page(name: str, page: str) -> str:
    """Run the python and pycon blocks of a page, in order and in one namespace.

    Returns what doctest has to say, nothing where all is well. Raises what a python block raises.
    """
    namespace: dict[str, Any] = {"__name__": "page"}
    said: list[str] = []
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, name, "exec", dont_inherit=True), namespace)
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, namespace, name, name, block.line - 1)
            doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
            namespace.update(test.globs)
    return "".join(said)


def sessions(page: str) -> Iterator[tuple[str, str]]:
    """Yield each use of the command in a page's console blocks, and what it is shown to print."""
    for block in blocks(page):
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, printed = part.split("\n", 1)
                if command.startswith(COMMAND):
                    yield command, printed


def printed_by(command: str) -> str:
    """Run a line of a shell session in the repository, and return what a terminal would show of it."""
    ours = shlex.join([sys.executable, "-m", "turnwheel_adapters.cli.main"])
    ended = subprocess.run(
        command.replace(COMMAND, ours),
        shell=True,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return ended.stdout.decode()


def in_any_order(printed: str) -> str:
    """Return what was printed with the ends of tools that ran side by side sorted: either may come first."""
    lines: list[str] = []
    for ended, together in groupby(printed.splitlines(), key=lambda line: line.startswith(("← ", "✗ "))):
        lines += sorted(together, key=lambda line: line if ended else "")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """Return a page with fresh tables between its markers, as the command that they name prints them.

    Raises ValueError where the page has no markers.
    """

    def fresh(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            main(shlex.split(found[2]))
        return f"{found[1]}\n{printed.getvalue()}\n{found[3]}"

    page, count = _TABLES.subn(fresh, page)
    if not count:
        raise ValueError("the page lacks the markers <!-- begin: turnwheel dialects --table … --> and <!-- end -->")
    return page


if __name__ == "__main__":
    RULES.write_text(renewed(RULES.read_text(encoding="utf-8")), encoding="utf-8")
