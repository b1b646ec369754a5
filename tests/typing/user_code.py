"""User code as README and docs show it. It is checked, not run: what it says must be right to a type checker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio

from turnwheel import (
    DONE,
    WAITING,
    AbortSignal,
    Agent,
    AssistantMessage,
    Begun,
    Context,
    Decision,
    LoopConfig,
    Machine,
    RunConfig,
    TextContent,
    Tool,
    ToolResult,
    agent_loop,
    dialect,
    user,
)
from turnwheel.effects import AfterToolCall, BeforeToolCall, CallModel, FinishedTurn, PollSteering
from turnwheel.events import Event, MessageUpdate, ToolExecutionEnd
from turnwheel.messages import Message
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, Polled, ResultChanges, TurnAction
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished, Started, StreamStep, TextDelta
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel.tool import Request
from turnwheel_tools import define, read_tool


def add(arguments: dict[str, Any]) -> float:
    """Show a plain function as a tool."""
    return float(arguments["a"] + arguments["b"])


async def wait(
    arguments: dict[str, Any], *, call_id: str, report: Callable[[Any], None], aborted: Callable[[], bool]
) -> ToolResult:
    """Show a coroutine function as a tool."""
    report(f"{call_id} waits")
    await anyio.sleep(0 if aborted() else arguments["seconds"])
    return ToolResult.of("done", details={"slept": True})


def echo(request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
    """Show a generator function as a stream."""
    yield Started()
    yield TextDelta(0, request.messages[-1].role)
    yield Finished(AssistantMessage([TextContent(request.model)], "aborted" if signal.aborted else "stop"))


def no_writing(effect: BeforeToolCall) -> BeforeResult | None:
    """Show a plain before hook."""
    return BeforeResult(block=True, reason="read only") if effect.call.name == "write" else None


async def shorten(effect: AfterToolCall) -> ResultChanges:
    """Show an after hook that is a coroutine function."""
    return ResultChanges(content=[TextContent(str(effect.is_error))])


def enough(turn: FinishedTurn) -> bool:
    """Show a stop hook."""
    return len(turn.new_messages) > 10


def finish(turn: FinishedTurn) -> TurnAction | None:
    """Show a hook that hears of every turn."""
    return "end" if turn.number == 10 else None


async def larger(asked: Request) -> NextRequest | None:
    """Show a preparation of a request."""
    return NextRequest(model="large") if len(asked.context.messages) > 100 else None


async def cheaper(turn: FinishedTurn) -> NextTurn | None:
    """Show a preparation."""
    return NextTurn(model="small") if turn.message.stop_reason == "toolUse" else None


def last_ten(messages: Sequence[Message]) -> Sequence[Message]:
    """Show a transformation of the context."""
    return messages[-10:]


def agent() -> Agent:
    """Show an agent with all that it can have."""
    numbers = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    return Agent(
        echo,
        model="large",
        system_prompt="Be brief.",
        tools=[define("add", "Add.", numbers, add), Tool("wait", run=wait), read_tool()],
        steering_mode="all",
        before_tool_call=no_writing,
        after_tool_call=shorten,
        should_stop=enough,
        prepare_next_turn=cheaper,
        transform_context=last_ten,
        get_api_key=lambda model: None,
    )


async def talk() -> str:
    """Prompt, listen, steer, iterate."""
    mine = agent()

    async def listen(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd) and event.is_error:
            mine.steer("try again")

    unsubscribe = mine.subscribe(listen)
    mine.subscribe(lambda event: print(event.type))
    answer: AssistantMessage | None = await mine.prompt("go")
    async with mine.run("and on") as events:
        async for event in events:
            if isinstance(event, MessageUpdate) and isinstance(event.step, TextDelta):
                print(event.step.delta, event.message.text)
    unsubscribe()
    mine.follow_up("more")
    await mine.continue_()
    return answer.text if answer is not None else ""


async def low_level() -> list[str]:
    """Show the functions below the agent."""
    decisions: list[Decision] = []
    config = LoopConfig(echo, should_stop=enough, on_decision=decisions.append, dialect=dialect("pi-0.80.2"))
    seen = [event.type async for event in agent_loop([user("go")], Context(), config)]
    return [*seen, *(decision.rule.why for decision in decisions)]


def by_hand() -> Iterator[str]:
    """Show the bare machine."""
    machine = Machine(Begun(prompts=[user("go")], config=RunConfig(hooks=frozenset({"steering"}))))
    while True:
        step = machine.next()
        if step is DONE:
            return
        if step is WAITING:
            machine.abort("nothing more is known")
            return
        if isinstance(step, PollSteering):
            machine.send(Polled(step.id, [user("psst")]))
        elif isinstance(step, CallModel):
            machine.send(Finished(AssistantMessage([TextContent(step.request.model)])))
        yield step.type


script = ScriptedModel([ScriptedAnswer(tool_calls=[ScriptedCall("c1", "add", {"a": 1, "b": 2})])])
scripted: Agent = Agent(script, dialect="pi-0.80.2")
latest: Agent = Agent(script, dialect="pi-1.6.0", finish_turn=finish, prepare_request=larger)
