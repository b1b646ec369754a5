"""Every picture in Mermaid is drawn by the real Mermaid, in a browser, with all its edges and rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from tests.diagrams.parsed import TABLES, name_of
from turnwheel.rules import Dialect, Table
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.graph import Graph, graph_of
from turnwheel_diagrams.labels import said
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.themes import DARK, LIGHT, Theme

CHROMIUM: Final = Path("/usr/bin/chromium")
MERMAID: Final = Path(__file__).parent / "mermaid/node_modules/mermaid/dist/mermaid.min.js"
SWITCHES: Final = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
DRAW: Final = """async text => {
  document.body.innerHTML = (await mermaid.render('drawn', text)).svg;
  const all = (what, tell) => Array.from(document.querySelectorAll(what)).map(tell);
  return {
    edges: all('path.flowchart-link', path => path.dataset.id),
    labels: all('.edgeLabel p', label => label.innerHTML),
    states: all('g.node', node => node.textContent),
  };
}"""

Draw = Callable[[Graph, Theme], dict[str, list[str]]]


@pytest.fixture(scope="module")
def draw() -> Iterator[Draw]:
    """Return what draws a picture in a browser, and says which edges, labels and states it has."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there: install chromium")
    if not MERMAID.exists():
        pytest.skip("Mermaid is not installed: run `make pi`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES)
        page = browser.new_page()
        page.add_script_tag(path=str(MERMAID))
        page.evaluate("mermaid.initialize({startOnLoad: false})")

        def drawn(graph: Graph, theme: Theme) -> dict[str, list[str]]:
            found: dict[str, list[str]] = page.evaluate(DRAW, to_mermaid(graph, theme))
            return found

        yield drawn
        browser.close()


def ends(ids: list[str]) -> Counter[tuple[str, str]]:
    """Return source and destination of the edges with these ids."""
    found = [re.fullmatch(r"L_([^_]+)_([^_]+)_\d+", each) for each in ids]
    return Counter((each[1], each[2]) for each in found if each)


def lines(labels: list[str]) -> Counter[str]:
    """Return the lines of labels, as they are read."""
    return Counter(unescape(re.sub(r"<[^>]*>", "", line)) for label in labels for line in re.split("<br ?/?>", label))


def agrees(graph: Graph, found: dict[str, list[str]]) -> None:
    """Hold what was drawn against the graph: its states, its edges, and a line for each row."""
    rows = [
        f"{f'{number}: ' if number else ''}{said(rule, asks=True)}"
        for edge in graph.edges
        for rule, number in zip(edge.rules, edge.notes or [0] * len(edge.rules), strict=True)
    ]
    drawn: Any = {
        name: sum(state.startswith(name) for state in found["states"]) for name in (n.name for n in graph.nodes)
    }

    assert ends(found["edges"]) == Counter((edge.source, edge.dest) for edge in graph.edges)
    assert len(found["edges"]) == len(graph.edges)
    assert lines([label for label in found["labels"] if label]) == Counter(rows)
    assert set(drawn.values()) == {1}


class TestTables:
    """The pictures of the tables."""

    @pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
    @pytest.mark.parametrize("case", TABLES, ids=name_of)
    def test_are_drawn_whole(self, case: tuple[Dialect, Table], theme: Theme, draw: Draw) -> None:
        """For a reader and in full, every state, edge and row is there."""
        each, table = case
        for full in (False, True):
            graph = graph_of(table, each.name, full=full)
            agrees(graph, draw(graph, theme))


class TestDifferences:
    """The pictures of what differs from one dialect to the next."""

    @pytest.mark.parametrize("machine", ["loop", "batch", "call"])
    @pytest.mark.parametrize(("before", "after"), list(pairwise(DIALECTS)))
    def test_are_drawn_whole(self, before: str, after: str, machine: str, draw: Draw) -> None:
        """Every state and edge is there, and each row that differs behind its number."""
        graph = difference_of(dialect(before), dialect(after), machine)

        agrees(graph, draw(graph, LIGHT))
