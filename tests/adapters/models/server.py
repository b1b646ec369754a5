"""A loopback server for tests of models: real sockets, threads, and every way in which a server can behave badly.

    with serving(Answer(body)) as server:                    # bytes, an SSE body
        model = HttpModel(target_at(server.url), api)
        ...
        server.requests[0].json                              # what the client sent
        await server.left()                                  # the client has closed a connection

- Several answers are given in order, the last of them again and again. `serving(lambda request: Answer(…))` chooses by
  the request (`request.path`), so that one server can serve all recordings.
- `piece=1` sends the body in HTTP chunks of one byte, which is how the client gets them; fast, as long as there is no
  `delay_s` between them. `cut=100` sends the first 100 bytes of the body and drops the connection, with a FIN or, with
  `how="rst"`, a reset. `hold=True` sends all and keeps the connection open. `silent_s` waits before the head.
- `Answer.json({…}, 429, {"retry-after": "1"})` is an error; `Answer.file(text)` takes the head from a text that begins
  with a status line, as recordings of errors do; `SILENT` never answers; `Answer(b"", 407)` refuses a CONNECT.
- `serving(greeting=b"…")` says that at once, and whatever is asked, to whoever comes, as a server of something else.
- `server.connections` counts them, `server.url` is `http://127.0.0.1:PORT`.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import anyio.to_thread
from attrs import field, frozen

SSE: Final = {"content-type": "text/event-stream"}
_PATIENCE_S: Final = 10.0
_AT_ONCE: Final = 64 * 1024


@frozen
class Answer:
    """What the server does with one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(factory=lambda: SSE)
    piece: int = 0
    cut: int | None = None
    how: Literal["fin", "rst"] = "fin"
    hold: bool = False
    delay_s: float = 0.0
    silent_s: float = 0.0
    chunked: bool = True

    @classmethod
    def json(cls, data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
        """Answer with JSON, not as a stream."""
        told = {"content-type": "application/json", **(headers or {})}
        return cls(json.dumps(data).encode(), status, told, chunked=False)

    @classmethod
    def file(cls, raw: bytes) -> Answer:
        """Answer as a recorded answer does: status line, headers, body."""
        head, _, body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        told = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        told.pop("content-length", None)
        return cls(body, int(first.split()[1]), told, chunked=False)


SILENT: Final = Answer(silent_s=_PATIENCE_S)
"""Takes the request and says nothing."""


@frozen
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class Left(Exception):
    """The client closed the connection."""


class Server:
    """Serves until its block is left; see the top of this file."""

    def __init__(self, choose: Callable[[Request], Answer], greeting: bytes) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._choose = choose
        self._greeting = greeting
        self._left = threading.Semaphore(0)
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    async def left(self) -> bool:
        """Wait until a client has closed a connection, once for each call; False if that takes too long."""
        return await anyio.to_thread.run_sync(lambda: self._left.acquire(timeout=_PATIENCE_S))

    def serve(self) -> None:
        """Take connections until the server is closed."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            thread = threading.Thread(target=self._talk, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Stop, and end all connections."""
        for each in (self._listener, *tuple(self._open)):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _talk(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            try:
                connection.sendall(self._greeting)
                while request := _read(connection):
                    self.requests.append(request)
                    if not _give(connection, self._choose(request)):
                        break
            except (Left, OSError):
                self._left.release()
            self._open.discard(connection)


@contextmanager
def serving(*answers: Answer | Callable[[Request], Answer], greeting: bytes = b"") -> Iterator[Server]:
    """Serve these answers, or what a function says, until the block is left."""
    first = answers[0] if answers else SILENT
    waiting = [answer for answer in answers if isinstance(answer, Answer)]

    def next_one(request: Request) -> Answer:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    server = Server(next_one if isinstance(first, Answer) else first, greeting)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """Give an address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


def _read(connection: socket.socket) -> Request | None:
    """Return the next request. Raises Left where the client closes before there is a whole one."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += _receive(connection)
    return Request(method, path, headers, body)


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(_AT_ONCE)
    if not data:
        raise Left
    return data


def _give(connection: socket.socket, answer: Answer) -> bool:
    """Give an answer. Say whether the connection goes on."""
    _wait(connection, answer.silent_s)
    cut = answer.cut is not None and answer.cut < len(answer.body)
    body = answer.body[: answer.cut] if cut else answer.body
    connection.sendall(_head(answer))
    _send_pieces(connection, answer, body)
    if cut:
        if answer.how == "rst":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False
    if answer.hold:
        _wait(connection, _PATIENCE_S)
        return False
    if answer.chunked:
        connection.sendall(b"0\r\n\r\n")
    return True


def _head(answer: Answer) -> bytes:
    length = {"transfer-encoding": "chunked"} if answer.chunked else {"content-length": str(len(answer.body))}
    lines = [f"HTTP/1.1 {answer.status} Told", *(f"{n}: {v}" for n, v in {**answer.headers, **length}.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _send_pieces(connection: socket.socket, answer: Answer, body: bytes) -> None:
    size = answer.piece or len(body) or 1
    waiting = bytearray()
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        waiting += b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece
        if answer.delay_s or len(waiting) >= _AT_ONCE:
            connection.sendall(waiting)
            waiting.clear()
            if start + size < len(body):
                _wait(connection, answer.delay_s)
    connection.sendall(waiting)


def _wait(connection: socket.socket, seconds: float) -> None:
    """Wait so long. Raises Left as soon as the client closes the connection."""
    if seconds and select.select([connection], [], [], seconds)[0]:
        with suppress(ConnectionError):
            if connection.recv(1, socket.MSG_PEEK):
                return
        raise Left
