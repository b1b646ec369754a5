"""How JavaScript reads numbers out of text, and writes numbers and JSON.

Pi's coercions and error texts are defined by these (ECMAScript: Number(), String(), JSON.stringify()).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal

from turnwheel.messages import Json

_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_BLANKS += "\u2028\u2029\u202f\u205f\u3000\ufeff"
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LAST_EXACT = 2**53
_FIRST_WITH_EXPONENT = 1e21


def finite_number(text: str) -> int | float | None:
    """Return the finite number that `text` spells, or None; a whole one as an int."""
    text = text.strip(_BLANKS)
    if _RADIX.fullmatch(text):
        number = _double(int(text, 0))
    elif _DECIMAL.fullmatch(text):
        number = float(text)
    else:
        return None
    return whole(number) if math.isfinite(number) else None


def is_blank(text: str) -> bool:
    """Return whether `text` is empty or nothing but what JavaScript takes for white space."""
    return not text.strip(_BLANKS)


def whole(number: float) -> int | float:
    """Return a float that is written without point and exponent as an int, any other as it is."""
    return int(number) if number.is_integer() and abs(number) < _FIRST_WITH_EXPONENT else number


def number_text(number: float) -> str:
    """Return a number as String() writes it: the shortest digits that tell the double, 1e+21, 1e-7, Infinity."""
    if isinstance(number, int) and abs(number) <= _LAST_EXACT:
        return str(number)
    double = _double(number)
    if not math.isfinite(double):
        return "NaN" if math.isnan(double) else "Infinity" if double > 0 else "-Infinity"
    if double == 0:
        return "0"
    _, figures, shift = Decimal(repr(double)).as_tuple()
    digits = "".join(map(str, figures))
    point = len(digits) + int(shift)
    return ("-" if double < 0 else "") + _positional(digits.rstrip("0"), point)


def _positional(digits: str, point: int) -> str:
    """Write 0.`digits` times ten to the power of `point`."""
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def json_text(value: Json, indent: str = "") -> str:
    """Return `value` as JSON.stringify(value, null, 2) writes it, inner lines indented by `indent` and more."""
    inner = indent + "  "
    if isinstance(value, dict):
        return _block("{}", (f"{_quoted(key)}: {json_text(item, inner)}" for key, item in value.items()), indent)
    if isinstance(value, (list, tuple)):
        return _block("[]", (json_text(item, inner) for item in value), indent)
    return _scalar(value)


def json_line(value: Json) -> str:
    """Return `value` as JSON.stringify(value) writes it: without any space."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{_quoted(key)}:{json_line(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(json_line, value))}]"
    return _scalar(value)


def _scalar(value: Json) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return number_text(value) if math.isfinite(_double(value)) else "null"


def _block(brackets: str, parts: Iterable[str], indent: str) -> str:
    body = f",\n{indent}  ".join(parts)
    return f"{brackets[0]}\n{indent}  {body}\n{indent}{brackets[1]}" if body else brackets


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _LONE_SURROGATE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", quoted)
