"""Every recording over a real connection: whole, in small pieces, cut anywhere, and dropped before its finish."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import anyio
import pytest

from tests.adapters.apis.expecting import differences
from tests.adapters.apis.recordings import Play, recordings, streams
from tests.adapters.models.server import Answer, Request, serving
from tests.engine.agents import within
from turnwheel.abort import AbortSignal
from turnwheel.messages import AssistantMessage
from turnwheel.requests import ModelRequest
from turnwheel.stream import Finished
from turnwheel_adapters.apis.failures import failure_of
from turnwheel_adapters.models.http import HttpModel
from turnwheel_adapters.models.limits import Limits, Retries
from turnwheel_adapters.models.wire import new_client

AT_ONCE: Final = 16
"""So many answers are played side by side."""
CUTS: Final = 200
LONGEST_S: Final = 120
_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_CALL_OF: Final = re.compile(r"/(\d+)/")

Case = tuple[Play, Answer]


async def played(cases: Sequence[Case]) -> list[AssistantMessage]:
    """Return the message of each case, all served by one server and asked for by one client."""
    messages: dict[int, AssistantMessage] = {}

    def choose(request: Request) -> Answer:
        found = _CALL_OF.search(request.path)
        assert found
        return cases[int(found[1])][1]

    async def ask(number: int) -> None:
        play, _ = cases[number]
        model = HttpModel(
            play.target(f"{server.url}/{number}/v1"),
            play.codec,
            "key",
            retries=Retries(most=0),
            limits=Limits(idle_s=20, grace_s=0.2),
            client=client,
        )
        async with gate:
            async for step in model(ModelRequest("model"), AbortSignal()):
                if isinstance(step, Finished):
                    messages[number] = step.message

    with serving(choose) as server:
        async with new_client() as client, anyio.create_task_group() as group:
            gate = anyio.CapacityLimiter(AT_ONCE)
            for number in range(len(cases)):
                group.start_soon(ask, number)
    return [messages[number] for number in range(len(cases))]


def wrong(cases: Sequence[Case], messages: Sequence[AssistantMessage]) -> list[str]:
    """Return what of these messages is not as expected."""
    return [
        f"{play}: {told}"
        for (play, _), message in zip(cases, messages, strict=True)
        for told in differences(play.expect, message, play.api)
    ]


def whole_calls(play: Play) -> list[tuple[str, Any]]:
    """Return name and arguments of the calls that the recording holds as a whole."""
    calls = [block for block in play.expect["content"] if block["type"] == "toolCall"]
    return [(call["name"], call["arguments"]) for call in calls if call["arguments"] is not None]


def too_good(play: Play, message: AssistantMessage) -> str | None:
    """Say what is wrong with the message of an answer that was cut: a success, or a call that was never whole."""
    if message.stop_reason != "error":
        return f"{play}: {message.stop_reason} of an answer that was cut"
    if failure_of(message) is None or not message.error_message:
        return f"{play}: no failure is told of"
    odd = [call.name for call in message.tool_calls if (call.name, call.arguments) not in whole_calls(play)]
    return f"{play}: {odd} was never whole" if odd else None


def events(raw: bytes) -> Iterator[tuple[int, str]]:
    """Yield the events of a body: where each ends, and its text."""
    begin = 0
    for end in _END.finditer(raw):
        yield end.end(), raw[begin : end.start()].decode(errors="replace")
        begin = end.end()


def _says(text: str, *names: str) -> bool:
    return any(re.search(rf'"{name}"\s*:\s*"[^"]', text) for name in names)


FINISHES: Final[Mapping[str, Any]] = {
    "anthropic-messages": lambda text: '"message_stop"' in text,
    "openai-chat": lambda text: _says(text, "finish_reason") or "[DONE]" in text,
    "openai-responses": lambda text: bool(re.search(r'"response\.(completed|incomplete|done)"', text)),
    "google-gemini": lambda text: _says(text, "finishReason"),
}
"""Which event of an API carries the finish."""


def before_the_finish(play: Play) -> list[int]:
    """Return the ends of all events before the one that carries the finish."""
    ends: list[int] = []
    for end, text in events(play.raw):
        if FINISHES[play.api](text):
            break
        ends.append(end)
    return ends


class TestWhole:
    @pytest.mark.parametrize("piece", [0, 1, 7])
    @within(LONGEST_S)
    async def test_every_recording(self, piece: int) -> None:
        """In whatever pieces it comes, each recording gives the message that it must."""
        cases = [(play, Answer(play.raw, piece=piece)) for play in streams()]

        assert wrong(cases, await played(cases)) == []

    @within(LONGEST_S)
    async def test_every_refusal(self) -> None:
        """An answer that is no stream gives an error of the kind that it is, with the wait that it asks for."""
        plays = [play for play in recordings() if play.status is not None]
        messages = await played([(play, Answer.file(play.raw)) for play in plays])

        for play, message in zip(plays, messages, strict=True):
            failure, alt = failure_of(message), play.expect.get("alt") or {}
            assert failure is not None, play.name
            assert failure.kind in alt.get("class", [play.expect["class"]]), play.name
            assert failure.retryable in alt.get("retryable", [play.expect["retryable"]]), play.name
            assert failure.retry_after_ms in alt.get("retryAfterMs", [play.expect["retryAfterMs"]]), play.name


class TestSteps:
    @within(LONGEST_S)
    async def test_every_block_ends(self) -> None:
        """Of an answer that ends well each block that was opened ends, whether its server said so or not."""
        opened, ended = ("text_start", "thinking_start", "toolcall_start"), ("text_end", "thinking_end", "toolcall_end")
        plays = [play for play in streams() if play.expect["stopReason"] in ("stop", "toolUse")]
        with serving(*(Answer(play.raw) for play in plays)) as server:
            for play in plays:
                model = HttpModel(play.target(server.url), play.codec, "key", retries=Retries(most=0))
                kinds = [step.type async for step in model(ModelRequest("model"), AbortSignal())]
                counts = [sum(map(kinds.count, names)) for names in (opened, ended)]
                assert counts[0] == counts[1], play.name


class TestCut:
    @within(LONGEST_S)
    async def test_at_random_places(self) -> None:
        """Cut at 200 random places before its finish, no answer is a success, and no call one that was not whole."""
        chance = random.Random(20261201)
        plays = [play for play in streams() if before_the_finish(play)]
        cases = []
        for _ in range(CUTS):
            play = chance.choice(plays)
            cut = chance.randrange(before_the_finish(play)[-1])
            cases.append((play, Answer(play.raw, cut=cut, how=chance.choice(("fin", "rst")))))
        messages = await played(cases)

        assert [told for (play, _), m in zip(cases, messages, strict=True) if (told := too_good(play, m))] == []

    @within(LONGEST_S)
    async def test_after_every_event(self) -> None:
        """Dropped after every event before the one that carries the finish, it is the same."""
        cases: list[Case] = []
        for play in streams():
            ends = before_the_finish(play)
            cases += [(play, Answer(play.raw, cut=cut)) for cut in ends]
        messages = await played(cases)

        assert len(cases) > 150
        assert [told for (play, _), m in zip(cases, messages, strict=True) if (told := too_good(play, m))] == []

    @within(LONGEST_S)
    async def test_within_the_finish(self) -> None:
        """A finish that came only in part is none."""
        cases = []
        for play in streams():
            ends = before_the_finish(play)
            if ends and ends[-1] + 3 < len(play.raw):
                cases.append((play, Answer(play.raw, cut=ends[-1] + 3)))
        messages = await played(cases)

        assert [told for (play, _), m in zip(cases, messages, strict=True) if (told := too_good(play, m))] == []
