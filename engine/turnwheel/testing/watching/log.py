"""Reads the log of a run, as turnwheel and others write it, into what monitors see.

Three shapes, JSON lines all of them: events (`turnwheel run --json`, `--json=deltas`), the lines of conform traces
(`turnwheel conform`), and whole traces, an array a line (`turnwheel conform --serve`). The first line tells which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, final, get_args

from attrs import frozen

from turnwheel.errors import ParseError
from turnwheel.events import Event
from turnwheel.messages import Json
from turnwheel.testing.scenario import read_json
from turnwheel.testing.watching.monitor import Called, Ended, Seen
from turnwheel.wire import read_event

Shape = Literal["event", "trace line", "trace"]

_EVENTS: Final = frozenset(event.type for event in get_args(Event))
_ENTRIES: Final = frozenset({"event", "call", "result", "throws", "scenarioError"})
_FORMS: Final[Mapping[Shape, str]] = {
    "event": 'an event ({"type": …})',
    "trace line": 'a line of a trace ({"event": …}, {"call": …}, {"result": …} or {"throws": …})',
    "trace": "a trace (an array of such lines)",
}


class Place(NamedTuple):
    """Where something stands in a log: its line and, in a line that is an array, its entry; both counted from 1."""

    line: int
    entry: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}" if self.entry is None else f"line {self.line}, entry {self.entry}"


@final
@frozen
class Log:
    """What a log shows, in order; iterate over it.

    `places` says where each thing stands. `skipped` counts what turnwheel does not know, by its type. `torn` is the
    number of a last line that is not whole, which was left out; monitors do not ask for the end of such a log.
    """

    seen: Sequence[Seen]
    places: Sequence[Place]
    skipped: Mapping[str, int]
    torn: int | None = None

    def __iter__(self) -> Iterator[Seen]:
        return iter(self.seen)

    def __len__(self) -> int:
        return len(self.seen)

    def place(self, position: int) -> Place:
        """Return the place of what was seen at a position, counted from 1 as monitors do."""
        return self.places[position - 1] if position else Place(1)


def read_log(lines: Iterable[str | bytes], source: str = "") -> Log:
    """Read the lines of a log; blank ones do not count, and the partial answers of message_update are not read.

    Raises ParseError, with `source` and the number of the line, for a line that is none of a log, and for a log
    without lines.
    """
    reader = _Reader(source)
    numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise ParseError("expected JSON lines, and there is none", source=source)
    torn = None
    for number, line in numbered:
        try:
            value = _read_line(line, number, source)
        except ParseError:
            if number != numbered[-1][0] or len(numbered) == 1:
                raise
            torn = number
        else:
            reader.take(value, number)
    return Log(reader.seen, reader.places, dict(reader.skipped), torn)


def _read_line(line: str | bytes, number: int, source: str) -> Json:
    try:
        return read_json(line)
    except ParseError as error:
        column = error.path.removeprefix("line 1")
        raise ParseError(error.problem, path=f"line {number}{column}", source=source) from None


@final
class _Reader:
    """Collects what the lines of one log show."""

    def __init__(self, source: str) -> None:
        self.seen: list[Seen] = []
        self.places: list[Place] = []
        self.skipped: Counter[str] = Counter()
        self._source = source
        self._shape: Shape | None = None

    def take(self, value: Json, number: int) -> None:
        """Take what a line holds. Raises ParseError."""
        place, shape = Place(number), _shape_of(value)
        if shape is None or shape != (self._shape or shape):
            wanted = (
                [_FORMS[self._shape], "like the lines before it"] if self._shape else ["; or ".join(_FORMS.values())]
            )
            raise self._wrong(f"expected {', '.join(wanted)}", place)
        self._shape = shape
        if shape == "event":
            self._event(value, place)
        elif shape == "trace line":
            self._entry(value, place)
        else:
            for index, entry in enumerate(value, 1):
                place = Place(number, index)
                if _shape_of(entry) != "trace line":
                    raise self._wrong(f"expected {_FORMS['trace line']}", place)
                self._entry(entry, place)

    def _entry(self, entry: Json, place: Place) -> None:
        ((kind, value),) = entry.items()
        match kind, value:
            case "event", {"type": str()}:
                self._event(value, place)
            case "call", {"name": str(name)}:
                call = value.get("toolCallId")
                self._note(Called(name, call if isinstance(call, str) else None), place)
            case "throws", str():
                self._note(Ended(value), place)
            case "result", dict():
                self._note(Ended(), place)
            case "scenarioError", _:
                self.skipped[kind] += 1
            case _:
                wanted = {"event": "an object with `type`", "call": "an object with `name`", "throws": "a text"}
                raise self._wrong(f"expected {wanted.get(kind, 'an object')} as `{kind}`", place)

    def _event(self, value: Json, place: Place) -> None:
        if value["type"] not in _EVENTS:
            self.skipped[value["type"]] += 1
            return
        try:
            self._note(_read_event(value), place)
        except ParseError as error:
            raise self._wrong(": ".join(filter(None, [error.path, error.problem])), place) from None

    def _note(self, seen: Seen, place: Place) -> None:
        self.seen.append(seen)
        self.places.append(place)

    def _wrong(self, problem: str, place: Place) -> ParseError:
        return ParseError(problem, path=str(place), source=self._source)


def _read_event(value: Json) -> Event:
    """Read an event; of an answer that is not whole yet, blocks may lack what makes them readable (a call's id)."""
    if value["type"] == "message_update":
        return read_event({name: part for name, part in value.items() if name != "message"})
    try:
        return read_event(value)
    except ParseError:
        match value:
            case {"type": "message_start", "message": {"role": "assistant", "content": list()} as message}:
                return read_event({**value, "message": {**message, "content": []}})
        raise


def _shape_of(value: Json) -> Shape | None:
    """Return which shape a line has, None where it has none."""
    match value:
        case {"type": str()}:
            return "event"
        case dict() if len(value) == 1 and value.keys() <= _ENTRIES:
            return "trace line"
        case list():
            return "trace"
    return None
