"""Pictures through Graphviz."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.diagrams.parsed import SVG, TABLES, name_of
from turnwheel.rules import Dialect, Table
from turnwheel_diagrams.dot import to_dot
from turnwheel_diagrams.graph import graph_of
from turnwheel_diagrams.render import has_graphviz, rendered


class TestRendered:
    """What Graphviz makes of the text."""

    def test_is_there(self) -> None:
        """The package that brings Graphviz is part of the environment of the tests."""
        assert has_graphviz()

    @pytest.mark.parametrize("case", TABLES, ids=name_of)
    def test_svg_has_every_state(self, case: tuple[Dialect, Table]) -> None:
        """Each state is a group of the SVG, under the id `state-NAME`."""
        each, table = case
        root = ET.fromstring(rendered(to_dot(graph_of(table, each.name)), "svg"))
        ids = {group.get("id", "") for group in root.iter(f"{SVG}g") if group.get("class") == "node"}

        assert {name for name in ids if name.startswith("state-")} == {f"state-{state}" for state in table.states}

    def test_png(self) -> None:
        """A PNG is one, by its first bytes."""
        each, table = TABLES[0]

        assert rendered(to_dot(graph_of(table, each.name)), "png").startswith(b"\x89PNG\r\n")
