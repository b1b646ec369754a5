"""Writing scenarios: what is left out, what is short, and that nothing is lost. And the names of turnwheel.testing."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwheel.testing
from turnwheel.messages import Json, UserMessage, user
from turnwheel.testing import Scenario, read_scenario, scenarios, write_scenario
from turnwheel.testing.scenario import Abort, Config, Execution

CORPUS = sorted((Path(__file__).parents[1] / "conformance" / "corpus").glob("*.json"))
any_scenarios = st.one_of(scenarios(), scenarios("pi-1.6.0"))


class TestNothingIsLost:
    """What is written reads as what it was."""

    @given(any_scenarios)
    def test_random_scenarios(self, scenario: Scenario) -> None:
        """Reading what was written gives an equal scenario."""
        assert read_scenario(write_scenario(scenario)) == scenario

    @pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
    def test_the_corpus(self, path: Path) -> None:
        """Scenarios that people wrote, with names and descriptions, come back, too."""
        scenario = read_scenario(json.loads(path.read_text(encoding="utf-8")))

        assert read_scenario(write_scenario(scenario)) == scenario

    @given(any_scenarios)
    def test_it_is_json(self, scenario: Scenario) -> None:
        """What is written passes through a JSON text unchanged."""
        written = write_scenario(scenario)

        assert json.loads(json.dumps(written)) == written

    @pytest.mark.parametrize(
        "data",
        [
            {"steering": None},
            {"toolResults": {"c1": {"content": None, "details": None}}},
            {"hooks": {"prepareNextTurn": [None, {}], "beforeToolCall": {}, "afterToolCall": {"c1": {}}}},
            {"model": [{"deltas": []}, {"text": ""}, {}]},
            {"model": [{"usage": {"input": 3}}]},
            {"abort": {"onEvent": 0}},
            {"prompts": [{"role": "mark"}, {"role": "user", "content": "x"}]},
        ],
    )
    def test_what_looks_like_nothing(self, data: Json) -> None:
        """Null, zero and the empty list are written where they are no defaults."""
        assert write_scenario(read_scenario(data)) == data


class TestShortForms:
    """What goes without saying is not said."""

    def test_defaults_are_left_out(self) -> None:
        """The scenario in which nothing is said is the empty object."""
        assert write_scenario(Scenario()) == {}

    def test_defaults_are_left_out_inside(self) -> None:
        """Also in the parts, what equals its default is missing."""
        scenario = Scenario(
            config=Config(model="m1"), tool_results={"c1": Execution(delay=2)}, abort=Abort(on_call="stream")
        )

        assert write_scenario(scenario) == {
            "config": {"model": "m1"},
            "toolResults": {"c1": {"delay": 2}},
            "abort": {"onCall": "stream"},
        }

    def test_a_text_of_the_user_is_a_string(self) -> None:
        """A user message of one text is that text."""
        assert write_scenario(Scenario(prompts=(user("x"),))) == {"prompts": ["x"]}

    @pytest.mark.parametrize("message", [UserMessage("x"), user("x", timestamp=5), UserMessage(())])
    def test_other_messages_of_the_user_are_whole(self, message: UserMessage) -> None:
        """A user message that a string would not give back is an object."""
        (written,) = write_scenario(Scenario(prompts=(message,)))["prompts"]

        assert written["role"] == "user"

    def test_nothing_is_shared(self) -> None:
        """Who changes what was written does not change the scenario."""
        scenario = read_scenario({"model": [{"toolCalls": [{"id": "c1", "name": "a", "arguments": {"x": [1]}}]}]})

        write_scenario(scenario)["model"][0]["toolCalls"][0]["arguments"]["x"].append(2)

        assert (scenario.model[0].tool_calls or ())[0].arguments == {"x": [1]}


class TestNames:
    """The names of turnwheel.testing."""

    def test_importing_is_cheap(self) -> None:
        """Importing turnwheel.testing loads neither Hypothesis nor pytest nor cattrs."""
        code = "import sys, turnwheel.testing; print({'hypothesis', 'pytest', 'cattrs'} & sys.modules.keys())"

        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert done.stdout == "set()\n"

    @pytest.mark.parametrize("name", turnwheel.testing.__all__)
    def test_each_name_is_there(self, name: str) -> None:
        """Each name can be had, is listed, and is something to call."""
        assert callable(getattr(turnwheel.testing, name))
        assert name in dir(turnwheel.testing)

    def test_a_module_does_not_hide_a_name(self) -> None:
        """`play` is the function, although there is a module of that name, whichever is loaded first."""
        code = "import turnwheel.testing.play; from turnwheel.testing import play; print(play.__name__)"

        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert done.stdout == "play\n"

    def test_other_modules_stay_modules(self) -> None:
        """A module whose name is none of them is an attribute of the package as ever."""
        assert import_module("turnwheel.testing.clock") is turnwheel.testing.clock

    def test_no_such_name(self) -> None:
        """A name that there is not is an AttributeError that says so."""
        with pytest.raises(AttributeError, match=r"'turnwheel\.testing' has no attribute 'scenarioes'"):
            _ = turnwheel.testing.scenarioes
