"""What the parts of a random scenario are drawn with: the kinds of things that it may have, and its messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import combinations
from typing import Final, Literal, TypeVar, final, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from turnwheel.messages import ABSENT, Json

Kind = Literal[
    "history",
    "continue",
    "any_role",
    "config",
    "thinking",
    "deltas",
    "steps",
    "streams",
    "whole_messages",
    "stop_reasons",
    "usage",
    "on_abort",
    "schemas",
    "shims",
    "modes",
    "unknown_tools",
    "odd_arguments",
    "results",
    "terminate",
    "delays",
    "updates",
    "before_hook",
    "after_hook",
    "preparation",
    "stop_question",
    "transform",
    "convert",
    "finish_hook",
    "request_preparation",
    "injection",
    "steering",
    "follow_up",
    "no_queues",
    "abort",
]
"""What a scenario may have."""
Failure = Literal["failing_start", "failing_model", "failing_tools", "failing_hooks", "failing_queues"]
"""What may fail in a scenario. It is rarer, since most failures end the run."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FAILURES: Final[tuple[Failure, ...]] = get_args(Failure)

EVEN: Final = st.booleans()
SWITCH: Final = st.integers(0, 1)
"""Numbers shrink better than booleans where what is drawn later depends on them."""
SELDOM_ON: Final = st.integers(0, 5).map(lambda drawn: drawn // 4)
"""Switches what keeps tools from running, in a third of the scenarios."""
HINDRANCES: Final[frozenset[Kind]] = frozenset({"abort", "odd_arguments", "unknown_tools"})
"""The kinds that keep tools from running."""
LIKELY: Final = st.sampled_from((False, True, True))
ALMOST: Final = st.sampled_from((False, *[True] * 7))
RARE: Final = st.sampled_from((False, False, False, True))

_Item = TypeVar("_Item")


@final
class Pool:
    """Values for one place, the plainest first; ABSENT leaves the place empty. What is wrong there is in `failing`."""

    def __init__(self, *plain: Json, failing: Sequence[Json] = ()) -> None:
        self.first = plain[0]
        self.plain = st.sampled_from(plain) if len(plain) > 1 else None
        # The first one is repeated, so that what can fail need not.
        self.all = st.sampled_from((*[plain[0]] * 3, *plain, *failing))


def seldom(kinds: Sequence[_Item]) -> SearchStrategy[tuple[_Item, ...]]:
    """Return a strategy whose values are none of the kinds, one or two, or all."""
    few = [some for size in (1, 2) for some in combinations(kinds, size)]
    return st.sampled_from([*[()] * (4 * len(kinds)), *few, tuple(kinds)])


def given(**fields: Json) -> dict[str, Json]:
    """Return the fields that are there."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


@final
class Drawing:
    """One scenario that is being drawn. `on` are the kinds of things that it may have."""

    def __init__(self, draw: DrawFn, on: Set[Kind | Failure]) -> None:
        self.draw = draw
        self.on = on
        self._told: dict[str, int] = {}

    def one(self, kind: Kind, pool: Pool, failing: Failure | None = None) -> Json:
        """Return a value of the pool, or ABSENT where its kind is switched off."""
        return self.any(pool, failing) if kind in self.on else ABSENT

    def any(self, pool: Pool, failing: Kind | Failure | None = None) -> Json:
        """Return a value of the pool; the failing ones are among them only where that is switched on."""
        choices = pool.all if failing in self.on else pool.plain
        return pool.first if choices is None else self.draw(choices)

    def is_so(self, kind: Kind | Failure, chance: SearchStrategy[bool] = EVEN) -> bool:
        """Say by chance whether something is so, where its kind is switched on."""
        return kind in self.on and self.draw(chance)

    def several(self, most: int, item: Callable[[], _Item], more: SearchStrategy[bool] = LIKELY) -> list[_Item]:
        """Return at most so many items."""
        drawn: list[_Item] = []
        while len(drawn) < most and self.draw(more):
            drawn.append(item())
        return drawn

    def numbered(self, name: str) -> str:
        """Return a word that is used once: the name and the next number."""
        self._told[name] = self._told.get(name, 0) + 1
        return f"{name}{self._told[name]}"

    def messages(self, name: str, count: int) -> list[Json]:
        """Return so many messages, which say name1, name2, …; users' ones, or those of any role."""
        return [self._message(name) for _ in range(count)]

    def _message(self, name: str) -> Json:
        shape = self.draw(_SHAPES) if "any_role" in self.on else _plain
        return shape(self.numbered(name))

    def some(self, names: Sequence[str]) -> Json:
        """Return some of the names, or ABSENT."""
        part = self.draw(_PARTS)
        return ABSENT if part is None else list(names[part])


# --- messages -----------------------------------------------------------------------------------------------------


def _plain(text: str) -> Json:
    return text


def _in_a_string(text: str) -> Json:
    return {"role": "user", "content": text}


def _with_an_image(text: str) -> Json:
    image = {"type": "image", "data": "aW1n", "mimeType": "image/png"}
    return {"role": "user", "content": [{"type": "text", "text": text}, image], "mood": "good"}


def _note(text: str) -> Json:
    return {"role": "note", "content": text}


def _memo(text: str) -> Json:
    return {"role": "memo", "content": [{"type": "text", "text": text}], "pages": [1, 2]}


def _mark(text: str) -> Json:
    return {"role": "mark", "at": text}


def _answer(text: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}


def _result(text: str) -> Json:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": "c0", "toolName": "add", "content": content, "isError": False}


_SHAPES: Final[SearchStrategy[Callable[[str], Json]]] = st.sampled_from(
    (_plain, _plain, _note, _answer, _result, _in_a_string, _with_an_image, _memo, _mark)
)
_PARTS: Final = st.sampled_from((None, None, slice(0), slice(1), slice(None, None, -1)))
