"""How tables, dialects and recordings show themselves in notebooks."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib.metadata import entry_points

import pytest
from attrs import evolve

from tests.engine.recordings import record
from turnwheel.recorded import RecordedEnd, Recording, read_recording
from turnwheel.showing import GROUP, picture_of
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.notebook import graph_for, html, svg


def titles(picture: str) -> Iterator[str | None]:
    """Yield the titles of the nodes and edges of an SVG."""
    yield from (title.text for title in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}title"))


def run(name: str) -> Recording:
    return read_recording(record(name, "pi-0.85.1"))


class TestSvg:
    @pytest.mark.parametrize("name", DIALECTS)
    def test_tables_and_dialects(self, name: str) -> None:
        """A table shows itself as its picture, and a dialect as that of its loop."""
        language = dialect(name)
        for table in language.tables:
            picture = table._repr_svg_()
            assert picture is not None
            assert {str(state) for state in table.states} <= set(titles(picture))
        assert language._repr_svg_() == language.loop._repr_svg_()

    def test_a_recording(self) -> None:
        """A recording shows its run on the loop: counted, and lit where it ended."""
        graph = graph_for(run("hard stop"))

        assert graph is not None
        assert [node.name for node in graph.nodes if node.lit] == ["Done"]
        assert run("hard stop")._repr_svg_() == svg(run("hard stop"))

    def test_it_stands_in_a_page(self) -> None:
        """The picture is the element alone, without the head of a file."""
        assert (svg(dialect("pi-0.85.1")) or "").startswith("<svg")


class TestHtml:
    def test_why_it_stopped(self) -> None:
        """A recording has the reason of its last decision below its picture."""
        assert "<figcaption>stopped: Nothing is left to do.</figcaption>" in (run("follow-up")._repr_html_() or "")

    def test_it_is_escaped(self) -> None:
        """Whatever made a run fail is shown as it is."""
        whole = run("follow-up")
        failed = evolve(whole, entries=(*whole.entries[:-1], RecordedEnd(30, None, "<script>alert(1)</script>", False)))

        assert "failed: &lt;script&gt;alert(1)&lt;/script&gt;" in (html(failed) or "")

    def test_a_recording_that_breaks_off(self) -> None:
        """Where the end is missing, that is said."""
        torn = evolve(run("follow-up"), entries=run("follow-up").entries[:5])

        assert "breaks off" in (html(torn) or "")

    def test_a_table_has_none(self) -> None:
        """A table has no caption, so its SVG is what the notebook takes."""
        assert dialect("pi-0.85.1").loop._repr_html_() is None


class TestWithoutAPicture:
    def test_what_nobody_can_draw(self) -> None:
        """There is no picture of anything else."""
        assert picture_of("a text", "svg") is None
        assert picture_of("a text", "no such form") is None

    def test_drawing_fails(self) -> None:
        """A recording of a dialect that nobody knows is shown as text, without an error."""
        whole = run("follow-up")
        odd = evolve(whole, header=evolve(whole.header, dialect="pi-9"))

        assert odd._repr_svg_() is None

    def test_they_are_found(self) -> None:
        """The distribution says where its pictures are."""
        assert {point.name for point in entry_points(group=GROUP)} == {"svg", "html"}
