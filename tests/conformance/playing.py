"""A scenario, played on either driver: its trace, its events and the decisions that were taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio

from tests.conformance.traces import validate
from tests.engine.suspending import SuspendingHost
from turnwheel.async_driver import AsyncDriver
from turnwheel.driver import Driver
from turnwheel.events import Event
from turnwheel.machine import Machine
from turnwheel.messages import Json, Message
from turnwheel.rules import Decision, Dialect
from turnwheel.testing.play import ScenarioHost, result_line
from turnwheel.testing.scenario import Scenario

LONGEST: Final = 20
"""After so many seconds a scenario is taken for one that hangs."""

HOSTS: Final[dict[str, Callable[[ScenarioHost, Machine], Any]]] = {
    "sync ports": lambda host, machine: host,
    "ports that suspend": SuspendingHost,
}
"""The hosts on which the async driver plays a scenario."""


class Played:
    """A scenario ready to be played."""

    def __init__(self, scenario: Scenario, dialect: Dialect) -> None:
        self.host = ScenarioHost(scenario, dialect, validate)
        self.machine = Machine(self.host.begun(), dialect)
        self.events: list[Event] = []
        self.decisions: list[Decision] = []
        if scenario.abort is not None and scenario.abort.at_start:
            self.host.signal.abort()

    def listen(self, event: Event) -> None:
        """Note an event."""
        self.events.append(event)
        self.host.listen(event)

    def ended(self, messages: Sequence[Message]) -> None:
        """Note what the run gave back."""
        self.host.lines.append(result_line(messages))

    def failed(self, error: Exception) -> None:
        """Note what the run raised."""
        self.host.lines.append({"throws": str(error)})

    @property
    def trace(self) -> list[Json]:
        """The trace so far."""
        return [*self.host.lines]


def in_sync(scenario: Scenario, dialect: Dialect) -> Played:
    """Play a scenario on the sync driver."""
    played = Played(scenario, dialect)
    driver = Driver(played.machine, played.host, signal=played.host.signal, on_decision=played.decisions.append)
    try:
        played.ended(driver.run(played.listen))
    except (RuntimeError, ValueError) as error:
        played.failed(error)
    return played


async def in_async(scenario: Scenario, dialect: Dialect, host: str) -> Played:
    """Play a scenario on the async driver, on one of HOSTS."""
    played = Played(scenario, dialect)
    ports = HOSTS[host](played.host, played.machine)
    driver = AsyncDriver(played.machine, ports, signal=played.host.signal, on_decision=played.decisions.append)
    try:
        with anyio.fail_after(LONGEST):
            played.ended(await driver.run(played.listen))
    except (RuntimeError, ValueError) as error:
        played.failed(error)
    return played
