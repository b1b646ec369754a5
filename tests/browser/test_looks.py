"""How the page looks: it fits, it can be read, and it can be used without a mouse. Pictures of it are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.browser.conftest import Opened
from tests.browser.runs import OTHER, SMALL, hostile, recorded

LINES: Final = recorded(SMALL)
MIDDLE: Final = "#at=24"

CONTRASTS: Final = """() => {
  const channels = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const color = channels(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest('svg, script, style, template, dialog') ||
        !node.checkVisibility()) continue;
    const [a, b] = [light(channels(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(walker.currentNode.data.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
  }
  return poor;
}"""


class TestWidth:
    @pytest.mark.parametrize("width", [1280, 800])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_nothing_sticks_out(
        self, opened: Opened, shoot: Callable[[Any, str], None], width: int, scheme: str
    ) -> None:
        """At either width the page does not scroll sideways, with one run, with two, and with hostile text."""
        runs = {"one": [LINES], "two": [LINES, recorded(OTHER)], "hostile": [hostile()]}
        for name, lines in runs.items():
            page = opened(*lines, width=width, scheme=scheme, hash_=MIDDLE)
            shoot(page, f"{name}-{width}-{scheme}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


class TestColors:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_contrast(self, opened: Opened, scheme: str) -> None:
        """All text has a contrast of at least 4.5 to 1 against what is behind it (WCAG 2.2, level AA)."""
        page = opened(LINES, recorded(OTHER), scheme=scheme, hash_=MIDDLE)

        assert page.evaluate(CONTRASTS) == []

    def test_dark_and_light(self, opened: Opened) -> None:
        """The page is dark where the system is, and the button changes it."""
        background = "getComputedStyle(document.body).backgroundColor"
        light, dark = (opened(LINES, scheme=scheme).evaluate(background) for scheme in ("light", "dark"))
        page = opened(LINES)
        page.click("[data-role=theme]")

        assert light != dark
        assert page.evaluate(background) == dark


class TestKeyboard:
    def test_everything_is_reached(self, opened: Opened) -> None:
        """Tab comes to each control in turn, each has a name, and what has the focus is seen to have it."""
        page = opened(LINES)
        page.evaluate("document.body.focus()")
        seen: list[str] = []
        for _ in range(60):
            page.keyboard.press("Tab")
            told = page.evaluate("""() => {
              const it = document.activeElement, style = getComputedStyle(it);
              const name = it.getAttribute('aria-label') || it.innerText || it.labels?.[0]?.innerText || it.title || '';
              return [it.dataset.role || it.dataset.go || it.tagName, name.trim(),
                      style.outlineStyle !== 'none' || style.boxShadow !== 'none'];
            }""")
            if told[0] == "BODY":
                break
            seen.append(told[0])
            assert told[1], told
            assert told[2], told
        assert {"theme", "help", "first", "back", "on", "last", "scrubber", "filter", "search"} <= set(seen)

    def test_landmarks(self, opened: Opened) -> None:
        """Whoever hears the page finds its main part and named regions."""
        page = opened(LINES)

        assert page.query_selector("main") is not None
        assert page.eval_on_selector_all("main section", "all => all.every(each => each.ariaLabel || each.dataset.run)")
