"""How JavaScript reads and writes numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel_tools.javascript import finite_number, is_blank, json_line, json_text, number_text, whole


class TestFiniteNumber:
    @pytest.mark.parametrize(
        "text", ["", "1e400", "-1e400", "0x" + "f" * 300, "Infinity", "NaN", "0x", "-0x1", "1 2", "٣"]
    )
    def test_is_none(self, text: str) -> None:
        """Too large for a double, or no number at all."""
        assert finite_number(text) is None

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_reads_what_is_written(self, number: float) -> None:
        """A number survives being written and read."""
        assert finite_number(number_text(number)) == number


class TestNumberText:
    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (0.0, "0"),
            (-0.0, "0"),
            (100.0, "100"),
            (-12.5, "-12.5"),
            (1e20, "100000000000000000000"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000001, "0.000001"),
            (1e-7, "1e-7"),
            (5e-324, "5e-324"),
            (2**53 + 1, "9007199254740992"),
            (10**400, "Infinity"),
            (-math.inf, "-Infinity"),
            (math.nan, "NaN"),
        ],
    )
    def test_is_written(self, number: float, text: str) -> None:
        """The shortest digits that tell the double, in JavaScript's form."""
        assert number_text(number) == text


class TestIsBlank:
    @pytest.mark.parametrize(("text", "blank"), [("", True), (" \ufeff\u2028", True), ("\x1c", False), (" x", False)])
    def test_is_what_javascript_trims(self, text: str, blank: bool) -> None:
        """The byte order mark is white space, the separators of ASCII are not."""
        assert is_blank(text) is blank


class TestWhole:
    @pytest.mark.parametrize(
        ("number", "kept"), [(2.0, False), (1e20, False), (1e21, True), (0.5, True), (math.inf, True)]
    )
    def test_is_kept(self, number: float, kept: bool) -> None:
        """A double becomes an int as far as it is written like one."""
        assert isinstance(whole(number), float) is kept


class TestJsonText:
    def test_numbers_that_json_does_not_have(self) -> None:
        """They are written as null."""
        assert json_text([math.inf, math.nan, 10**400]) == "[\n  null,\n  null,\n  null\n]"


class TestJsonLine:
    def test_has_no_spaces(self) -> None:
        """Everything is in one line, numbers and texts in JavaScript's form."""
        assert json_line({"a": [1.0, 1e21, None, True], "ü": "\ud800"}) == '{"a":[1,1e+21,null,true],"ü":"\\ud800"}'
