"""Recordings of provider streams: those that are kept here, and those of the folder that TURNWHEEL_RECORDINGS names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, final

from attrs import field, frozen

from turnwheel_adapters.apis.api import Api, ApiName, Target
from turnwheel_adapters.models.routing import api_of

HERE: Final = Path(__file__).parents[1] / "wire"
VARIABLE: Final = "TURNWHEEL_RECORDINGS"
MISSING: Final = f"only the hand-written recordings are played: {VARIABLE} names no folder with the others"


@final
@frozen(eq=False)
class Play:
    """A recorded answer: its name, API, bytes, and what a client must make of it. `status` is None for a stream."""

    name: str
    api: ApiName
    raw: bytes = field(repr=False)
    expect: dict[str, Any] = field(repr=False)
    status: int | None = None

    @property
    def codec(self) -> Api:
        """The codec of its API."""
        return api_of(self.api)

    def target(self, url: str = "http://localhost") -> Target:
        """Return a target at an address."""
        return Target("provider", "model", self.api, url)

    def __str__(self) -> str:
        return self.name


def others() -> Path | None:
    """Return the folder with the other recordings, None where there is none."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder and Path(folder).is_dir() else None


@cache
def recordings() -> tuple[Play, ...]:
    """Return all recordings that there are, each name once."""
    found = {play.name: play for folder in (others(), HERE) if folder is not None for play in _plays(folder)}
    return tuple(found[name] for name in sorted(found))


def streams() -> list[Play]:
    """Return the streams among them."""
    return [play for play in recordings() if play.status is None]


def _plays(folder: Path) -> Iterator[Play]:
    for file in sorted(folder.glob("*/*.json")):
        told = json.loads(file.read_bytes())
        status = told["expect"].get("httpStatus")
        raw = file.with_suffix(".sse" if status is None else ".http").read_bytes()
        yield Play(told["name"], told["api"], raw, told["expect"], status)
