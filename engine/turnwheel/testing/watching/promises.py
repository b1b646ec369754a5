"""What a turn promises: one model call and one answer, and the results of its calls in their order."""

from __future__ import annotations

from collections import Counter
from typing import final

from turnwheel import events as ev
from turnwheel.messages import AssistantMessage, ToolResultMessage
from turnwheel.testing.watching.monitor import Ended, Monitor, Seen, about_call, asked_by, described, is_failed


@final
class OneModelCallATurn(Monitor):
    """One answer in each turn, and, where calls are seen, one model call.

    An assistant message that a queue or a prompt injected is no answer. In an event log one that is neither streamed
    nor preceded by a streamed one may be injected, so it is not held against the turn.
    """

    name = "one model call a turn"
    promise = "A turn holds one model call and its one answer, and turn_end carries that answer."

    def __init__(self) -> None:
        super().__init__()
        self._in_turn = False
        self._answer: AssistantMessage | None = None
        self._is_sure = False

    def see(self, seen: Seen) -> None:
        """Judge model calls, answers and the ends of turns."""
        match seen:
            case ev.TurnStart() | ev.AgentStart() | Ended():
                self._in_turn = isinstance(seen, ev.TurnStart)
                self._answer, self._is_sure = None, False
            case ev.MessageEnd(message=AssistantMessage() as message):
                self._answered(message)
            case ev.TurnEnd() if self._in_turn:
                self._in_turn = False
                self.relevant += 1
                self._turn_ended(seen.message)
            case _ if asked_by(seen) == "call_model":
                self._asked()

    def _asked(self) -> None:
        if not self._in_turn:
            self.blame("the model is asked outside of a turn")
        elif self.scene.asked > 1:
            self.blame("the model is asked again in the same turn")
        elif self.scene.in_message:
            self.blame("the model is asked while a message has not ended")

    def _answered(self, message: AssistantMessage) -> None:
        # A failed one after an answer tells of a run that broke off.
        if (self._is_sure or self.scene.votes) and not is_failed(message):
            self.blame("a second answer in the same turn")
        self._answer = message
        self._is_sure |= self.scene.is_answer

    def _turn_ended(self, message: AssistantMessage) -> None:
        if self._answer is None:
            self.blame("turn_end, and the turn has no answer")
        elif self._answer != message:
            self.blame("turn_end carries another message than the answer of the turn")
        if self.scene.shows_calls and not self.scene.asked and not is_failed(message):
            self.blame("turn_end, and the model was not asked")


@final
class ResultsInCallOrder(Monitor):
    """Calls are taken up, and their results follow, in the order in which the answer names them.

    The rest of an aborted batch may lack both start and result (0.80.2 to 1.5).
    """

    name = "results in call order"
    promise = (
        "The results of a turn follow in the order of the calls of its answer, one for each call that was taken up."
    )

    def __init__(self) -> None:
        super().__init__()
        self._begin(())

    def _begin(self, calls: tuple[str, ...]) -> None:
        self._calls = calls
        self._next = 0
        self._started = 0
        self._running: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._results: list[tuple[int, ToolResultMessage]] = []

    def see(self, seen: Seen) -> None:
        """Judge the events of calls as they come, their results at the end of the turn."""
        match seen:
            case ev.TurnStart() | ev.AgentStart() | Ended():
                self._begin(())
            case ev.MessageEnd(message=AssistantMessage() as message):
                self._begin(tuple(call.id for call in message.tool_calls))
            case ev.MessageEnd(message=ToolResultMessage() as message):
                self._results.append((self.position, message))
            case ev.ToolExecutionStart():
                self._taken_up(seen)
            case ev.ToolExecutionUpdate(tool_call_id=call) if not self._running[call]:
                self.blame(f"{described(seen)}, which is not running")
            case ev.ToolExecutionEnd(tool_call_id=call):
                self._running[call] -= 1
            case ev.TurnEnd() if not is_failed(seen.message):
                self._turn_ended(seen)
            case _ if (about := about_call(seen)) is not None:
                self._asked(seen, about)

    def _asked(self, seen: Seen, call: str) -> None:
        if not self._running[call]:
            self.blame(f"{described(seen)}, which is not running")
        elif asked_by(seen) == "execute_tool":
            if not self._waiting[call]:
                self.blame(f"{described(seen)}, which was executed already")
            self._waiting[call] -= 1

    def _taken_up(self, event: ev.ToolExecutionStart) -> None:
        call, left = event.tool_call_id, self._calls[self._next :]
        self._running[call] += 1
        self._waiting[call] += 1
        self._started += 1
        if left[:1] != (call,):
            self.blame(
                f"{described(event)}, {f'where {left[0]} is next' if left else 'and no call of the answer is left'}"
            )
        if call in left:
            self._next += left.index(call) + 1

    def _turn_ended(self, turn: ev.TurnEnd) -> None:
        if not (self._calls or self._results or turn.tool_results):
            return
        self.relevant += 1
        if self._calls and not self._started:
            self.blame(f"the answer calls {self._calls[0]}, and no call was taken up")
        self._judge_order()
        if len(self._results) < self._started:
            self.blame(f"{self._started} calls were taken up, and {len(self._results)} have a result")
        if [message for _, message in self._results] != [*turn.tool_results]:
            self.blame("turn_end carries other results than those that came before it")
        self._begin(())

    def _judge_order(self) -> None:
        """Blame the first result that is out of place."""
        for number, (position, message) in enumerate(self._results):
            call = message.tool_call_id
            if number >= len(self._calls) or call != self._calls[number]:
                before = [result.tool_call_id for _, result in self._results[:number]]
                if before.count(call) >= self._calls.count(call):
                    why = "which has one already" if call in before else "which the answer does not call"
                else:
                    why = f"where that of {self._calls[number]} belongs"
                self.blame(f"the result of {call}, {why}", position)
                return
