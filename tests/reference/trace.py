"""The reference's front door: plays a scenario, given as JSON data, and returns the trace as JSON data."""

from __future__ import annotations

from copy import deepcopy

from tests.reference.loop import run
from tests.reference.shapes import Failed, Json
from tests.reference.versions import VERSIONS
from tests.reference.world import World


def reference_trace(scenario: Json, dialect: str) -> list[Json]:
    """Return the trace of a scenario in a dialect (pi-0.80.2, pi-0.85.1, pi-1.6.0), one line an entry.

    The scenario is taken to be valid. Raises KeyError for other dialects.
    """
    world = World(deepcopy(scenario), VERSIONS[dialect])
    try:
        messages = run(world)
    except Failed as error:
        return [*world.lines, {"throws": str(error)}]
    return [*world.lines, {"result": {"messages": deepcopy(messages)}}]
