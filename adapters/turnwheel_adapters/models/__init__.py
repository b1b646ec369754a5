"""The models that can be called, by the name that the commands take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turnwheel.errors import ParseError
from turnwheel.requests import Stream
from turnwheel_adapters.models.demo import DemoModel

if TYPE_CHECKING:
    from turnwheel_adapters.models.routing import Setup

__all__ = ["FORMS", "DemoModel", "open_model"]


def _demo(rest: str) -> Stream:
    if rest:
        raise ValueError(f"the model demo has no variants, got {rest!r}: call it demo")
    return DemoModel()


def _scripted(rest: str) -> Stream:
    # Here, so that only those who play a script load the reader of scenarios.
    from turnwheel.testing.scenario import read_answers, read_json
    from turnwheel.testing.scripted import ScriptedModel

    if not rest:
        raise ValueError("the model scripted needs a file, as in scripted:answers.json")
    try:
        data = Path(rest).read_bytes()
    except OSError as error:
        raise ParseError(f"cannot be read: {error.strerror or error}", source=rest) from error
    return ScriptedModel(read_answers(read_json(data, rest), rest))


_OFFLINE: Final[Mapping[str, Callable[[str], Stream]]] = {"demo": _demo, "scripted": _scripted}
FORMS: Final = ("demo", "scripted:FILE", "PROVIDER/NAME")
"""How models are named."""


def open_model(name: str, setup: Setup | None = None) -> Stream:
    """Return what answers requests to the model of that name; `setup` says how those of providers are reached.

    Raises ValueError, saying what there is, for a name that none has, and for a provider without an address or a key;
    ParseError for a bad script.
    """
    provider = name.partition(":")[0].partition("/")[0]
    if provider in _OFFLINE:
        return _OFFLINE[provider](name[len(provider) + 1 :])
    # Here, so that only those who ask a provider load what speaks HTTP.
    from turnwheel_adapters.models.routing import ProviderModels, Setup

    setup = setup or Setup()
    if provider not in setup.known:
        raise ValueError(f"there is no model {name!r}; choose from {', '.join(FORMS)} (turnwheel models lists them)")
    return ProviderModels(name, setup)
