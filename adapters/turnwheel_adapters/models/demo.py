"""The built-in model `demo`: rules instead of a network, so that a run can be watched without a key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, final

from attrs import evolve

from turnwheel.abort import AbortSignal
from turnwheel.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall, Usage
from turnwheel.requests import ModelRequest
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
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from turnwheel.tool import Context
from turnwheel.transcript import Transcript
from turnwheel_adapters.models.demo_rules import reply
from turnwheel_adapters.models.demo_words import plain_text

FRAME: Final = AssistantMessage(api="demo", provider="turnwheel", model="demo", usage=Usage())
ABORTED: Final = "Request was aborted"
_PIECE: Final = re.compile(r"\S+\s*|\s+")


@final
class DemoModel:
    """A model that turns a plain request into real tool calls and answers from what they gave back.

    It remembers nothing: the same request has the same answer. Between two steps it looks at the signal, and ends the
    answer as aborted once that is set.
    """

    def __call__(self, request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
        """Yield the answer, word by word, and Finished."""
        told: list[Delta | Started] = []
        answer = answer_to(request)
        for step in steps(answer):
            if signal.aborted:
                break
            told.append(step)
            yield step
        if signal.aborted:
            answer = evolve(Partial(told).after(len(told)), stop_reason="aborted", error_message=ABORTED)
        yield Finished(answer)


def answer_to(request: ModelRequest) -> AssistantMessage:
    """Return the whole answer: what the rules say, and a plausible usage, four tokens for every three words."""
    messages = request.messages if isinstance(request.messages, Transcript) else Transcript(request.messages)
    content = reply(Context(request.system_prompt, messages, request.tools))
    said = [request.system_prompt, *(tool.description for tool in request.tools)]
    asked = _tokens(*said, *(plain_text(message.content) for message in request.messages))
    spent = _tokens(plain_text(content))
    calls = any(isinstance(block, ToolCall) for block in content)
    return evolve(
        FRAME,
        content=content,
        stop_reason="toolUse" if calls else "stop",
        usage=Usage(asked, spent, total_tokens=asked + spent),
    )


def _tokens(*texts: str) -> int:
    words = sum(len(text.split()) for text in texts)
    return -(-words * 4 // 3)


def steps(answer: AssistantMessage) -> Iterator[Delta | Started]:
    """Yield the steps in which an answer arrives, but for Finished."""
    yield Started(FRAME)
    for index, block in enumerate(answer.content):
        match block:
            case ThinkingContent(thinking=text):
                yield ThinkingStart(index)
                yield from (ThinkingDelta(index, piece) for piece in _PIECE.findall(text))
                yield ThinkingEnd(index)
            case TextContent(text=text):
                yield TextStart(index)
                yield from (TextDelta(index, piece) for piece in _PIECE.findall(text))
                yield TextEnd(index)
            case ToolCall(id=id_, name=name, arguments=arguments):
                yield ToolCallStart(index, id_, name)
                yield from (ToolCallDelta(index, piece) for piece in _PIECE.findall(_json(arguments)))
                yield ToolCallEnd(index, block)


def _json(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False)
