"""Opens files inside of a root so that a link which is put in their way meanwhile does not lead out of it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from turnwheel_tools.contract import ToolError
from turnwheel_tools.paths import Root

_CAREFUL: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
"""Whether the system can open a path step by step. Where it cannot, only the check before helps."""
_MODE: Final = 0o666


@contextmanager
def folder_of(root: Root, path: Path, *, make: bool = False) -> Iterator[tuple[int | None, str]]:
    """Give the folder of a resolved path as a descriptor (None where there are none), and the name in it.

    Each folder on the way is opened from the one before, and none may be a link. `make` makes those that are missing.
    Raises OSError where the way does not exist, and ToolError where it has become a link.
    """
    parts = path.relative_to(root.path).parts
    if not _CAREFUL:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield None, str(path)
        return
    at = os.open(root.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in parts[:-1]:
            at = _step(at, name, make=make)
        yield at, parts[-1] if parts else "."
    finally:
        os.close(at)


def _step(at: int, name: str, *, make: bool) -> int:
    """Return the descriptor of a folder in a folder, whose own is closed."""
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=at)
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError as error:
        raise _moved(at, name, error) from error
    finally:
        os.close(at)


def _moved(at: int, name: str, error: OSError) -> Exception:
    with suppress(OSError):
        if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            return ToolError(f"{name} has become a link meanwhile, so it is not followed.")
    return error


def open_inside(root: Root, path: Path) -> BinaryIO:
    """Open a regular file to read. Raises OSError, and ToolError where it is another thing or has become a link."""
    with folder_of(root, path) as (folder, name):
        # Without waiting: opening a pipe would, until somebody writes to it.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        flags |= os.O_NOFOLLOW if folder is not None else 0
        try:
            number = os.open(name, flags, dir_fd=folder)
        except OSError as error:
            if folder is not None and path.is_symlink():
                raise ToolError(f"{root.name(path)} has become a link meanwhile, so it is not followed.") from error
            raise
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    raise ToolError(f"{root.name(path)} is not a regular file (but a device, a pipe or a socket), so it is not opened.")


def replace_inside(root: Root, path: Path, content: bytes) -> bool:
    """Write a file whole or not at all, its folders too, and say whether it is new. A mode that it had is kept.

    Raises OSError, and ToolError where it, or a folder on the way, has become a link.
    """
    with folder_of(root, path, make=True) as (folder, name):
        mode = _mode_of(name, folder)
        spare = f".{Path(name).name[:100]}.{secrets.token_hex(6)}"
        spare = spare if folder is not None else str(Path(name).with_name(spare))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        number = os.open(spare, flags, _MODE, dir_fd=folder)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), mode)
                file.flush()
                os.fsync(file.fileno())
            os.replace(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(spare, dir_fd=folder)
            raise
    return mode is None


def _mode_of(name: str, folder: int | None) -> int | None:
    """Return the mode of a regular file, None where there is no file."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise ToolError(f"{name} has become a link meanwhile, so it is not written.")
    if not stat.S_ISREG(status.st_mode):
        raise IsADirectoryError(
            errno.EISDIR, "Is a directory" if stat.S_ISDIR(status.st_mode) else "It is no regular file"
        )
    return stat.S_IMODE(status.st_mode)
