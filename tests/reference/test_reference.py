"""The reference gives real Pi's traces, and shares no code with the engine."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.traces import HERE, difference, golden
from tests.reference.trace import reference_trace
from tests.reference.versions import VERSIONS

GOLDEN: Final = [(name, path.stem) for name in VERSIONS for path in sorted((HERE / "golden" / name).glob("*.jsonl"))]
MODULES: Final = sorted(path for path in Path(__file__).parent.glob("*.py") if path != Path(__file__))
ADAPTER: Final = "arguments.py"


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


def of_ours(path: Path) -> set[str]:
    """Return what a file imports of turnwheel's packages, and of the tests of other things."""
    return {
        name
        for name in imported(path)
        if name.startswith(("turnwheel", "tests.")) and not name.startswith("tests.reference.")
    }


class TestReference:
    """The loop as two nested whiles."""

    @pytest.mark.parametrize("name", VERSIONS)
    def test_every_version_is_compared(self, name: str) -> None:
        """There are golden traces for each version that the reference knows."""
        assert any(dialect == name for dialect, _ in GOLDEN)

    @pytest.mark.parametrize(("name", "which"), GOLDEN)
    def test_the_trace_of_real_pi(self, name: str, which: str) -> None:
        """Playing the scenario gives exactly the events, calls and result that real Pi gave."""
        scenario = json.loads((HERE / "corpus" / f"{which}.json").read_bytes())

        found = difference(reference_trace(scenario, name), golden(name, which))

        if found is not None:
            pytest.fail(f"{which} in {name}: {found}", pytrace=False)

    def test_the_scenario_is_left_as_it_was(self) -> None:
        """Not even a hook that changes arguments in place changes the data that the scenario came in."""
        text = (HERE / "corpus" / "before-hook-changes-the-arguments.json").read_text(encoding="utf-8")
        scenario = json.loads(text)

        reference_trace(scenario, "pi-0.85.1")

        assert scenario == json.loads(text)


class TestIndependence:
    """What makes the reference an oracle."""

    @pytest.mark.parametrize("path", [path for path in MODULES if path.name != ADAPTER], ids=lambda path: path.stem)
    def test_nothing_of_the_engine_is_imported(self, path: Path) -> None:
        """A module of the reference imports only the standard library and other modules of the reference."""
        assert not of_ours(path)

    def test_the_adapter_imports_tool_and_validation_only(self) -> None:
        """The adapter to argument validation imports the one class that it must, and validation."""
        (adapter,) = [path for path in MODULES if path.name == ADAPTER]

        assert of_ours(adapter) == {"turnwheel.tool", "turnwheel_tools.arguments"}
