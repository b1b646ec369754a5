"""What can be wrong with a value by itself, and the words for all that can be wrong, as Pi's own validator has them.

Source: pi-ai 1.6.0 (its validator, pi-schema).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, final

from attrs import frozen

from turnwheel.messages import Json
from turnwheel_tools.javascript import json_line, number_text
from turnwheel_tools.primitives import IS, is_number
from turnwheel_tools.schema import matches

_LISTED: Final = 20

_TEXTS: Mapping[str, str] = {
    "additionalProperties": "unknown field",
    "const": "expected {}",
    "dependentRequired": "required when {} is present",
    "enum": "expected one of {}",
    "exclusiveMaximum": "expected < {}",
    "exclusiveMinimum": "expected > {}",
    "false": "no value is allowed here",
    "format": "expected format {}",
    "maxItems": "expected at most {} items",
    "maxLength": "expected at most {} characters",
    "maxProperties": "expected at most {} properties",
    "maximum": "expected <= {}",
    "minItems": "expected at least {} items",
    "minLength": "expected at least {} characters",
    "minProperties": "expected at least {} properties",
    "minimum": "expected >= {}",
    "multipleOf": "expected a multiple of {}",
    "not": "must not match the schema in not",
    "oneOf": "matches more than one alternative",
    "pattern": "expected to match {}",
    "propertyNames": "invalid property name",
    "required": "missing",
    "type": "expected {}",
    "uniqueItems": "expected unique items",
}

TYPES: Mapping[str, Callable[[Json], bool]] = {**IS, "number": lambda value: is_number(value) and math.isfinite(value)}


@final
@frozen
class Complaint:
    """Something wrong with the value that `path` leads to."""

    path: tuple[str, ...]
    text: str

    def below(self, step: str) -> Complaint:
        """Return the complaint as whoever holds the value under `step` has to put it."""
        return Complaint((step, *self.path), self.text)

    @property
    def line(self) -> str:
        """The complaint as `PATH: MESSAGE`."""
        return f"{'.'.join(self.path) if self.path else 'root'}: {self.text}"

    @property
    def depth(self) -> int:
        """The length of the path, written as a JSON pointer."""
        return sum(1 + len(step) + step.count("~") + step.count("/") for step in self.path)


def told(keyword: str, wanted: Json = "", *path: str) -> Complaint:
    """Return what a keyword that wants `wanted` has to say of what is at `path`."""
    text = number_text(wanted) if is_number(wanted) else str(wanted)
    return Complaint(path, _TEXTS[keyword].replace("{}", text))


def same(one: Json, other: Json) -> bool:
    """Return whether both are the same JSON: 1 is 1.0, but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[name]) for name, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def equalities(schema: Mapping[str, Json], value: Json) -> Iterator[Complaint]:
    """Yield what enum and const have to say."""
    if "enum" in schema and not any(same(value, wanted) for wanted in schema["enum"]):
        yield told("enum", listed(schema["enum"]))
    if "const" in schema and not same(value, schema["const"]):
        yield told("const", json_line(schema["const"]))


def _is_multiple(value: float, unit: float) -> bool:
    return math.isfinite(value) and (Fraction(str(value)) / Fraction(str(unit))).denominator == 1


_LIMITS: Sequence[tuple[str, str, Callable[[Json, Json], bool]]] = (
    ("string", "minLength", lambda value, least: len(value) >= least),
    ("string", "maxLength", lambda value, most: len(value) <= most),
    ("string", "pattern", lambda value, pattern: matches("pattern", pattern, value)),
    ("string", "format", lambda value, name: matches("format", name, value)),
    ("number", "minimum", lambda value, least: value >= least),
    ("number", "maximum", lambda value, most: value <= most),
    ("number", "exclusiveMinimum", lambda value, limit: value > limit),
    ("number", "exclusiveMaximum", lambda value, limit: value < limit),
    ("number", "multipleOf", _is_multiple),
    ("object", "minProperties", lambda value, least: len(value) >= least),
    ("object", "maxProperties", lambda value, most: len(value) <= most),
    ("array", "minItems", lambda value, least: len(value) >= least),
    ("array", "maxItems", lambda value, most: len(value) <= most),
    ("array", "uniqueItems", lambda value, on: not on or not _has_twins(value)),
)
"""Type, keyword, and whether a value of the type is within what the keyword says; in the order of the complaints."""


def limits(schema: Mapping[str, Json], value: Json) -> Iterator[Complaint]:
    """Yield what the keywords have to say that bound a value of its type."""
    for kind, keyword, within in _LIMITS:
        if keyword in schema and IS[kind](value) and not within(value, schema[keyword]):
            yield told(keyword, schema[keyword])


def _has_twins(items: list[Json]) -> bool:
    return any(same(item, other) for index, item in enumerate(items) for other in items[:index])


# --- texts --------------------------------------------------------------------------------------------------------


def listed(values: Sequence[Json]) -> str:
    """Return values as JSON; of many only the first, and how many more there are."""
    if len(values) <= _LISTED:
        return json_line(values)
    return f"{json_line(values[:_LISTED])[:-1]}, ... and {len(values) - _LISTED} more]"


def contains_text(least: float, most: float) -> str:
    """Return what `contains` has to say where not between `least` and `most` items fit."""
    if most == math.inf:
        return f"expected at least {number_text(least)} matching {'item' if least == 1 else 'items'}"
    if least == 0:
        return f"expected at most {number_text(most)} matching {'item' if most == 1 else 'items'}"
    return f"expected between {number_text(least)} and {number_text(most)} matching items"


def type_name(value: Json) -> str:
    """Return the name of the type that `value` has; the narrowest, so a whole number is an integer."""
    if is_number(value) and not math.isfinite(value):
        return number_text(value)
    return next(name for name in ("integer", *IS) if IS[name](value))
