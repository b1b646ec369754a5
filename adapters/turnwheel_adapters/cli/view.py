"""How a run is shown to people while it goes on: the answer as it comes, and a line for each tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from turnwheel import events as ev
from turnwheel.messages import (
    AssistantMessage,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolResult,
    UserMessage,
)
from turnwheel.stream import TextDelta, TextStart, ThinkingDelta, ThinkingStart
from turnwheel_adapters.cli.output import brief, harmless
from turnwheel_adapters.cli.screen import Screen
from turnwheel_adapters.wording import count


@final
class HumanView:
    """Listens to the events of a run and writes them to a screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._thinks = False
        self._line_open = False
        self._streamed = False
        self._prompted = False
        self._calls: list[tuple[tuple[str, str], str]] = []
        """The calls that have started and not ended: id and name, and what an end is shown with."""

    def __call__(self, event: ev.Event) -> None:
        """Show one event."""
        self._show_answer(event)
        self._show_tool(event)
        if isinstance(event, ev.MessageEnd) and not isinstance(event.message, AssistantMessage):
            if self._prompted and isinstance(event.message, UserMessage):
                self.line(f"» {said_in_brief(event.message)}")
            self._prompted = True
            self._screen.wait("waiting for the model")

    def _show_answer(self, event: ev.Event) -> None:
        match event:
            case ev.MessageStart(message=AssistantMessage()):
                self._streamed = False
            case ev.MessageUpdate(step=TextStart() | ThinkingStart() as step):
                self._begin(thinking=isinstance(step, ThinkingStart))
            case ev.MessageUpdate(step=TextDelta(delta=text) | ThinkingDelta(delta=text)):
                self._streamed = True
                self._say(text)
            case ev.MessageEnd(message=AssistantMessage() as message):
                self._message_ended(message)

    def _show_tool(self, event: ev.Event) -> None:
        match event:
            case ev.ToolExecutionStart():
                call = call_in_brief(event.tool_name, event.args)
                self._started((event.tool_call_id, event.tool_name), call)
                self.line(f"→ {call}")
            case ev.ToolExecutionUpdate():
                call = call_in_brief(event.tool_name, event.args)
                self.line(f"… {call}: {result_in_brief(event.partial_result)}")
            case ev.ToolExecutionEnd():
                call = self._ended(event)
                self.line(f"{'✗' if event.is_error else '←'} {call}: {result_in_brief(event.result)}")
            case _:
                return
        if self._calls:
            self._screen.wait(harmless(", ".join(call for _, call in self._calls)))

    def _started(self, which: tuple[str, str], call: str) -> None:
        """Note a call. Of several with one id, as a model may give them, nobody can tell which one it is that ends."""
        if any(other == which for other, _ in self._calls):
            call = which[1]
            self._calls = [(other, call if other == which else shown) for other, shown in self._calls]
        self._calls.append((which, call))

    def _ended(self, event: ev.ToolExecutionEnd) -> str:
        """Return what the end of a call is shown with."""
        which = (event.tool_call_id, event.tool_name)
        for place, (other, shown) in enumerate(self._calls):
            if other == which:
                del self._calls[place]
                return shown
        return event.tool_name

    def line(self, text: str = "") -> None:
        """Write a line of its own."""
        self.close()
        self._screen.write(f"{harmless(text)}\n")

    def close(self) -> None:
        """End the line that is being written, if there is one."""
        self._begin(thinking=False)
        self._screen.rest()

    def _message_ended(self, message: AssistantMessage) -> None:
        """Close the answer's last line; what was not streamed is shown now."""
        for block in () if self._streamed else message.content:
            if isinstance(block, TextContent | ThinkingContent):
                thinking = isinstance(block, ThinkingContent)
                self._begin(thinking=thinking)
                self._say(block.thinking if isinstance(block, ThinkingContent) else block.text)
        self.close()

    def _begin(self, *, thinking: bool) -> None:
        """Begin a line, in thought or aloud."""
        if self._line_open:
            self._screen.write("\n")
            self._line_open = False
        self._thinks = thinking
        if thinking and not self._screen.dims:
            self._screen.write("(thinking) ")

    def _say(self, text: str) -> None:
        if text:
            self._screen.write(harmless(text), dim=self._thinks)
            self._line_open = not text.endswith("\n")


def said_in_brief(message: Message) -> str:
    """Return what somebody said, on one line."""
    if not isinstance(message, UserMessage):
        return brief(message.role)
    if isinstance(message.content, str):
        return brief(message.content)
    texts = [block.text if isinstance(block, TextContent) else f"({type(block).__name__})" for block in message.content]
    return brief(" ".join(texts))


def call_in_brief(name: str, arguments: Json) -> str:
    """Return a call in a few words: its first argument as it is, the others with their names."""
    if not isinstance(arguments, Mapping):
        return f"{name} {brief(str(arguments), 60)}"
    words = [
        brief(str(value), 60) if at == 0 else f"{key}={brief(str(value), 30)}"
        for at, (key, value) in enumerate(arguments.items())
    ]
    return brief(" ".join([name, *words]), 120)


def result_in_brief(result: ToolResult) -> str:
    """Return what a tool gave back in a few words: how many lines where it says so, else how its text begins."""
    details = result.details
    if isinstance(details, Mapping) and type(lines := details.get("lines")) is int:
        first, last = details.get("firstLine"), details.get("lastLine")
        return (
            count(lines, "line") if (first, last) in ((1, lines), (None, None)) else f"lines {first}-{last} of {lines}"
        )
    content = result.content if isinstance(result.content, Sequence) else ()
    texts = [block.text for block in content if isinstance(block, TextContent)]
    first, _, more = "\n".join(texts).strip().partition("\n")
    return brief(first, 120) + (" …" if more else "") or "nothing"
