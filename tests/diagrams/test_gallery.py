"""The gallery: complete, fresh, and honest about what is stale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.coverage import corpus_counts
from turnwheel.table import DIALECTS, dialect
from turnwheel_diagrams.gallery import COUNTS, INDEX, Picture, main, pictures_of, renew, stale

GALLERY: Final = Path(__file__).parents[2] / "diagrams" / "gallery"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a whole gallery, drawn now."""
    folder = tmp_path_factory.mktemp("gallery")
    renew(folder, lambda line: None)
    return folder


def quiet(line: str) -> None:
    """Tell nobody."""


class TestOurs:
    def test_it_is_fresh(self) -> None:
        """The gallery of this repository is what its tables draw now."""
        assert stale(GALLERY, pictures_of(GALLERY)) == ([], [])

    @pytest.mark.parametrize("name", DIALECTS)
    def test_its_counts_are_fresh(self, name: str) -> None:
        """The counts that are drawn there are those of the corpus as it is now."""
        there = json.loads((GALLERY / f"corpus-{name}{COUNTS}").read_bytes())

        assert there == corpus_counts(name).to_json()

    def test_it_names_no_place(self) -> None:
        """No picture tells of the machine on which it was drawn."""
        for path in GALLERY.iterdir():
            text = path.read_text(encoding="utf-8")
            assert str(Path.home()) not in text
            assert str(GALLERY.parents[1]) not in text


class TestContent:
    def test_every_table_is_there(self, drawn: Path) -> None:
        """Each table of each dialect has its pictures, light and dark, and the texts."""
        there = {path.name for path in drawn.iterdir()}
        for name in DIALECTS:
            for table in dialect(name).tables:
                base = f"{name}-{table.name}"
                endings = (".svg", "-dark.svg", "-full.svg", ".dot", ".mmd", ".md")
                assert {f"{base}{ending}" for ending in endings} <= there

    def test_the_index_shows_files_that_are_there(self, drawn: Path) -> None:
        """Whatever the page shows or links to in its folder exists, and every picture is reached from it."""
        page = (drawn / INDEX).read_text(encoding="utf-8")
        named = {path.name for path in drawn.iterdir() if path.name in page}

        assert named == {path.name for path in drawn.iterdir()} - {INDEX}

    def test_twice_the_same(self, drawn: Path, tmp_path: Path) -> None:
        """Drawing it all again gives the same bytes."""
        renew(tmp_path, quiet)

        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in drawn.iterdir()}


class TestStale:
    @pytest.fixture
    def copy(self, drawn: Path, tmp_path: Path) -> Path:
        for path in drawn.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        return tmp_path

    def test_nothing_is(self, copy: Path) -> None:
        """Of a fresh gallery nothing is stale, and nothing is written."""
        before = {path.name: path.stat().st_mtime_ns for path in copy.iterdir()}

        assert renew(copy, quiet) == 0
        assert {path.name: path.stat().st_mtime_ns for path in copy.iterdir()} == before

    @pytest.mark.parametrize("name", ["pi-0.85.1-loop.svg", "pi-1.6.0-call.mmd", INDEX])
    def test_what_was_edited_or_is_missing(self, copy: Path, name: str) -> None:
        """A file that was changed by hand, or is missing, is stale, and renewing it mends it."""
        was = (copy / name).read_bytes()
        for damage in (was.replace(b"e", b"3", 1), was + b" ", None):
            if damage is None:
                (copy / name).unlink()
            else:
                (copy / name).write_bytes(damage)
            assert main([str(copy), "--check"]) == 1
            renew(copy, quiet)
            assert (copy / name).read_bytes() == was

    def test_what_is_of_no_picture(self, copy: Path) -> None:
        """A picture that is no longer drawn is stale and removed; other files are left alone."""
        (copy / "pi-0.1-loop.svg").write_text("old")
        (copy / "notes.txt").write_text("mine")

        assert main([str(copy), "--check"]) == 1
        renew(copy, quiet)
        assert not (copy / "pi-0.1-loop.svg").exists()
        assert (copy / "notes.txt").exists()

    def test_another_graphviz(self) -> None:
        """An SVG that another version drew from the same DOT in other bytes is fresh; from another DOT it is not."""
        picture = Picture("x.svg", "digraph { a -> b }")
        other = Picture("x.svg", "digraph { a -> c }")

        assert picture.fresh(picture.content())
        assert not other.fresh(picture.content())
