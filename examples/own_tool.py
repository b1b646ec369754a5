"""A tool of one's own, a steering message and a stop hook.

`define` makes a tool of a name, a JSON schema and a function; the arguments fit the schema when the function is called,
and what does not fit is an error that the model sees. A line that is queued while a tool runs goes in before the next
call of the model. The stop hook ends the run when enough was paid, whatever the model still wants.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from turnwheel import AssistantMessage, TextContent, Usage
from turnwheel.agent import Agent
from turnwheel.effects import FinishedTurn
from turnwheel.events import Event, MessageEnd, ToolExecutionEnd, ToolExecutionStart
from turnwheel.messages import Cost
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel_tools import define

PRICES = {"tea": 2, "coffee": 3}
MENU = {
    "type": "object",
    "properties": {"drink": {"enum": list(PRICES)}, "cups": {"type": "integer", "minimum": 1}},
    "required": ["drink", "cups"],
}
DOLLAR = Usage(cost=Cost(total=1.0))


def order(call: str, drink: str, cups: int | str) -> ScriptedAnswer:
    """Return an answer that calls the tool, and costs a dollar."""
    return ScriptedAnswer(tool_calls=[ScriptedCall(call, "price", {"drink": drink, "cups": cups})], usage=DOLLAR)


model = ScriptedModel([order("c1", "tea", "2"), order("c2", "cocoa", 1), order("c3", "coffee", 1)])


def price(arguments: dict[str, int]) -> str:
    """Say what some cups cost."""
    agent.steer("and how much is cocoa?")
    return f"{arguments['cups']} cups: {arguments['cups'] * PRICES[str(arguments['drink'])]} dollars"


def paid_enough(turn: FinishedTurn) -> bool:
    """Say stop once the answers of this run have cost two dollars."""
    answers = [message for message in turn.new_messages if isinstance(message, AssistantMessage)]
    return sum(answer.usage.cost.total for answer in answers if answer.usage) >= 2


agent = Agent(model, tools=[define("price", "Tell a price.", MENU, price)], should_stop=paid_enough)


def text_of(content: object) -> str:
    """Return the text of some blocks."""
    blocks = content if isinstance(content, Sequence) else ()
    return "".join(block.text for block in blocks if isinstance(block, TextContent))


def show(event: Event) -> None:
    """Print what is said to the model, and what the tool gives back."""
    match event:
        case MessageEnd(message=message) if message.role == "user":
            print(f"user:   {text_of(message.content)}")
        case ToolExecutionStart(tool_name=name, args=args):
            print(f"call:   {name} {args}")
        case ToolExecutionEnd(is_error=is_error, result=result):
            print(f"{'failed' if is_error else 'result'}: {text_of(result.content)}")


async def main() -> None:
    """Run it."""
    agent.subscribe(show)
    await agent.prompt("how much are two cups of tea?")
    print(f"ended after {model.calls} of 3 answers")


if __name__ == "__main__":
    anyio.run(main)
