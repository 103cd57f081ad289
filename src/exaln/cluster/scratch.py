"""Scratch folders: private to one process, and removed by the next process if that one was killed.

The owner holds a lock (flock) on a file in the folder while it lives. The kernel releases the lock however the owner
ends, so a folder whose lock is free has no owner.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exaln.foundation.lock_file import try_lock

KINDS = ("exaln-cluster-", "exaln-worker-", "exaln-segments-", ".exaln-slurm-")
LOCK_NAME = "lock"
STALE_S = 3600
"""A folder of this age without a complete lock file was left by a process that was killed while creating it."""

_NAME = re.compile(rf"(?:{'|'.join(map(re.escape, KINDS))})[a-z0-9_]{{8}}")


class ScratchFolder:
    """A new folder of this process; `close` removes it.

    kind: its prefix, one of KINDS. parent: by default, the system's temporary folder.
    """

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        assert kind in KINDS
        parent = parent or Path(tempfile.gettempdir())
        sweep(parent)
        self.path, self._lock = _created(kind, parent)

    def close(self) -> None:
        """Remove the folder and its content, then release the lock."""
        if self._lock >= 0:
            _remove(self.path)
            os.close(self._lock)
            self._lock = -1

    @staticmethod
    def of_process(kind: str) -> Path:
        """The path of a new folder that is removed when the process ends."""
        folder = ScratchFolder(kind)
        atexit.register(folder.close)
        return folder.path


@contextmanager
def scratch_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder that exists for the duration of the block."""
    folder = ScratchFolder(kind, parent)
    try:
        yield folder.path
    finally:
        folder.close()


def _created(kind: str, parent: Path) -> tuple[Path, int]:
    """A new folder and the descriptor of its lock. Retries, since another process may sweep it before it is locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=kind, dir=parent))
        lock = -1
        with suppress(FileNotFoundError):
            lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.write(lock, _host())
            # Without flock, as on some network file systems, folders work, but are never swept.
            if try_lock(lock, required=False) and os.fstat(lock).st_nlink:
                return path, lock
        if lock >= 0:
            os.close(lock)


def sweep(parent: Path) -> None:
    """Remove the folders that killed processes of this user left in `parent`."""
    try:
        found = [entry.path for entry in os.scandir(parent) if _NAME.fullmatch(entry.name) and _is_own(entry)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            _remove_if_abandoned(Path(path))


def _is_own(entry: os.DirEntry[str]) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700


def _remove_if_abandoned(path: Path) -> None:
    is_stale = time.time() - path.stat().st_mtime > STALE_S
    try:
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if is_stale:
            path.rmdir()  # fails unless the folder is empty
        return
    try:
        if not try_lock(lock):
            return
        owner = os.pread(lock, 1024, 0)
        if owner == _host() or (is_stale and not owner):  # on shared file systems, locks may hold on one machine only
            _remove(path)
    finally:
        os.close(lock)


def _remove(path: Path) -> None:
    """Remove a folder, its lock file last: if the removal is interrupted, the next sweep finds the rest."""
    with suppress(OSError):
        for inner in list(path.iterdir()):
            if inner.is_dir() and not inner.is_symlink():
                shutil.rmtree(inner, ignore_errors=True)
            elif inner.name != LOCK_NAME:
                inner.unlink(missing_ok=True)
        if [inner.name for inner in path.iterdir()] == [LOCK_NAME]:
            (path / LOCK_NAME).unlink()
            path.rmdir()


def _host() -> bytes:
    return socket.gethostname().encode("utf-8", "replace")
