"""Requests as they are sent, held against the files in which they were looked at."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from tests.adapters.apis.golden_cases import GOLDEN, Case, cases
from turnwheel_adapters.apis.compat import Compat
from turnwheel_adapters.apis.efforts import effort_of
from turnwheel_adapters.apis.strict import fits_strict

CASES = list(cases())


class TestGolden:
    @pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.target.api}-{case.name}")
    def test_it_is_sent_as_written(self, case: Case) -> None:
        """A request is what its file says, to the byte."""
        assert case.written() == case.file.read_text(encoding="utf-8")

    def test_no_file_is_left_over(self) -> None:
        """Each file is of a case, and each case has a name of its own."""
        files = [case.file for case in CASES]

        assert sorted(GOLDEN.glob("*/*.json")) == sorted(files)
        assert len(set(files)) == len(files)

    def test_every_flag_has_a_case(self) -> None:
        """Each flag of a server is tried with another value than its usual one."""
        tried = {
            field.name
            for case in CASES
            for field in attrs.fields(Compat)
            if getattr(case.target.compat, field.name) != getattr(Compat(), field.name)
        }

        assert tried == {field.name for field in attrs.fields(Compat)}


def body(api: str, name: str) -> Any:
    return json.loads((GOLDEN / api / f"{name}.json").read_text(encoding="utf-8"))


class TestCache:
    def test_marks(self) -> None:
        """Anthropic is asked to keep tools, system prompt and all up to the last user message: at most four marks."""
        text = (GOLDEN / "anthropic-messages" / "everything.json").read_text(encoding="utf-8")
        told = json.loads(text)

        assert text.count("cache_control") == 3
        for block in (told["tools"][-1], told["system"][-1], told["messages"][-1]["content"][-1]):
            assert block["cache_control"] == {"type": "ephemeral"}

    def test_none(self) -> None:
        """Without caching there is no mark and no key."""
        for api in ("anthropic-messages", "openai-chat", "openai-responses"):
            assert "cache" not in json.dumps(body(api, "limited"))

    def test_a_session(self) -> None:
        """A session's id is the key of OpenAI's cache."""
        for api in ("openai-chat", "openai-responses"):
            assert body(api, "session")["prompt_cache_key"] == "s-1"


class TestThinking:
    def test_it_goes_back(self) -> None:
        """Signed and redacted thinking goes back to Anthropic, encrypted reasoning to Responses, both to their own."""
        answer = body("anthropic-messages", "everything")["messages"][3]["content"]
        assert [block["type"] for block in answer[:2]] == ["redacted_thinking", "thinking"]
        items = body("openai-responses", "everything")["input"]
        assert {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"} in items

    def test_where_a_server_wants_it(self) -> None:
        """`reasoning_content` is there where the flag says so, and absent elsewhere."""
        (answer,) = [m for m in body("openai-chat", "flag-reasoning-content")["messages"] if "tool_calls" in m]
        assert answer["reasoning_content"] == "I need both."
        assert "reasoning_content" not in json.dumps(body("openai-chat", "everything"))

    @pytest.mark.parametrize(
        ("model", "level", "effort"),
        [
            ("gpt-5", "off", "minimal"),
            ("gpt-5", "xhigh", "high"),
            ("gpt-5.1", "off", "none"),
            ("gpt-5.1", "minimal", "none"),
            ("gpt-5.2", "xhigh", "xhigh"),
            ("openai/gpt-5.2", "high", "high"),
            ("o3", "minimal", "low"),
            ("gpt-4.1", "high", None),
            ("gpt-5-pro", "low", "high"),
            ("unheard-of", "off", None),
            ("unheard-of", "xhigh", "high"),
        ],
    )
    def test_efforts(self, model: str, level: str, effort: str | None) -> None:
        """A level is the nearest effort that the family knows."""
        assert effort_of(model, level) == effort

    def test_a_budget_leaves_room(self) -> None:
        """A budget of thinking is less than the limit of the answer, of which it is part, and never below the least."""
        told = body("anthropic-messages", "thinking-budget")

        assert told["thinking"]["budget_tokens"] == 1024
        assert told["max_tokens"] == 2048


class TestStrict:
    @pytest.mark.parametrize(
        ("schema", "fits"),
        [
            ({"type": "object", "properties": {}, "additionalProperties": False}, True),
            ({"type": "object", "properties": {}}, False),
            ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
            ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
            (
                {
                    "type": "object",
                    "properties": {"a": {"type": "array", "items": {"type": "object"}}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                False,
            ),
            ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ],
    )
    def test_what_fits(self, schema: Any, fits: bool) -> None:
        """A schema is strict only where each object in it requires all it has and allows nothing else."""
        assert fits_strict(schema) is fits
