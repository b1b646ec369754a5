"""A transcript looks like an immutable list, whatever other transcripts on the same list do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.messages import Message, user
from turnwheel.transcript import Transcript

A, B, C, D = (user(letter) for letter in "abcd")
ALL: list[Message] = [A, B, C, D]


def shown(transcript: Transcript) -> list[Message]:
    """Return what a transcript holds."""
    return list(transcript)


class TestAppending:
    """A longer one next to the old one."""

    def test_the_old_one_stays(self) -> None:
        """Appending gives a longer transcript and leaves the old one as it was."""
        old = Transcript([A])
        new = old.appended(B, C)

        assert (shown(old), shown(new)) == ([A], [A, B, C])

    def test_two_ways_on(self) -> None:
        """Two continuations of one transcript do not see each other's messages."""
        root = Transcript([A])
        left, right = root.appended(B), root.appended(C)

        assert (shown(left), shown(right), shown(root)) == ([A, B], [A, C], [A])

    def test_each_fork_goes_on(self) -> None:
        """Both continuations can grow further, the older one after the newer one too."""
        root = Transcript([A])
        left, right = root.appended(B), root.appended(C)

        assert (shown(right.appended(D)), shown(left.appended(D))) == ([A, C, D], [A, B, D])

    def test_nothing_appended_is_still_a_fork(self) -> None:
        """Two transcripts of the same length on one list do not share what comes later."""
        root = Transcript([A])
        same = root.appended()
        grown = root.appended(B)

        assert (shown(same), shown(same.appended(C)), shown(grown)) == ([A], [A, C], [A, B])

    def test_growing_forward_copies_nothing(self) -> None:
        """A transcript that only grows at its end stands on one and the same list: it extends all earlier ones."""
        first = Transcript([A])
        last = first.appended(B).appended(C).appended(D)

        assert last.extends(first)

    def test_the_source_list_is_copied(self) -> None:
        """What becomes of the list that it was made of does not matter."""
        source: list[Message] = [A]
        transcript = Transcript(source)
        source.append(B)

        assert shown(transcript) == [A]

    def test_a_walk_under_way_sees_its_own_length(self) -> None:
        """An iteration that began before an append ends where the transcript ends."""
        old = Transcript([A, B])
        walk = iter(old)
        next(walk)
        old.appended(C)

        assert list(walk) == [B]


class TestExtends:
    """What is known without comparing."""

    def test_a_longer_one_extends(self) -> None:
        """A transcript extends the one that it was appended to, and itself; not the other way round."""
        old = Transcript([A])
        new = old.appended(B)

        assert (new.extends(old), old.extends(old), old.extends(new)) == (True, True, False)

    def test_a_fork_is_unknown(self) -> None:
        """A continuation that had to copy is not known to extend its origin's list."""
        root = Transcript([A])
        left, right = root.appended(B), root.appended(C)

        assert (right.extends(left), left.extends(right)) == (False, False)


class TestReading:
    """As a sequence."""

    @pytest.mark.parametrize("index", [2, -3, 100])
    def test_outside_is_an_error(self, index: int) -> None:
        """An index outside of the transcript is an error, even where the shared list has something there."""
        old = Transcript([A, B])
        old.appended(C, D)

        with pytest.raises(IndexError, match=f"transcript index {index} out of range, length 2"):
            old[index]

    def test_membership_stops_at_its_end(self) -> None:
        """A message that somebody else appended is not in the shorter transcript."""
        old = Transcript([A])
        old.appended(B)

        assert (A in old, B in old) == (True, False)

    def test_equality_is_by_messages(self) -> None:
        """Transcripts with equal messages are equal, on whichever list they stand; a list is no transcript."""
        assert Transcript([A, B]) == Transcript([A]).appended(B)
        assert Transcript([A]) != Transcript([B])
        assert Transcript([A]) != [A]

    def test_it_has_no_hash(self) -> None:
        """A transcript is no key: hashing it would walk through all of it."""
        with pytest.raises(TypeError, match="unhashable"):
            hash(Transcript([A]))

    def test_repr_is_short(self) -> None:
        """Printing one shows its length and its last roles."""
        assert repr(Transcript([A])) == "<Transcript of 1: user>"
        assert repr(Transcript(ALL)) == "<Transcript of 4: …, user, user, user>"

    @given(st.integers(0, 4), st.slices(6))
    def test_slices_as_a_list(self, length: int, part: slice) -> None:
        """Whatever the slice, it is that of a list of the same messages, though the shared list is longer."""
        transcript = Transcript(ALL[:length])
        transcript.appended(D, D)

        assert transcript[part] == ALL[:length][part]

    @given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(ALL)), max_size=12))
    def test_any_growth_is_that_of_lists(self, moves: list[tuple[int, Message]]) -> None:
        """A tree of transcripts, grown anywhere in any order, holds what copied lists would hold."""
        transcripts: list[Transcript] = [Transcript()]
        lists: list[list[Message]] = [[]]
        for turn, message in moves:
            at = turn % len(transcripts)
            transcripts.append(transcripts[at].appended(message))
            lists.append([*lists[at], message])

        assert [shown(transcript) for transcript in transcripts] == lists
        assert [len(transcript) for transcript in transcripts] == list(map(len, lists))
