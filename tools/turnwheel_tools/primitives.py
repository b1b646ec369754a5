"""Primitives: a value of one JSON type made from another, by the two families of rules that Pi has had.

Source: COERCIONS are those of every version of pi-ai, CONVERSIONS came with its own validator (1.5.0, as of 1.6.0).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from turnwheel.messages import Json
from turnwheel_tools.javascript import finite_number, is_blank, number_text, whole

Check = Callable[[Json], bool]
"""Whether a value is valid against one schema."""

Conversion = Callable[[Json], Json]
"""Returns its argument made into one JSON type, or the very same object where no rule applies."""

_BIG_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,15})n")
_LAST_SAFE: Final = 2**53 - 1


def is_number(value: Json) -> bool:
    """Return whether `value` is a JSON number, which no boolean is."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


IS: Mapping[str, Check] = {
    "number": is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
"""Whether a value is of a type, by the type's name."""


def first_had(value: Json, types: Sequence[str], conversions: Mapping[str, Conversion]) -> Json:
    """Return `value` where it has one of several types, else made into the first of the types that can be had."""
    if len(types) > 1 and any(IS[name](value) for name in types):
        return value
    for name in types:
        converted = conversions[name](value) if name in conversions else value
        if converted is not value:
            return converted
    return value


# --- what the type asks for ---------------------------------------------------------------------------------------


def _to_number(value: Json) -> Json:
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    number = finite_number(value) if isinstance(value, str) else None
    return value if number is None else number


def _to_integer(value: Json) -> Json:
    number = _to_number(value)
    return value if isinstance(value, str) and not _is_integer(number) else number


def _to_boolean(value: Json) -> Json:
    if value is None:
        return False
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value, value)
    if is_number(value) and value in (0, 1):
        return value == 1
    return value


def _to_string(value: Json) -> Json:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if is_number(value) else value


def _to_null(value: Json) -> Json:
    return None if value == "" or value is False or (is_number(value) and value == 0) else value


COERCIONS: Mapping[str, Conversion] = {
    "number": _to_number,
    "integer": _to_integer,
    "boolean": _to_boolean,
    "string": _to_string,
    "null": _to_null,
}


# --- what the type may mean ---------------------------------------------------------------------------------------


def _as_number(value: Json) -> Json:
    if not isinstance(value, str):
        return _to_number(value)
    number = 0 if is_blank(value) else finite_number(value)
    if number is None and _BIG_INTEGER.fullmatch(value) and abs(int(value[:-1])) <= _LAST_SAFE:
        number = int(value[:-1])
    if number is None:
        number = {"true": 1, "false": 0}.get(value.lower())
    return value if number is None else number


def _as_integer(value: Json) -> Json:
    number = _as_number(value)
    return whole(float(math.trunc(number))) if isinstance(number, float) and math.isfinite(number) else number


def _as_boolean(value: Json) -> Json:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    return _to_boolean(value)


def _as_string(value: Json) -> Json:
    if value is None:
        return "null"
    return value if isinstance(value, float) and not math.isfinite(value) else _to_string(value)


def _as_null(value: Json) -> Json:
    if isinstance(value, str) and value.lower() in ("null", "undefined", "0"):
        return None
    return _to_null(value)


CONVERSIONS: Mapping[str, Conversion] = {
    "number": _as_number,
    "integer": _as_integer,
    "boolean": _as_boolean,
    "string": _as_string,
    "null": _as_null,
}
