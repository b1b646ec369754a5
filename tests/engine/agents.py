"""What tests of agents and async drivers share: both back ends, and a model and tools in few words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import wraps
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.engine.by_hand import word
from turnwheel.abort import AbortSignal
from turnwheel.agent import Agent
from turnwheel.events import Event
from turnwheel.messages import Message, TextContent, ToolResultMessage
from turnwheel.requests import ModelRequest
from turnwheel.stream import StreamStep
from turnwheel.testing.scripted import ScriptedAnswer, ScriptedCall, ScriptedModel
from turnwheel.tool import Tool

BACKENDS = ("asyncio", "trio")
LONGEST = 2.0
"""So many seconds a test may take before it counts as hanging."""

Answer = str | Sequence[str] | ScriptedAnswer


def within(seconds: float) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """Return what makes of a coroutine function a test on asyncio and on trio, which fails after so many seconds."""

    def both(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @wraps(test)
        def run(*args: Any, backend: str, **kwargs: Any) -> None:
            async def limited() -> None:
                with anyio.fail_after(seconds):
                    await test(*args, **kwargs)

            anyio.run(limited, backend=backend)

        takes = inspect.signature(test)
        more = inspect.Parameter("backend", inspect.Parameter.KEYWORD_ONLY)
        del run.__dict__["__wrapped__"]
        run.__dict__["__signature__"] = takes.replace(parameters=[*takes.parameters.values(), more])
        marked: Callable[..., None] = pytest.mark.parametrize("backend", BACKENDS)(run)
        return marked

    return both


def both(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a coroutine function as a test on asyncio and on trio; one that hangs fails."""
    return within(LONGEST)(test)


def calling(*ids: str, tool: str = "work") -> ScriptedAnswer:
    """Return an answer that calls one tool so many times."""
    return ScriptedAnswer(tool_calls=[ScriptedCall(call, tool) for call in ids])


def script(*answers: Answer) -> ScriptedModel:
    """Return a model that says this: a string is a text, a list of ids are calls of the tool `work`."""
    return ScriptedModel([_answer(answer) for answer in answers])


def _answer(said: Answer) -> ScriptedAnswer:
    if isinstance(said, ScriptedAnswer):
        return said
    return ScriptedAnswer(text=said) if isinstance(said, str) else calling(*said)


class Model:
    """A scripted model that notes what it is asked."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[ModelRequest] = []
        self._scripted = script(*answers)

    def __call__(self, request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
        self.requests.append(request)
        return self._scripted(request, signal)


def work(run: Callable[..., Any], name: str = "work", **more: Any) -> Tool:
    """Return a tool that runs this."""
    return Tool(name, run=run, **more)


def agent_of(*answers: Answer, run: Callable[..., Any] | None = None, **setup: Any) -> Agent:
    """Return an agent whose model says this and whose tool `work` runs `run`."""
    return Agent(script(*answers), tools=[work(run or (lambda arguments: "ok"))], **setup)


def words_of(agent: Agent) -> list[str]:
    """Return a list that grows with what a listener of the agent hears, in words."""
    heard: list[str] = []
    agent.subscribe(lambda event: heard.append(word(event)))
    return heard


def when(name: str, act: Callable[[], Any]) -> Callable[[Event], Any]:
    """Return a listener that acts when the event of these words comes."""
    return lambda event: act() if word(event) == name else None


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises, whatever it is given."""

    def act(*args: Any, **kwargs: Any) -> Any:
        raise error

    return act


def later(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as a coroutine function that is suspended before it does anything."""

    @wraps(function)
    async def act(*args: Any, **kwargs: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return function(*args, **kwargs)

    return act


def roles(messages: Sequence[Message]) -> list[str]:
    """Return who says the messages."""
    return [message.role for message in messages]


def text_of(message: Message | None) -> str:
    """Return what a message says."""
    content: Any = getattr(message, "content", ())
    return content if isinstance(content, str) else "".join(b.text for b in content if isinstance(b, TextContent))


def results_of(messages: Sequence[Message]) -> dict[str, str]:
    """Return what the calls came to, by their ids."""
    return {said.tool_call_id: text_of(said) for said in messages if isinstance(said, ToolResultMessage)}
