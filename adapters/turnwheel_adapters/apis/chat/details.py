"""The entries of reasoning_details: what OpenRouter, and gateways like it, want back of a model's thinking."""

from __future__ import annotations

import json
from collections.abc import Container, Hashable
from typing import Final, final

from attrs import define, field

from turnwheel.messages import Json
from turnwheel_adapters.apis.chunks import text

_SEALED: Final = "reasoning.encrypted"
_IN_PIECES: Final = ("text", "summary", "data")


@final
@define
class Details:
    """The entries of one answer, in the order in which they began."""

    _entries: dict[Hashable, dict[str, Json]] = field(factory=dict, init=False)
    _pieces: dict[Hashable, dict[str, list[str]]] = field(factory=dict, init=False)

    def take(self, entry: dict[str, Json]) -> None:
        """Take an entry. A sealed one with an id is whole; of others, each chunk brings a piece under their index."""
        kind, id_, index = text(entry, "type"), text(entry, "id"), entry.get("index")
        if kind == _SEALED and id_:
            self._entries[id_] = entry
            return
        key = (index if type(index) is int else None, kind)
        kept = self._entries.setdefault(key, {})
        for name, value in entry.items():
            if name in _IN_PIECES and isinstance(value, str):
                kept.setdefault(name, "")
                self._pieces.setdefault(key, {}).setdefault(name, []).append(value)
            elif value is not None or name not in kept:
                kept[name] = value

    def sealed(self, id_: str) -> str | None:
        """Return the JSON text of the sealed entry with that id, which is a call's; None where there is none."""
        entry = self._entries.get(id_) if id_ else None
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":")) if entry is not None else None

    def without(self, ids: Container[str]) -> list[dict[str, Json]]:
        """Return the entries, put together, but for the sealed ones with these ids."""
        return [
            entry | {name: "".join(pieces) for name, pieces in self._pieces.get(key, {}).items()}
            for key, entry in self._entries.items()
            if not (isinstance(key, str) and key in ids)
        ]
