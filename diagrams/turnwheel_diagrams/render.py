"""From DOT to a picture, through Graphviz: the package pygraphviz, which brings it along, else the command `dot`."""

from __future__ import annotations

import shutil
import subprocess
from importlib import import_module
from typing import Any, Final, Literal

PictureFormat = Literal["svg", "png"]

HOW_TO_GET: Final = "pip install 'turnwheel[diagrams]', or install Graphviz so that the command dot is there"


class NoGraphviz(RuntimeError):
    """There is no Graphviz to draw with."""


def has_graphviz() -> bool:
    """Say whether pictures can be drawn here."""
    return _pygraphviz() is not None or shutil.which("dot") is not None


def rendered(dot: str, form: PictureFormat) -> bytes:
    """Return the picture of a graph in DOT. Raises NoGraphviz where nothing is there to draw it."""
    library = _pygraphviz()
    if library is not None:
        picture: bytes = library.AGraph(string=dot).draw(format=form, prog="dot")
        return picture
    command = shutil.which("dot")
    if command is None:
        raise NoGraphviz(f"drawing {form} needs Graphviz: {HOW_TO_GET}")
    done = subprocess.run([command, f"-T{form}"], input=dot.encode(), capture_output=True, check=False)
    if done.returncode:
        raise NoGraphviz(f"dot failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _pygraphviz() -> Any:
    """Return the package, or None where it is not installed."""
    try:
        return import_module("pygraphviz")
    except ImportError:
        return None
