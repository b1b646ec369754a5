"""Where two recorded runs part."""

from __future__ import annotations

from attrs import evolve

from tests.engine.recordings import CASES, record
from turnwheel.recorded import RecordedDecision, Recording, read_recording
from turnwheel.table import dialect
from turnwheel_diagrams.comparing import decisions_of, first_difference, in_words

LANGUAGE = dialect("pi-0.85.1")


def run(name: str, language: str = "pi-0.85.1") -> Recording:
    return read_recording(record(name, language))


class TestFirstDifference:
    def test_none(self) -> None:
        """A run and itself do not part, whatever its clock says and in however many pieces its answers came."""
        for name, language in CASES:
            a, b = run(name, language), run(name, language)
            moved = evolve(b, entries=tuple(evolve(entry, at=entry.at + 7, time=3) for entry in b.entries))
            assert first_difference(a, moved) is None

    def test_a_guard(self) -> None:
        """Two runs of which one calls tools part where the answer is judged, and the guard is named."""
        parting = first_difference(run("parallel tools"), run("follow-up"))

        assert parting is not None
        assert parting.a is not None
        assert parting.b is not None
        assert (parting.a.machine, parting.guards) == ("loop", {"calls": (True, False)})
        before = [decisions_of(run(name))[: parting.index] for name in ("parallel tools", "follow-up")]
        assert [d.rule for d in before[0]] == [d.rule for d in before[1]]

    def test_a_guard_alone(self) -> None:
        """The same rule with another answer of a guard is a difference, too: something else was the case."""
        a = run("follow-up")
        index = next(at for at, each in enumerate(a.entries) if isinstance(each, RecordedDecision) and each.guards)
        decision = a.entries[index]
        assert isinstance(decision, RecordedDecision)
        name, said = next(iter(decision.guards.items()))
        other = evolve(decision, guards={**decision.guards, name: not said})
        b = evolve(a, entries=(*a.entries[:index], other, *a.entries[index + 1 :]))
        parting = first_difference(a, b)

        assert parting is not None
        assert (parting.a, parting.b, parting.guards) == (decision, other, {name: (said, not said)})

    def test_one_breaks_off(self) -> None:
        """Where one run is the beginning of another, it is the one without a decision."""
        whole = run("follow-up")
        part = evolve(whole, entries=whole.entries[:-3])
        parting = first_difference(part, whole)

        assert parting is not None
        assert (parting.a, parting.b) == (None, decisions_of(whole)[-1])
        assert parting.index == len(decisions_of(whole)) - 1

    def test_swapped(self) -> None:
        """The other way round says the same with the sides changed."""
        one = first_difference(run("stop hook"), run("hard stop"))
        other = first_difference(run("hard stop"), run("stop hook"))

        assert one is not None
        assert other is not None
        assert (one.index, one.a, one.b) == (other.index, other.b, other.a)
        assert one.guards == {name: (b, a) for name, (a, b) in other.guards.items()}


class TestWords:
    def test_the_guard_that_differed(self) -> None:
        """Both rules are told with position, state, trigger and reason, and the guard with both of its values."""
        lines = in_words(first_difference(run("parallel tools"), run("follow-up")), LANGUAGE, LANGUAGE)

        assert lines[0].startswith("The first ")
        assert "A, position" in lines[1]
        assert "is in CheckStop, ready comes, and it goes to ExecutingTools" in lines[1]
        assert "and it goes to TurnEnd" in lines[2]
        assert lines[3] == "The guard calls says yes in A and no in B."

    def test_the_same(self) -> None:
        """Equal runs are told as equal."""
        assert in_words(None, LANGUAGE, LANGUAGE) == ["Both runs took the same decisions."]

    def test_the_end(self) -> None:
        """A run that has no more decisions is told so."""
        whole = run("follow-up")
        parting = first_difference(evolve(whole, entries=()), whole)

        assert in_words(parting, LANGUAGE, LANGUAGE)[:2] == [
            "The runs differ in their first decision.",
            "A takes no other decision: it ends or breaks off there.",
        ]

    def test_something_else_came(self) -> None:
        """Where another trigger came, no guard is blamed."""
        parting = first_difference(run("failing listener"), run("follow-up"))

        assert in_words(parting, LANGUAGE, LANGUAGE)[-1] == "No guard differs: something else came."
