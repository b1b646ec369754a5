"""The documentation is true: its code runs, its sessions and tables are what is printed, its links lead somewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.house.pages import (
    DOCS,
    RENEW,
    ROOT,
    RULES,
    Block,
    blocks,
    in_any_order,
    links,
    printed_by,
    renewed,
    run_page,
    sessions,
)
from turnwheel import table
from turnwheel.rules import Rule

README: Final = ROOT / "README.md"
PAGES: Final = [README, *sorted(DOCS.glob("*.md"))]
EXCERPT: Final = "Rule("
"""How a block begins that shows a row of the table."""


def text_of(page: Path) -> str:
    """Return a page."""
    return page.read_text(encoding="utf-8")


def runnable(page: str) -> str:
    """Return a page with its rows of the table under another language, so that they are not run."""
    return page.replace(f"```python\n{EXCERPT}", f"```row\n{EXCERPT}")


def console(pages: list[Path]) -> list[tuple[str, str, str]]:
    """Return page, command and print of all sessions."""
    return [(page.name, *session) for page in pages for session in sessions(text_of(page))]


class TestReading:
    """The reader of pages itself."""

    def test_finds_blocks_and_their_lines(self) -> None:
        """A block comes with its language, its text and the line of the page where that begins."""
        page = "# A\n\n```python\nx = 1\n```\n\n```\nno\n```\n```pycon\n>>> x\n1\n```\n"

        assert blocks(page) == [Block("python", "x = 1\n", 4), Block("pycon", ">>> x\n1\n", 11)]

    def test_blocks_share_a_namespace(self) -> None:
        """What one block defines, the later ones know, whichever of the two kinds they are."""
        page = "```python\nx = 1\n```\n```pycon\n>>> y = x + 1\n```\n```python\nassert y == 2\n```\n"

        assert run_page("page.md", page) == ""

    def test_a_wrong_print_is_told(self) -> None:
        """A session that prints something else than the page shows is told of, with the line of the page."""
        said = run_page("page.md", "text\n\n```pycon\n>>> 1 + 1\n3\n```\n")

        assert 'File "page.md", line 4' in said
        assert "Got:\n    2" in said

    def test_an_error_names_the_line_of_the_page(self) -> None:
        """A block that raises does so with the page and its line in the traceback."""
        with pytest.raises(ZeroDivisionError) as raised:
            run_page("page.md", "text\n\n```python\n\n1 / 0\n```\n")

        assert (raised.traceback[-1].path, raised.traceback[-1].lineno) == ("page.md", 4)

    def test_finds_sessions_of_the_command(self) -> None:
        """Of a console block, only uses of the command count; each comes with what follows it."""
        page = "```console\n$ make x\nmade\n$ .venv/bin/turnwheel a\none\ntwo\n$ .venv/bin/turnwheel b\n```\n"

        assert list(sessions(page)) == [(".venv/bin/turnwheel a", "one\ntwo\n"), (".venv/bin/turnwheel b", "")]

    def test_finds_links_to_files(self) -> None:
        """Links to files count, those to other sites, to a place in the page and in code do not."""
        page = "[a](b.md) [c](../d.md#e) [f](https://g.h) [i](#j)\n```python\nx[0](k)\n```\n"

        assert links(page) == ["b.md", "../d.md"]


class TestPages:
    """The rules, held against the pages."""

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_code_runs(self, page: Path) -> None:
        """The python blocks of a page run in order, and its pycon blocks print what they show."""
        assert run_page(page.name, runnable(text_of(page))) == ""

    @pytest.mark.parametrize(("page", "command", "shown"), console(PAGES))
    def test_sessions_print_what_they_show(self, page: str, command: str, shown: str) -> None:
        """The command, run in the repository, prints exactly what a page shows, but for which tool ends first."""
        assert in_any_order(printed_by(command)) == in_any_order(shown)

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_rows_are_of_the_table(self, page: Path) -> None:
        """A row that a page shows is a row of the table, reason included."""
        shown = [block for block in blocks(text_of(page)) if block.text.startswith(EXCERPT)]
        rules = [rule for each in table.dialect().tables for rule in each.rules]

        for block in shown:
            row: Rule = eval(block.text, dict(vars(table)))
            assert [rule.why for rule in rules if rule.same_as(row)] == [row.why]

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_links_lead_somewhere(self, page: Path) -> None:
        """A link to a file leads to one."""
        assert [target for target in links(text_of(page)) if not (page.parent / target).exists()] == []

    def test_every_page_is_in_the_index_and_the_readme(self) -> None:
        """Whoever looks for a page finds it from both front doors."""
        names = {page.name for page in DOCS.glob("*.md")} - {"index.md"}

        assert names
        assert {link for link in links(text_of(DOCS / "index.md")) if "/" not in link} == names
        assert names <= {Path(link).name for link in links(text_of(README))}

    def test_the_tables_are_fresh(self) -> None:
        """The tables in rules.md are what the command prints today."""
        assert text_of(RULES) == renewed(text_of(RULES)), f"docs/rules.md is stale; renew it with: {RENEW}"

    def test_the_tables_are_there(self) -> None:
        """Between the markers there is a page of the default dialect."""
        assert f"# {table.DEFAULT_DIALECT}\n" in renewed(text_of(RULES))
