"""Values of the wrong kind, from callbacks and callers: each is refused where it comes in, and the error says why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.engine.agents import Model, agent_of, both, results_of, roles, script, text_of
from tests.engine.by_hand import word
from tests.engine.test_driver import World
from turnwheel.agent import Agent
from turnwheel.driver import Driver
from turnwheel.errors import Misuse
from turnwheel.loop import LoopConfig, agent_loop
from turnwheel.machine import Machine
from turnwheel.messages import AssistantMessage, TextContent, user
from turnwheel.outcomes import Begun
from turnwheel.stream import Finished, StreamStep
from turnwheel.tool import Context

HI = AssistantMessage([TextContent("hi")])


class TestWhatCallbacksReturn:
    """A value of the wrong kind is an error that names the callback, and what to return."""

    WRONG: tuple[Any, ...] = (True, "text", {"is_error": True}, 5, [1], object())

    @pytest.mark.parametrize("wrong", WRONG)
    @pytest.mark.parametrize(
        ("hook", "wanted"), [("before_tool_call", "BeforeResult"), ("after_tool_call", "ResultChanges")]
    )
    def test_of_a_call(self, hook: str, wanted: str, wrong: Any) -> None:
        """It is the error result of that call, and the run goes on."""
        agent = agent_of(["a", "b"], "hi", **{hook: lambda asked: wrong if asked.call.id == "a" else None})
        agent.run_sync("go")
        results = results_of(agent.state.messages)

        assert results["a"].startswith(f"{hook} returned ")
        assert (results["a"].endswith(f"; return {wanted} or None"), results["b"]) == (True, "ok")

    @pytest.mark.parametrize("wrong", WRONG)
    @pytest.mark.parametrize(
        ("hook", "wanted"),
        [("prepare_next_turn", "NextTurn or None"), ("transform_context", ""), ("convert_to_llm", "")],
    )
    def test_of_the_run(self, hook: str, wanted: str, wrong: Any) -> None:
        """It breaks the run off with Misuse."""
        agent = agent_of(["a"], "hi", **{hook: lambda given: wrong})
        with pytest.raises(Misuse, match=rf"^{hook}.*{wanted}"):
            agent.run_sync("go")

    @pytest.mark.parametrize("wrong", ["go on", {}, 5])
    def test_of_a_finish_hook(self, wrong: Any) -> None:
        """A finish hook says end, continue or nothing."""
        agent = agent_of("hi", dialect="pi-1.6.0", finish_turn=lambda turn: wrong)
        with pytest.raises(Misuse, match=r"^finish_turn returned .*; return 'end', 'continue' or None"):
            agent.run_sync("go")

    def test_a_key(self) -> None:
        """A key that is no text is refused before the model sees it."""
        with pytest.raises(Misuse, match=r"^get_api_key returned 5; return str or None"):
            agent_of("hi", get_api_key=lambda model: 5).run_sync("go")

    @pytest.mark.parametrize("hook", ["transform_context", "convert_to_llm"])
    def test_a_forgotten_return(self, hook: str) -> None:
        """A conversion that returns nothing does not leave the model without messages."""
        model = Model("hi")
        with pytest.raises(Misuse, match=rf"^{hook} returned None; return the messages"):
            Agent(model, **{hook: lambda messages: None}).run_sync("go")  # type: ignore[arg-type]

        assert model.requests == []

    @pytest.mark.parametrize("wrong", ["stop!", user("stop!"), ["stop!"], 5])
    @both
    async def test_a_queue(self, wrong: Any) -> None:
        """A queue that gives anything but messages is refused; a text is not taken for its letters."""
        config = LoopConfig(script("hi"), steering=lambda: wrong)
        with pytest.raises(Misuse, match=r"^steering: expected"):
            async for _ in agent_loop([user("go")], Context(), config):
                pass

    def test_false_is_nothing(self) -> None:
        """What `condition and answer` gives where the condition does not hold counts as None."""
        hooks = ("before_tool_call", "after_tool_call", "prepare_next_turn")
        agent = agent_of(["a"], "hi", **dict.fromkeys(hooks, lambda given: False))

        assert text_of(agent.run_sync("go")) == "hi"


class TestWhatIsHandedIn:
    """Prompts, transcripts and settings of the wrong kind are refused, and say why."""

    @pytest.mark.parametrize("wrong", [None, 5, b"hi", {"role": "user"}, ["a"], [user("a"), 1]])
    def test_a_prompt(self, wrong: Any) -> None:
        """What is neither a text nor messages is Misuse, and no run begins."""
        agent = agent_of("hi")
        with pytest.raises(Misuse, match="expected"):
            agent.run_sync(wrong)

        assert roles(agent.state.messages) == []

    def test_a_generator_of_messages(self) -> None:
        """Messages may come from a generator."""
        agent = agent_of("hi")
        agent.run_sync(user(text) for text in "ab")  # type: ignore[arg-type]

        assert [text_of(message) for message in agent.state.messages] == ["a", "b", "hi"]

    @pytest.mark.parametrize("wrong", ["hello", user("hello"), None, [1]])
    def test_prompts_of_a_loop(self, wrong: Any) -> None:
        """A text is not taken for its letters."""
        with pytest.raises(Misuse, match=r"^agent_loop: expected"):
            agent_loop(wrong, Context(), LoopConfig(script("hi")))

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"messages": "hello"}, "messages: expected a list of messages, got 'hello'"),
            ({"messages": [1]}, "messages: expected messages, got 1 among them"),
            ({"steering_mode": "al"}, "one of one-at-a-time, all, not 'al'"),
            ({"follow_up_mode": None}, "one of one-at-a-time, all, not None"),
            ({"tool_execution": "seq"}, "tool_execution is one of sequential, parallel, not 'seq'"),
        ],
    )
    def test_settings(self, wrong: dict[str, Any], text: str) -> None:
        """A setting that cannot be right is refused when the agent is made."""
        with pytest.raises(Misuse, match=text):
            agent_of("hi", **wrong)

    def test_a_mode_that_is_set_later(self) -> None:
        """A mode is checked when it is set, too, and the old one stays."""
        agent = agent_of("hi")
        with pytest.raises(Misuse):
            agent.steering_mode = "sometimes"  # type: ignore[assignment]

        assert agent.steering_mode == "one-at-a-time"


class Restartable:
    """An answer that only knows how to be iterated over asynchronously."""

    async def __aiter__(self) -> AsyncIterator[StreamStep]:
        yield Finished(HI)


class TestStreams:
    """What a stream function returns."""

    @pytest.mark.parametrize("made", [lambda: [Finished(HI)], lambda: (Finished(HI),), Restartable])
    def test_what_can_be_iterated_over(self, made: Callable[[], Any]) -> None:
        """A list of steps will do, and an object that is iterable but no iterator."""
        assert text_of(Agent(lambda request, signal: made()).run_sync("go")) == "hi"

    @pytest.mark.parametrize("wrong", [None, 5, "hi", HI, {"content": "hi"}])
    def test_what_is_no_stream(self, wrong: Any) -> None:
        """Anything else is Misuse, which names the stream function and what it returned."""
        with pytest.raises(Misuse, match=r"^the stream function returned .*; return the steps"):
            Agent(lambda request, signal: wrong).run_sync("go")

    @pytest.mark.parametrize("wrong", [None, "hi", AssistantMessage("hi"), AssistantMessage(None)])  # type: ignore[arg-type]
    def test_what_is_no_answer(self, wrong: Any) -> None:
        """A last step without an answer in blocks is Misuse; a text is not lost without a word."""
        with pytest.raises(Misuse, match=r"AssistantMessage|list of blocks"):
            Agent(lambda request, signal: iter([Finished(wrong)])).run_sync("go")

    @pytest.mark.parametrize(("said", "ends"), [([Finished(HI)], True), (None, False), ([Finished(None)], False)])  # type: ignore[arg-type]
    def test_on_the_sync_driver(self, said: Any, ends: bool) -> None:
        """The sync driver takes and refuses the same."""
        world, machine = World(), Machine(Begun(prompts=(user("go"),)))
        world.call_model = lambda effect: said  # type: ignore[method-assign]
        heard: list[str] = []
        with suppress(Misuse):
            Driver(machine, world).run(lambda event: heard.append(word(event)))

        assert ("agent_end" in heard) == ends
