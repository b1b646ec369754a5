"""Coercion as the validator that is Pi's own does it: nulls dropped, then values converted, then coerced by type.

Source: pi-ai 1.6.0 (its validator, pi-schema, came with 1.5.0). Unlike those of the older versions, these rules follow
references, know constants and enums, cut numbers to integers and wrap single values in lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import final

from attrs import define, field, frozen

from turnwheel.messages import Json
from turnwheel_tools.complaints_1_6 import Judge
from turnwheel_tools.faults_1_6 import same
from turnwheel_tools.primitives import COERCIONS, CONVERSIONS, IS, first_had
from turnwheel_tools.schema import Document, of_item, of_property

Step = Callable[[Json, Json], Json]
"""Takes a schema and a value, returns the value changed."""

_UNIONS = ("anyOf", "oneOf")
_MEMBERS = ("properties", "patternProperties", "additionalProperties")


def coerce(value: Json, document: Document) -> Json:
    """Return `value` coerced to the schema; what no rule covers is left as it is."""
    judge = Judge(document)
    for step in (_Nulls(judge).without, _Conversion(document, judge).converted, _Coercion(judge).coerced):
        value = step(document.root, value)
    return value


def _inside(node: Mapping[str, Json], value: Json, step: Step) -> Json:
    """Return `value` with each property and item changed by `step`, as often as schemas of `node` are for it."""
    if isinstance(value, list):
        return [step(of_item(node, index), item) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        name: reduce(lambda taken, part: step(part, taken), of_property(node, name), item)
        for name, item in value.items()
    }


# --- first: optional nulls ----------------------------------------------------------------------------------------


@final
@frozen(eq=False)
class _Nulls:
    judge: Judge

    def without(self, node: Json, value: Json) -> Json:
        """Return `value` without the nulls that stand for an optional property which refuses null."""
        if not isinstance(node, Mapping):
            return value
        if isinstance(value, dict):
            value = {name: item for name, item in value.items() if item is not None or not self._drops(node, name)}
        return _inside(node, value, self.without)

    def _drops(self, node: Mapping[str, Json], name: str) -> bool:
        part = node.get("properties", {}).get(name, True)
        if name in node.get("required", ()) or (isinstance(part, Mapping) and "$ref" in part):
            return False
        return not self.judge.fits(part, None)


# --- second: conversion by all that a schema says -----------------------------------------------------------------


_Pair = tuple[int, type, Json]
"""A schema and a value: which schema, and which container or what primitive."""


@final
@define(eq=False)
class _Conversion:
    """Follows references, so a schema may be met again with the same value: that pair is then left as it is.

    What a reference came to is kept, together with the value, so that a union that leads back to itself is not
    followed once for every way to it; but not what depends on a pair further out (`_cut` is the outermost one met).
    """

    document: Document
    judge: Judge
    _open: dict[_Pair, int] = field(factory=dict, init=False)
    _kept: dict[_Pair, tuple[Json, Json]] = field(factory=dict, init=False)
    _cut: float = field(default=math.inf, init=False)

    def converted(self, node: Json, value: Json) -> Json:
        """Return `value` by the first of `$ref`, const, enum, a union, allOf and the type that the schema has."""
        if not isinstance(node, Mapping):
            return value
        if "$ref" in node:
            return self._once(self.document.target(node), value)
        if "const" in node:
            return _literal(node["const"], value)
        if "enum" in node:
            return self._one_of(node, value)
        for keyword in _UNIONS:
            if keyword in node:
                return self._member(node, node[keyword], value)
        if "allOf" in node:
            for part in node["allOf"]:
                value = self.converted(part, value)
            return self._declared(node, value)
        return self._by_type(node, value)

    def _by_type(self, node: Mapping[str, Json], value: Json) -> Json:
        wanted = _type_of(node)
        if wanted == "object" and isinstance(value, dict):
            return _inside(node, value, self.converted)
        if wanted == "array":
            return self._list(node, value)
        return CONVERSIONS[wanted](value) if wanted in CONVERSIONS else value

    def _list(self, node: Mapping[str, Json], value: Json) -> Json:
        items = node.get("items", True)
        if isinstance(value, list):
            return _inside(node, value, self.converted)
        if isinstance(items, list) or "prefixItems" in node:
            return value
        return [self._once(items, value, keep=False)]

    def _one_of(self, node: Mapping[str, Json], value: Json) -> Json:
        """Return the first constant of an enum that can be had of `value`."""
        if any(same(value, member) for member in node["enum"]):
            return value
        candidates = (_literal(member, value) for member in node["enum"])
        return next((taken for taken in candidates if taken is not value and self.judge.fits(node, taken)), value)

    def _member(self, node: Mapping[str, Json], members: Sequence[Json], value: Json) -> Json:
        """Return `value` where a member of the union fits, else as the first member takes it that the union accepts."""
        if not any(self.judge.fits(member, value) for member in members):
            for member in members:
                candidate = self._declared(node, self.converted(member, value))
                if self.judge.fits(node, candidate):
                    return candidate
        return self._declared(node, value)

    def _declared(self, node: Mapping[str, Json], value: Json) -> Json:
        """Return an object with the properties converted that `node` declares beside its union or allOf."""
        declares = isinstance(value, dict) and any(keyword in node for keyword in _MEMBERS)
        return _inside(node, value, self.converted) if declares else value

    def _once(self, node: Json, value: Json, *, keep: bool = True) -> Json:
        pair = (id(node), type(value), id(value) if isinstance(value, (dict, list)) else value)
        if pair in self._open:
            self._cut = min(self._cut, self._open[pair])
            return value
        if keep and pair in self._kept:
            return self._kept[pair][1]
        depth, outer = len(self._open), self._cut
        self._open[pair], self._cut = depth, math.inf
        converted = self.converted(node, value)
        del self._open[pair]
        if keep and self._cut >= depth:
            self._kept[pair] = (value, converted)
        self._cut = min(self._cut, outer)
        return converted


def _type_of(node: Mapping[str, Json]) -> str:
    """Return the type that `node` names or, where it names none, implies; "" where there is none, or several."""
    named = node.get("type")
    if named is not None:
        return named if isinstance(named, str) else ""
    if "properties" in node or "patternProperties" in node:
        return "object"
    return "array" if "items" in node or "prefixItems" in node else ""


def _literal(constant: Json, value: Json) -> Json:
    """Return `constant` where it can be had of `value`."""
    kind = next((name for name in ("boolean", "number", "string") if IS[name](constant)), None)
    converted = value if kind is None else CONVERSIONS[kind](value)
    return converted if same(converted, constant) else value


# --- third: coercion by type, as in the older versions ------------------------------------------------------------


@final
@frozen(eq=False)
class _Coercion:
    judge: Judge

    def coerced(self, node: Json, value: Json) -> Json:
        """Return `value` by allOf, the unions and the types of the schema, one after the other."""
        if not isinstance(node, Mapping):
            return value
        for part in node.get("allOf", ()):
            value = self.coerced(part, value)
        for keyword in _UNIONS:
            value = self._member(node.get(keyword, ()), value)
        named = node.get("type", ())
        types = (named,) if isinstance(named, str) else named
        value = first_had(value, types, COERCIONS)
        entered = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
        return _inside(node, value, self.coerced) if entered in types else value

    def _member(self, members: Sequence[Json], value: Json) -> Json:
        if any(self.judge.fits(member, value) for member in members):
            return value
        for member in members:
            coerced = self.coerced(member, value)
            if self.judge.fits(member, coerced):
                return coerced
        return value
