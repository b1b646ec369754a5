"""The promise that what starts also ends, in its place."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, Literal, final

from turnwheel import events as ev
from turnwheel.events import Event
from turnwheel.messages import AssistantMessage, Message, ToolResultMessage
from turnwheel.testing.watching.monitor import Ended, Monitor, Seen, described, is_failed

_FAILURE: Final = (ev.MessageEnd, ev.TurnEnd, ev.AgentEnd)
"""What follows the start of the one message of a failure sequence."""


@final
class Lifecycle(Monitor):
    """One agent_start first, one agent_end last; turns one after the other, messages and calls inside them.

    A run that raised may stop anywhere. The failure sequence of Pi's Agent (0.80.2) may come anywhere after
    agent_start, and what was open needs no end then: one whole answer that failed, turn_end, and an agent_end that
    carries only that answer.
    """

    name = "lifecycle"
    promise = (
        "A trace is one agent_start, turns one after the other, and one agent_end; what starts inside ends inside."
    )

    def __init__(self) -> None:
        super().__init__()
        self._begin()
        self._trace: Literal["none", "open", "over"] = "none"

    def _begin(self) -> None:
        self._trace = "open"
        self._turns = 0
        self._in_turn = False
        self._answered = False
        self._message: Message | None = None
        self._calls: Counter[str] = Counter()
        self._failure: list[type[Event]] = []

    def see(self, seen: Seen) -> None:
        """Judge an event, or the end of the run."""
        if isinstance(seen, Ended):
            if self._trace == "open" and seen.error is None:
                self.blame("the run returned, and there was no agent_end")
            self._trace = "none"
        elif isinstance(seen, Event):
            self.relevant += 1
            if isinstance(seen, ev.AgentStart):
                self._agent_start()
            elif self._is_inside(seen):
                self._event(seen)

    def finish(self) -> None:
        """Blame a trace that has no end."""
        if self._trace == "open":
            self.blame("the log ends, and there was no agent_end")
        self._trace = "none"
        super().finish()

    def _agent_start(self) -> None:
        if self._trace == "open":
            self.blame("agent_start, and the trace before it has no agent_end")
        self._begin()

    def _is_inside(self, event: Event) -> bool:
        """Say whether an event can be judged as part of a trace; a missing agent_start is blamed once."""
        if self._trace == "open":
            return True
        self.blame(f"{described(event)} {'after agent_end' if self._trace == 'over' else 'before agent_start'}")
        if self._trace == "over" and not isinstance(event, ev.TurnStart):
            return False
        self._begin()
        self._in_turn = not isinstance(event, ev.TurnStart)
        return True

    def _event(self, event: Event) -> None:
        if self._failure:
            self._failing(event)
        elif isinstance(event, ev.MessageStart) and is_failed(event.message) and self._is_disturbed():
            self._failure = [*_FAILURE]
        elif (judge := self._JUDGES.get(type(event))) is not None:
            judge(self, event)

    # --- the failure sequence -------------------------------------------------------------------------------------

    def _is_disturbed(self) -> bool:
        """Say whether a whole failed answer cannot be the answer of a turn here."""
        return not self._in_turn or self._answered or self._message is not None or self._calls.total() > 0

    def _failing(self, event: Event) -> None:
        if type(event) is not self._failure[0]:
            self.blame(f"{described(event)} in the events of a failure, where {self._failure[0].type} belongs")
        if type(event) in self._failure:
            del self._failure[: self._failure.index(type(event)) + 1]
        if isinstance(event, ev.AgentEnd):
            if len(event.messages) != 1:
                self.blame("agent_end after a failure carries more than the answer that tells of it")
            self._trace = "over"

    # --- the events of a run that goes well -----------------------------------------------------------------------

    def _turn_start(self, event: ev.TurnStart) -> None:
        self._expect_ended(event)
        if self._in_turn:
            self.blame("turn_start, and the turn before it has not ended")
        self._in_turn, self._answered = True, False
        self._turns += 1

    def _turn_end(self, event: ev.TurnEnd) -> None:
        self._expect_turn(event)
        self._expect_ended(event)
        self._in_turn = False

    def _agent_end(self, event: ev.AgentEnd) -> None:
        self._expect_ended(event)
        if self._in_turn:
            self.blame("agent_end, and the turn has not ended")
        elif not self._turns:
            self.blame("agent_end, and there was no turn")
        self._trace = "over"

    def _message_start(self, event: ev.MessageStart) -> None:
        self._expect_turn(event)
        self._expect_ended(event)
        self._message = event.message

    def _message_update(self, event: ev.MessageUpdate) -> None:
        if not isinstance(self._message, AssistantMessage):
            self.blame("message_update, and no answer has started")

    def _message_end(self, event: ev.MessageEnd) -> None:
        if self._message is None:
            self.blame(f"{described(event)}, and it has not started")
        elif _identity(self._message) != _identity(event.message):
            self.blame(f"{described(event)}, and another message has started")
        self._message = None
        self._answered |= isinstance(event.message, AssistantMessage) and self.scene.is_answer

    def _tool_start(self, event: ev.ToolExecutionStart) -> None:
        self._expect_turn(event)
        self._expect_no_message(event)
        self._calls[event.tool_call_id] += 1

    def _tool_update(self, event: ev.ToolExecutionUpdate) -> None:
        self._expect_no_message(event)

    def _tool_end(self, event: ev.ToolExecutionEnd) -> None:
        self._expect_no_message(event)
        if not self._calls[event.tool_call_id]:
            self.blame(f"{described(event)}, and it has not started")
        else:
            self._calls[event.tool_call_id] -= 1

    # --- what they have in common ---------------------------------------------------------------------------------

    def _expect_turn(self, event: Event) -> None:
        if not self._in_turn:
            self.blame(f"{described(event)} outside of a turn")

    def _expect_no_message(self, event: Event) -> None:
        if self._message is not None:
            self.blame(f"{described(event)}, and message_end ({self._message.role}) is missing")
            self._message = None

    def _expect_ended(self, event: Event) -> None:
        self._expect_no_message(event)
        for call in self._calls.elements():
            self.blame(f"{described(event)}, and tool_execution_end of {call} is missing")
        self._calls.clear()

    _JUDGES: Final[dict[type[Event], Any]] = {
        ev.TurnStart: _turn_start,
        ev.TurnEnd: _turn_end,
        ev.AgentEnd: _agent_end,
        ev.MessageStart: _message_start,
        ev.MessageUpdate: _message_update,
        ev.MessageEnd: _message_end,
        ev.ToolExecutionStart: _tool_start,
        ev.ToolExecutionUpdate: _tool_update,
        ev.ToolExecutionEnd: _tool_end,
    }


def _identity(message: Message) -> tuple[str, str]:
    """Return what a message has in common from its start to its end."""
    return message.role, message.tool_call_id if isinstance(message, ToolResultMessage) else ""
