"""The signature of a function as a schema, and arguments made into the types that it names.

Parameters may be str, int, float, bool, Literal, Enum, X | None, list, dict, tuple, set, TypedDict, attrs classes,
dataclasses and unions of these, nested as one likes; `Annotated` adds a description (a text) and bounds (msgspec.Meta,
or what annotated-types has). A default makes a parameter optional.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Final, NewType, final, get_args, get_origin, get_type_hints, is_typeddict

import docstring_parser
import msgspec
from attrs import frozen
from cattrs import BaseValidationError, Converter, transform_error
from cattrs.errors import StructureHandlerNotFoundError
from cattrs.strategies import configure_union_passthrough

from turnwheel.messages import Json
from turnwheel_tools.contract import Aborted, ToolError

CallId = NewType("CallId", str)
"""Annotates the parameter that gets the id of the call."""
Report = Callable[[Any], None]
"""Annotates the parameter that gets a function which tells of partial results, whatever they are (as_result)."""

_OFFERED: Final[tuple[tuple[Any, str], ...]] = ((CallId, "call_id"), (Aborted, "aborted"), (Report, "report"))
_BOUNDS: Final = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "description", "title")


@final
@frozen(eq=False)
class Signature:
    """What a tool's function takes: the schema of its arguments, their types, and what the host offers besides."""

    description: str
    schema: Mapping[str, Json]
    hints: Mapping[str, Any]
    offered: Mapping[str, str]

    def keywords(self, arguments: Mapping[str, Json], offered: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords to call the function with. Raises ToolError for a value that does not become its type."""
        made: dict[str, Any] = {}
        for name, value in arguments.items():
            if name not in self.hints:
                raise ToolError(f"There is no argument {name!r}.")
            made[name] = _structured(name, value, self.hints[name])
        return {**made, **{name: offered[what] for name, what in self.offered.items()}}


def signature_of(function: Callable[..., Any]) -> Signature:
    """Return the signature of a function. Raises TypeError, naming the parameter, for what no schema can say."""
    target: Any = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(f"a type in the signature is not known where the function stands: {error}") from error
    told = docstring_parser.parse(inspect.getdoc(function) or "")
    abouts = {param.arg_name: param.description for param in told.params if param.description}
    properties: dict[str, Json] = {}
    definitions: dict[str, Json] = {}
    required: list[str] = []
    types: dict[str, Any] = {}
    offered: dict[str, str] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"{name}: a tool's parameters are given by name, so there are no {parameter.kind.description} ones"
            )
        if name not in hints:
            raise TypeError(f"{name}: the parameter has no type, so no schema can be made")
        what = next((what for kind, what in _OFFERED if hints[name] == kind), None)
        if what is not None:
            offered[name] = what
            continue
        properties[name], more = _schema_of(name, hints[name])
        definitions |= more
        types[name] = hints[name]
        if name in abouts:
            properties[name] = {"description": abouts[name], **properties[name]}
        if parameter.default is parameter.empty:
            required.append(name)
        elif (default := _plain(parameter.default)) is not _NO_JSON:
            properties[name] = {**properties[name], "default": default}
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    if definitions:
        schema["$defs"] = definitions
    text = "\n\n".join(filter(None, [told.short_description, told.long_description]))
    return Signature(text, _closed(schema), types, offered)


def _schema_of(name: str, hint: Any) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the schema of a type, and the definitions that it refers to."""
    try:
        (schema,), definitions = msgspec.json.schema_components([_with_meta(hint)], ref_template="#/$defs/{name}")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: no schema can be made of {hint}: {error}") from error
    return schema, definitions


def _with_meta(hint: Any) -> Any:
    """Return a type whose annotations are those of msgspec."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *notes = get_args(hint)
    told: dict[str, Any] = {}
    for note in notes:
        if isinstance(note, str):
            told["description"] = note
        else:
            found = {bound: getattr(note, bound, None) for bound in _BOUNDS}
            told |= {bound: value for bound, value in found.items() if value is not None}
    return Annotated[inner, msgspec.Meta(**told)] if told else inner


def _closed(schema: Json) -> Json:
    """Return a schema whose objects take no keys but their own: msgspec lets others pass."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        name: part if name in ("default", "enum", "const") else _closed_parts(name, part)
        for name, part in schema.items()
    }
    if "properties" in closed and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


def _closed_parts(name: str, part: Json) -> Json:
    if name in ("properties", "$defs") and isinstance(part, dict):
        return {key: _closed(value) for key, value in part.items()}
    return _closed(part)


_NO_JSON: Final = object()
_AS_THEY_ARE: Final = (str, int, bool, type(None))


def _plain(default: Any) -> Json:
    """Return a default as JSON, or _NO_JSON."""
    try:
        return msgspec.to_builtins(default)
    except TypeError:
        return _NO_JSON


@cache
def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)

    def typed_dict(value: Any, kind: Any) -> Any:
        hints = get_type_hints(kind)
        return {name: converter.structure(part, hints.get(name, Any)) for name, part in value.items()}

    # The schema has checked what a value is; cattrs would make a text of anything.
    converter.register_structure_hook_func(lambda kind: kind in _AS_THEY_ARE, lambda value, _: value)
    converter.register_structure_hook_func(lambda kind: kind is float, lambda value, _: float(value))
    converter.register_structure_hook_func(is_typeddict, typed_dict)
    configure_union_passthrough(str | int | float | bool | None, converter)
    return converter


def _structured(name: str, value: Json, hint: Any) -> Any:
    try:
        return _converter().structure(value, hint)
    except BaseValidationError as error:
        raise ToolError("; ".join(transform_error(error, path=name))) from error
    except (ValueError, TypeError, KeyError, StructureHandlerNotFoundError) as error:
        raise ToolError(f"{name}: {error}") from error
