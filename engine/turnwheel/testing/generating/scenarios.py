"""A Hypothesis strategy for whole scenarios: the script of a run, its tools, hooks, queues, and when it is aborted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Final, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from turnwheel.messages import ABSENT, Json
from turnwheel.rules import Ask, Dialect
from turnwheel.table import dialect as dialect_named
from turnwheel.testing.generating.hooks import draw_hooks, draw_queue
from turnwheel.testing.generating.model import draw_answer
from turnwheel.testing.generating.parts import (
    ALMOST,
    FAILURES,
    HINDRANCES,
    KINDS,
    SELDOM_ON,
    SWITCH,
    Drawing,
    Failure,
    Kind,
    Pool,
    given,
    seldom,
)
from turnwheel.testing.generating.tools import Toolbox
from turnwheel.testing.scenario import CallName, Scenario, read_scenario_text

_MODE: Final = Pool(ABSENT, "sequential", "parallel")
_MODEL: Final = Pool(ABSENT, "m7")
_LEVEL: Final = Pool(ABSENT, "low", "off")
_ON_ABORT: Final = Pool(ABSENT, "ignore", "aborted")
_PROMPT: Final = Pool(ABSENT, "Help.")
_PROMPTS: Final = Pool(0, 1, 1, 2, 3)
_OLD: Final = Pool(0, 1, 2, 3, 4)
_ANSWER: Final = {"role": "assistant", "content": [], "stopReason": "stop"}
_DEAD_ENDS: Final = Pool([], ["h0", _ANSWER], ["h0"])
"""Old messages, most of which a run cannot continue from."""

_LATER_CALLS: Final[Mapping[Kind, str]] = {"finish_hook": "finishTurn", "request_preparation": "prepareRequest"}
_CALLS: Final = tuple(call for call in get_args(CallName) if call not in _LATER_CALLS.values())
_EVENTS: Final = 40
"""Runs are aborted while one of so many events is emitted: few of them have more."""


def scenarios(
    dialect: str | None = None, *, calls: int = 3, turns: int = 4, aborts: bool = True, failures: bool = True
) -> SearchStrategy[Scenario]:
    """Return a Hypothesis strategy for scenarios that end, whatever is in them, and shrink to short ones.

    `dialect` names the one whose callbacks there may be; without, all dialects can play them. An answer has at most
    `calls` tool calls, and the script at most `turns` answers; a run that needs more ends in an error, as the format
    says. `aborts` False leaves out aborts; `failures` False all that throws, and answers that are errors. Unknown
    tools and bad arguments, which the loop answers, stay. Raises ValueError if there is no such dialect.

    Each scenario first draws which kinds of things it may have, so that they meet in few, and in many, combinations.
    Nothing is drawn that the format does not settle: a second start of a stream, arguments that are no object.
    """
    missing = _missing(None if dialect is None else dialect_named(dialect))
    kinds = tuple(kind for kind in KINDS if kind not in missing and (aborts or kind != "abort"))
    return _scenarios(kinds, seldom(FAILURES if failures else ()), _aborts(kinds), calls=calls, turns=turns)


def _missing(dialect: Dialect | None) -> Set[Kind]:
    """Return the kinds that a dialect, or some dialect, does not know."""
    if dialect is None:
        return {"finish_hook", "request_preparation", "injection"}
    asked = {rule.asks for rule in dialect.loop.rules}
    missing: dict[Kind, bool] = {
        "finish_hook": Ask.finish_turn not in asked,
        "request_preparation": Ask.prepare_request not in asked,
        "injection": not dialect.switches.loadouts,
    }
    return {kind for kind, is_missing in missing.items() if is_missing}


def _aborts(kinds: Sequence[Kind]) -> Pool:
    """Return when a run may be aborted, where callbacks of these kinds may be there."""
    calls = (*_CALLS, *(call for kind, call in _LATER_CALLS.items() if kind in kinds))
    return Pool(
        *[{"atStart": True}] * 3,
        *[{"atTick": tick} for tick in (0, 1, 2, 3, 4, 6)] * 2,
        *[{"onCall": call, **({"nth": nth} if nth else {})} for nth in (0, 0, 1, 2) for call in calls],
        *[{"onEvent": event} for event in range(_EVENTS)],
    )


@st.composite
def _scenarios(
    draw: DrawFn,
    kinds: Sequence[Kind],
    failures: SearchStrategy[tuple[Failure, ...]],
    aborts: Pool,
    *,
    calls: int,
    turns: int,
) -> Scenario:
    drawing = Drawing(
        draw, {*(kind for kind in kinds if draw(SELDOM_ON if kind in HINDRANCES else SWITCH)), *draw(failures)}
    )
    tools = Toolbox(drawing)
    most = calls if tools.names or "unknown_tools" in drawing.on else 0
    model = drawing.several(turns, lambda: draw_answer(drawing, most, tools.call), ALMOST)
    data = {
        **_start(drawing, tools),
        **given(
            config=_config(drawing) or ABSENT,
            tools=tools.tools or ABSENT,
            model=model or ABSENT,
            toolResults=tools.results or ABSENT,
            hooks=draw_hooks(drawing, tools) or ABSENT,
            steering=draw_queue(drawing, "steering", "s"),
            followUp=draw_queue(drawing, "follow_up", "f"),
            abort=drawing.one("abort", aborts),
        ),
    }
    # By way of a text, so that no two scenarios share an object that a run may change.
    return read_scenario_text(json.dumps(data))


def _start(drawing: Drawing, tools: Toolbox) -> dict[str, Json]:
    """Return how a run begins. It fails, where a continued run has nothing to answer, only if that is switched on."""
    old = drawing.messages("h", drawing.any(_OLD)) if drawing.on & {"history", "continue"} else []
    context = given(
        systemPrompt=drawing.one("history", _PROMPT),
        messages=old or ABSENT,
        tools=drawing.some(tools.names) if "history" in drawing.on else ABSENT,
    )
    if not drawing.is_so("continue"):
        return given(context=context or ABSENT, prompts=drawing.messages("p", drawing.any(_PROMPTS)) or ABSENT)
    if "failing_start" in drawing.on:
        context["messages"] = drawing.any(_DEAD_ENDS)
    elif _cannot_continue(old):
        context["messages"] = [*old, "go"]
    return {"entry": "continue", **given(context=context or ABSENT)}


def _cannot_continue(messages: list[Json]) -> bool:
    return not messages or (isinstance(messages[-1], dict) and messages[-1]["role"] == "assistant")


def _config(drawing: Drawing) -> dict[str, Json]:
    return given(
        toolExecution=drawing.one("modes", _MODE),
        model=drawing.one("config", _MODEL),
        thinkingLevel=drawing.one("config", _LEVEL),
        modelOnAbort=drawing.one("on_abort", _ON_ABORT),
    )
