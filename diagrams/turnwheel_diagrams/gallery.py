"""The gallery: all pictures of all dialects in one folder, drawn anew where they are stale.

    python -m turnwheel_diagrams.gallery FOLDER           draws what is stale
    python -m turnwheel_diagrams.gallery FOLDER --check   only says what is

Another version of Graphviz draws the same DOT in other bytes, so an SVG is stale when its DOT has changed: it ends with
the digests of the DOT that it was drawn from and of itself. Files of text are compared as they are.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final, final

from attrs import frozen

from turnwheel.counting import MACHINES, Counts
from turnwheel.difference import diff
from turnwheel.rules import Dialect, Table
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import Graph, graph_of
from turnwheel_diagrams.grid import to_grid
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.overlays import counted
from turnwheel_diagrams.render import rendered
from turnwheel_diagrams.themes import DARK, LIGHT, Theme

RENEW: Final = "make diagrams"
COUNTS: Final = ".counts.json"
"""What the name of a file ends with that holds counts to be drawn: `corpus-pi-0.85.1.counts.json`."""
INDEX: Final = "README.md"
_OURS: Final = (".svg", ".dot", ".mmd", ".md")
_STAMP: Final = "<!-- drawn from DOT {dot}, SVG {svg} -->\n"
_STAMPED: Final = re.compile(rb"<!-- drawn from DOT ([0-9a-f]{64}), SVG ([0-9a-f]{64}) -->\n\Z")


@final
@frozen
class Picture:
    """A file of the gallery: its name, and the text that it is, or for an SVG the DOT that it is drawn from."""

    name: str
    source: str

    @property
    def drawn(self) -> bool:
        """Whether the file is drawn from its source."""
        return self.name.endswith(".svg")

    def content(self) -> bytes:
        """Return what the file is to hold. Raises NoGraphviz where it has to be drawn and cannot be."""
        if not self.drawn:
            return self.source.encode()
        svg = rendered(self.source, "svg")
        return svg + _STAMP.format(dot=_digest(self.source.encode()), svg=_digest(svg)).encode()

    def fresh(self, there: bytes) -> bool:
        """Say whether a file's content is what it would be if it were made now."""
        if not self.drawn:
            return there == self.source.encode()
        stamp = _STAMPED.search(there)
        return stamp is not None and [group.decode() for group in stamp.groups()] == [
            _digest(self.source.encode()),
            _digest(there[: stamp.start()]),
        ]


@final
@frozen
class Entry:
    """What one entry of the index shows: its title, what is to be said of it, and its pictures.

    `shown` is the name of the picture that stands in the page, without its ending; `more` names what it links to.
    """

    title: str
    about: str
    shown: str
    pictures: Sequence[Picture]
    more: Sequence[tuple[str, str]] = ()


def entries(counts: Sequence[Counts] = ()) -> Iterator[Entry]:
    """Yield all entries: each table of each dialect, what changed from each to the next, and counts."""
    dialects = [dialect(name) for name in DIALECTS]
    for language in dialects:
        for table in language.tables:
            yield _table(language, table)
    for before, after in pairwise(dialects):
        changed = {told.table for told in diff(before, after).tables}
        yield from (_difference(before, after, machine) for machine in MACHINES if machine in changed)
    for each in counts:
        yield from (_counts(each, table) for table in dialect(each.dialect).tables)


def _table(language: Dialect, table: Table) -> Entry:
    name = f"{language.name}-{table.name}"
    reader, full = (graph_of(table, language.name, full=full) for full in (False, True))
    pictures = [
        *_both(name, reader),
        Picture(f"{name}-full.svg", to_dot(full, LIGHT)),
        Picture(f"{name}.dot", to_dot(reader, LIGHT)),
        Picture(f"{name}.mmd", to_mermaid(reader, LIGHT)),
        Picture(f"{name}.md", f"# {language.name}, {table.name}: states and triggers\n\n{to_grid(table)}"),
    ]
    more = [
        (f"{name}-full.svg", "every row an edge"),
        (f"{name}.md", "states and triggers"),
        (f"{name}.mmd", "Mermaid"),
        (f"{name}.dot", "DOT"),
    ]
    return Entry(f"{language.name}, {table.name}", _ABOUT[table.name], name, pictures, more)


_ABOUT: Final = {
    "loop": "The loop: a trace from its beginning to Done.",
    "batch": "The calls of one answer, in rounds.",
    "call": "One tool call.",
}


def _difference(before: Dialect, after: Dialect, machine: str) -> Entry:
    name = f"{before.name}-to-{after.name}-{machine}"
    title = f"From {before.name} to {after.name}, {machine}"
    about = "What is new, gone and changed, with the reason of each row."
    return Entry(title, about, name, _both(name, difference_of(before, after, machine)))


def _counts(counts: Counts, table: Table) -> Entry:
    name = f"corpus-{counts.dialect}-{table.name}"
    note = f"{counts.runs:,} runs, {counts.decisions:,} decisions"
    graph = counted(table, counts.dialect, counts, notes=[note])
    title = f"{counts.dialect}, {table.name}: how often each row fires in the scenarios of the tests"
    return Entry(title, f"Counted over {note}.", name, _both(name, graph))


def _both(name: str, graph: Graph) -> list[Picture]:
    themes: list[tuple[str, Theme]] = [("", LIGHT), ("-dark", DARK)]
    return [Picture(f"{name}{ending}.svg", to_dot(graph, theme)) for ending, theme in themes]


def index(shown: Sequence[Entry]) -> str:
    """Return the page that shows all entries."""
    return "".join(f"{line}\n" for line in _index(shown))


def _index(shown: Sequence[Entry]) -> Iterator[str]:
    yield "# Gallery"
    yield ""
    yield f"Everything here is drawn from the tables by `{RENEW}`, never by hand; how to read it says"
    yield "[docs/diagrams.md](../../docs/diagrams.md)."
    for entry in shown:
        links = ", ".join(f"[{words}]({name})" for name, words in entry.more)
        yield from ("", f"## {entry.title}", "", f"{entry.about} {f'Also: {links}.' if links else ''}".rstrip(), "")
        yield "<picture>"
        yield f'  <source media="(prefers-color-scheme: dark)" srcset="{entry.shown}-dark.svg">'
        yield f'  <img alt="{entry.title}" src="{entry.shown}.svg">'
        yield "</picture>"


# --- the folder ---------------------------------------------------------------------------------------------------


def pictures_of(folder: Path) -> list[Picture]:
    """Return all files of the gallery. Raises ParseError for counts in the folder that cannot be read."""
    counts = [Counts.from_json(json.loads(path.read_bytes()), str(path)) for path in sorted(folder.glob(f"*{COUNTS}"))]
    shown = list(entries(counts))
    return [picture for entry in shown for picture in entry.pictures] + [Picture(INDEX, index(shown))]


def stale(folder: Path, pictures: Sequence[Picture]) -> tuple[list[Picture], list[Path]]:
    """Return the pictures that have to be made anew, and the files that belong to no picture."""
    names = {picture.name for picture in pictures}
    outdated = [picture for picture in pictures if not _is_fresh(folder / picture.name, picture)]
    left = [path for path in sorted(folder.iterdir()) if path.suffix in _OURS and path.name not in names]
    return outdated, left


def _is_fresh(path: Path, picture: Picture) -> bool:
    return path.is_file() and picture.fresh(path.read_bytes())


def renew(folder: Path, tell: Callable[[str], object]) -> int:
    """Make the gallery fresh, and return how many files changed. Raises NoGraphviz where nothing can draw."""
    folder.mkdir(parents=True, exist_ok=True)
    outdated, left = stale(folder, pictures_of(folder))
    for number, picture in enumerate(outdated, 1):
        tell(f"{number}/{len(outdated)} {picture.name}")
        (folder / picture.name).write_bytes(picture.content())
    for path in left:
        tell(f"removed {path.name}")
        path.unlink()
    return len(outdated) + len(left)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew or check the gallery of a folder, and return the exit status."""
    parser = ArgumentParser(prog="python -m turnwheel_diagrams.gallery", description="Draws the gallery.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if something is stale")
    asked = parser.parse_args(arguments)
    if not asked.check:
        changed = renew(asked.folder, lambda line: print(line, file=sys.stderr))
        print(f"{changed} files renewed" if changed else "the gallery is fresh")
        return 0
    outdated, left = stale(asked.folder, pictures_of(asked.folder))
    for name in [*(picture.name for picture in outdated), *(path.name for path in left)]:
        print(f"{asked.folder / name} is stale: {RENEW} renews it", file=sys.stderr)
    return 1 if outdated or left else 0


if __name__ == "__main__":
    sys.exit(main())
