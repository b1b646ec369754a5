"""What a run, or somebody who edits the page, cannot do."""

from __future__ import annotations

import re
from typing import Final

from tests.adapters.commands import Command
from tests.adapters.conftest import turnwheel
from tests.browser.conftest import Opened
from tests.browser.runs import EVIL, SMALL, hostile, recorded

__all__ = ["turnwheel"]

LINES: Final = hostile()


class TestHostile:
    def test_nothing_runs(self, opened: Opened) -> None:
        """At every entry of a run full of markup and scripts nothing of it runs, and no element comes of it."""
        page = opened(LINES, LINES)
        scripts = page.evaluate("document.scripts.length")
        page.keyboard.press("Home")
        for _ in range(len(LINES)):
            page.keyboard.press("ArrowRight")
        page.fill("[data-run=a] [data-role=search]", EVIL[:30])

        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.querySelectorAll('img[src=x], iframe, object').length") == 0
        assert page.evaluate("document.scripts.length") == scripts
        assert page.evaluate("({}).polluted") is None

    def test_it_is_shown_as_it_is(self, opened: Opened) -> None:
        """The text is there to be read, character by character."""
        page = opened(LINES)
        page.keyboard.press("End")

        assert "<script>window.hacked=1</script>" in page.text_content("[data-role=messages]")


class TestDamaged:
    def test_the_data_of_the_page(self, opened: Opened) -> None:
        """A page whose data somebody has cut says so, and is no blank page."""

        def cut(page: str) -> str:
            return re.sub(r'("application/json"[^>]*>)(.*?)(</script>)', r"\1{\3", page, flags=re.DOTALL)

        page = opened(recorded(SMALL), edit=cut)

        assert page.is_visible("[data-role=problem]")
        assert len(page.inner_text("[data-role=problem]")) > 20

    def test_a_recording(self, turnwheel: Command) -> None:
        """Of a recording that is broken in the middle the command says where, and writes no page."""
        lines = recorded(SMALL)
        ended = turnwheel("inspect", turnwheel.write("r.jsonl", "".join([*lines[:5], "{oops\n", *lines[5:]])))

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("turnwheel: r.jsonl: line 6")
        assert not (turnwheel.folder / "r.html").exists()
