"""A scenario: one run of the loop described completely, what goes in and what the world answers. Read from JSON.

The format is Pi's conformance format; see docs of `turnwheel conform`. Unknown keys are errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, final, get_args, get_origin

import attrs
from attrs import field, frozen
from cattrs import BaseValidationError, Converter

from turnwheel.errors import ParseError
from turnwheel.loadout import is_system
from turnwheel.messages import ABSENT, Absent, Content, Json, Message
from turnwheel.shapes import Misfit, Read, camel, located, misfit, new_converter, read, reads_class
from turnwheel.testing.scripted import OnAbort, ScriptedAnswer
from turnwheel.tool import ExecutionMode


@final
@frozen
class Throws:
    """A callback that fails with this text."""

    throws: str


Poll = Sequence[Message] | Throws | None
"""What one poll of a queue gives."""


@final
@frozen
class ContextStart:
    """The context that a run begins with. `tools` None: all tools of the scenario."""

    system_prompt: str = ""
    messages: Sequence[Message] = ()
    tools: Sequence[str] | None = None


@final
@frozen
class Config:
    """Settings of the run."""

    tool_execution: ExecutionMode | None = None
    model: str = "m0"
    thinking_level: str = "off"
    model_on_abort: OnAbort = "aborted"


@final
@frozen
class Shim:
    """What a tool does to the arguments before they are validated."""

    throws: str | None = None
    rename: Mapping[str, Json] = field(factory=dict)
    set: Mapping[str, Json] = field(factory=dict)


@final
@frozen
class ScenarioTool:
    """A tool; what a call of it does, `tool_results` says."""

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(factory=lambda: {"type": "object", "properties": {}})
    execution_mode: ExecutionMode | None = None
    prepare_arguments: Shim | None = None


@final
@frozen
class Update:
    """A partial result, `at` so many ticks after the call."""

    text: str | None = None
    content: Sequence[Content] | Absent | None = ABSENT
    details: Json = ABSENT
    terminate: Json = ABSENT
    at: float = 0


@final
@frozen
class Execution:
    """What executing one call does."""

    text: str | None = None
    content: Sequence[Content] | Absent | None = ABSENT
    details: Json = ABSENT
    terminate: Json = ABSENT
    is_error: Json = ABSENT
    usage: Json = ABSENT
    added_tool_names: Json = ABSENT
    structured_content: Json = ABSENT
    delay: float = 0
    throws: str | None = None
    abort_throws: str | None = None
    updates: Sequence[Update] = ()


@final
@frozen
class Before:
    """What the before hook does with one call."""

    block: Json = False
    reason: str | None = None
    terminate: Json = False
    set_args: Mapping[str, Json] | None = None
    throws: str | None = None


@final
@frozen
class After:
    """What the after hook does with one call."""

    text: str | None = None
    content: Sequence[Content] | Absent | None = ABSENT
    details: Json = ABSENT
    is_error: Json = ABSENT
    terminate: Json = ABSENT
    usage: Json = ABSENT
    structured_content: Json = ABSENT
    throws: str | None = None


@final
@frozen
class Edit:
    """A change of a list of messages."""

    drop_first: int | None = None
    keep_last: int | None = None
    append: Sequence[Message] = ()
    throws: str | None = None

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages as edited; system messages stay. Raises RuntimeError where the edit says so."""
        if self.throws is not None:
            raise RuntimeError(self.throws)
        kept = [at for at, message in enumerate(messages) if not is_system(message)]
        kept = kept[self.drop_first or 0 :]
        if self.keep_last is not None:
            kept = kept[max(0, len(kept) - self.keep_last) :]
        chosen = set(kept)
        left = [message for at, message in enumerate(messages) if at in chosen or is_system(message)]
        return [*left, *self.append]


Messages = Sequence[Message] | Edit | None
"""A list of messages, or an edit of the one that is there."""


@final
@frozen
class ContextChange:
    """What parts of a context are replaced; None leaves a part."""

    system_prompt: str | None = None
    messages: Messages = None
    tools: Sequence[str] | None = None


@final
@frozen
class Preparation:
    """What the preparation of a turn or of a request returns; `messages` only of a turn, and only since Pi 0.86.0."""

    context: ContextChange | None = None
    model: str | None = None
    thinking_level: str | None = None
    messages: Messages = None
    throws: str | None = None


@final
@frozen
class FinishTurn:
    """What the finish hook returns (since Pi 0.87.0)."""

    action: Literal["end", "continue"] | None = None
    throws: str | None = None


@final
@frozen
class Hooks:
    """What the callbacks return; one that is None is not configured."""

    before_tool_call: Mapping[str, Before] | None = None
    after_tool_call: Mapping[str, After] | None = None
    prepare_next_turn: Sequence[Preparation | None] | None = None
    should_stop_after_turn: Sequence[bool | Throws | None] | None = None
    transform_context: Edit | Sequence[Edit | None] | None = None
    convert_to_llm: Literal["default", "identity", "custom-as-user"] | Throws = "default"
    finish_turn: Sequence[FinishTurn | None] | None = None
    prepare_request: Sequence[Preparation | None] | None = None


CallName = Literal[
    "getSteeringMessages",
    "getFollowUpMessages",
    "prepareNextTurn",
    "shouldStopAfterTurn",
    "finishTurn",
    "prepareRequest",
    "transformContext",
    "convertToLlm",
    "prepareArguments",
    "beforeToolCall",
    "execute",
    "afterToolCall",
    "stream",
]
"""The callbacks of a trace."""


@final
@frozen
class Abort:
    """When the run is aborted."""

    on_event: int | None = None
    on_call: CallName | None = None
    nth: int = 0
    at_tick: float | None = None
    at_start: bool = False


@final
@frozen
class Scenario:
    """One run, described completely."""

    name: str = ""
    description: str = ""
    dialects: Sequence[str] | None = None
    entry: Literal["prompt", "continue"] = "prompt"
    context: ContextStart = field(factory=ContextStart)
    prompts: Sequence[Message] = ()
    config: Config = field(factory=Config)
    tools: Sequence[ScenarioTool] = ()
    model: Sequence[ScriptedAnswer] = ()
    tool_results: Mapping[str, Execution] = field(factory=dict)
    hooks: Hooks = field(factory=Hooks)
    steering: Sequence[Poll] | None = ()
    follow_up: Sequence[Poll] | None = ()
    abort: Abort | None = None


DEEPEST = 200
"""So many levels of lists and objects are read. How many Python itself can read differs from version to version."""
MOST_DELTAS = 100_000
"""In so many pieces a block can be cut."""
_TOO_DEEP = object()


# --- reading ------------------------------------------------------------------------------------------------------


def read_scenario(data: Json, source: str = "") -> Scenario:
    """Read a scenario from JSON data. Raises ParseError: which `source`, which path in it, and what was expected."""
    try:
        scenario = cast(Scenario, read(_converter(), Scenario, data, ""))
        _check_tools(scenario)
        _check_answers(scenario.model, "model")
        _check_numbers(scenario)
    except ParseError as error:
        raise error.within(source) from None
    return scenario


def read_scenario_text(text: str | bytes, source: str = "") -> Scenario:
    """Read a scenario from JSON text. Raises ParseError."""
    return read_scenario(read_json(text, source), source)


def read_json(text: str | bytes, source: str = "") -> Json:
    """Return the JSON value that `text` holds. Raises ParseError with line and column."""
    try:
        value = json.loads(text if isinstance(text, str) else text.decode(), parse_constant=_no_number)
    except _NoNumber as error:
        raise ParseError(f"expected JSON: {error} is no number there", source=source) from None
    except UnicodeDecodeError as error:
        raise ParseError(f"expected UTF-8 text; byte {error.start} is not", source=source) from None
    except json.JSONDecodeError as error:
        raise ParseError(
            f"expected JSON: {error.msg}", path=f"line {error.lineno}, column {error.colno}", source=source
        ) from None
    except RecursionError:
        value = _TOO_DEEP
    except ValueError as error:
        # Python refuses whole numbers of thousands of digits.
        raise ParseError(f"expected JSON: {error}", source=source) from None
    if not _is_shallow(value):
        raise ParseError(f"expected JSON of a sensible depth, at most {DEEPEST} levels", source=source)
    return value


def _is_shallow(value: Json) -> bool:
    """Say whether a value has at most DEEPEST levels of lists and objects."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner = [item for item in level if isinstance(item, list | dict)]
        if not inner:
            return value is not _TOO_DEEP
        level = [item for part in inner for item in (part.values() if isinstance(part, dict) else part)]
    return False


class _NoNumber(Exception):
    """A word that Python's reader takes for a number, and JSON does not have."""


def _no_number(word: str) -> None:
    raise _NoNumber(word)


def read_answers(data: Json, source: str = "") -> list[ScriptedAnswer]:
    """Read a script: a list of model answers, or a scenario, whose `model` is taken. Raises ParseError."""
    if isinstance(data, dict):
        return list(read_scenario(data, source).model)
    try:
        answers = list(read(_converter(), Sequence[ScriptedAnswer], data, ""))
        _check_answers(answers, "")
    except ParseError as error:
        raise error.within(source) from None
    return answers


def _check_tools(scenario: Scenario) -> None:
    known = {tool.name for tool in scenario.tools}
    hooks = scenario.hooks
    named = {"context": scenario.context.tools}
    for hook, changes in (("prepareNextTurn", hooks.prepare_next_turn), ("prepareRequest", hooks.prepare_request)):
        for at, change in enumerate(changes or ()):
            if change is not None and change.context is not None:
                named[f"hooks.{hook}[{at}].context"] = change.context.tools
    for path, names in named.items():
        for at, name in enumerate(names or ()):
            if name not in known:
                raise ParseError(
                    f"expected the name of a tool of the scenario, got {name!r}", path=f"{path}.tools[{at}]"
                )


def _check_numbers(scenario: Scenario) -> None:
    if (abort := scenario.abort) is not None:
        _check_number(abort.nth, "abort.nth")
        _check_number(abort.at_tick or 0, "abort.atTick")
    for call, does in scenario.tool_results.items():
        _check_number(does.delay, f"toolResults.{call}.delay")
        for at, update in enumerate(does.updates):
            _check_number(max(update.at, 0), f"toolResults.{call}.updates[{at}].at")
    edits = scenario.hooks.transform_context
    for at, edit in enumerate([edits] if isinstance(edits, Edit) else edits or ()):
        path = "hooks.transformContext" if isinstance(edits, Edit) else f"hooks.transformContext[{at}]"
        if edit is not None:
            _check_number(edit.drop_first or 0, f"{path}.dropFirst")
            _check_number(edit.keep_last or 0, f"{path}.keepLast")


def _check_answers(answers: Sequence[ScriptedAnswer], path: str) -> None:
    for at, answer in enumerate(answers):
        try:
            answer.final()
        except ParseError as error:
            raise ParseError(error.problem, path=f"{path}[{at}].{error.path}") from None
        if isinstance(answer.deltas, int):
            _check_number(answer.deltas, f"{path}[{at}].deltas", most=MOST_DELTAS)
        else:
            for n, step in enumerate(answer.deltas):
                _check_number(step.content_index, f"{path}[{at}].deltas[{n}].contentIndex")


def _check_number(number: float, path: str, *, most: float = math.inf) -> None:
    """Check that what counts something or is a time is not below zero, nor above what can be played."""
    if not 0 <= number <= most or math.isinf(number):
        wanted = "a number from 0 on" if math.isinf(most) else f"a number from 0 to {most}"
        raise ParseError(f"expected {wanted}, got {number}", path=path)


# --- how the format is read ---------------------------------------------------------------------------------------


@cache
def _converter() -> Converter:
    converter = new_converter()
    message_of = converter.get_structure_hook(Message)

    def read_short(data: Json, kind: Any) -> Any:
        if isinstance(data, str):
            data = {"role": "user", "content": [{"type": "text", "text": data}]}
        return message_of(data, kind)

    whole = converter.get_structure_hook(int)
    converter.register_structure_hook(int, lambda data, kind: int(whole(data, kind)))
    converter.register_structure_hook_factory(_is_ours, _closed)
    converter.register_structure_hook_factory(_is_choice, _by_shape)
    converter.register_structure_hook_factory(_is_table, _each)
    converter.register_structure_hook_func(lambda kind: kind == Message, read_short)
    return converter


def _is_ours(kind: Any) -> bool:
    return attrs.has(kind) and kind.__module__ in (__name__, ScriptedAnswer.__module__)


def _closed(kind: Any, converter: Converter) -> Read:
    """Return the reader of a class in which unknown keys are errors."""
    build = reads_class(kind, converter)
    known = {camel(f.name): f for f in attrs.fields(kind)}

    def from_json(data: Json, _: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            if key not in known:
                raise Misfit(f"unknown key; there are {', '.join(known)}", f".{key}")
        return build(data, kind)

    return from_json


def _is_choice(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType) and sum(map(attrs.has, get_args(kind))) <= 1


def _by_shape(kind: Any, converter: Converter) -> Read:
    """Return the reader of a union whose members are told apart by the type of the JSON value."""
    hooks: dict[type, tuple[Read, Any]] = {}
    for option in get_args(kind):
        hook = (lambda data, _: data) if option in (NoneType, Absent) else converter.get_structure_hook(option)
        for shape in _shapes(option):
            hooks[shape] = (hook, option)
    wanted = " or ".join(_WORDS[shape] for shape in hooks if shape in _WORDS)

    def from_json(data: Json, _: Any) -> Any:
        if type(data) not in hooks:
            raise misfit(wanted, data)
        hook, option = hooks[type(data)]
        return hook(data, option)

    return from_json


_WORDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a number", NoneType: "null"}


def _shapes(option: Any) -> tuple[type, ...]:
    if attrs.has(option) or get_origin(option) is Mapping:
        return (dict,)
    if get_origin(option) is Sequence:
        return (list,)
    if get_origin(option) is Literal:
        return (str,)
    return (int, float) if option in (int, float) else (option,)


def _is_table(kind: Any) -> bool:
    return get_origin(kind) is Mapping and attrs.has(get_args(kind)[1])


def _each(kind: Any, converter: Converter) -> Read:
    """Return the reader of an object whose values are of one class."""
    value_kind = get_args(kind)[1]
    build = converter.get_structure_hook(value_kind)

    def from_json(data: Json, _: Any) -> Any:
        if not isinstance(data, dict):
            raise misfit("an object", data)
        found = {}
        for key, value in data.items():
            try:
                found[key] = build(value, value_kind)
            except (BaseValidationError, Misfit) as error:
                at, problem = located(error)
                raise Misfit(problem, f".{key}{at}") from None
        return found

    return from_json
