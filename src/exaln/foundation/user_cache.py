"""Files in the user's cache folder, each with a seal: what can be computed again, and must not be another user's.

Folders and files that another user could have written are not used. Files are written atomically and need no lock, so
processes and machines can share the folder, and it can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

SEAL_BYTES = 32


class UntrustedError(Exception):
    """Another user could have written to the cache."""


def cache_folder() -> Path:
    """The folder of cached files: EXALN_CACHE, or else "exaln" in the user's cache folder."""
    chosen = os.environ.get("EXALN_CACHE", "")
    if chosen:
        return Path(chosen)
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not users.is_absolute():
        users = _home() / ".cache"
    return users / "exaln"


def read_sealed(file: Path) -> bytes | None:
    """A file of the cache; None if it is missing or damaged. UntrustedError if another user could have written it."""
    try:
        _require_own_folder(file.parent)
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            _require_own(file, os.fstat(opened.fileno()), stat.S_IFREG)
            whole = opened.read()
    except OSError:
        return None
    content, seal = whole[:-SEAL_BYTES], whole[-SEAL_BYTES:]
    return content if seal == _seal(file, content) else None


def write_sealed(file: Path, content: bytes) -> None:
    """Write a file atomically. UntrustedError or OSError if the folder cannot be used."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_own_folder(file.parent)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f"{file.stem}-", suffix=".part", delete=False) as part:
        try:
            part.write(content + _seal(file, content))
            part.close()
            Path(part.name).replace(file)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise


def _home() -> Path:
    """The user's home, or "/" in a container whose user has neither HOME nor an entry in /etc/passwd."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _seal(file: Path, content: bytes) -> bytes:
    """A digest of the content and the file name. It follows the content, where tools that read cubins ignore it."""
    return hashlib.sha256(file.name.encode() + content).digest()


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
