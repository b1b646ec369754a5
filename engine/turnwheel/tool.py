"""A tool as the loop knows it: a name, a schema, and whether it may run beside others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, final

from attrs import field

from turnwheel.messages import Extra, Json, ToolCall, ToolResult
from turnwheel.transcript import Transcript, transcript
from turnwheel.values import value

ExecutionMode = Literal["sequential", "parallel"]
"""Whether the calls of one answer run one after the other or side by side."""


Prepare = Callable[[Json, str], Json]
"""Shims, coerces and validates: takes the model's arguments and the name of the dialect's rules, returns a new object.

Raises with a text for the model where the arguments are wrong.
"""


class Run(Protocol):
    """The shape of `Tool.run` that turnwheel's own hosts call. It may be a coroutine function."""

    def __call__(
        self,
        arguments: Any,
        *,
        call_id: str,
        report: Callable[[ToolResult], None],
        aborted: Callable[[], bool],
    ) -> Any:
        """Do the work. What is returned may be a text, blocks or any JSON value as well (turnwheel.running.as_result).

        `report` tells observers of partial results, `aborted` says whether the run has been aborted; a function that
        needs none of the three may leave them out. Raise to fail: the error's text becomes the result.
        """


@final
@value
class Tool:
    """What may be called.

    `parameters` is a JSON schema. `execution_mode` sequential makes every batch sequential that calls the tool. `run`
    does the work (see Run), and `prepare` turns the arguments that a model wrote into those that `run` gets, or raises
    (see Prepare; None: they are taken as they are). Neither is part of equality, nor of JSON.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(factory=lambda: {"type": "object", "properties": {}})
    execution_mode: ExecutionMode | None = None
    run: Any = field(default=None, eq=False, repr=False, kw_only=True)
    prepare: Prepare | None = field(default=None, eq=False, repr=False, kw_only=True)
    extra: Extra = field(factory=dict, kw_only=True, repr=False)


def check_readable(call: ToolCall) -> None:
    """Raise ValueError where whoever read the model's stream noted in the call that its arguments could not be read.

    Source: `argumentsError` of Pi 1.3.0.
    """
    if error := call.extra.get("argumentsError"):
        raise ValueError(f'Invalid arguments for tool "{call.name}": {error}')


@final
@value
class Context:
    """What a model call starts from; `messages` is a snapshot, `tools` are looked up by name and the first one wins."""

    system_prompt: str = ""
    messages: Transcript = field(factory=Transcript, converter=transcript)
    tools: Sequence[Tool] = ()

    def tool(self, name: str) -> Tool | None:
        """Return the first tool of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


@final
@value
class Request:
    """A model call: what is asked of which model. `thinking_level` off asks for no reasoning."""

    model: str
    thinking_level: str
    context: Context
