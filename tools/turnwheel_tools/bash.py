"""The tool `bash`: runs a command in the working directory, and shows the end of what it says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

from attrs import evolve, frozen

from turnwheel.messages import Json, ToolResult
from turnwheel.tool import Tool
from turnwheel_tools.contract import Aborted, ToolError, check_abort, text_result
from turnwheel_tools.define import define
from turnwheel_tools.limits import MAX_BYTES, MAX_LINES, truncate_tail
from turnwheel_tools.shell import Outcome, Shell, allowed, spare_file
from turnwheel_tools.traits import with_traits

_DESCRIPTION: Final = (
    "Run a command with bash in the working directory. stdout and stderr come together; of much output the last "
    f"{MAX_LINES:,} lines or {MAX_BYTES // 1024} KB are shown, and a file has all of it. timeout is in seconds."
)
_PARAMETERS: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "description": "What bash is to run"},
        "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "End it after so many seconds"},
    },
    "required": ["command"],
    "additionalProperties": False,
}


def bash_tool(
    root: Path | str = ".",
    *,
    timeout_s: float | None = None,
    variables: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Tool:
    """Return the tool `bash` for a folder.

    `timeout_s` is for commands whose call names none. Of the environment (`environ`, by default that of the process) a
    command gets the variables of turnwheel_tools.shell.KEPT, and `variables` besides.
    """
    given = allowed(os.environ if environ is None else environ, variables or {})
    runner = Runner(Shell(Path(root).resolve(), given), timeout_s)
    return with_traits(define("bash", _DESCRIPTION, _PARAMETERS, runner), read_only=False, replay="never")


@final
@frozen
class Runner:
    """What runs when `bash` is called."""

    shell: Shell
    timeout_s: float | None = None

    async def __call__(
        self,
        arguments: dict[str, Any],
        *,
        call_id: str,
        report: Callable[[ToolResult], None],
        aborted: Aborted,
    ) -> ToolResult:
        """Run the command. Raises ToolError where it fails, takes too long or is aborted, with what it said."""
        del call_id
        check_abort(aborted)
        command = arguments["command"]
        if "\0" in command:
            raise ToolError("The command has a NUL character, which no command can have.")
        timeout = arguments.get("timeout", self.timeout_s)

        def told(tail: str) -> None:
            report(ToolResult.of(truncate_tail(tail, MAX_LINES, MAX_BYTES).text))

        try:
            outcome = await self.shell.run(command, timeout_s=timeout, aborted=aborted, told=told)
        except OSError as error:
            raise ToolError(f"{self.shell.program} cannot be run: {error.strerror or error}.") from error
        return _result(outcome, timeout)


def _result(outcome: Outcome, timeout: float | None) -> ToolResult:
    tail = truncate_tail(outcome.tail, MAX_LINES, MAX_BYTES)
    if tail.cut and outcome.file is None:
        path, file = spare_file()
        with file:
            file.write(outcome.tail.encode(errors="replace"))
        outcome = evolve(outcome, file=path)
    notes = list(_notes(outcome, shown=len(tail.text.encode()), cut=tail.cut, timeout=timeout))
    full = str(outcome.file) if outcome.file is not None else None
    details = {"exitCode": outcome.code, "bytes": outcome.bytes, "fullOutput": full}
    result = text_result(tail.text or "(no output)", *notes, details=details)
    if outcome.code != 0:
        assert isinstance(result.content, tuple)
        raise ToolError(getattr(result.content[0], "text", ""))
    return result


def _notes(outcome: Outcome, *, shown: int, cut: bool, timeout: float | None) -> Iterator[str]:
    if cut or outcome.file is not None:
        where = f" All of it is in {outcome.file}." if outcome.file is not None else ""
        yield f"The last {shown:,} of {outcome.bytes:,} bytes are shown.{where}"
    if outcome.invalid:
        yield "U+FFFD stands for bytes that are not valid UTF-8."
    if outcome.aborted:
        yield "Command aborted"
    elif outcome.timed_out:
        yield f"Command timed out after {timeout:g} seconds, and was ended"
    elif outcome.code is not None and outcome.code < 0:
        yield f"Command was ended by signal {-outcome.code}"
    elif outcome.code:
        yield f"Command exited with code {outcome.code}"
