"""The run inspector: one HTML page, all in one file, in which a recorded run can be stepped through."""

from turnwheel_diagrams.page.building import page_of
from turnwheel_diagrams.page.entries import Shown
from turnwheel_diagrams.page.pictures import Pictures, pictures_of

__all__ = ["Pictures", "Shown", "page_of", "pictures_of"]
