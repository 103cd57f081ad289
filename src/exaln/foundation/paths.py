"""Paths that users give. What cannot be a path on any system is refused here, before anything is opened."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from exaln.errors import InputError


def problem_with_path(path: object) -> str | None:
    """Why this cannot be the path of anything, or None if it can.

    >>> problem_with_path("a/b.fasta"), problem_with_path(""), problem_with_path("a\\0b")
    (None, 'name a file or a folder', 'it cannot be a path')
    """
    try:
        text = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        return "a path is needed"
    if not isinstance(text, str) or not text:
        return "name a file or a folder"
    try:
        os.lstat(text)
    except ValueError:  # a NUL byte, or characters that no file name can have
        return "it cannot be a path"
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return "it is too long for a path"
    return None


def checked_path(path: str | os.PathLike[str], what: str = "a path") -> Path:
    """The path; InputError, which names `what`, if it cannot be one."""
    problem = problem_with_path(path)
    if problem is not None:
        text = repr(path)
        raise InputError(f"{what} is {text if len(text) <= 80 else text[:77] + '...'}; {problem}")
    return Path(path)


def is_folder(path: Path) -> bool | None:
    """Whether a path leads to a folder; None if to nothing. OSError if that cannot be found out, as in closed folders.

    >>> is_folder(Path("/")), is_folder(Path("/dev/null")), is_folder(Path("/dev/null/x"))
    (True, False, None)
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
