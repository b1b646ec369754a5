"""Ctrl-C: the first one ends the run as aborted, the second one ends the process; without a run, the first one does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from turnwheel.agent import Agent


@contextmanager
def aborting_on_interrupt(agent: Agent) -> Iterator[None]:
    """Within this context an interrupt aborts the run that is on; one more ends the process.

    While no run is on, before it begins and after its end, it raises KeyboardInterrupt. Only the main thread can be
    interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def first(number: int, frame: FrameType | None) -> None:
        if agent.signal is None:
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        agent.abort("interrupted")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
