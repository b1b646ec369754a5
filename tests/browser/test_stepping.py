"""Stepping through a run: the entry, the state and the row that are lit follow the recording."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.browser.conftest import Opened
from tests.browser.runs import LANGUAGE, OTHER, SMALL, recorded
from turnwheel.explaining import decides_to_stop, row_of
from turnwheel.recorded import RecordedDecision, read_recording
from turnwheel.table import dialect

LINES: Final = recorded(SMALL)
ENTRIES: Final = read_recording(LINES).entries


def at(page: Any, run: str = "a") -> int:
    """Return the index of the entry that is shown."""
    return int(page.input_value(f"[data-run={run}] [data-role=scrubber]"))


def lit(page: Any, run: str = "a") -> list[str]:
    """Return the states that are lit."""
    found: list[str] = page.eval_on_selector_all(
        f"[data-run={run}] [data-state].lit", "all => all.map(each => each.dataset.state)"
    )
    return sorted(set(found))


def state_at(index: int) -> str:
    """Return the state of the loop after the entries up to one, as the recording's decisions say."""
    state = "AwaitSteering"
    for entry in ENTRIES[: index + 1]:
        if isinstance(entry, RecordedDecision) and entry.machine == "loop":
            state = str(row_of(dialect(LANGUAGE), "loop", entry.rule)[1].dest)
    return state


class TestKeys:
    def test_every_entry(self, opened: Opened) -> None:
        """Stepping on through the whole run lights at each entry the state that the recording says."""
        page = opened(LINES)
        page.keyboard.press("Home")
        for index in range(len(ENTRIES)):
            assert at(page) == index
            assert lit(page) == [state_at(index)]
            current = page.eval_on_selector("[data-role=entries] [aria-current=true]", "row => row.dataset.entry")
            assert int(current) == index
            page.keyboard.press("ArrowRight")
        assert at(page) == len(ENTRIES) - 1

    def test_back(self, opened: Opened) -> None:
        """Stepping back lights what was lit before."""
        page = opened(LINES)
        page.keyboard.press("End")
        for index in range(len(ENTRIES) - 1, len(ENTRIES) - 12, -1):
            assert lit(page) == [state_at(index)]
            page.keyboard.press("k")
        page.keyboard.press("j")
        assert at(page) == len(ENTRIES) - 11

    def test_decisions(self, opened: Opened) -> None:
        """The keys n and p go from one decision by which the run goes on or stops to the next, and back."""
        stops = [
            index
            for index, entry in enumerate(ENTRIES)
            if isinstance(entry, RecordedDecision)
            and entry.machine == "loop"
            and decides_to_stop(row_of(dialect(LANGUAGE), "loop", entry.rule)[1])
        ]
        page = opened(LINES)
        page.keyboard.press("Home")
        for index in [each for each in stops if each > 0]:
            page.keyboard.press("n")
            assert at(page) == index
        page.keyboard.press("p")
        assert at(page) == stops[-2]

    def test_the_help(self, opened: Opened) -> None:
        """? tells the keys, and Escape takes them away again."""
        page = opened(LINES)
        page.keyboard.press("?")
        assert page.is_visible("dialog")
        page.keyboard.press("Escape")
        assert not page.is_visible("dialog")


class TestScrubber:
    @pytest.mark.parametrize("index", [0, 7, len(ENTRIES) - 1])
    def test_it_goes_anywhere(self, opened: Opened, index: int) -> None:
        """The scrubber takes the page to an entry, state and all."""
        page = opened(LINES)
        page.fill("[data-role=scrubber]", str(index))

        assert lit(page) == [state_at(index)]
        assert f"entry {index} of {len(ENTRIES) - 1}" in page.inner_text("[data-role=position]")


class TestLink:
    def test_a_moment(self, opened: Opened) -> None:
        """The address leads to the moment that was shown, also after it was opened anew."""
        page = opened(LINES, hash_="#at=12")
        assert at(page) == 12
        page.keyboard.press("ArrowRight")
        assert page.evaluate("location.hash") == "#at=13"
        page.reload()
        page.wait_for_selector("body[data-ready=true]")
        assert at(page) == 13

    def test_one_that_is_none(self, opened: Opened) -> None:
        """An address that leads nowhere shows the beginning or the end, and no error."""
        for wrong in ("#at=99999", "#at=x", "#what", "#at=-1"):
            page = opened(LINES, hash_=wrong)
            assert 0 <= at(page) < len(ENTRIES)


class TestRow:
    def test_the_row_that_fired(self, opened: Opened) -> None:
        """After a decision of the loop its row is marked, and no other."""
        index = next(i for i, e in enumerate(ENTRIES) if isinstance(e, RecordedDecision) and "calls" in e.rule)
        page = opened(LINES, hash_=f"#at={index}")
        rules = dialect(LANGUAGE).loop.rules
        (number,) = [n for n, rule in enumerate(rules) if rule.name == getattr(ENTRIES[index], "rule", "")]
        fired = page.eval_on_selector_all("[data-row].fired", "all => all.map(each => each.dataset.row)")

        assert [int(each) for each in fired] == [number]

    def test_without_a_picture(self, opened: Opened) -> None:
        """Without Graphviz the states are a row of boxes, lit just the same."""
        page = opened(LINES, pictures=False, hash_="#at=20")

        assert lit(page) == [state_at(20)]


class TestTwoRuns:
    def test_to_the_difference(self, opened: Opened) -> None:
        """Two runs say where they part and which guard differed; a button leads there, in both."""
        page = opened(LINES, recorded(OTHER))
        words = page.inner_text("[data-role=difference]")
        page.click("[data-role=to-difference]")

        assert "The guard calls says yes in A and no in B." in words
        assert getattr(ENTRIES[at(page)], "rule", "") == "CheckStop ready !hard_stop calls !cut_off"
        assert lit(page, "a") == ["ExecutingTools"]
        assert lit(page, "b") == ["TurnEnd"]

    def test_both_step(self, opened: Opened) -> None:
        """One key moves both, unless that is switched off."""
        page = opened(LINES, recorded(OTHER), hash_="#at=3&run=a")
        page.keyboard.press("ArrowRight")
        assert (at(page, "a"), at(page, "b")) == (4, 4)
        page.uncheck("[data-role=together]")
        page.keyboard.press("ArrowRight")
        assert sorted([at(page, "a"), at(page, "b")]) == [4, 5]

    def test_equal_runs(self, opened: Opened) -> None:
        """Equal runs are said to be equal."""
        assert "the same decisions" in opened(LINES, LINES).inner_text("[data-role=difference]")
