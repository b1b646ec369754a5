"""What is typed while a run is on: a line steers, and with `>>` in front of it, it follows up."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress

from turnwheel.agent import Agent

FOLLOW_UP = ">>"


def steering_by_lines(agent: Agent) -> None:
    """Queue each line of standard input, as it comes, until the process ends."""
    # A thread of its own, since a read from a terminal cannot be called off; as a daemon it keeps nobody waiting.
    threading.Thread(target=_read, args=(agent,), name="steering", daemon=True).start()


def _read(agent: Agent) -> None:
    # A terminal that has gone away says no more.
    with suppress(OSError):
        for line in sys.stdin:
            queue_line(agent, line)


def queue_line(agent: Agent, line: str) -> None:
    """Queue one line as it was typed; an empty one says nothing."""
    text = line.strip()
    if text.startswith(FOLLOW_UP):
        if rest := text.removeprefix(FOLLOW_UP).strip():
            agent.follow_up(rest)
    elif text:
        agent.steer(text)
