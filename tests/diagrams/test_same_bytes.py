"""The same table gives the same bytes, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import hashlib
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.differences import difference_of
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import graph_of
from turnwheel_diagrams.grid import to_grid
from turnwheel_diagrams.mermaid import to_mermaid
from turnwheel_diagrams.render import rendered
from turnwheel_diagrams.themes import THEMES

def say(*what):
    *name, drawn = what
    print(*name, hashlib.sha256(drawn if isinstance(drawn, bytes) else drawn.encode()).hexdigest())

first, *_, last = map(dialect, DIALECTS)
graphs = [graph_of(t, d.name, full=full) for d in map(dialect, DIALECTS) for t in d.tables for full in (False, True)]
graphs += [difference_of(first, last, table.name) for table in last.tables]
for graph in graphs:
    for theme in THEMES.values():
        dot = to_dot(graph, theme)
        say("dot", graph.title, theme.name, dot)
        say("svg", graph.title, theme.name, rendered(dot, "svg"))
        say("mermaid", graph.title, theme.name, to_mermaid(graph, theme))
for table in last.tables:
    say("grid", table.name, to_grid(table))
"""


def hashes(seed: str) -> list[str]:
    """Return a line with the hash of each picture, drawn in a process in which names are hashed with this seed."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


class TestBytes:
    """Two processes."""

    def test_agree(self) -> None:
        """Whatever the order of hashes, every picture of every format is the same, byte for byte."""
        one, other = hashes("1"), hashes("2718")

        assert len(one) > 120
        assert one == other
