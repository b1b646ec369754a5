"""A story as it is played: how far its reactions have been counted, and the trace so far."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, final

from tests.conformance.story_trace import Line
from turnwheel.messages import Json
from turnwheel.testing.scenario import read_scenario

Action = Mapping[str, Json]

OWN: Final = {"listeners", "reactions", "actions", "steeringMode", "followUpMode", "getApiKey"}
"""The keys that a story has and a scenario has not."""


@final
class Script:
    """One story, its trace in `lines`."""

    def __init__(self, story: Mapping[str, Json]) -> None:
        self.story = story
        self.scenario = read_scenario({key: value for key, value in story.items() if key not in OWN})
        self.lines: list[Line] = []
        self.counts: dict[Hashable, int] = {}

    def note(self, line: Line) -> None:
        """Add a line to the trace."""
        self.lines.append(line)

    def count(self, what: Hashable) -> int:
        """Return how often this was counted before."""
        nth = self.counts.get(what, 0)
        self.counts[what] = nth + 1
        return nth

    def reactions(self, where: str, what: str | None) -> list[Action]:
        """Return the actions that are due in a listener or callback, at an event type or call."""
        due: list[Action] = []
        for at, reaction in enumerate(self.story.get("reactions", ())):
            if reaction["in"] == where and reaction.get("on", what) == what:
                nth = self.count(at)
                if reaction.get("nth", nth) == nth:
                    due.extend(reaction["do"])
        return due
