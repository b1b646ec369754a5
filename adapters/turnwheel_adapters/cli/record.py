"""`turnwheel run --record FILE`: the recording of a run, written line by line while the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, final

from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.effects import Effect
from turnwheel.events import Event
from turnwheel.recording import Recorder
from turnwheel.rules import Decision, Dialect
from turnwheel_adapters.cli.output import CommandError, UsageError, complain


@final
class RunRecord:
    """The recording of one run of an agent, in a file; the observers `decided` and `step` are the agent's.

    A file that is there already is replaced only where `replace` says so. Where writing fails, the run goes on without.
    """

    def __init__(self, name: str, *, replace: bool, clock: Callable[[], int]) -> None:
        self._name = name
        self._replace = replace
        self._recorder = Recorder(self._write, clock=clock)
        self._file: TextIO | None = None
        self._signal: AbortSignal | None = None
        self._whole = True
        self._runs = False

    def decided(self, decision: Decision) -> None:
        """Note a decision."""
        self._recorder.decided(decision)

    def step(self, position: int, step: Event | Effect) -> None:
        """Note an event or an effect."""
        self._recorder.step(position, step)

    @contextmanager
    def of(self, agent: Agent, dialect: Dialect, hooks: Iterable[str]) -> Iterator[None]:
        """Record the run of an agent within this context.

        Raises UsageError where the file cannot be written, before anything runs.
        """
        with self._opened() as self._file:
            state = agent.state
            self._recorder.header(
                dialect=dialect,
                model=state.model,
                thinking_level=state.thinking_level,
                hooks=hooks,
                tools=[tool.name for tool in state.tools],
            )
            self._runs = True
            unsubscribe = agent.subscribe(lambda event: self._note_signal(agent))
            yield
            unsubscribe()
            signal = self._signal
            aborted = signal is not None and signal.aborted
            reason = signal.reason if signal is not None else None
            self._recorder.ended(agent.failure, aborted=reason if aborted and reason is not None else aborted)

    def check(self) -> None:
        """Raise CommandError where something of the run could not be written."""
        if not self._whole:
            raise CommandError(f"{self._name}: the recording is not whole")

    def _note_signal(self, agent: Agent) -> None:
        self._signal = agent.signal

    @contextmanager
    def _opened(self) -> Iterator[TextIO]:
        file = self._open()
        try:
            yield file
        finally:
            # What could not be written has been told of.
            with suppress(OSError):
                file.close()

    def _open(self) -> TextIO:
        if self._name == "-":
            raise UsageError("--record needs a file: standard output shows the run itself")
        try:
            path = Path(self._name)
            # What is no regular file (a pipe, a device) has nothing to lose.
            new = not self._replace and (path.is_file() or not path.exists())
            return path.open("x" if new else "w", encoding="utf-8", newline="\n")
        except FileExistsError as error:
            raise UsageError(f"{self._name} is there already: name another file, or replace it with --force") from error
        except OSError as error:
            raise self._unwritable(error) from error
        except ValueError as error:
            raise UsageError(f"{self._name!r} is no file name: {error}") from error

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._name}: cannot be written: {error.strerror or error}")

    def _write(self, line: str) -> None:
        """Write a line at once, so that it is there whatever happens next."""
        if self._file is None or not self._whole:
            return
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            if not self._runs:
                raise self._unwritable(error) from error
            self._whole = False
            complain(f"{self._name}: {error.strerror or error}: the recording breaks off, and the run goes on")
