"""The calls of one answer of openai-chat, put together from pieces that servers cut and number in their own ways."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import final

from attrs import define, field

from turnwheel.messages import Json
from turnwheel_adapters.apis.arguments import final_arguments
from turnwheel_adapters.apis.blocks import Blocks
from turnwheel_adapters.apis.chat.details import Details
from turnwheel_adapters.apis.chunks import part, text


@define(eq=False)
class _Call:
    """One call. `pieces` are its arguments as they came; it is `open` once its block has begun.

    `given` are the arguments with which its block was closed, None while it is not.
    """

    id: str = ""
    name: str = ""
    pieces: list[str] = field(factory=list)
    whole: dict[str, Json] | None = None
    open: bool = False
    given: Json = None
    late: bool = False

    def named(self, piece: str) -> None:
        """Take a name, or a piece of one: a repeated one says nothing new, a longer one takes its place."""
        if piece.startswith(self.name):
            self.name = piece
        elif not self.name.startswith(piece):
            self.name += piece

    def read(self) -> tuple[Json, str | None]:
        """Return the arguments as final_arguments does."""
        if self.whole is not None:
            return self.whole, None
        resent = _resent(self.pieces)
        return (resent, None) if resent is not None else final_arguments("".join(self.pieces))


@final
@define
class Calls:
    """All calls of an answer, by their index where the server gives one."""

    blocks: Blocks
    details: Details
    signed: set[str] = field(factory=set, init=False)
    """The server's ids of the calls that have got their entry of the details as signature."""
    _calls: list[_Call] = field(factory=list, init=False)
    _by_index: dict[int, _Call] = field(factory=dict, init=False)
    _by_id: dict[str, _Call] = field(factory=dict, init=False)

    @property
    def contradicted(self) -> bool:
        """Whether what came after a call had been said to be whole makes other arguments of it."""
        return any(call.late and call.read() != (call.given, None) for call in self._calls)

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
            call.late = call.given is not None
            if call.late:
                return
            if call.open:
                self.blocks.arguments(call, arguments)
            elif call.name:
                self._open(call)

    def close(self, *, cut: bool, last: bool) -> None:
        """Say that all calls are whole whose arguments can be read.

        At the `last`, when nothing more can come, the others are whole as well, unless the answer was `cut` off.
        """
        for call in self._calls:
            if call.given is not None:
                continue
            arguments, error = call.read()
            readable = error is None and (call.whole is not None or any(map(str.strip, call.pieces)))
            if readable or (last and not cut):
                self._close(call, arguments, error)

    def _close(self, call: _Call, arguments: Json, error: str | None) -> None:
        self._open(call)
        if signature := self.details.sealed(call.id):
            self.blocks.seal(call, signature)
            self.signed.add(call.id)
        call.given = arguments
        self.blocks.close(call, arguments if error is None else None)

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


def is_blank(data: dict[str, Json]) -> bool:
    """Say whether an entry of tool_calls says nothing, as some servers send one beside a text."""
    function = part(data, "function")
    return not (text(data, "id") or text(function, "name") or function.get("arguments"))


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
