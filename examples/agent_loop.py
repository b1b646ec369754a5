"""The third of three ways to use a model: the agent loop. The model's output decides what comes next.

The code below says nowhere how often the tool is called. It hands the model what the tool gave back and asks again, as
long as there are calls in the answer. The model (a function here) is to find a number by asking whether it is too high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import anyio

from turnwheel import AbortSignal, AssistantMessage, Context, TextContent, Tool, ToolCall, ToolResultMessage, user
from turnwheel.events import MessageEnd
from turnwheel.loop import LoopConfig, agent_loop
from turnwheel.messages import Message
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished
from turnwheel_tools import define

SECRET = 42


def guess(arguments: dict[str, int]) -> str:
    """Tell how a number compares with the secret one."""
    number = arguments["number"]
    return f"{number} is " + ("right" if number == SECRET else "too high" if number > SECRET else "too low")


def text_of(message: Message) -> str:
    """Return what a message says, tool calls aside."""
    blocks = message.content if isinstance(message.content, Sequence) else ()
    return "".join(block.text for block in blocks if isinstance(block, TextContent))


def halving(request: ModelRequest, signal: AbortSignal) -> Iterator[Finished]:
    """Reason from what is known, and act: call the tool with the number in the middle, or answer."""
    low, high = 1, 100
    for said in [text_of(message) for message in request.messages if isinstance(message, ToolResultMessage)]:
        number = int(said.split()[0])
        low, high = (number, number) if "right" in said else (low, number - 1) if "high" in said else (number + 1, high)
    if low == high:
        yield Finished(AssistantMessage([TextContent(f"It is {low}.")]))
    else:
        call = ToolCall(f"c{len(request.messages)}", "guess", {"number": (low + high) // 2})
        yield Finished(AssistantMessage([TextContent(f"It is in {low}…{high}."), call], "toolUse"))


async def main() -> None:
    """Run one trace and print who says what."""
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tools: list[Tool] = [define("guess", "Try a number.", schema, guess)]
    async for event in agent_loop([user("find the number")], Context(tools=tools), LoopConfig(halving)):
        if isinstance(event, MessageEnd):
            print(f"{event.message.role:10}  {text_of(event.message)}")


if __name__ == "__main__":
    anyio.run(main)
