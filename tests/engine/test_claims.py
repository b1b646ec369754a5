"""The language of claims: what its words say of a moment, and that nothing else can be said in it."""

from __future__ import annotations

import pytest

from turnwheel import effects as fx
from turnwheel import events as ev
from turnwheel.control import Control
from turnwheel.errors import ParseError
from turnwheel.rules import BatchState, Decision, State
from turnwheel.table import dialect
from turnwheel.testing.exploring.claims import parse_claim
from turnwheel.testing.exploring.standing import Moment

RULE = next(rule for rule in dialect().loop.rules if rule.name == "AwaitFollowUp follow_up !pending")
CHOICE = dialect().loop.choices[State.AwaitFollowUp, RULE.trigger]
VERDICT = next(verdict for verdict in CHOICE.verdicts if verdict is not None and verdict.rule is RULE)
MOMENT = Moment(
    Control(State.AwaitFollowUp, pending=2, stop_reason="length", aborted=True, batch=BatchState.Running),
    [Decision(3, VERDICT)],
    [ev.TurnStart(), ev.AgentStart()],
    [fx.PollFollowUp(4)],
    [fx.PollFollowUp(4), fx.PollSteering(5)],
)


def says(text: str) -> bool:
    """Return whether a claim holds at the moment above."""
    return parse_claim(text, "never", dialect()).holds(MOMENT)


class TestWords:
    """What is true of the moment above, and what is not."""

    @pytest.mark.parametrize(
        "text",
        [
            "aborted",
            "pending",
            "pending == 2",
            "pending > 1 and pending >= 2 and pending != 1",
            "3 > pending",
            "aborted == True",
            "state == AwaitFollowUp",
            "AwaitFollowUp == state",
            "state != 'Done'",
            "batch == Running",
            "stop_reason == 'length'",
            "cut_off",
            "emits(turn_start)",
            "emits('agent_start')",
            "asks(PollFollowUp)",
            "awaits(PollSteering)",
            "fired('follow_up !pending')",
            "fired('loop: AwaitFollowUp')",
            "chain or not chain",
            "not (chain and aborted)",
            "  aborted ",
        ],
    )
    def test_true(self, text: str) -> None:
        """Facts, guards, states, events, effects and rules are those of the moment."""
        assert says(text)

    @pytest.mark.parametrize(
        "text",
        [
            "chain",
            "pending < 2",
            "pending <= 1",
            "state == Done",
            "stop_reason == 'stop'",
            "emits(turn_end)",
            "asks(PollSteering)",
            "awaits(CallModel)",
            "fired('begin')",
            "chain or prepared",
            "aborted and not aborted",
        ],
    )
    def test_false(self, text: str) -> None:
        """What the moment does not hold is not said of it."""
        assert not says(text)

    def test_names_and_kind_are_kept(self) -> None:
        """The claim is called what was written."""
        claim = parse_claim(" chain  ", "eventually", dialect())

        assert (claim.name, claim.kind) == ("chain", "eventually")


class TestErrors:
    """Everything else is refused, with what to do about it."""

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "cannot be read"),
            ("chain and", "cannot be read: invalid syntax"),
            ("chain\0", "cannot be read"),
            ("not " * 5000 + "chain", "cannot be read"),
            ("chian", "there is no chian; there are prompt, continuable, "),
            ("state == Doen", "there is no Doen"),
            ("state == 'Doen'", "can never be; there are AwaitSteering, Streaming"),
            ("stop_reason == Done", "can never be; there are "),
            ("blocked", 'blocked is a fact of one tool call, not of the run; ask for its rules with fired("…")'),
            ("state", "`state` is a word, which is neither true nor false; compare it with =="),
            ("not 'x'", "is a word"),
            ("state == 1", "words compare with words by == and !=, numbers with numbers"),
            ("state < Done", "words compare with words"),
            ("0 < pending < 2", "compares more than two things; join comparisons with and"),
            ("pending in pending", "things are compared with ==, !=, <, <=, >, >="),
            ("emits(turn_ended)", "there is no event turn_ended; there are agent_start, "),
            ("asks(turn_end)", "there is no effect turn_end; there are PollSteering, "),
            ("fired('steerin g')", "no rule's name has 'steerin g' in it"),
            ("emits(1)", "emits(…) takes a name, not `1`"),
            ("sends(x)", "there is no sends(…); there are emits, asks, awaits and fired"),
            ("emits(turn_end, turn_start)", "is nothing that a claim may hold"),
            ("pending + 1 == 2", "`pending + 1` is nothing that a claim may hold"),
            ("__import__('os').getcwd()", "is nothing that a claim may hold"),
            ("__import__('os')", "there is no __import__(…)"),
            ("().__class__", "is nothing that a claim may hold"),
            ("[chain for chain in pending]", "is nothing that a claim may hold"),
            ("(lambda: 1)()", "is nothing that a claim may hold"),
            ("1.5 < pending", "is nothing that a claim may hold"),
        ],
    )
    def test_refused(self, text: str, problem: str) -> None:
        """The error names the claim, what is wrong with it, and what there is instead."""
        with pytest.raises(ParseError) as caught:
            parse_claim(text, "never", dialect())

        assert problem in str(caught.value)
        assert str(caught.value).startswith("claim ")
