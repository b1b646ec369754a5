"""Reading scenarios: the short forms, and what does not fit, with its place. And the clock that they are played by."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from turnwheel.errors import ParseError
from turnwheel.messages import Json, TextContent, UserMessage, user
from turnwheel.table import DIALECTS, dialect
from turnwheel.testing.clock import VirtualClock
from turnwheel.testing.play import play
from turnwheel.testing.scenario import Edit, Scenario, Throws, read_answers, read_scenario, read_scenario_text

CONFORMANCE = Path(__file__).parents[1] / "conformance"


def complaint(data: Json) -> tuple[str, str]:
    """Return the path and the problem that reading `data` complains of."""
    with pytest.raises(ParseError) as caught:
        read_scenario(data, "a.json")
    assert caught.value.source == "a.json"
    return caught.value.path, caught.value.problem


def played(data: Json) -> list[Any]:
    """Return the trace of a scenario without calls."""
    return play(read_scenario(data), dialect(), lambda *_: None)


class TestShortForms:
    """What may be left out or abbreviated."""

    def test_nothing_at_all(self) -> None:
        """Every key is optional; both queues are configured although their keys are absent."""
        assert read_scenario({}) == Scenario()
        assert (read_scenario({}).steering, read_scenario({}).follow_up) == ((), ())

    def test_a_queue_that_is_left_out(self) -> None:
        """A queue set to null is not configured."""
        assert read_scenario({"steering": None}).steering is None

    @pytest.mark.parametrize(
        ("data", "where"),
        [
            ({"prompts": ["x"]}, lambda s: s.prompts),
            ({"context": {"messages": ["x"]}}, lambda s: s.context.messages),
            ({"steering": [["x"]]}, lambda s: s.steering[0]),
            ({"hooks": {"transformContext": {"append": ["x"]}}}, lambda s: s.hooks.transform_context.append),
            (
                {"hooks": {"prepareNextTurn": [{"context": {"messages": ["x"]}}]}},
                lambda s: s.hooks.prepare_next_turn[0].context.messages,
            ),
        ],
    )
    def test_a_bare_string_is_a_user_message(self, data: Json, where: Any) -> None:
        """Wherever a message is expected, a string is short for what the user says."""
        assert list(where(read_scenario(data))) == [user("x")]

    def test_a_message_keeps_what_it_has(self) -> None:
        """A message that is an object is used as it stands, with its unknown keys."""
        (message,) = read_scenario({"prompts": [{"role": "user", "content": "x", "mood": "good"}]}).prompts

        assert message == UserMessage("x", extra={"mood": "good"})

    def test_throws_beside_lists(self) -> None:
        """A poll is a list of messages, null, or a failure."""
        assert read_scenario({"steering": [["x"], None, {"throws": "no"}]}).steering == (
            (user("x"),),
            None,
            Throws("no"),
        )

    def test_one_edit_or_many(self) -> None:
        """TransformContext is one edit for every call or a list of edits."""
        one = read_scenario({"hooks": {"transformContext": {"keepLast": 1}}}).hooks.transform_context
        many = read_scenario({"hooks": {"transformContext": [{"keepLast": 1}, None]}}).hooks.transform_context

        assert (one, many) == (Edit(keep_last=1), (Edit(keep_last=1), None))

    def test_answers_alone(self) -> None:
        """A script of answers is read by itself, or out of a scenario."""
        assert read_answers([{"text": "x"}]) == read_answers({"model": [{"text": "x"}]})
        assert read_answers([{"text": "x"}])[0].final().content == (TextContent("x"),)

    @pytest.mark.parametrize(
        ("answer", "path"),
        [
            ({"message": {"content": 5}}, "[0].message.content"),
            ({"deltas": [{"type": "text_delta", "contentIndex": -1}]}, "[0].deltas[0].contentIndex"),
        ],
    )
    def test_answers_alone_are_checked(self, answer: Json, path: str) -> None:
        """What is wrong with an answer is said when the script is read, not in the middle of a run."""
        with pytest.raises(ParseError) as caught:
            read_answers([answer])

        assert caught.value.path == path


class TestUnknownKeys:
    """Keys that nobody knows are errors, at every depth."""

    @pytest.mark.parametrize(
        ("data", "path"),
        [
            ({"promts": []}, "promts"),
            ({"config": {"mode": 1}}, "config.mode"),
            ({"context": {"system": ""}}, "context.system"),
            ({"tools": [{"name": "a"}, {"name": "b", "schema": {}}]}, "tools[1].schema"),
            ({"tools": [{"name": "a", "prepareArguments": {"renam": {}}}]}, "tools[0].prepareArguments.renam"),
            ({"model": [{"txt": "x"}]}, "model[0].txt"),
            ({"model": [{"toolCalls": [{"id": "c", "name": "a", "args": {}}]}]}, "model[0].toolCalls[0].args"),
            ({"model": [{"deltas": [{"type": "start", "index": 0}]}]}, "model[0].deltas[0].index"),
            ({"toolResults": {"c1": {"delayed": 1}}}, "toolResults.c1.delayed"),
            ({"toolResults": {"c1": {"updates": [{"tick": 1}]}}}, "toolResults.c1.updates[0].tick"),
            ({"hooks": {"before": {}}}, "hooks.before"),
            ({"hooks": {"beforeToolCall": {"c1": {"stop": True}}}}, "hooks.beforeToolCall.c1.stop"),
            ({"hooks": {"prepareNextTurn": [None, {"mdl": "m"}]}}, "hooks.prepareNextTurn[1].mdl"),
            ({"hooks": {"prepareNextTurn": [{"context": {"x": 1}}]}}, "hooks.prepareNextTurn[0].context.x"),
            ({"hooks": {"transformContext": {"dropLast": 1}}}, "hooks.transformContext.dropLast"),
            ({"steering": [{"throw": "x"}]}, "steering[0].throw"),
            ({"abort": {"onTick": 1}}, "abort.onTick"),
        ],
    )
    def test_an_unknown_key(self, data: Json, path: str) -> None:
        """The key is named with its path, and those that there are."""
        found = complaint(data)

        assert found[0] == path
        assert found[1].startswith("unknown key; there are ")

    def test_free_objects_are_free(self) -> None:
        """Schemas, details, arguments and what a shim sets are anybody's data."""
        data = {
            "tools": [{"name": "a", "parameters": {"x": 1}, "prepareArguments": {"set": {"y": 2}}}],
            "toolResults": {"c": {"details": {"z": 3}}},
            "model": [{"toolCalls": [{"id": "c", "name": "a", "arguments": {"n": 1}}]}],
        }

        assert read_scenario(data).tools[0].parameters == {"x": 1}


class TestWrongTypes:
    """Values of another type, at every depth."""

    @pytest.mark.parametrize(
        ("data", "path", "problem"),
        [
            ([], "", "expected an object, got a list"),
            ("x", "", "expected an object, got 'x'"),
            ({"name": 5}, "name", "expected a string, got 5"),
            ({"name": None}, "name", "expected a string, got null"),
            ({"dialects": "pi-0.80.2"}, "dialects", "expected a list or null, got 'pi-0.80.2'"),
            ({"dialects": [1]}, "dialects[0]", "expected a string, got 1"),
            ({"entry": "go"}, "entry", "expected one of prompt, continue, got 'go'"),
            ({"prompts": "x"}, "prompts", "expected a list, got 'x'"),
            ({"prompts": ["x", 5]}, "prompts[1]", "expected an object, got 5"),
            ({"prompts": [{"content": "x"}]}, "prompts[0]", "missing `role`"),
            ({"prompts": [{"role": 5}]}, "prompts[0].role", "expected a string, got 5"),
            (
                {"prompts": [{"role": "user", "content": 5}]},
                "prompts[0].content",
                "expected a string or a list, got 5",
            ),
            (
                {"prompts": [{"role": "user", "content": [{"type": "text"}]}]},
                "prompts[0].content[0]",
                "missing `text`",
            ),
            ({"context": []}, "context", "expected an object, got a list"),
            ({"context": {"systemPrompt": 1}}, "context.systemPrompt", "expected a string, got 1"),
            (
                {"config": {"toolExecution": "both"}},
                "config.toolExecution",
                "expected one of sequential, parallel, got 'both'",
            ),
            ({"config": {"modelOnAbort": True}}, "config.modelOnAbort", "expected one of aborted, ignore, got true"),
            ({"tools": {}}, "tools", "expected a list, got an object"),
            ({"tools": [{}]}, "tools[0]", "missing `name`"),
            ({"tools": [{"name": "a", "parameters": []}]}, "tools[0].parameters", "expected an object, got a list"),
            ({"model": [[]]}, "model[0]", "expected an object, got a list"),
            ({"model": [{"text": 1}]}, "model[0].text", "expected a string or null, got 1"),
            ({"model": [{"deltas": "x"}]}, "model[0].deltas", "expected a number or a list, got 'x'"),
            ({"model": [{"deltas": True}]}, "model[0].deltas", "expected a number or a list, got true"),
            ({"model": [{"deltas": 1.5}]}, "model[0].deltas", "expected a whole number, got 1.5"),
            ({"model": [{"deltas": [{}]}]}, "model[0].deltas[0]", "missing `type`"),
            ({"model": [{"start": 1}]}, "model[0].start", "expected true or false, got 1"),
            ({"model": [{"toolCalls": [{"id": "c"}]}]}, "model[0].toolCalls[0]", "missing `name`"),
            ({"model": [{"usage": 5}]}, "model[0].usage", "expected an object or null, got 5"),
            ({"model": [{"message": {"content": 5}}]}, "model[0].message.content", "expected a list, got 5"),
            (
                {"model": [{}, {"message": {"content": [{"type": "text"}]}}]},
                "model[1].message.content[0]",
                "missing `text`",
            ),
            ({"toolResults": []}, "toolResults", "expected an object, got a list"),
            ({"toolResults": {"c1": 5}}, "toolResults.c1", "expected an object, got 5"),
            ({"toolResults": {"c1": {"delay": "1"}}}, "toolResults.c1.delay", "expected a number, got '1'"),
            ({"toolResults": {"c1": {"delay": True}}}, "toolResults.c1.delay", "expected a number, got true"),
            ({"toolResults": {"c1": {"content": "x"}}}, "toolResults.c1.content", "expected a list or null, got 'x'"),
            (
                {"toolResults": {"c1": {"updates": [{}, {"at": "x"}]}}},
                "toolResults.c1.updates[1].at",
                "expected a number, got 'x'",
            ),
            ({"hooks": {"beforeToolCall": []}}, "hooks.beforeToolCall", "expected an object or null, got a list"),
            ({"hooks": {"beforeToolCall": {"c": None}}}, "hooks.beforeToolCall.c", "expected an object, got null"),
            (
                {"hooks": {"beforeToolCall": {"c": {"setArgs": 1}}}},
                "hooks.beforeToolCall.c.setArgs",
                "expected an object or null, got 1",
            ),
            ({"hooks": {"prepareNextTurn": [5]}}, "hooks.prepareNextTurn[0]", "expected an object or null, got 5"),
            (
                {"hooks": {"shouldStopAfterTurn": [True, 1]}},
                "hooks.shouldStopAfterTurn[1]",
                "expected true or false or an object or null, got 1",
            ),
            (
                {"hooks": {"transformContext": [{"append": ["x", 7]}]}},
                "hooks.transformContext[0].append[1]",
                "expected an object, got 7",
            ),
            (
                {"hooks": {"convertToLlm": "none"}},
                "hooks.convertToLlm",
                "expected one of default, identity, custom-as-user, got 'none'",
            ),
            ({"steering": ["x"]}, "steering[0]", "expected a list or an object or null, got 'x'"),
            ({"followUp": [{"throws": 5}]}, "followUp[0].throws", "expected a string, got 5"),
            ({"abort": 3}, "abort", "expected an object or null, got 3"),
            ({"abort": {"onEvent": 1.5}}, "abort.onEvent", "expected a whole number, got 1.5"),
        ],
    )
    def test_a_wrong_value(self, data: Json, path: str, problem: str) -> None:
        """What was expected and what was there is said, with the path."""
        assert complaint(data) == (path, problem)

    def test_a_tool_that_there_is_not(self) -> None:
        """The context can only begin with tools of the scenario."""
        assert complaint({"tools": [{"name": "a"}], "context": {"tools": ["a", "b"]}}) == (
            "context.tools[1]",
            "expected the name of a tool of the scenario, got 'b'",
        )

    def test_a_tool_that_there_is_not_later(self) -> None:
        """A preparation can only switch to tools of the scenario."""
        assert complaint({"hooks": {"prepareNextTurn": [{"context": {"tools": ["b"]}}]}}) == (
            "hooks.prepareNextTurn[0].context.tools[0]",
            "expected the name of a tool of the scenario, got 'b'",
        )

    def test_a_callback_that_there_is_not(self) -> None:
        """An abort can only be bound to a callback that exists."""
        assert complaint({"abort": {"onCall": "exectue"}})[0] == "abort.onCall"

    @pytest.mark.parametrize(
        "data",
        [
            {"model": [{"text": "abc", "deltas": 2.0}]},
            {"hooks": {"transformContext": {"dropFirst": 1.0}}},
            {"model": [{"deltas": [{"type": "start"}, {"type": "text_delta", "contentIndex": 0.0, "delta": "x"}]}]},
        ],
        ids=["deltas", "dropFirst", "contentIndex"],
    )
    def test_a_whole_number_with_a_point(self, data: Json) -> None:
        """Numbers go by value: 2.0 is 2, when it is read and when it is played."""
        assert "result" in played({"prompts": ["go"], **data})[-1]

    @pytest.mark.parametrize("index", [-1, -2])
    def test_a_place_before_the_first(self, index: int) -> None:
        """A step cannot be for a block before the first one."""
        step = {"type": "text_delta", "contentIndex": index, "delta": "x"}

        assert complaint({"model": [{"deltas": [step]}]})[0] == "model[0].deltas[0].contentIndex"


class TestText:
    """JSON text."""

    @pytest.mark.parametrize(
        ("text", "where"),
        [("", "line 1, column 1"), ("{", "line 1, column 2"), ('{\n "name": x}', "line 2, column 10")],
    )
    def test_bad_json(self, text: str, where: str) -> None:
        """The place in the text is told."""
        with pytest.raises(ParseError, match="expected JSON") as caught:
            read_scenario_text(text, "a.json")

        assert (caught.value.source, caught.value.path) == ("a.json", where)

    def test_bad_utf8(self) -> None:
        """Bytes that are no UTF-8 are told, too."""
        with pytest.raises(ParseError, match="expected UTF-8 text; byte 10 is not"):
            read_scenario_text(b'{"name": "\xff"}')

    def test_endless_nesting(self) -> None:
        """Text that is nested too deeply is no crash."""
        with pytest.raises(ParseError, match="sensible depth"):
            read_scenario_text("[" * 100_000)

    def test_a_number_without_end(self) -> None:
        """A number of thousands of digits is a ParseError like anything else that does not fit."""
        with pytest.raises(ParseError):
            read_scenario_text('{"model": [{"deltas": ' + "9" * 5000 + "}]}")

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
    def test_numbers_that_are_none(self, number: str) -> None:
        """NaN and Infinity are no JSON."""
        with pytest.raises(ParseError, match="expected JSON"):
            read_scenario_text(f'{{"toolResults": {{"c": {{"delay": {number}}}}}}}')


class TestCorpus:
    """The scenarios of the corpus, and the traces named for them."""

    def test_each_is_named_for_its_file(self) -> None:
        """Every scenario can be read, and its name is that of its file."""
        files = sorted((CONFORMANCE / "corpus").glob("*.json"))

        assert [read_scenario_text(path.read_bytes(), path.name).name for path in files] == [p.stem for p in files]
        assert files

    @pytest.mark.parametrize("name", DIALECTS)
    def test_every_golden_trace_has_its_scenario(self, name: str) -> None:
        """A golden trace bears the name of a scenario that is meant for its dialect, and ends as a trace does."""
        for path in (CONFORMANCE / "golden" / name).iterdir():
            scenario = read_scenario_text((CONFORMANCE / "corpus" / f"{path.stem}.json").read_bytes())
            last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
            assert scenario.dialects is None or name in scenario.dialects
            assert {*last} <= {"result", "throws"}


def names(*said: str) -> Callable[[], Sequence[str]]:
    """Return what a timer does that says these names."""
    return lambda: said


def fired(clock: VirtualClock) -> list[tuple[float, str]]:
    """Let the clock go on to its end; return what its timers said, each with its tick."""
    found: list[tuple[float, str]] = []
    while (said := clock.advance()) is not None:
        found += [(clock.tick, name) for name in said]
    return found


class TestClock:
    """Virtual time."""

    def test_due_tick_then_creation(self) -> None:
        """Timers fire by their due tick and, within one, in the order in which they were made."""
        clock = VirtualClock()
        for name, ticks in [("c", 2), ("a", 0), ("d", 2), ("b", 1.5)]:
            clock.after(ticks, names(name))

        assert fired(clock) == [(0, "a"), (1.5, "b"), (2, "c"), (2, "d")]

    def test_later_timers_count_from_now(self) -> None:
        """A timer that is made later is due so many ticks after that moment."""
        clock = VirtualClock()
        clock.after(2, names())
        clock.advance()
        clock.after(3, names("late"))

        assert fired(clock) == [(5, "late")]

    def test_without_timers_no_time_passes(self) -> None:
        """Where no timer is left there is nothing to say, and the clock stands still."""
        clock = VirtualClock()
        clock.after(1, names())

        assert [clock.advance(), clock.advance(), clock.tick] == [(), None, 1]

    def test_a_timer_may_make_timers(self) -> None:
        """A timer that is made while another one fires, for the same tick, comes after those that were there."""
        clock = VirtualClock()

        def first() -> Sequence[str]:
            clock.after(0, names("made"))
            return ["first"]

        clock.after(1, first)
        clock.after(1, names("there"))

        assert fired(clock) == [(1, "first"), (1, "there"), (1, "made")]
