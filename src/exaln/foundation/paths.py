"""Check paths given by users, so that an impossible one is refused with a clear message before it is opened."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from exaln.errors import InputError


def problem_with_path(path: object) -> str | None:
    """Why a value cannot be a path, None if it can.

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
    """The path as a pathlib.Path; InputError if it cannot be one. what: the argument's name in the message."""
    problem = problem_with_path(path)
    if problem is not None:
        text = repr(path)
        raise InputError(f"{what} is {text if len(text) <= 80 else text[:77] + '...'}; {problem}")
    return Path(path)


def is_folder(path: Path) -> bool | None:
    """Whether a path is a folder; None if nothing is there. OSError if that cannot be determined.

    >>> is_folder(Path("/")), is_folder(Path("/dev/null")), is_folder(Path("/dev/null/x"))
    (True, False, None)
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
