"""Random scenarios: they end, they hold all that the format knows, they keep to what was asked, and they shrink."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from turnwheel.messages import Json
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing import Scenario, play, read_scenario, scenarios, write_scenario
from turnwheel.tool import Tool
from turnwheel_tools.arguments import prepare_arguments

Data = dict[str, Any]
LATER = ("finishTurn", "prepareRequest")
"""The hooks that only the latest dialect has."""


def validated(tool: Tool, arguments: Json, rules: str) -> Json:
    """Coerce and validate arguments as a dialect does."""
    return prepare_arguments(tool, arguments, rules=rules)


@cache
def examples(name: str | None, count: int = 1000, **wishes: Any) -> list[Data]:
    """Return random scenarios, the same ones every time, as JSON."""
    found = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios(name, **wishes))
    def collect(scenario: Scenario) -> None:
        found.append(write_scenario(scenario))

    collect()
    return found


def traced(data: Data) -> list[Json]:
    """Return the trace of a scenario in the usual dialect."""
    return [*play(read_scenario(data), dialect(), validated)]


def smallest(holds: Callable[[Data], bool], name: str | None = None) -> Data:
    """Return what the scenarios that hold shrink to."""
    settled = settings(max_examples=2000, derandomize=True, database=None, deadline=None)
    return write_scenario(
        find(scenarios(name, calls=2, turns=2), lambda scenario: holds(write_scenario(scenario)), settings=settled)
    )


# --- what is in a scenario ----------------------------------------------------------------------------------------


def hook(data: Data, name: str) -> Any:
    """Return what a hook does; nothing where it is not configured."""
    return data.get("hooks", {}).get(name) or []


def of_calls(data: Data, name: str) -> list[Data]:
    """Return what a hook does with each call."""
    return list(dict(hook(data, name)).values())


def changes(data: Data) -> list[Data]:
    """Return what preparations return that return something."""
    return [said for said in hook(data, "prepareNextTurn") if said]


def edits(data: Data) -> list[Data]:
    """Return the edits of transformContext, the single one, too."""
    said = hook(data, "transformContext")
    return [said] if isinstance(said, dict) else [edit for edit in said if edit]


def results(data: Data) -> list[Data]:
    """Return what executing the calls does."""
    return list(data.get("toolResults", {}).values())


def calls_of(answer: Data) -> list[Data]:
    """Return the calls of an answer, however it is written."""
    content = answer.get("message", {}).get("content", [])
    blocks = [block for block in content if block["type"] == "toolCall"] if isinstance(content, list) else []
    return [*answer.get("toolCalls", []), *blocks]


def calls(data: Data) -> list[Data]:
    """Return all calls."""
    return [call for answer in data.get("model", []) for call in calls_of(answer)]


def arguments(data: Data) -> list[tuple[Data, Data]]:
    """Return the schema and the arguments of each call of a known tool."""
    schemas = {tool["name"]: tool.get("parameters", {"properties": {}}) for tool in data.get("tools", [])}
    return [(schemas[call["name"]], call.get("arguments", {})) for call in calls(data) if call["name"] in schemas]


def values(data: Data, kind: str) -> list[Json]:
    """Return the arguments that should be of a type."""
    return [
        given[name]
        for schema, given in arguments(data)
        for name, property_ in schema["properties"].items()
        if property_["type"] == kind and name in given
    ]


def answer(holds: Callable[[Data], Any]) -> Callable[[Data], bool]:
    """Say of a scenario that one of its answers holds."""
    return lambda data: any(holds(answer) for answer in data.get("model", []))


def reason(name: str, *, with_calls: bool = False) -> Callable[[Data], bool]:
    """Say that an answer gives a stop reason."""
    return answer(
        lambda a: (
            name in (a.get("stopReason"), a.get("message", {}).get("stopReason")) and (calls_of(a) or not with_calls)
        )
    )


def steps(holds: Callable[[list[str]], Any]) -> Callable[[Data], bool]:
    """Say that the explicit steps of an answer hold."""
    return answer(lambda a: isinstance(a.get("deltas"), list) and holds([step["type"] for step in a["deltas"]]))


def tool(holds: Callable[[Data], Any]) -> Callable[[Data], bool]:
    """Say that a tool holds."""
    return lambda data: any(holds(tool) for tool in data.get("tools", []))


def result(holds: Callable[[Data], Any]) -> Callable[[Data], bool]:
    """Say that what a call does holds."""
    return lambda data: any(holds(does) for does in results(data))


def typed(kind: str) -> Callable[[Data], bool]:
    """Say that a schema has a property of a type."""
    return tool(lambda t: any(p["type"] == kind for p in t.get("parameters", {}).get("properties", {}).values()))


def has(where: Callable[[Data], list[Any]], what: str | Data) -> Callable[[Data], bool]:
    """Say that something has a key, or equals an object."""
    return lambda data: any(item == what if isinstance(what, dict) else what in item for item in where(data))


def before(data: Data) -> list[Data]:
    """Return what the before hook does."""
    return of_calls(data, "beforeToolCall")


def after(data: Data) -> list[Data]:
    """Return what the after hook does."""
    return of_calls(data, "afterToolCall")


def contexts(data: Data) -> list[Data]:
    """Return the contexts that preparations return."""
    return [said["context"] for said in changes(data) if "context" in said]


def config(data: Data) -> list[Data]:
    """Return the settings."""
    return [data.get("config", {})]


def abort(data: Data) -> list[Data]:
    """Return when the run is aborted."""
    return [data.get("abort", {})]


def shims(data: Data) -> list[Data]:
    """Return the shims of the tools."""
    return [tool["prepareArguments"] for tool in data.get("tools", []) if "prepareArguments" in tool]


def conversion(data: Data) -> list[Json]:
    """Return what converts messages for the model."""
    return [hook(data, "convertToLlm")]


def polled(queue: str, holds: Callable[[Any], bool]) -> Callable[[Data], bool]:
    """Say that the polls of a queue hold."""
    return lambda data: holds(data.get(queue, []))


FEATURES: dict[str, Callable[[Data], Any]] = {
    "continue": lambda d: d.get("entry") == "continue",
    "continue from an assistant": lambda d: (
        d.get("entry") == "continue"
        and isinstance(last := d.get("context", {}).get("messages", [""])[-1], dict)
        and last["role"] == "assistant"
    ),
    "continue from nothing": lambda d: d.get("entry") == "continue" and not d.get("context", {}).get("messages"),
    "several prompts": lambda d: len(d.get("prompts", [])) > 1,
    "old messages": lambda d: d.get("entry") != "continue" and d.get("context", {}).get("messages"),
    "system prompt": lambda d: "systemPrompt" in d.get("context", {}),
    "tools at the start": lambda d: "tools" in d.get("context", {}),
    "custom role": lambda d: '"role": "note"' in json.dumps(d),
    **{f"config {key}": has(config, key) for key in ("toolExecution", "model", "thinkingLevel", "modelOnAbort")},
    # tools
    "no tool": lambda d: not d.get("tools"),
    "sequential tool": tool(lambda t: t.get("executionMode") == "sequential"),
    "parallel tool": tool(lambda t: t.get("executionMode") == "parallel"),
    **{f"shim {key}": has(shims, key) for key in ("rename", "set", "throws")},
    **{f"{kind} in a schema": typed(kind) for kind in ("number", "integer", "string", "boolean", "array")},
    "enum": tool(lambda t: "e" in t.get("parameters", {}).get("properties", {})),
    "required": tool(lambda t: t.get("parameters", {}).get("required")),
    "closed": tool(lambda t: t.get("parameters", {}).get("additionalProperties") is False),
    "coercible number": lambda d: {"5", " 5 ", "1e3", "0x10"} & {v for v in values(d, "number") if isinstance(v, str)},
    "invalid number": lambda d: "many" in values(d, "number"),
    "null argument": lambda d: any(None in given.values() for _, given in arguments(d)),
    "extra argument": lambda d: any("x" in given for _, given in arguments(d)),
    "missing argument": lambda d: any(set(s.get("required", ())) - given.keys() for s, given in arguments(d)),
    # the model
    "no answer": lambda d: not d.get("model"),
    "text": answer(lambda a: "text" in a),
    "thinking": answer(lambda a: "thinking" in a),
    "several calls": answer(lambda a: len(calls_of(a)) > 1),
    "the same tool twice": answer(lambda a: len({call["name"] for call in calls_of(a)}) < len(calls_of(a))),
    "unknown tool": lambda d: any(call["name"] == "lost" for call in calls(d)),
    **{f"reason {name}": reason(name) for name in ("stop", "length", "toolUse", "error", "aborted")},
    **{f"calls with {name}": reason(name, with_calls=True) for name in ("stop", "length", "error", "aborted")},
    "error answer": answer(lambda a: "error" in a),
    "whole message": answer(lambda a: "message" in a),
    "whole message of a string": answer(lambda a: isinstance(a.get("message", {}).get("content"), str)),
    "usage": answer(lambda a: "usage" in a),
    "usage in the message": answer(lambda a: "usage" in a.get("message", {})),
    "no start": answer(lambda a: a.get("start") is False),
    "no end": answer(lambda a: a.get("end") == "none"),
    "cut in pieces": answer(lambda a: isinstance(a.get("deltas"), int)),
    "steps before start": steps(lambda s: "start" in s and s.index("start") > 0),
    "steps without start": steps(lambda s: "start" not in s),
    "steps without end": steps(lambda s: not {"done", "error", "throw"} & {*s}),
    "steps after done": steps(lambda s: "done" in s[:-1]),
    "error step": steps(lambda s: "error" in s),
    "throw step": steps(lambda s: "throw" in s),
    "failing stream": answer(lambda a: "throws" in a),
    "onAbort": answer(lambda a: "onAbort" in a),
    "exhausted": lambda d: d.get("model") and calls_of(d["model"][-1]) and "abort" not in d,
    # what tools do
    **{
        f"result {key}": has(results, key)
        for key in (
            *("text", "content", "details", "terminate", "isError", "usage", "addedToolNames", "structuredContent"),
            *("delay", "throws", "abortThrows"),
        )
    },
    "content null": result(lambda r: "content" in r and r["content"] is None),
    "early update": result(lambda r: any(not update.get("at") for update in r.get("updates", []))),
    "late update": result(lambda r: any(update.get("at", 0) > r.get("delay", 0) for update in r.get("updates", []))),
    # hooks
    "before hook, empty": lambda d: d.get("hooks", {}).get("beforeToolCall") == {},
    "block": has(before, {"block": True}),
    "block with a reason": has(before, {"block": True, "reason": "not now"}),
    "block that terminates": has(before, {"block": True, "terminate": True}),
    "setArgs": has(before, "setArgs"),
    "before throws": has(before, "throws"),
    "after hook, empty": has(after, {}),
    **{
        f"after {key}": has(after, key)
        for key in ("text", "content", "details", "isError", "terminate", "usage", "structuredContent", "throws")
    },
    "prepareNextTurn null": lambda d: None in hook(d, "prepareNextTurn"),
    **{f"prepareNextTurn {key}": has(changes, key) for key in ("context", "model", "thinkingLevel", "throws")},
    **{f"new {key}": has(contexts, key) for key in ("systemPrompt", "messages", "tools")},
    "edited messages": lambda d: any(isinstance(c.get("messages"), dict) for c in contexts(d)),
    "stop": lambda d: True in hook(d, "shouldStopAfterTurn"),
    "do not stop": lambda d: False in hook(d, "shouldStopAfterTurn"),
    "stop throws": lambda d: {"throws": "no stop"} in hook(d, "shouldStopAfterTurn"),
    "one edit for all": lambda d: isinstance(hook(d, "transformContext"), dict),
    "a list of edits": lambda d: isinstance(hook(d, "transformContext"), list) and hook(d, "transformContext"),
    **{f"edit {key}": has(edits, key) for key in ("dropFirst", "keepLast", "append", "throws")},
    **{f"convert {how}": has(conversion, how) for how in ("identity", "custom-as-user")},
    "convert throws": lambda d: isinstance(hook(d, "convertToLlm"), dict),
    # queues and abort
    **{
        f"{queue} {what}": polled(queue, holds)
        for queue in ("steering", "followUp")
        for what, holds in {
            "says something": lambda polls: any(isinstance(poll, list) and poll for poll in polls or ()),
            "null once": lambda polls: None in (polls or ()),
            "throws": lambda polls: {"throws": "no queue"} in (polls or ()),
            "left out": lambda polls: polls is None,
        }.items()
    },
    **{f"abort {key}": has(abort, key) for key in ("onEvent", "onCall", "nth", "atTick", "atStart")},
}
"""What the format knows, and how it is seen in a scenario."""

LATER_FEATURES: dict[str, Callable[[Data], Any]] = {
    "finishTurn continue": lambda d: {"action": "continue"} in hook(d, "finishTurn"),
    "finishTurn end": lambda d: {"action": "end"} in hook(d, "finishTurn"),
    "finishTurn throws": lambda d: {"throws": "no finish"} in hook(d, "finishTurn"),
    "shouldStopAfterTurn": lambda d: hook(d, "shouldStopAfterTurn"),
    "prepareRequest context": lambda d: any("context" in (said or {}) for said in hook(d, "prepareRequest")),
    "prepareRequest model": lambda d: any("model" in (said or {}) for said in hook(d, "prepareRequest")),
    "messages list": lambda d: any(isinstance(said.get("messages"), list) for said in changes(d)),
    "messages edit": lambda d: any(isinstance(said.get("messages"), dict) for said in changes(d)),
    "abort in a later hook": lambda d: d.get("abort", {}).get("onCall") in LATER,
}
"""What only the latest dialect knows."""


def missing(features: dict[str, Callable[[Data], Any]], among: list[Data]) -> dict[str, int]:
    """Return the features that fewer than three scenarios have, and how many do."""
    found = {name: sum(bool(holds(data)) for data in among) for name, holds in features.items()}
    return {name: count for name, count in found.items() if count < 3}


class TestWhatThereIs:
    """Everything that the format knows comes up."""

    def test_every_feature(self) -> None:
        """In 1000 scenarios, all that every dialect can play is there at least a few times."""
        assert missing(FEATURES, examples(None)) == {}

    def test_every_feature_of_the_latest(self) -> None:
        """In 1000 scenarios for Pi 1.6.0, what only it can play is there as well."""
        assert missing(LATER_FEATURES, examples("pi-1.6.0")) == {}

    def test_features_vanish(self) -> None:
        """Each feature is also missing from some scenarios, so that the others are seen without it."""
        among = examples(None)
        often = [name for name, holds in FEATURES.items() if sum(map(bool, map(holds, among))) > len(among) * 0.85]

        assert often == []

    def test_ids_are_numbered(self) -> None:
        """The calls of a scenario are c1, c2 and so on, in the order of the script."""
        for data in examples(None):
            assert {call["id"] for call in calls(data)} == {f"c{n + 1}" for n in range(len(calls(data)))}


class TestPlaying:
    """Scenarios can be played."""

    @pytest.mark.parametrize("name", DIALECTS)
    @given(scenarios())
    def test_all_dialects_play_them(self, name: str, scenario: Scenario) -> None:
        """Where no dialect is named, the run comes to its end in each of them."""
        assert {*play(scenario, dialect(name), validated)[-1]} <= {"result", "throws"}

    @given(scenarios("pi-1.6.0"))
    def test_the_latest_dialect(self, scenario: Scenario) -> None:
        """With the hooks of Pi 1.6.0, too, the run comes to its end."""
        assert {*play(scenario, dialect("pi-1.6.0"), validated)[-1]} <= {"result", "throws"}

    @given(scenarios())
    def test_playing_changes_nothing(self, scenario: Scenario) -> None:
        """A run whose hooks change arguments in place changes neither this scenario nor those to come."""
        written = write_scenario(scenario)

        play(scenario, dialect(), validated)

        assert write_scenario(scenario) == written


class TestWishes:
    """What is asked for is kept."""

    @pytest.mark.parametrize("name", [None, "pi-0.80.2", "pi-0.85.1"])
    def test_hooks_of_the_dialect(self, name: str | None) -> None:
        """Only the latest dialect has its hooks, calls and injected messages."""
        for data in examples(name, 200):
            assert not {*LATER} & {*data.get("hooks", {})}
            assert data.get("abort", {}).get("onCall") not in LATER
            assert not any("messages" in said for said in changes(data))

    def test_the_finish_hook_is_alone(self) -> None:
        """The stop hook is missing where the finish hook, which takes its place, is there."""
        assert not any(
            "shouldStopAfterTurn" in d.get("hooks", {}) for d in examples("pi-1.6.0") if hook(d, "finishTurn")
        )

    def test_most_calls_and_turns(self) -> None:
        """No answer has more calls, and no script more answers, than asked for."""
        for data in examples(None, 100, calls=1, turns=2):
            assert len(data.get("model", [])) <= 2
            assert all(len(calls_of(answer)) <= 1 for answer in data.get("model", []))

    def test_no_calls(self) -> None:
        """Scripts can be had without any call."""
        assert not any(calls(data) for data in examples(None, 100, calls=0))

    def test_no_aborts(self) -> None:
        """Scenarios can be had that are not aborted."""
        assert not any("abort" in data for data in examples(None, 100, aborts=False))

    @given(scenarios(failures=False))
    def test_no_failures(self, scenario: Scenario) -> None:
        """Scenarios can be had in which nothing throws: the run gives a result."""
        data = write_scenario(scenario)

        assert '"throws"' not in json.dumps(data)
        assert not any(FEATURES[name](data) for name in ("error answer", "reason error", "reason aborted"))
        assert "result" in play(scenario, dialect(), validated)[-1]

    def test_no_such_dialect(self) -> None:
        """A dialect that there is not is named at once."""
        with pytest.raises(ValueError, match=r"there is no dialect 'pi-0\.1'; there are pi-0\.80\.2"):
            scenarios("pi-0.1")


class TestShrinking:
    """What goes wrong is shown in a scenario that a person can read."""

    def test_nothing(self) -> None:
        """Any scenario shrinks to the empty one."""
        assert smallest(lambda data: True) == {}

    def test_a_blocked_call(self) -> None:
        """A call that the before hook blocks shrinks to one call."""
        blocked = smallest(lambda data: any(said.get("block") for said in of_calls(data, "beforeToolCall")))

        assert len(calls(blocked)) == 1
        assert blocked["hooks"] == {"beforeToolCall": {"c1": {"block": True}}}
        assert {*blocked} <= {"tools", "model", "hooks", "followUp"}

    def test_the_second_call(self) -> None:
        """What needs the second of two calls loses all that is between."""
        found = smallest(lambda data: "c2" in data.get("toolResults", {}))

        assert len(calls(found)) == 2
        assert [*found["toolResults"]] == ["c2"]

    def test_a_message_in_a_queue(self) -> None:
        """What needs a message in a queue has no call and no hook."""
        assert smallest(FEATURES["followUp says something"]) == {"followUp": [["f1"]]}

    def test_an_abort(self) -> None:
        """An abort shrinks to the one at the start."""
        assert smallest(lambda data: "abort" in data) == {"abort": {"atStart": True}}

    def test_the_finish_hook(self) -> None:
        """The hooks of the latest dialect shrink like the others."""
        found = smallest(LATER_FEATURES["finishTurn end"], "pi-1.6.0")

        assert found == {"hooks": {"finishTurn": [{"action": "end"}]}}
