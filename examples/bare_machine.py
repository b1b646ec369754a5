"""Drives the bare machine by hand: no driver, no event loop, no input or output but what is printed.

`next` hands out events, which are for looking, and effects, which want an answer; `send` takes the answer. In between
the machine decides by its table, and says why. Here the model calls one tool, and while that runs somebody steers.
"""

from __future__ import annotations

from turnwheel import AssistantMessage, Begun, Context, Machine, RunConfig, TextContent, Tool, ToolCall, user
from turnwheel import effects as fx
from turnwheel import outcomes as oc
from turnwheel.machine import Pause
from turnwheel.messages import Content, Message, ToolResult
from turnwheel.stream import Finished

SAYS: list[list[Content]] = [
    [TextContent("I will measure it."), ToolCall("c1", "measure", {"what": "door"})],
    [TextContent("The door is 2 m high, or 6.56 feet.")],
]
QUEUE: list[Message] = []


def answer(effect: fx.Effect) -> oc.Outcome:
    """Return what the world answers to an effect. The hooks are not configured, so they are never asked."""
    match effect:
        case fx.CallModel():
            return Finished(AssistantMessage(SAYS.pop(0)))
        case fx.PrepareArguments(id=number, call=call):
            return oc.ArgumentsPrepared(number, dict(call.arguments))
        case fx.ExecuteTool(id=number, arguments=arguments):
            QUEUE.append(user("in feet, too, please"))
            return oc.Returned(number, ToolResult.of(f"the {arguments['what']} is 2 m high"))
        case fx.PollSteering(id=number) | fx.PollSteeringAgain(id=number):
            waiting, QUEUE[:] = list(QUEUE), []
            return oc.Polled(number, waiting)
    raise LookupError(f"nobody answers {effect.type}")


def main() -> None:
    """Run one trace, and print each decision with the steps that follow from it."""
    context = Context(tools=[Tool("measure")])
    machine = Machine(Begun(context, [user("how high is the door?")], RunConfig(hooks=["steering"])))
    # Each effect is answered at once, so that the only pause is the end.
    while not isinstance(step := machine.next(), Pause):
        for decision in machine.decided:
            print(f"{decision.rule.source}, {decision.rule.trigger}: {decision.rule.why}")
        if isinstance(step, fx.Effect):
            print(f"    ? {step.type}")
            machine.send(answer(step))
        else:
            print(f"    {step.type}")


if __name__ == "__main__":
    main()
