"""The async driver, held against the sync one and against real Pi on every scenario of the corpus."""

from __future__ import annotations

from functools import cache

import anyio
import pytest

from tests.conformance import playing
from tests.conformance.playing import HOSTS, Played
from tests.conformance.traces import GOLDEN, difference, golden, scenario
from tests.engine.agents import BACKENDS
from turnwheel.table import dialect


@cache
def in_sync(name: str, which: str) -> Played:
    """Play a scenario on the sync driver."""
    return playing.in_sync(scenario(which), dialect(name))


@cache
def in_async(name: str, which: str, host: str, backend: str) -> Played:
    """Play a scenario on the async driver."""
    return anyio.run(playing.in_async, scenario(which), dialect(name), host, backend=backend)


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
