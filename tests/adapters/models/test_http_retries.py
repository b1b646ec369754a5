"""Requests that are sent again: when, how often, after what time, and what is seen of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.models.server import Answer, nobody, serving
from tests.adapters.models.tiny import HELLO, all_steps, answer, events, tiny_at
from tests.engine.agents import both
from turnwheel.stream import Finished, Retry
from turnwheel_adapters.apis.failures import Failure, failure_of
from turnwheel_adapters.models.limits import Retries

SOON = Retries(base_ms=1)
BUSY = Answer.json({"error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
STARTED = events({"start": True}, done=False)


class TestRetries:
    """What is sent again."""

    @pytest.mark.parametrize(
        "bad",
        [
            BUSY,
            Answer.json({}, 500),
            Answer.json({}, 429),
            Answer(b""),
            Answer(STARTED),
            Answer(HELLO, cut=10),
            Answer(HELLO, cut=10, how="rst"),
            Answer(events({"start": True}, {"error": {"type": "overloaded_error", "message": "x"}})),
        ],
    )
    @both
    async def test_before_any_content(self, bad: Answer) -> None:
        """A failure before any content is a step, and the answer then begins once, as if nothing had been."""
        with serving(bad, bad, Answer(HELLO)) as server:
            steps = await all_steps(tiny_at(server.url, retries=SOON))
        assert [step.type for step in steps[:4]] == ["retry", "retry", "start", "text_start"]
        assert [(step.attempt, step.most) for step in steps[:2] if isinstance(step, Retry)] == [(1, 3), (2, 3)]
        assert steps[-1].type == "done"
        assert server.connections == 3

    @both
    async def test_not_after_content(self) -> None:
        """What has begun to arrive is not asked for again."""
        with serving(Answer(HELLO, cut=60)) as server:
            message = await answer(tiny_at(server.url, retries=SOON))
        assert (message.text, message.stop_reason, len(server.requests)) == ("Hel", "error", 1)

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
    @both
    async def test_not_what_stays_wrong(self, status: int) -> None:
        """A request that is refused for what it is would be refused again."""
        with serving(Answer.json({"error": "no"}, status)) as server:
            assert (await answer(tiny_at(server.url, retries=SOON))).stop_reason == "error"
        assert len(server.requests) == 1

    @both
    async def test_it_comes_to_an_end(self) -> None:
        """After as many tries as were granted the answer is the failure, and says how often it was tried."""
        with serving(BUSY) as server:
            steps = await all_steps(tiny_at(server.url, retries=Retries(most=2, base_ms=1)))
        assert [step.type for step in steps] == ["retry", "retry", "done"]
        assert isinstance(steps[-1], Finished)
        assert (steps[-1].message.error_message or "").endswith(" It was sent 3 times.")
        assert len(server.requests) == 3

    @both
    async def test_a_start_without_content(self) -> None:
        """The start of an answer that fails for good is shown, once."""
        with serving(Answer(STARTED)) as server:
            steps = await all_steps(tiny_at(server.url, retries=Retries(most=1, base_ms=1)))
        assert [step.type for step in steps] == ["retry", "start", "done"]

    @both
    async def test_none_at_all(self) -> None:
        """With no retries a failure is final at once."""
        with serving(BUSY) as server:
            await answer(tiny_at(server.url, retries=Retries(most=0)))
        assert len(server.requests) == 1

    @both
    async def test_a_refused_connection(self) -> None:
        """A server that is not there yet may be there soon; the step says why."""
        with nobody() as url:
            steps = await all_steps(tiny_at(url, retries=Retries(most=1, base_ms=4), random=lambda: 0.5))
        retry = steps[0]
        assert isinstance(retry, Retry)
        assert (retry.kind, retry.delay_ms) == ("network", 3)
        assert "refused the connection" in retry.text

    @both
    async def test_the_server_says_when(self) -> None:
        """A wait that the server asks for is kept to."""
        busy = Answer.json({}, 429, {"retry-after-ms": "20"})
        with serving(busy, Answer(HELLO)) as server:
            steps = await all_steps(tiny_at(server.url, retries=SOON))
        assert isinstance(steps[0], Retry)
        assert steps[0].delay_ms == 20

    @pytest.mark.parametrize("said", [{"retry-after": "90"}, {"retry-after": "Thu, 01 Jan 1970 00:02:10 GMT"}])
    @both
    async def test_too_long_a_wait(self, said: dict[str, str]) -> None:
        """A wait that is longer than is granted ends the answer at once, and the text says so."""
        with serving(Answer.json({}, 429, said)) as server:
            message = await answer(tiny_at(server.url, now=lambda: 40.0))
        assert len(server.requests) == 1
        assert "Wait 90 s and try again. That is longer than the 60 s" in (message.error_message or "")
        failure = failure_of(message)
        assert failure is not None
        assert failure.retry_after_ms == 90_000

    @both
    async def test_nonsense_is_ignored(self) -> None:
        """A header that says nothing leaves the wait to us."""
        with serving(Answer.json({}, 429, {"retry-after": "banana"}), Answer(HELLO)) as server:
            steps = await all_steps(tiny_at(server.url, retries=SOON, random=lambda: 0))
        assert isinstance(steps[0], Retry)
        assert steps[0].delay_ms == 1


class TestDelays:
    """The times between, as numbers."""

    @pytest.mark.parametrize(("attempt", "delay"), [(1, 500), (2, 1000), (3, 2000), (5, 8000), (60, 8000)])
    def test_doubles_up_to_a_cap(self, attempt: int, delay: int) -> None:
        """Each wait is twice the one before, and no longer than the cap."""
        busy = Failure("overloaded", "", retryable=True)
        assert Retries(most=100).delay_ms(busy, attempt, 0) == delay

    @given(st.floats(0, 1), st.integers(1, 10))
    def test_chance_takes_up_to_half(self, chance: float, attempt: int) -> None:
        """However chance falls, a wait is between half of its time and all of it."""
        retries = Retries(most=10)
        busy = Failure("overloaded", "", retryable=True)
        whole: Any = retries.delay_ms(busy, attempt, 0)
        delay = retries.delay_ms(busy, attempt, chance)
        assert delay is not None
        assert whole / 2 <= delay <= whole

    def test_no_time_at_all_is_none_said(self) -> None:
        """A server that asks to wait for 0 ms gets the usual wait."""
        busy = Failure("rate_limit", "", retryable=True, retry_after_ms=0)
        assert Retries().delay_ms(busy, 1, 0) == 500
