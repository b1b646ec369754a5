"""Draws the answers of the model of a random scenario, and the steps in which they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turnwheel.messages import ABSENT, Json
from turnwheel.testing.generating.parts import EVEN, RARE, Drawing, Pool, given

_TEXT: Final = Pool(ABSENT, "a1", "done", "", "été")
_THINKING: Final = Pool(ABSENT, "hm", "so be it", "")
_STOP_REASON: Final = Pool(
    ABSENT, ABSENT, ABSENT, "length", "length", "stop", "toolUse", failing=["error", "aborted"] * 2
)
_USAGE: Final = Pool(
    ABSENT, {"input": 3, "output": 1}, {"input": 3, "totalTokens": 4, "cost": {"total": 0.5}, "kept": 1}
)
_FAILURE: Final = Pool({}, failing=[{"error": "no model"}, {"throws": "no stream"}])
_MORE: Final = Pool({}, {"provider": "p1"}, {"errorMessage": "odd"}, {"responseId": "r1", "mood": "good"})
_ON_ABORT: Final = Pool(ABSENT, "ignore", "aborted")
_START: Final = Pool(ABSENT, False)
_END: Final = Pool(ABSENT, "none")
_DELTAS: Final = Pool(1, 2, 3, ABSENT)

_PATTERN: Final = Pool(
    (),
    ("delta",),
    ("start", "delta", "end"),
    ("start", "delta", "delta", "end"),
    ("start",),
    ("end",),
    ("delta", "end"),
    ("start", "delta", "start"),
)
"""What is streamed of a block."""
_BEHIND: Final = Pool(None, None, None, 0, 1)
"""So many places behind the last block there is a step for one that the final message does not have."""
_STARTS: Final = Pool(0, 0, 0, 1, 2, None)
"""So many steps come before `start`; None: there is no start."""
_LAST: Final = Pool(
    [{"type": "done"}],
    [{"type": "done"}],
    [],
    [{"type": "error"}],
    [{"type": "done"}, {"type": "text_delta", "delta": "late"}, {"type": "done"}],
    failing=[[{"type": "throw", "message": "no more"}], [{"type": "throw", "message": "cut"}, {"type": "done"}]],
)
"""How the steps end."""
_STEP: Final = {"text": "text", "thinking": "thinking", "toolCall": "toolcall"}


def draw_answer(drawing: Drawing, calls: int, call: Callable[[], Json]) -> Json:
    """Return one answer, with at most so many calls, which `call` draws."""
    failure = drawing.any(_FAILURE, "failing_model")
    if "throws" in failure:
        return failure
    thinking = drawing.one("thinking", _THINKING)
    text = drawing.any(_TEXT)
    tool_calls = drawing.several(calls, call)
    said = given(
        stopReason=drawing.one("stop_reasons", _STOP_REASON, "failing_model"),
        usage=drawing.one("usage", _USAGE),
        **failure,
    )
    blocks = _blocks(thinking, text, tool_calls)
    if drawing.is_so("whole_messages"):
        body = _whole(drawing, blocks, said)
    else:
        body = {**given(thinking=thinking, text=text, toolCalls=tool_calls or ABSENT), **said}
    return {**body, **given(onAbort=drawing.one("on_abort", _ON_ABORT)), **_stream(drawing, blocks)}


def _blocks(thinking: Json, text: Json, calls: list[Json]) -> list[Json]:
    blocks = [{"type": "thinking", "thinking": thinking}] if thinking is not ABSENT else []
    blocks += [{"type": "text", "text": text}] if text is not ABSENT else []
    return blocks + [{"type": "toolCall", "arguments": {}, **call} for call in calls]


def _whole(drawing: Drawing, blocks: list[Json], said: dict[str, Json]) -> dict[str, Json]:
    """Return an answer as a whole message; what is `said` of it stands beside the message or in it."""
    if drawing.draw(RARE):
        blocks.reverse()
    bare = [block["text"] for block in blocks if block["type"] == "text"]
    content = bare[0] if len(bare) == len(blocks) == 1 and drawing.draw(EVEN) else blocks
    message = {"content": content, **drawing.any(_MORE)}
    if "error" in said or drawing.draw(EVEN):
        return {"message": message, **said}
    return {"message": {**message, **said}}


def _stream(drawing: Drawing, blocks: list[Json]) -> dict[str, Json]:
    """Return in which steps an answer with these blocks arrives."""
    if drawing.is_so("steps"):
        return {"deltas": _steps(drawing, blocks)}
    return given(
        deltas=drawing.one("deltas", _DELTAS),
        start=drawing.one("streams", _START),
        end=drawing.one("streams", _END),
    )


def _steps(drawing: Drawing, blocks: list[Json]) -> list[Json]:
    # In the order of the blocks: what a step means for a block of another kind, which one behind it has opened, is
    # not said.
    steps = [
        _step(f"{_STEP[block['type']]}_{part}", index, block.get(block["type"], "{}"))
        for index, block in enumerate(blocks)
        for part in drawing.any(_PATTERN)
    ]
    if (behind := drawing.any(_BEHIND)) is not None:
        steps.append(_step("text_delta", len(blocks) + behind, "more"))
    if (before := drawing.any(_STARTS)) is not None:
        steps.insert(before, {"type": "start"})
    return [*steps, *drawing.any(_LAST, "failing_model")]


def _step(kind: str, index: int, text: str) -> Json:
    return {"type": kind, **given(contentIndex=index or ABSENT, delta=text if kind.endswith("delta") else ABSENT)}
