"""Where in the file system a model may go: below one root, and nowhere else."""

from __future__ import annotations

import difflib
from itertools import islice
from pathlib import Path
from typing import Final, final

from attrs import field, frozen

from turnwheel_tools.contract import ToolError

_NAMES_LOOKED_AT: Final = 2_000
_LIKENESS: Final = 0.6


def _resolved(path: Path | str) -> Path:
    return Path(path).resolve()


@final
@frozen
class Root:
    """A directory that tools stay inside of, symbolic links resolved."""

    path: Path = field(converter=_resolved)

    def locate(self, given: str) -> Path:
        """Return the real path that a model means by `given`: relative to the root, absolute, or with ~.

        A leading @ is dropped, since people write it in front of file names (a name that does begin with it can be
        given as ./@name). Raises ToolError where the path leads out of the root or is no path at all.
        """
        try:
            path = (self.path / Path(given.removeprefix("@")).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"{given!r} is not a usable path: {error}") from error
        if not path.is_relative_to(self.path):
            raise ToolError(f"{given} is outside of {self.path}, and only files inside of it are accessible.")
        return path

    def name(self, path: Path) -> str:
        """Return `path`, which lies inside, as it is written relative to the root."""
        return path.relative_to(self.path).as_posix()

    def similar(self, path: Path) -> list[str]:
        """Return what there is beside a missing `path` under a similar name, the most similar first."""
        if path == self.path:
            return []
        try:
            names = {other.name.lower(): other for other in islice(path.parent.iterdir(), _NAMES_LOOKED_AT)}
        except OSError:
            return []
        close = difflib.get_close_matches(path.name.lower(), names, cutoff=_LIKENESS)
        return [self.name(names[name]) for name in close]
