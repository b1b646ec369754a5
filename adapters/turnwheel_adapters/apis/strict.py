"""Whether a tool's schema may be declared strict, so that a provider keeps the model to it."""

from __future__ import annotations

from collections.abc import Mapping

from turnwheel.messages import Json


def fits_strict(schema: Json) -> bool:
    """Say whether each object of a schema names all of its properties as required and allows no others.

    Source: the guide to structured outputs of OpenAI. A schema with optional properties is sent as it is, unstrict.
    """
    if isinstance(schema, list | tuple):
        return all(map(fits_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    kind = schema.get("type")
    if kind == "object" or (isinstance(kind, list | tuple) and "object" in kind) or "properties" in schema:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or schema.get("additionalProperties") is not False:
            return False
        if set(properties) != set(schema.get("required", ())):
            return False
        return all(map(fits_strict, properties.values()))
    return all(fits_strict(part) for key, part in schema.items() if key not in ("enum", "const", "default", "examples"))
