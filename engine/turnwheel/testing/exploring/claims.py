"""Claims about every run: predicates over what happens, and a small language in which to write them on a command line.

    state == Done and chain
    aborted and emits(tool_execution_start)
    asks(PollFollowUp) and pending > 0
    fired("TurnEnd stop stop_wanted")

Names are the facts and guards of the tables, `state`, `batch`, and the states. `emits`, `asks` and `awaits` take the
name of an event or an effect, `fired` a part of a rule's name.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, final, get_args

from attrs import field, frozen

from turnwheel.control import CallControl, Control, facts
from turnwheel.effects import Effect
from turnwheel.errors import ParseError
from turnwheel.events import Event
from turnwheel.rules import BatchState, Dialect, Guard, Not, State
from turnwheel.testing.exploring.standing import Moment

Kind = Literal["never", "always", "eventually"]


@final
@frozen(eq=False)
class Claim:
    """What is claimed of every run.

    `never`: `holds` is true of no moment; `always`: of every one; `eventually`: of at least one, whatever the world
    does. `name` says it in words.
    """

    name: str
    kind: Kind
    holds: Callable[[Moment], bool] = field(repr=False)


def parse_claim(text: str, kind: Kind, dialect: Dialect) -> Claim:
    """Return the claim that a text makes. Raises ParseError, saying what is wrong with it and what there is."""
    try:
        holds = _Reader(text, dialect).truth(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise _bad(text, f"cannot be read: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _bad(text, f"cannot be read: {error}") from None
    return Claim(text.strip(), kind, lambda moment: bool(holds(moment)))


@final
@frozen
class _Term:
    """A part of a claim. `words` are the values that it can take, where these are words."""

    value: Callable[[Moment], Any]
    words: tuple[str, ...] | None = None


_ORDER: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    **_ORDER,
}
_EVENTS: Final = tuple(event.type for event in get_args(Event))
_EFFECTS: Final = tuple(effect.__name__ for effect in get_args(Effect))
_PLACES: Final = {"state": tuple(map(str, State)), "batch": tuple(map(str, BatchState))}
_OF_A_CALL: Final = facts(CallControl).keys() - facts(Control).keys()


@final
class _Reader:
    """Reads one claim."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._rules = [f"{table.name}: {rule.name}" for table in dialect.tables for rule in table.rules]
        self._guards = _guards(dialect)

    def truth(self, node: ast.expr) -> Callable[[Moment], Any]:
        """Return what a part of the claim says, which must be true or false."""
        term = self._read(node)
        if term.words is not None:
            raise self._wrong(f"`{_source(node)}` is a word, which is neither true nor false; compare it with ==")
        return term.value

    def _read(self, node: ast.expr) -> _Term:
        """Return what a part of the claim says."""
        match node:
            case ast.BoolOp(op=op, values=parts):
                terms = [self.truth(part) for part in parts]
                every = all if isinstance(op, ast.And) else any
                return _Term(lambda moment: every(term(moment) for term in terms))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                term = self.truth(part)
                return _Term(lambda moment: not term(moment))
            case ast.Compare():
                return self._comparison(node)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
                return self._question(name, argument)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Constant(value=bool() | int() | str() as value):
                return _Term(lambda _: value, (value,) if isinstance(value, str) else None)
        raise self._wrong(
            f"`{_source(node)}` is nothing that a claim may hold: names, comparisons, and, or, not, calls"
        )

    def _comparison(self, node: ast.Compare) -> _Term:
        if len(node.ops) != 1:
            raise self._wrong(f"`{_source(node)}` compares more than two things; join comparisons with and")
        compare = _COMPARE.get(type(node.ops[0]))
        if compare is None:
            raise self._wrong(f"`{_source(node)}`: things are compared with ==, !=, <, <=, >, >=")
        left, right = self._read(node.left), self._read(node.comparators[0])
        if (left.words is None) != (right.words is None) or (left.words is not None and type(node.ops[0]) in _ORDER):
            raise self._wrong(
                f"`{_source(node)}` can never be: words compare with words by == and !=, numbers with numbers"
            )
        if left.words is not None and right.words is not None and not {*left.words} & {*right.words}:
            there = max(left.words, right.words, key=len)
            raise self._wrong(f"`{_source(node)}` can never be; there are {', '.join(there)}")
        return _Term(lambda moment: compare(left.value(moment), right.value(moment)))

    def _name(self, name: str) -> _Term:
        if name in (known := facts(Control)):
            words = known[name] if isinstance(known[name][0], str) else None
            return _Term(lambda moment: getattr(moment.control, name), words)
        if name in _PLACES:
            return _Term(lambda moment: getattr(moment.control, name), _PLACES[name])
        if any(name in words for words in _PLACES.values()):
            return _Term(lambda _: name, (name,))
        if (guard := self._guards.get(name)) is not None:
            return _Term(lambda moment: guard.holds(moment.control))
        if name in _OF_A_CALL:
            raise self._wrong(f'{name} is a fact of one tool call, not of the run; ask for its rules with fired("…")')
        raise self._wrong(
            f"there is no {name}; there are {', '.join([*known, *_PLACES, *self._guards])}, and the states"
        )

    def _question(self, name: str, argument: ast.expr) -> _Term:
        match argument:
            case ast.Name(id=word) | ast.Constant(value=str(word)):
                pass
            case _:
                raise self._wrong(f"{name}(…) takes a name, not `{_source(argument)}`")
        match name:
            case "emits":
                self._check(word, _EVENTS, "event")
                return _Term(lambda moment: any(event.type == word for event in moment.events))
            case "asks":
                self._check(word, _EFFECTS, "effect")
                return _Term(lambda moment: any(type(effect).__name__ == word for effect in moment.effects))
            case "awaits":
                self._check(word, _EFFECTS, "effect")
                return _Term(lambda moment: any(type(effect).__name__ == word for effect in moment.awaited))
            case "fired":
                if not any(word in rule for rule in self._rules):
                    raise self._wrong(f"no rule's name has {word!r} in it; turnwheel dialects --table lists them")
                return _Term(lambda moment: any(word in f"{d.machine}: {d.rule.name}" for d in moment.decisions))
        raise self._wrong(f"there is no {name}(…); there are emits, asks, awaits and fired")

    def _check(self, word: str, known: tuple[str, ...], what: str) -> None:
        if word not in known:
            raise self._wrong(f"there is no {what} {word}; there are {', '.join(known)}")

    def _wrong(self, problem: str) -> ParseError:
        return _bad(self._text, problem)


def _guards(dialect: Dialect) -> dict[str, Guard]:
    """Return the guards of the loop and of the batch; those of a call ask about a call."""
    conditions = [each for table in (dialect.loop, dialect.batch) for rule in table.rules for each in rule.when]
    guards = [condition.guard if isinstance(condition, Not) else condition for condition in conditions]
    return {guard.name: guard for guard in guards}


def _source(node: ast.expr) -> str:
    return ast.unparse(node)


def _bad(text: str, problem: str) -> ParseError:
    return ParseError(problem, source=f"claim {text.strip()!r}")
