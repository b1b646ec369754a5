"""What a recording holds, and how it is read back (see turnwheel.recording, which writes it)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Literal, TypeVar, final, get_args

from attrs import frozen
from cattrs import Converter

from turnwheel.errors import ParseError
from turnwheel.events import Event
from turnwheel.messages import Json
from turnwheel.shapes import new_converter, read
from turnwheel.showing import Shown
from turnwheel.tool import ExecutionMode
from turnwheel.wire import read_event

VERSION: Final = 1
"""The version of the format that is written and read here."""

_EVENTS: Final = get_args(Event)
_KINDS: Final = ("event", "decision", "effect", "ended")
_Kind = TypeVar("_Kind")


@final
@frozen
class Header:
    """What was recorded. `hooks` names the callbacks that the run had; `began` is in milliseconds since 1970 (UTC)."""

    dialect: str
    model: str
    thinking_level: str
    tool_execution: ExecutionMode
    hooks: Sequence[str]
    tools: Sequence[str]
    began: int | None = None


@final
@frozen
class RecordedEvent:
    """An event, handed out at position `at`. A message_update has its step, and not what the message had become."""

    at: int
    time: int | None
    event: Event


@final
@frozen
class RecordedDecision:
    """A rule that fired before the step at position `at`: its name, and what each guard said.

    `call` is the position of the tool call in its answer, or None for the loop and the batch.
    """

    at: int
    time: int | None
    machine: Literal["loop", "batch", "call"]
    rule: str
    guards: Mapping[str, bool]
    call: int | None = None


@final
@frozen
class RecordedEffect:
    """An effect, handed out at position `at`: its `id` and type, and the call or the request that it is about.

    `messages` is the number of messages in the request.
    """

    at: int
    time: int | None
    id: int
    type: str
    tool_call_id: str | None = None
    tool_name: str | None = None
    model: str | None = None
    thinking_level: str | None = None
    messages: int | None = None


@final
@frozen
class RecordedEnd:
    """The end of the run: why it failed, or None; and whether it had been aborted, with the reason if one was given."""

    at: int
    time: int | None
    failure: str | None
    aborted: str | bool


Entry = RecordedEvent | RecordedDecision | RecordedEffect | RecordedEnd
"""A line of a recording. `time` is in milliseconds since the header's `began`, or None."""


@final
@frozen
class Recording(Shown):
    """One run as it was recorded, as far as it was. `torn` is the number of a last line that was not whole, or None."""

    header: Header
    entries: Sequence[Entry]
    torn: int | None = None

    @property
    def ended(self) -> RecordedEnd | None:
        """How the run ended; None where the recording breaks off."""
        last = self.entries[-1] if self.entries else None
        return last if isinstance(last, RecordedEnd) else None


# --- reading ------------------------------------------------------------------------------------------------------


def read_recording(lines: Iterable[str | bytes], source: str = "") -> Recording:
    """Read the lines of a recording; blank ones do not count, nor do keys and kinds of entries that are not known.

    A last line that is not whole is left out and noted in `torn`. Raises ParseError, with `source` and the number of
    the line, for what is no recording (and says what it is instead), for another version, and for a line that does not
    fit.
    """
    numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise ParseError(f"expected {_WANTED}, and there is nothing", source=source)
    try:
        header = _read_header(_value(numbered[0][1]))
        torn = None
        if len(numbered) > 1 and _value(numbered[-1][1]) is _NOT_JSON:
            torn, _ = numbered.pop()
        return Recording(header, tuple(_entries(numbered[1:])), torn)
    except ParseError as error:
        raise error.within(source) from None


_NOT_JSON: Final = object()
_WANTED: Final = (
    'a recording, whose first line is {"turnwheel": "recording", …} (turnwheel run --record FILE writes one)'
)


def _value(line: str | bytes) -> Json:
    """Return the value that a line holds, or _NOT_JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _NOT_JSON


@cache
def _converter() -> Converter:
    return new_converter()


def _read_header(value: Json) -> Header:
    if not isinstance(value, dict) or value.get("turnwheel") != "recording":
        raise ParseError(f"expected {_WANTED}; {_described(value)}")
    if value.get("version") != VERSION:
        raise ParseError(
            f"this recording has version {value.get('version')!r} of the format, and version {VERSION} is what this "
            "turnwheel reads: use the turnwheel that wrote it, or a later one"
        )
    return _structured(Header, value, "line 1")


def _described(value: Json) -> str:
    """Say what a file is that is no recording, by the value of its first line."""
    match value:
        case {"type": str(kind)} if any(kind == event.type for event in _EVENTS):
            return "this is a log of events, Pi's JSON: it shows what happened, but no decisions"
        case {"event": _} | {"call": _} | {"result": _} | {"throws": _} | [{}, *_]:
            return "this is a conform trace: it shows events and calls, but no decisions"
    return "this is not JSON" if value is _NOT_JSON else "this is some other JSON"


def _entries(numbered: Iterable[tuple[int, str | bytes]]) -> Iterator[Entry]:
    """Yield the entries of the lines behind the header."""
    last, ended = 0, False
    for number, line in numbered:
        value, path = _value(line), f"line {number}"
        if not isinstance(value, dict):
            raise ParseError("this is not JSON" if value is _NOT_JSON else "expected an object", path=path)
        if "turnwheel" in value or ended:
            raise ParseError("the recording is over, or another begins here: a file holds one run", path=path)
        at = value.get("at")
        if type(at) is not int or at < last:
            raise ParseError(f"expected the position, a whole number from {last} on, as `at`, got {at!r}", path=path)
        last, kinds = at, [kind for kind in _KINDS if kind in value]
        if len(kinds) > 1:
            raise ParseError(f"expected one of {', '.join(_KINDS)}, got {' and '.join(kinds)}", path=path)
        for kind in kinds:
            yield _entry(kind, value, path)
        ended = "ended" in kinds


def _entry(kind: str, value: dict[str, Json], path: str) -> Entry:
    when, what, path = {"at": value["at"], "time": value.get("time")}, value[kind], f"{path}: {kind}"
    if type(when["time"]) not in (int, type(None)):
        raise ParseError(f"expected the time in milliseconds, got {when['time']!r}", path=path)
    if kind == "event":
        return RecordedEvent(**when, event=read_event(what, path))
    if not isinstance(what, dict):
        raise ParseError("expected an object", path=path)
    if kind == "ended":
        failure, aborted = what.get("failure"), what.get("aborted", False)
        if not isinstance(failure, str | None) or not isinstance(aborted, str | bool):
            raise ParseError("expected a text or null as `failure`, and a text, true or false as `aborted`", path=path)
        return RecordedEnd(**when, failure=failure, aborted=aborted)
    if kind == "effect":
        return _structured(RecordedEffect, what | when, path)
    decision = _structured(RecordedDecision, what | when, path)
    for name, said in decision.guards.items():
        if not isinstance(said, bool):
            raise ParseError(f"expected true or false, got {said!r}", path=f"{path}.guards.{name}")
    return decision


def _structured(kind: type[_Kind], value: Json, path: str) -> _Kind:
    found: _Kind = read(_converter(), kind, value, path)
    return found
