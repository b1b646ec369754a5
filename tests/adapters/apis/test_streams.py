"""Every recording through its pure decoder, and what users met with such streams."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import pytest

from tests.adapters.apis.expecting import differences
from tests.adapters.apis.recordings import MISSING, Play, others, streams
from turnwheel.messages import AssistantMessage, ThinkingContent, ToolCall
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Partial, Started, TextDelta
from turnwheel_adapters.apis.api import ApiName, Decoder, Target
from turnwheel_adapters.apis.failures import Broken, failure_of
from turnwheel_adapters.apis.sse import Decoder as Lines
from turnwheel_adapters.apis.sse import ServerEvent
from turnwheel_adapters.models.routing import api_of

BARE: Final = {"gemini-error-bare-json"}
"""What is no stream of events is the client's to read: see tests/adapters/models/test_recordings.py."""


def folded(raw: bytes, decoder: Decoder) -> tuple[list[Started | Delta], AssistantMessage]:
    """Return the steps and the message of a body."""
    lines = Lines()
    steps: list[Started | Delta] = []
    failure = None
    try:
        for event in [*lines.feed(raw), *lines.end()]:
            steps += decoder.feed(event)
            if decoder.over:
                break
    except Broken as broken:
        failure = broken.failure
    return steps, decoder.end(failure)


def decoder_of(api: ApiName, *, provider: str = "provider") -> Decoder:
    return api_of(api).decoder(ModelRequest("model"), Target(provider, "model", api, "http://localhost"))


def answer(api: ApiName, *chunks: Any, name: str = "message") -> AssistantMessage:
    """Return the message of an answer of these chunks; texts are sent as they are."""
    decoder = decoder_of(api)
    failure = None
    try:
        for chunk in chunks:
            data = chunk if isinstance(chunk, str) else json.dumps(chunk)
            decoder.feed(ServerEvent(name, data))
    except Broken as broken:
        failure = broken.failure
    return decoder.end(failure)


def kind_of(message: AssistantMessage) -> tuple[str, bool]:
    """Return the kind of failure that a message carries, and whether it is worth another try."""
    failure = failure_of(message)
    assert failure is not None
    return failure.kind, failure.retryable


class TestRecordings:
    def test_they_are_there(self) -> None:
        """All recordings are played where their folder is known."""
        if others() is None:
            pytest.skip(MISSING)
        assert len(streams()) == 129

    @pytest.mark.parametrize("play", [play for play in streams() if play.name not in BARE], ids=str)
    def test_the_message(self, play: Play) -> None:
        """The decoder ends with the message that the recording says."""
        _, message = folded(play.raw, play.codec.decoder(ModelRequest("model"), play.target()))

        assert differences(play.expect, message, play.api) == []

    @pytest.mark.parametrize("play", streams(), ids=str)
    def test_the_steps_add_up_to_it(self, play: Play) -> None:
        """Whoever follows the steps has seen the texts, the thoughts and the calls of the message."""
        steps, message = folded(play.raw, play.codec.decoder(ModelRequest("model"), play.target()))
        partial = Partial(steps).after(len(steps))

        assert partial.text == message.text
        assert [t.thinking for t in partial.content if isinstance(t, ThinkingContent) and t.thinking] == [
            t.thinking for t in message.content if isinstance(t, ThinkingContent) and t.thinking
        ]
        ids = {call.id for call in partial.tool_calls}
        assert {call.id for call in message.tool_calls} <= ids
        assert [type(step) for step in steps[:1]] in ([], [Started])
        assert sum(isinstance(step, Started) for step in steps) <= 1


def delta(**parts: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": parts}]}


def call(index: int | None = 0, id_: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    told = {"function": function} | ({} if index is None else {"index": index}) | ({"id": id_} if id_ else {})
    return delta(tool_calls=[told])


FINISH: Final = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
STOP: Final = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


class TestChatCalls:
    """Calls of openai-chat, as servers cut them."""

    @pytest.mark.parametrize(
        "chunks",
        [
            [call(0, "c", "add", '{"a"'), call(0, None, None, ":1}")],
            [call(0, "c", None, '{"a"'), call(0, None, "add", ":1}")],
            [call(0, "c", "a", ""), call(0, None, "dd", ""), call(0, None, None, '{"a":1}')],
            [call(0, "c", "add", ""), call(0, "c", "add", '{"a":1}')],
            [call(0, "c", "add", '{"a"'), call(0, "", "", ":1}")],
            [call(0, "c", "add", {"a": 1})],
            [call(0, "c", "add", '{"a"'), call(0, None, None, '{"a":1}')],
            [call(0, "c", "add", '{"a"'), call(0, None, None, ":1}"), call(0, None, None, '{"a":1}')],
            [call(None, "c", "add", '{"a"'), call(None, None, None, ":1}")],
            [
                delta(tool_calls=[{"index": 0, "id": "c", "custom": {}, "function": {"name": "add"}}]),
                call(arguments='{"a":1}'),
            ],
        ],
        ids=[
            "cut",
            "name late",
            "name in pieces",
            "repeated",
            "emptied",
            "object",
            "grown",
            "once more",
            "no index",
            "custom",
        ],
    )
    def test_one_call(self, chunks: list[Any]) -> None:
        """However name and arguments come, it is one complete call."""
        assert answer("openai-chat", *chunks, FINISH).tool_calls == (ToolCall("c", "add", {"a": 1}),)

    def test_two_with_the_same_index(self) -> None:
        """Another id and name are another call, even where each has the index 0."""
        message = answer("openai-chat", call(0, "c", "add", "{}"), call(0, "d", "sub", "{}"), FINISH)

        assert [(each.id, each.name) for each in message.tool_calls] == [("c", "add"), ("d", "sub")]

    def test_a_missing_id(self) -> None:
        """A call without an id gets one of its own."""
        message = answer("openai-chat", call(0, None, "add", "{}"), call(1, None, "add", "{}"), FINISH)

        assert len({each.id for each in message.tool_calls}) == 2
        assert all(each.id for each in message.tool_calls)

    @pytest.mark.parametrize(
        "raw", ['{"a":1,"b":}', '{"a":1} trailing', "[1]", '"x"', "{'a': 1}", '{"a": NaN}', '{"a": "x'], ids=str
    )
    def test_arguments_that_are_none(self, raw: str) -> None:
        """What is no JSON object is kept as it is, with what is wrong; never a call with fewer fields."""
        (found,) = answer("openai-chat", call(0, "c", "add", raw), FINISH).tool_calls

        assert found.arguments == raw
        assert raw in found.extra["argumentsError"]

    @pytest.mark.parametrize(
        ("raw", "arguments"),
        [("", {}), (" ", {}), ('{"cmd":"\\usepackage"}', {"cmd": "\\usepackage"}), ('{"a":"x\ny"}', {"a": "x\ny"})],
    )
    def test_arguments_that_can_be_read(self, raw: str, arguments: Any) -> None:
        """Nothing at all is an empty object, and a bad escape or a raw newline stands for itself."""
        (found,) = answer("openai-chat", call(0, "c", "add", raw), FINISH).tool_calls

        assert (found.arguments, dict(found.extra)) == (arguments, {})

    def test_cut_off(self) -> None:
        """Where the answer hit its limit, a call that is not whole is none; those before it are."""
        length = {"choices": [{"delta": {}, "finish_reason": "length"}]}
        message = answer("openai-chat", call(0, "c", "add", "{}"), call(1, "d", "sub", '{"a":'), length)

        assert [each.name for each in message.tool_calls] == ["add"]
        assert message.stop_reason == "length"


class TestChatErrors:
    """Errors within an answer of openai-chat that began well."""

    @pytest.mark.parametrize(
        "chunk",
        [
            {"error": {"message": "x", "code": 429}},
            {"error": {"message": "x", "code": 429}, "choices": []},
            {"choices": [{"delta": {}, "error": {"message": "x", "code": 429}}]},
        ],
    )
    def test_an_object(self, chunk: Any) -> None:
        """An error object ends the answer, keeps what had arrived, and drops calls that were not whole."""
        message = answer("openai-chat", delta(content="half"), call(0, "c", "add", "{"), chunk)

        assert (message.stop_reason, message.text, message.tool_calls) == ("error", "half", ())
        assert kind_of(message) == ("rate_limit", True)
        assert "x" in (message.error_message or "")

    def test_a_text(self) -> None:
        """An error may be a text alone, and come first."""
        message = answer("openai-chat", {"error": "no more credits"})

        assert message.stop_reason == "error"
        assert "no more credits" in (message.error_message or "")

    @pytest.mark.parametrize("api", ["openai-chat", "openai-responses", "google-gemini"])
    @pytest.mark.parametrize("chunk", [": x", "[1]", "oops", "{", "null"])
    def test_a_malformed_chunk(self, api: ApiName, chunk: str) -> None:
        """A chunk that is no JSON object is an error of the kind protocol that shows it."""
        message = answer(api, chunk)

        assert kind_of(message) == ("protocol", True)
        assert chunk in (message.error_message or "")

    def test_an_end_without_a_mark(self) -> None:
        """A body that ends after a whole call but without a finish is an error, and the call is none."""
        message = answer("openai-chat", call(0, "c", "add", "{}"))

        assert (message.stop_reason, message.tool_calls) == ("error", ())
        assert kind_of(message) == ("protocol", True)

    def test_a_finish_without_the_mark(self) -> None:
        """After a finish reason the end of the body is a success."""
        assert answer("openai-chat", delta(content="hi"), STOP).stop_reason == "stop"

    def test_a_refused_reason(self) -> None:
        """A content filter and a reason that nobody knows are errors."""
        filtered = {"choices": [{"delta": {}, "finish_reason": "content_filter"}]}
        assert kind_of(answer("openai-chat", delta(content="hi"), filtered)) == ("content_filter", False)
        odd = {"choices": [{"delta": {}, "finish_reason": "weather"}]}
        assert "weather" in (answer("openai-chat", odd).error_message or "")


class TestChatUsage:
    @pytest.mark.parametrize(
        "chunks",
        [
            [{"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}],
            [{"choices": [{"delta": {}, "usage": {"prompt_tokens": 10, "completion_tokens": 2}}]}],
            [{"choices": [], "x_groq": {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}}],
            [
                {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
                {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}},
                {"choices": [], "usage": None},
            ],
        ],
    )
    def test_wherever_it_is(self, chunks: list[Any]) -> None:
        """Usage is found wherever servers put it, and the last one that is there counts."""
        used = answer("openai-chat", delta(content="x"), STOP, *chunks).usage

        assert used is not None
        assert (used.input, used.output, used.total_tokens) == (10, 2, 12)


class TestAnthropic:
    def test_text_in_the_start_of_a_block(self) -> None:
        """Text that comes with the start of its block is not lost."""
        message = answer(
            "anthropic-messages",
            {"type": "message_start", "message": {"id": "m"}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " you"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        )

        assert (message.text, message.stop_reason, message.response_id) == ("Hi you", "stop", "m")

    def test_arguments_in_the_start_of_a_call(self) -> None:
        """Arguments that come with the start of a call are its arguments."""
        block = {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}
        message = answer(
            "anthropic-messages",
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        )

        assert message.tool_calls == (ToolCall("t", "add", {"a": 1}),)
        assert message.stop_reason == "toolUse"

    def test_blocks_of_others(self) -> None:
        """What comes of a block that is not known is no text of the answer."""
        message = answer(
            "anthropic-messages",
            {"type": "content_block_start", "index": 0, "content_block": {"type": "server_thing"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hidden"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "shown"}},
            {"type": "message_stop"},
        )

        assert message.text == "shown"

    def test_events_of_others(self) -> None:
        """Pings, marks of proxies and events that nobody knows are passed over, even where they are no JSON."""
        decoder = decoder_of("anthropic-messages")
        for event in (ServerEvent("ping", ""), ServerEvent("done", "[DONE]"), ServerEvent("vendor", "x: y")):
            assert list(decoder.feed(event)) == []

    def test_a_cut_call_without_arguments(self) -> None:
        """A call that hit the limit before its first argument is no call without arguments."""
        block = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
        message = answer(
            "anthropic-messages",
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
            {"type": "message_stop"},
        )

        assert (message.tool_calls, message.stop_reason) == ((), "length")


class TestResponses:
    def test_parts_of_a_summary(self) -> None:
        """The parts of a summary are set off by an empty line."""
        deltas = [(0, "first "), (0, "part"), (1, "second")]
        message = answer(
            "openai-responses",
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs"}},
            *(
                {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": at, "delta": text}
                for at, text in deltas
            ),
            {"type": "response.completed", "response": {"status": "completed"}},
        )

        assert [t.thinking for t in message.content if isinstance(t, ThinkingContent)] == ["first part\n\nsecond"]

    def test_an_id_that_is_made_up(self) -> None:
        """A call without an id gets one that no call of the conversation has."""
        said = AssistantMessage((ToolCall("call_1|fc_1", "add"),))
        target = Target("p", "m", "openai-responses", "http://localhost")
        decoder = api_of("openai-responses").decoder(ModelRequest("m", messages=[said]), target)
        item = {"type": "function_call", "name": "add", "arguments": "{}"}
        for event in (
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"status": "completed"}},
        ):
            decoder.feed(ServerEvent("message", json.dumps(event)))

        (call,) = decoder.end().tool_calls
        assert call.id not in ("", "call_1")


class TestGemini:
    def test_kinds_in_turns(self) -> None:
        """A new block begins wherever the kind of part changes."""
        parts = [{"text": "A"}, {"text": "B", "thought": True}, {"text": "C"}, {"text": "D"}]
        message = answer("google-gemini", {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})

        assert [getattr(block, "text", getattr(block, "thinking", "")) for block in message.content] == ["A", "B", "CD"]


class TestCost:
    def test_deltas_cost_the_same(self) -> None:
        """100,000 pieces of arguments cost no more than 15 times 10,000, shown while they stream and all."""

        def seconds(pieces: int) -> float:
            decoder = decoder_of("openai-chat")
            decoder.feed(ServerEvent("message", json.dumps(call(0, "c", "add", '{"a":"'))))
            event = ServerEvent("message", json.dumps(call(0, None, None, "x")))
            began = time.process_time()
            shown = sum(
                getattr(step, "so_far", None) is not None for _ in range(pieces) for step in decoder.feed(event)
            )
            spent = time.process_time() - began
            assert shown > 10
            return spent

        seconds(1000)
        assert seconds(100_000) < 15 * seconds(10_000)

    def test_texts_are_not_copied(self) -> None:
        """A step holds its own piece and nothing of what came before."""
        decoder = decoder_of("openai-chat")
        steps = [
            step for _ in range(3) for step in decoder.feed(ServerEvent("message", json.dumps(delta(content="ab"))))
        ]

        assert [step.delta for step in steps if isinstance(step, TextDelta)] == ["ab"] * 3
