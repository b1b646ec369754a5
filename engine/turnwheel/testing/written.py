"""Writes a scenario as JSON: what turnwheel.testing.scenario reads, with all that goes without saying left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import attrs

from turnwheel.messages import Content, Json, Message, TextContent, Usage, UserMessage, user
from turnwheel.shapes import camel
from turnwheel.testing.scenario import Scenario
from turnwheel.wire import to_json

_ON_THE_WIRE: Final = (*get_args(Message), *get_args(Content), Usage)
"""What has a JSON form of its own."""


def write_scenario(scenario: Scenario) -> dict[str, Json]:
    """Return a scenario in the JSON of its format, which shares no list and no object with it.

    Reading that gives an equal scenario, if the sequences of this one are tuples, as they are where it was read.
    """
    return _fields(scenario)


def _fields(value: Any) -> dict[str, Json]:
    """Return the fields of an object of the format that do not have their defaults."""
    given = {field: getattr(value, field.name) for field in attrs.fields(type(value))}
    return {camel(field.name): _written(part) for field, part in given.items() if part != _default(field)}


def _default(field: attrs.Attribute[Any]) -> Any:
    default: Any = field.default
    return default.factory() if hasattr(default, "factory") else default


def _written(value: Any) -> Json:
    if isinstance(value, _ON_THE_WIRE):
        return _short(value) if isinstance(value, UserMessage) else _written(to_json(value))
    if attrs.has(type(value)):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _written(item) for key, item in value.items()}
    return [_written(item) for item in value] if isinstance(value, tuple | list) else value


def _short(message: UserMessage) -> Json:
    """Return the bare text where there is nothing else."""
    match message.content:
        case (TextContent(text=text),) if message == user(text):
            return text
    return _written(to_json(message))
