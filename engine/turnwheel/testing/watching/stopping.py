"""What a run promises about stopping and going on: hard stops, the order of the queues, and batches that terminate."""

from __future__ import annotations

from typing import Literal, final

from turnwheel import events as ev
from turnwheel.messages import AssistantMessage, Message
from turnwheel.testing.watching.monitor import Ended, Monitor, Seen, asked_by, described, is_failed


@final
class HardStop(Monitor):
    """After an answer with stop reason error or aborted only finishTurn, turn_end and agent_end follow.

    Or the failure sequence of Pi's Agent, where a listener or a hook fails right then.
    """

    name = "hard stop"
    promise = "After an answer that failed or was aborted no tool runs, no queue is asked and no message follows."

    def __init__(self) -> None:
        super().__init__()
        self._stopped = ""
        self._is_sure = False

    def see(self, seen: Seen) -> None:
        """Judge what follows an answer that failed or was aborted."""
        match seen:
            case ev.AgentStart() | ev.AgentEnd() | Ended():
                self._stopped = ""
            case ev.MessageEnd(message=AssistantMessage() as message) if is_failed(message):
                self.relevant += not self._stopped
                self._stopped = message.stop_reason
                self._is_sure = self.scene.is_answer
            case ev.MessageStart(message=message) if is_failed(message):
                pass
            case ev.MessageStart() if self._stopped and not self._is_sure:
                # It was no answer, but somebody's old message, which went in as a prompt or from a queue.
                self.relevant -= 1
                self._stopped = ""
            case ev.TurnEnd():
                self._is_sure = True
                if self._stopped and seen.tool_results:
                    self.blame(f"turn_end with results, after an answer with stop reason {self._stopped}")
            case _ if self._stopped and asked_by(seen) != "finish_turn":
                self.blame(f"{described(seen)} after an answer with stop reason {self._stopped}")
                self._stopped = ""


@final
class SteeringBeforeFollowUp(Monitor):
    """Only where queue polls are seen."""

    name = "steering before follow-up"
    promise = (
        "The follow-up queue is asked only where no result waits and the steering queue, asked just before, is empty."
    )

    def __init__(self) -> None:
        super().__init__()
        self._has_steering = False
        self._last: Seen | None = None

    def see(self, seen: Seen) -> None:
        """Judge a poll of the follow-up queue."""
        match asked_by(seen):
            case None:
                if isinstance(seen, ev.AgentStart | Ended):
                    self._has_steering = False
            case "poll_steering":
                self._has_steering = True
            case "poll_follow_up":
                self.relevant += 1
                self._judge()
        self._last = seen

    def _judge(self) -> None:
        if self.scene.chain:
            self.blame("the follow-up queue is asked while tool results wait for an answer")
        elif self._has_steering and self._last is not None and asked_by(self._last) != "poll_steering":
            self.blame(f"the follow-up queue is asked after {described(self._last)}, not after the steering queue")


@final
class TerminateByAll(Monitor):
    """Every call of a batch must say terminate to end the chain of turns; one is not enough.

    A stop hook may end a run all the same, and a finish hook (0.87.0) may ask for one more turn. An event log does not
    show whether there is one, so where it could have decided nothing is judged, unless `stop_hook` says that there is
    none.
    """

    name = "terminate by all"
    promise = "After a batch the run goes on, unless every call of it says terminate; then it stops if nobody speaks."

    def __init__(self, *, stop_hook: bool = True) -> None:
        super().__init__()
        self._may_have_hook = stop_hook
        self._begin()

    def _begin(self) -> None:
        self._due: Literal["turn", "end"] | None = None
        self._hooks: set[str] = set()

    def see(self, seen: Seen) -> None:
        """Judge what follows a batch."""
        match seen:
            case ev.AgentStart() | Ended():
                self._begin()
            case ev.TurnEnd() if self.scene.votes and not is_failed(seen.message):
                self._due = "turn" if self.scene.chain else "end"
            case ev.TurnStart():
                self._turn_started()
            case ev.MessageStart(message=message) if self._due is not None:
                self._message_started(message)
            case ev.AgentEnd() if self._due is not None:
                self._run_ended()
            case _ if (hook := asked_by(seen)) is not None:
                self._hooks.add(hook)

    def _turn_started(self) -> None:
        if self._due == "turn":
            self.relevant += 1
            self._due = None
        elif self._may_decide("finish_turn"):
            self._due = None
        self._hooks.clear()

    def _message_started(self, message: Message) -> None:
        """Judge the first message after a batch that should have been the last one."""
        is_answer = isinstance(message, AssistantMessage) and (self.scene.asked or not self.scene.shows_calls)
        # A failed one may tell of a run that broke off, before the next turn or before its messages were told of.
        if self._due == "end" and is_answer and not is_failed(message):
            self.relevant += 1
            self.blame("the run goes on, though every call said terminate and no message was injected")
        self._due = None

    def _run_ended(self) -> None:
        if self._due == "end":
            self.relevant += 1
        elif not self._may_decide("ask_to_stop", "finish_turn"):
            self.relevant += 1
            calls = ", ".join(vote.call for vote in self.scene.votes if not vote.terminate)
            self.blame(f"the run ends, though its last batch holds calls that did not say terminate: {calls}")
        self._due = None

    def _may_decide(self, *hooks: str) -> bool:
        """Say whether one of these hooks may have decided, as far as can be seen."""
        return not self._hooks.isdisjoint(hooks) if self.scene.shows_calls else self._may_have_hook
