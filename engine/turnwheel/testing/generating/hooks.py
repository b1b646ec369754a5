"""Draws what the callbacks of a random scenario return that are not about one tool call: its hooks and queues."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from turnwheel.messages import ABSENT, Json
from turnwheel.testing.generating.parts import EVEN, Drawing, Kind, Pool, given
from turnwheel.testing.generating.tools import Toolbox

_ITEMS: Final = st.integers(0, 3)
"""So many items has a list."""
_PREPARATION: Final = Pool(
    None,
    {},
    {"model": "m1"},
    {"thinkingLevel": "high"},
    {"model": "m2", "thinkingLevel": "off"},
    {"context": {}},
    {"context": {}},
    failing=[{"throws": "no turn"}],
)
_PROMPT: Final = Pool(ABSENT, "Be brief.", "")
_EDITS: Final[tuple[Json, ...]] = (
    {"keepLast": 1},
    {"dropFirst": 1},
    {"append": 1},
    {"dropFirst": 1, "keepLast": 2, "append": 2},
    {"dropFirst": 9},
)
"""Edits, which say how many messages they append."""
_CHANGE: Final = Pool(ABSENT, ABSENT, ABSENT, *_EDITS, 0, 1, 2)
"""How the messages of a context change: an edit, or so many new ones."""
_STOPS: Final = Pool(False, False, True, failing=[{"throws": "no stop"}])
_FINISH: Final = Pool(
    None, None, {"action": "continue"}, {"action": "continue"}, {"action": "end"}, failing=[{"throws": "no finish"}] * 2
)
_CONVERT: Final = Pool("identity", "custom-as-user", "default", failing=[{"throws": "no conversion"}])
_EDIT_OF_ALL: Final = Pool(None, {}, *_EDITS, failing=[{"throws": "no transform"}] * 2)
_POLL: Final = Pool(0, 1, 0, 1, 2, None, failing=[{"throws": "no queue"}])
"""So many messages does a poll give, or what it does instead."""


def draw_hooks(drawing: Drawing, tools: Toolbox) -> dict[str, Json]:
    """Return the hooks, those of the tool calls that were drawn before among them."""
    return given(
        beforeToolCall=tools.before if "before_hook" in drawing.on else ABSENT,
        afterToolCall=tools.after if "after_hook" in drawing.on else ABSENT,
        prepareNextTurn=_preparations(drawing, tools, "preparation"),
        prepareRequest=_preparations(drawing, tools, "request_preparation"),
        shouldStopAfterTurn=_items(drawing, _STOPS, there=_stop_hook(drawing)),
        finishTurn=_items(drawing, _FINISH, there="finish_hook" in drawing.on),
        transformContext=_transform(drawing),
        convertToLlm=drawing.one("convert", _CONVERT, "failing_hooks"),
    )


def draw_queue(drawing: Drawing, kind: Kind, name: str) -> Json:
    """Return what the polls of a queue give, whose messages say name1, name2, …; ABSENT or None where it is off."""
    if kind in drawing.on:
        return [_poll(drawing, name) for _ in range(drawing.draw(_ITEMS))]
    return None if drawing.is_so("no_queues") else ABSENT


def _poll(drawing: Drawing, name: str) -> Json:
    poll = drawing.any(_POLL, "failing_queues")
    return drawing.messages(name, poll) if isinstance(poll, int) else poll


def _items(drawing: Drawing, pool: Pool, *, there: bool) -> Json:
    return [drawing.any(pool, "failing_hooks") for _ in range(drawing.draw(_ITEMS))] if there else ABSENT


def _stop_hook(drawing: Drawing) -> bool:
    """Say whether there is a stop hook: the finish hook takes its place."""
    return "stop_question" in drawing.on and "finish_hook" not in drawing.on


def _preparations(drawing: Drawing, tools: Toolbox, kind: Kind) -> Json:
    if kind not in drawing.on:
        return ABSENT
    injects = kind == "preparation" and "injection" in drawing.on

    def preparation() -> Json:
        said = drawing.any(_PREPARATION, "failing_hooks")
        if said is None or "throws" in said:
            return said
        context = {"context": _context(drawing, tools)} if "context" in said else {}
        return {**said, **context, **given(messages=_messages(drawing, "i") if injects else ABSENT)}

    return [preparation() for _ in range(drawing.draw(_ITEMS))]


def _context(drawing: Drawing, tools: Toolbox) -> Json:
    return given(systemPrompt=drawing.any(_PROMPT), messages=_messages(drawing, "n"), tools=drawing.some(tools.names))


def _messages(drawing: Drawing, name: str) -> Json:
    """Return a list of messages, which say name1, name2, …, an edit of those that are there, or ABSENT."""
    match drawing.any(_CHANGE):
        case int(count):
            return drawing.messages(name, count)
        case dict(edit):
            return _appending(drawing, edit, name)
    return ABSENT


def _transform(drawing: Drawing) -> Json:
    if "transform" not in drawing.on:
        return ABSENT
    edits = [_edit(drawing) for _ in range(drawing.draw(_ITEMS))]
    return edits[0] if len(edits) == 1 and edits[0] is not None and drawing.draw(EVEN) else edits


def _edit(drawing: Drawing) -> Json:
    edit = drawing.any(_EDIT_OF_ALL, "failing_hooks")
    return edit if edit is None else _appending(drawing, edit, "t")


def _appending(drawing: Drawing, edit: Json, name: str) -> Json:
    """Return the edit with messages in the place of their number."""
    return {**edit, "append": drawing.messages(name, edit["append"])} if "append" in edit else edit
