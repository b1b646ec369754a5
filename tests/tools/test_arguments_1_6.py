"""The argument rules of pi-ai 1.6.0: by a table of facts, and against the real package where it is installed."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.real_pi import why_missing
from tests.tools.facts_1_6 import (
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    REFUSED,
    STRING,
    STRINGS,
    TAKEN,
    array_of,
    object_of,
    parameters_of,
)
from turnwheel.messages import Json
from turnwheel.tool import Tool
from turnwheel_tools.arguments import DEEPEST, RULES, ArgumentError, prepare_arguments

SCRIPT: Final = Path(__file__).parent / "real_arguments.mjs"
MISSING: Final = why_missing("pi-1.6.0")

Case = tuple[Json, Json]
"""The parameters of a tool, and the arguments for it."""


def answer(parameters: Json, arguments: Json) -> dict[str, Json]:
    """Return what the tool gets, or what the model is told."""
    try:
        return {"taken": prepare_arguments(Tool("t", parameters=parameters), arguments, rules="1.6.0")}
    except ArgumentError as error:
        return {"said": str(error)}


def answers_of_pi(cases: Sequence[Case]) -> list[dict[str, Json]]:
    """Return the same, said by real Pi."""
    asked = "".join(json.dumps({"parameters": schema, "arguments": value}) + "\n" for schema, value in cases)
    node = shutil.which("node") or "node"
    done = subprocess.run([node, SCRIPT], input=asked, capture_output=True, text=True, encoding="utf-8", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines(parameters: Json, arguments: Json) -> list[str]:
    """Return what is said to be wrong, a line each."""
    said = answer(parameters, arguments)["said"]
    return [line.removeprefix("  - ") for line in said.splitlines() if line.startswith("  - ")]


def exactly(value: Json) -> str:
    """Tell apart what Python calls equal: True and 1."""
    return json.dumps(value)


class TestFacts:
    @pytest.mark.parametrize(("schema", "value", "taken"), TAKEN)
    def test_is_taken_as(self, schema: Json, value: Json, taken: Json) -> None:
        """What the model wrote becomes what the fact says."""
        assert exactly(answer(parameters_of(schema), {"a": value})) == exactly({"taken": {"a": taken}})

    @pytest.mark.parametrize(("schema", "value", "told"), REFUSED)
    def test_is_refused(self, schema: Json, value: Json, told: list[str]) -> None:
        """What no rule covers is refused, in these words and this order."""
        assert lines(parameters_of(schema), {"a": value}) == told

    @pytest.mark.skipif(bool(MISSING), reason=MISSING)
    def test_are_those_of_real_pi(self) -> None:
        """Real Pi takes and says the same, to the last character."""
        cases = [(parameters_of(schema), {"a": value}) for schema, value, _ in [*TAKEN, *REFUSED]]

        for case, real in zip(cases, answers_of_pi(cases), strict=True):
            assert answer(*case) == real

    def test_the_whole_text(self) -> None:
        """The arguments follow as the model wrote them, not as they were coerced."""
        parameters = object_of(n=NUMBER, s=STRINGS) | {"required": ["n", "m"]}

        assert answer(parameters, {"n": "vier", "s": 1.0}) == {
            "said": (
                'Validation failed for tool "t":\n  - m: missing\n  - n: expected number, got string\n\n'
                'Received arguments:\n{\n  "n": "vier",\n  "s": 1\n}'
            )
        }

    @pytest.mark.parametrize(("arguments", "name"), [(None, "null"), ([], "array"), ("x", "string"), (5, "integer")])
    def test_arguments_that_are_no_object(self, arguments: Json, name: str) -> None:
        """They are refused like any wrong value, and not wrapped or read."""
        assert lines(object_of(), arguments) == [f"root: expected object, got {name}"]

    @pytest.mark.parametrize(("value", "name"), [(float("inf"), "Infinity"), (float("nan"), "NaN")])
    def test_numbers_that_json_does_not_have(self, value: float, name: str) -> None:
        """A number has to be finite; one that is not is called what JavaScript calls it."""
        assert lines(parameters_of(NUMBER), {"a": value}) == [f"a: expected number, got {name}"]

    def test_what_has_no_words_of_its_own(self) -> None:
        """Where only the validator knows what is wrong, the whole is called invalid."""
        assert lines(object_of(a=True) | {"unevaluatedProperties": False}, {"b": 1}) == ["root: invalid"]


class TestReferences:
    def test_by_address(self) -> None:
        """A reference may name a schema by its own address, or by a pointer into it."""
        parameters = {
            "$id": "http://x.test/t",
            "type": "object",
            "$defs": {"u": {"$id": "/u", "$defs": {"q": INTEGER}}},
        }
        parameters["properties"] = {"a": {"$ref": "/u#/$defs/q"}, "b": {"$ref": "http://x.test/t"}}

        assert answer(parameters, {"a": "1", "b": {"a": "2"}}) == {"taken": {"a": 1, "b": {"a": 2}}}

    def test_by_pointer(self) -> None:
        """A pointer goes through lists, and writes some characters in its own way."""
        parameters = object_of(a={"$ref": "#/$defs/x~1%20y/anyOf/1"}) | {"$defs": {"x/ y": {"anyOf": [NULL, INTEGER]}}}

        assert answer(parameters, {"a": "1"}) == {"taken": {"a": 1}}

    def test_a_list_in_itself(self) -> None:
        """A single value is wrapped once where wrapping it would never end."""
        parameters = object_of(a={"$ref": "#/$defs/l"}) | {"$defs": {"l": array_of({"$ref": "#/$defs/l"})}}

        assert lines(parameters, {"a": "x"}) == ["a.0: expected array, got string"]

    def test_a_union_in_itself_takes_time_in_proportion(self) -> None:
        """No level of a value is looked at once for each way that leads to it."""
        loop = {"$ref": "#/$defs/loop"}
        members = [INTEGER, object_of(a=loop) | {"required": ["a"]}, object_of(a=loop), array_of(loop)]
        value: Json = "x"
        for _ in range(30):
            value = {"a": value}

        began = time.perf_counter()
        assert lines({"$defs": {"loop": {"anyOf": members}}, **object_of(a=loop)}, value)
        assert time.perf_counter() - began < 5

    def test_too_deep_in_a_tree(self) -> None:
        """Arguments that go deeper into a schema than the stack allows are refused in words."""
        value: Json = {}
        for _ in range(DEEPEST // 2):
            value = {"below": [value]}
        told = "root: must not be nested so deep in a schema that refers to itself"

        assert lines(parameters_of({"$ref": "#/$defs/tree"}), {"a": value["below"][0]}) == [told]


class TestCopy:
    def test_the_arguments_are_left_alone(self) -> None:
        """Neither coercion nor a change to the result touches what the model wrote."""
        arguments: dict[str, Any] = {"a": [1, None], "free": {"b": [2]}}
        before = copy.deepcopy(arguments)

        result = answer(object_of(a=STRINGS), arguments)["taken"]
        result["a"].append("x")
        result["free"]["b"].append(3)

        assert arguments == before

    def test_each_version_reads_a_schema_in_its_own_way(self) -> None:
        """One tool may be used by the rules of several versions, one after the other."""
        tool = Tool("t", parameters=object_of(a=STRING) | {"required": ["a"]})
        taken = {rules: prepare_arguments(tool, {"a": None}, rules=rules)["a"] for rules in RULES}

        assert taken == {"0.80.2": "", "0.85.1": "", "1.6.0": "null"}


LEAVES: Final = st.sampled_from(
    [None, True, False, 0, 1, -1, 2, 5.5, 1e21, "", " ", "1", "5.5", "12n", "0x10", "True", "false", "null", "x", "ä"]
)
VALUES: Final = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
PLAIN: Final = st.sampled_from(
    [
        NUMBER,
        INTEGER,
        STRING,
        BOOLEAN,
        NULL,
        STRINGS,
        {"enum": ["x", 1, "null"]},
        {"const": "1"},
        {"type": "array"},
        {"type": ["integer", "null"]},
        NUMBER | {"minimum": 1},
        STRING | {"minLength": 2},
        {"$ref": "#/$defs/tree"},
    ]
)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    objects = st.builds(
        lambda parts, required, others: object_of(**parts) | {"required": required, "additionalProperties": others},
        named,
        st.lists(st.sampled_from("abc"), unique=True, max_size=2),
        st.booleans() | inner,
    )
    unions = st.builds(lambda keyword, parts: {keyword: parts}, st.sampled_from(["anyOf", "oneOf", "allOf"]), some)
    tuples = st.builds(lambda parts: {"type": "array", "prefixItems": parts}, some)
    return objects | unions | tuples | st.builds(array_of, inner)


SCHEMAS: Final = st.recursive(PLAIN, _wider, max_leaves=6)


class TestRealPi:
    @pytest.mark.skipif(bool(MISSING), reason=MISSING)
    @settings(max_examples=20)
    @given(st.lists(st.tuples(SCHEMAS, VALUES), min_size=1, max_size=40))
    def test_any_schema_and_value(self, drawn: list[tuple[Json, Json]]) -> None:
        """Real Pi takes and says the same of whatever schemas and values there are."""
        cases = [(parameters_of(schema), {"a": value}) for schema, value in drawn]

        assert [answer(*case) for case in cases] == answers_of_pi(cases)

    @given(SCHEMAS, VALUES)
    def test_the_words_and_the_verdict_agree(self, schema: Json, value: Json) -> None:
        """Whatever is refused, something is said to be wrong with it."""
        assert "root: invalid" not in answer(parameters_of(schema), {"a": value}).get("said", "")
