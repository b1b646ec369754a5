"""What the agent of a story calls: its hooks, its model and its tools, as the story scripts them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, final

from tests.conformance.story_clock import Clock
from tests.conformance.story_script import Script
from tests.conformance.story_trace import Line, seen
from turnwheel.abort import AbortSignal
from turnwheel.convert import default_convert
from turnwheel.effects import AfterToolCall, BeforeToolCall, FinishedTurn
from turnwheel.messages import ABSENT, Json, Message, TextContent, ToolResult, UserMessage
from turnwheel.outcomes import BeforeResult, NextTurn, ResultChanges
from turnwheel.requests import ModelRequest, Steps
from turnwheel.testing.scenario import Before, Edit, Execution, Throws
from turnwheel.testing.scripted import ScriptedModel
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

React = Callable[[str, str | None], Awaitable[None]]
"""Does the actions that a story puts into a callback: its name, and the call that it is about."""


@final
class World:
    """The callbacks, each noting that it was called."""

    def __init__(self, script: Script, clock: Clock, react: React, transcript: Callable[[], Transcript]) -> None:
        self._script = script
        self._scenario = scenario = script.scenario
        self._clock = clock
        self._react = react
        self._transcript = transcript
        self._model = ScriptedModel(scenario.model, on_abort=scenario.config.model_on_abort)
        self._tools = {
            tool.name: Tool(tool.name, tool.description, tool.parameters, tool.execution_mode, run=self.execute)
            for tool in scenario.tools
        }

    def named(self, names: Iterable[str]) -> list[Tool]:
        """Return the tools of these names."""
        return [self._tools[name] for name in names]

    @property
    def callbacks(self) -> Mapping[str, Any]:
        """The hooks that the story scripts, by their names as arguments of the Agent."""
        hooks, story = self._scenario.hooks, self._script.story
        scripted = {
            "before_tool_call": (hooks.before_tool_call, self.before),
            "after_tool_call": (hooks.after_tool_call, self.after),
            "prepare_next_turn": (hooks.prepare_next_turn, self.prepare),
            "should_stop": (hooks.should_stop_after_turn, self.should_stop),
            "transform_context": (hooks.transform_context, self.transform),
            "convert_to_llm": (story.get("hooks", {}).get("convertToLlm"), self.convert),
            "get_api_key": (story.get("getApiKey"), self.key),
        }
        return {name: hook for name, (script, hook) in scripted.items() if script is not None}

    async def _next(self, name: str, items: Any, **fields: Json) -> Any:
        self._script.note({"call": name, **fields})
        nth = self._script.count(name)
        await self._react(name, None)
        item = items[nth] if nth < len(items) else None
        return _unless_throws(item)

    async def _of_call(self, name: str, call: str, said: Any, **fields: Json) -> Any:
        self._script.note({"call": name, "toolCallId": call, **fields})
        await self._react(name, call)
        return _unless_throws(said)

    async def before(self, effect: BeforeToolCall) -> BeforeResult | None:
        """Do what `beforeToolCall` says of this call."""
        script = (self._scenario.hooks.before_tool_call or {}).get(effect.call.id)
        arguments = dict(effect.arguments)
        said: Before | None = await self._of_call("beforeToolCall", effect.call.id, script, args=arguments)
        if said is None:
            return None
        effect.arguments.update(said.set_args or {})
        return BeforeResult(bool(said.block), said.reason, said.terminate is True)

    async def after(self, effect: AfterToolCall) -> ResultChanges | None:
        """Do what `afterToolCall` says of this call."""
        script = (self._scenario.hooks.after_tool_call or {}).get(effect.call.id)
        said = await self._of_call("afterToolCall", effect.call.id, script, isError=effect.is_error)
        if said is None:
            return None
        content = said.content if said.text is None else (TextContent(said.text),)
        return ResultChanges(content, said.details, said.is_error, said.terminate, said.usage)

    async def should_stop(self, turn: FinishedTurn) -> bool:
        """Give the next item of `shouldStopAfterTurn`."""
        return bool(await self._next("shouldStopAfterTurn", self._scenario.hooks.should_stop_after_turn))

    async def prepare(self, turn: FinishedTurn) -> NextTurn | None:
        """Give the next item of `prepareNextTurn`; a context in it is made of the agent's transcript."""
        said = await self._next("prepareNextTurn", self._scenario.hooks.prepare_next_turn)
        if said is None:
            return None
        context = None
        if (change := said.context) is not None:
            messages = _edited(self._transcript(), change.messages)
            context = Context(change.system_prompt or "", Transcript(messages), self.named(change.tools or ()))
        return NextTurn(context, said.model, said.thinking_level)

    async def transform(self, messages: Sequence[Message]) -> list[Message]:
        """Do what `transformContext` says."""
        edits = self._scenario.hooks.transform_context
        nth = self._script.counts.get("transformContext", 0)
        every = [edits] * (nth + 1) if isinstance(edits, Edit) else edits
        return _edited(messages, await self._next("transformContext", every, messages=_roles(messages)))

    async def convert(self, messages: Sequence[Message]) -> Iterable[Message]:
        """Convert as `convertToLlm` says."""
        how = self._scenario.hooks.convert_to_llm
        await self._next("convertToLlm", (), messages=_roles(messages))
        _unless_throws(how)
        if how == "custom-as-user":
            kept = default_convert(messages)
            return [one if one in kept else UserMessage(getattr(one, "content", ())) for one in messages]
        return messages if how == "identity" else default_convert(messages)

    async def key(self, _: str) -> str | None:
        """Give the next item of `getApiKey`."""
        script = [Throws(**item) if isinstance(item, dict) else item for item in self._script.story["getApiKey"]]
        key: str | None = await self._next("getApiKey", script)
        return key

    async def stream(self, request: ModelRequest, signal: AbortSignal) -> Steps:
        """Note what is asked, and give the next answer of the script."""
        asked: Line = {
            "model": request.model,
            "systemPrompt": request.system_prompt,
            "messages": [seen(message) for message in request.messages],
            "tools": [tool.name for tool in request.tools],
        }
        if request.thinking_level != "off":
            asked["reasoning"] = request.thinking_level
        if request.api_key is not None:
            asked["apiKey"] = request.api_key
        await self._next("stream", (), **asked)
        return self._model(request, signal)

    async def execute(
        self, arguments: Any, *, call_id: str, report: Callable[[ToolResult], None], aborted: Callable[[], bool]
    ) -> ToolResult:
        """Do what `toolResults` says of this call."""
        does = self._scenario.tool_results.get(call_id, Execution())
        self._script.note({"call": "execute", "toolCallId": call_id, "args": dict(arguments)})
        for update in does.updates:
            report(ToolResult(_content(update, ()), update.details, update.terminate))
        await self._react("execute", call_id)
        if does.delay:
            await self._clock.wait(does.delay)
        if does.abort_throws is not None and aborted():
            raise RuntimeError(does.abort_throws)
        _unless_throws(does)
        return ToolResult(_content(does, (TextContent("ok"),)), does.details, does.terminate, does.is_error, does.usage)


def _unless_throws(said: Any) -> Any:
    if (text := getattr(said, "throws", None)) is not None:
        raise RuntimeError(text)
    return said


def _edited(messages: Iterable[Message], edit: Any) -> list[Message]:
    if edit is None:
        return list(messages)
    return edit.apply(list(messages)) if isinstance(edit, Edit) else list(edit)


def _content(said: Any, usual: Any) -> Any:
    if said.text is not None:
        return (TextContent(said.text),)
    return usual if said.content is ABSENT else said.content


def _roles(messages: Iterable[Message]) -> list[str]:
    return [message.role for message in messages]
