"""The log of a run: a line for each request and each decision, without keys."""

from __future__ import annotations

import io
import json

from tests.adapters.models.server import Answer, serving
from tests.adapters.models.test_routing import CHAT
from tests.engine.agents import both
from turnwheel.agent import Agent
from turnwheel.rules import Decision
from turnwheel_adapters.log import RunLog, logger_of
from turnwheel_adapters.models.limits import Retries
from turnwheel_adapters.models.providers import Provider
from turnwheel_adapters.models.routing import ProviderModels, Setup

KEY = "sk-proj-abcdefghijklmnop"


async def logged(form: str, *answers: Answer) -> tuple[str, list[Decision]]:
    """Return what the log says of a run, and the decisions of the run."""
    file = io.StringIO()
    log = RunLog(logger_of("json" if form == "json" else "console", file, [KEY]))
    decisions: list[Decision] = []
    with serving(*answers) as server:
        setup = Setup(
            providers={"one": Provider("one", "openai-chat", server.url)},
            key=KEY,
            retries=Retries(base_ms=1),
            on_request=log.exchanged,
        )

        def decided(decision: Decision) -> None:
            decisions.append(decision)
            log.decided(decision)

        await Agent(ProviderModels("one/m", setup), model="one/m", on_decision=decided).prompt("hello")
    return file.getvalue(), decisions


@both
async def test_json_lines() -> None:
    """Each decision and each request is a line of JSON, in the order in which they came."""
    text, decisions = await logged("json", Answer(CHAT % b"one"))
    lines = [json.loads(line) for line in text.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]

    assert len(lines) == len(decisions) + 1
    assert requests[0] | {"ms": 0, "timestamp": ""} == {
        "event": "request",
        "provider": "one",
        "model": "m",
        "attempt": 1,
        "ms": 0,
        "status": 200,
        "stop_reason": "stop",
        "input": 0,
        "output": 0,
        "cache_read": 0,
        "level": "info",
        "timestamp": "",
    }
    assert lines[-1]["to"] == "Done"


@both
async def test_a_retry() -> None:
    """Each attempt has its line, with what was wrong and when it is tried again."""
    text, _ = await logged("json", Answer.json({"error": {"message": "busy"}}, 503), Answer(CHAT % b"one"))
    first, second = [line for line in map(json.loads, text.splitlines()) if line["event"] == "request"]

    assert (first["attempt"], first["status"], first["level"]) == (1, 503, "warning")
    assert first["retry_ms"] >= 0
    assert (second["attempt"], second["stop_reason"]) == (2, "stop")


@both
async def test_for_people() -> None:
    """The other form is for reading, and is not JSON."""
    text, _ = await logged("console", Answer(CHAT % b"one"))

    assert "request" in text
    assert "provider=one" in text


def test_keys_are_left_out() -> None:
    """A key in any text of a line is left out, however deep."""
    file = io.StringIO()
    logger_of("json", file, [KEY]).info("request", why=f"bad key {KEY}", parts=[{"header": f"Bearer {KEY}"}])

    assert KEY not in file.getvalue()
    assert "bad key (key)" in file.getvalue()
