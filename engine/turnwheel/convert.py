"""From what an agent remembers to what a model understands: convert_to_llm, as a filter and step by step.

A `convert_one` function says what becomes of one message: itself, another message, or None for left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import final

from attrs import evolve

from turnwheel.loadout import is_system
from turnwheel.messages import CustomMessage, Message, TextContent, UserMessage
from turnwheel.transcript import Transcript

ConvertOne = Callable[[Message], Message | None]


@final
class Converter:
    """Convert the transcript of a run again and again, and each message of it once.

    What is new is known by `Transcript.extends`; a transcript that is no continuation of the last one is converted
    from its beginning. `convert_one` must depend on nothing but its message.
    """

    __slots__ = ("_converted", "_given", "convert_one")

    def __init__(self, convert_one: ConvertOne) -> None:
        self.convert_one = convert_one
        self._given = Transcript()
        self._converted = Transcript()

    def __call__(self, messages: Transcript) -> Transcript:
        """Return `messages` converted. If `convert_one` raises, the next call tries the same messages again."""
        continued = messages.extends(self._given)
        converted = self._converted if continued else Transcript()
        new = messages[len(self._given) if continued else 0 :]
        self._converted = converted.appended(*_each(new, self.convert_one))
        self._given = messages
        return self._converted


def default_convert(messages: Iterable[Message]) -> Transcript:
    """Return the messages with a standard role. Source: the default of Pi 0.80.2."""
    return Transcript(_each(messages, standard_roles))


def coding_agent_convert(messages: Iterable[Message]) -> Transcript:
    """Return the messages with a standard role, and those of a coding agent as user messages.

    Source: Pi 0.80.2's coding agent. Raises ParseError where a `custom` message has no content that a user could send.
    """
    return Transcript(_each(messages, coding_agent_roles))


def _each(messages: Iterable[Message], convert_one: ConvertOne) -> Iterable[Message]:
    return (converted for message in messages if (converted := convert_one(message)) is not None)


def standard_roles(message: Message) -> Message | None:
    """Keep a message with a standard role: user, assistant, toolResult."""
    return None if isinstance(message, CustomMessage) else message


def standard_roles_and_system(message: Message) -> Message | None:
    """Keep a message with a standard role, the role system among them (Pi 0.86.0)."""
    return message if is_system(message) else standard_roles(message)


def coding_agent_roles(message: Message) -> Message | None:
    """Keep a message with a standard role, put one of a coding agent's roles into a user's words, drop any other."""
    if not isinstance(message, CustomMessage):
        return message
    tell = _TELL.get(message.role)
    return tell(message) if tell else None


# --- the roles of a coding agent ----------------------------------------------------------------------------------


def _compaction(message: CustomMessage) -> UserMessage:
    return _said(
        message,
        "To save space, the older part of this conversation has been replaced by this summary of it:",
        f"<summary>\n{_text(message, 'summary')}\n</summary>",
    )


def _branch(message: CustomMessage) -> UserMessage:
    return _said(
        message,
        "From here the conversation took another course for a while, which was then given up. What happened there:",
        f"<summary>\n{_text(message, 'summary')}\n</summary>",
    )


def _bash(message: CustomMessage) -> UserMessage | None:
    """Tell of a command that the user ran, unless it is to be kept from the model."""
    about = message.extra
    if about.get("excludeFromContext") is True:
        return None
    code = about.get("exitCode")
    parts = [f"I ran this command:\n{_fenced(_text(message, 'command'))}", "Its output:"]
    output = _text(message, "output")
    parts.append(_fenced(output) if output else "(no output)")
    if about.get("cancelled"):
        parts.append("I cancelled it before it was done.")
    elif code:
        parts.append(f"It failed with exit code {code}.")
    if about.get("truncated") and about.get("fullOutputPath"):
        parts.append(f"This is only a part of the output; all of it is in {about['fullOutputPath']}.")
    return _said(message, *parts)


def _custom(message: CustomMessage) -> Message:
    """Take over the content, a text or blocks in JSON."""
    # Here, so that cattrs is loaded only where there are such messages.
    from turnwheel.wire import read_message

    if isinstance(message.content, str):
        return _said(message, message.content)
    return evolve(read_message({"role": "user", "content": message.content}), timestamp=message.timestamp)


_TELL: dict[str, Callable[[CustomMessage], Message | None]] = {
    "compactionSummary": _compaction,
    "branchSummary": _branch,
    "bashExecution": _bash,
    "custom": _custom,
}


def _said(message: CustomMessage, *paragraphs: str) -> UserMessage:
    return UserMessage((TextContent("\n\n".join(paragraphs)),), timestamp=message.timestamp)


def _text(message: CustomMessage, name: str) -> str:
    value = message.extra.get(name, "")
    return value if isinstance(value, str) else ""


def _fenced(text: str) -> str:
    """Return the text between fences that are longer than any fence in it."""
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
