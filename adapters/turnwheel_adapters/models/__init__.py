"""The models that can be called, by the name that the commands take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from turnwheel.errors import ParseError
from turnwheel.requests import Stream
from turnwheel_adapters.models.demo import DemoModel

__all__ = ["MODELS", "DemoModel", "open_model"]


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


MODELS: Final[Mapping[str, tuple[str, Callable[[str], Stream]]]] = {
    "demo": ("demo", _demo),
    "scripted": ("scripted:FILE", _scripted),
}
"""By provider: how its models are named, and how one is opened."""


def open_model(name: str) -> Stream:
    """Return what answers requests to the model of that name.

    Raises ValueError, saying which models there are, for a name that none has, and ParseError for a bad script.
    """
    provider = name.partition(":")[0].partition("/")[0]
    if provider not in MODELS:
        raise ValueError(f"there is no model {name!r}; choose from {', '.join(form for form, _ in MODELS.values())}")
    return MODELS[provider][1](name[len(provider) + 1 :])
