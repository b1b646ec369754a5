"""The async driver, held against the sync one and against real Pi on every scenario of the corpus."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import anyio
import pytest

from tests.conformance.test_golden import GOLDEN, difference, golden, scenario, validate
from tests.engine.agents import BACKENDS, LONGEST
from tests.engine.suspending import SuspendingHost
from turnwheel.async_driver import AsyncDriver
from turnwheel.driver import Driver
from turnwheel.events import Event
from turnwheel.machine import Machine
from turnwheel.messages import Json
from turnwheel.rules import Decision
from turnwheel.table import dialect
from turnwheel.testing.play import ScenarioHost, _bare
from turnwheel.wire import to_json

HOSTS: dict[str, Callable[[ScenarioHost, Machine], Any]] = {
    "sync ports": lambda host, machine: host,
    "ports that suspend": SuspendingHost,
}


class Played:
    """A scenario ready to be played: its trace, its events and the decisions taken."""

    def __init__(self, name: str, which: str) -> None:
        self.scenario = scenario(which)
        self.host = ScenarioHost(self.scenario, dialect(name), validate)
        self.machine = Machine(self.host.begun(), dialect(name))
        self.events: list[Event] = []
        self.decisions: list[Decision] = []
        if self.scenario.abort is not None and self.scenario.abort.at_start:
            self.host.signal.abort()

    def listen(self, event: Event) -> None:
        self.events.append(event)
        self.host.listen(event)

    def ended(self, messages: Any, error: Exception | None) -> None:
        told = None if error else {"messages": [_bare(to_json(message)) for message in messages]}
        self.host.lines.append({"throws": str(error)} if error else {"result": told})

    @property
    def trace(self) -> list[Json]:
        return [*self.host.lines]


@cache
def in_sync(name: str, which: str) -> Played:
    """Play a scenario on the sync driver."""
    played = Played(name, which)
    driver = Driver(played.machine, played.host, signal=played.host.signal, on_decision=played.decisions.append)
    try:
        played.ended(driver.run(played.listen), None)
    except (RuntimeError, ValueError) as error:
        played.ended((), error)
    return played


@cache
def in_async(name: str, which: str, host: str, backend: str) -> Played:
    """Play a scenario on the async driver."""
    played = Played(name, which)

    async def run() -> None:
        ports = HOSTS[host](played.host, played.machine)
        driver = AsyncDriver(played.machine, ports, signal=played.host.signal, on_decision=played.decisions.append)
        try:
            with anyio.fail_after(LONGEST):
                played.ended(await driver.run(played.listen), None)
        except (RuntimeError, ValueError) as error:
            played.ended((), error)

    anyio.run(run, backend=backend)
    return played


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("name", "which"), GOLDEN)
class TestGolden:
    """One scenario, one host, one back end."""

    def test_the_same_trace(self, name: str, which: str, host: str, backend: str) -> None:
        """The trace is the one that real Pi gave."""
        found = difference(in_async(name, which, host, backend).trace, golden(name, which))

        if found is not None:
            pytest.fail(f"{which} in {name}: {found}", pytrace=False)

    def test_the_same_run(self, name: str, which: str, host: str, backend: str) -> None:
        """Events and decisions, with rule, guards, position and call, are those of the sync driver."""
        ours, theirs = in_async(name, which, host, backend), in_sync(name, which)

        assert ours.events == theirs.events
        assert ours.decisions == theirs.decisions
        assert ours.trace == theirs.trace
