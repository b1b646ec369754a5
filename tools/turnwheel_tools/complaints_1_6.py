"""What is wrong with arguments, in the order in which the validator that is Pi's own says it.

Source: pi-ai 1.6.0 (its validator, pi-schema, came with 1.5.0). Left out: unevaluatedProperties, unevaluatedItems and
$dynamicRef, of which nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, final

from attrs import field, frozen

from turnwheel.messages import Json
from turnwheel_tools.faults_1_6 import (
    TYPES,
    Complaint,
    contains_text,
    equalities,
    limits,
    listed,
    same,
    told,
    type_name,
)
from turnwheel_tools.javascript import json_line
from turnwheel_tools.schema import Document, of_item, of_pattern

_NOTHING: Final = "invalid"


def complaints(value: Json, document: Document) -> list[str]:
    """Return a line `PATH: MESSAGE` for each thing that is wrong with a value that is not valid."""
    return [complaint.line for complaint in Judge(document).walk(document.root, value)] or [f"root: {_NOTHING}"]


@final
@frozen(eq=False)
class Judge:
    """Walks schemas of one document with the values that they are for.

    What was found behind a reference is kept, together with the value, so that a union that leads back to itself is
    not walked once for every way to it. Values must not change meanwhile.
    """

    document: Document
    _found: dict[tuple[int, int], tuple[Json, Sequence[Complaint]]] = field(factory=dict, init=False, repr=False)

    def fits(self, schema: Json, value: Json) -> bool:
        """Return whether nothing is wrong with `value`."""
        return next(self.walk(schema, value), None) is None

    def walk(self, schema: Json, value: Json) -> Iterator[Complaint]:
        """Yield what is wrong with `value`; a wrong type is all that is said of it."""
        if not isinstance(schema, Mapping):
            if schema is False:
                yield told("false")
            return
        types = schema.get("type", ())
        types = [types] if isinstance(types, str) else types
        if types and not any(TYPES[name](value) for name in types):
            yield told("type", f"{' or '.join(types)}, got {type_name(value)}")
            return
        yield from equalities(schema, value)
        if isinstance(value, dict):
            yield from self._properties(schema, value)
        elif isinstance(value, list):
            yield from self._items(schema, value)
        yield from limits(schema, value)
        if isinstance(value, dict):
            yield from self._dependencies(schema, value)
        elif isinstance(value, list):
            yield from self._contents(schema, value)
        yield from self._applied(schema, value)

    def _properties(self, schema: Mapping[str, Json], value: dict[str, Json]) -> Iterator[Complaint]:
        properties = schema.get("properties", {})
        yield from (told("required", "", name) for name in schema.get("required", ()) if name not in value)
        for name, part in properties.items():
            if name in value:
                yield from self._below(name, part, value[name])
        for name, item in value.items():
            patterned = of_pattern(schema, name)
            for part in patterned:
                yield from self._below(name, part, item)
            if not patterned and name not in properties:
                yield from self._additional(schema.get("additionalProperties", True), name, item)
            if not self.fits(schema.get("propertyNames", True), name):
                yield told("propertyNames", "", name)

    def _additional(self, part: Json, name: str, item: Json) -> Iterable[Complaint]:
        return [told("additionalProperties", "", name)] if part is False else self._below(name, part, item)

    def _dependencies(self, schema: Mapping[str, Json], value: dict[str, Json]) -> Iterator[Complaint]:
        wanted = {**schema.get("dependentRequired", {}), **schema.get("dependencies", {})}
        for name, needed in wanted.items():
            if name in value and isinstance(needed, list):
                yield from (told("dependentRequired", name, other) for other in needed if other not in value)
            elif name in value:
                yield from self.walk(needed, value)
        for name, part in schema.get("dependentSchemas", {}).items():
            if name in value:
                yield from self.walk(part, value)

    def _items(self, schema: Mapping[str, Json], value: list[Json]) -> Iterator[Complaint]:
        tuple_of = schema.get("items")
        ends = len(tuple_of) if isinstance(tuple_of, list) else len(value)
        for index, item in enumerate(value):
            part = of_item(schema, index) if index < ends else schema.get("additionalItems", True)
            yield from self._below(str(index), part, item)

    def _contents(self, schema: Mapping[str, Json], value: list[Json]) -> Iterator[Complaint]:
        if "contains" in schema:
            least, most = schema.get("minContains", 1), schema.get("maxContains", math.inf)
            if not least <= sum(self.fits(schema["contains"], item) for item in value) <= most:
                yield Complaint((), contains_text(least, most))

    def _below(self, step: str, part: Json, value: Json) -> Iterator[Complaint]:
        return (complaint.below(step) for complaint in self.walk(part, value))

    def _applied(self, schema: Mapping[str, Json], value: Json) -> Iterator[Complaint]:
        """Yield what the schemas say that are for the same value."""
        for part in schema.get("allOf", ()):
            yield from self.walk(part, value)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._union(keyword, schema[keyword], value)
        if "not" in schema and self.fits(schema["not"], value):
            yield told("not")
        if "if" in schema:
            yield from self.walk(schema.get("then" if self.fits(schema["if"], value) else "else", True), value)
        if "$ref" in schema:
            yield from self._referred(self.document.target(schema), value)

    def _referred(self, target: Json, value: Json) -> Iterable[Complaint]:
        if not isinstance(value, (dict, list)):
            return self.walk(target, value)
        key = (id(target), id(value))
        if key not in self._found:
            self._found[key] = (value, list(self.walk(target, value)))
        return self._found[key][1]

    # --- unions: the one member that was most likely meant is blamed ---

    def _union(self, keyword: str, members: Sequence[Json], value: Json) -> Iterable[Complaint]:
        found = [list(self.walk(member, value)) for member in members]
        fitting = found.count([])
        if fitting:
            return [told("oneOf")] if keyword == "oneOf" and fitting > 1 else []
        nodes = [self._node(member) for member in members]
        tag = _tag(nodes) if isinstance(value, dict) else None
        if tag is not None:
            name, values = tag
            chosen = [kept for kept, wanted in zip(found, values, strict=True) if _is_tagged(value, name, wanted)]
            return chosen[0] if chosen else [told("enum", listed(values), name)]
        return max(zip(nodes, found, strict=True), key=lambda pair: (_declared(pair[0], value), pair[1][0].depth))[1]

    def _node(self, member: Json) -> Mapping[str, Json]:
        node = self.document.target(member) if isinstance(member, Mapping) and "$ref" in member else member
        return node if isinstance(node, Mapping) else {}


def _tag(nodes: Sequence[Mapping[str, Json]]) -> tuple[str, Sequence[Json]] | None:
    """Return the first property for which each member has another constant, with the constants; or None."""
    for name in nodes[0].get("properties", {}):
        parts = [node.get("properties", {}).get(name) for node in nodes]
        values = [part["const"] for part in parts if isinstance(part, Mapping) and "const" in part]
        simple = not any(isinstance(value, (dict, list)) for value in values)
        if simple and len(values) == len(nodes) == len(set(map(json_line, values))):
            return name, values
    return None


def _is_tagged(value: dict[str, Json], name: str, wanted: Json) -> bool:
    return name in value and same(value[name], wanted)


def _declared(node: Mapping[str, Json], value: Json) -> int:
    return sum(name in node.get("properties", {}) for name in value) if isinstance(value, dict) else 0
