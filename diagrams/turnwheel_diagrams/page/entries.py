"""The entries of a recording as the page shows them."""

from __future__ import annotations

from typing import Final, final

from attrs import asdict, frozen

from turnwheel import events as ev
from turnwheel.messages import Json
from turnwheel.recorded import Entry, RecordedDecision, RecordedEffect, RecordedEnd, RecordedEvent, Recording
from turnwheel.rules import Dialect
from turnwheel.stream import Delta, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from turnwheel_diagrams.page.pools import Said, pretty
from turnwheel_diagrams.page.verdicts import Verdicts


@final
@frozen
class Shown:
    """A run that a page shows: what it is called, its recording, and the dialect of that."""

    name: str
    recording: Recording
    dialect: Dialect


_EFFECT: Final = {
    "id": "id",
    "tool_call_id": "call",
    "tool_name": "tool",
    "model": "model",
    "thinking_level": "thinking",
    "messages": "messages",
}


def run_of(run: Shown, said: Said, verdicts: Verdicts) -> Json:
    """Return a run for the page. Raises ParseError for a decision that the dialect does not know."""
    recording = run.recording
    return {
        "name": run.name,
        "header": {**asdict(recording.header), "hooks": [*recording.header.hooks], "tools": [*recording.header.tools]},
        "torn": recording.torn,
        "entries": [_entry(entry, run, said, verdicts) for entry in recording.entries],
    }


def _entry(entry: Entry, run: Shown, said: Said, verdicts: Verdicts) -> dict[str, Json]:
    when: dict[str, Json] = {"at": entry.at} if entry.time is None else {"at": entry.at, "time": entry.time}
    match entry:
        case RecordedEvent(event=event):
            return {"kind": "event", "type": event.type, **when, **_event(event, said)}
        case RecordedDecision():
            call = {} if entry.call is None else {"index": entry.call}
            return {"kind": "decision", **when, "verdict": verdicts.place(entry, run.dialect, run.name), **call}
        case RecordedEffect():
            facts = {name: getattr(entry, key) for key, name in _EFFECT.items() if getattr(entry, key) is not None}
            return {"kind": "effect", "type": entry.type, **when, **facts}
        case RecordedEnd():
            return {"kind": "ended", **when, "failure": entry.failure, "aborted": entry.aborted}


def _event(event: ev.Event, said: Said) -> dict[str, Json]:
    match event:
        case ev.MessageStart() | ev.MessageEnd():
            return {"message": said.message(event.message)}
        case ev.MessageUpdate():
            return _step(event.step, said)
        case ev.TurnEnd():
            return {"message": said.message(event.message), "results": [*map(said.message, event.tool_results)]}
        case ev.AgentEnd():
            return {"messages": len(event.messages)}
        case ev.ToolExecutionStart():
            return {"call": event.tool_call_id, "tool": event.tool_name, "text": pretty(event.args)}
        case ev.ToolExecutionUpdate():
            result = said.result(event.partial_result)
            return {"call": event.tool_call_id, "tool": event.tool_name, "result": result}
        case ev.ToolExecutionEnd():
            result = said.result(event.result)
            return {"call": event.tool_call_id, "tool": event.tool_name, "result": result, "failed": event.is_error}
    return {}


def _step(step: Delta, said: Said) -> dict[str, Json]:
    told: dict[str, Json] = {"step": step.type, "block": step.content_index}
    match step:
        case TextDelta() | ThinkingDelta() | ToolCallDelta():
            return {**told, "text": step.delta}
        case ToolCallStart():
            return {**told, "call": step.id, "tool": step.name}
        case ToolCallEnd(tool_call=call) if call is not None:
            return {**told, "whole": said.block(call)}
    return told
