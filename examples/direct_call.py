"""The first of three ways to use a model: one direct call. All the work is in the prompt, and nothing is decided.

A stream function is called with a request; it yields the answer step by step, and last the whole message. Here it is a
small dictionary; that of a provider is called in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnwheel import AbortSignal, AssistantMessage, TextContent, user
from turnwheel.messages import UserMessage
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished, Started, StreamStep, TextDelta, TextStart

WORDS = {"bread": "Brot", "butter": "Butter", "and": "und", "jam": "Marmelade"}


def dictionary(request: ModelRequest, signal: AbortSignal) -> Iterator[StreamStep]:
    """Answer with the last message, word for word in German."""
    asked = request.messages[-1]
    assert isinstance(asked, UserMessage)
    text = "".join(block.text for block in asked.content if isinstance(block, TextContent))
    words = [WORDS.get(word, word) for word in text.split()]
    yield Started()
    yield TextStart(0)
    for number, word in enumerate(words):
        yield TextDelta(0, word if number == 0 else f" {word}")
    yield Finished(AssistantMessage([TextContent(" ".join(words))]))


def main() -> None:
    """Ask once, show the answer as it comes, and then what it was in the end."""
    request = ModelRequest("m0", system_prompt="Translate into German.", messages=[user("bread and butter and jam")])
    for step in dictionary(request, AbortSignal()):
        match step:
            case TextDelta(delta=delta):
                print(repr(delta))
            case Finished(message=message):
                print(f"{message.stop_reason}: {message.text}")


if __name__ == "__main__":
    main()
