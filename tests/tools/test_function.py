"""Tools out of functions: forty signatures, what they take, what they refuse, and what becomes of what they return."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

import anyio
import attrs
import jsonschema_rs
import msgspec
import pytest

from tests.engine.agents import within
from tests.tools.calling import RULES, call, called, text
from turnwheel.messages import ImageContent, TextContent, ToolResult
from turnwheel.tool import Tool
from turnwheel_adapters.apis.strict import fits_strict
from turnwheel_tools import ArgumentError, ToolError
from turnwheel_tools.contract import Aborted
from turnwheel_tools.function import tool
from turnwheel_tools.limits import MAX_BYTES
from turnwheel_tools.signature import CallId, Report
from turnwheel_tools.traits import is_read_only, replay_of


class Color(enum.Enum):
    red = "r"
    blue = "b"


class Level(enum.IntEnum):
    low = 1
    high = 2


class Options(TypedDict):
    deep: bool
    depth: NotRequired[int]


@attrs.frozen
class Point:
    x: float
    y: float = 0.0


@attrs.frozen
class Route:
    points: list[Point]
    name: str | None = None


@dataclass
class Size:
    width: int
    height: int


@attrs.frozen
class Bound:
    """What annotated-types calls a bound, by its attributes."""

    ge: int | None = None
    le: int | None = None


# Each function returns what it got, so that the types of its arguments can be looked at.
def f_str(a: str) -> Any:
    return a


def f_int(a: int) -> Any:
    return a


def f_float(a: float) -> Any:
    return a


def f_bool(a: bool) -> Any:
    return a


def f_any(a: Any) -> Any:
    return a


def f_none(a: None) -> Any:
    return a


def f_optional(a: str | None) -> Any:
    return a


def f_default(a: int = 3) -> Any:
    return a


def f_default_none(a: str | None = None) -> Any:
    return a


def f_literal(a: Literal["x", "y"]) -> Any:
    return a


def f_literal_int(a: Literal[1, 2]) -> Any:
    return a


def f_enum(a: Color) -> Any:
    return a


def f_enum_default(a: Color = Color.red) -> Any:
    return a


def f_int_enum(a: Level) -> Any:
    return a


def f_list(a: list[int]) -> Any:
    return a


def f_list_of_lists(a: list[list[str]]) -> Any:
    return a


def f_bare_list(a: list[Any]) -> Any:
    return a


def f_tuple(a: tuple[int, str]) -> Any:
    return a


def f_tuple_many(a: tuple[int, ...]) -> Any:
    return a


def f_set(a: set[str]) -> Any:
    return a


def f_dict(a: dict[str, int]) -> Any:
    return a


def f_dict_of_lists(a: dict[str, list[float]]) -> Any:
    return a


def f_bare_dict(a: dict[str, Any]) -> Any:
    return a


def f_typed_dict(a: Options) -> Any:
    return a


def f_attrs(a: Point) -> Any:
    return a


def f_attrs_nested(a: Route) -> Any:
    return a


def f_attrs_list(a: list[Point]) -> Any:
    return a


def f_attrs_optional(a: Point | None = None) -> Any:
    return a


def f_dataclass(a: Size) -> Any:
    return a


def f_union(a: int | str) -> Any:
    return a


def f_union_list(a: list[int | None]) -> Any:
    return a


def f_described(a: Annotated[str, "what it is"]) -> Any:
    return a


def f_meta(a: Annotated[int, msgspec.Meta(ge=1, le=9)]) -> Any:
    return a


def f_bounds(a: Annotated[int, Bound(ge=1), Bound(le=9)]) -> Any:
    return a


def f_pattern(a: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")]) -> Any:
    return a


def f_length(a: Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)]) -> Any:
    return a


def f_two(a: int, b: str = "z") -> Any:
    return [a, b]


def f_keyword_only(*, a: int) -> Any:
    return a


def f_nothing() -> Any:
    return "none"


async def f_async(a: int) -> Any:
    return a


Case = tuple[Callable[..., Any], dict[str, Any], Any, list[dict[str, Any]]]
CASES: Final[list[Case]] = [
    (f_str, {"a": "x"}, "x", [{}, {"a": []}, {"a": "x", "b": 1}]),
    (f_int, {"a": 3}, 3, [{}, {"a": "x"}, {"a": 1.5}]),
    (f_float, {"a": 1}, 1.0, [{"a": "x"}, {"a": {}}]),
    (f_bool, {"a": True}, True, [{"a": "x"}, {"a": 2}]),
    (f_any, {"a": [1, {"b": None}]}, [1, {"b": None}], [{}]),
    (f_none, {"a": None}, None, [{"a": "x"}]),
    (f_optional, {"a": None}, None, [{}, {"a": []}]),
    (f_default, {}, 3, [{"a": "x"}]),
    (f_default_none, {}, None, [{"a": []}]),
    (f_literal, {"a": "y"}, "y", [{"a": "z"}, {}]),
    (f_literal_int, {"a": 2}, 2, [{"a": 3}]),
    (f_enum, {"a": "b"}, Color.blue, [{"a": "blue"}, {"a": 1}]),
    (f_enum_default, {}, Color.red, [{"a": "x"}]),
    (f_int_enum, {"a": 2}, Level.high, [{"a": 3}]),
    (f_list, {"a": [1, 2]}, [1, 2], [{"a": ["x"]}, {"a": {"b": 1}}]),
    (f_list_of_lists, {"a": [["x"], []]}, [["x"], []], [{"a": [[[]]]}]),
    (f_bare_list, {"a": [1, "x"]}, [1, "x"], [{"a": {"b": 1}}]),
    (f_tuple, {"a": [1, "x"]}, (1, "x"), [{"a": [1]}, {"a": [1, "x", 2]}]),
    (f_tuple_many, {"a": [1, 2, 3]}, (1, 2, 3), [{"a": ["x"]}]),
    (f_set, {"a": ["x", "y"]}, {"x", "y"}, [{"a": [[]]}]),
    (f_dict, {"a": {"k": 1}}, {"k": 1}, [{"a": {"k": "x"}}, {"a": [1]}]),
    (f_dict_of_lists, {"a": {"k": [1]}}, {"k": [1.0]}, [{"a": {"k": ["x"]}}]),
    (f_bare_dict, {"a": {"k": [1]}}, {"k": [1]}, [{"a": [1]}]),
    (f_typed_dict, {"a": {"deep": True}}, {"deep": True}, [{"a": {}}, {"a": {"deep": True, "x": 1}}]),
    (f_attrs, {"a": {"x": 1}}, Point(1.0), [{"a": {}}, {"a": {"x": 1, "z": 2}}, {"a": {"x": "q"}}]),
    (f_attrs_nested, {"a": {"points": [{"x": 1}]}}, Route([Point(1.0)]), [{"a": {"points": [{}]}}]),
    (f_attrs_list, {"a": [{"x": 1, "y": 2}]}, [Point(1.0, 2.0)], [{"a": [{"y": 1}]}]),
    (f_attrs_optional, {"a": {"x": 1}}, Point(1.0), [{"a": {"y": 1}}]),
    (f_dataclass, {"a": {"width": 1, "height": 2}}, Size(1, 2), [{"a": {"width": 1}}]),
    (f_union, {"a": "x"}, "x", [{"a": []}]),
    (f_union_list, {"a": [1, None]}, [1, None], [{"a": ["x"]}]),
    (f_described, {"a": "x"}, "x", [{}]),
    (f_meta, {"a": 9}, 9, [{"a": 0}, {"a": 10}]),
    (f_bounds, {"a": 1}, 1, [{"a": 0}, {"a": 10}]),
    (f_pattern, {"a": "abc"}, "abc", [{"a": "ABC"}]),
    (f_length, {"a": [1]}, [1], [{"a": []}, {"a": [1, 2, 3]}]),
    (f_two, {"a": 1}, [1, "z"], [{"b": "x"}, {"a": 1, "c": 1}]),
    (f_keyword_only, {"a": 1}, 1, [{}]),
    (f_nothing, {}, "none", [{"a": 1}]),
    (f_async, {"a": 1}, 1, [{"a": "x"}]),
]


OPEN: Final = {f_dict, f_dict_of_lists, f_bare_dict, f_typed_dict, f_attrs, f_attrs_nested, f_attrs_list}
"""Those whose objects have keys that are not known, or that may be left out: no strict mode takes such."""


def name_of(case: Case) -> str:
    return case[0].__name__


class TestSignatures:
    def test_there_are_forty(self) -> None:
        """So many signatures are tried."""
        assert len(CASES) == len({name_of(case) for case in CASES}) == 40

    @pytest.mark.parametrize("case", CASES, ids=name_of)
    def test_the_schema(self, case: Case) -> None:
        """The schema is JSON schema, takes no argument that the function lacks, and its objects are closed."""
        schema = tool(case[0]).parameters

        jsonschema_rs.meta.validate(dict(schema))
        assert schema["additionalProperties"] is False
        if not set(schema["properties"]) - set(schema["required"]) and case[0] not in OPEN:
            assert fits_strict(schema)

    @pytest.mark.parametrize("case", CASES, ids=name_of)
    def test_what_is_taken(self, case: Case) -> None:
        """Arguments that fit are made into the types that the function names."""
        function, arguments, got, _ = case
        seen: list[Any] = []

        made = tool(function)
        inner = made.run
        spied = attrs.evolve(inner, function=_spy(function, seen))
        call(attrs.evolve(made, run=spied), **arguments)

        assert seen == [got]
        assert type(seen[0]) is type(got)

    @pytest.mark.parametrize(
        ("case", "wrong"), [(case, wrong) for case in CASES for wrong in case[3]], ids=lambda each: str(each)[:40]
    )
    def test_what_is_refused(self, case: Case, wrong: dict[str, Any]) -> None:
        """Arguments that do not fit are refused with a text for the model, and the function does not run."""
        with pytest.raises(ArgumentError, match="Validation failed"):
            call(tool(case[0]), **wrong)


def _spy(function: Callable[..., Any], seen: list[Any]) -> Callable[..., Any]:
    import inspect

    if inspect.iscoroutinefunction(function):

        async def noted(**keywords: Any) -> str:
            seen.append(await function(**keywords))
            return ""

        return noted

    def plain(**keywords: Any) -> str:
        seen.append(function(**keywords))
        return ""

    return plain


class TestDescriptions:
    def test_from_the_docstring(self) -> None:
        """The docstring describes the tool and, where it does, each parameter; Annotated outranks it."""

        @tool
        def look(path: str, depth: Annotated[int, "how deep"] = 1) -> str:
            """Look at a file.

            With care.

            Args:
                path: which one
                depth: is outranked
            """
            return path

        assert (look.name, look.description) == ("look", "Look at a file.\n\nWith care.")
        assert look.parameters["properties"]["path"]["description"] == "which one"
        assert look.parameters["properties"]["depth"] == {"description": "how deep", "type": "integer", "default": 1}

    def test_by_hand(self) -> None:
        """Name, description and traits may be given."""
        made = tool(name="see", description="See it.", read_only=True, replay="safe", sequential=True)(f_str)

        assert (made.name, made.description, made.execution_mode) == ("see", "See it.", "sequential")
        assert (is_read_only(made), replay_of(made)) == (True, "safe")

    def test_an_object_that_can_be_called(self) -> None:
        """An object with a method __call__ is as good as a function."""

        class Adder:
            def __call__(self, a: int) -> int:
                """Add one."""
                return a + 1

        assert text(call(tool(name="add")(Adder()), a=1)) == "2"


class TestOffered:
    def test_what_the_host_offers(self) -> None:
        """Parameters annotated for it get the call's id, the signal and the way to report, and are no arguments."""
        told: list[str] = []

        @tool
        def work(a: int, call_id: CallId, stop: Aborted, say: Report) -> str:
            say("half")
            return f"{call_id} {stop()} {a}"

        assert list(work.parameters["properties"]) == ["a"]
        assert text(call(work, told=told.append, a=1)) == "c1 False 1"
        assert told == ["half"]


class TestResults:
    @pytest.mark.parametrize(
        ("returned", "said"),
        [
            ("text", "text"),
            (None, ""),
            ({"a": [1, None]}, '{"a": [1, null]}'),
            (3, "3"),
            ([TextContent("a"), TextContent("b")], "ab"),
            (ToolResult.of("made"), "made"),
            ({1, 2}, "{1, 2}"),
            (float("nan"), "NaN"),
        ],
    )
    def test_whatever_is_returned(self, returned: Any, said: str) -> None:
        """A text, blocks, a result, any JSON value, and values that are none."""

        @tool
        def work() -> Any:
            return returned

        assert text(call(work)).strip('"') == said

    def test_an_image(self) -> None:
        """An image block is content."""

        @tool
        def show() -> ImageContent:
            return ImageContent("aGk=", "image/png")

        assert call(show).content == (ImageContent("aGk=", "image/png"),)

    def test_much_text(self) -> None:
        """Much text is cut, and that is said."""

        @tool
        def work() -> str:
            return "line\n" * 100_000

        said = text(call(work))
        assert len(said) < MAX_BYTES + 100
        assert said.endswith("of 500,000 bytes are shown.]")

    def test_it_raises(self) -> None:
        """What a function raises is what the call raises."""

        @tool
        def work() -> None:
            raise ValueError("no such thing")

        with pytest.raises(ValueError, match="no such thing"):
            call(work)

    def test_terminate(self) -> None:
        """With terminate each result wants the chain of turns to end."""
        assert call(tool(terminate=True)(f_str), a="x").terminate is True

    @within(10)
    async def test_a_timeout(self) -> None:
        """A call that takes too long fails, of a plain function and of a coroutine function."""

        @tool(timeout=0.05)
        def plain() -> None:
            time.sleep(0.3)

        @tool(timeout=0.05)
        async def slow() -> None:
            await anyio.sleep(5)

        for each in (plain, slow):
            with pytest.raises(ToolError, match=f"{each.name} took longer than 0.05 seconds"):
                await called(each)


class TestRefusals:
    def test_no_type(self) -> None:
        """A parameter without a type is told of when the tool is made."""
        with pytest.raises(TypeError, match="a: the parameter has no type"):
            tool(lambda a: a)

    def test_no_names(self) -> None:
        """A parameter that has no name to be given by is told of."""

        def work(*args: int) -> None: ...

        with pytest.raises(TypeError, match="args: a tool's parameters are given by name"):
            tool(work)

    def test_a_type_without_a_schema(self) -> None:
        """A type of which no schema can be made is told of."""

        def work(a: Tool) -> None: ...
        def other(a: Callable[[str], int]) -> None: ...

        with pytest.raises(TypeError, match="a: no schema can be made"):
            tool(other)
        assert RULES
        del work
