"""The scripted world of a scenario: model, tools on a virtual clock, hooks, queues, abort."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import Any

from tests.reference.loadout import declared, lead
from tests.reference.messages import content_of, converted, edited, messages_of, seen, text, told_of
from tests.reference.partial import EXHAUSTED, Answer
from tests.reference.recording import Recording, checked
from tests.reference.shapes import Context, Json, Turn, is_system, roles
from tests.reference.versions import Version

RESULT_FIELDS = ("details", "terminate", "isError", "usage", "addedToolNames", "structuredContent")
PARTIAL_FIELDS = ("details", "terminate")


class Execution:
    """A tool at work; when it is done, it has a `result` or an `error`."""

    def __init__(self, does: Json) -> None:
        """Begin; `does` is what the scenario says of it."""
        self._does = does
        self.result: Json = {}
        self.error: str | None = None

    def complete(self, *, aborted: bool) -> None:
        """Be done; `aborted`: the run is aborted by now."""
        late = self._does.get("abortThrows") if aborted else None
        self.error = self._does.get("throws") if late is None else late
        self.result = result_of(self._does, text("ok"), RESULT_FIELDS)


class World(Recording):
    """What the loop calls. A callback raises Failed where the scenario says so; one that is not there gives nothing.

    `prompts` None asks to continue.
    """

    def __init__(self, scenario: Json, version: Version) -> None:
        super().__init__(scenario.get("abort") or {})
        self.version = version
        self._scenario = scenario
        self._hooks: Json = scenario.get("hooks", {})
        self._config: Json = scenario.get("config", {})
        self.model: str = self._config.get("model", "m0")
        self.thinking_level: str = self._config.get("thinkingLevel", "off")
        self.tool_execution: str = self._config.get("toolExecution", "parallel")
        self._tools: dict[str, Json] = {}
        for tool in scenario.get("tools", []):
            plain = {"description": "", "parameters": {"type": "object", "properties": {}}}
            self._tools.setdefault(tool["name"], {**plain, **tool})
        self._tick: float = 0
        self._timers: list[tuple[float, int, Callable[[], Execution | None]]] = []
        self._created = 0
        if "atTick" in self._abort:
            self._after(self._abort["atTick"], self.set_aborted)
        self.prompts = None if scenario.get("entry") == "continue" else messages_of(scenario.get("prompts"))
        self.context = self._first_context(scenario.get("context", {}))

    def _first_context(self, said: Json) -> Context:
        tools = [self._tools[name] for name in said.get("tools", self._tools)]
        context = Context(said.get("systemPrompt", ""), messages_of(said.get("messages")), tools)
        if self.version.loadouts and (context.messages or self.prompts is not None):
            lead(context)
        return context

    # --- queues and hooks of the loop -------------------------------------------------------------------------------

    def steering(self) -> list[Json]:
        """Poll the steering queue."""
        return self._poll("getSteeringMessages", "steering")

    def follow_up(self) -> list[Json]:
        """Poll the follow-up queue."""
        return self._poll("getFollowUpMessages", "followUp")

    def _poll(self, name: str, key: str) -> list[Json]:
        items = self._scenario.get(key, [])
        return [] if items is None else messages_of(self.next(name, items))

    def prepare_next_turn(self, turn: Turn) -> Json | None:
        """Return what the next turn shall have: `context`, `model`, `thinkingLevel`, `messages`."""
        items = self._hooks.get("prepareNextTurn")
        said = None if items is None else self.next("prepareNextTurn", items, **told_of(turn))
        update = self._whole(said, turn.context)
        if update and update.get("messages") is not None:
            update["messages"] = edited(turn.context.messages, update["messages"])
        return update

    def prepare_request(self, context: Context, model: str, thinking_level: str) -> Json | None:
        """Return what this request and those after it shall have: `context`, `model`, `thinkingLevel`."""
        items = self._hooks.get("prepareRequest")
        if items is None:
            return None
        asked = {"context": roles(context.messages), "model": model}
        return self._whole(self.next("prepareRequest", items, **asked, thinkingLevel=thinking_level), context)

    def _whole(self, said: Json | None, old: Context) -> Json | None:
        """Return what a preparation says, with a whole context where it replaces parts of one."""
        if said is None or said.get("context") is None:
            return said
        parts = {key: value for key, value in said["context"].items() if value is not None}
        new = Context(
            parts.get("systemPrompt", old.system_prompt),
            edited(old.messages, parts.get("messages")),
            [self._tools[name] for name in parts["tools"]] if "tools" in parts else old.tools,
        )
        if self.version.loadouts and ("systemPrompt" in parts or isinstance(parts.get("messages"), list)):
            if new.messages and is_system(new.messages[0]):
                del new.messages[0]
            lead(new)
        return {**said, "context": new}

    def should_stop(self, turn: Turn) -> bool:
        """Ask whether the run shall end after this turn."""
        items = self._hooks.get("shouldStopAfterTurn")
        return items is not None and bool(self.next("shouldStopAfterTurn", items, **told_of(turn)))

    def finish_turn(self, turn: Turn) -> str | None:
        """Ask what shall come after this turn: "end", "continue", or None for what comes anyway."""
        items = self._hooks.get("finishTurn", self._hooks.get("shouldStopAfterTurn"))
        said = None if items is None else self.next("finishTurn", items, **told_of(turn))
        if isinstance(said, dict):
            return said.get("action")
        return "end" if said else None

    # --- the model --------------------------------------------------------------------------------------------------

    def transform_context(self, messages: list[Json]) -> list[Json]:
        """Return the messages for this request only."""
        edits = self._hooks.get("transformContext")
        if edits is None:
            return messages
        nth = self.call("transformContext", messages=roles(messages))
        if isinstance(edits, list):
            edits = edits[nth] if nth < len(edits) else None
        return edited(messages, checked(edits))

    def convert_to_llm(self, messages: list[Json]) -> list[Json]:
        """Return the messages as the model gets them."""
        self.call("convertToLlm", messages=roles(messages))
        standard = ("user", "assistant", "toolResult", *(("system",) if self.version.loadouts else ()))
        return converted(messages, checked(self._hooks.get("convertToLlm", "default")), standard)

    def stream(self, model: str, thinking_level: str, context: Context, messages: list[Json]) -> Answer:
        """Call the model."""
        fields: Json = {"messages": [seen(message, loadouts=self.version.loadouts) for message in messages]}
        if thinking_level != "off":
            fields["reasoning"] = thinking_level
        if self.version.loadouts:
            fields["tools"] = [*declared(messages)]
        else:
            fields |= {"systemPrompt": context.system_prompt, "tools": [tool["name"] for tool in context.tools]}
        said = self.next("stream", self._scenario.get("model", []), model=model, **fields)
        entry = EXHAUSTED if said is None else said
        mode = entry.get("onAbort") or self._config.get("modelOnAbort", "aborted")
        return Answer(entry, aborted=lambda: self.aborted and mode == "aborted")

    # --- tools ------------------------------------------------------------------------------------------------------

    def prepare_arguments(self, tool: Json, arguments: Any) -> Any:
        """Let the tool's shim change the arguments that the model wrote."""
        shim = tool.get("prepareArguments")
        if shim is None:
            return arguments
        self.call("prepareArguments", toolName=tool["name"], args=arguments)
        names = checked(shim).get("rename", {})
        if not isinstance(arguments, dict):
            return arguments
        return {**{names.get(key, key): value for key, value in arguments.items()}, **shim.get("set", {})}

    def before_tool_call(self, call_id: str, arguments: Json) -> Json | None:
        """Ask whether a call may be executed; None: there is no such hook."""
        if self._hooks.get("beforeToolCall") is None:
            return None
        self.call("beforeToolCall", toolCallId=call_id, args=arguments)
        said: Json = checked(self._hooks["beforeToolCall"].get(call_id)) or {}
        arguments.update(said.get("setArgs") or {})
        return said

    def after_tool_call(self, call_id: str, is_error: bool) -> Json | None:
        """Ask what shall be replaced of a call's result."""
        if self._hooks.get("afterToolCall") is None:
            return None
        self.call("afterToolCall", toolCallId=call_id, isError=is_error)
        said: Json | None = checked(self._hooks["afterToolCall"].get(call_id))
        return said if said is None else {**said, "content": content_of(said, None)}

    def execute(self, call_id: str, arguments: Any, report: Callable[[Json], None]) -> Execution:
        """Let a tool begin; it tells `report` of partial results."""
        self.call("execute", toolCallId=call_id, args=arguments)
        does: Json = self._scenario.get("toolResults", {}).get(call_id, {})
        execution = Execution(does)

        def complete() -> Execution:
            execution.complete(aborted=self.aborted)
            return execution

        updates = [(said.get("at", 0), result_of(said, [], PARTIAL_FIELDS)) for said in does.get("updates", [])]
        for at, update in updates:
            if at <= 0:
                report(update)
        for at, update in updates:
            if at > 0:
                self._after(at, partial(report, update))
        self._after(does.get("delay", 0), complete)
        return execution

    def wait(self) -> Execution:
        """Let time pass until a tool is done, and return which."""
        while True:
            self._tick, _, fire = heappop(self._timers)
            done = fire()
            if done is not None:
                return done

    def _after(self, ticks: float, fire: Callable[[], Execution | None]) -> None:
        heappush(self._timers, (self._tick + ticks, self._created, fire))
        self._created += 1


def result_of(said: Json, default: list[Json], copied: tuple[str, ...]) -> Json:
    """Return a result, or a partial one, as a scenario says it."""
    return {"content": content_of(said, default), **{key: said[key] for key in copied if key in said}}
