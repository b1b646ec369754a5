"""All monitors: fresh ones, and a log judged by them.

    assert_kept(judge(events))

A monitor watches over one promise of the loop; see turnwheel.testing.watching.monitor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnwheel.testing.watching.lifecycle import Lifecycle
from turnwheel.testing.watching.log import Log
from turnwheel.testing.watching.monitor import Monitor, Seen
from turnwheel.testing.watching.promises import OneModelCallATurn, ResultsInCallOrder
from turnwheel.testing.watching.stopping import HardStop, SteeringBeforeFollowUp, TerminateByAll


def default_monitors(*, stop_hook: bool = True) -> list[Monitor]:
    """Return a fresh monitor for each promise; `stop_hook` False says that the run has no stop and no finish hook."""
    return [
        Lifecycle(),
        OneModelCallATurn(),
        ResultsInCallOrder(),
        HardStop(),
        SteeringBeforeFollowUp(),
        TerminateByAll(stop_hook=stop_hook),
    ]


def judge(log: Iterable[Seen], monitors: Sequence[Monitor] | None = None) -> Sequence[Monitor]:
    """Let monitors, fresh ones of all promises by default, see a log to its end, and return them."""
    judges = default_monitors() if monitors is None else monitors
    for seen in log:
        for monitor in judges:
            monitor(seen)
    if not (isinstance(log, Log) and log.torn):
        for monitor in judges:
            monitor.finish()
    return judges
