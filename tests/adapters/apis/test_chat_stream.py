"""Streams of openai-chat in which servers go their own ways: late pieces, empty entries, details, errors, costs."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.messages import AssistantMessage, Json, TextContent, ThinkingContent, ToolCall
from turnwheel.requests import ModelRequest
from turnwheel.stream import Delta, Started, TextEnd, ToolCallEnd
from turnwheel_adapters.apis.api import Target
from turnwheel_adapters.apis.chat import API
from turnwheel_adapters.apis.failures import Broken, failure_of
from turnwheel_adapters.apis.sse import ServerEvent

DONE: Final = "[DONE]"
TARGET: Final = Target("provider", "model", "openai-chat", "http://localhost")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(arguments: Any = None, id_: str | None = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"index": 0, "id": id_, "function": {"name": name, "arguments": arguments}, **more}


def played(*chunks: Any) -> tuple[list[Started | Delta], AssistantMessage]:
    """Return steps and message of an answer of these chunks; texts are sent as they are."""
    decoder = API.decoder(ModelRequest("model"), TARGET)
    steps: list[Started | Delta] = []
    failure = None
    try:
        for each in chunks:
            steps += decoder.feed(ServerEvent("message", each if isinstance(each, str) else json.dumps(each)))
    except Broken as broken:
        failure = broken.failure
    return steps, decoder.end(failure)


class TestAfterTheFinish:
    """Calls of servers that give a finish reason before the last piece, or in every chunk."""

    @pytest.mark.parametrize(
        "chunks",
        [
            [chunk("tool_calls", tool_calls=[call('{"a":', "c", "add")]), chunk(tool_calls=[call("1}")])],
            [chunk("stop", tool_calls=[call("", "c", "add")]), chunk("stop", tool_calls=[call('{"a":1}')])],
            [chunk("stop", tool_calls=[call('{"a":1}', "c", "add")]), chunk(tool_calls=[call('{"a":1}', "c", "add")])],
            [chunk("stop", tool_calls=[call({"a": 1}, "c", "add")]), chunk(tool_calls=[call({"a": 1}, "c", "add")])],
            [chunk("tool_calls"), chunk(tool_calls=[call('{"a":1}', "c", "add")])],
        ],
        ids=["cut", "not begun", "repeated", "object repeated", "all of it"],
    )
    @pytest.mark.parametrize("mark", [[DONE], []], ids=["done", "no mark"])
    def test_the_call_is_whole(self, chunks: list[Any], mark: list[str]) -> None:
        """What comes after a finish reason belongs to the call, and what says the same again changes nothing."""
        _, message = played(*chunks, *mark)

        assert message.tool_calls == (ToolCall("c", "add", {"a": 1}),)
        assert message.stop_reason == "toolUse"

    @pytest.mark.parametrize("more", ['{"a":1,"b":2}', {"a": 1, "b": 2}, ',"b":2}'])
    def test_other_arguments(self, more: Any) -> None:
        """A call that is changed after it was whole makes the answer an error, and never one with fewer fields."""
        _, message = played(chunk("stop", tool_calls=[call('{"a":1}', "c", "add")]), chunk(tool_calls=[call(more)]))
        failure = failure_of(message)

        assert message.stop_reason == "error"
        assert failure is not None
        assert (failure.kind, failure.retryable, failure.code) == ("protocol", True, "late_arguments")

    def test_a_limit(self) -> None:
        """A call that the limit cut off stays out, also behind the mark."""
        _, message = played(chunk("length", tool_calls=[call('{"a":', "c", "add")]), DONE)

        assert (message.tool_calls, message.stop_reason) == ((), "length")

    def test_an_abort(self) -> None:
        """An abort makes no call whole that was not."""
        decoder = API.decoder(ModelRequest("model"), TARGET)
        decoder.feed(ServerEvent("message", json.dumps(chunk("stop", tool_calls=[call('{"a":', "c", "add")]))))

        assert decoder.end(aborted=True).tool_calls == ()


class TestSteps:
    def test_a_whole_call_ends_at_the_finish(self) -> None:
        """The end of a call that can be read is told at the finish reason, before the mark."""
        steps, _ = played(chunk(tool_calls=[call('{"a":1}', "c", "add")]), chunk("tool_calls"))

        assert steps[-1] == ToolCallEnd(0, ToolCall("c", "add", {"a": 1}))

    def test_a_text_ends_at_the_mark(self) -> None:
        """The end of the last text is told with the mark, since text may follow a finish reason."""
        steps, message = played(chunk("stop", content="a"), chunk("stop", content="b"), DONE)

        assert (steps[-1], message.text) == (TextEnd(0), "ab")
        assert sum(isinstance(step, TextEnd) for step in steps) == 1


class TestEntriesThatSayNothing:
    @pytest.mark.parametrize(
        "delta",
        [
            {"tool_calls": [{}]},
            {"tool_calls": [{"index": 0}]},
            {"tool_calls": [call("", "", "")]},
            {"tool_calls": [call()]},
            {"function_call": {"name": None, "arguments": ""}},
            {"function_call": {}},
        ],
    )
    def test_they_are_no_call(self, delta: dict[str, Any]) -> None:
        """An empty entry beside a text is no call, and does not cut the text in two."""
        _, message = played(chunk(content="a", **delta), chunk("stop", content="b", **delta), DONE)

        assert (message.content, message.stop_reason) == ((TextContent("ab"),), "stop")


class TestRefusal:
    def test_behind_a_text(self) -> None:
        """Only the refusal is one, and not the text before it."""
        _, message = played(chunk(content="Well,"), chunk(refusal="I can"), chunk("stop", refusal="not."))

        assert message.content == (TextContent("Well,"), TextContent("I cannot.", extra={"refusal": True}))


class TestWhoAnswered:
    def test_a_first_chunk_without_it(self) -> None:
        """Id and model come from the first chunk that tells them, as with Azure."""
        empty = {"id": "", "model": "", "choices": []}
        _, message = played(empty, {**chunk("stop", content="x"), "id": "r", "model": "m-1"}, DONE)

        assert (message.response_id, message.response_model) == ("r", "m-1")


class TestErrors:
    @pytest.mark.parametrize("mark", [{"object": "error"}, {"type": "error"}])
    def test_an_error_without_its_key(self, mark: dict[str, str]) -> None:
        """A chunk may be an error itself, as with vLLM; the mark behind it makes it no success."""
        _, message = played(chunk(content="half"), {"message": "boom", "code": 500, **mark}, DONE)
        failure = failure_of(message)

        assert (message.stop_reason, message.text) == ("error", "half")
        assert failure is not None
        assert (failure.kind, failure.retryable) == ("server_error", True)
        assert "boom" in failure.text


def sealed(id_: str, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.encrypted", "id": id_, "data": "eA==", **more}


def details(message: AssistantMessage) -> list[Any]:
    return [block.extra.get("reasoningDetails") for block in message.content if isinstance(block, ThinkingContent)]


class TestDetails:
    """Entries of reasoning_details."""

    @pytest.mark.parametrize(
        "chunks",
        [
            [chunk(reasoning_details=[sealed("c")]), chunk(tool_calls=[call("{}", "c", "add")])],
            [chunk(reasoning_details=[sealed("c")], tool_calls=[call("{}", "c", "add")])],
            [chunk(tool_calls=[call("{}", "c", "add")]), chunk(reasoning_details=[sealed("c")])],
        ],
        ids=["before", "beside", "behind"],
    )
    def test_of_a_call(self, chunks: list[Any]) -> None:
        """The sealed entry of a call is its signature, wherever it comes before the finish."""
        _, message = played(*chunks, chunk("tool_calls"), DONE)
        (found,) = message.tool_calls

        assert json.loads(found.thought_signature or "") == sealed("c")
        assert details(message) == []

    def test_of_no_call(self) -> None:
        """Sealed entries without any thinking to keep them are kept by one that is empty, each for itself."""
        entries = [sealed("rs_1", index=0), sealed("rs_2", index=0)]
        _, message = played(chunk(content="x"), chunk("stop", reasoning_details=entries), DONE)

        assert details(message) == [entries]
        assert message.text == "x"

    def test_in_pieces(self) -> None:
        """Pieces of one entry are put together, and what only the last one has is kept."""
        parts: list[dict[str, Any]] = [{"text": "a", "signature": None}, {"text": "b"}, {"signature": "s"}]
        chunks = [chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, **each}]) for each in parts]
        _, message = played(*chunks, chunk("stop", content="x"), DONE)

        assert details(message) == [[{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}]]

    def test_the_cost(self) -> None:
        """100,000 pieces of an entry cost no more than 15 times 10,000."""
        piece = json.dumps(chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "word " * 20}]))

        def seconds(pieces: int) -> float:
            decoder = API.decoder(ModelRequest("model"), TARGET)
            began = time.process_time()
            for _ in range(pieces):
                decoder.feed(ServerEvent("message", piece))
            decoder.end()
            return time.process_time() - began

        seconds(1000)
        assert seconds(100_000) < 15 * seconds(10_000)


class TestCost:
    def test_a_finish_in_every_chunk(self) -> None:
        """Arguments cost the same where each of their pieces comes with a finish reason."""
        piece = ServerEvent("message", json.dumps(chunk("stop", tool_calls=[call("xxxxxxxxxx")])))

        def seconds(pieces: int) -> float:
            decoder = API.decoder(ModelRequest("model"), TARGET)
            decoder.feed(ServerEvent("message", json.dumps(chunk(tool_calls=[call('{"a":"', "c", "add")]))))
            began = time.process_time()
            for _ in range(pieces):
                decoder.feed(piece)
            decoder.end()
            return time.process_time() - began

        seconds(500)
        assert seconds(20_000) < 15 * seconds(2000)


ODD: Final = st.sampled_from([None, True, 1, "", "a", [], [1], {}, {"type": "error"}])
NAME: Final = st.sampled_from(["c", "c", "d", None, 1, [1]])
PIECE: Final = st.sampled_from(["", "{}", '{"a":', "1}", {"a": 1}, None, 1, [1]])
INDEX: Final = st.sampled_from([0, 0, 1, None, "0", [1]])


def shaped(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects that may have these fields."""
    return st.fixed_dictionaries({}, optional=fields)


FUNCTION: Final = shaped(name=NAME, arguments=PIECE)
CALLS: Final = st.lists(shaped(index=INDEX, id=NAME, function=FUNCTION), max_size=2)
ENTRY: Final = shaped(type=st.sampled_from(["reasoning.encrypted", "x", [1]]), id=NAME, index=INDEX, text=PIECE)
DELTA: Final = st.one_of(
    CALLS.map(lambda calls: {"tool_calls": calls}),
    shaped(content=PIECE, refusal=PIECE, reasoning=PIECE, function_call=FUNCTION),
    st.lists(ENTRY, max_size=2).map(lambda entries: {"reasoning_details": entries}),
    ODD,
)
REASON: Final = st.sampled_from([None, None, "stop", "tool_calls", "length", "content_filter", "?", 1])
CHUNK: Final = st.builds(
    lambda delta, reason, more: {"choices": [{"delta": delta, "finish_reason": reason}], **more},
    DELTA,
    REASON,
    st.just({}) | shaped(id=ODD, model=ODD, choices=ODD, usage=ODD, x_groq=ODD, error=ODD),
)


class TestWhateverComes:
    @given(st.lists(CHUNK, max_size=6), st.sampled_from([[DONE], []]))
    def test_it_is_a_message(self, chunks: list[Json], mark: list[str]) -> None:
        """Whatever JSON a server sends, the answer is a message; ids are unique, arguments are read or explained."""
        _, message = played(*chunks, *mark)

        ids = [each.id for each in message.tool_calls]
        assert len(set(ids)) == len(ids)
        assert all(ids)
        assert (message.stop_reason == "error") == bool(message.error_message)
        for each in message.tool_calls:
            assert isinstance(each.arguments, dict) or each.extra["argumentsError"]
