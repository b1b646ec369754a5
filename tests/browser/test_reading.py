"""Reading a run: the list, search and filter, messages, turns, decisions, tokens; and a long run."""

from __future__ import annotations

import time
from typing import Any, Final

from tests.browser.conftest import Opened
from tests.browser.runs import SMALL, STEERED, counted, long, recorded
from turnwheel.recorded import RecordedDecision, RecordedEffect, RecordedEvent, read_recording

LINES: Final = recorded(SMALL)
ENTRIES: Final = read_recording(LINES).entries


def number_in(page: Any, role: str) -> int:
    """Return the first number that a part of the page tells."""
    return int("".join(c for c in page.inner_text(f"[data-role={role}]").split(" ")[0] if c.isdigit()) or 0)


def uncheck_all_but(page: Any, kind: str) -> None:
    """Let the list show entries of one kind."""
    for box in page.query_selector_all("[data-role=filter]"):
        if box.get_attribute("value") != kind:
            box.uncheck()


class TestList:
    def test_filter(self, opened: Opened) -> None:
        """A kind that is chosen alone leaves exactly the entries of it."""
        for kind, of in (("decision", RecordedDecision), ("effect", RecordedEffect), ("event", RecordedEvent)):
            page = opened(LINES)
            uncheck_all_but(page, kind)
            shown = page.eval_on_selector_all("[data-entry]", "rows => rows.map(row => row.dataset.kind)")

            assert number_in(page, "shown") == sum(isinstance(entry, of) for entry in ENTRIES)
            assert set(shown) == {kind}

    def test_steps_pass_over_the_rest(self, opened: Opened) -> None:
        """With a filter, steps go from one shown entry to the next."""
        page = opened(LINES)
        uncheck_all_but(page, "effect")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        index = int(page.input_value("[data-role=scrubber]"))

        assert isinstance(ENTRIES[index], RecordedEffect)

    def test_search(self, opened: Opened) -> None:
        """What is searched for is found in all entries, and Enter goes from hit to hit."""
        page = opened(LINES)
        page.keyboard.press("/")
        page.keyboard.type("at last")
        hits = number_in(page, "hits")
        page.keyboard.press("Enter")
        index = int(page.input_value("[data-role=scrubber]"))

        assert hits >= 1
        assert "at last" in LINES[index + 1]

    def test_search_without_a_hit(self, opened: Opened) -> None:
        """Where nothing is found, that is said."""
        page = opened(LINES)
        page.fill("[data-role=search]", "no such text anywhere")

        assert "no" in page.inner_text("[data-role=hits]").lower() or number_in(page, "hits") == 0


class TestPanels:
    def test_the_decision(self, opened: Opened) -> None:
        """A decision is told with its rule, its reason, what each guard said, and what could have been."""
        index = next(i for i, e in enumerate(ENTRIES) if isinstance(e, RecordedDecision) and "calls" in e.rule)
        told = opened(LINES, hash_=f"#at={index}").inner_text("[data-role=decision]")

        assert "CheckStop → ExecutingTools" in told
        assert "Calls in the answer decide, not the stop reason." in told
        assert "hard_stop" in told
        assert "What else could have fired" in told

    def test_messages(self, opened: Opened) -> None:
        """At the end everything that was said is there: prompt, calls with arguments, results, answer."""
        page = opened(LINES)
        page.keyboard.press("End")
        told = page.inner_text("[data-role=messages]")

        for words in ("compare both", "slow", "quick", "at last", "at once", "both are in"):
            assert words in told

    def test_messages_grow(self, opened: Opened) -> None:
        """At the beginning nothing of the answer is there yet."""
        assert "both are in" not in opened(LINES, hash_="#at=3").inner_text("[data-role=messages]")

    def test_a_failed_answer(self, opened: Opened) -> None:
        """Steering, follow-up, and the error of an answer are all to be read."""
        page = opened(recorded(STEERED))
        page.keyboard.press("End")
        told = page.inner_text("[data-role=messages]")

        for words in ("by the way", "and then?", "overloaded"):
            assert words in told

    def test_lanes(self, opened: Opened) -> None:
        """Tools that ran side by side have lanes that overlap, in the column of their turn."""
        page = opened(LINES)
        boxes = [page.query_selector(f'[data-turn="1"] [data-call="{call}"]').bounding_box() for call in "ab"]
        turn = page.query_selector('[data-turn="1"]').bounding_box()

        assert boxes[0]["y"] != boxes[1]["y"]
        assert max(box["x"] for box in boxes) < min(box["x"] + box["width"] for box in boxes)
        assert all(turn["x"] <= box["x"] <= turn["x"] + turn["width"] for box in boxes)
        assert page.query_selector('[data-turn="2"]') is not None

    def test_tokens(self, opened: Opened) -> None:
        """The tokens of each answer are told, and their sum."""
        page = opened(counted(LINES))
        page.keyboard.press("End")
        total = page.inner_text("[data-role=tokens]").partition("total so far")[2]

        assert total.split() == ["200", "40", "6", "0"]


class TestLong:
    def test_five_thousand_events(self, opened: Opened) -> None:
        """A run of 5,000 events opens and steps without delay, and search reaches its end."""
        lines = long()
        events = sum(isinstance(entry, RecordedEvent) for entry in read_recording(lines).entries)
        assert events > 5000

        began = time.monotonic()
        page = opened(lines)
        opening = time.monotonic() - began
        began = time.monotonic()
        for _ in range(100):
            page.keyboard.press("ArrowRight")
        stepping = time.monotonic() - began
        page.fill("[data-role=search]", "b429")
        page.press("[data-role=search]", "Enter")
        print(f"{events} events: opened in {opening:.2f} s, 100 steps in {stepping:.2f} s")

        assert opening < 10
        assert stepping < 10
        assert int(page.input_value("[data-role=scrubber]")) > 1000
