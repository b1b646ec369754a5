"""The local host: how it asks the model, runs tools, and gives out what waits in its queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from turnwheel import effects as fx
from turnwheel.abort import AbortSignal
from turnwheel.messages import (
    AssistantMessage,
    Content,
    CustomMessage,
    ImageContent,
    Json,
    TextContent,
    ToolCall,
    ToolResult,
    user,
)
from turnwheel.stream import Finished, Started, StreamStep
from turnwheel.table import dialect
from turnwheel.tool import Context, Request, Tool
from turnwheel.transcript import Transcript
from turnwheel_adapters.host import LocalHost, StopHook, after_turns, as_result
from turnwheel_tools.arguments import ArgumentError
from turnwheel_tools.contract import ToolError

TEXT = TextContent("hi")
IMAGE = ImageContent("AA==", "image/png")


class EchoModel:
    """Keeps what it was asked, answers with nothing, and notes when its stream is closed."""

    def __init__(self, timestamp: int | None = None) -> None:
        self.asked: list[Transcript] = []
        self.closed = 0
        self._answer = AssistantMessage(timestamp=timestamp)

    def call_model(self, effect: fx.CallModel) -> Iterator[StreamStep]:
        self.asked.append(effect.request.context.messages)
        self.stream = self._steps()
        return self.stream

    def _steps(self) -> Iterator[StreamStep]:
        try:
            yield Started()
            yield Finished(self._answer)
        finally:
            self.closed += 1


def host(
    model: EchoModel | None = None,
    dialect_name: str = "pi-0.85.1",
    signal: AbortSignal | None = None,
    stop: StopHook | None = None,
) -> LocalHost:
    return LocalHost(model or EchoModel(), dialect(dialect_name), signal=signal, stop=stop)


def call(messages: Transcript) -> fx.CallModel:
    return fx.CallModel(1, Request("m", "off", Context(messages=messages)))


def finished_turn(answers: int) -> fx.FinishedTurn:
    said = Transcript([user("go"), *[AssistantMessage()] * answers])
    return fx.FinishedTurn(AssistantMessage(), (), Context(), said)


def execute(run: Any, signal: AbortSignal | None = None, report: Callable[[ToolResult], None] = print) -> ToolResult:
    effect = fx.ExecuteTool(1, ToolCall("c", "t"), Tool("t", run=run), {"n": 1})
    return host(signal=signal).execute_tool(effect, report)


class TestQueues:
    def test_gives_one_message_at_a_time(self) -> None:
        """Each poll of a queue takes the message that waits longest."""
        local = host()
        local.steering += [user("a"), user("b")]
        polls = [local.poll_steering(fx.PollSteering(n)) for n in (1, 2, 3)]

        assert polls == [[user("a")], [user("b")], []]

    def test_queues_are_apart(self) -> None:
        """A follow-up is no steering message."""
        local = host()
        local.follow_up.append(user("later"))

        assert local.poll_steering(fx.PollSteering(1)) == []
        assert local.poll_follow_up(fx.PollFollowUp(2)) == [user("later")]


class TestHooks:
    def test_names_only_what_is_there(self) -> None:
        """Without a stop hook only the queues are asked."""
        assert host().hooks == {"steering", "follow_up"}
        assert host(stop=after_turns(1)).hooks == {"steering", "follow_up", "should_stop"}

    @pytest.mark.parametrize(("answers", "stops"), [(1, False), (2, True), (3, True)])
    def test_stops_after_so_many_turns(self, answers: int, stops: bool) -> None:
        """`after_turns` stops once the run has had so many answers, not before."""
        assert host(stop=after_turns(2)).ask_to_stop(fx.AskToStop(1, finished_turn(answers))) is stops


class TestModel:
    def test_sees_standard_roles_only(self) -> None:
        """A message of a custom role stays in the transcript and is shown to no model."""
        model = EchoModel()
        local = host(model)
        first = Transcript([user("a"), CustomMessage("note")])
        list(local.call_model(call(first)))
        list(local.call_model(call(first.appended(user("b")))))

        assert [list(messages) for messages in model.asked] == [[user("a")], [user("a"), user("b")]]

    def test_answers_are_stamped(self) -> None:
        """An answer without a timestamp gets one, the same at its start and its end."""
        started, finished = host().call_model(call(Transcript()))

        assert isinstance(started, Started)
        assert isinstance(finished, Finished)
        assert started.message.timestamp is not None
        assert started.message.timestamp == finished.message.timestamp
        assert started.at is not None
        assert finished.at is not None

    def test_a_timestamp_is_kept(self) -> None:
        """A model that knows the time knows better."""
        *_, finished = host(EchoModel(timestamp=7)).call_model(call(Transcript()))

        assert isinstance(finished, Finished)
        assert finished.message.timestamp == 7

    def test_a_stream_that_is_let_go_is_closed(self) -> None:
        """Who stops reading closes the model's own stream with it."""
        model = EchoModel()
        stream = host(model).call_model(call(Transcript()))
        next(stream)
        stream.close()  # type: ignore[attr-defined]

        assert model.closed == 1


class TestArguments:
    TOOL = Tool("t", parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})

    def prepare(self, arguments: Json, dialect_name: str = "pi-0.85.1", tool: Tool = TOOL) -> Json:
        return host(dialect_name=dialect_name).prepare_arguments(
            fx.PrepareArguments(1, ToolCall("c", "t", arguments), tool)
        )

    def test_coerces(self) -> None:
        """Arguments are made to fit the schema, and the model's own object is left alone."""
        written = {"n": "5"}

        assert self.prepare(written) == {"n": 5}
        assert written == {"n": "5"}

    def test_refuses_what_does_not_fit(self) -> None:
        """What no rule can make fit is an error for the model."""
        with pytest.raises(ArgumentError, match="n"):
            self.prepare({"n": "five"})

    def test_uses_the_rules_of_the_dialect(self) -> None:
        """A null for an optional property counts as left out in the later dialect only."""
        tool = Tool("t", parameters={"type": "object", "properties": {"s": {"type": "string"}}})

        assert self.prepare({"s": None}, "pi-0.85.1", tool) == {}
        assert self.prepare({"s": None}, "pi-0.80.2", tool) == {"s": ""}


class TestExecution:
    def test_passes_on_what_was_agreed(self) -> None:
        """A tool gets its arguments, the id of the call, and whether the run is aborted."""
        signal = AbortSignal()

        def run(arguments: Json, *, call_id: str, report: object, aborted: Callable[[], bool]) -> str:
            before = aborted()
            signal.abort()
            return f"{arguments} {call_id} {before} {aborted()}"

        assert execute(run, signal) == ToolResult.of("{'n': 1} c False True")

    def test_progress_is_a_result_too(self) -> None:
        """What a tool reports on the way is normalised like what it returns."""
        reported: list[ToolResult] = []

        def run(arguments: Json, *, report: Callable[[Any], None], **others: object) -> None:
            report("half")

        execute(run, report=reported.append)

        assert reported == [ToolResult.of("half")]

    def test_nothing_to_run(self) -> None:
        """A tool that is only described fails with a word to the model."""
        with pytest.raises(ToolError, match="nothing to run"):
            execute(None)


class TestAsResult:
    @pytest.mark.parametrize(
        ("returned", "content"),
        [
            (None, ()),
            ("hi", (TEXT,)),
            ("", (TextContent(""),)),
            (TEXT, (TEXT,)),
            ([TEXT, IMAGE], (TEXT, IMAGE)),
            ((IMAGE,), (IMAGE,)),
            ([], (TextContent("[]"),)),
            ({"ä": [1, None]}, (TextContent('{"ä": [1, null]}'),)),
            ([TEXT, 1], (TextContent("[\"TextContent(text='hi', text_signature=None)\", 1]"),)),
            (5, (TextContent("5"),)),
            (ToolResult((IMAGE,)), (IMAGE,)),
        ],
    )
    def test_whatever_a_tool_returns(self, returned: object, content: tuple[Content, ...]) -> None:
        """Texts, blocks, nothing and any other value become content that a model can be shown."""
        assert as_result(returned).content == content

    def test_a_result_is_kept(self) -> None:
        """A result is passed on as it is, details and all."""
        result = ToolResult.of("hi", details={"n": 1}, terminate=True)

        assert as_result(result) is result

    def test_a_text_for_content(self) -> None:
        """A result whose content is a bare text gets a block of it, and keeps the rest."""
        content: Any = "hi"

        assert as_result(ToolResult(content, details=3)) == ToolResult((TEXT,), details=3)
