"""Paths that users give. What cannot be a path on any system is refused here, before anything is opened."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from exaln.errors import InputError


def checked_path(path: str | os.PathLike[str], what: str = "a path") -> Path:
    """The path; InputError if it is empty or no path at all, or longer than the system allows. `what` names it.

    >>> checked_path("a/b.fasta").name
    'b.fasta'
    """
    try:
        text = os.fspath(path)
    except TypeError:
        raise InputError(f"{what} is {path!r}; a path is needed") from None
    if not isinstance(text, str) or not text:
        raise InputError(f"{what} is {text!r}; name a file or a folder")
    try:
        os.lstat(text)
    except ValueError:  # a NUL byte, or characters that no file name can have
        raise InputError(f"{what} is {text!r}, which cannot be a path") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{what} is too long to be a path: {text[:40]}...") from None
    return Path(text)


def is_folder(path: Path) -> bool | None:
    """Whether a path leads to a folder; None if to nothing. OSError if that cannot be found out, as in closed folders.

    >>> is_folder(Path("/")), is_folder(Path("/dev/null")), is_folder(Path("/dev/null/x"))
    (True, False, None)
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
