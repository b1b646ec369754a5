"""What a tool's function is offered, and what becomes of whatever it gives back."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.messages import ABSENT, ImageContent, TextContent, ToolResult
from turnwheel.running import as_result, taken

OFFERED = {"call_id": "c1", "report": print, "aborted": bool}
IMAGE = ImageContent("aGk=", "image/png")

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def text(result: ToolResult) -> str:
    """Return the one text of a result."""
    assert isinstance(result.content, tuple)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


class TestAsResult:
    """Whatever comes back becomes a result."""

    def test_a_result(self) -> None:
        """A result is taken as it is."""
        result = ToolResult.of("ok", details={"a": 1}, terminate=True)

        assert as_result(result) is result

    def test_a_result_with_a_text_for_content(self) -> None:
        """A text where blocks should be becomes a block, and the rest of the result stays."""
        content: Any = "ok"

        assert as_result(ToolResult(content, details=1)) == ToolResult((TextContent("ok"),), details=1)

    def test_nothing(self) -> None:
        """None is an empty result: content is an empty list, not absent."""
        assert as_result(None) == ToolResult(())

    def test_a_text(self) -> None:
        """A text becomes a block of text, an empty one too."""
        assert as_result("ok") == ToolResult((TextContent("ok"),))
        assert as_result("") == ToolResult((TextContent(""),))

    @pytest.mark.parametrize("blocks", [[TextContent("a"), IMAGE], (IMAGE,)])
    def test_blocks(self, blocks: Any) -> None:
        """Blocks, in a list or a tuple, become the content."""
        assert as_result(blocks) == ToolResult(tuple(blocks))

    def test_one_block(self) -> None:
        """A block alone is the whole content."""
        assert as_result(IMAGE) == ToolResult((IMAGE,))

    @given(values.filter(lambda value: value is not None and not isinstance(value, str)))
    def test_json(self, value: Any) -> None:
        """Any other JSON value becomes its JSON text, which reads back as the same value."""
        assert json.loads(text(as_result(value))) == value

    def test_letters_stay_readable(self) -> None:
        """Text in a JSON value is not escaped."""
        assert text(as_result({"a": "héllo 世界"})) == '{"a": "héllo 世界"}'

    def test_blocks_and_others_mixed(self) -> None:
        """A list that is not all blocks is a value like any other."""
        assert "a" in text(as_result([TextContent("a"), 1]))

    @pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), {(1, 2): 3}, {object(): 1}])
    def test_what_json_does_not_know(self, value: Any) -> None:
        """A value that JSON cannot say becomes some text; a tool that did its work does not fail for it."""
        assert text(as_result(value))

    def test_details_are_not_made_up(self) -> None:
        """What is not a result has no details, and does not ask to stop."""
        result = as_result({"terminate": True})

        assert (result.details, result.terminate) == (ABSENT, ABSENT)


class Callish:
    """A callable that is compared by its value, and so has no hash."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callish)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, arguments: Any, *, call_id: str) -> str:
        return call_id


class TestTaken:
    """A function gets what it names of what is offered."""

    @pytest.mark.parametrize(
        ("run", "names"),
        [
            (lambda arguments: None, set()),
            (lambda arguments, call_id: None, {"call_id"}),
            (lambda arguments, *, report, aborted: None, {"report", "aborted"}),
            (lambda arguments, *, mine=1, aborted: None, {"aborted"}),
            (lambda arguments, **all: None, set(OFFERED)),
            (lambda arguments, *rest: None, set()),
            (partial(lambda more, arguments, *, call_id: None, 1), {"call_id"}),
        ],
    )
    def test_by_name(self, run: Callable[..., Any], names: set[str]) -> None:
        """Keyword parameters that are named are given, those that are not are left out, and ** takes all."""
        assert taken(run, OFFERED) == {name: OFFERED[name] for name in names}

    def test_a_method(self) -> None:
        """A bound method is looked at without its self."""
        assert taken(Callish().__call__, OFFERED) == {"call_id": "c1"}

    @pytest.mark.parametrize("run", [lambda report: None, lambda call_id, *, aborted: None])
    def test_the_arguments_themselves(self, run: Callable[..., Any]) -> None:
        """The first parameter is for the arguments, whatever it is called: it is not given twice."""
        run({}, **taken(run, OFFERED))

    def test_a_function_without_a_hash(self) -> None:
        """A callable need not be hashable."""
        assert taken(Callish(), OFFERED) == {"call_id": "c1"}

    def test_a_function_without_a_signature(self) -> None:
        """A builtin that does not tell its parameters is called with the arguments alone."""
        assert taken(dict, OFFERED) == {}
