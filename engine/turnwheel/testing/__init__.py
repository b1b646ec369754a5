"""What helps to test with turnwheel: scripted models, virtual time, scenarios and their traces; and what finds faults.

`exploring` walks every run of a finite world, `generating` draws random scenarios, `watching` holds promises.
What most tests need has its name here. A name is loaded when it is first used: some of them need Hypothesis.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwheel.testing.exploring.claims import Claim, parse_claim
    from turnwheel.testing.exploring.explore import explore
    from turnwheel.testing.exploring.ways import Bounds
    from turnwheel.testing.generating.scenarios import scenarios
    from turnwheel.testing.own_hooks import ScenarioRun, run_with
    from turnwheel.testing.play import play
    from turnwheel.testing.scenario import Scenario, read_scenario
    from turnwheel.testing.watching.log import read_log
    from turnwheel.testing.watching.monitor import Monitor, assert_kept
    from turnwheel.testing.watching.monitors import default_monitors, judge
    from turnwheel.testing.written import write_scenario

_HOME = {
    "exploring.claims": ("Claim", "parse_claim"),
    "exploring.explore": ("explore",),
    "exploring.ways": ("Bounds",),
    "generating.scenarios": ("scenarios",),
    "own_hooks": ("ScenarioRun", "run_with"),
    "play": ("play",),
    "scenario": ("Scenario", "read_scenario"),
    "watching.log": ("read_log",),
    "watching.monitor": ("Monitor", "assert_kept"),
    "watching.monitors": ("default_monitors", "judge"),
    "written": ("write_scenario",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Bounds",
    "Claim",
    "Monitor",
    "Scenario",
    "ScenarioRun",
    "assert_kept",
    "default_monitors",
    "explore",
    "judge",
    "parse_claim",
    "play",
    "read_log",
    "read_scenario",
    "run_with",
    "scenarios",
    "write_scenario",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


class _Facade(ModuleType):
    """A package whose names stay what they are, also where a module that is loaded later has the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        hidden = name in _WHERE and isinstance(value, ModuleType)
        super().__setattr__(name, getattr(value, name) if hidden else value)


# `play` is a function, and loading the module of that name would otherwise put the module in its place.
import_module(__name__).__class__ = _Facade
