"""What was queued is never lost, whenever and however a run breaks off."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.engine.agents import agent_of, both, later, raising, text_of, when
from tests.engine.by_hand import word
from turnwheel.agent import Agent
from turnwheel.messages import CustomMessage, user
from turnwheel.queues import MessageQueue


class TestQueued:
    """What was queued is never lost."""

    def queued(self, agent: Agent) -> list[str]:
        """Return the texts that wait in both queues."""
        return [text_of(message) for message in (*agent.queued_steering, *agent.queued_follow_up)]

    def test_put_from_another_thread(self) -> None:
        """What another thread puts in while mode all takes everything is taken now or later, in order."""
        queue, count, taken = MessageQueue("all"), 30_000, list[str]()

        def feed() -> None:
            for number in range(count):
                queue.put(user(str(number)))

        feeder, before = threading.Thread(target=feed), sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            feeder.start()
            while feeder.is_alive() or queue:
                taken += map(text_of, queue.drain())
        finally:
            sys.setswitchinterval(before)

        assert taken == [str(number) for number in range(count)]

    @pytest.mark.parametrize("mode", ["one-at-a-time", "all"])
    @pytest.mark.parametrize("kind", ["steer", "follow_up"])
    def test_a_hook_raises_after_the_poll(self, kind: str, mode: Any) -> None:
        """What was taken for a turn that never came is back in front, in its order."""
        agent = agent_of(
            "hi", "more", prepare_next_turn=raising(ValueError("hook")), steering_mode=mode, follow_up_mode=mode
        )

        texts = [*"ab"]

        def feed() -> None:
            while texts:
                getattr(agent, kind)(texts.pop(0))

        agent.subscribe(when("turn_end", feed))
        anyio.run(agent.prompt, "go")

        assert self.queued(agent) == ["a", "b"]

    def test_a_listener_raises_at_one_of_several(self) -> None:
        """What was told is in the transcript; what was only begun, and what comes behind it, waits again."""
        agent = agent_of("hi", steering_mode="all")
        for text in "abc":
            agent.steer(text)

        def listen(event: Any) -> None:
            if word(event) == "start user" and text_of(event.message) == "b":
                raise ValueError("listener")

        agent.subscribe(listen)
        anyio.run(agent.prompt, "go")

        assert [text_of(message) for message in agent.state.messages[:-1]] == ["go", "a"]
        assert self.queued(agent) == ["b", "c"]

    def test_seen_by_who_hears_of_the_failure(self) -> None:
        """A listener of agent_end sees what waits again."""
        agent, seen = agent_of("hi"), list[list[str]]()
        agent.steer("a")
        agent.subscribe(when("agent_end", lambda: seen.append(self.queued(agent))))
        agent.subscribe(lambda event: 1 / 0 if word(event) == "start user" and agent.state.messages else None)
        anyio.run(agent.prompt, "go")

        assert seen == [["a"]]

    @both
    async def test_cancelled_at_every_point(self) -> None:
        """Wherever a run is cancelled, a message that was queued is in the transcript or waits, and never both."""
        limit, ended = 0, list[bool]()
        while not ended:
            limit += 1
            agent = agent_of(["a"], "hi", prepare_next_turn=later(lambda turn: None))
            agent.subscribe(later(bool))
            agent.follow_up("f")
            agent.steer("s")
            agent.subscribe(when("agent_end", lambda: ended.append(True)))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(agent.prompt, "go")
                for _ in range(limit):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            told = [text_of(message) for message in agent.state.messages if message.role == "user"]

            assert sorted(said for said in [*told, *self.queued(agent)] if said != "go") == ["f", "s"]

    @pytest.mark.parametrize("kind", ["steer", "follow_up"])
    @pytest.mark.parametrize("broken", ["clock", "listener"])
    def test_going_on_with_them(self, broken: str, kind: str) -> None:
        """Where going on breaks off before its prompts were told, they wait again."""
        breaks: list[bool] = []

        def clock() -> int:
            return 1 // (not (breaks and broken == "clock"))

        agent = agent_of("hi", "more", clock=clock, steering_mode="all", follow_up_mode="all")
        agent.run_sync("go")
        for text in "ab":
            getattr(agent, kind)(text)
        if broken == "listener":
            agent.subscribe(when("agent_start", raising(ValueError("listener"))))
        breaks.append(True)
        with suppress(ZeroDivisionError):
            anyio.run(agent.continue_)

        assert self.queued(agent) == ["a", "b"]

    def test_a_clear_meanwhile(self) -> None:
        """What is cleared while it is on its way in does not come back."""
        agent = agent_of("hi")
        agent.steer("a")

        def listen(event: Any) -> None:
            if word(event) == "start user" and text_of(event.message) == "a":
                agent.clear_queues()
                raise ValueError("listener")

        agent.subscribe(listen)
        anyio.run(agent.prompt, "go")

        assert self.queued(agent) == []

    def test_a_system_message_that_was_rewritten(self) -> None:
        """A system message that the loop rewrites on its way in has been told, and does not come back."""
        agent = agent_of("hi", dialect="pi-1.6.0")
        agent.steer(CustomMessage("system", "be brief", 1, extra={"toolsAdded": []}))
        agent.run_sync("go")

        assert self.queued(agent) == []

    def test_once(self) -> None:
        """What has been put back is not put back again, and new messages queue behind it."""
        queue = MessageQueue("all")
        queue.put(user("a"))
        queue.drain()
        queue.put(user("b"))
        queue.put_back()
        queue.put_back()

        assert [text_of(message) for message in queue.peek()] == ["a", "b"]
