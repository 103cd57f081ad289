"""The folder of compiled kernels: cubins, and what is known about their compiler, each file with a seal.

As cubins are executed, folders and files that another user could have written are not used (`foundation.user_cache`).
"""

from __future__ import annotations

import warnings
from pathlib import Path

from exaln.errors import ExalnWarning
from exaln.foundation.user_cache import UntrustedError, read_sealed, write_sealed

_warned_folders: set[Path] = set()


def read_cached(file: Path) -> bytes | None:
    """A file of the cache, or None if it is missing or damaged, or could have been written by another user."""
    try:
        return read_sealed(file)
    except UntrustedError as error:
        _warn_unusable(file.parent, f"compiled kernels in it are not used: {error}")
        return None


def write_cached(file: Path, code: bytes) -> None:
    """Write a file atomically. If the folder cannot be used, warn: kernels are then compiled at each start."""
    try:
        write_sealed(file, code)
    except UntrustedError as error:
        _warn_unusable(file.parent, f"compiled kernels are not kept there: {error}")
    except OSError as error:
        _warn_unusable(file.parent, f"compiled kernels cannot be kept ({error.strerror or error})")


def _warn_unusable(folder: Path, reason: str) -> None:
    if folder not in _warned_folders:
        _warned_folders.add(folder)
        message = f"{folder}: {reason}, each start compiles again"
        warnings.warn(f"{message}; set EXALN_CACHE to another folder", ExalnWarning, stacklevel=5)
