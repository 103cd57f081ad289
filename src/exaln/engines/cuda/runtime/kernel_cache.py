"""The folder of compiled kernels: cubins, and what is known about their compiler, each file with a seal.

As cubins are executed, folders and files that another user could have written are not used. Files are written
atomically and need no lock, so processes and machines can share the folder, and it can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from pathlib import Path

from exaln.errors import ExalnWarning

SEAL_BYTES = 32

_warned_folders: set[Path] = set()


class UntrustedError(Exception):
    """Another user could have written to the cache."""


def cache_folder() -> Path:
    """The folder of cached cubins: EXALN_CACHE, or else "exaln" in the user's cache folder."""
    chosen = os.environ.get("EXALN_CACHE", "")
    if chosen:
        return Path(chosen)
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not users.is_absolute():
        users = _home() / ".cache"
    return users / "exaln"


def read_cached(file: Path) -> bytes | None:
    """A file of the cache, or None if it is missing or damaged, or could have been written by another user."""
    try:
        _require_own_folder(file.parent)
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            _require_own(file, os.fstat(opened.fileno()), stat.S_IFREG)
            content = opened.read()
    except UntrustedError as error:
        _warn_unusable(file.parent, f"compiled kernels in it are not used: {error}")
        return None
    except OSError:
        return None
    code, seal = content[:-SEAL_BYTES], content[-SEAL_BYTES:]
    return code if seal == _seal(file, code) else None


def write_cached(file: Path, code: bytes) -> None:
    """Write a file atomically. If the folder cannot be used, warn: kernels are then compiled at each start."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own_folder(file.parent)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f"{file.stem}-", suffix=".part", delete=False) as part:
            try:
                part.write(code + _seal(file, code))
                part.close()
                Path(part.name).replace(file)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except UntrustedError as error:
        _warn_unusable(file.parent, f"compiled kernels are not kept there: {error}")
    except OSError as error:
        _warn_unusable(file.parent, f"compiled kernels cannot be kept ({error.strerror or error})")


def _home() -> Path:
    """The user's home, or "/" in a container whose user has neither HOME nor an entry in /etc/passwd."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _seal(file: Path, code: bytes) -> bytes:
    """A digest of the code and the file name. It follows the code, where tools that read cubins ignore it."""
    return hashlib.sha256(file.name.encode() + code).digest()


def _require_own_folder(folder: Path) -> None:
    _require_own(folder, folder.lstat(), stat.S_IFDIR)


def _require_own(path: Path, status: os.stat_result, kind: int) -> None:
    """Raise UntrustedError unless this is a file or folder, as `kind` says, that only this user and root can change."""
    if stat.S_IFMT(status.st_mode) != kind:
        raise UntrustedError(f"{path.name} is a link, or not a {'folder' if kind == stat.S_IFDIR else 'file'}")
    if status.st_uid not in _trusted_users():
        raise UntrustedError(f"{path.name} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedError(f"other users can write to {path.name} (chmod go-w)")


def _trusted_users() -> set[int]:
    """This user, and root, who can change everything anyway."""
    return {os.geteuid(), 0}


def _warn_unusable(folder: Path, reason: str) -> None:
    if folder not in _warned_folders:
        _warned_folders.add(folder)
        message = f"{folder}: {reason}, each start compiles again"
        warnings.warn(f"{message}; set EXALN_CACHE to another folder", ExalnWarning, stacklevel=5)
