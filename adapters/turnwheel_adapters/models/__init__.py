"""The models that can be called, by the name that the commands take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from turnwheel.abort import AbortSignal
from turnwheel.errors import ParseError
from turnwheel.host import Model
from turnwheel_adapters.models.demo import DemoModel

__all__ = ["MODELS", "DemoModel", "open_model"]


def _demo(rest: str, signal: AbortSignal) -> Model:
    if rest:
        raise ValueError(f"the model demo has no variants, got {rest!r}: call it demo")
    return DemoModel(signal)


def _scripted(rest: str, signal: AbortSignal) -> Model:
    # Here, so that only those who play a script load the reader of scenarios.
    from turnwheel.testing.scenario import read_answers, read_json
    from turnwheel.testing.scripted import ScriptedModel

    if not rest:
        raise ValueError("the model scripted needs a file, as in scripted:answers.json")
    try:
        data = Path(rest).read_bytes()
    except OSError as error:
        raise ParseError(f"cannot be read: {error.strerror or error}", source=rest) from error
    return ScriptedModel(read_answers(read_json(data, rest), rest), signal=signal)


MODELS: Final[Mapping[str, tuple[str, Callable[[str, AbortSignal], Model]]]] = {
    "demo": ("demo", _demo),
    "scripted": ("scripted:FILE", _scripted),
}
"""By provider: how its models are named, and how one is opened."""


def open_model(name: str, signal: AbortSignal) -> Model:
    """Return the model of that name, which looks at `signal`.

    Raises ValueError, saying which models there are, for a name that none has, and ParseError for a bad script.
    """
    provider = name.partition(":")[0].partition("/")[0]
    if provider not in MODELS:
        raise ValueError(f"there is no model {name!r}; choose from {', '.join(form for form, _ in MODELS.values())}")
    return MODELS[provider][1](name[len(provider) + 1 :], signal)
