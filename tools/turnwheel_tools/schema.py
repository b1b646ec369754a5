"""What a JSON schema says of a property or an item, and where its references lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, final
from urllib.parse import unquote, urljoin

from attrs import field, frozen
from jsonschema_rs import Draft202012Validator

from turnwheel.messages import Json

_KEPT_PATTERNS: Final = 512
_ROOT: Final = "schema:///all"


@final
@frozen(eq=False)
class Document:
    """A schema with all that its references can name. It must not be changed afterwards."""

    root: Json
    _bases: dict[int, str] = field(factory=dict, init=False, repr=False)
    _named: dict[str, Json] = field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._named[_ROOT] = self.root
        self._index(self.root, _ROOT)

    def target(self, node: Json) -> Json:
        """Return the schema that `$ref` of `node` names; False, which nothing fits, where it names nothing."""
        address, _, fragment = _joined(self._bases[id(node)], node["$ref"]).partition("#")
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._named.get(f"{address}#{fragment}", False)
        found = self._named.get(address, False)
        for step in fragment.split("/")[1:]:
            found = _under(found, step.replace("~1", "/").replace("~0", "~"))
        return found

    def _index(self, part: Json, base: str) -> None:
        if isinstance(part, Mapping):
            if isinstance(part.get("$id"), str):
                base = _joined(base, part["$id"]).partition("#")[0]
                self._named[base] = part
            if isinstance(part.get("$anchor"), str):
                self._named[f"{base}#{part['$anchor']}"] = part
            self._bases[id(part)] = base
            part = list(part.values())
        if isinstance(part, (list, tuple)):
            for inner in part:
                self._index(inner, base)


def _joined(base: str, reference: str) -> str:
    return base + reference if reference.startswith("#") else urljoin(base, reference)


def _under(schema: Json, step: str) -> Json:
    if isinstance(schema, list):
        return schema[int(step)] if step.isdecimal() and int(step) < len(schema) else False
    return schema.get(step, False) if isinstance(schema, Mapping) else False


def of_property(node: Mapping[str, Json], name: str) -> Sequence[Json]:
    """Return the schemas that a property called `name` has to fit."""
    properties = node.get("properties", {})
    named = [properties[name]] if name in properties else []
    named += of_pattern(node, name)
    return named or [node.get("additionalProperties", True)]


def of_pattern(node: Mapping[str, Json], name: str) -> Sequence[Json]:
    """Return the schemas of the patterns that match `name`."""
    patterns: Mapping[str, Json] = node.get("patternProperties", {})
    return [part for pattern, part in patterns.items() if matches("pattern", pattern, name)]


def of_item(node: Mapping[str, Json], index: int) -> Json:
    """Return the schema of the item at `index`; the items of a tuple may have one each."""
    items, leading = node.get("items", True), node.get("prefixItems", ())
    if isinstance(items, list):
        return items[index] if index < len(items) else True
    return leading[index] if index < len(leading) else items


def matches(keyword: str, wanted: str, text: str) -> bool:
    """Return whether `text` has the pattern or the format `wanted`. An unknown format asks for nothing."""
    return _matcher(keyword, wanted).is_valid(text)


@lru_cache(_KEPT_PATTERNS)
def _matcher(keyword: str, wanted: str) -> Draft202012Validator:
    return Draft202012Validator({keyword: wanted}, validate_formats=True, offline=True)
