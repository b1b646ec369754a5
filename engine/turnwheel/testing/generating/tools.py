"""Draws the tools of a random scenario, the calls of them, and what each call meets: hooks, results, failures."""

from __future__ import annotations

from itertools import combinations
from typing import Final, final

from hypothesis import strategies as st

from turnwheel.messages import ABSENT, Json
from turnwheel.testing.generating.parts import ALMOST, RARE, Drawing, Pool, given

_NAMES: Final = ("add", "ping", "find")
_UNKNOWN: Final = "lost"
_MODE: Final = Pool(ABSENT, "sequential", "parallel")
_DESCRIPTION: Final = Pool(ABSENT, ABSENT, "Does it.")
_SHIM: Final = Pool(
    {},
    {"rename": {"x": "n"}},
    {"set": {"n": 4}},
    {"rename": {"x": "s", "n": "i"}, "set": {"b": True}},
    failing=[{"throws": "no shim"}] * 3,
)

# --- schemas and arguments ----------------------------------------------------------------------------------------

_PROPERTIES: Final[dict[str, Json]] = {
    "n": {"type": "number"},
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "string"}},
    "e": {"type": "string", "enum": ["fast", "slow"]},
}
_ODD: Final = (ABSENT, None)
_VALUE: Final = {
    "n": Pool(1, 2.5, -3, failing=[*_ODD, "5", " 5 ", "1e3", "0x10", "", "true", True, "many", [1]]),
    "s": Pool("a", "", "é", failing=[*_ODD, 5, 2.5, True, [], {"s": "a"}]),
    "i": Pool(1, 0, failing=[*_ODD, "3", 5.5, "5.5", False, "few", {}]),
    "b": Pool(True, False, failing=[*_ODD, "true", "false", "True", 1, 0, "1", 2, "yes", ""]),
    "l": Pool([], ["a"], ["a", "b"], failing=[*_ODD, "a", [1, True], [None], [["a"]], 5, {}]),
    "e": Pool("fast", "slow", failing=[*_ODD, "odd", 5, "", ["fast"]]),
}
"""Values of each property; those that fail are missing, null, of another type, or none of the words."""
_PROPERTIES_OF_A_TOOL: Final = Pool(*[names for size in range(4) for names in combinations(_PROPERTIES, size)])
_REQUIRED: Final = Pool(slice(0), slice(1), slice(None))
"""Which of its properties a tool requires."""
_EXTRA: Final = Pool(ABSENT, ABSENT, 1, "7", None)
"""An argument that no schema knows."""

# --- what a call meets --------------------------------------------------------------------------------------------

_RESULT: Final = Pool(
    {},
    {"text": "r1"},
    {"content": None},
    {"content": []},
    {"content": [{"type": "text", "text": "r1"}, {"type": "image", "data": "aW1n", "mimeType": "image/png"}]},
    {"details": {"rows": 2}},
    {"text": "r1", "details": None},
    {"isError": True},
    {"isError": False, "details": [1]},
    {"usage": {"input": 2, "output": 1}},
    {"addedToolNames": ["ping"]},
    {"structuredContent": {"rows": 2}},
)
_TERMINATE: Final = Pool(ABSENT, True, True, False, "yes")
_DELAY: Final = Pool(ABSENT, 1, 2, 3)
_UPDATES: Final = Pool(
    ABSENT,
    [{"text": "u1"}],
    [{"text": "u1"}, {"text": "u2", "at": 1}],
    [{"text": "u1", "details": {"part": 1}, "at": 1}],
    [{"at": 2}, {"content": None, "at": 1}],
    [{"text": "u1", "terminate": True, "at": 0}, {"text": "late", "at": 4}],
)
_FAILURE: Final = Pool({}, failing=[{"throws": "no tool"}, {"abortThrows": "gave up"}])
_BEFORE: Final = Pool(
    ABSENT,
    {"block": True},
    {"block": True, "reason": "not now"},
    {"block": True, "reason": ""},
    {"block": True, "terminate": True},
    {"setArgs": {"n": 7, "x": "set"}},
    {"block": True, "reason": "no", "terminate": False, "setArgs": {"n": 7}},
    {"block": False, "reason": "no", "terminate": True},
    {},
    failing=[{"throws": "no before"}] * 3,
)
_AFTER: Final = Pool(
    ABSENT,
    {},
    {"text": "after"},
    {"content": []},
    {"content": None},
    {"details": {"by": "after"}},
    {"isError": True},
    {"isError": False},
    {"terminate": True},
    {"terminate": False},
    {"usage": {"input": 5}},
    {"structuredContent": {"by": "after"}},
    {"text": "after", "details": None, "isError": True, "terminate": True, "usage": None, "structuredContent": 1},
    failing=[{"throws": "no after"}] * 3,
)


@final
class Toolbox:
    """The tools of one scenario, and what the calls that were drawn so far meet."""

    def __init__(self, drawing: Drawing, most: int = len(_NAMES)) -> None:
        self._drawing = drawing
        self._properties: dict[str, tuple[str, ...]] = {}
        self.tools = drawing.several(most, self._tool, ALMOST)
        self.names = tuple(self._properties)
        self.results: dict[str, Json] = {}
        self.before: dict[str, Json] = {}
        self.after: dict[str, Json] = {}

    def _tool(self) -> Json:
        drawing = self._drawing
        name = _NAMES[len(self._properties)]
        self._properties[name] = drawing.any(_PROPERTIES_OF_A_TOOL) if "schemas" in drawing.on else ()
        return given(
            name=name,
            description=drawing.one("schemas", _DESCRIPTION),
            parameters=self._schema(self._properties[name]),
            executionMode=drawing.one("modes", _MODE),
            prepareArguments=drawing.any(_SHIM, "failing_tools") if drawing.is_so("shims") else ABSENT,
        )

    def _schema(self, names: tuple[str, ...]) -> Json:
        if "schemas" not in self._drawing.on:
            return ABSENT
        required = list(names[self._drawing.any(_REQUIRED)]) if names else []
        return given(
            type="object",
            properties={name: _PROPERTIES[name] for name in names},
            required=required or ABSENT,
            additionalProperties=False if self._drawing.draw(RARE) else ABSENT,
        )

    def call(self) -> Json:
        """Draw a call, and what it meets."""
        drawing, number = self._drawing, self._drawing.numbered("c")
        name = _UNKNOWN
        if self.names and not drawing.is_so("unknown_tools", RARE):
            name = self.names[drawing.draw(st.integers(0, len(self.names) - 1))]
        arguments = self._arguments(name)
        self._meets(number)
        return given(id=number, name=name, arguments=arguments or ABSENT)

    def _arguments(self, name: str) -> dict[str, Json]:
        drawing = self._drawing
        values = {each: drawing.any(_VALUE[each], "odd_arguments") for each in self._properties.get(name, ())}
        strays = "odd_arguments" in drawing.on or "shims" in drawing.on
        return given(**values, x=drawing.any(_EXTRA) if strays else ABSENT)

    def _meets(self, call: str) -> None:
        """Draw what the hooks and the tool do with this call."""
        drawing = self._drawing
        does = {
            **(drawing.any(_RESULT) if "results" in drawing.on else {}),
            **given(
                terminate=drawing.one("terminate", _TERMINATE),
                delay=drawing.one("delays", _DELAY),
                updates=drawing.one("updates", _UPDATES),
            ),
            **drawing.any(_FAILURE, "failing_tools"),
        }
        for place, what in (
            (self.results, does or ABSENT),
            (self.before, drawing.one("before_hook", _BEFORE, "failing_hooks")),
            (self.after, drawing.one("after_hook", _AFTER, "failing_hooks")),
        ):
            if what is not ABSENT:
                place[call] = what
