"""Server-sent events: bytes in, events out, however they are cut."""

from __future__ import annotations

from typing import Final, NoReturn, final

from turnwheel.values import value
from turnwheel_adapters.apis.failures import Broken, Failure

LARGEST_EVENT: Final = 32 * 2**20
"""So many bytes one event may have."""
LARGEST_STRAYS: Final = 16 * 2**10
"""So many bytes are kept of lines that belong to no event."""

_BOM: Final = b"\xef\xbb\xbf"
_LINE_ENDS: Final = (b"\n", b"\r")
_IGNORED: Final = (b"id", b"retry")
_NAMES: Final = (b"data", b"event", *_IGNORED)


@final
@value
class ServerEvent:
    """One event: its name (message, unless the server says otherwise), and its data, the lines joined by newlines."""

    name: str
    data: str


@final
class Decoder:
    """Reads one body. Text is UTF-8, whatever a header says; lines end with LF, CRLF or CR and with nothing else.

    Bytes are decoded only as whole lines, in which no character can be cut. The cost is linear in the bytes, whether
    they come in many small or few large pieces.
    """

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        """`largest` is how many bytes one event may have."""
        self._largest = largest
        self._rest = bytearray()
        self._after_cr = False
        self._begun = False
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0
        self._strays = bytearray()

    @property
    def strays(self) -> str:
        """The lines so far that are no field of an event, such as a bare JSON object or a page; the first of them."""
        return self._strays.decode(errors="replace")

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that they complete. Raises Broken for one that is too large."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest += chunk
            if self._size + len(self._rest) > self._largest:
                self._refuse()
            return []
        self._rest += chunk
        lines = bytes(self._rest).splitlines()
        self._rest.clear()
        self._after_cr = chunk.endswith(b"\r")
        if not chunk.endswith(_LINE_ENDS):
            self._rest += lines.pop()
        return self._events(lines)

    def end(self) -> list[ServerEvent]:
        """Return the last event, where the body ends without the blank line that completes it."""
        rest = bytes(self._rest)
        self._rest.clear()
        cut = any(name.startswith(rest) for name in _NAMES)
        return self._events([b"" if cut else rest, b""])

    def _events(self, lines: list[bytes]) -> list[ServerEvent]:
        events = []
        for line in lines:
            if line:
                self._field(line)
            else:
                if self._data:
                    events.append(self._event())
                self._name = b""
        return events

    def _event(self) -> ServerEvent:
        data = b"\n".join(self._data).decode(errors="replace")
        self._data = []
        self._size = 0
        return ServerEvent(self._name.decode(errors="replace") or "message", data)

    def _field(self, line: bytes) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        name, _, text = line.partition(b":")
        text = text.removeprefix(b" ")
        if name == b"data":
            self._size += len(text) + 1
            if self._size > self._largest:
                self._refuse()
            self._data.append(text)
        elif name == b"event":
            self._name = text
        elif name and name not in _IGNORED:
            self._strays += (line + b"\n")[: LARGEST_STRAYS - len(self._strays)]

    def _refuse(self) -> NoReturn:
        self._rest.clear()
        self._data = []
        self._size = 0
        told = (
            f"one event has more than {self._largest} bytes; check the base URL, and that the server is the right one"
        )
        raise Broken(Failure("protocol", told, code="event_too_large"))
