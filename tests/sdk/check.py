"""Holds the codecs against the official SDKs: `make sdk-check`, in an environment of its own.

Plays every recording to the SDK and to our client, and lets the SDKs' types read our requests. A disagreement is fine
where its reason is known; anything else fails.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import anyio

from tests.adapters.apis.recordings import MISSING, Play, others, streams
from tests.adapters.models.server import Answer, Request, serving
from tests.sdk.answers import SDKS, Told
from tests.sdk.requests import refused
from turnwheel.abort import AbortSignal
from turnwheel.messages import AssistantMessage
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished
from turnwheel_adapters.models.http import HttpModel
from turnwheel_adapters.models.limits import Retries

REASONS: Final[Mapping[str, str]] = {
    "anthropic-max-tokens-mid-string": "the SDK reads what there is of arguments that were cut off; ours refuses them",
    "groq-x-groq-usage": "the SDK does not know x_groq",
    "kimi-tool-repeated-id-name": "the SDK joins a name that is repeated, and there is no finish reason",
    "mistral-cached-over-prompt": "num_cached_tokens is Mistral's own",
    "mistral-thinking-list": "the SDK loses the text within a list of parts",
    "moonshot-choice-usage": "usage stands in the choice, where the SDK does not look",
    "openrouter-cache-read-and-write": "prompt_tokens counts what was written to the cache; our input does not",
    "perplexity-crlf": "the SDK ends without a finish reason, though the last chunk has one",
    "responses-codex-empty-output": "the SDK takes the output of response.completed, which is empty",
    "snowflake-no-finish": "there is no finish reason, only [DONE]",
    "xai-reasoning-tool": "reasoning tokens are counted beside completion_tokens; our output has both",
}
"""By recording: why the SDK and our client disagree."""


def ours(play: Play, url: str) -> AssistantMessage:
    """Return the message of our client."""

    async def ask() -> AssistantMessage:
        base = f"{url}/v1beta" if play.api == "google-gemini" else url
        model = HttpModel(play.target(base), play.codec, "key", retries=Retries(most=0))
        async for step in model(ModelRequest("m"), AbortSignal()):
            if isinstance(step, Finished):
                return step.message
        raise AssertionError

    return anyio.run(ask)


def told(message: AssistantMessage) -> Told:
    """Return what is compared of a message."""
    used = message.usage
    assert used is not None
    calls = tuple((call.name, json.dumps(call.arguments, sort_keys=True)) for call in message.tool_calls)
    return Told(message.text, calls, message.stop_reason, (used.input, used.output, used.cache_read))


def differing(mine: Told, theirs: Told) -> Iterator[str]:
    """Yield the names of the parts in which two answers differ; of an error only that it is one counts."""
    if mine.stop == "error" == theirs.stop:
        return
    if mine.text != theirs.text:
        yield f"text {theirs.text[-40:]!r} / {mine.text[-40:]!r}"
    if [(name, _plain(raw)) for name, raw in mine.calls] != [(name, _plain(raw)) for name, raw in theirs.calls]:
        yield f"calls {theirs.calls} / {mine.calls}"
    if mine.stop != theirs.stop:
        yield f"stop {theirs.stop} / {mine.stop}"
    if mine.tokens != theirs.tokens:
        yield f"tokens {theirs.tokens} / {mine.tokens}"


def _plain(raw: object) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw or "{}")
    except ValueError:
        return raw


def main() -> int:
    """Compare everything, tell of each disagreement, and return the exit status."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if others() is None:
        print(MISSING)
    plays = streams()
    counted: Counter[str] = Counter()
    unknown: list[str] = []

    def choose(request: Request) -> Answer:
        found = re.search(r"/(\d+)/", request.path)
        assert found
        return Answer(plays[int(found[1])].raw)

    with serving(choose) as server:
        for number, play in enumerate(plays):
            url = f"{server.url}/{number}"
            completed, outcome = _outcome(play, url)
            counted["raises" if not completed else "disagree" if outcome else "agree"] += 1
            if outcome:
                reason = f": {REASONS.get(play.name, 'no reason is known')}" if completed else ""
                print(f"{play.api} {play.name}: {outcome}{reason}")
                if completed and play.name not in REASONS:
                    unknown.append(play.name)
    tried, problems = refused()
    print(
        f"{len(plays)} streams: the SDKs agree on {counted['agree']}, disagree for a known reason on "
        f"{counted['disagree'] - len(unknown)}, without one on {len(unknown)}, and raise on {counted['raises']}"
    )
    print(f"{tried - len(problems)} of {tried} requests are as the SDKs' types want them")
    print(*problems, sep="\n", end="")
    return 1 if unknown or problems else 0


def _outcome(play: Play, url: str) -> tuple[bool, str]:
    """Return whether the SDK completed, or failed where our client does, and in what they differ."""
    mine = told(ours(play, url))
    try:
        theirs = SDKS[play.api](url)
    except Exception as error:
        fails = mine.stop == "error"
        return fails, "" if fails else f"the SDK raises {type(error).__name__}, ours says {mine.stop}"
    return True, "; ".join(differing(mine, theirs))


if __name__ == "__main__":
    sys.exit(main())
