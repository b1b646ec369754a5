"""What every monitor is made of: the things that it sees, where a trace stands, and what it finds broken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, Literal, final

from attrs import frozen

from turnwheel import effects as fx
from turnwheel import events as ev
from turnwheel.effects import Effect
from turnwheel.events import Event
from turnwheel.messages import AssistantMessage, Message
from turnwheel.values import value

Verdict = Literal["kept", "broken", "nothing"]
"""What a monitor says in the end; `nothing`: it saw nothing that it could judge."""

_EFFECTS: Final[Mapping[str, str]] = {
    "getSteeringMessages": "poll_steering",
    "getFollowUpMessages": "poll_follow_up",
    "prepareNextTurn": "prepare_next_turn",
    "prepareRequest": "prepare_request",
    "shouldStopAfterTurn": "ask_to_stop",
    "finishTurn": "finish_turn",
    "stream": "call_model",
    "beforeToolCall": "before_tool_call",
    "execute": "execute_tool",
    "afterToolCall": "after_tool_call",
}
"""The effects for which a conform trace has another name."""


@final
@value
class Called:
    """A callback of the loop was called; `name` as in a conform trace, such as getSteeringMessages.

    `call` is the id of the tool call that it is about, where it is about one.
    """

    name: str
    call: str | None = None


@final
@value
class Ended:
    """Whoever started the run has it back; `error` is the text of what it raised, None where it returned."""

    error: str | None = None


Seen = Event | Effect | Called | Ended
"""Whatever a log can show of a run. An event log shows only events; one that shows calls or effects shows all."""


@final
@frozen
class Break:
    """A broken promise: which one, at which thing that was seen (counted from 1), and how."""

    promise: str
    position: int
    text: str

    def __str__(self) -> str:
        return f"{self.promise}: at {self.position}: {self.text}"


class Monitor(ABC):
    """Watches over one promise; subscribe it to an agent, or feed it a log.

    Called with one thing that was seen; notes in `broken` what speaks against the promise, and counts in `relevant` how
    often it could judge. It never raises. One monitor may see several traces, one after the other.
    """

    name: ClassVar[str]
    promise: ClassVar[str]

    def __init__(self) -> None:
        self.broken: list[Break] = []
        self.relevant = 0
        self.position = 0
        """How many things were seen."""
        self.scene = Scene()

    def __call__(self, seen: Seen) -> None:
        """See one thing."""
        self.position += 1
        self.scene.take(seen)
        self.see(seen)

    @abstractmethod
    def see(self, seen: Seen) -> None:
        """Judge what is seen; `scene` has taken it already."""

    def finish(self) -> None:
        """Note that nothing more will be seen."""
        self.scene = Scene()

    @property
    def verdict(self) -> Verdict:
        """What there is to say by now."""
        if self.broken:
            return "broken"
        return "kept" if self.relevant else "nothing"

    def check(self) -> None:
        """Raise AssertionError if the promise is broken."""
        assert_kept([self])

    def blame(self, text: str, position: int | None = None) -> None:
        """Note that the promise is broken, here or at an earlier position."""
        self.broken.append(Break(self.name, self.position if position is None else position, text))


def assert_kept(monitors: Iterable[Monitor]) -> None:
    """Raise AssertionError if a promise is broken, with every break: its promise, its position and how."""
    if broken := [str(each) for monitor in monitors for each in monitor.broken]:
        raise AssertionError("\n".join(broken))


@final
@frozen
class Vote:
    """What a call that has ended says about the end of the run."""

    call: str
    terminate: bool


@final
class Scene:
    """Where a trace stands, as far as it can be told from what was seen."""

    def __init__(self) -> None:
        self.shows_calls = False
        """Whether calls and effects are seen as well as events."""
        self.asked = 0
        """How often the model was asked in this turn."""
        self.votes: list[Vote] = []
        """The calls that have ended since the last turn_start, in the order of their ends."""
        self.in_message = False
        """Whether a message has started and not ended."""
        self._begun: Message | None = None
        self._grew = False

    @property
    def is_answer(self) -> bool:
        """Whether the last assistant message is the model's answer for sure, and was not injected by a queue or prompt.

        It is if the model was asked before it, or if it grew after its start.
        """
        return self.asked > 0 or self._grew

    @property
    def chain(self) -> bool:
        """Whether results wait for an answer: a call of the turn ended without terminate."""
        return not all(vote.terminate for vote in self.votes)

    def take(self, seen: Seen) -> None:
        """Note what is seen."""
        match seen:
            case ev.MessageUpdate():
                self._grew = True
            case ev.AgentStart() | ev.TurnStart():
                self.asked, self.in_message = 0, False
                self.votes = []
            case ev.MessageStart(message=message):
                self._begun, self._grew, self.in_message = message, False, True
            case ev.MessageEnd(message=message):
                self._grew, self.in_message = self._grew or message != self._begun, False
            case ev.ToolExecutionEnd(tool_call_id=call, result=result):
                self.votes.append(Vote(call, result.terminate is True))
            case _ if asked_by(seen) is not None:
                self.shows_calls = True
                self.asked += asked_by(seen) == "call_model"


def asked_by(seen: Seen) -> str | None:
    """Return what the world is asked, by the name of the effect or callback; None for an event and an end."""
    if isinstance(seen, Event | Ended):
        return None
    name = seen.name if isinstance(seen, Called) else seen.type
    return _EFFECTS.get(name, name)


def about_call(seen: Seen) -> str | None:
    """Return the id of the tool call for which a hook is asked or a tool run; None for anything else."""
    match seen:
        case fx.BeforeToolCall() | fx.ExecuteTool() | fx.AfterToolCall():
            return seen.call.id
        case Called():
            return seen.call
    return None


def is_failed(message: Message) -> bool:
    """Say whether a message is an answer that failed or was aborted."""
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted")


def described(seen: Seen) -> str:
    """Return what is seen in a few words."""
    match seen:
        case Called(name=name, call=call):
            return f"a call of {name}" + (f" for {call}" if call else "")
        case Ended():
            return "the end of the run"
        case ev.MessageStart(message=message) | ev.MessageEnd(message=message):
            return f"{seen.type} ({message.role})"
        case ev.ToolExecutionStart(tool_call_id=call) | ev.ToolExecutionUpdate(tool_call_id=call):
            return f"{seen.type} of {call}"
        case ev.ToolExecutionEnd(tool_call_id=call):
            return f"{seen.type} of {call}"
        case _:
            return seen.type
