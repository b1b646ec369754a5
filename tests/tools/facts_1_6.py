"""What pi-ai 1.6.0 makes of arguments and says of them: facts, each checked against the real package."""

from __future__ import annotations

from typing import Any, Final

from turnwheel.messages import Json


def object_of(**properties: Json) -> dict[str, Json]:
    """Return the schema of an object with these optional properties."""
    return {"type": "object", "properties": properties}


def array_of(items: Json, **more: Json) -> dict[str, Json]:
    """Return the schema of an array with such items."""
    return {"type": "array", "items": items, **more}


NUMBER: Final = {"type": "number"}
INTEGER: Final = {"type": "integer"}
STRING: Final = {"type": "string"}
BOOLEAN: Final = {"type": "boolean"}
NULL: Final = {"type": "null"}
STRINGS: Final = array_of(STRING)

TAKEN: Final[list[tuple[Any, Any, Any]]] = [
    (NUMBER, "5.5", 5.5),
    (NUMBER, " 0x10 ", 16),
    (NUMBER, "1e3", 1000),
    (NUMBER, "", 0),
    (NUMBER, "\ufeff ", 0),
    (NUMBER, "true", 1),
    (NUMBER, "FALSE", 0),
    (NUMBER, "-12n", -12),
    (NUMBER, True, 1),
    (NUMBER, None, 0),
    (INTEGER, "7.0", 7),
    (INTEGER, "5.5", 5),
    (INTEGER, -5.5, -5),
    (INTEGER, "", 0),
    (INTEGER, 1e21, 1e21),
    (INTEGER, False, 0),
    (BOOLEAN, "True", True),
    (BOOLEAN, "fALSE", False),
    (BOOLEAN, "1", True),
    (BOOLEAN, "0", False),
    (BOOLEAN, 1, True),
    (BOOLEAN, None, False),
    (STRING, None, "null"),
    (STRING, 1e21, "1e+21"),
    (STRING, True, "true"),
    (NULL, "NULL", None),
    (NULL, "undefined", None),
    (NULL, "0", None),
    (NULL, "", None),
    (NULL, False, None),
    (STRINGS, "x", ["x"]),
    (STRINGS, None, ["null"]),
    (array_of(STRINGS), 5, [["5"]]),
    ({"type": "array"}, {"b": 1}, [{"b": 1}]),
    (STRINGS, [1, True, None, "x"], ["1", "true", "null", "x"]),
    ({"type": "array", "prefixItems": [STRING, NUMBER]}, [1, "2", "3"], ["1", 2, "3"]),
    (array_of(NUMBER, prefixItems=[STRING]), [1, "2", "3"], ["1", 2, 3]),
    (array_of([STRING, NUMBER]), [1, "2", "3"], ["1", 2, "3"]),
    ({"items": NUMBER}, "5", [5]),
    ({"properties": {"b": NUMBER}}, {"b": "1", "c": "2"}, {"b": 1, "c": "2"}),
    (object_of(b=STRING) | {"additionalProperties": NUMBER}, {"b": 1, "c": "2"}, {"b": "1", "c": 2}),
    (object_of() | {"patternProperties": {"^n": NUMBER}}, {"n1": "1", "m": "2"}, {"n1": 1, "m": "2"}),
    (object_of(b=NUMBER), {"b": None, "c": None}, {"c": None}),
    (object_of(b=NUMBER) | {"required": ["b"]}, {"b": None}, {"b": 0}),
    (object_of(b={"type": ["number", "null"]}), {"b": None}, {"b": None}),
    (object_of(b=object_of(c=NUMBER)) | {"additionalProperties": object_of(c=NUMBER)}, {"x": {"c": None}}, {"x": {}}),
    (array_of(object_of(b=NUMBER)), [{"b": None}], [{}]),
    ({"type": "array", "prefixItems": [object_of(b=NUMBER)]}, [{"b": None}, {"b": None}], [{}, {"b": None}]),
    ({"type": ["number", "string"]}, "5", "5"),
    ({"type": ["integer", "boolean"]}, "true", True),
    ({"type": ["integer", "null"]}, "5", 5),
    ({"type": ["integer", "null"]}, "", None),
    ({"type": ["string", "array"], "items": STRING}, None, ""),
    ({"type": ["object", "null"], "properties": {"b": INTEGER}}, {"b": "5"}, {"b": 5}),
    ({"const": 5}, "5", 5),
    ({"const": True}, "1", True),
    ({"const": "null"}, None, "null"),
    ({"enum": [1, 2]}, "2", 2),
    ({"enum": ["1", 1]}, 1, 1),
    ({"enum": ["x", "true"]}, True, "true"),
    ({"type": "integer", "enum": [5]}, 5.0, 5),
    ({"anyOf": [NUMBER, STRING]}, "5", "5"),
    ({"anyOf": [NUMBER, BOOLEAN]}, "true", 1),
    ({"oneOf": [{"type": "number", "minimum": 9}, STRING]}, True, "true"),
    ({"anyOf": [NUMBER], "properties": {"b": NUMBER}}, "5", 5),
    ({"anyOf": [object_of(b=INTEGER), NULL], "properties": {"c": NUMBER}}, {"b": "1", "c": "2"}, {"b": 1, "c": 2}),
    ({"allOf": [NUMBER, {"minimum": 1}]}, True, 1),
    ({"allOf": [object_of(b=NUMBER)], "properties": {"c": NUMBER}}, {"b": "1", "c": "2"}, {"b": 1, "c": 2}),
    ({"$ref": "#/$defs/number"}, "5", 5),
    ({"$ref": "#/$defs/tree"}, {"below": {"below": []}}, {"below": [{"below": []}]}),
    ({"anyOf": [{"$ref": "#/$defs/number"}, BOOLEAN]}, "0x10", 16),
    ({"$ref": "#named"}, "5", 5),
    (True, "5", "5"),
]
"""A schema, what the model wrote for the required property `a` of that schema, and what the tool gets."""

REFUSED: Final[list[tuple[Any, Any, list[str]]]] = [
    (NUMBER, "vier", ["a: expected number, got string"]),
    (NUMBER, "1e400", ["a: expected number, got string"]),
    (NUMBER, "\x1c", ["a: expected number, got string"]),
    (NUMBER, "9007199254740992n", ["a: expected number, got string"]),
    (NUMBER, [5], ["a: expected number, got array"]),
    (INTEGER, "x", ["a: expected integer, got string"]),
    (BOOLEAN, 2, ["a: expected boolean, got integer"]),
    (BOOLEAN, 2.5, ["a: expected boolean, got number"]),
    (STRING, {}, ["a: expected string, got object"]),
    (object_of(), None, ["a: expected object, got null"]),
    ({"type": ["number", "null"]}, "x", ["a: expected number or null, got string"]),
    ({"type": "string", "enum": ["x", "y"]}, "z", ['a: expected one of ["x","y"]']),
    ({"type": "string", "enum": ["x"]}, [], ["a: expected string, got array"]),
    ({"enum": list(range(22))}, "x", [f"a: expected one of [{','.join(map(str, range(20)))}, ... and 2 more]"]),
    ({"const": {"b": [1.0, None]}}, 1, ['a: expected {"b":[1,null]}']),
    ({"const": [True]}, [1], ["a: expected [true]"]),
    (STRING | {"minLength": 2, "pattern": "^b"}, "a", ["a: expected at least 2 characters", "a: expected to match ^b"]),
    (STRING | {"maxLength": 1}, "😀😀", ["a: expected at most 1 characters"]),
    (STRING | {"format": "date"}, "2020-02-30", ["a: expected format date"]),
    (NUMBER | {"minimum": 1e-7, "multipleOf": 2}, -0.5, ["a: expected >= 1e-7", "a: expected a multiple of 2"]),
    (NUMBER | {"maximum": 1e21}, 1e22, ["a: expected <= 1e+21"]),
    (NUMBER | {"exclusiveMinimum": 1}, "1", ["a: expected > 1"]),
    (NUMBER | {"exclusiveMaximum": 1}, 1, ["a: expected < 1"]),
    (array_of(NUMBER, minItems=3), ["x", 1], ["a.0: expected number, got string", "a: expected at least 3 items"]),
    (array_of(NUMBER, maxItems=0), 1, ["a: expected at most 0 items"]),
    ({"type": "array", "uniqueItems": True}, [1, {"b": 1}, {"b": 1.0}], ["a: expected unique items"]),
    ({"type": "array", "contains": STRING}, [1], ["a: expected at least 1 matching item"]),
    (
        {"type": "array", "contains": STRING, "minContains": 0, "maxContains": 0},
        ["x"],
        [
            "a: expected at most 0 matching items",
        ],
    ),
    (
        {"type": "array", "contains": STRING, "minContains": 2, "maxContains": 3},
        ["x"],
        [
            "a: expected between 2 and 3 matching items",
        ],
    ),
    ({"type": "array", "prefixItems": [NUMBER], "items": False}, [1, 2], ["a.1: no value is allowed here"]),
    (array_of([NUMBER], additionalItems=STRING), [1, 2], ["a.1: expected string, got integer"]),
    (
        object_of(c=NUMBER, b=NUMBER) | {"required": ["d", "b", "c"], "additionalProperties": False},
        {
            "x": 1,
            "b": "x",
            "c": "y",
        },
        ["a.d: missing", "a.c: expected number, got string", "a.b: expected number, got string", "a.x: unknown field"],
    ),
    (
        {"type": "object", "additionalProperties": NUMBER},
        {"b/c": "x", "d~e": "y"},
        [
            "a.b/c: expected number, got string",
            "a.d~e: expected number, got string",
        ],
    ),
    (
        {"type": "object", "patternProperties": {"^b": NUMBER}, "propertyNames": {"maxLength": 2}},
        {"b": "x", "long": 1},
        [
            "a.b: expected number, got string",
            "a.long: invalid property name",
        ],
    ),
    ({"type": "object", "minProperties": 1}, {}, ["a: expected at least 1 properties"]),
    ({"type": "object", "maxProperties": 0}, {"b": 1}, ["a: expected at most 0 properties"]),
    ({"type": "object", "dependentRequired": {"b": ["c", "d"]}}, {"b": 1, "d": 1}, ["a.c: required when b is present"]),
    ({"type": "object", "dependentSchemas": {"b": {"required": ["c"]}}}, {"b": 1}, ["a.c: missing"]),
    ({"allOf": [NUMBER, STRING]}, [], ["a: expected number, got array", "a: expected string, got array"]),
    ({"anyOf": [NUMBER, BOOLEAN]}, "x", ["a: expected number, got string"]),
    ({"anyOf": [NUMBER, object_of(b=NUMBER)]}, {"b": "x"}, ["a.b: expected number, got string"]),
    ({"anyOf": [{"type": "array", "maxItems": 0}, array_of(NUMBER)]}, ["x"], ["a.0: expected number, got string"]),
    (
        {"anyOf": [object_of(b=NUMBER), object_of(b=NUMBER, c=NUMBER)]},
        {"b": "x", "c": "y"},
        [
            "a.b: expected number, got string",
            "a.c: expected number, got string",
        ],
    ),
    (STRINGS, {"b": 1}, ["a.0: expected string, got object"]),
    ({"type": "array", "prefixItems": [NUMBER]}, "5", ["a: expected array, got string"]),
    ({"oneOf": [NUMBER, INTEGER, NULL]}, "5", ["a: matches more than one alternative"]),
    ({"oneOf": [NUMBER, {"minimum": 9}, INTEGER]}, 1, ["a: matches more than one alternative"]),
    (
        {"oneOf": [object_of(k={"const": "x"}), object_of(k={"const": "y"}, n=NUMBER)]},
        {"k": "z"},
        [
            'a.k: expected one of ["x","y"]',
        ],
    ),
    (
        {"oneOf": [object_of(k={"const": "x"}), object_of(k={"const": "y"}, n=NUMBER)]},
        {"k": "y", "n": "z"},
        [
            "a.n: expected number, got string",
        ],
    ),
    ({"not": {}}, 1, ["a: must not match the schema in not"]),
    ({"if": STRING, "then": {"minLength": 2}, "else": BOOLEAN}, "x", ["a: expected at least 2 characters"]),
    ({"if": STRING, "then": {"minLength": 2}, "else": BOOLEAN}, 5, ["a: expected boolean, got integer"]),
    ({"$ref": "#/$defs/number", "maximum": 1}, 2, ["a: expected <= 1"]),
    (
        {"$ref": "#/$defs/tree"},
        {"below": [{"below": [{"below": [{}, 5]}]}]},
        [
            "a.below.0.below.0.below.0.below: missing",
            "a.below.0.below.0.below.1: expected object, got integer",
        ],
    ),
    (False, 1, ["a: no value is allowed here"]),
]
"""A schema, what the model wrote for the required property `a` of that schema, and the lines that it is told."""


def parameters_of(schema: Json) -> dict[str, Json]:
    """Return the parameters of a tool that requires an `a` of that schema. It may refer to a number and to a tree."""
    tree = object_of(below=array_of({"$ref": "#/$defs/tree"})) | {"required": ["below"]}
    named = {"number": NUMBER, "tree": tree, "anchored": {"$anchor": "named", "type": "integer"}}
    return object_of(a=schema) | {"required": ["a"], "$defs": named}
