"""Puts the page together: its markup, looks and script, the pictures, and all of the run's words as escaped JSON."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import isfinite
from string import Template
from typing import Final

from turnwheel.messages import Json
from turnwheel.recorded import RecordedDecision, Recording
from turnwheel.rules import Dialect
from turnwheel_diagrams.comparing import first_difference, in_words
from turnwheel_diagrams.page.entries import Shown, run_of
from turnwheel_diagrams.page.pictures import Pictures
from turnwheel_diagrams.page.pools import Said
from turnwheel_diagrams.page.verdicts import Verdicts
from turnwheel_diagrams.themes import DARK, LIGHT

SCRIPTS: Final = (
    "dom",
    "index",
    "words",
    "blocks",
    "messages",
    "decision",
    "detail",
    "diagram",
    "list",
    "timeline",
    "tokens",
    "view",
    "main",
)
"""The parts of the script, in the order in which they are put together."""

_UNSAFE: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
"""What could end the script element or a line of it, and halves of surrogate pairs, which UTF-8 lacks."""


def page_of(runs: Sequence[Shown], pictures: Pictures) -> str:
    """Return the page of one run, or of two beside each other. The same runs and pictures give the same page.

    A machine without a picture is shown as a row of boxes. Raises ParseError for a decision that its dialect does not
    know.
    """
    script, style = _script(), _style()
    return Template(_part("page.html")).substitute(
        policy=(
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        title=escape(" and ".join(run.name for run in runs)),
        style=style,
        pictures="".join(_templates(pictures)),
        data=as_json(_data(runs)),
        script=script,
    )


def as_json(value: Json) -> str:
    """Return JSON that can stand in a script element: nothing in it is markup. Infinity and the like are null."""
    dumped = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", dumped)


def _data(runs: Sequence[Shown]) -> Json:
    said, verdicts = Said(), Verdicts()
    shown = [run_of(run, said, verdicts) for run in runs]
    return {
        "states": {run.dialect.name: _states(run.dialect) for run in runs},
        "runs": shown,
        "verdicts": verdicts.values,
        "messages": said.messages.values,
        "blocks": said.blocks.values,
        "difference": _difference(*runs) if len(runs) > 1 else None,
    }


def _difference(a: Shown, b: Shown) -> Json:
    """Return where two runs part: in words and, if they do, the entry of each of them that says so."""
    divergence = first_difference(a.recording, b.recording)
    words = in_words(divergence, a.dialect, b.dialect)
    if divergence is None:
        return {"words": words}
    places = {key: _entry_of(run.recording, divergence.index) for key, run in (("a", a), ("b", b))}
    return {"words": words, **places}


def _entry_of(recording: Recording, number: int) -> int:
    """Return the place of a decision among all entries; of one that is not there any more, the last one."""
    decisions = [at for at, entry in enumerate(recording.entries) if isinstance(entry, RecordedDecision)]
    return decisions[number] if number < len(decisions) else max(0, len(recording.entries) - 1)


def _states(dialect: Dialect) -> Json:
    return {table.name: [*map(str, table.states)] for table in dialect.tables}


def _templates(pictures: Pictures) -> Iterator[str]:
    for (dialect, machine), picture in pictures.items():
        yield f'<template data-picture="{escape(dialect)} {escape(machine)}">{picture}</template>\n'


@cache
def _part(name: str) -> str:
    return files("turnwheel_diagrams.page").joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_part(f"script/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def _style() -> str:
    return f":root {{\n{''.join(_colours())}}}\n{_part('page.css')}"


def _colours() -> Iterable[str]:
    """Yield the colours of the pictures in both themes."""
    names = ("node", "node_border", "final", "text", "hot")
    pairs = [(name.replace("_", "-"), getattr(LIGHT, name), getattr(DARK, name)) for name in names]
    pairs += [(kind.replace(" ", "-"), color, DARK.edges[kind]) for kind, color in LIGHT.edges.items()]
    return (f"  --d-{name}: light-dark({light}, {dark});\n" for name, light, dark in pairs)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _finite(value: Json) -> Json:
    match value:
        case float() if not isfinite(value):
            return None
        case dict():
            return {key: _finite(part) for key, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
    return value
