"""Preparing the arguments of a tool call: coerced by a version's rules, then validated.

Source: validateToolArguments of Pi (pi-ai 0.80.2, 0.85.1 and 1.6.0), for schemas that are plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, final

from attrs import frozen
from jsonschema_rs import Draft201909Validator, Draft202012Validator, ValidationError

from turnwheel.errors import Misuse
from turnwheel.messages import Json
from turnwheel.tool import Tool
from turnwheel_tools import coercion, coercion_1_6, complaints, complaints_1_6
from turnwheel_tools.javascript import json_text, whole
from turnwheel_tools.primitives import Check
from turnwheel_tools.schema import Document

DEEPEST: Final = 200
"""Arguments may have so many levels. jsonschema-rs gives up soon after."""

_KEPT_SCHEMAS: Final = 512
_TOO_DEEP: Final = "root: must not be nested so deep in a schema that refers to itself"


class ArgumentError(ValueError):
    """Arguments that do not fit the tool's schema. The text is for the model."""


class SchemaError(ValueError):
    """The tool's schema itself is invalid: nothing can fit it, and only the tool's author can mend that."""


def prepare_arguments(tool: Tool, arguments: Json, *, rules: str = "0.85.1") -> Json:
    """Return a copy of `arguments`, coerced by the rules of that version of pi-ai (see RULES) and valid.

    Whole floats come back as ints. What is known of a schema is kept as long as the very same object is used, so a
    schema must not be changed once it has been used.

    Raises ArgumentError where they do not fit, SchemaError where the schema is invalid, Misuse for unknown rules.
    """
    if rules not in RULES:
        raise Misuse(f"there are no argument rules {rules!r}: known are {', '.join(RULES)}")
    schema = _schema_of(tool, rules)
    try:
        prepared = schema.coerce(_copy(arguments, tool.name))
        if schema.accepts(prepared):
            return prepared
        lines = schema.complaints(prepared)
    except RecursionError:
        lines = [_TOO_DEEP]
    raise ArgumentError(_failure(tool.name, lines, arguments))


def check_schema(tool: Tool) -> None:
    """Raise SchemaError where the tool's schema is invalid."""
    _schema_of(tool, next(iter(RULES)))


def _failure(name: str, lines: Sequence[str], arguments: Json) -> str:
    wrong = "".join(f"  - {line}\n" for line in lines)
    return f'Validation failed for tool "{name}":\n{wrong}\nReceived arguments:\n{json_text(arguments)}'


def _copy(value: Json, name: str, levels: int = DEEPEST) -> Json:
    """Copy JSON, writing numbers as JavaScript does: a double that is whole has no point."""
    if isinstance(value, (str, int)) or value is None:
        return value
    if isinstance(value, float):
        return whole(value)
    if not levels:
        raise ArgumentError(f'Validation failed for tool "{name}":\n  - root: must not be nested deeper than {DEEPEST}')
    if isinstance(value, dict):
        return {key: _copy(item, name, levels - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(item, name, levels - 1) for item in value]
    return value


# --- what is known of a schema ------------------------------------------------------------------------------------


Validator = Draft202012Validator | Draft201909Validator


@final
@frozen
class Reading:
    """A schema as one version reads it: what it accepts, what it makes of a value, what it says of one it refuses."""

    accepts: Check
    coerce: Callable[[Json], Json]
    complaints: Callable[[Json], Sequence[str]]


def _by_shape(rules: coercion.Rules, schema: Json, validator: Validator) -> Reading:
    shape = coercion.read_shape(schema, _check_alone)
    return Reading(
        validator.is_valid,
        lambda value: rules.coerce(value, shape),
        lambda value: complaints.complaints(validator.iter_errors(value), schema),
    )


def _by_document(schema: Json, validator: Validator) -> Reading:
    document = Document(schema)
    return Reading(
        validator.is_valid,
        lambda value: coercion_1_6.coerce(value, document),
        lambda value: complaints_1_6.complaints(value, document),
    )


RULES: Mapping[str, Callable[[Json, Validator], Reading]] = {
    **{version: partial(_by_shape, rules) for version, rules in coercion.RULES.items()},
    "1.6.0": _by_document,
}
"""How each version of pi-ai reads a schema."""


@final
@frozen(eq=False)
class _Same:
    """A schema as a key. It is the object that counts: comparing the content would cost more than validation."""

    parameters: Mapping[str, Json]

    def __hash__(self) -> int:
        return id(self.parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.parameters is self.parameters


def _schema_of(tool: Tool, rules: str) -> Reading:
    try:
        return _compiled(_Same(tool.parameters), rules)
    except ValidationError as error:
        where = ".".join(map(str, error.instance_path)) or "root"
        raise SchemaError(f'The schema of tool "{tool.name}" is invalid at {where}: {error.message}') from error
    except (TypeError, ValueError) as error:
        raise SchemaError(f'The schema of tool "{tool.name}" is invalid, it is no JSON object: {error}') from error


@lru_cache(_KEPT_SCHEMAS)
def _compiled(key: _Same, rules: str) -> Reading:
    schema = dict(key.parameters)
    return RULES[rules](schema, _validator(schema))


def _validator(schema: Json) -> Validator:
    """Compile a schema. Where it is no schema of today, a list of `items` may be why: that was a tuple until 2019."""
    try:
        return Draft202012Validator(schema, validate_formats=True, offline=True)
    except ValidationError as problem:
        try:
            return Draft201909Validator(schema, validate_formats=True, offline=True)
        except ValidationError:
            raise problem from None


def _check_alone(part: Json) -> Check:
    """Compile a part of a schema on its own, where references to the whole lead nowhere and so fit nothing."""
    try:
        return _validator(part).is_valid
    except ValidationError:
        return _validator(_without_references(part)).is_valid


def _without_references(part: Json) -> Json:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            return False
        return {key: _without_references(value) for key, value in part.items()}
    return [_without_references(value) for value in part] if isinstance(part, list) else part
