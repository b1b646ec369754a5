"""How a text is cut down to what a model is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnwheel_tools.limits import Head, truncate_head

LINES = st.lists(st.text(st.sampled_from("aü€😀\r "), max_size=6).map(lambda text: text + "\n"), max_size=8)
LIMITS = (st.integers(1, 6), st.integers(1, 24))


class TestTruncateHead:
    @given(LINES, *LIMITS)
    def test_what_is_shown_and_what_is_left_is_the_text(self, lines: list[str], max_lines: int, max_bytes: int) -> None:
        """Whole lines from the start, or the beginning of the first; nothing is lost or changed."""
        head = truncate_head(lines, max_lines, max_bytes)

        if head.partial:
            assert lines[0].startswith(head.text)
            assert head.lines == 0
        else:
            assert head.text + "".join(lines[head.lines :]) == "".join(lines)

    @given(LINES, *LIMITS)
    def test_never_over_the_limits(self, lines: list[str], max_lines: int, max_bytes: int) -> None:
        """Neither limit is exceeded, in whole lines nor in the beginning of one."""
        head = truncate_head(lines, max_lines, max_bytes)

        assert head.lines <= max_lines
        assert len(head.text.encode()) <= max_bytes

    @given(LINES, *LIMITS)
    def test_as_much_as_fits(self, lines: list[str], max_lines: int, max_bytes: int) -> None:
        """One line more, or one character more of a partial line, would not have fitted."""
        head = truncate_head(lines, max_lines, max_bytes)
        more = lines[0][: len(head.text) + 1] if head.partial else "".join(lines[: head.lines + 1])

        assert head.lines in (len(lines), max_lines) or len(more.encode()) > max_bytes

    def test_exactly_the_limits(self) -> None:
        """A text that is just as long as allowed is whole."""
        assert truncate_head(["ab\n", "c\n"], 2, 5) == Head("ab\nc\n", 2)

    def test_a_character_is_not_split(self) -> None:
        """The beginning of a long line ends with a whole character."""
        assert truncate_head(["a€€\n"], 1, 5) == Head("a€", 0, partial=True)

    def test_no_lines(self) -> None:
        """Nothing gives nothing, and that is not partial."""
        assert truncate_head([], 1, 1) == Head("", 0)
