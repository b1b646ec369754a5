"""Everything that crosses the wire comes back as it was, and what does not fit is told with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given

from tests.engine import strategies as some
from turnwheel import wire
from turnwheel.effects import ExecuteTool, PollSteering
from turnwheel.errors import ParseError
from turnwheel.events import Event, MessageEnd, MessageUpdate, ToolExecutionEnd, TurnEnd
from turnwheel.messages import (
    ABSENT,
    AssistantMessage,
    Content,
    Cost,
    CustomMessage,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    UnknownContent,
    Usage,
    UserMessage,
    user,
)
from turnwheel.outcomes import HOOKS, Begun, NextTurnPrepared, Outcome, Polled, ResultChanges, RunConfig
from turnwheel.stream import (
    Delta,
    Finished,
    Partial,
    Started,
    StreamStep,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
    ToolCallStart,
)
from turnwheel.tool import Tool
from turnwheel.transcript import Transcript


def through_text(value: object) -> Json:
    """Write `value`, to text and back: what is no JSON does not survive that."""
    return json.loads(json.dumps(wire.to_json(value)))


def update(*steps: Delta | Started) -> MessageUpdate:
    """Return the update by the last of `steps`."""
    last = steps[-1]
    assert not isinstance(last, Started)
    return MessageUpdate(last, Partial(list(steps)), len(steps))


class TestObjectsComeBack:
    """Object to JSON text to object."""

    @given(some.contents)
    def test_content(self, block: Content) -> None:
        """A block of any type, known or not, comes back."""
        assert wire.read_content(through_text(block)) == block

    @given(some.usages)
    def test_usage(self, usage: Usage) -> None:
        """Usage and cost come back."""
        assert wire.read_usage(through_text(usage)) == usage

    @given(some.any_messages)
    def test_messages(self, message: Message) -> None:
        """A message of any role comes back."""
        assert wire.read_message(through_text(message)) == message

    @given(some.tool_results)
    def test_results(self, result: ToolResult) -> None:
        """A tool's result comes back, with nulls where nulls were and nothing where nothing was."""
        assert wire.read_result(through_text(result)) == result

    @given(some.tools)
    def test_tools(self, tool: Tool) -> None:
        """A tool comes back."""
        assert wire.read_tool(through_text(tool)) == tool

    @given(some.steps)
    def test_steps(self, step: StreamStep) -> None:
        """A step of a stream comes back."""
        assert wire.read_step(through_text(step)) == step

    @given(some.lasting_events)
    def test_events(self, event: Event) -> None:
        """An event other than message_update comes back."""
        assert wire.read_event(through_text(event)) == event

    @given(some.any_effects)
    def test_effects(self, effect: Any) -> None:
        """An effect comes back."""
        assert wire.read_effect(through_text(effect)) == effect

    @given(some.any_outcomes)
    def test_outcomes(self, outcome: Outcome) -> None:
        """An outcome comes back."""
        assert wire.read_outcome(through_text(outcome)) == outcome

    @given(some.updates)
    def test_updates_with_their_partial(self, event: MessageUpdate) -> None:
        """A message_update comes back with the message as it was at that moment."""
        back = wire.read_event(through_text(event))

        assert isinstance(back, MessageUpdate)
        assert back.message == event.message
        assert (back.step.type, back.step.content_index) == (event.step.type, event.step.content_index)

    @given(some.updates)
    def test_updates_without_their_partial(self, event: MessageUpdate) -> None:
        """A message_update without its partial comes back with its whole step, and with an empty message."""
        back = wire.read_event(wire.event_to_json(event, partials=False))

        assert isinstance(back, MessageUpdate)
        assert (back.step, back.message) == (event.step, AssistantMessage())


class TestJsonComesBack:
    """JSON to object to JSON: nothing is lost, nothing is added."""

    @given(some.content_json)
    def test_content(self, data: Json) -> None:
        """Blocks keep unknown keys and nulls."""
        assert wire.to_json(wire.read_content(data)) == data

    @given(some.usage_json)
    def test_usage(self, data: Json) -> None:
        """Usage has the keys that it had, whichever they were."""
        assert wire.to_json(wire.read_usage(data)) == data

    @given(some.message_json)
    def test_messages(self, data: Json) -> None:
        """Messages keep unknown keys and nulls."""
        assert wire.to_json(wire.read_message(data)) == data

    @given(some.result_json)
    def test_results(self, data: Json) -> None:
        """Results keep unknown keys, and tell no content, null and empty content apart."""
        assert wire.to_json(wire.read_result(data)) == data

    @given(some.tool_json)
    def test_tools(self, data: Json) -> None:
        """Tools keep unknown keys."""
        assert wire.to_json(wire.read_tool(data)) == data


class TestMessages:
    """The form of messages."""

    def test_keys_stand_in_the_order_of_pi(self) -> None:
        """The tag comes first, then the fields as the class has them, then what is unknown."""
        message = AssistantMessage((TextContent("x"),), "stop", "a", "p", "m", timestamp=1, extra={"zz": 1, "aa": 2})

        assert list(wire.to_json(message)) == [
            *("role", "content", "stopReason", "api", "provider", "model", "timestamp", "zz", "aa"),
        ]

    def test_names_are_camel_case(self) -> None:
        """Every field has Pi's name."""
        message = ToolResultMessage("c1", "read", "x", False, details=None, added_tool_names=["a"])

        assert wire.to_json(message) == {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "read",
            "content": "x",
            "isError": False,
            "details": None,
            "addedToolNames": ["a"],
        }

    def test_empty_content_is_written(self) -> None:
        """An answer without blocks has an empty list."""
        assert wire.to_json(AssistantMessage()) == {"role": "assistant", "content": [], "stopReason": "stop"}

    def test_null_of_an_absent_field_is_kept_aside(self) -> None:
        """A null where absence is None is in `extra`, since the field cannot tell the two apart."""
        message = wire.read_message({"role": "user", "content": "x", "timestamp": None})

        assert message == UserMessage("x", extra={"timestamp": None})

    def test_a_value_given_later_wins_over_the_null(self) -> None:
        """A message that was read with a null and then got a value is written with the value."""
        message = wire.read_message({"role": "user", "content": "x", "timestamp": None})

        assert wire.to_json(attrs.evolve(message, timestamp=5))["timestamp"] == 5

    def test_a_missing_result_content_is_absent(self) -> None:
        """A tool result message without content is not one with null."""
        data = {"role": "toolResult", "toolCallId": "c", "toolName": "t", "isError": False}
        message = wire.read_message(data)

        assert isinstance(message, ToolResultMessage)
        assert message.content is ABSENT

    def test_unknown_roles_are_kept_whole(self) -> None:
        """A custom message may have any content, and any timestamp."""
        data = {"role": "note", "content": {"a": 1}, "timestamp": "noon", "more": [1]}

        assert wire.read_message(data) == CustomMessage("note", {"a": 1}, extra={"timestamp": "noon", "more": [1]})

    def test_unknown_blocks_are_kept_whole(self) -> None:
        """A block of a type that nobody knows is its JSON."""
        data = {"type": "video", "text": 3}

        assert wire.read_content(data) == UnknownContent(data)

    @pytest.mark.parametrize("sequence", [Transcript([user("x")]), [user("x")], (user("x"),)])
    def test_sequences_become_lists(self, sequence: object) -> None:
        """A transcript, a list and a tuple of messages are lists in JSON."""
        assert wire.to_json(sequence) == [{"role": "user", "content": [{"type": "text", "text": "x"}]}]


class TestUsage:
    """Usage in all its gaps."""

    def test_missing_fields_read_as_zero(self) -> None:
        """What the JSON does not have is 0, and named by its JSON name."""
        usage = wire.read_usage({"input": 5, "output": 1, "cacheRead": 2})

        assert (usage.input, usage.cache_write, usage.cost) == (5, 0, Cost())
        assert usage.omitted == {"cacheWrite", "totalTokens", "cost"}

    def test_a_missing_field_that_got_a_value_is_written(self) -> None:
        """What was missing is left out only as long as it is zero."""
        usage = attrs.evolve(wire.read_usage({"cost": {}}), input=3, cost=Cost(1))

        assert wire.to_json(usage)["input"] == 3
        assert wire.to_json(usage)["cost"]["input"] == 1
        assert "output" not in wire.to_json(usage)

    def test_the_one_hour_cache_has_its_name(self) -> None:
        """Digits in a name stay where they are."""
        assert wire.to_json(Usage(cache_write_1h=7))["cacheWrite1h"] == 7


class TestStrictReading:
    """What does not fit is an error that says what was expected, what was there, and where."""

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (3, "expected an object, got 3"),
            ({}, "missing `role`"),
            ({"role": None}, "role: expected a string, got null"),
            ({"role": "user"}, "missing `content`"),
            ({"role": "user", "content": None}, "content: expected a string or a list, got null"),
            ({"role": "user", "content": "x", "timestamp": "1"}, "timestamp: expected a whole number, got '1'"),
            ({"role": "user", "content": "x", "timestamp": True}, "timestamp: expected a whole number, got true"),
            ({"role": "user", "content": "x", "timestamp": 1.5}, "timestamp: expected a whole number, got 1.5"),
            ({"role": "assistant", "content": "x"}, "content: expected a list, got 'x'"),
            ({"role": "assistant", "content": [{}]}, "content[0]: missing `type`"),
            ({"role": "assistant", "content": [{"type": "text"}]}, "content[0]: missing `text`"),
            (
                {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": 3}]},
                "content[1].text: expected a string, got 3",
            ),
            ({"role": "user", "content": [{"type": 1}]}, "content[0].type: expected a string, got 1"),
            (
                {"role": "assistant", "stopReason": "x"},
                "stopReason: expected one of stop, length, toolUse, error, aborted, got 'x'",
            ),
            (
                {"role": "assistant", "usage": {"cost": {"cacheRead": "3"}}},
                "usage.cost.cacheRead: expected a number, got '3'",
            ),
            ({"role": "assistant", "usage": {"cost": []}}, "usage.cost: expected an object, got a list"),
            ({"role": "assistant", "usage": {"input": None}}, "usage.input: expected a whole number, got null"),
            ({"role": "toolResult", "toolName": "t"}, "missing `toolCallId`"),
            (
                {"role": "toolResult", "toolCallId": "c", "toolName": "t", "isError": 0},
                "isError: expected true or false, got 0",
            ),
        ],
    )
    def test_messages(self, data: Json, problem: str) -> None:
        """A message that does not fit is told by its first misfit."""
        with pytest.raises(ParseError) as caught:
            wire.read_message(data)

        assert str(caught.value) == problem

    def test_the_path_goes_on_from_the_given_one(self) -> None:
        """A caller that reads a part of a file says where the part stands."""
        with pytest.raises(ParseError) as caught:
            wire.read_message({"role": "user", "content": [{"type": "text", "text": 3}]}, "messages[3]")

        assert caught.value.path == "messages[3].content[0].text"
        assert caught.value.problem == "expected a string, got 3"

    def test_a_long_value_is_cut(self) -> None:
        """An error stays one line, however long the value is."""
        with pytest.raises(ParseError) as caught:
            wire.read_message({"role": "user", "content": "x", "timestamp": "y" * 5000})

        assert len(str(caught.value)) < 120

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            ({"type": "poll"}, "type: expected one of poll_steering, poll_steering_again, poll_follow_up, call_model,"),
            ({"type": "poll_steering"}, "missing `id`"),
            ({"type": "execute_tool", "id": 1, "call": {"type": "text"}}, "call.type: expected toolCall, got 'text'"),
        ],
    )
    def test_effects(self, data: Json, problem: str) -> None:
        """An unknown tag is told with the ones that exist, and where one only can stand, with that."""
        with pytest.raises(ParseError) as caught:
            wire.read_effect(data)

        assert str(caught.value).startswith(problem)

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            ({"type": "polled", "effect": 1, "messages": {}}, "messages: expected a list, got an object"),
            ({"type": "begun", "context": {"messages": [1]}}, "context.messages[0]: expected an object, got 1"),
            ({"type": "begun", "config": {"hooks": "steering"}}, "config.hooks: expected a list, got 'steering'"),
            ({"type": "raised", "effect": 1}, "missing `error`"),
        ],
    )
    def test_outcomes(self, data: Json, problem: str) -> None:
        """An outcome that does not fit is told by its first misfit."""
        with pytest.raises(ParseError) as caught:
            wire.read_outcome(data)

        assert str(caught.value) == problem

    def test_inside_an_update(self) -> None:
        """The path leads into the step of a message_update."""
        with pytest.raises(ParseError) as caught:
            wire.read_event({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": 1}})

        assert str(caught.value) == "assistantMessageEvent.delta: expected a string, got 1"

    def test_whole_floats_count_tokens(self) -> None:
        """Some languages write 5.0 for 5; it is kept as it is."""
        assert repr(wire.read_usage({"input": 5.0}).input) == "5.0"


class TestEvents:
    """The form of events."""

    @pytest.mark.parametrize("write", [wire.to_json, wire.event_to_json])
    def test_an_update_shows_the_partial_twice(self, write: Callable[[Any], Json]) -> None:
        """A message_update has Pi's form, unless its partials are not wanted."""
        partial = {"role": "assistant", "content": [{"type": "text", "text": "he"}], "stopReason": "stop"}

        assert write(update(Started(), TextStart(0), TextDelta(0, "he"))) == {
            "type": "message_update",
            "message": partial,
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "he", "partial": partial},
        }

    def test_the_end_of_a_text_tells_it(self) -> None:
        """text_end carries the text of its block."""
        event = wire.to_json(update(TextDelta(0, "a"), TextDelta(0, "b"), TextEnd(0)))["assistantMessageEvent"]

        assert (event["type"], event["content"]) == ("text_end", "ab")

    def test_the_end_of_thinking_tells_it(self) -> None:
        """thinking_end carries the thinking of its block."""
        event = wire.to_json(update(ThinkingDelta(0, "hm"), ThinkingEnd(0)))["assistantMessageEvent"]

        assert (event["type"], event["content"]) == ("thinking_end", "hm")

    def test_the_end_of_a_call_tells_it(self) -> None:
        """toolcall_end carries the call."""
        call = ToolCall("c1", "read", {"path": "x"})
        event = wire.to_json(update(ToolCallStart(0, "c1", "read"), ToolCallEnd(0, call)))["assistantMessageEvent"]

        assert event["toolCall"] == {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}}

    def test_the_start_of_a_call_is_found_in_the_partial(self) -> None:
        """toolcall_start carries no id and name, as in Pi; they are read from the partial."""
        event = update(Started(), ToolCallStart(0, "c1", "read"))
        data = wire.to_json(event)
        back = wire.read_event(data)

        assert list(data["assistantMessageEvent"]) == ["type", "contentIndex", "partial"]
        assert isinstance(back, MessageUpdate)
        assert back.step == event.step

    def test_without_partials_an_update_is_its_step(self) -> None:
        """Without partials an update is as long as its step, and the end of a text does not repeat it."""
        event = update(Started(AssistantMessage((ThinkingContent("long" * 99),))), TextDelta(1, "x"), TextEnd(1))

        assert wire.event_to_json(event, partials=False) == {
            "type": "message_update",
            "assistantMessageEvent": {"type": "text_end", "contentIndex": 1},
        }

    def test_without_partials_other_events_are_the_same(self) -> None:
        """Only message_update has a short form."""
        event = MessageEnd(user("x"))

        assert wire.event_to_json(event, partials=False) == wire.event_to_json(event) == wire.to_json(event)

    def test_the_end_of_a_call_has_pis_keys(self) -> None:
        """tool_execution_end has Pi's form."""
        assert wire.to_json(ToolExecutionEnd("c1", "read", ToolResult.error("no"), True)) == {
            "type": "tool_execution_end",
            "toolCallId": "c1",
            "toolName": "read",
            "result": {"content": [{"type": "text", "text": "no"}], "details": {}},
            "isError": True,
        }

    def test_the_end_of_a_turn_lists_its_results(self) -> None:
        """turn_end has its results, if only an empty list."""
        assert wire.to_json(TurnEnd(AssistantMessage()))["toolResults"] == []


class TestSteps:
    """The form of steps on their own."""

    def test_opened_blocks_are_rare(self) -> None:
        """A step tells what it opens only if it opens something."""
        assert wire.to_json(TextDelta(0, "x")) == {"type": "text_delta", "contentIndex": 0, "delta": "x"}
        assert wire.to_json(TextDelta(0, "x", (TextContent(""),)))["opened"] == [{"type": "text", "text": ""}]

    @pytest.mark.parametrize(
        ("reason", "kind"),
        [("stop", "done"), ("length", "done"), ("toolUse", "done"), ("error", "error"), ("aborted", "error")],
    )
    def test_a_failed_answer_ends_in_error(self, reason: Any, kind: str) -> None:
        """The last step is `done`, or `error` where the answer failed or was cut off, as in Pi; both are read."""
        step = Finished(AssistantMessage(stop_reason=reason))

        assert wire.to_json(step)["type"] == kind
        assert wire.read_step(wire.to_json(step)) == step


class TestEffectsAndOutcomes:
    """The form of effects and outcomes."""

    def test_an_effect_shows_a_tool_without_what_runs_it(self) -> None:
        """`run` is no data."""
        effect = ExecuteTool(3, ToolCall("c", "t"), Tool("t", run=print), {})

        assert list(wire.to_json(effect)["tool"]) == ["name", "description", "parameters"]

    def test_a_poll_is_its_id(self) -> None:
        """An effect without fields is its type and id."""
        assert wire.to_json(PollSteering(2)) == {"type": "poll_steering", "id": 2}

    def test_going_on_has_no_prompts(self) -> None:
        """A run that goes on from its context has no prompts, which is not the same as none."""
        assert "prompts" not in wire.to_json(Begun())
        assert wire.to_json(Begun(prompts=()))["prompts"] == []

    def test_hooks_are_sorted(self) -> None:
        """What is a set inside has one order outside."""
        assert wire.to_json(RunConfig())["hooks"] == sorted(HOOKS)

    def test_null_changes_nothing(self) -> None:
        """A preparation that changed nothing may say so by null or by silence."""
        data = {"type": "next_turn_prepared", "effect": 1}

        assert wire.read_outcome({**data, "changes": None}) == wire.read_outcome(data) == NextTurnPrepared(1)

    def test_changes_of_a_result_keep_their_nulls(self) -> None:
        """A null in the answer of the after hook is not the same as silence."""
        assert wire.to_json(ResultChanges(content=None, is_error=True)) == {"content": None, "isError": True}

    def test_what_nobody_knows_is_dropped(self) -> None:
        """Outcomes are turnwheel's own words: an unknown key is not kept."""
        assert wire.read_outcome({"type": "polled", "effect": 1, "x": 1}) == Polled(1)
