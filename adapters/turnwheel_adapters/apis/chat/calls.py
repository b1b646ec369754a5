"""The calls of one answer of openai-chat, put together from pieces that servers cut and number in their own ways."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import final

from attrs import define, field

from turnwheel.messages import Json
from turnwheel_adapters.apis.arguments import final_arguments
from turnwheel_adapters.apis.blocks import Blocks
from turnwheel_adapters.apis.chunks import part, text


@define(eq=False)
class _Call:
    """One call. `pieces` are its arguments as they came; it is `open` once its block has begun."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(factory=list)
    whole: dict[str, Json] | None = None
    open: bool = False

    def named(self, piece: str) -> None:
        """Take a name, or a piece of one: a repeated one says nothing new, a longer one takes its place."""
        if piece.startswith(self.name):
            self.name = piece
        elif not self.name.startswith(piece):
            self.name += piece


@final
@define
class Calls:
    """All calls of an answer, by their index where the server gives one."""

    blocks: Blocks
    _calls: list[_Call] = field(factory=list, init=False)
    _by_index: dict[int, _Call] = field(factory=dict, init=False)
    _by_id: dict[str, _Call] = field(factory=dict, init=False)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, data: dict[str, Json]) -> None:
        """Take an entry of tool_calls. Its block opens with the first of its arguments, when the name is known."""
        function = part(data, "function")
        call = self._call(data.get("index"), text(data, "id"), text(function, "name"))
        if not call.open:
            call.named(text(function, "name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            call.whole = arguments
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            call.pieces.append(arguments)
            if call.open:
                self.blocks.arguments(call, arguments)
            elif call.name:
                self._open(call)

    def take_legacy(self, data: dict[str, Json]) -> None:
        """Take a function_call, the form before tool_calls: there is one, without an id."""
        self.take({"index": 0, "function": data})

    def sign(self, id_: str, signature: str) -> bool:
        """Give the call of that id a signature; say False where there is no such call."""
        call = self._by_id.get(id_)
        if call is None:
            return False
        self._open(call)
        self.blocks.seal(call, signature)
        return True

    def close(self, *, cut: bool) -> None:
        """Say that all calls are whole; where the answer was `cut` off, only those whose arguments can be read."""
        for call in self._calls:
            arguments = call.whole if call.whole is not None else _resent(call.pieces)
            said = "".join(call.pieces)
            if cut and arguments is None and (not said.strip() or final_arguments(said)[1] is not None):
                continue
            self._open(call)
            self.blocks.close(call, arguments)

    def _open(self, call: _Call) -> None:
        if not call.open:
            call.open = True
            self.blocks.call(call, call.id or None, call.name)
            for piece in call.pieces:
                self.blocks.arguments(call, piece)

    def _call(self, index: Json, id_: str, name: str) -> _Call:
        """Return the call that an entry is about, a new one where it is none of those that there are."""
        found = self._by_index.get(index) if type(index) is int else self._without_index(id_, name)
        # Some servers give every call the index 0.
        if found is None or (id_ and found.id and id_ != found.id and name):
            found = _Call()
            self._calls.append(found)
        if type(index) is int:
            self._by_index[index] = found
        if id_ and not found.id:
            found.id = id_
            self._by_id[id_] = found
        return found

    def _without_index(self, id_: str, name: str) -> _Call | None:
        if id_:
            return self._by_id.get(id_)
        return self._calls[-1] if self._calls and not name else None


def _resent(pieces: list[str]) -> dict[str, Json] | None:
    """Return the arguments where a server sent them whole again and again, or once more at the end; None elsewhere.

    What all pieces together say comes first: only where that is no JSON can the last one be a repetition.
    """
    if len(pieces) < 2 or final_arguments("".join(pieces))[1] is None:
        return None
    last = pieces[-1]
    grown = all(later.startswith(piece) for piece, later in pairwise(pieces))
    if not (grown or last == "".join(pieces[:-1])):
        return None
    arguments, error = final_arguments(last)
    return arguments if error is None and isinstance(arguments, dict) else None
