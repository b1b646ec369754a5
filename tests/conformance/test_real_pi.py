"""Real Pi, played live: it still gives the traces that are checked in, and a faulty scenario does not stop it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.conformance.real_pi import NODE, PI_VERSIONS, RealPi, installed, why_missing
from tests.conformance.traces import HERE
from turnwheel.messages import Json

GREETING: Final = {"prompts": ["hello"], "model": [{"text": "hi there"}]}
LONGEST: Final = 20
"""After so many seconds a process is taken for one that hangs."""
needs_node: Final = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def need(version: str) -> None:
    """Skip the test where this version of Pi is not installed."""
    if not installed(version):
        pytest.skip(why_missing(version))


def exact(value: Json) -> Any:
    """Return a value that is equal to another's where the two are the same JSON: true is not 1, but 1 is 1.0."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return (isinstance(value, bool), value)


@pytest.fixture(scope="module", params=PI_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each version of Pi, where it is installed."""
    version: str = request.param
    need(version)
    return version


@pytest.fixture(scope="module")
def pi(version: str) -> Iterator[RealPi]:
    """Real Pi, ready to play."""
    with RealPi(version) as pi:
        yield pi


class TestGolden:
    """What is checked in against real Pi."""

    def test_is_what_pi_does_now(self, version: str, pi: RealPi) -> None:
        """Playing every scenario that has a golden trace gives exactly that trace, one after the other."""
        files = sorted((HERE / "golden" / version).glob("*.jsonl"))
        assert files
        for file in files:
            scenario = json.loads((HERE / "corpus" / f"{file.stem}.json").read_text("utf-8"))
            golden = [json.loads(line) for line in file.read_text("utf-8").splitlines()]

            assert exact(pi.play(scenario)) == exact(golden), file.stem

    def test_the_command_gives_the_same(self, version: str) -> None:
        """Given files, the runner prints the traces that are checked in, one after the other, as JSON lines."""
        names = ("single-text-turn", "three-turn-trace")
        files = [str(HERE / "corpus" / f"{name}.json") for name in names]
        golden = "".join((HERE / "golden" / version / f"{name}.jsonl").read_text("utf-8") for name in names)
        command = ["node", "scenario_runner.mjs", version, *files]

        said = subprocess.run(command, cwd=NODE, check=True, capture_output=True, text=True).stdout

        assert exact([*map(json.loads, said.splitlines())]) == exact([*map(json.loads, golden.splitlines())])


class TestFaults:
    """What is no scenario, and runs that fail."""

    @pytest.mark.parametrize("line", ["", "{", "[]", '"x"', '{"abort":{"onEvent":true}}'])
    def test_a_bad_line_is_answered(self, pi: RealPi, line: str) -> None:
        """A line that is no scenario gets one line that says so, and the next one is played."""
        (told,) = pi.play_text(line)

        assert list(told) == ["scenarioError"]
        assert pi.play(GREETING)[-1]["result"]["messages"][0]["role"] == "user"

    @pytest.mark.parametrize(
        ("scenario", "problem"),
        [
            ({"prompt": []}, 'scenario: unknown key "prompt"'),
            ({"model": [{"txt": "x"}]}, 'model[0]: unknown key "txt"'),
            ({"config": {"model": 1}}, "config.model: expected a text"),
            ({"tools": [{}]}, "tools[0]: expected a key name"),
            ({"abort": {"onCall": "nothing"}}, "abort.onCall: expected one of getSteeringMessages, "),
            ({"context": {"tools": ["ghost"]}}, 'the scenario has no tool "ghost"'),
        ],
    )
    def test_the_fault_is_told(self, pi: RealPi, scenario: Json, problem: str) -> None:
        """What is wrong with a scenario is told with its place."""
        (told,) = pi.play(scenario)

        assert told["scenarioError"].startswith(problem)

    def test_a_run_that_throws(self, pi: RealPi) -> None:
        """A run that fails ends its trace with what it threw, and the next scenario is played."""
        assert pi.play({"prompts": ["go"], "steering": [{"throws": "queue broke"}]})[-1] == {"throws": "queue broke"}
        assert pi.play({"entry": "continue"}) == [{"throws": "Cannot continue: no messages in context"}]
        assert "result" in pi.play(GREETING)[-1]

    @pytest.mark.parametrize("text", ["a\u2028b\x85c", "\n\r", "\U0001f600", "\ud800"])
    def test_text_of_any_kind(self, pi: RealPi, text: str) -> None:
        """Separators of lines, characters beyond the basic plane and lone surrogates arrive as they were sent."""
        scenario = {"prompts": [text], "model": [{"text": "hi"}]}
        written = json.dumps(scenario, ensure_ascii=text == "\ud800")

        (prompt, _) = pi.play_text(written)[-1]["result"]["messages"]

        assert prompt["content"][0]["text"] == text

    def test_the_command_fails(self, version: str) -> None:
        """Given a file that is no scenario, the runner says so and ends with status 2."""
        command = ["node", "scenario_runner.mjs", version, f"{version}/package.json"]

        ended = subprocess.run(command, cwd=NODE, check=False, capture_output=True, text=True)

        assert (ended.returncode, ended.stdout) == (2, "")
        assert 'scenario: unknown key "private"' in ended.stderr


def run_module(script: str) -> subprocess.CompletedProcess[str]:
    """Run a module of JavaScript beside the runner."""
    command = ["node", "--input-type=module", "--eval", script]
    return subprocess.run(command, cwd=NODE, check=False, capture_output=True, text=True, timeout=LONGEST)


class TestEdits:
    """Changes of a list of messages."""

    @needs_node
    def test_a_message_that_is_there_twice(self) -> None:
        """Messages are dropped by place: of one that was put in a second time, the other one stays."""
        script = (
            'import { edited } from "./scenario_edits.mjs"; const [a, b] = [{ role: "a" }, { role: "system" }];'
            "console.log(JSON.stringify([{ dropFirst: 1 }, { keepLast: 0 }].map((edit) => edited([a, b, a], edit))));"
        )

        assert json.loads(run_module(script).stdout) == [[{"role": "system"}, {"role": "a"}], [{"role": "system"}]]


class TestClock:
    """When time passes in a run."""

    @needs_node
    def test_a_run_that_never_ends(self) -> None:
        """A run that waits for what never comes is an error, once no timer is left."""
        script = (
            'import { Timers, untilEnded } from "./clock.mjs"; const timers = new Timers();'
            'timers.after(3, () => console.log("fired")); await untilEnded(new Promise(() => {}), timers);'
        )

        ended = run_module(script)

        assert (ended.returncode, ended.stdout) == (1, "fired\n")
        assert "the run never ends" in ended.stderr


class TestClient:
    """The process on our side."""

    @needs_node
    def test_no_such_version(self) -> None:
        """A version that is not there is told by name, and playing on it raises what node said."""
        assert why_missing("pi-0.0.0") == "real pi-0.0.0 is not installed: run `make pi`"
        with RealPi("pi-0.0.0") as pi, pytest.raises(RuntimeError, match=r"status 1: (?s:.*)pi-0\.0\.0"):
            pi.play(GREETING)

    def test_closed(self, version: str) -> None:
        """After closing, once or twice, playing raises."""
        pi = RealPi(version)
        pi.close()
        pi.close()

        with pytest.raises(RuntimeError, match="real Pi is closed"):
            pi.play(GREETING)
