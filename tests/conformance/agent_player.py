"""Plays a story on turnwheel's Agent and writes down what happens, as the runner in node/ does on the Agent of Pi."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import anyio
import anyio.lowlevel

from tests.conformance.story_clock import Clock
from tests.conformance.story_script import Action, Script
from tests.conformance.story_trace import Line, bare, event_line
from tests.conformance.story_world import World
from turnwheel.agent import Agent
from turnwheel.events import Event
from turnwheel.messages import Json, Message
from turnwheel.testing.scenario import Scenario
from turnwheel.wire import read_content, read_message

SETTINGS: Final = {"steeringMode": "steering_mode", "followUpMode": "follow_up_mode"}
STATES: Final = {"systemPrompt": "system_prompt", "thinkingLevel": "thinking_level", "model": "model"}
"""What `set` sets as it is: on the agent, on its state."""


async def play(story: Mapping[str, Json], dialect: str) -> list[Line]:
    """Play a story and return its trace."""
    player = StoryPlayer(story, dialect)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(player.clock.run)
        await player.play()
        tasks.cancel_scope.cancel()
    return player.script.lines


@final
class StoryPlayer:
    """One agent, and the world as a story describes it."""

    def __init__(self, story: Mapping[str, Json], dialect: str) -> None:
        self.clock = Clock()
        self.script = script = Script(story)
        self._world = World(script, self.clock, self._react, lambda: self._agent.state.messages)
        self._listeners = {name: self._listener(name, kind) for name, kind in story.get("listeners", {}).items()}
        self._ends: dict[str, list[Callable[[], None]]] = {}
        self._agent = self._agent_of(script.scenario, dialect)

    async def play(self) -> None:
        """Do the actions, one after the other, and note how it ended."""
        for action in self.script.story["actions"]:
            await self._act(action, "story")
        agent = self._agent
        end: Line = {
            "messages": [bare(message) for message in agent.state.messages],
            "steering": [bare(message) for message in agent.queued_steering],
            "followUp": [bare(message) for message in agent.queued_follow_up],
            "state": self._state(),
        }
        self.script.note({"end": end})

    def _agent_of(self, scenario: Scenario, dialect: str) -> Agent:
        config, start, story = scenario.config, scenario.context, self.script.story
        names = [tool.name for tool in scenario.tools] if start.tools is None else start.tools
        return Agent(
            self._world.stream,
            model=config.model,
            system_prompt=start.system_prompt,
            thinking_level=config.thinking_level,
            tools=self._world.named(names),
            messages=start.messages,
            dialect=dialect,
            tool_execution=config.tool_execution or "parallel",
            steering_mode=story.get("steeringMode", "one-at-a-time"),
            follow_up_mode=story.get("followUpMode", "one-at-a-time"),
            **self._world.callbacks,
        )

    # --- listeners ------------------------------------------------------------------------------------------------

    def _listener(self, name: str, kind: str) -> Callable[[Event], Any]:
        def note(event: Event) -> list[Action]:
            told = getattr(event, "message", None)
            self.script.note({"event": event_line(event), "listener": name, "state": self._state(told)})
            return self.script.reactions(name, event.type)

        def at_once(event: Event) -> None:
            for action in note(event):
                self._act_at_once(action, name)

        async def later(event: Event) -> None:
            actions = note(event)
            await anyio.lowlevel.checkpoint()
            for action in actions:
                await self._act(action, name)

        return later if kind == "async" else at_once

    def _state(self, told: Message | None = None) -> Line:
        agent, state = self._agent, self._agent.state
        streaming = state.streaming_message
        shown: Line = {
            "isStreaming": state.is_streaming,
            "streamingMessage": streaming and ("as told" if streaming == told else bare(streaming)),
            "pendingToolCalls": sorted(state.pending_tool_calls),
            "errorMessage": state.error_message,
            "messages": len(state.messages),
            "hasQueued": agent.has_queued(),
            "steeringMode": agent.steering_mode,
            "followUpMode": agent.follow_up_mode,
            "aborted": agent.signal is not None and agent.signal.aborted,
        }
        return {name: value for name, value in shown.items() if value and value != "one-at-a-time"}

    # --- reactions and actions ------------------------------------------------------------------------------------

    async def _react(self, where: str, what: str | None) -> None:
        for action in self.script.reactions(where, what):
            await self._act(action, where)

    async def _act(self, action: Action, by: str) -> None:
        error: Exception | None = None
        try:
            await _settled(self._perform(action))
        except Exception as raised:
            error = raised
        self._note_done(action, by, error)

    def _act_at_once(self, action: Action, by: str) -> None:
        error: Exception | None = None
        try:
            self._perform(action)
        except Exception as raised:
            error = raised
        self._note_done(action, by, error)

    def _note_done(self, action: Action, by: str, error: Exception | None) -> None:
        line: Line = {"did": action["do"], "by": by}
        if error is not None:
            line["threw"] = _told(action, error)
        if by == "story":
            line["state"] = self._state()
        self.script.note(line)
        if error is not None and action["do"] == "throw":
            raise error

    def _perform(self, action: Action) -> Any:
        agent = self._agent
        given: Any = action.get("with")
        actions: dict[str, Callable[[], Any]] = {
            "prompt": lambda: self._prompt(action),
            "continue": agent.continue_,
            "steer": lambda: agent.steer(_message(given)),
            "followUp": lambda: agent.follow_up(_message(given)),
            "clear": lambda: _clear(agent, given),
            "set": lambda: self._set(given),
            "abort": agent.abort,
            "reset": agent.reset,
            "waitForIdle": agent.wait_for_idle,
            "wait": lambda: self.clock.wait(action["ticks"]),
            "subscribe": lambda: self._subscribe(given),
            "unsubscribe": lambda: self._unsubscribe(given),
            "throw": lambda: _throw(given),
        }
        return actions[action["do"]]()

    async def _prompt(self, action: Action) -> None:
        given = action["with"]
        if isinstance(given, list):
            given = [_message(item) for item in given]
        elif isinstance(given, dict):
            given = _message(given)
        images: Any = [read_content(image) for image in action.get("images", ())]
        if "meanwhile" not in action:
            await self._agent.prompt(given, images=images)
            return
        noted: list[Line] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._do_meanwhile, action["meanwhile"], noted)
            await self._agent.prompt(given, images=images)
        self.script.lines.extend(noted)

    async def _do_meanwhile(self, actions: Sequence[Action], noted: list[Line]) -> None:
        while not self._agent.state.is_streaming:
            await anyio.lowlevel.checkpoint()
        for action in actions:
            line: Line = {"did": action["do"], "by": "meanwhile"}
            try:
                await _settled(self._perform(action))
            except Exception as error:
                line["threw"] = _told(action, error)
            noted.append({**line, "isStreaming": self._agent.state.is_streaming})

    def _set(self, values: Mapping[str, Json]) -> None:
        agent = self._agent
        for name, value in values.items():
            if name in SETTINGS:
                setattr(agent, SETTINGS[name], value)
            elif name == "tools":
                agent.state.tools = self._world.named(value)
            elif name == "messages":
                agent.state.messages = [_message(message) for message in value]
            else:
                setattr(agent.state, STATES[name], value)

    def _subscribe(self, name: str) -> None:
        self._ends.setdefault(name, []).append(self._agent.subscribe(self._listeners[name]))

    def _unsubscribe(self, name: str) -> None:
        self._ends[name].pop()()


def _told(action: Action, error: Exception) -> Json:
    """Return what a trace tells of an error; a wording that is turnwheel's own cannot be compared."""
    return True if action.get("wording") == "ours" else str(error)


async def _settled(said: Any) -> None:
    if said is not None:
        await said


def _throw(text: str) -> None:
    raise RuntimeError(text)


def _clear(agent: Agent, what: str) -> None:
    {"steering": agent.clear_steering, "followUp": agent.clear_follow_up, "all": agent.clear_queues}[what]()


def _message(data: Json) -> Message:
    """Return the message that a story means: a text is short for what a user says."""
    return read_message(
        {"role": "user", "content": [{"type": "text", "text": data}]} if isinstance(data, str) else data
    )
