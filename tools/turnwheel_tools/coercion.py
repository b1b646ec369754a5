"""Coercion: what a model wrote, made into what a schema asks for wherever a rule says so.

A schema is read once into a Shape, which holds what the rules look at. Coercion returns new containers and leaves the
old ones alone. It never judges: what no rule covers stays as it is, for validation to refuse.

Source of the rules: Pi's argument validation in pi-ai 0.80.2 and 0.85.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

from attrs import field, frozen

from turnwheel.messages import Json
from turnwheel_tools.primitives import COERCIONS, Check, Conversion, first_had

# --- what the rules look at in a schema ---------------------------------------------------------------------------


@final
@frozen
class Member:
    """One schema of a union, and whether a value is valid against it."""

    fits: Check
    shape: Shape


@final
@frozen
class Shape:
    """A schema as coercion sees it. References are not followed, in any version of Pi.

    `unions` are anyOf, then oneOf. `nullless` names the optional properties that refuse null. `others` is for
    properties that are not named; `leading` for the items of a tuple, by position, `elements` for those of a list.
    """

    types: Sequence[str] = ()
    all_of: Sequence[Shape] = ()
    unions: Sequence[Sequence[Member]] = ()
    properties: Mapping[str, Shape] = field(factory=dict)
    nullless: frozenset[str] = frozenset()
    others: Shape | None = None
    leading: Sequence[Shape] = ()
    elements: Shape | None = None


def read_shape(schema: Json, check: Callable[[Json], Check]) -> Shape:
    """Return the shape of a valid schema. `check` compiles one of its parts on its own."""
    if not isinstance(schema, Mapping):
        return Shape()
    types, properties, items = schema.get("type", ()), schema.get("properties", {}), schema.get("items")
    others = schema.get("additionalProperties")

    def parts(schemas: Sequence[Json]) -> tuple[Shape, ...]:
        return tuple(read_shape(part, check) for part in schemas)

    def members(schemas: Sequence[Json]) -> tuple[Member, ...]:
        # A member that is just `true` or `false` is never chosen.
        return tuple(Member(check(part), read_shape(part, check)) for part in schemas if isinstance(part, Mapping))

    return Shape(
        types=(types,) if isinstance(types, str) else tuple(types),
        all_of=parts(schema.get("allOf", ())),
        unions=tuple(members(schema[keyword]) for keyword in ("anyOf", "oneOf") if keyword in schema),
        properties={name: read_shape(part, check) for name, part in properties.items()},
        nullless=frozenset(
            name
            for name, part in properties.items()
            if _refuses_null(part, check) and name not in schema.get("required", ())
        ),
        others=read_shape(others, check) if isinstance(others, Mapping) else None,
        leading=parts(items) if isinstance(items, list) else (),
        elements=read_shape(items, check) if isinstance(items, Mapping) else None,
    )


def _refuses_null(schema: Json, check: Callable[[Json], Check]) -> bool:
    return isinstance(schema, Mapping) and "$ref" not in schema and not check(schema)(None)


# --- the rules ----------------------------------------------------------------------------------------------------


@final
@frozen
class Rules:
    """One version's coercions.

    `conversions` make a primitive of each JSON type. `drops_nulls`: null for an optional property that refuses it
    counts as left out (Pi 0.84.2). `keeps_fitting`: what a member of a union accepts is taken as it is (Pi 0.84.0).
    """

    conversions: Mapping[str, Conversion]
    drops_nulls: bool
    keeps_fitting: bool

    def coerce(self, value: Json, shape: Shape) -> Json:
        """Return `value` coerced to `shape`; what no rule covers is left as it is."""
        return self._coerced(without_nulls(value, shape) if self.drops_nulls else value, shape)

    def _coerced(self, value: Json, shape: Shape) -> Json:
        for part in shape.all_of:
            value = self._coerced(value, part)
        for union in shape.unions:
            value = self._chosen(value, union)
        if isinstance(value, dict):
            return self._object(value, shape) if "object" in shape.types else value
        if isinstance(value, list):
            return self._list(value, shape) if "array" in shape.types else value
        return first_had(value, shape.types, self.conversions)

    def _chosen(self, value: Json, union: Sequence[Member]) -> Json:
        """Return `value` as the first member takes it that takes it at all."""
        if self.keeps_fitting and any(member.fits(value) for member in union):
            return value
        for member in union:
            coerced = self._coerced(value, member.shape)
            if member.fits(coerced):
                return coerced
        return value

    def _object(self, value: dict[str, Json], shape: Shape) -> Json:
        shapes = ((name, item, shape.properties.get(name, shape.others)) for name, item in value.items())
        return {name: item if part is None else self._coerced(item, part) for name, item, part in shapes}

    def _list(self, value: list[Json], shape: Shape) -> Json:
        if shape.elements is not None:
            return [self._coerced(item, shape.elements) for item in value]
        leading = [self._coerced(item, part) for item, part in zip(value, shape.leading, strict=False)]
        return leading + value[len(leading) :]


def without_nulls(value: Json, shape: Shape) -> Json:
    """Return `value` without the nulls that stand for an optional property which refuses null."""
    if isinstance(value, dict):
        return {
            name: without_nulls(item, shape.properties[name]) if name in shape.properties else item
            for name, item in value.items()
            if item is not None or name not in shape.nullless
        }
    if isinstance(value, list) and shape.elements is not None:
        return [without_nulls(item, shape.elements) for item in value]
    if isinstance(value, list) and shape.leading:
        leading = [without_nulls(item, part) for item, part in zip(value, shape.leading, strict=False)]
        return leading + value[len(leading) :]
    return value


RULES: Mapping[str, Rules] = {
    "0.80.2": Rules(COERCIONS, drops_nulls=False, keeps_fitting=False),
    "0.85.1": Rules(COERCIONS, drops_nulls=True, keeps_fitting=True),
}
"""The rule sets, by version of pi-ai. The ones of 1.6.0 are of another kind: see coercion_1_6."""
