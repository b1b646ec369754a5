"""`turnwheel explain`: why a recorded run went on, and why it stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.adapters.commands import Command, process
from tests.engine.recordings import CASES, SCENARIOS, record
from turnwheel.folds import DEFAULTS
from turnwheel.recorded import RecordedDecision, read_recording
from turnwheel.rules import Trigger
from turnwheel.table import DIALECTS
from turnwheel_adapters.cli.explanations import HAPPENED, MISSING


def blocks(turnwheel: Command, name: str, *options: str, language: str = "pi-0.85.1") -> list[str]:
    """Return what is said of a scripted run, one text for each decision."""
    turnwheel.write("run.jsonl", "".join(record(name, language)))
    ended = turnwheel("explain", *options, "run.jsonl")
    assert (ended.status, ended.err) == (0, "")
    return ended.out.rstrip("\n").split("\n\n")


class TestQuestions:
    def test_why_did_it_stop(self, turnwheel: Command) -> None:
        """The last decision names turn and position, the rule and its reason, the guards, and the other way."""
        assert blocks(turnwheel, "follow-up")[-1].splitlines() == [
            "turn 3, position 28: the follow-up queue was polled",
            "  The run stops. Nothing is left to do.",
            "  rule: AwaitFollowUp, on follow_up [!pending]",
            "  no:   pending: the last poll brought messages",
            (
                "  else: if pending had held: AwaitFollowUp → AwaitSteering, then PrepareNextTurn. "
                "The run would have stopped, but a follow-up waits: its turn is prepared like any other."
            ),
        ]

    def test_why_did_it_go_on_without_a_call(self, turnwheel: Command) -> None:
        """A turn that only a steering message caused is explained by that message."""
        (steered,) = [text for text in blocks(turnwheel, "follow-up") if "A steering message alone" in text[:300]]

        assert steered.startswith("turn 1, position 10: the steering queue was polled\n  Stays in AwaitSteering, then ")
        assert "  yes:  pending: the last poll brought messages\n" in steered
        assert "  no:   chain: tool results wait for the model's answer\n" in steered
        assert "  else: if pending had not held: AwaitSteering → AwaitFollowUp, then PollFollowUp. " in steered

    def test_why_did_it_stop_although_results_waited(self, turnwheel: Command) -> None:
        """The stop hook is named as what ended the chain, with what would have happened without its wish."""
        assert blocks(turnwheel, "stop hook")[-1].splitlines()[:4] == [
            "turn 1, position 16: the stop hook has answered",
            "  The run stops. The stop hook outranks tool results and both queues.",
            "  rule: TurnEnd, on stop [stop_wanted]",
            "  yes:  stop_wanted: the stop hook said stop",
        ]

    def test_why_was_no_queue_asked(self, turnwheel: Command) -> None:
        """After an answer that failed the decision says that no queue is asked, and which guard held."""
        last = blocks(turnwheel, "hard stop")[-1]

        assert "  The run stops. The call failed or was cancelled: no tool runs, and no queue and no hook is" in last
        assert "  yes:  hard_stop: the answer ended with error or aborted\n" in last
        assert "  else: if hard_stop had not held and calls had held: CheckStop → ExecutingTools" in last


class TestWhyStopped:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("parallel tools", "The run stopped at turn 2, position 36 (the follow-up queue was polled). Nothing is"),
            ("abort", "It was aborted, which moves nothing by itself: the model, the tools and some rules look at it."),
            ("abort", "The last answer has the stop reason aborted, saying: Request was aborted. What held: hard_stop"),
            ("hard stop", "The last answer has the stop reason error, saying: overloaded. What held: hard_stop (the"),
            ("stop hook", "What held: stop_wanted (the stop hook said stop). If stop_wanted had not held: TurnEnd →"),
            ("follow-up", "What did not hold: pending (the last poll brought messages). If pending had held: Await"),
            ("failing listener", "The run failed: no space left. The run stopped at turn 1, position 9 (something "),
        ],
    )
    def test_one_paragraph(self, turnwheel: Command, name: str, words: str) -> None:
        """The end is told in one paragraph: what was said of it, where it was, the rule's reason, the guards."""
        (paragraph,) = blocks(turnwheel, name, "--why-stopped")

        assert words in paragraph
        assert "\n" not in paragraph

    def test_a_recording_that_breaks_off(self, turnwheel: Command) -> None:
        """Where the end is not there, the last decision is told, and that it is not the end."""
        turnwheel.write("run.jsonl", "".join(record("hard stop", "pi-0.85.1")[:8]))
        ended = turnwheel("explain", "--why-stopped", "run.jsonl")

        assert ended.out.startswith("The recording breaks off before the end of the run. The last decision of the loop")
        assert ended.err == "turnwheel: run.jsonl: the recording breaks off before the end of the run\n"

    def test_nothing_but_a_header(self, turnwheel: Command) -> None:
        """A recording without a single decision says so."""
        turnwheel.write("run.jsonl", record("hard stop", "pi-0.85.1")[0])

        assert turnwheel("explain", "--why-stopped", "run.jsonl").out.endswith(". The loop had decided nothing.\n")


class TestDecisions:
    @pytest.mark.parametrize(("name", "language"), CASES)
    def test_all(self, turnwheel: Command, name: str, language: str) -> None:
        """Each decision of each run is explained, in the order in which they were taken."""
        recording = read_recording(record(name, language))
        decisions = [entry for entry in recording.entries if isinstance(entry, RecordedDecision)]
        texts = blocks(turnwheel, name, "--all", language=language)

        assert len(texts) == len(decisions)
        assert all(f"position {each.at}" in text for each, text in zip(decisions, texts, strict=True))

    def test_only_those_by_which_it_stops(self, turnwheel: Command) -> None:
        """Without --all, those of batches and calls are left out, and those within an answer."""
        texts = blocks(turnwheel, "parallel tools")

        assert len(texts) == 10
        assert not any("call 1" in text or "rule: Streaming" in text for text in texts)

    def test_a_call_is_named(self, turnwheel: Command) -> None:
        """The decision of a call says of which one, and before the first turn there is no turn."""
        texts = blocks(turnwheel, "parallel tools", "--all")

        assert texts[0].startswith("position 0: the run begins\n")
        assert any(text.startswith("turn 1, position 8, call 1 (slow): its turn has come\n") for text in texts)

    def test_a_hook_that_is_not_there(self, turnwheel: Command) -> None:
        """Nobody has answered where there is no hook, and that is said."""
        assert any(
            text.startswith("turn 1, position 9: there is no stop hook\n") for text in blocks(turnwheel, "follow-up")
        )

    @pytest.mark.parametrize("language", DIALECTS)
    def test_the_demo_run(self, turnwheel: Command, language: str) -> None:
        """A run of the demo model is explained in each dialect."""
        turnwheel.write("a.md", "x\n")
        turnwheel("run", "--dialect", language, "--record", "run.jsonl", "read a.md and b.md")
        ended = turnwheel("explain", "run.jsonl")

        assert (ended.status, ended.err) == (0, "")
        assert "The batch is over, and the model has to see its results." in ended.out
        assert "The run stops. Nothing is left to do." in ended.out

    def test_words_for_everything(self) -> None:
        """There are words for each trigger, and for each hook that may not be there."""
        assert HAPPENED.keys() == set(Trigger)
        assert MISSING.keys() == {hook for hook, _, _ in DEFAULTS.values()}


def _replaced(old: str, new: str) -> Callable[[], str]:
    return lambda: "".join(record("hard stop", "pi-0.85.1")).replace(old, new)


class TestUnreadable:
    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (_replaced("pi-0.85.1", "pi-9"), "line 1: there is no dialect 'pi-9'; there are pi-0.80.2"),
            (
                _replaced("CheckStop ready", "CheckStop red"),
                "position 8: the loop of pi-0.85.1 has no row 'CheckStop r",
            ),
            (_replaced('"hard_stop":true', '"hard_stop":false'), "position 8: the row 'CheckStop ready hard_stop' of "),
            (lambda: '{"type":"agent_start"}\n', "expected a recording, whose first line is"),
            (lambda: "# Read me\n", "expected a recording, whose first line is"),
        ],
    )
    def test_status(self, turnwheel: Command, text: Callable[[], str], problem: str) -> None:
        """What cannot be read or is not known is one line on stderr that names file and place, and status 2."""
        turnwheel.write("run.jsonl", text())
        ended = turnwheel("explain", "run.jsonl")

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith(f"turnwheel: run.jsonl: {problem}")
        assert ended.err.count("\n") == 1

    def test_a_torn_line(self, turnwheel: Command) -> None:
        """A torn last line is left out, with a note on stderr, and what is there is explained."""
        turnwheel.write("run.jsonl", "".join(record("hard stop", "pi-0.85.1"))[:-9])
        ended = turnwheel("explain", "run.jsonl")

        lines = len(record("hard stop", "pi-0.85.1"))
        assert ended.status == 0
        assert ended.err == f"turnwheel: run.jsonl: line {lines} is torn and left out: the recording breaks off there\n"
        assert "The run stops." in ended.out

    def test_standard_input(self, turnwheel: Command) -> None:
        """A dash is standard input."""
        text = "".join(record(next(iter(SCENARIOS)), "pi-0.85.1"))
        out, err = process(["explain", "--why-stopped", "-"], turnwheel.folder).communicate(text.encode(), timeout=60)

        assert err == b""
        assert out.startswith(b"The run stopped at turn 2")
