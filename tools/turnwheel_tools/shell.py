"""Runs a command of a shell in a process group of its own, and takes what it says, however much that is."""

from __future__ import annotations

import codecs
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import BinaryIO, Final, final

import anyio
import anyio.abc
from attrs import field, frozen

from turnwheel_tools.limits import MAX_BYTES

KEPT: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP", "PWD"),
        *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME"),
        *("VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME"),
        *("SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    }
)
"""The variables that a command gets of the environment: what it needs to run, and no keys."""

_CHUNK: Final = 64 * 1024
_TAIL_BYTES: Final = 2 * MAX_BYTES
_GRACE_S: Final = 0.3
"""So long the output may go on after the command has ended, held open by what it left running."""
_TERMINATE_S: Final = 1.0
"""So long a command has between being asked to end and being ended."""


@final
@frozen
class Outcome:
    """How a command ended: its exit code, None where it was ended; the tail of what it said, and how much that was.

    `file` has all of it, None where the tail is all. `invalid` says whether some of it was no UTF-8.
    """

    code: int | None
    tail: str
    bytes: int
    file: Path | None
    invalid: bool
    timed_out: bool = False
    aborted: bool = False


def allowed(environ: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a command gets: those of the list, and more."""
    return {**{name: value for name, value in environ.items() if name.upper() in KEPT}, **more}


@final
class _Output:
    """What a command says: its tail in memory, all of it in a file once it is more than that."""

    def __init__(self) -> None:
        self.bytes = 0
        self.file: Path | None = None
        self._open: BinaryIO | None = None
        self._pieces: deque[bytes] = deque()
        self._kept = 0

    def take(self, piece: bytes) -> None:
        """Take what came."""
        self.bytes += len(piece)
        self._pieces.append(piece)
        self._kept += len(piece)
        if self._open is not None:
            self._open.write(piece)
        elif self._kept > _TAIL_BYTES:
            self.file, self._open = spare_file()
            for kept in self._pieces:
                self._open.write(kept)
        while self._kept - len(self._pieces[0]) > _TAIL_BYTES:
            self._kept -= len(self._pieces.popleft())

    def tail(self) -> bytes:
        """Return the last of what came."""
        return b"".join(self._pieces)[-_TAIL_BYTES:]

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()


@final
@frozen
class Shell:
    """Where and how commands run."""

    folder: Path
    environ: Mapping[str, str] = field(repr=False)
    program: str = "/bin/bash"

    async def run(
        self, command: str, *, timeout_s: float | None, aborted: Callable[[], bool], told: Callable[[str], object]
    ) -> Outcome:
        """Run a command to its end, to its timeout, or until `aborted`; `told` takes the tail now and then.

        Whatever it has started in its process group ends with it where it is ended. Raises OSError where there is no
        such shell.
        """
        # A pipe of our own, since what the command leaves running may hold it open for longer than we read from it.
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            process = await self._started(command, writing)
            output = _Output()
            watch = _Watch(process, timeout_s, aborted)
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(watch.look)
                    group.start_soon(self._tell, output, told)
                    await self._read(process, reading, output, group)
                    group.cancel_scope.cancel()
            finally:
                with anyio.CancelScope(shield=True):
                    await watch.end(wait=process.returncode is None)
                    output.close()
        finally:
            os.close(reading)
        text, invalid = decoded(output.tail())
        code = None if watch.timed_out or watch.was_aborted else process.returncode
        return Outcome(code, text, output.bytes, output.file, invalid, watch.timed_out, watch.was_aborted)

    async def _started(self, command: str, writing: int) -> anyio.abc.Process:
        try:
            return await anyio.open_process(
                [self.program, "-c", command],
                stdin=DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=self.folder,
                env=self.environ,
                start_new_session=True,
            )
        finally:
            os.close(writing)

    async def _read(
        self, process: anyio.abc.Process, reading: int, output: _Output, group: anyio.abc.TaskGroup
    ) -> None:
        """Read until the command has ended and its output has, too; what it left running may hold that open."""
        ended = anyio.CancelScope()

        async def wait() -> None:
            await process.wait()
            ended.deadline = anyio.current_time() + _GRACE_S

        group.start_soon(wait)
        with ended:
            while True:
                await anyio.wait_readable(reading)
                piece = os.read(reading, _CHUNK)
                if not piece:
                    break
                output.take(piece)
        await process.wait()

    async def _tell(self, output: _Output, told: Callable[[str], object]) -> None:
        """Tell of the tail when it has grown, a few times a second."""
        seen = 0
        while True:
            await anyio.sleep(0.1)
            if output.bytes != seen:
                seen = output.bytes
                told(decoded(output.tail())[0])


@final
class _Watch:
    """Ends a command, and all that it started in its group, at its timeout or when the run is aborted."""

    def __init__(self, process: anyio.abc.Process, timeout_s: float | None, aborted: Callable[[], bool]) -> None:
        self.timed_out = False
        self.was_aborted = False
        self._process = process
        self._timeout_s = timeout_s
        self._aborted = aborted

    async def look(self) -> None:
        """Look until there is a reason to end it, and do so."""
        began = anyio.current_time()
        while True:
            await anyio.sleep(0.02)
            if self._aborted():
                self.was_aborted = True
            elif self._timeout_s is not None and anyio.current_time() - began > self._timeout_s:
                self.timed_out = True
            else:
                continue
            await self.end(wait=True)
            return

    async def end(self, *, wait: bool) -> None:
        """Ask the group to end, and end it where it does not."""
        if not wait:
            return
        self._signal(signal.SIGTERM)
        with anyio.move_on_after(_TERMINATE_S):
            await self._process.wait()
        # Others of the group may have stayed, or its leader may not have heard.
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def spare_file() -> tuple[Path, BinaryIO]:
    """Return a new file for output that is not shown whole."""
    number, name = tempfile.mkstemp(prefix="turnwheel-bash-", suffix=".log")
    return Path(name), os.fdopen(number, "wb")


def decoded(raw: bytes) -> tuple[str, bool]:
    """Return bytes as text, and whether some were no UTF-8. A character whose beginning was cut off is left out."""
    begin = 0
    while begin < min(3, len(raw)) and raw[begin] & 0xC0 == 0x80:
        begin += 1
    text = codecs.decode(raw[begin:], "utf-8", "replace")
    return text, "\ufffd" in text and "\ufffd".encode() not in raw
