"""The arguments of a call: the final ones out of whole JSON only, and those so far, to look at."""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

import jiter

from turnwheel.messages import Json

_BAD_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.?))', re.DOTALL)
"""An escape: the first group holds one that JSON knows, the second what stands behind the backslash of any other."""


def final_arguments(text: str) -> tuple[Json, str | None]:
    """Return the arguments that a model wrote, and None; or the text as it is, and what is wrong with it.

    Nothing at all is an empty object. Where JSON fails for a bad escape or a raw control character only, the character
    is taken as it stands: nothing is lost by that. Anything else that is no JSON object is refused whole.
    """
    if not text.strip():
        return {}, None
    try:
        arguments = _read(text)
    except ValueError as error:
        try:
            arguments = _read(_BAD_ESCAPE.sub(lambda found: found[0] if found[1] else f"\\\\{found[2]}", text))
        except ValueError:
            return text, f"they are no JSON ({error}): {text}"
    if not isinstance(arguments, dict):
        return text, f"they are no JSON object: {text}"
    return arguments, None


def arguments_so_far(text: str) -> Json:
    """Return what can be told of arguments whose text is not whole yet; never to be acted upon."""
    try:
        arguments = jiter.from_json(text.encode(errors="replace"), partial_mode="trailing-strings")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _read(text: str) -> Json:
    try:
        return json.loads(text, strict=False, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
