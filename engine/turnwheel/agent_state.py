"""What one can see of an agent: its settings, its transcript, and how far the run is that is on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from turnwheel import events
from turnwheel.checked import messages_of
from turnwheel.errors import Misuse
from turnwheel.events import Event
from turnwheel.messages import Message
from turnwheel.tool import Tool
from turnwheel.transcript import Transcript, transcript


@final
class AgentState:
    """How the agent stands; a listener sees it as it is with the event at hand.

    What is set between two runs (system prompt, model, thinking level, tools, messages) a run takes as it begins.
    """

    def __init__(
        self, system_prompt: str, model: str, thinking_level: str, tools: Iterable[Tool], messages: Iterable[Message]
    ) -> None:
        self.system_prompt = system_prompt
        self.model = model
        self.thinking_level = thinking_level
        self.tools = tools
        self.messages = messages
        self.is_streaming = False
        """Whether a run is on."""
        self.pending_tool_calls: frozenset[str] = frozenset()
        """The ids of the calls that have started and not ended."""
        self.error_message: str | None = None
        """Why an answer of the last run failed or was aborted."""
        self._shown: events.MessageStart | events.MessageUpdate | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools; what is set is copied. Setting raises Misuse for anything that is no Tool."""
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        given: Any = tools
        if isinstance(given, Tool):
            raise Misuse(f"expected a list of tools, got the tool {given.name} alone")
        taken = tuple(tools)
        for tool in taken:
            if not isinstance(tool, Tool):
                raise Misuse(f"expected a Tool, got {tool!r}; turnwheel_tools.define makes one of a function")
        self._tools = taken

    @property
    def messages(self) -> Transcript:
        """The transcript, a snapshot; what is set is copied. Setting raises Misuse for anything that is no message."""
        return self._messages

    @messages.setter
    def messages(self, messages: Iterable[Message]) -> None:
        self._messages = transcript(messages_of("messages", messages))

    @property
    def streaming_message(self) -> Message | None:
        """The message between its start and its end, an answer as far as it has come; built when it is read."""
        return None if self._shown is None else self._shown.message

    def begin(self) -> None:
        """Note that a run begins."""
        self.is_streaming = True
        self._shown = None
        self.error_message = None

    def end(self) -> None:
        """Note that a run is over."""
        self.is_streaming = False
        self._shown = None
        self.pending_tool_calls = frozenset()

    def take(self, event: Event) -> None:
        """Note an event."""
        match event:
            case events.MessageStart() | events.MessageUpdate():
                self._shown = event
            case events.MessageEnd(message=message):
                self._shown = None
                self._messages = self._messages.appended(message)
            case events.ToolExecutionStart(tool_call_id=call):
                self.pending_tool_calls |= {call}
            case events.ToolExecutionEnd(tool_call_id=call):
                self.pending_tool_calls -= {call}
            case events.TurnEnd(message=message):
                self.error_message = message.error_message or self.error_message
            case events.AgentEnd():
                self._shown = None
