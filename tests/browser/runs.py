"""The runs that the browser is shown, as recordings: small, long, of two kinds, and hostile."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.conformance.traces import validate
from turnwheel.driver import Driver
from turnwheel.machine import Machine
from turnwheel.recording import Recorder
from turnwheel.table import dialect
from turnwheel.testing.play import ScenarioHost
from turnwheel.testing.scenario import read_scenario

LANGUAGE: Final = "pi-0.85.1"
_TOOLS: Final = [{"name": "slow"}, {"name": "quick"}]
_CALLS: Final = {"toolCalls": [{"id": "a", "name": "slow"}, {"id": "b", "name": "quick"}]}

SMALL: Final[dict[str, Any]] = {
    "prompts": ["compare both"],
    "tools": _TOOLS,
    "model": [_CALLS, {"text": "both are in", "deltas": 3}],
    "toolResults": {"a": {"delay": 5, "text": "at last"}, "b": {"delay": 1, "text": "at once"}},
}
"""Two turns, the first with two tools side by side."""

OTHER: Final[dict[str, Any]] = {**SMALL, "model": [{"text": "no need to", "deltas": 2}]}
"""The same prompt, answered without a call."""

STEERED: Final[dict[str, Any]] = {
    "prompts": ["go"],
    "model": [{"text": "done"}, {"text": "more"}, {"error": "overloaded"}],
    "steering": [[], ["by the way"]],
    "followUp": [["and then?"]],
}
"""A steering message, a follow-up, and an answer that failed."""

EVIL: Final = "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>\u202e\u2028&amp;{{7*7}}</script>"
"""What a page must show as it is."""
HOSTILE: Final[dict[str, Any]] = {
    "prompts": [EVIL],
    "tools": [{"name": EVIL}],
    "model": [
        {"text": EVIL, "toolCalls": [{"id": f'a" b{EVIL}', "name": EVIL, "arguments": {EVIL: EVIL, "__proto__": 1}}]},
        {"error": EVIL},
    ],
    "toolResults": {f'a" b{EVIL}': {"text": EVIL}},
}


def recorded(scenario: dict[str, Any]) -> list[str]:
    """Return the recording of a scenario."""
    language = dialect(LANGUAGE)
    host = ScenarioHost(read_scenario(scenario), language, validate)
    lines: list[str] = []
    begun = host.begun()
    recorder = Recorder(lines.append)
    recorder.header(dialect=language, hooks=begun.config.hooks, tools=[tool.name for tool in begun.context.tools])
    driver = Driver(
        Machine(begun, language), host, signal=host.signal, on_decision=recorder.decided, on_step=recorder.step
    )
    driver.run(host.listen)
    recorder.ended(aborted=host.signal.aborted)
    return lines


def counted(lines: list[str]) -> list[str]:
    """Return a recording in which each answer tells that it used 100 tokens and gave 20."""
    usage = {"input": 100, "output": 20, "cacheRead": 3, "cacheWrite": 0, "totalTokens": 123}
    entries = [json.loads(line) for line in lines]
    for entry in entries:
        if entry.get("event", {}).get("type") == "message_end" and entry["event"]["message"]["role"] == "assistant":
            entry["event"]["message"]["usage"] = usage
    return [json.dumps(entry) for entry in entries]


def hostile() -> list[str]:
    """Return a recording that has hostile text wherever a recording holds text."""
    header, *rest = recorded(HOSTILE)
    told = json.loads(header) | {"model": EVIL, "thinkingLevel": EVIL, "tools": [EVIL]}
    custom = {"role": EVIL, "content": EVIL, "__proto__": EVIL}
    more = {"at": 0, "event": {"type": "message_end", "message": custom}}
    thought = {"type": "thinking", "thinking": EVIL + "\ud800", "thinkingSignature": EVIL}
    image = {"type": "image", "data": "javascript:window.hacked=3", "mimeType": "text/html"}
    message = {"role": "assistant", "content": [thought, image], "stopReason": "stop", "errorMessage": EVIL}
    last = {"at": 0, "event": {"type": "message_end", "message": message}}
    failed = json.loads(rest[-1]) | {"ended": {"failure": EVIL, "aborted": EVIL}}
    return [json.dumps(told), *map(json.dumps, (more, last)), *rest[:-1], json.dumps(failed)]


def long(turns: int = 430) -> list[str]:
    """Return a recording of some 5,000 events: so many turns with two tools each."""
    calls = [
        {"toolCalls": [{"id": f"a{turn}", "name": "slow"}, {"id": f"b{turn}", "name": "quick"}]}
        for turn in range(turns)
    ]
    return recorded({"prompts": ["go on"], "tools": _TOOLS, "model": [*calls, {"text": "done"}]})
