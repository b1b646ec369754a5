"""The rules by which attrs classes become camelCase JSON and come back; which classes, `turnwheel.wire` says.

- A class with a ClassVar `role` or `type` is tagged by it; in a union of such classes, one without is the catch-all.
- A field whose default is None or ABSENT is left out while it has that value. A missing key is ABSENT where the type of
  its field allows that, else the default, else an error.
- `extra` holds the keys that the class does not know, and nulls where absence would be None. `omitted` names the keys
  with a default that were not there; while they have it, they stay away. A tool's `run` is no data.
- Reading is strict: no value is turned into one of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.errors import AttributeValidationNote, BaseValidationError, IterableValidationNote
from cattrs.fns import identity
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from turnwheel.errors import ParseError
from turnwheel.messages import ABSENT, Absent, Json

Write = Callable[[Any], Json]
Read = Callable[[Json, Any], Any]

SYNONYMS = {"done": ("done", "error")}
"""Classes that are read under more tags than their own: Pi ends a stream with `done` or `error`, one class here."""

NO_KEY = ("extra", "omitted", "run", "prepare")
"""Fields that are no keys of their own."""


class Misfit(Exception):
    """Data that does not fit: what the problem is, and `at` which place below the value that is being read."""

    def __init__(self, problem: str, at: str = "") -> None:
        self.problem = problem
        self.at = at


def misfit(wanted: str, found: Json, at: str = "") -> Misfit:
    """Return the Misfit that says what was `wanted` and what was `found`."""
    names = {dict: "an object", list: "a list", NoneType: "null"}
    shown = names.get(type(found)) or (str(found).lower() if isinstance(found, bool) else repr(found))
    return Misfit(f"expected {wanted}, got {shown if len(shown) <= 60 else shown[:60] + '…'}", at)


def read(converter: Converter, kind: Any, data: Json, path: str) -> Any:
    """Return `data` as a `kind`; raise ParseError with the path of the first misfit, put behind `path`."""
    try:
        return converter.structure(data, kind)
    except (BaseValidationError, Misfit) as error:
        at, problem = located(error)
    raise ParseError(problem, path=f"{path}{at}" if path else at.removeprefix("."))


def new_converter() -> Converter:
    """Return a converter that obeys the rules above for any attrs class of this package."""
    converter = Converter()
    for kind, wanted, fits in (
        (str, "a string", lambda value: isinstance(value, str)),
        (bool, "true or false", lambda value: isinstance(value, bool)),
        (int, "a whole number", lambda value: type(value) is int or (type(value) is float and value.is_integer())),
        (float, "a number", lambda value: type(value) in (int, float)),
    ):
        converter.register_structure_hook(kind, _strict(wanted, fits))
    converter.register_unstructure_hook_func(lambda kind: kind is Any, identity)
    an_object = _strict("an object", lambda value: isinstance(value, dict))
    for applies, reads, writes in (
        (_is_a(Mapping), lambda _: an_object, lambda _: identity),
        (_is_a(Literal), _reads_literal, lambda _: identity),
        (_is_a(Sequence), _reads_list, _writes_list),
        (_is_a(frozenset), _reads_list, lambda _: sorted),
        (_is_a(Union, UnionType), _reads_union, _writes_union),
        (attrs.has, reads_class, writes_class),
    ):
        converter.register_structure_hook_factory(applies, reads)
        converter.register_unstructure_hook_factory(applies, writes)
    return converter


def located(error: Exception) -> tuple[str, str]:
    """Return where the first thing is that is wrong, and what is wrong with it, out of cattrs' tree of errors."""
    at = ""
    while isinstance(error, BaseValidationError):
        at += _step(error)
        error = error.exceptions[0]
    if isinstance(error, KeyError):
        return at, f"missing `{error.args[0]}`"
    if isinstance(error, Misfit):
        return at + _step(error) + error.at, error.problem
    raise error


def _step(error: Exception) -> str:
    """Return the step in the path that cattrs noted on `error`."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return f".{camel(note.name)}"
        if isinstance(note, IterableValidationNote):
            return f"[{note.index}]"
    return ""


def camel(name: str) -> str:
    """Return the JSON name of a field: tool_call_id is toolCallId."""
    first, *more = name.split("_")
    return first + "".join(part.capitalize() for part in more)


# --- one class ----------------------------------------------------------------------------------------------------


def writes_class(kind: type[attrs.AttrsInstance], converter: Converter) -> Write:
    """Return the function that makes JSON of a `kind`: tag, fields in the order of the class, extra."""
    write = make_dict_unstructure_fn(kind, converter, **_overrides(kind))
    tag = _tag(kind)
    absent = [
        camel(field.name) for field in _fields(kind) if Absent in get_args(field.type) and field.default is not ABSENT
    ]
    blank = _blank(kind, converter) if hasattr(kind, "omitted") else {}
    has_extra = hasattr(kind, "extra")

    def to_json(value: Any) -> Json:
        data = {**tag, **write(value)}
        for name in absent:
            if data[name] is ABSENT:
                del data[name]
        for name in value.omitted & blank.keys() if blank else ():
            if data[name] == blank[name]:
                del data[name]
        # Fields win: a message that was read with a null may have got a value since.
        return {**data, **value.extra, **data} if has_extra and value.extra else data

    return to_json


def _blank(kind: type[attrs.AttrsInstance], converter: Converter) -> dict[str, Json]:
    """Return the JSON of the defaults of a class, under their names."""
    defaults = {field.name: field.default for field in _fields(kind) if field.default not in (None, attrs.NOTHING)}
    return {
        camel(name): converter.unstructure(default.factory() if hasattr(default, "factory") else default)
        for name, default in defaults.items()
        if default is not ABSENT
    }


def reads_class(kind: type[attrs.AttrsInstance], converter: Converter) -> Read:
    """Return the function that makes a `kind` of JSON."""
    build = make_dict_structure_fn(kind, converter, **_overrides(kind))
    key, tags = "".join(_tag(kind)), _tags(kind)
    absent = {camel(field.name): ABSENT for field in _fields(kind) if Absent in get_args(field.type)}
    finish = _keeper(kind, build) if hasattr(kind, "extra") else build

    def from_json(data: Json, _: Any) -> Any:
        if not isinstance(data, dict):
            raise misfit("an object", data)
        if tags and data.get(key) not in tags:
            raise misfit(_one_of(tags), _tag_in(data, key), f".{key}")
        return finish({**absent, **data} if absent else data, kind)

    return from_json


def _keeper(kind: type[attrs.AttrsInstance], build: Read) -> Read:
    """Return `build` for a class that keeps in `extra` what no field takes, and names in `omitted` what is missing."""
    fields = _fields(kind)
    known = {camel(field.name) for field in fields} | _tag(kind).keys()
    nullable = {camel(field.name) for field in fields if field.default is None}
    usual = {
        camel(field.name)
        for field in fields
        if field.default not in (None, ABSENT, attrs.NOTHING) and hasattr(kind, "omitted")
    }

    def finish(data: Json, _: Any) -> Any:
        if known.issuperset(data) and usual <= data.keys() and None not in data.values():
            return build(data, kind)
        extra = {name: more for name, more in data.items() if name not in known or (more is None and name in nullable)}
        omitted = {"omitted": frozenset(usual - data.keys())} if usual else {}
        fitting = {name: data[name] for name in data if name not in extra}
        return attrs.evolve(build(fitting, kind), extra=extra, **omitted)

    return finish


def _fields(kind: type[attrs.AttrsInstance]) -> list[attrs.Attribute[Any]]:
    """Return the fields of a class that have a key in JSON, with their types as types."""
    return [field for field in attrs.fields(attrs.resolve_types(kind)) if field.name not in NO_KEY]


def _overrides(kind: type[attrs.AttrsInstance]) -> dict[str, Any]:
    return {
        field.name: override(
            omit=field.name in NO_KEY or None,
            rename=camel(field.name),
            omit_if_default=field.default is None or field.default is ABSENT or field.name == "opened",
        )
        for field in attrs.fields(attrs.resolve_types(kind))
    }


# --- tags ---------------------------------------------------------------------------------------------------------


def _tag(kind: type) -> dict[str, str]:
    """Return the tag of a class as one key and its value, or {} if it has none."""
    tags = {key: getattr(kind, key, None) for key in ("type", "role")}
    return {key: tag for key, tag in tags.items() if isinstance(tag, str)}


def _tags(kind: type) -> tuple[str, ...]:
    """Return all tags under which a class is read."""
    return tuple(tag for own in _tag(kind).values() for tag in SYNONYMS.get(own, (own,)))


def _tag_in(data: Json, key: str) -> str:
    if not isinstance(data, dict):
        raise misfit("an object", data)
    if key not in data:
        raise Misfit(f"missing `{key}`")
    tag = data[key]
    if not isinstance(tag, str):
        raise misfit("a string", tag, f".{key}")
    return tag


def _one_of(names: Iterable[str]) -> str:
    *others, last = names
    return f"one of {', '.join([*others, last])}" if others else last


# --- fields of other types ----------------------------------------------------------------------------------------


def _is_a(*origins: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) in origins


def _strict(wanted: str, fits: Callable[[Json], bool]) -> Read:
    def from_json(data: Json, _: Any) -> Any:
        if not fits(data):
            raise misfit(wanted, data)
        return data

    return from_json


def _reads_literal(kind: Any) -> Read:
    names = get_args(kind)
    return _strict(_one_of(names), lambda value: isinstance(value, str) and value in names)


def _reads_list(kind: Any, converter: Converter) -> Read:
    tuple_kind = GenericAlias(tuple, (get_args(kind)[0], ...))
    build = converter.get_structure_hook(tuple_kind)
    collect = frozenset if get_origin(kind) is frozenset else tuple

    def from_json(data: Json, _: Any) -> Any:
        if not isinstance(data, list):
            raise misfit("a list", data)
        return collect(build(data, tuple_kind))

    return from_json


def _writes_list(kind: Any, converter: Converter) -> Write:
    write = converter.get_unstructure_hook(get_args(kind)[0])
    return lambda values: [write(value) for value in values]


def _reads_union(kind: Any, converter: Converter) -> Read:
    options = get_args(kind)
    if len([option for option in options if attrs.has(option)]) > 1:
        return _reads_tagged(options, converter)
    *_, last = (option for option in options if option not in (NoneType, Absent))
    build = converter.get_structure_hook(last)
    plain = tuple(option for option in options if option in (NoneType, Absent, str))

    def from_json(data: Json, _: Any) -> Any:
        if isinstance(data, plain):
            return data
        if str in plain and not isinstance(data, list) and last is not str:
            raise misfit("a string or a list", data)
        return build(data, last)

    return from_json


def _reads_tagged(kinds: Iterable[type], converter: Converter) -> Read:
    hooks = {tag: converter.get_structure_hook(kind) for kind in kinds for tag in _tags(kind)}
    other = next((converter.get_structure_hook(kind) for kind in kinds if not _tag(kind)), None)
    key = next(key for kind in kinds for key in _tag(kind))

    def from_json(data: Json, kind: Any) -> Any:
        tag = _tag_in(data, key)
        hook = hooks.get(tag, other)
        if hook is None:
            raise misfit(_one_of(hooks), tag, f".{key}")
        return hook(data, kind)

    return from_json


def _writes_union(kind: Any, converter: Converter) -> Write:
    options = get_args(kind)
    for option in options:
        if get_origin(option) is Sequence:
            write = converter.get_unstructure_hook(option)
            return lambda value: value if value is None or isinstance(value, str | Absent) else write(value)
    return converter.unstructure if any(map(attrs.has, options)) else identity
