"""What a tool gets of the arguments that a model wrote, and what the model is told where they do not fit."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.errors import Misuse
from turnwheel.tool import Tool
from turnwheel_tools.arguments import DEEPEST, ArgumentError, SchemaError, prepare_arguments
from turnwheel_tools.coercion import RULES

BOTH: Final = pytest.mark.parametrize("rules", list(RULES))
PRIMITIVES: Final = ("number", "integer", "string", "boolean", "null")


def prepared(schema: Any, value: Any, rules: str = "0.85.1") -> Any:
    """Return what becomes of `value`, given for the required property `a` of that schema."""
    parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return prepare_arguments(Tool("t", parameters=parameters), {"a": value}, rules=rules)["a"]


def lines(parameters: dict[str, Any], arguments: Any, rules: str = "0.85.1") -> list[str]:
    """Return what is said to be wrong with `arguments`, a line each."""
    with pytest.raises(ArgumentError) as failure:
        prepare_arguments(Tool("t", parameters=parameters), arguments, rules=rules)
    return [line.removeprefix("  - ") for line in str(failure.value).splitlines() if line.startswith("  - ")]


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def exactly(value: Any) -> str:
    """Tell apart what Python calls equal: True and 1, 1 and 1.0."""
    return json.dumps(value)


class TestPrimitives:
    """One JSON type made from another, the same in both rule sets."""

    @BOTH
    @pytest.mark.parametrize(
        ("wanted", "value", "taken"),
        [
            ("number", "5.5", 5.5),
            ("number", " 0x10 ", 16),
            ("number", "05", 5),
            ("number", "0b11", 3),
            ("number", "1e3", 1000),
            ("number", ".5", 0.5),
            ("number", "\u00a05\ufeff", 5),
            ("number", True, 1),
            ("number", None, 0),
            ("integer", "7", 7),
            ("integer", "7.0", 7),
            ("integer", 7.0, 7),
            ("integer", False, 0),
            ("integer", None, 0),
            ("boolean", "true", True),
            ("boolean", "false", False),
            ("boolean", 1, True),
            ("boolean", 0.0, False),
            ("boolean", None, False),
            ("string", 1.0, "1"),
            ("string", 1e21, "1e+21"),
            ("string", 1e-7, "1e-7"),
            ("string", -0.0, "0"),
            ("string", True, "true"),
            ("string", None, ""),
            ("null", "", None),
            ("null", 0, None),
            ("null", False, None),
        ],
    )
    def test_is_taken_as(self, rules: str, wanted: str, value: Any, taken: Any) -> None:
        """A value of another type is taken as JavaScript's conversions take it."""
        assert exactly(prepared({"type": wanted}, value, rules)) == exactly(taken)

    @BOTH
    @pytest.mark.parametrize(
        ("wanted", "value"),
        [
            ("number", ""),
            ("number", " "),
            ("number", "Infinity"),
            ("number", "1e400"),
            ("number", "nan"),
            ("number", "1_0"),
            ("number", "\x1c5"),
            ("number", [5]),
            ("integer", "5.5"),
            ("integer", 5.5),
            ("boolean", "True"),
            ("boolean", "1"),
            ("boolean", 2),
            ("string", {}),
            ("array", "x"),
            ("object", "{}"),
            ("null", "null"),
        ],
    )
    def test_is_refused(self, rules: str, wanted: str, value: Any) -> None:
        """What no rule covers stays as it is, and is refused for its type."""
        schema = object_of(a={"type": wanted}) | {"required": ["a"]}

        assert lines(schema, {"a": value}, rules) == [f"a: must be {wanted}"]

    @BOTH
    def test_what_is_refused_is_judged_as_it_was(self, rules: str) -> None:
        """A text that is no whole number stays text, so that an enum may know it."""
        schema = object_of(a={"type": "integer", "enum": ["5.5"]})

        assert lines(schema, {"a": "5.5"}, rules) == ["a: must be integer"]

    @given(
        st.sampled_from(PRIMITIVES), st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=4)
    )
    def test_a_second_time_changes_nothing(self, wanted: str, value: Any) -> None:
        """What has been coerced and is valid is left as it is."""
        try:
            once = prepared({"type": wanted}, value)
        except ArgumentError:
            return

        assert exactly(prepared({"type": wanted}, once)) == exactly(once)


class TestContainers:
    """How coercion goes into objects and lists."""

    def test_elements_are_coerced_one_by_one(self) -> None:
        """Each element of a list is taken by itself."""
        assert prepared({"type": "array", "items": {"type": "string"}}, [1, True, "x"]) == ["1", "true", "x"]

    def test_a_tuple_is_coerced_by_position(self) -> None:
        """A list of schemas belongs to the first elements; the rest is left alone."""
        assert prepared({"type": "array", "items": [{"type": "string"}, {"type": "number"}]}, [1, "2", 3]) == [
            "1",
            2,
            3,
        ]

    def test_nested_objects_are_coerced(self) -> None:
        """Objects are entered, and keys that no schema names are kept."""
        assert prepared(object_of(b={"type": "number"}), {"b": "1", "c": "2"}) == {"b": 1, "c": "2"}

    def test_other_properties_are_coerced_where_they_have_a_schema(self) -> None:
        """A schema under additionalProperties is for every key that is not named."""
        schema = object_of(b={"type": "string"}) | {"additionalProperties": {"type": "number"}}

        assert prepared(schema, {"b": "1", "c": "2"}) == {"b": "1", "c": 2}

    def test_an_object_without_type_is_not_entered(self) -> None:
        """Properties count only where the schema says that it is about an object."""
        assert lines(object_of(a={"properties": {"b": {"type": "number"}}}), {"a": {"b": "1"}}) == [
            "a.b: must be number"
        ]

    def test_references_are_not_followed(self) -> None:
        """What a reference leads to is validated, but not coerced."""
        schema = object_of(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": {"type": "number"}}}

        assert prepare_arguments(Tool("t", parameters=schema), {"a": 1}) == {"a": 1}
        assert lines(schema, {"a": "1"}) == ["a: must be number"]


class TestUnions:
    """Schemas that allow more than one thing."""

    def test_a_list_of_types_keeps_what_fits(self) -> None:
        """A value of one of the types is not made into another."""
        assert prepared({"type": ["number", "string"]}, "5") == "5"

    def test_a_list_of_types_takes_the_first_that_can_be_had(self) -> None:
        """Otherwise the types are tried in their order."""
        assert prepared({"type": ["integer", "boolean"]}, "true") is True

    @pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
    @pytest.mark.parametrize(("rules", "taken"), [("0.80.2", 5), ("0.85.1", "5")])
    def test_a_fitting_member(self, keyword: str, rules: str, taken: Any) -> None:
        """0.80.2 coerces to the first member that can be had; 0.85.1 first looks whether one fits already."""
        schema = {keyword: [{"type": "number"}, {"type": "string"}]}

        assert exactly(prepared(schema, "5", rules)) == exactly(taken)

    @BOTH
    def test_the_first_member_that_takes_it(self, rules: str) -> None:
        """A member counts only if the coerced value is valid against all that it says."""
        schema = {"anyOf": [{"type": "number", "minimum": 9}, {"type": "string"}]}

        assert prepared(schema, True, rules) == "true"

    @BOTH
    def test_every_part_of_an_intersection(self, rules: str) -> None:
        """Under allOf each schema coerces what the one before has left."""
        assert prepared({"allOf": [{"type": "number"}, {"minimum": 1}]}, True, rules) == 1
        assert lines(object_of(a={"allOf": [{"type": "string"}, {"type": "number"}]}), {"a": True}, rules) == [
            "a: must be number"
        ]

    def test_a_member_that_refers_to_the_whole_is_not_chosen(self) -> None:
        """On its own, a member with a reference accepts nothing; the value is validated as it is."""
        schema = object_of(a={"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}) | {
            "$defs": {"n": {"type": "number"}}
        }

        assert prepare_arguments(Tool("t", parameters=schema), {"a": 1}) == {"a": 1}
        assert lines(schema, {"a": "1"})[0] == "a: must be number"


class TestOptionalNulls:
    """null for a property that may be left out."""

    @pytest.mark.parametrize(("rules", "taken"), [("0.80.2", {"a": 0}), ("0.85.1", {})])
    def test_is_coerced_or_counts_as_left_out(self, rules: str, taken: Any) -> None:
        """0.80.2 coerces it; 0.85.1 drops it."""
        assert (
            prepare_arguments(Tool("t", parameters=object_of(a={"type": "number"})), {"a": None}, rules=rules) == taken
        )

    @pytest.mark.parametrize("schema", [{"type": ["number", "null"]}, {"$ref": "#/$defs/n"}, True])
    def test_stays_where_null_is_meant(self, schema: Any) -> None:
        """It stays where the schema accepts null, and where the schema is a reference."""
        parameters = object_of(a=schema) | {"$defs": {"n": {"type": "null"}}}

        assert prepare_arguments(Tool("t", parameters=parameters), {"a": None}) == {"a": None}

    def test_is_dropped_inside_of_lists_too(self) -> None:
        """Objects in lists, in tuples and in objects are looked through."""
        inner = object_of(b={"type": "number"})
        parameters = object_of(l={"type": "array", "items": inner}, t={"type": "array", "items": [inner]}, o=inner)
        arguments = {"l": [{"b": None}], "t": [{"b": None}, {"b": None}], "o": {"b": None}}

        assert prepare_arguments(Tool("t", parameters=parameters), arguments) == {
            "l": [{}],
            "t": [{}, {"b": None}],
            "o": {},
        }

    def test_is_dropped_where_a_member_cannot_be_looked_up(self) -> None:
        """A member of a union that is a reference does not accept null."""
        schema = object_of(a={"anyOf": [{"$ref": "#/$defs/n"}, {"type": "string"}]}) | {
            "$defs": {"n": {"type": "null"}}
        }

        assert prepare_arguments(Tool("t", parameters=schema), {"a": None}) == {}


class TestCopy:
    """What comes back is the tool's own."""

    @BOTH
    def test_the_arguments_are_left_alone(self, rules: str) -> None:
        """Neither coercion nor a change to the result touches what the model wrote."""
        parameters = object_of(a={"type": "array", "items": {"type": "string"}})
        arguments: dict[str, Any] = {"a": [1], "free": {"b": [2]}}
        before = copy.deepcopy(arguments)

        result = prepare_arguments(Tool("t", parameters=parameters), arguments, rules=rules)
        result["a"].append("x")
        result["free"]["b"].append(3)

        assert arguments == before

    def test_whole_floats_come_back_as_ints(self) -> None:
        """JavaScript has one kind of number; a whole one has no point, wherever it stands."""
        assert exactly(prepare_arguments(Tool("t"), {"a": [1.0, 1.5, 1e20]})) == exactly({"a": [1, 1.5, 10**20]})

    def test_deep_nesting_is_refused(self) -> None:
        """Arguments that are nested beyond reason are refused in words."""
        nested: Any = []
        for _ in range(DEEPEST):
            nested = [nested]

        assert lines(object_of(), {"a": nested}) == [f"root: must not be nested deeper than {DEEPEST}"]


class TestFailureText:
    """What the model is told."""

    def test_the_whole_text(self) -> None:
        """The tool's name, a line for each fault, and what the model wrote, as JSON.stringify writes it."""
        parameters = object_of(n={"type": "number"}) | {"required": ["n"]}
        arguments: dict[str, Any] = {"n": "vier", "x": [1.0, 1e-7, None, {}], "y": {"ü\n": "\ud800"}}

        with pytest.raises(ArgumentError) as failure:
            prepare_arguments(Tool("add", parameters=parameters), arguments)

        assert str(failure.value) == (
            'Validation failed for tool "add":\n  - n: must be number\n\nReceived arguments:\n'
            '{\n  "n": "vier",\n  "x": [\n    1,\n    1e-7,\n    null,\n    {}\n  ],\n'
            '  "y": {\n    "ü\\n": "\\ud800"\n  }\n}'
        )

    def test_all_missing_properties_in_one_line(self) -> None:
        """They are named together, in the order of `required`, under the path of the first."""
        assert lines({"type": "object", "required": ["b", "a"]}, {}) == ["b: must have required properties b, a"]
        assert lines(object_of(o={"type": "object", "required": ["b"]}), {"o": {}}) == [
            "o.b: must have required properties b"
        ]

    def test_the_order_within_an_object(self) -> None:
        """Missing, additional, then the properties in the order of the schema."""
        parameters = object_of(z={"type": "number"}, a={"type": "array", "items": {"type": "number"}})
        parameters |= {"required": ["q"], "additionalProperties": False}

        assert lines(parameters, {"a": ["x", 1, "y"], "z": "x", "other": 1, "more": 2}) == [
            "q: must have required properties q",
            "root: must not have additional properties",
            "z: must be number",
            "a.0: must be number",
            "a.2: must be number",
        ]

    def test_the_order_behind_a_reference(self) -> None:
        """Properties of a schema that is referred to are in its order as well."""
        parameters = object_of(a={"$ref": "#/$defs/x~1y"})
        parameters |= {"$defs": {"x/y": object_of(z={"type": "number"}, b={"type": "number"})}}

        assert lines(parameters, {"a": {"b": "", "z": ""}}) == ["a.z: must be number", "a.b: must be number"]

    def test_wrong_type_and_wrong_value(self) -> None:
        """They give a line each."""
        parameters = object_of(a={"type": "string", "enum": ["x"]})

        assert lines(parameters, {"a": []}) == ["a: must be string", "a: must be equal to one of the allowed values"]

    @pytest.mark.parametrize(
        ("keyword", "last"),
        [("anyOf", "a: must match a schema in anyOf"), ("oneOf", "a: must match exactly one schema in oneOf")],
    )
    def test_what_the_members_say_comes_first(self, keyword: str, last: str) -> None:
        """Each member of a union says what is wrong, then the union itself."""
        parameters = object_of(a={keyword: [{"type": "number"}, {"type": "boolean"}]})

        assert lines(parameters, {"a": "x"}) == ["a: must be number", "a: must be boolean", last]

    def test_more_than_one_fitting_member(self) -> None:
        """Where too many members of a oneOf fit, only the union has something to say."""
        parameters = object_of(a={"oneOf": [{"type": "number"}, {"minimum": 9}, {"type": "integer"}]})

        assert lines(parameters, {"a": 1}) == ["a: must match exactly one schema in oneOf"]

    def test_other_properties_are_judged_together(self) -> None:
        """What is wrong inside of additional properties is said once, of the object."""
        parameters = {"type": "object", "additionalProperties": {"type": "number"}}

        assert lines(parameters, {"a": "x", "b": "y"}) == ["root: must not have additional properties"]

    def test_eight_lines_at_most(self) -> None:
        """The ninth fault is not told."""
        assert len(lines(object_of(a={"type": "array", "items": {"type": "number"}}), {"a": ["x"] * 9})) == 8

    @pytest.mark.parametrize(
        ("schema", "value", "message"),
        [
            ({"type": ["object", "number"]}, "x", "must be either object or number"),
            ({"const": 1}, 2, "must be equal to constant"),
            ({"minimum": 1e-7}, 0, "must be >= 1e-7"),
            ({"maximum": 1e21}, 1e22, "must be <= 1e+21"),
            ({"exclusiveMinimum": 1}, 1, "must be > 1"),
            ({"multipleOf": 2}, 1, "must be multiple of 2"),
            ({"minLength": 2}, "a", "must not have fewer than 2 characters"),
            ({"pattern": "^b{2}$"}, "a", 'must match pattern "^b{2}$"'),
            ({"format": "date"}, "a", 'must match format "date"'),
            ({"maxItems": 0}, [1], "must not have more than 0 items"),
            ({"uniqueItems": True}, [1, 1], "must not have duplicate items"),
            ({"not": {}}, 1, "must not be valid"),
            ({"propertyNames": {"maxLength": 1}}, {"bb": 1, "c": 1, "dd": 1}, "property names bb, dd are invalid"),
            (False, 1, "schema is false"),
            ({"minProperties": 1}, {}, "must not have fewer than 1 properties"),
        ],
    )
    def test_each_keyword_has_its_words(self, schema: Any, value: Any, message: str) -> None:
        """Each keyword's message names what it asks for."""
        assert lines(object_of(a=schema), {"a": value}) == [f"a: {message}"]

    def test_a_keyword_without_words_of_its_own(self) -> None:
        """There the validator's own message is used."""
        assert lines(object_of(a={"items": [{}], "additionalItems": False}), {"a": [1, 2]}) == [
            "a: Additional items are not allowed (2 was unexpected)"
        ]

    @pytest.mark.parametrize("arguments", [None, [], "x", 5])
    def test_arguments_that_are_no_object(self, arguments: Any) -> None:
        """They are refused like any wrong value."""
        assert lines(object_of(), arguments) == ["root: must be object"]


class TestBadSchemas:
    """Whoever wrote the tool is told, not the model's arguments blamed."""

    @pytest.mark.parametrize(
        ("parameters", "where"),
        [
            ({"type": "strin"}, "at type"),
            ({"properties": {"a": {"type": 5}}}, "at properties.a.type"),
            ({"$ref": "#/nowhere"}, "at root: Pointer '/nowhere' does not exist"),
            ({"properties": {1: {}}}, "no JSON object"),
            (5, "no JSON object"),
        ],
    )
    def test_is_named_with_its_place(self, parameters: Any, where: str) -> None:
        """The error names the tool and the place in its schema."""
        with pytest.raises(SchemaError, match=f'^The schema of tool "t" is invalid.*{where}'):
            prepare_arguments(Tool("t", parameters=parameters), {})

    def test_nothing_is_fetched(self, tmp_path: Path) -> None:
        """A schema that lies elsewhere makes the schema invalid; it is not looked up, not even in a file."""
        (tmp_path / "a.json").write_text("{}")

        with pytest.raises(SchemaError, match=r"a\.json"):
            prepare_arguments(Tool("t", parameters={"$ref": (tmp_path / "a.json").as_uri()}), {})

    def test_unknown_rules(self) -> None:
        """The error names the rule sets that there are."""
        with pytest.raises(Misuse, match=r"0\.80\.2, 0\.85\.1"):
            prepare_arguments(Tool("t"), {}, rules="2.0")


class TestCache:
    """What is known of a schema is kept by the schema object."""

    def test_equal_schemas_are_kept_apart(self) -> None:
        """Two tools of the same name with different schemas do not get into each other's way."""
        for wanted, taken in [("number", 1), ("string", "1"), ("number", 1)]:
            tool = Tool("t", parameters=object_of(a={"type": wanted}))
            assert exactly(prepare_arguments(tool, {"a": "1"})) == exactly({"a": taken})
