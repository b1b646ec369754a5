"""What a row says in a picture: trigger [guards] / events {facts that later guards look at} → what it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from turnwheel.rules import Ask, Rule

Tone = Literal["text", "quiet", "asks"]
"""How loud a piece of a label is: what happens, under which conditions, and the effect that is asked for."""

# Facts that only count something down or up say nothing to a reader.
_QUIET: Final = frozenset({"pending", "first_turn", "shown", "failed", "taken", "fresh"})


class Piece(NamedTuple):
    """A part of a label that stays on one line."""

    text: str
    tone: Tone


def guards_of(rule: Rule) -> str:
    """Return the guards of a row in brackets, or nothing."""
    return f"[{' '.join(map(str, rule.when))}]" if rule.when else ""


def emits_of(rule: Rule) -> str:
    """Return the events of a row behind a slash, or nothing."""
    return f"/ {', '.join(map(str, rule.emits))}" if rule.emits else ""


def told_facts(rule: Rule) -> dict[str, Any]:
    """Return the facts that a row sets and that steer the run later."""
    return {fact: value for fact, value in rule.sets.items() if fact not in _QUIET}


def sets_of(rule: Rule) -> str:
    """Return the facts that a row sets and that steer the run later, in braces, or nothing."""
    told = told_facts(rule)
    return f"{{{in_words(told)}}}" if told else ""


def in_words(facts: Mapping[str, Any]) -> str:
    """Return facts with their values."""
    return ", ".join(_fact(fact, value) for fact, value in facts.items())


def asks_of(rule: Rule) -> str:
    """Return what a row asks for behind an arrow, or nothing."""
    return f"→ {rule.asks}" if rule.asks is not None and rule.asks is not Ask.look_again else ""


def times(fired: int) -> str:
    """Return how often a row fired, in words."""
    return "fired once" if fired == 1 else f"fired {fired:,} times"


def said(rule: Rule, *, asks: bool) -> str:
    """Return a row in one line; with what it asks for, if `asks`."""
    parts = (str(rule.trigger), guards_of(rule), emits_of(rule), sets_of(rule), asks_of(rule) if asks else "")
    return " ".join(part for part in parts if part)


def lines_of(rule: Rule, width: int, *, asks: bool) -> list[list[Piece]]:
    """Return a row in lines of at most `width` characters, if its words allow; the first begins with the trigger.

    Events, facts and the effect each keep together, as far as there is room.
    """
    head = _words(str(rule.trigger), "text") + _words(guards_of(rule), "quiet")
    effect = [Piece(asks_of(rule), "asks")] if asks and asks_of(rule) else []
    return _filled([group for group in (head, _events(rule), _words(sets_of(rule), "quiet"), effect) if group], width)


def _events(rule: Rule) -> list[Piece]:
    last = len(rule.emits) - 1
    return [
        Piece(f"{'/ ' if at == 0 else ''}{emit}{',' if at < last else ''}", "text")
        for at, emit in enumerate(rule.emits)
    ]


def _words(text: str, tone: Tone) -> list[Piece]:
    return [Piece(word, tone) for word in text.split()]


def _filled(groups: Sequence[Sequence[Piece]], width: int) -> list[list[Piece]]:
    """Return the groups in lines; one that does not fit behind the others begins a line of its own."""
    lines: list[list[Piece]] = [[]]
    for group in groups:
        if lines[-1] and _length([*lines[-1], *group]) > width:
            lines.append([])
        for piece in group:
            if lines[-1] and _length([*lines[-1], piece]) > width:
                lines.append([])
            lines[-1].append(piece)
    return lines


def _length(line: Sequence[Piece]) -> int:
    return sum(len(piece.text) + 1 for piece in line) - 1


def _fact(fact: str, value: Any) -> str:
    words = {True: "yes", False: "no"}
    return f"{fact}={words[value] if isinstance(value, bool) else value}"
