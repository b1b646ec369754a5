"""What the demo model says: by a few plain rules, from what was asked and what the tools gave back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, final

from attrs import frozen

from turnwheel.messages import (
    AssistantMessage,
    Content,
    Json,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from turnwheel.tool import Context
from turnwheel_adapters.models.demo_words import (
    Finding,
    files_named_in,
    folders_named_in,
    globs_named_in,
    plain_text,
    searched_for_in,
)
from turnwheel_adapters.wording import count, listed

MOST_PARTS: Final = 4
"""A file that is shown in parts is asked for so many times: once, and three times for the rest."""

Arguments = dict[str, Json]
Answered = tuple[ToolCall, ToolResultMessage]


@final
@frozen
class Skill:
    """What the demo does with one tool: what it offers, and the calls (as arguments) that a request asks for.

    `said` tells what came of a call; the files that were read are told of together.
    """

    tool: str
    offer: str
    wanted: Callable[[str], list[Arguments]]
    said: Callable[[Arguments, Mapping[str, Json]], str] | None = None


SKILLS: Final[Sequence[Skill]] = (
    Skill(
        "read",
        "read files and tell how long they are. Name some, with an extension or a slash; for instance: "
        "read README.md and tell me how long it is",
        lambda text: [{"path": path} for path in _files(text)],
    ),
    Skill(
        "grep",
        'search, as in: search for "def main" in adapters',
        lambda text: [
            {"pattern": pattern, "literal": True, **({"path": path} if path else {})}
            for pattern, path in searched_for_in(text)
        ],
        lambda call, told: f"{call['pattern']!r} is in {count(told.get('matches', 0), 'line')}{_more(told)}.",
    ),
    Skill(
        "find",
        "find files, as in: which files are *.toml",
        lambda text: [{"pattern": pattern} for pattern in globs_named_in(text)],
        lambda call, told: f"{count(told.get('count', 0), 'file')} fit{_s(told)} {call['pattern']}{_more(told)}.",
    ),
    Skill(
        "ls",
        "list folders, as in: list docs/",
        lambda text: [{"path": path} for path in folders_named_in(text)],
        lambda call, told: f"{call['path']} has {count(told.get('count', 0), 'thing')}{_more(told)} in it.",
    ),
)
"""A tool that is not here is never called; a skill whose tool the context lacks is not offered."""


def _files(text: str) -> list[str]:
    """Return the files to read: not what is searched for, or searched in."""
    searched = {word for pair in searched_for_in(text) for word in pair}
    return [name for name in files_named_in(text) if name not in searched]


def _more(told: Mapping[str, Json]) -> str:
    return " at least" if told.get("truncated") else ""


def _s(told: Mapping[str, Json]) -> str:
    return "s" if told.get("count") == 1 else ""


def reply(context: Context) -> tuple[Content, ...]:
    """Return the content of the answer: calls that are still to be made, else what came of those that were."""
    open_part = _open_part(context.messages)
    request = next((plain_text(m.content) for m in open_part if isinstance(m, UserMessage)), "")
    answered = _answered(reversed(open_part))
    called = [(call.name, call.arguments) for call, _ in answered]
    wanted = [(skill.tool, arguments) for skill in SKILLS for arguments in skill.wanted(request)]
    possible = [call for call in wanted if context.tool(call[0]) is not None and call not in called]
    if possible:
        names = listed([_about(call) for call in possible])
        return _asking(
            f"{_why(possible)}: {names}.{_at_once(possible)}", f"I will {_deeds(possible)}.", possible, context
        )
    if not answered:
        return _offering(context, wanted=bool(wanted))
    findings = _findings(each for each in answered if each[0].name == "read")
    rest = [finding for finding in findings if finding.next_line is not None and finding.parts < MOST_PARTS]
    if rest:
        return _asking(
            f"Not all of it was shown: {listed([finding.path for finding in rest])} goes on.",
            f"I need the rest of {listed([f'{finding.path} from line {finding.next_line:,}' for finding in rest])}.",
            [("read", {"path": finding.path, "offset": finding.next_line}) for finding in rest],
            context,
        )
    return _telling(findings, list(_others(answered)))


# --- what was asked, and what has been done about it --------------------------------------------------------------


def _open_part(messages: Sequence[Message]) -> list[Message]:
    """Return what was said since the last answer that asked for nothing, the latest first."""
    part: list[Message] = []
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, AssistantMessage) and not message.tool_calls:
            break
        part.append(message)
    return part


def _answered(messages: Iterable[Message]) -> list[Answered]:
    """Return the calls that have a result, in order, each with it."""
    calls: dict[str, ToolCall] = {}
    answered: list[Answered] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.update((call.id, call) for call in message.tool_calls)
        elif isinstance(message, ToolResultMessage) and message.tool_call_id in calls:
            answered.append((calls[message.tool_call_id], message))
    return answered


def _findings(answered: Iterable[Answered]) -> list[Finding]:
    """Return what is known of each file, from all its parts together."""
    found: dict[str, Finding] = {}
    for call, result in answered:
        arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
        path = str(arguments.get("path", call.name))
        found[path] = found.get(path, Finding(path)).with_part(result)
    return list(found.values())


# --- the three kinds of answer ------------------------------------------------------------------------------------


def _asking(thought: str, text: str, calls: Sequence[tuple[str, Arguments]], context: Context) -> tuple[Content, ...]:
    first = _last_number(context.messages) + 1
    made = (ToolCall(f"call-{first + at}", name, arguments) for at, (name, arguments) in enumerate(calls))
    return (ThinkingContent(thought), TextContent(text), *made)


def _last_number(messages: Iterable[Message]) -> int:
    """Return the highest number that a call of ours has in the context; ids go on from there."""
    ids = (call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls)
    return max((int(ours[1]) for ours in (re.fullmatch(r"call-(\d{1,9})", id_) for id_ in ids) if ours), default=0)


def _offering(context: Context, *, wanted: bool) -> tuple[Content, ...]:
    offers = [skill.offer for skill in SKILLS if context.tool(skill.tool) is not None]
    if wanted or not offers:
        return (
            ThinkingContent("Whatever I can do needs a tool, and I was not given one that I know."),
            TextContent(
                "I am the demo model, a few rules that work offline, and without a tool I can do nothing. "
                f"I know how to use: {listed([skill.tool for skill in SKILLS])}."
            ),
        )
    return (
        ThinkingContent("The request names no file, so there is nothing that I could call a tool for."),
        TextContent(f"I am the demo model, a few rules that work offline. I can {'; and '.join(offers)}."),
    )


def _about(call: tuple[str, Arguments]) -> str:
    """Return what a call is about: the first of its arguments."""
    return str(next(iter(call[1].values())))


def _why(calls: Sequence[tuple[str, Arguments]]) -> str:
    if all(name == "read" for name, _ in calls):
        return f"The request names {count(len(calls), 'file')}"
    return f"The request asks for {count(len(calls), 'thing')}"


def _at_once(calls: Sequence[tuple[str, Arguments]]) -> str:
    return " I ask for all of them at once." if len(calls) > 1 else ""


_DEEDS: Final = {"read": "read", "grep": "search for", "find": "look for", "ls": "list"}


def _deeds(calls: Sequence[tuple[str, Arguments]]) -> str:
    """Return what the calls do, in words, those of one tool together."""
    by_tool: dict[str, list[str]] = {}
    for call in calls:
        by_tool.setdefault(call[0], []).append(_about(call))
    return listed([f"{_DEEDS[name]} {listed(abouts)}" for name, abouts in by_tool.items()])


def _others(answered: Iterable[Answered]) -> Iterator[str]:
    """Yield what came of calls that read no file."""
    said = {skill.tool: skill.said for skill in SKILLS}
    for call, result in answered:
        tell = said.get(call.name)
        if tell is None:
            continue
        if result.is_error:
            yield f"{call.name} failed: {plain_text(result.content)}"
        else:
            yield tell(call.arguments, result.details if isinstance(result.details, Mapping) else {})


def _telling(findings: Sequence[Finding], others: Sequence[str] = ()) -> tuple[Content, ...]:
    counted = [finding for finding in findings if finding.lines is not None and finding.error is None]
    failed = sum(finding.error is not None for finding in findings)
    thought = "The results are in" + (f", {count(failed, 'error')} among them" if failed else "")
    lines = [*others, *(str(finding) for finding in findings)]
    if len(counted) > 1:
        size = count(sum(finding.bytes or 0 for finding in counted), "byte")
        lines.append(f"Together: {count(sum(finding.lines or 0 for finding in counted), 'line')}, {size}.")
    return ThinkingContent(f"{thought}. Now I can answer."), TextContent("\n".join(lines))
