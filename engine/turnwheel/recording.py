"""Recordings: what happens in one run, written as JSON lines; and read back again (by turnwheel.recorded).

The first line is the header; every other line says at which position (the number of steps handed out before) an event,
a decision, an effect or the end of the run came, in the order in which they came. This is version 1 of the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from typing import Any, Final, final, get_args

from turnwheel.effects import CallEffect, CallModel, Effect
from turnwheel.errors import Misuse
from turnwheel.events import Event
from turnwheel.messages import Json
from turnwheel.outcomes import HOOKS
from turnwheel.ports import text_of
from turnwheel.recorded import (
    VERSION,
    Entry,
    Header,
    RecordedDecision,
    RecordedEffect,
    RecordedEnd,
    RecordedEvent,
    Recording,
    read_recording,
)
from turnwheel.rules import Decision, Dialect
from turnwheel.tool import ExecutionMode
from turnwheel.wire import event_to_json

__all__ = [
    "VERSION",
    "Entry",
    "Header",
    "RecordedDecision",
    "RecordedEffect",
    "RecordedEnd",
    "RecordedEvent",
    "Recorder",
    "Recording",
    "read_recording",
]

_EVENTS: Final = get_args(Event)
_CALL_EFFECTS: Final = get_args(CallEffect)


@final
class Recorder:
    """Writes the recording of one run: hand `decided` and `step` to it as on_decision and on_step.

    `write` takes each line, newline included. `clock` tells the time in milliseconds; without one, identical runs have
    identical recordings. After `ended`, another `header` begins the recording of another run. Anything out of this
    order raises Misuse.
    """

    def __init__(self, write: Callable[[str], object], *, clock: Callable[[], int] | None = None) -> None:
        self._write = write
        self._clock = clock
        self._began: int | None = None
        self._at: int | None = None
        """The number of steps so far, or None while no recording is being written."""

    def header(
        self,
        *,
        dialect: Dialect | str,
        model: str = "m0",
        thinking_level: str = "off",
        tool_execution: ExecutionMode = "parallel",
        hooks: Iterable[str] = (),
        tools: Iterable[str] = (),
    ) -> None:
        """Begin the recording. `hooks` are names out of turnwheel.outcomes.HOOKS; ValueError for any other name."""
        if self._at is not None:
            raise Misuse("the recording has begun already: call ended() before another one begins")
        self._at = 0
        self._began = self._clock() if self._clock is not None else None
        self._put(
            {
                "turnwheel": "recording",
                "version": VERSION,
                "dialect": dialect.name if isinstance(dialect, Dialect) else dialect,
                "model": model,
                "thinkingLevel": thinking_level,
                "toolExecution": tool_execution,
                "hooks": sorted(hooks, key=HOOKS.index),
                "tools": list(tools),
                "began": self._began,
            }
        )

    def decided(self, decision: Decision) -> None:
        """Note a decision."""
        self._entry(
            decision.at,
            "decision",
            {
                "machine": decision.machine,
                "rule": decision.rule.name,
                "guards": dict(decision.guards),
                "call": decision.call,
            },
        )

    def step(self, position: int, step: Event | Effect) -> None:
        """Note an event or an effect."""
        if isinstance(step, _EVENTS):
            self._entry(position, "event", event_to_json(step, partials=False))
        else:
            self._entry(position, "effect", _facts(step))
        self._at = position + 1

    def ended(self, failure: BaseException | str | None = None, *, aborted: str | bool = False) -> None:
        """Note that the run is over: what made it fail, and whether it was aborted, or the reason of that."""
        text = text_of(failure) if isinstance(failure, BaseException) else failure
        self._entry(self._at or 0, "ended", {"failure": text, "aborted": aborted})
        self._at = None

    def _entry(self, at: int, kind: str, value: Json) -> None:
        if self._at is None:
            raise Misuse("no recording has begun: call header() first; each run has a recording of its own")
        if at < self._at:
            raise Misuse(f"position {at} comes after {self._at}: this is another run; call ended() and header() first")
        time = {"time": self._clock() - self._began} if self._clock is not None and self._began is not None else {}
        self._put({"at": at, **time, kind: value})

    def _put(self, value: Json) -> None:
        self._write(f"{_as_line(value)}\n")


def _facts(effect: Any) -> dict[str, Json]:
    """Return the little that is told of an effect: no keys, no arguments, no history."""
    facts: dict[str, Json] = {"id": effect.id, "type": effect.type}
    if isinstance(effect, _CALL_EFFECTS):
        facts |= {"toolCallId": effect.call.id, "toolName": effect.call.name}
    elif isinstance(effect, CallModel):
        asked = effect.request
        facts |= {
            "model": asked.model,
            "thinkingLevel": asked.thinking_level,
            "messages": len(asked.context.messages),
        }
    return facts


_SPECIAL: Final = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
"""What some take for the end of a line, and halves of surrogate pairs, which UTF-8 lacks."""


def _as_line(value: Json) -> str:
    """Return a value as one line of JSON. Infinity and the like are null; what is no JSON at all is its text."""
    dumps = partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str, skipkeys=True)
    try:
        text = dumps(value)
    except ValueError:
        text = dumps(_finite(value))
    return _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Json) -> Json:
    match value:
        case float() if not isfinite(value):
            return None
        case Mapping():
            return {key: _finite(part) for key, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
    return value
