"""How a table or a recording shows itself in a notebook: drawn by whoever is installed to draw, else as text.

A package that draws has an entry point in the group `turnwheel.pictures`, named `svg` or `html`: a function that takes
the thing and returns its picture, or None.
"""

from __future__ import annotations

from typing import Any, Final

GROUP: Final = "turnwheel.pictures"


class Shown:
    """What notebooks ask a value for."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return picture_of(self, "svg")

    def _repr_html_(self) -> str | None:
        return picture_of(self, "html")


def picture_of(thing: object, form: str) -> str | None:
    """Return the picture of a thing as `svg` or `html`; None where nothing can draw it, or drawing fails."""
    # Here, since it takes longer to load than the whole table, and only notebooks ask.
    from importlib.metadata import entry_points

    pictures = (_drawn(point, thing) for point in entry_points(group=GROUP, name=form))
    return next((picture for picture in pictures if picture is not None), None)


def _drawn(point: Any, thing: object) -> str | None:
    try:
        picture = point.load()(thing)
    except Exception:
        # The notebook shows the text then, which is better than a traceback in its place.
        return None
    return picture if isinstance(picture, str) else None
