"""What a program hands in, held against what was expected: messages, and what callbacks return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as shortly
from typing import Any, Final, get_args

from turnwheel.errors import Misuse
from turnwheel.messages import Message
from turnwheel.outcomes import BeforeResult, NextRequest, NextTurn, ResultChanges, TurnAction
from turnwheel.transcript import Transcript

ANSWERS: Final[Mapping[str, type]] = {
    "prepare_next_turn": NextTurn,
    "prepare_request": NextRequest,
    "before_tool_call": BeforeResult,
    "after_tool_call": ResultChanges,
    "get_api_key": str,
}
"""What these callbacks return, unless it is None."""
QUEUES: Final = ("steering", "follow_up")
"""These return messages, or None."""
CONVERSIONS: Final = ("transform_context", "convert_to_llm")
"""These return messages."""

_MESSAGES: Final = frozenset(get_args(Message))


def answer_of(name: str, said: Any) -> Any:
    """Return what the callback `name` said, as one value. Raises Misuse, naming it, where it is of another kind."""
    if name in CONVERSIONS:
        if said is None:
            raise Misuse(f"{name} returned None; return the messages")
        return messages_of(name, said)
    if said is None or said is False:
        # False is what `condition and answer` gives.
        return None
    if name in QUEUES:
        return messages_of(name, said)
    if name == "finish_turn" and said not in get_args(TurnAction):
        raise Misuse(
            f"finish_turn returned {shortly(said)}; return {', '.join(map(repr, get_args(TurnAction)))} or None"
        )
    wanted = ANSWERS.get(name)
    if wanted is None or isinstance(said, wanted):
        return said
    raise Misuse(f"{name} returned {shortly(said)}; return {wanted.__name__} or None")


def messages_of(what: str, given: Any) -> Sequence[Message]:
    """Return messages that can be walked through more than once. Raises Misuse, about `what`, for anything else."""
    if isinstance(given, Transcript):
        return given
    if isinstance(given, str | bytes | Mapping | Message) or not isinstance(given, Iterable):
        hint = "; turnwheel.user makes one of a text" if isinstance(given, str) else ""
        raise Misuse(f"{what}: expected a list of messages, got {shortly(given)}{hint}")
    messages = given if isinstance(given, Sequence) else tuple(given)
    for message in messages:
        if type(message) not in _MESSAGES:
            raise Misuse(f"{what}: expected messages, got {shortly(message)} among them")
    return messages


def message_of(given: Any) -> Message:
    """Return a message. Raises Misuse for anything else."""
    if not isinstance(given, Message):
        raise Misuse(f"expected a text or a message, got {given!r}")
    return given
