"""Exclusive locks on files and folders, so that one process at a time writes there.

A lock is a flock on an open file. The kernel releases it when the process ends, however that happens, so a lock never
outlives its holder and a file whose lock is free has no owner.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

MAX_NOTE_BYTES = 1024


class LockHeld(Exception):
    """Raised when another process holds the lock; `note` is what that process wrote into the lock file."""

    def __init__(self, note: bytes = b"") -> None:
        super().__init__("another process holds the lock")
        self.note = note


class Lock:
    """A lock that this process holds until `close`; also a context manager."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @staticmethod
    def on_file(
        path: Path, *, note: bytes | None = None, mode: int = 0o644, create: bool = True, required: bool = True
    ) -> Lock:
        """Lock a file without waiting. A missing file is created with `mode`, unless `create` is False.

        note: written to the file for other processes to read. required: see `try_lock`. A symbolic link is refused.
        Raises LockHeld if another process has the lock, FileNotFoundError if the file or its folder is missing, and
        OSError if the file cannot be opened.
        """
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        while True:
            descriptor = os.open(path, flags, mode)
            try:
                if not try_lock(descriptor, required=required):
                    raise LockHeld(_read(descriptor))
                # The previous holder may have deleted the file between our open and our lock: then try again.
                if _is_at(descriptor, path):
                    if note is not None:
                        _write(descriptor, note)
                    return Lock(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    @staticmethod
    def on_folder(path: Path, *, required: bool = True) -> Lock:
        """Lock a folder itself, without a file in it. Raises as `on_file` does."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not try_lock(descriptor, required=required):
                raise LockHeld
        except BaseException:
            os.close(descriptor)
            raise
        return Lock(descriptor)

    def note(self) -> bytes:
        """What is written in the lock file; the previous holder's note if this one wrote none."""
        return _read(self._descriptor)

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def try_lock(descriptor: int, *, required: bool = True) -> bool:
    """Lock an open file without waiting. Returns False if another process holds the lock.

    Some network file systems have no locks: there this raises OSError if `required`, and returns True otherwise.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        if required:
            raise
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, MAX_NOTE_BYTES, 0)


def _write(descriptor: int, note: bytes) -> None:
    with suppress(OSError):  # the note only helps messages; on a full disk the lock must still work
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, note, 0)
