"""What is wrong with arguments, in the words and the order in which Pi's validator says it.

Source: pi-ai 0.80.2 to 0.85.1 (its validator is typebox 1.1 and 1.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, final
from urllib.parse import unquote

from attrs import field, frozen
from jsonschema_rs import ValidationError, ValidationErrorKind

from turnwheel.messages import Json
from turnwheel_tools.javascript import number_text

MOST: Final = 8
"""So many complaints are made at most."""

# fmt: off
_KEYWORDS: Final = (
    "type", "required", "additionalProperties", "dependencies", "dependentRequired", "dependentSchemas",
    "patternProperties", "properties", "propertyNames", "minProperties", "maxProperties", "additionalItems",
    "contains", "items", "maxContains", "maxItems", "minContains", "minItems", "prefixItems", "uniqueItems",
    "maxLength", "minLength", "format", "pattern", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum",
    "multipleOf", "$ref", "const", "enum", "if", "then", "else", "not", "allOf", "anyOf", "oneOf",
    "unevaluatedItems", "unevaluatedProperties",
)
# fmt: on
_ORDER: Mapping[str, int] = {keyword: rank for rank, keyword in enumerate(_KEYWORDS)}
_LAST: Final = len(_ORDER)
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies")
_INWARD: Final = ("properties", "patternProperties", "items", "prefixItems", "additionalItems")
# What is wrong inside of these is said once, by the keyword itself.
_OPAQUE: Final = ("additionalProperties", "propertyNames")

_TEXTS: Mapping[str, str] = {
    "additionalProperties": "must not have additional properties",
    "anyOf": "must match a schema in anyOf",
    "const": "must be equal to constant",
    "contains": "must contain at least 1 valid item",
    "enum": "must be equal to one of the allowed values",
    "exclusiveMaximum": "must be < {}",
    "exclusiveMinimum": "must be > {}",
    "falseSchema": "schema is false",
    "format": 'must match format "{}"',
    "maxItems": "must not have more than {} items",
    "maxLength": "must not have more than {} characters",
    "maxProperties": "must not have more than {} properties",
    "maximum": "must be <= {}",
    "minItems": "must not have fewer than {} items",
    "minLength": "must not have fewer than {} characters",
    "minProperties": "must not have fewer than {} properties",
    "minimum": "must be >= {}",
    "multipleOf": "must be multiple of {}",
    "not": "must not be valid",
    "oneOf": "must match exactly one schema in oneOf",
    "pattern": 'must match pattern "{}"',
    "propertyNames": "property names {} are invalid",
    "required": "must have required properties {}",
    "unevaluatedItems": "must not have unevaluated items",
    "unevaluatedProperties": "must not have unevaluated properties",
    "uniqueItems": "must not have duplicate items",
}


def complaints(errors: Iterable[ValidationError], schema: Json) -> list[str]:
    """Return a line `PATH: MESSAGE` for each thing that is wrong, the first MOST of them.

    The order is that of the schema: an object's missing and additional properties come before its properties.
    """
    found: dict[_Place, list[ValidationError]] = {}
    for error in _leaves(errors):
        found.setdefault(_place(error, schema), []).append(error)
    return [_line(place, found[place]) for place in sorted(found, key=lambda place: place.order)[:MOST]]


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Yield every error, and those of the members of a union too, where not one of them fits."""
    for error in errors:
        members: Sequence[Sequence[ValidationError]] = getattr(error.kind, "context", ())
        if all(members):
            for member in members:
                yield from _leaves(member)
        yield error


@final
@frozen
class _Place:
    """Where `keyword` refuses the value that `path` leads to; `order` sorts places as the schema has them."""

    order: tuple[int, ...]
    path: tuple[str | int, ...]
    keyword: str
    wanted: Json = field(default=None, eq=False)


def _place(error: ValidationError, root: Json) -> _Place:
    order: list[int] = []
    path, depth, schema = error.instance_path, 0, root
    steps = iter(error.evaluation_path)
    for step in steps:
        keyword = str(step)
        order.append(_ORDER.get(keyword, _LAST))
        if keyword in _OPAQUE:
            return _Place((*order, _LAST), tuple(path[:depth]), keyword)
        schema = _value(schema, keyword, root)
        if keyword in _NAMED or isinstance(schema, list):
            choice = next(steps, None)
            if choice is None:
                break
            order.append(_position(schema, choice))
            schema = schema[choice] if schema else None
        elif keyword in _INWARD and depth < len(path):
            order.append(int(path[depth]))
        depth += keyword in _INWARD
    # What a union has to say itself comes after what its members say.
    return _Place((*order, _LAST), tuple(path), error.kind.name, schema)


def _value(schema: Json, keyword: str, root: Json) -> Json:
    """Return what `schema` says under `keyword`; for a reference into `root`, what it refers to."""
    value = schema.get(keyword) if isinstance(schema, Mapping) else None
    if keyword != "$ref" or not isinstance(value, str):
        return value
    target = root
    for step in unquote(value).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, Mapping) else None
    return target


def _position(schemas: Json, choice: str | int) -> int:
    """Return the rank of `choice` among `schemas`, which have numbers or names."""
    if isinstance(choice, int):
        return choice
    return list(schemas).index(choice) if isinstance(schemas, Mapping) and choice in schemas else 0


def _line(place: _Place, errors: Sequence[ValidationError]) -> str:
    values = [_limit(error) for error in errors]
    path = (*place.path, values[0]) if place.keyword == "required" else place.path
    if place.keyword == "type":
        wanted = place.wanted
        message = f"must be either {' or '.join(wanted)}" if isinstance(wanted, list) else f"must be {wanted}"
    elif place.keyword in _TEXTS:
        message = _TEXTS[place.keyword].replace("{}", ", ".join(values))
    else:
        message = errors[0].message
    return f"{'.'.join(map(str, path)).replace('/', '.') or 'root'}: {message}"


def _limit(error: ValidationError) -> str:
    """Return what an error's message has to name: a bound, a format, a property."""
    value: Json = error.kind.value
    if isinstance(error.kind, ValidationErrorKind.PropertyNames):
        return str(error.kind.error.instance)
    return number_text(value) if isinstance(value, (int, float)) else str(value)
