"""A real browser, pages of runs opened in it from disk, and what must not happen there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from turnwheel.recorded import read_recording
from turnwheel.table import dialect
from turnwheel_diagrams.page import Shown, page_of, pictures_of

ARTEFACTS: Final = Path(__file__).parents[2] / "build" / "screenshots"
"""Where the pictures of the pages go, for people to look at."""
SWITCHES: Final = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

Opened = Callable[..., Any]


# Of a module and not of the session: while it is there, no other test of this thread can run an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Debian's chromium through Playwright."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not there: install it to test pages in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Return what opens a page of recordings, and afterwards fail if it asked the network or complained."""
    contexts: list[Any] = []
    problems: list[str] = []

    def open_page(
        *runs: Sequence[str],
        hash_: str = "",
        width: int = 1280,
        scheme: str = "light",
        pictures: bool = True,
        edit: Callable[[str], str] = str,
    ) -> Any:
        shown = [
            Shown(f"run {number}", read_recording(lines), dialect("pi-0.85.1")) for number, lines in enumerate(runs, 1)
        ]
        file = tmp_path / "page.html"
        file.write_text(edit(page_of(shown, pictures_of([dialect("pi-0.85.1")]) if pictures else {})), "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: _ask(request.url, problems))
        page.goto(f"{file.as_uri()}{hash_}")
        page.wait_for_selector("body[data-ready=true]", timeout=20_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def _ask(url: str, problems: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        problems.append(f"the page asked for {url}")


@pytest.fixture
def shoot(request: pytest.FixtureRequest) -> Callable[[Any, str], None]:
    """Return what keeps a picture of a page."""

    def shot(page: Any, name: str) -> None:
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(ARTEFACTS / f"{name}.png"))

    return shot
