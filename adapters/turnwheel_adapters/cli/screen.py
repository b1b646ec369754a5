"""Where a run is shown: a terminal, with dimmed text and a sign of waiting, or plain text for everything else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol, final

from turnwheel_adapters.cli.output import write

if TYPE_CHECKING:
    from rich.status import Status


class Screen(Protocol):
    """What a view writes to."""

    dims: bool
    """Whether dimmed text can be told from other text."""

    def write(self, text: str, *, dim: bool = False) -> None:
        """Write a piece of text, at once."""

    def wait(self, for_what: str) -> None:
        """Show that something is waited for, until the next piece of text."""

    def rest(self) -> None:
        """Show no more that something is waited for."""


@final
class PlainScreen:
    """A file or a pipe, or a terminal that wants no decoration."""

    dims = False

    def write(self, text: str, *, dim: bool = False) -> None:
        """Write a piece of text, at once."""
        write(text)

    def wait(self, for_what: str) -> None:
        """Say nothing."""

    def rest(self) -> None:
        """Say nothing."""


@final
class TerminalScreen:
    """A terminal, by way of rich. What is waited for shows behind a spinner that goes away again."""

    dims = True

    def __init__(self) -> None:
        # Here, since rich takes longer to load than a short run takes.
        from rich.console import Console

        self._console = Console(highlight=False, markup=False, emoji=False)
        self._status: Status | None = None

    def write(self, text: str, *, dim: bool = False) -> None:
        """Write a piece of text, at once."""
        self.rest()
        self._console.out(text, end="", style="dim" if dim else None, highlight=False)

    def wait(self, for_what: str) -> None:
        """Show that something is waited for, until the next piece of text."""
        self.rest()
        self._status = self._console.status(for_what, spinner="dots")
        self._status.start()

    def rest(self) -> None:
        """Show no more that something is waited for."""
        status, self._status = self._status, None
        if status is not None:
            status.stop()


def screen_of_stdout() -> Screen:
    """Return the screen that suits standard output: NO_COLOR, dumb terminals and pipes get plain text."""
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return PlainScreen() if plain else TerminalScreen()
