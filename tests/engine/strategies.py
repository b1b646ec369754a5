"""Hypothesis strategies for everything that crosses the wire: the objects, and JSON as others write it."""

from __future__ import annotations

from typing import Any, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from turnwheel import effects, events, messages, outcomes, stream
from turnwheel.messages import ABSENT, Content, Json, Message
from turnwheel.shapes import camel
from turnwheel.tool import Context, Request, Tool
from turnwheel.transcript import Transcript

KNOWN_KEYS = {"type", "role"} | {
    camel(field.name)
    for kind in (
        *get_args(messages.Content),
        *get_args(Message),
        messages.Usage,
        messages.Cost,
        messages.ToolResult,
        Tool,
    )
    for field in attrs.fields(kind)
}

json_values: SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=6), json_values, max_size=3)
extras = st.dictionaries(st.text(max_size=8).filter(lambda name: name not in KNOWN_KEYS), json_values, max_size=2)
texts = st.text(max_size=12)
counts = st.integers(min_value=0, max_value=10**9)
indices = st.integers(min_value=0, max_value=3)
maybe_texts = st.none() | texts
times = st.none() | st.integers(min_value=0, max_value=2**42)
maybe_json = st.just(ABSENT) | json_values
stop_reasons = st.sampled_from(["stop", "length", "toolUse", "error", "aborted"])
roles = texts.filter(lambda role: role not in ("user", "assistant", "toolResult"))
block_types = texts.filter(lambda kind: kind not in ("text", "thinking", "image", "toolCall"))


def tuples(items: SearchStrategy[Any], *, most: int = 3) -> SearchStrategy[tuple[Any, ...]]:
    """Short tuples of any length."""
    return st.lists(items, max_size=most).map(tuple)


# --- objects ------------------------------------------------------------------------------------------------------

tool_calls = st.builds(messages.ToolCall, texts, texts, json_values, maybe_texts, extra=extras)
unknown_blocks = st.builds(lambda kind, rest: messages.UnknownContent({**rest, "type": kind}), block_types, objects)
contents: SearchStrategy[Content] = st.one_of(
    st.builds(messages.TextContent, texts, maybe_texts, extra=extras),
    st.builds(messages.ThinkingContent, texts, maybe_texts, st.none() | st.booleans(), extra=extras),
    st.builds(messages.ImageContent, texts, texts, extra=extras),
    tool_calls,
    unknown_blocks,
)
content_lists = tuples(contents)

costs = st.builds(messages.Cost, *[st.floats(0, 100) | counts] * 5, extra=extras)
usages = st.builds(messages.Usage, *[counts] * 5, costs, st.none() | counts, extra=extras)

user_messages = st.builds(messages.UserMessage, texts | content_lists, times, extra=extras)
assistant_messages = st.builds(
    messages.AssistantMessage,
    content=content_lists,
    stop_reason=stop_reasons,
    api=maybe_texts,
    provider=maybe_texts,
    model=maybe_texts,
    response_model=maybe_texts,
    response_id=maybe_texts,
    usage=st.none() | usages,
    error_message=maybe_texts,
    timestamp=times,
    thinking_level=maybe_texts,
    extra=extras,
)
tool_result_messages = st.builds(
    messages.ToolResultMessage,
    texts,
    texts,
    st.just(ABSENT) | st.none() | texts | content_lists,
    st.booleans(),
    details=maybe_json,
    usage=maybe_json,
    added_tool_names=maybe_json,
    timestamp=times,
    extra=extras,
)
custom_messages = st.builds(messages.CustomMessage, roles, maybe_json, times, extra=extras)
any_messages: SearchStrategy[Message] = st.one_of(
    user_messages, assistant_messages, tool_result_messages, custom_messages
)
message_lists = tuples(any_messages, most=2)
transcripts = message_lists.map(Transcript)

tool_results = st.builds(
    messages.ToolResult,
    st.just(ABSENT) | st.none() | content_lists,
    *[maybe_json] * 6,
    extra=extras,
)
modes = st.sampled_from(["sequential", "parallel"])
tools = st.builds(Tool, texts, texts, objects, st.none() | modes, extra=extras)
contexts = st.builds(Context, texts, transcripts, tuples(tools, most=2))

openings = st.just(()) | tuples(contents, most=1)
deltas: SearchStrategy[stream.Delta] = st.one_of(
    *[
        st.builds(kind, indices, opened=openings)
        for kind in (stream.TextStart, stream.TextEnd, stream.ThinkingStart, stream.ThinkingEnd)
    ],
    *[
        st.builds(kind, indices, texts, opened=openings)
        for kind in (stream.TextDelta, stream.ThinkingDelta, stream.ToolCallDelta)
    ],
    st.builds(stream.ToolCallStart, indices, texts, texts, opened=openings),
    st.builds(stream.ToolCallEnd, indices, st.none() | tool_calls, opened=openings),
)
steps: SearchStrategy[stream.StreamStep] = st.one_of(
    deltas,
    st.builds(stream.Started, assistant_messages, times),
    st.builds(stream.Finished, assistant_messages, times),
)
updates = st.builds(
    lambda before, step: events.MessageUpdate(step, stream.Partial([*before, step]), len(before) + 1),
    st.lists(deltas | st.builds(stream.Started, assistant_messages), max_size=4),
    deltas,
)
lasting_events: SearchStrategy[events.Event] = st.one_of(
    st.just(events.AgentStart()),
    st.just(events.TurnStart()),
    st.builds(events.MessageStart, any_messages),
    st.builds(events.MessageEnd, any_messages),
    st.builds(events.ToolExecutionStart, texts, texts, json_values),
    st.builds(events.ToolExecutionUpdate, texts, texts, json_values, tool_results),
    st.builds(events.ToolExecutionEnd, texts, texts, tool_results, st.booleans()),
    st.builds(events.TurnEnd, assistant_messages, tuples(tool_result_messages, most=2)),
    st.builds(events.AgentEnd, transcripts),
)

turns = st.builds(effects.FinishedTurn, assistant_messages, tuples(tool_result_messages, most=1), contexts, transcripts)
requests = st.builds(Request, texts, texts, contexts)
any_effects: SearchStrategy[effects.Effect] = st.one_of(
    *[st.builds(kind, counts) for kind in (effects.PollSteering, effects.PollSteeringAgain, effects.PollFollowUp)],
    st.builds(effects.CallModel, counts, requests),
    st.builds(effects.PrepareRequest, counts, requests),
    st.builds(effects.PrepareNextTurn, counts, turns),
    st.builds(effects.AskToStop, counts, turns),
    st.builds(effects.FinishTurn, counts, turns),
    st.builds(effects.PrepareArguments, counts, tool_calls, tools),
    st.builds(effects.BeforeToolCall, counts, tool_calls, tools, json_values, assistant_messages, contexts),
    st.builds(effects.ExecuteTool, counts, tool_calls, tools, json_values),
    st.builds(
        effects.AfterToolCall,
        *(counts, tool_calls, tools, json_values, tool_results, st.booleans(), assistant_messages, contexts),
    ),
)

configs = st.builds(outcomes.RunConfig, texts, texts, modes, st.frozensets(st.sampled_from(outcomes.HOOKS)))
next_turns = st.builds(outcomes.NextTurn, st.none() | contexts, maybe_texts, maybe_texts, message_lists)
next_requests = st.builds(outcomes.NextRequest, st.none() | contexts, maybe_texts, maybe_texts)
changes = st.builds(
    outcomes.ResultChanges,
    st.just(ABSENT) | st.none() | content_lists,
    maybe_json,
    st.just(ABSENT) | st.none() | st.booleans(),
    maybe_json,
    maybe_json,
    maybe_json,
)
any_outcomes: SearchStrategy[outcomes.Outcome] = st.one_of(
    steps,
    st.builds(outcomes.Begun, contexts, st.none() | message_lists, configs, times),
    st.builds(outcomes.Polled, counts, message_lists, times),
    st.builds(outcomes.NextTurnPrepared, counts, st.none() | next_turns, times),
    st.builds(outcomes.RequestPrepared, counts, st.none() | next_requests, times),
    st.builds(outcomes.TurnFinished, counts, st.sampled_from([None, "end", "continue"]), times),
    st.builds(outcomes.StopDecided, counts, st.booleans(), times),
    st.builds(outcomes.ArgumentsPrepared, counts, json_values, times),
    st.builds(outcomes.BeforeAnswered, counts, st.booleans(), maybe_texts, st.booleans(), maybe_json, times),
    st.builds(outcomes.Progress, counts, tool_results, times),
    st.builds(outcomes.Returned, counts, tool_results, times),
    st.builds(outcomes.AfterAnswered, counts, st.none() | changes, times),
    st.builds(outcomes.Raised, counts, texts, times),
    st.builds(outcomes.Failed, counts, texts, times),
)


# --- JSON ---------------------------------------------------------------------------------------------------------


def json_objects(required: dict[str, SearchStrategy[Any]], **optional: SearchStrategy[Any]) -> SearchStrategy[Json]:
    """JSON objects with the required keys, some of the optional ones, and keys that nobody knows."""
    known = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda rest, fields: {**rest, **fields}, extras, known)


content_json = st.one_of(
    json_objects({"type": st.just("text"), "text": texts}, textSignature=maybe_texts),
    json_objects(
        {"type": st.just("thinking"), "thinking": texts},
        thinkingSignature=maybe_texts,
        redacted=st.none() | st.booleans(),
    ),
    json_objects({"type": st.just("image"), "data": texts, "mimeType": texts}),
    json_objects(
        {"type": st.just("toolCall"), "id": texts, "name": texts, "arguments": json_values},
        thoughtSignature=maybe_texts,
    ),
    st.builds(lambda rest, kind: {**rest, "type": kind}, objects, block_types),
)
blocks_json = st.lists(content_json, max_size=3)
token_counts = counts | counts.map(float)
prices = counts | st.floats(0, 100)
cost_json = json_objects({}, input=prices, output=prices, cacheRead=prices, cacheWrite=prices, total=prices)
usage_json = json_objects(
    {},
    input=token_counts,
    output=token_counts,
    cacheRead=token_counts,
    cacheWrite=token_counts,
    totalTokens=token_counts,
    cost=cost_json,
    cacheWrite1h=st.none() | token_counts,
)
message_json = st.one_of(
    json_objects({"role": st.just("user"), "content": texts | blocks_json}, timestamp=times),
    json_objects(
        {"role": st.just("assistant"), "content": blocks_json, "stopReason": stop_reasons},
        api=maybe_texts,
        provider=maybe_texts,
        model=maybe_texts,
        responseModel=maybe_texts,
        responseId=maybe_texts,
        usage=st.none() | usage_json,
        errorMessage=maybe_texts,
        timestamp=times,
        thinkingLevel=maybe_texts,
    ),
    json_objects(
        {"role": st.just("toolResult"), "toolCallId": texts, "toolName": texts, "isError": st.booleans()},
        content=st.none() | texts | blocks_json,
        details=json_values,
        usage=json_values,
        addedToolNames=json_values,
        timestamp=times,
    ),
    st.builds(
        lambda rest, role: {**rest, "role": role},
        st.dictionaries(st.sampled_from(["content", "timestamp", "text"]) | texts, json_values, max_size=4),
        roles,
    ),
)
result_json = json_objects(
    {},
    content=st.none() | blocks_json,
    details=json_values,
    terminate=json_values,
    isError=json_values,
    usage=json_values,
    addedToolNames=json_values,
    structuredContent=json_values,
)
tool_json = json_objects(
    {"name": texts, "description": texts, "parameters": objects},
    executionMode=st.none() | modes,
)
