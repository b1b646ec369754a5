"""How a run is shown to people while it goes on: the answer as it comes, and a line for each tool."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import final

from turnwheel import events as ev
from turnwheel.messages import AssistantMessage, Json, TextContent, ThinkingContent, ToolResult
from turnwheel.stream import TextDelta, TextStart, ThinkingDelta, ThinkingStart
from turnwheel_adapters.cli.output import brief, dim, dims, harmless, write
from turnwheel_adapters.wording import count


@final
class HumanView:
    """Listens to the events of a run and writes them to stdout."""

    def __init__(self) -> None:
        self._dims = dims(sys.stdout)
        self._dimmed = False
        self._line_open = False
        self._streamed = False
        self._calls: dict[str, str] = {}

    def __call__(self, event: ev.Event) -> None:
        """Show one event."""
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
            case ev.ToolExecutionStart():
                self._calls[event.tool_call_id] = call = call_in_brief(event.tool_name, event.args)
                self.line(f"→ {call}")
            case ev.ToolExecutionUpdate():
                self.line(f"… {self._calls[event.tool_call_id]}: {result_in_brief(event.partial_result)}")
            case ev.ToolExecutionEnd():
                call = self._calls.pop(event.tool_call_id)
                self.line(f"{'✗' if event.is_error else '←'} {call}: {result_in_brief(event.result)}")

    def line(self, text: str = "") -> None:
        """Write a line of its own."""
        self.close()
        write(f"{harmless(text)}\n")

    def close(self) -> None:
        """End the line that is being written, if there is one."""
        self._begin(thinking=False)

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
            write("\n")
            self._line_open = False
        if self._dims and thinking is not self._dimmed:
            write(dim(thinking))
            self._dimmed = thinking
        elif thinking and not self._dims:
            write("(thinking) ")

    def _say(self, text: str) -> None:
        if text:
            write(harmless(text))
            self._line_open = not text.endswith("\n")


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
