"""The Agent: what it can be told between, before and during its runs."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.engine.agents import (
    Model,
    agent_of,
    both,
    later,
    raising,
    results_of,
    roles,
    script,
    text_of,
    when,
    words_of,
    work,
)
from turnwheel.agent import Agent
from turnwheel.effects import AfterToolCall, BeforeToolCall
from turnwheel.errors import Misuse
from turnwheel.events import AgentEnd, Event
from turnwheel.messages import CustomMessage, ImageContent, Message, TextContent, user
from turnwheel.outcomes import BeforeResult, NextTurn, ResultChanges
from turnwheel.tool import Context, Tool
from turnwheel.transcript import Transcript

PICTURE = ImageContent("aGk=", "image/png")


class TestPrompt:
    """What a run begins with."""

    @both
    async def test_a_text(self) -> None:
        """A text becomes a user message of one block, and the last answer is returned."""
        agent = agent_of("hi")

        assert text_of(await agent.prompt("go")) == "hi"
        assert agent.state.messages[0] == user("go")

    @both
    async def test_a_text_with_images(self) -> None:
        """Images stand behind the text."""
        agent = agent_of("hi")
        await agent.prompt("look", images=[PICTURE])

        assert agent.state.messages[0] == user("look", images=[PICTURE])

    @both
    async def test_a_message(self) -> None:
        """A message goes in as it is, whatever its role."""
        agent = agent_of("hi")
        await agent.prompt(CustomMessage("note", "remember"))

        assert roles(agent.state.messages) == ["note", "assistant"]

    @both
    async def test_several_messages(self) -> None:
        """Several messages are the prompts of one run."""
        agent = agent_of("hi")
        await agent.prompt([user("one"), user("two")])

        assert roles(agent.state.messages) == ["user", "user", "assistant"]

    @both
    async def test_images_with_a_message(self) -> None:
        """Images that belong to no text are refused, not dropped."""
        with pytest.raises(Misuse, match="images go with a text"):
            await agent_of("hi").prompt(user("go"), images=[PICTURE])

    @both
    async def test_what_is_no_message(self) -> None:
        """A list of anything else is refused before the run begins."""
        agent = agent_of("hi")
        wrong: Any = ["go"]
        with pytest.raises(Misuse, match="expected messages, got 'go' among them"):
            await agent.prompt(wrong)

        assert len(agent.state.messages) == 0

    def test_without_an_event_loop(self) -> None:
        """A script needs no event loop of its own."""
        assert text_of(agent_of("hi").run_sync("go")) == "hi"


class TestBusy:
    """A second run beside the first."""

    @pytest.mark.parametrize("what", ["prompt", "continue_", "reset"])
    def test_is_refused(self, what: str) -> None:
        """The error names what to do instead, and the first run goes on."""
        agent, said = agent_of("hi"), list[str]()

        async def meddle(event: Event) -> None:
            try:
                match what:
                    case "prompt":
                        await agent.prompt("me too")
                    case "continue_":
                        await agent.continue_()
                    case _:
                        agent.reset()
            except Misuse as error:
                said.append(str(error))

        agent.subscribe(meddle)

        assert text_of(agent.run_sync("go")) == "hi"
        assert all("steer() or follow_up()" in text and "wait_for_idle" in text for text in said)
        assert said

    @both
    async def test_until_the_listeners_of_the_end_are_done(self) -> None:
        """The agent is busy as long as a listener looks at agent_end."""
        agent, busy = agent_of("hi"), list[bool]()

        async def look(event: Event) -> None:
            if isinstance(event, AgentEnd):
                await anyio.sleep(0.01)
                busy.append(agent.state.is_streaming)

        begun = anyio.Event()
        agent.subscribe(look)
        agent.subscribe(when("agent_start", begun.set))
        async with anyio.create_task_group() as group:
            group.start_soon(agent.prompt, "go")
            await begun.wait()
            await agent.wait_for_idle()

            assert busy == [True]
            assert not agent.state.is_streaming

    def test_reset_in_an_older_dialect(self) -> None:
        """In Pi 0.80.2 a reset during a run empties the transcript, and the run goes on."""
        agent = agent_of("hi", dialect="pi-0.80.2")
        agent.subscribe(when("turn_end", agent.reset))
        agent.run_sync("go")

        assert len(agent.state.messages) == 0


class TestContinue:
    """Going on from a transcript."""

    def test_from_nothing(self) -> None:
        """There must be something to go on from."""
        agent = agent_of("hi")
        with pytest.raises(ValueError, match="No messages to continue from"):
            anyio.run(agent.continue_)

    def test_from_a_user(self) -> None:
        """The model answers what is there already."""
        agent = agent_of("hi", messages=[user("go")])

        assert text_of(anyio.run(agent.continue_)) == "hi"

    def test_from_an_answer(self) -> None:
        """An answer is nothing to go on from, unless something is queued."""
        agent = agent_of("hi", "more")
        agent.run_sync("go")
        with pytest.raises(ValueError, match="Cannot continue from message role: assistant"):
            anyio.run(agent.continue_)

    def test_steering_goes_first(self) -> None:
        """From an answer, what is queued becomes the prompt: steering before follow-up, one at a time."""
        agent = agent_of("hi", "more", "still more")
        agent.run_sync("go")
        agent.follow_up("f")
        agent.steer("s1")
        agent.steer("s2")
        anyio.run(agent.continue_)
        said = [text_of(message) for message in agent.state.messages if message.role == "user"]

        assert said == ["go", "s1", "s2", "f"]

    @both
    async def test_from_a_result(self) -> None:
        """A tool's result is something to go on from."""
        agent = agent_of(["a"], "hi", should_stop=lambda turn: turn.message.stop_reason == "toolUse")
        await agent.prompt("go")

        assert roles(agent.state.messages)[-1] == "toolResult"
        assert text_of(await agent.continue_()) == "hi"

    @both
    async def test_from_an_answer_with_a_follow_up(self) -> None:
        """Where nobody steers, a follow-up that is queued becomes the prompt, and leaves the queue."""
        agent = agent_of("hi", "more")
        await agent.prompt("go")
        agent.follow_up("f")

        assert text_of(await agent.continue_()) == "more"
        assert not agent.has_queued()

    @both
    async def test_steering_as_a_prompt_skips_one_poll(self) -> None:
        """Two steering messages from an answer go in a turn each, with an answer between them."""
        agent = agent_of("hi", "one", "two")
        await agent.prompt("go")
        agent.steer("s1")
        agent.steer("s2")
        await agent.continue_()

        assert roles(agent.state.messages)[2:] == ["user", "assistant", "user", "assistant"]


class TestQueues:
    """Steering and follow-up."""

    def test_the_mode_can_be_changed_while_running(self) -> None:
        """With mode all, the next poll takes everything that waits."""
        agent = agent_of(["a"], "hi", "more")

        def meddle() -> None:
            agent.steer("one")
            agent.steer("two")
            agent.steering_mode = "all"

        agent.subscribe(when("call a", meddle))
        agent.run_sync("go")

        assert roles(agent.state.messages) == ["user", "assistant", "toolResult", "user", "user", "assistant"]

    def test_clearing(self) -> None:
        """Each queue can be looked at, cleared alone, or both at once."""
        agent = agent_of("hi")
        agent.steer("s")
        agent.follow_up("f")
        agent.clear_steering()
        left = (agent.queued_steering, agent.queued_follow_up, agent.has_queued())
        agent.clear_queues()

        assert left == ((), (user("f"),), True)
        assert not agent.has_queued()


class TestHooks:
    """Hooks may be plain functions or coroutine functions."""

    @pytest.mark.parametrize("waits", [False, True])
    def test_before_and_after(self, waits: bool) -> None:
        """The before hook blocks one call, the after hook changes the result of the other."""

        def before(effect: BeforeToolCall) -> BeforeResult:
            return BeforeResult(block=effect.call.id == "a", reason="no")

        def after(effect: AfterToolCall) -> ResultChanges:
            return ResultChanges(content=[TextContent(f"{effect.call.id} changed")])

        wrap = later if waits else (lambda function: function)
        agent = agent_of(["a", "b"], "hi", before_tool_call=wrap(before), after_tool_call=wrap(after))
        agent.run_sync("go")

        assert results_of(agent.state.messages) == {"a": "no", "b": "b changed"}

    @pytest.mark.parametrize("waits", [False, True])
    def test_stopping(self, waits: bool) -> None:
        """The stop hook ends the run after a turn, though the model has not seen the results."""
        stop = later(lambda turn: True) if waits else (lambda turn: True)
        agent = agent_of(["a"], "never", should_stop=stop)
        agent.run_sync("go")

        assert roles(agent.state.messages) == ["user", "assistant", "toolResult"]

    def test_preparing(self) -> None:
        """What the preparation changes holds for the turns to come."""
        model = Model(["a"], "hi")
        agent = Agent(model, tools=[work(lambda arguments: "ok")], prepare_next_turn=lambda turn: NextTurn(model="m1"))
        agent.run_sync("go")

        assert [request.model for request in model.requests] == ["m0", "m1"]

    def test_the_way_to_the_model(self) -> None:
        """Transform, convert, key: in this order, and generators will do."""
        order: list[str] = []
        model = Model("hi")

        def transform(messages: Any) -> Iterator[Message]:
            order.append("transform")
            yield from messages[-1:]

        def convert(messages: Any) -> Iterator[Message]:
            order.append("convert")
            yield from messages

        def key(name: str) -> str:
            order.append(f"key of {name}")
            return "k"

        agent = Agent(model, transform_context=transform, convert_to_llm=convert, get_api_key=key)
        agent.run_sync([user("one"), user("two")])

        assert order == ["transform", "convert", "key of m0"]
        assert (model.requests[0].api_key, [text_of(m) for m in model.requests[0].messages]) == ("k", ["two"])

    def test_one_that_the_dialect_has_not(self) -> None:
        """The Agent of Pi 0.80.2 hands on no stop hook, and says so."""
        with pytest.raises(ValueError, match=r"the Agent of pi-0\.80\.2 does not hand on should_stop"):
            agent_of("hi", dialect="pi-0.80.2", should_stop=lambda turn: True)

    def test_an_unknown_dialect(self) -> None:
        """An unknown dialect is refused with the names of those that there are."""
        with pytest.raises(ValueError, match=r"there is no dialect 'pi-9'; there are pi-0\.80\.2"):
            agent_of("hi", dialect="pi-9")

    @both
    async def test_the_way_to_the_model_may_wait(self) -> None:
        """Transformation, conversion and key may come from coroutine functions."""
        model = Model("hi")
        agent = Agent(
            model,
            transform_context=later(lambda messages: messages[-1:]),
            convert_to_llm=later(lambda messages: iter([*messages, user("converted")])),
            get_api_key=later(lambda name: f"key of {name}"),
        )
        await agent.prompt([user("one"), user("two")])

        assert [text_of(message) for message in model.requests[0].messages] == ["two", "converted"]
        assert model.requests[0].api_key == "key of m0"

    @both
    async def test_changes_hold_for_one_run(self) -> None:
        """Context and thinking level change for the turns to come, and the next run has the agent's own again."""
        model = Model(["a"], "hi", "again")
        changes = [NextTurn(context=Context("other", Transcript([user("short")])), thinking_level="high")]
        agent = Agent(
            model,
            system_prompt="own",
            tools=[work(lambda arguments: "ok")],
            prepare_next_turn=later(lambda turn: changes.pop() if changes else None),
        )
        await agent.prompt("go")
        await agent.prompt("go on")
        seen = [(r.system_prompt, r.thinking_level, len(r.tools)) for r in model.requests]

        assert seen == [("own", "off", 1), ("other", "high", 0), ("own", "off", 1)]
        assert [text_of(message) for message in model.requests[1].messages] == ["short"]


class TestFailing:
    """What goes wrong outside the model call."""

    def test_the_failure_sequence(self) -> None:
        """A run that breaks off ends with an empty answer that carries the error, told like any answer."""
        agent = agent_of("hi", transform_context=raising(RuntimeError("no context")))
        heard = words_of(agent)
        answer = anyio.run(agent.prompt, "go")

        assert answer is not None
        assert (answer.stop_reason, answer.error_message, answer.text) == ("error", "no context", "")
        assert heard[-4:] == ["start assistant", "end assistant", "turn_end", "agent_end"]
        assert agent.state.error_message == "no context"

    def test_a_script_gets_the_exception(self) -> None:
        """Without an event loop there is nobody who looks at the answer: what broke the run off is raised."""
        agent = agent_of("hi", should_stop=raising(RuntimeError("no idea")))
        with pytest.raises(RuntimeError, match="no idea") as caught:
            agent.run_sync("go")

        assert agent.failure is caught.value
        assert agent.state.error_message == "no idea"

    def test_who_raised(self) -> None:
        """A note on the exception names the hook or the listener, and leaves the text as it was."""
        agent = agent_of("hi", "hi", should_stop=raising(RuntimeError("no idea")))
        with pytest.raises(RuntimeError) as by_hook:
            agent.run_sync("go")
        agent.subscribe(raising(ValueError("bad listener")))
        with pytest.raises(ValueError, match="bad listener") as by_listener:
            agent.run_sync("go")

        assert by_hook.value.__notes__ == ["raised by should_stop"]
        assert "raised by the listener" in by_listener.value.__notes__[0]

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"tools": [print]}, "expected a Tool, got <built-in function print>; turnwheel_tools.define"),
            ({"tools": Tool("add")}, "expected a list of tools, got the tool add alone"),
            ({"should_stop": 3}, "should_stop: expected a function, got 3"),
        ],
    )
    def test_what_is_wrong_from_the_start(self, wrong: dict[str, Any], text: str) -> None:
        """A tool that is none and a hook that cannot be called are refused when the agent is made."""
        with pytest.raises(Misuse, match=re.escape(text)):
            Agent(script("hi"), **wrong)

    def test_what_cannot_be_queued(self) -> None:
        """What is neither a text nor a message goes into no queue."""
        agent = agent_of("hi")
        wrong: Any = 3
        with pytest.raises(Misuse, match="expected a text or a message, got 3"):
            agent.steer(wrong)

        assert not agent.has_queued()

    def test_the_exception_is_kept(self) -> None:
        """The exception itself is there for a program to look at, until the next run begins."""
        error = RuntimeError("no context")
        broken = [True]

        def transform(messages: Any) -> Any:
            if broken:
                broken.clear()
                raise error
            return messages

        agent = agent_of("hi", transform_context=transform)
        anyio.run(agent.prompt, "go")
        first = agent.failure
        agent.run_sync("again")

        assert (first, agent.failure) == (error, None)


class TestEnding:
    """Aborting a run, and waiting for its end."""

    @both
    async def test_abort_while_a_tool_runs(self) -> None:
        """An abort sets the signal of the run that is on; the tool looks at it, and no signal is left afterwards."""
        looked: list[bool] = []

        async def look(arguments: Any, *, aborted: Any) -> str:
            agent.abort("enough")
            looked.append(aborted())
            return "stopped"

        agent = agent_of(["a"], "never", run=look)
        answer = await agent.prompt("go")

        assert (looked, agent.signal, agent.failure) == ([True], None, None)
        assert answer is not None
        assert answer.stop_reason == "aborted"

    def test_abort_of_nothing(self) -> None:
        """An abort between two runs does nothing to the next one."""
        agent = agent_of("hi")
        agent.abort()

        assert text_of(agent.run_sync("go")) == "hi"

    @both
    async def test_waiting_for_a_run(self) -> None:
        """Who waits for idleness goes on after the listeners of agent_end; with no run on, at once."""
        agent = agent_of("hi")
        order: list[str] = []

        async def slow(event: Event) -> None:
            if isinstance(event, AgentEnd):
                await anyio.sleep(0.005)
                order.append("listener")

        agent.subscribe(slow)
        await agent.wait_for_idle()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.prompt, "go")
            await anyio.wait_all_tasks_blocked()
            await agent.wait_for_idle()
            order.append("idle")

        assert order == ["listener", "idle"]


class TestState:
    """What can be seen of an agent."""

    def test_as_it_is_at_each_event(self) -> None:
        """A listener sees the state with the event at hand."""
        agent = agent_of(["a"], "hi")
        seen: list[tuple[str, int, bool, list[str]]] = []
        words = words_of(agent)

        def look(event: Event) -> None:
            state = agent.state
            streams = state.streaming_message is not None
            seen.append((words[-1], len(state.messages), streams, sorted(state.pending_tool_calls)))

        agent.subscribe(look)
        agent.run_sync("go")

        assert ("start user", 0, True, []) in seen
        assert ("end user", 1, False, []) in seen
        assert ("call a", 2, False, ["a"]) in seen
        assert ("done a", 2, False, []) in seen

    def test_settings_between_runs(self) -> None:
        """Model, thinking level, system prompt and tools are those that stand when a run begins."""
        model = Model("one", "two")
        agent = Agent(model)
        agent.run_sync("go")
        state = agent.state
        state.model, state.thinking_level, state.system_prompt, state.tools = "big", "high", "Be brief.", [work(print)]
        agent.run_sync("on")
        request = model.requests[1]

        assert (request.model, request.thinking_level, request.system_prompt) == ("big", "high", "Be brief.")
        assert [tool.name for tool in request.tools] == ["work"]

    def test_time_comes_from_the_clock(self) -> None:
        """All messages that the agent makes, and answers without a time, are stamped by its clock."""
        ticks = iter(range(100, 200))
        agent = agent_of(["a"], "hi", clock=lambda: next(ticks))
        agent.run_sync("go")
        stamps = [message.timestamp for message in agent.state.messages]

        assert all(stamp is not None for stamp in stamps)
        assert stamps == sorted(stamps, key=lambda stamp: stamp or 0)

    def test_reset(self) -> None:
        """After a reset nothing is left of transcript, queues and errors."""
        agent = agent_of("hi")
        agent.run_sync("go")
        agent.steer("s")
        agent.reset()

        assert (len(agent.state.messages), agent.has_queued(), agent.state.error_message) == (0, False, None)


class TestWorkerThreads:
    """Plain functions as tools."""

    @both
    async def test_do_not_block_the_loop(self) -> None:
        """While a plain function waits, the event loop goes on; and it reports from its thread."""
        go_on = threading.Event()

        def wait(arguments: Any, *, report: Any) -> str:
            report("waiting")
            return "released" if go_on.wait(2) else "blocked"

        agent = agent_of(["a"], "hi", run=wait)
        agent.subscribe(when("progress a", go_on.set))
        await agent.prompt("go")

        assert results_of(agent.state.messages) == {"a": "released"}

    @both
    async def test_a_plain_function_that_returns_an_awaitable(self) -> None:
        """What it returns is awaited in the loop, where it can still report."""

        async def really(report: Any) -> str:
            report("half")
            return "done"

        agent = agent_of(["a"], "hi", run=lambda arguments, *, report: really(report))
        heard = words_of(agent)
        await agent.prompt("go")

        assert results_of(agent.state.messages) == {"a": "done"}
        assert "progress a" in heard
