"""Server-sent events: the same events, however the bytes are cut and however lines end."""

from __future__ import annotations

import time
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel_adapters.apis.failures import Broken
from turnwheel_adapters.apis.sse import Decoder, ServerEvent

PIECES = [
    b"data: {}",
    b"data:x",
    b"data",
    b"event: done",
    b": comment [DONE]",
    "data: 你好👋".encode(),
    "data: a\u2028b\u2029c\u0085d".encode(),
    b"id: 1",
    b"retry: 10",
    b'{"error": 1}',
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"",
]
ENDS = [b"\n", b"\r\n", b"\r"]


def read(*chunks: bytes) -> list[ServerEvent]:
    """Return all events of a body that comes in these pieces."""
    decoder = Decoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.end()


def data_of(*chunks: bytes) -> list[str]:
    """Return the data of all events."""
    return [event.data for event in read(*chunks)]


class TestCuts:
    """Where the bytes are cut."""

    @given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS))), st.data())
    def test_any_cut_gives_the_same(self, lines: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
        """A body gives the same events and strays in one piece and in any others."""
        body = b"".join(line + end for line, end in lines)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
        chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        whole, cut = Decoder(), Decoder()
        assert [*whole.feed(body), *whole.end()] == [e for c in chunks for e in cut.feed(c)] + cut.end()
        assert whole.strays == cut.strays
        assert read(body) == read(*(body[i : i + 1] for i in range(len(body))))

    def test_between_cr_and_lf(self) -> None:
        """A cut between CR and LF makes no blank line."""
        assert data_of(b"data: a\r", b"\ndata: b\r", b"", b"\n\r", b"\n") == ["a\nb"]

    def test_a_character_is_never_cut(self) -> None:
        """Bytes one by one give whole characters."""
        body = "data: 你好👋\n\n".encode()
        assert data_of(*(body[i : i + 1] for i in range(len(body)))) == ["你好👋"]

    def test_an_event_comes_with_its_blank_line(self) -> None:
        """An event is given as soon as it is whole, also where a lone CR ends it."""
        decoder = Decoder()
        assert decoder.feed(b"data: a\r\r") == [ServerEvent("message", "a")]
        assert decoder.feed(b"\ndata: b\n") == []
        assert decoder.feed(b"\n") == [ServerEvent("message", "b")]

    @pytest.mark.parametrize("size", [1, 7, 1 << 20])
    def test_linear(self, size: int) -> None:
        """One event of a megabyte costs about what many small ones do, in small pieces and in large ones."""
        body = b"data: " + b"x" * (1 << 20) + b"\n\n"
        began = time.perf_counter()
        assert len(data_of(*(body[i : i + size] for i in range(0, len(body), size)))[0]) == 1 << 20
        assert time.perf_counter() - began < 5


class TestLines:
    """What a line is, and what it says."""

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends(self, end: str) -> None:
        """LF, CRLF and CR end lines, and no event is seen twice."""
        assert data_of(f"data: a{end}data: b{end}{end}data: c{end}{end}".encode()) == ["a\nb", "c"]

    @pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
    def test_no_other_line_ends(self, mark: str) -> None:
        """What Python else calls a line end is part of the text."""
        assert data_of(f"data: a{mark}b\n\n".encode()) == [f"a{mark}b"]

    def test_one_blank_is_taken_off(self) -> None:
        """The blank behind the colon may be missing; a second one belongs to the data."""
        assert data_of(b"data:a\n\ndata: b\n\ndata:  c\n\n") == ["a", "b", " c"]

    def test_comments_are_ignored(self) -> None:
        """Lines that begin with a colon are nothing, whatever they say; data may begin with one."""
        assert data_of(b": PROCESSING\n\n:\n:ping\n: [DONE]\n\ndata: : x\n\n") == [": x"]

    def test_names(self) -> None:
        """An event has its name, which the next one does not inherit, even of an event without data."""
        assert read(b"event: a\ndata: 1\n\ndata: 2\n\nevent: b\n\ndata: 3\n\n") == [
            ServerEvent("a", "1"),
            ServerEvent("message", "2"),
            ServerEvent("message", "3"),
        ]

    def test_bom(self) -> None:
        """A byte order mark before the first line is no part of it, even when it is cut."""
        assert data_of(b"\xef", b"\xbb\xbfda", b"ta: a\n\n") == ["a"]

    def test_bytes_that_are_no_text(self) -> None:
        """What is no UTF-8 is shown as such, and nothing breaks."""
        assert data_of(b"data: a\xffb\n\n") == ["a\ufffdb"]


class TestEnd:
    """What is left when the body ends."""

    @pytest.mark.parametrize("rest", [b"", b"\n", b"\r"])
    def test_the_last_event_counts(self, rest: bytes) -> None:
        """An event without its blank line is an event, with or without the end of its line."""
        assert data_of(b"data: a\n\ndata: [DONE]" + rest) == ["a", "[DONE]"]

    def test_nothing_left(self) -> None:
        """A body that ended well gives no event more."""
        assert data_of(b"data: a\n\n") == ["a"]


class TestStrays:
    """Lines that belong to no event."""

    def test_are_kept(self) -> None:
        """A bare JSON error between events can be read."""
        decoder = Decoder()
        decoder.feed(b'data: a\n\n{\n "error": {\n  "code": 1\n }\n}')
        decoder.end()
        assert decoder.strays == '{\n "error": {\n  "code": 1\n }\n}\n'

    def test_not_without_end(self) -> None:
        """Of a long page only the first part is kept."""
        decoder = Decoder()
        decoder.feed(b"<p>x</p>\n" * 10_000)
        assert 0 < len(decoder.strays) < 20_000


class TestLargest:
    """One event may not grow for ever."""

    @pytest.mark.parametrize("chunk", [b"data: aaaaaaaa\n", b"aaaaaaaa"])
    def test_is_refused(self, chunk: bytes) -> None:
        """Many lines, or one line without an end, break the answer; what comes then begins anew."""
        decoder = Decoder(largest=100)
        with pytest.raises(Broken, match="more than 100 bytes"):
            deque((decoder.feed(chunk) for _ in range(100)), maxlen=0)
        assert decoder.end() == []

    def test_many_events_are_no_large_one(self) -> None:
        """The limit is on each event, not on all of them."""
        decoder = Decoder(largest=100)
        assert len(decoder.feed(b"data: aaaaaaaa\n\n" * 100)) == 100
