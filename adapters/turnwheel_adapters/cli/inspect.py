"""`turnwheel inspect`: a recorded run, or two of them beside each other, as one HTML page to step through."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from turnwheel_adapters.cli.output import UsageError, complain, write
from turnwheel_adapters.cli.recorded import add_file, open_recording, shown
from turnwheel_adapters.wording import count

if TYPE_CHECKING:
    from turnwheel_diagrams.page import Pictures, Shown

EXAMPLES = """examples:
  turnwheel run --record run.jsonl "read README.md and LICENSE"
  turnwheel inspect run.jsonl                     writes run.html
  turnwheel inspect run.jsonl other.jsonl -o two.html

The page is one file that needs no network: open it in a browser.
"""


def configure(parser: ArgumentParser) -> None:
    """Say what the command takes."""
    parser.epilog = EXAMPLES
    add_file(parser)
    parser.add_argument("file2", metavar="FILE2", nargs="?", help="another recording, to be compared with it")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="where the page goes (default: beside FILE, with the ending .html)"
    )
    parser.add_argument("--force", action="store_true", help="replace OUT if it is there already")


def run(arguments: Namespace) -> None:
    """Write the page. Raises ParseError for a recording that cannot be read, UsageError where OUT cannot be written."""
    # Here, so that the other commands start without it.
    from turnwheel_diagrams.page import Shown, page_of

    names = [name for name in (arguments.file, arguments.file2) if name is not None]
    out = _out(names, arguments.output)
    runs = [Shown(shown(name), *open_recording(name)) for name in names]
    page = page_of(runs, _pictures(runs)).encode()
    _put(page, out, replace=arguments.force)
    recorded = count(sum(len(each.recording.entries) for each in runs), "recorded line")
    write(f"{out}: {recorded}, {len(page) / 1e6:,.1f} MB; open it in a browser\n")


def _out(names: list[str], output: str | None) -> Path:
    """Return where the page goes. Raises UsageError where that is no place for it."""
    if output == "-" or (output is None and names[0] == "-"):
        raise UsageError("the page needs a file: name one with -o")
    if output is not None:
        out = Path(output)
    else:
        out = Path(names[0]).with_name("-".join(Path(name).stem for name in names) + ".html")
    if any(name != "-" and _same(Path(name), out) for name in names):
        raise UsageError(f"{out} is the recording itself: name another file with -o")
    return out


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def _pictures(runs: list[Shown]) -> Pictures:
    """Return the diagrams, or none where there is no Graphviz, which is then told of."""
    from turnwheel_diagrams.page import pictures_of
    from turnwheel_diagrams.render import HOW_TO_GET, NoGraphviz

    try:
        return pictures_of(dict.fromkeys(run.dialect for run in runs))
    except NoGraphviz:
        complain(f"the states are shown as a row of boxes; for a picture: {HOW_TO_GET}")
        return {}


def _put(page: bytes, out: Path, *, replace: bool) -> None:
    try:
        # What is no regular file (a pipe, a device) has nothing to lose.
        new = not replace and (out.is_file() or not out.exists())
        with out.open("xb" if new else "wb") as file:
            file.write(page)
    except FileExistsError as error:
        raise UsageError(f"{out} is there already: name another file with -o, or replace it with --force") from error
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{str(out)!r} is no file name: {error}") from error
