"""Walks the files of a folder as a developer sees them: in order, and without what .gitignore leaves out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, final

from attrs import frozen
from pathspec import GitIgnoreSpec

_NEVER: Final = frozenset({".git", "node_modules", "__pycache__"})
"""Folders that nobody looks for anything in, whatever .gitignore says."""
_MAX_IGNORE_BYTES: Final = 1024 * 1024


@final
@frozen
class _Rules:
    """The .gitignore of one folder."""

    folder: Path
    spec: GitIgnoreSpec

    def says(self, path: Path, *, folder: bool) -> bool | None:
        """Return whether it leaves a path out, or takes it in again; None where it says nothing."""
        name = path.relative_to(self.folder).as_posix() + ("/" if folder else "")
        return self.spec.check_file(name).include


def walk(start: Path, root: Path) -> Iterator[tuple[Path, bool]]:
    """Yield what is below a folder, in order of names, and whether it is a folder. Links are not followed.

    `start` is a folder inside of `root`; the .gitignore files of both and of all between count. What cannot be listed
    is passed over.
    """
    above = [start, *start.parents]
    rules = [found for folder in reversed(above[: above.index(root) + 1]) if (found := _rules_of(folder))]
    yield from _walk(start, rules)


def _walk(folder: Path, rules: Sequence[_Rules]) -> Iterator[tuple[Path, bool]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        is_folder = entry.is_dir(follow_symlinks=False)
        if (is_folder and entry.name in _NEVER) or _left_out(path, rules, folder=is_folder):
            continue
        yield path, is_folder
        if is_folder:
            own = _rules_of(path)
            yield from _walk(path, [*rules, own] if own else rules)


def _left_out(path: Path, rules: Sequence[_Rules], *, folder: bool) -> bool:
    """Say whether a path is left out: the rules nearest to it that say anything count."""
    for each in reversed(rules):
        said = each.says(path, folder=folder)
        if said is not None:
            return said
    return False


def _rules_of(folder: Path) -> _Rules | None:
    try:
        file = folder / ".gitignore"
        if not file.is_file() or file.stat().st_size > _MAX_IGNORE_BYTES:
            return None
        return _Rules(folder, _spec(file.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return None


@lru_cache(maxsize=64)
def _spec(text: str) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(text.splitlines())


@lru_cache(maxsize=64)
def glob_of(pattern: str) -> GitIgnoreSpec:
    """Return what matches a glob: of a name anywhere, or with a slash of a path; ** stands for any folders.

    Raises ValueError for what is no glob.
    """
    return GitIgnoreSpec.from_lines([pattern])
