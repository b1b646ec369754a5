"""The queues of an agent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwheel.messages import user
from turnwheel.queues import MessageQueue

actions = st.lists(st.sampled_from(["put", "put", "drain", "clear", "one-at-a-time", "all"]))


class TestMessageQueue:
    """First in, first out."""

    def test_one_at_a_time(self) -> None:
        """By default a poll takes one message, the oldest."""
        queue = MessageQueue()
        queue.put(user("a"))
        queue.put(user("b"))

        assert [queue.drain(), queue.drain(), queue.drain()] == [(user("a"),), (user("b"),), ()]

    def test_all(self) -> None:
        """In mode all a poll takes everything, in order."""
        queue = MessageQueue("all")
        queue.put(user("a"))
        queue.put(user("b"))

        assert [queue.drain(), queue.drain()] == [(user("a"), user("b")), ()]

    def test_equal_messages_are_two(self) -> None:
        """Messages are not told apart by what they say: two equal ones come out twice."""
        queue = MessageQueue("all")
        queue.put(user(""))
        queue.put(user(""))

        assert len(queue.drain()) == 2

    def test_looking_takes_nothing(self) -> None:
        """Peeking shows what waits, as it is now, and leaves it."""
        queue = MessageQueue()
        queue.put(user("a"))
        seen = queue.peek()
        queue.put(user("b"))

        assert (seen, len(queue)) == ((user("a"),), 2)

    @pytest.mark.parametrize("mode", ["one-at-a-time", "all"])
    def test_an_empty_queue(self, mode: Any) -> None:
        """A queue with nothing in it gives nothing, and counts as false."""
        queue = MessageQueue(mode)

        assert (queue.drain(), queue.peek(), bool(queue)) == ((), (), False)

    @given(actions)
    def test_like_a_list(self, does: list[str]) -> None:
        """Whatever is done, in whatever mode, nothing is lost, doubled or reordered."""
        queue, model = MessageQueue(), list[Any]()
        for number, action in enumerate(does):
            if action == "put":
                queue.put(user(str(number)))
                model.append(user(str(number)))
            elif action == "drain":
                count = len(model) if queue.mode == "all" else 1
                assert queue.drain() == tuple(model[:count])
                del model[:count]
            elif action == "clear":
                queue.clear()
                model.clear()
            else:
                queue.mode = "all" if action == "all" else "one-at-a-time"
            assert (queue.peek(), len(queue)) == (tuple(model), len(model))
