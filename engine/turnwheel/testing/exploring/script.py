"""Writes down what a finite world did on one path, as a scenario that plays the same run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, final, get_args

from turnwheel.effects import CallEffect, Effect, ExecuteTool
from turnwheel.messages import Json

PARAMETERS = {"type": "object", "properties": {"good": {"type": "boolean"}}, "required": ["good"]}
"""Arguments are valid where they hold `good`."""
GOOD = {"good": True}
TOOLS: list[dict[str, Any]] = [
    # The shim does nothing; a run can be aborted when it is called.
    {"name": "work", "parameters": PARAMETERS, "prepareArguments": {}},
    {"name": "alone", "parameters": PARAMETERS, "prepareArguments": {}, "executionMode": "sequential"},
]
"""The tools of the finite world; the second one must run by itself."""


@final
class Script:
    """A scenario that grows as a path is walked."""

    def __init__(self, name: str, dialect: str, hooks: Iterable[tuple[str, Json]]) -> None:
        """`hooks` are the callbacks that are there, each with the empty list or table that answers nothing."""
        self.data: dict[str, Any] = {
            "name": name,
            "dialects": [dialect],
            "config": {"modelOnAbort": "ignore"},
            "tools": TOOLS,
            "model": [],
            "toolResults": {},
            "steering": [],
            "followUp": [],
            "hooks": dict(hooks),
        }
        self._events = 0
        self._calls: Counter[str] = Counter()
        self._now: dict[str, Json] = {"atStart": True}
        self._tick = 0
        self._running: dict[int, tuple[str, int]] = {}

    # --- what the world did ---------------------------------------------------------------------------------------

    def begin(self, said: dict[str, Json]) -> None:
        """Note how the run begins."""
        self.data.update(said)

    def append(self, where: str, _: Effect, said: Json) -> None:
        """Note the next item of a list."""
        self._at(where).append(said)

    def put(self, where: str, effect: Any, said: Json) -> None:
        """Note what is said of one tool call; None is nothing."""
        if said is not None:
            self._at(where)[effect.call.id] = said

    def arguments(self, where: str, effect: Any, said: Json) -> None:
        """Note which arguments the model wrote."""
        for call in self._at(where)[-1]["toolCalls"]:
            if call["id"] == effect.call.id:
                call["arguments"] = said

    def complete(self, where: str, effect: Any, said: dict[str, Json]) -> None:
        """Note what a tool does, and that it is done after all that has been noted before."""
        self._tick += 1
        call, began = self._running.pop(effect.id)
        delay = self._tick - began
        updates = [{**update, "at": delay} for update in said.get("updates", ())]
        self._at(where)[call] = {**said, "delay": delay, **({"updates": updates} if updates else {})}

    def abort(self) -> None:
        """Note that the run is aborted, right after what was handed out last."""
        self.data["abort"] = self._now

    # --- what the machine did -------------------------------------------------------------------------------------

    def emitted(self) -> None:
        """Note that an event was handed out."""
        self._now = {"onEvent": self._events}
        self._events += 1

    def asked(self, effect: Effect, call: str) -> None:
        """Note that an effect was handed out, for which this callback is called."""
        self._now = {"onCall": call, "nth": self._calls[call]}
        self._calls[call] += 1
        if isinstance(effect, ExecuteTool):
            self._running[effect.id] = (effect.call.id, self._tick)

    def finish(self, *, shown: bool) -> dict[str, Any]:
        """Return the scenario, in which what the path leaves open ends somehow; `shown`: an answer has begun."""
        if shown:
            self.data["model"].append({"text": "…"})
        # They end after all those that end on the path.
        for call, began in self._running.values():
            self.data["toolResults"][call] = {"delay": self._tick + 1 - began}
        return deepcopy({key: value for key, value in self.data.items() if value not in ([], {})})

    def _at(self, where: str) -> Any:
        found: Any = self.data
        for key in where.split("."):
            found = found[key]
        return found


def call_of(effect: Effect) -> str:
    """Return the id of the tool call that an effect is about, or nothing."""
    return effect.call.id if isinstance(effect, get_args(CallEffect)) else ""
