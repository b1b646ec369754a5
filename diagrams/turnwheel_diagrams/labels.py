"""What a row says in a picture: trigger [guards] / events, and the facts that later guards look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from turnwheel.rules import Rule

# Facts that only count something down or up say nothing to a reader.
_QUIET: Final = frozenset({"pending", "first_turn", "shown", "failed", "taken", "fresh"})


def guards_of(rule: Rule) -> str:
    """Return the guards of a row in brackets, or nothing."""
    return f"[{' '.join(map(str, rule.when))}]" if rule.when else ""


def emits_of(rule: Rule) -> str:
    """Return the events of a row behind a slash, or nothing."""
    return f"/ {', '.join(map(str, rule.emits))}" if rule.emits else ""


def sets_of(rule: Rule) -> str:
    """Return the facts that a row sets and that steer the run later, in braces, or nothing."""
    told = {fact: value for fact, value in rule.sets.items() if fact not in _QUIET}
    return f"{{{', '.join(_fact(fact, value) for fact, value in told.items())}}}" if told else ""


def said(rule: Rule) -> str:
    """Return a row in one line."""
    parts = (str(rule.trigger), guards_of(rule), emits_of(rule), sets_of(rule))
    return " ".join(part for part in parts if part)


def in_words(sets: Mapping[str, Any]) -> str:
    """Return the facts that a row sets, all of them."""
    return ", ".join(_fact(fact, value) for fact, value in sets.items())


def _fact(fact: str, value: Any) -> str:
    words = {True: "yes", False: "no"}
    return f"{fact}={words[value] if isinstance(value, bool) else value}"
