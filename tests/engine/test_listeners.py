"""Who hears of events, and what happens when that changes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnwheel.listeners import Listener, Listeners


def named(name: str) -> Listener:
    """Return a listener that can be told from others."""
    return lambda event: name


A, B, C, D = map(named, "ABCD")


class Model:
    """An ordered set, simply: who came when. A walk goes on with whoever came next after the last one it met."""

    def __init__(self) -> None:
        self.came: dict[Listener, int] = {}
        self.count = 0

    def add(self, listener: Listener) -> None:
        if listener not in self.came:
            self.count += 1
            self.came[listener] = self.count

    def remove(self, listener: Listener) -> None:
        self.came.pop(listener, None)

    def walk(self) -> Iterator[Listener]:
        last = 0
        while left := {came: listener for listener, came in self.came.items() if came > last}:
            last = min(left)
            yield left[last]


one = st.sampled_from([A, B, C, D])
actions = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove"]), one)
    | st.tuples(st.sampled_from(["begin", "step", "step", "leave"]), st.integers(0, 2)),
    max_size=40,
)


class TestListeners:
    """An ordered set that may change while it is walked through."""

    def test_in_the_order_of_coming(self) -> None:
        """A walk meets all, in the order in which they came; coming twice counts once."""
        listeners = Listeners()
        for listener in (B, A, B, C):
            listeners.add(listener)

        assert ([*listeners], len(listeners)) == ([B, A, C], 3)

    def test_who_left_is_not_met(self) -> None:
        """One who leaves before its turn is not met any more in the same walk."""
        listeners = Listeners()
        for listener in (A, B, C):
            listeners.add(listener)
        walk = iter(listeners)
        next(walk)
        listeners.remove(B)

        assert [*walk] == [C]

    def test_who_came_is_met(self) -> None:
        """One who comes during a walk is met at its end, and one who left and came again a second time."""
        listeners = Listeners()
        listeners.add(A)
        walk = iter(listeners)
        met = [next(walk)]
        listeners.add(B)
        listeners.remove(A)
        listeners.add(A)

        assert [*met, *walk] == [A, B, A]

    def test_leaving_without_having_come(self) -> None:
        """Removing one who is not there does nothing."""
        listeners = Listeners()
        listeners.remove(A)

        assert [*listeners] == []

    @given(actions)
    def test_like_an_ordered_set(self, does: list[tuple[str, Any]]) -> None:
        """Whoever comes and goes, also during several walks at once, every walk meets whom it should."""
        listeners, model = Listeners(), Model()
        walks: dict[int, tuple[Iterator[Listener], Iterator[Listener]]] = {}
        for action, what in does:
            if action in ("add", "remove"):
                getattr(listeners, action)(what)
                getattr(model, action)(what)
            elif action == "begin":
                walks[what] = iter(listeners), model.walk()
            elif action == "leave":
                walks.pop(what, None)
            elif what in walks:
                ours, theirs = walks[what]
                assert next(ours, None) is next(theirs, None)
            assert len(listeners) == len(model.came)
        walks.clear()

        assert [*listeners] == [*model.walk()]

    @given(st.lists(st.tuples(one, st.booleans())))
    def test_nothing_is_kept(self, does: list[tuple[Listener, bool]]) -> None:
        """However often somebody comes and goes, no more is kept than there are listeners."""
        listeners = Listeners()
        for listener, comes in does:
            (listeners.add if comes else listeners.remove)(listener)

        assert len(listeners._row) == len(listeners)
