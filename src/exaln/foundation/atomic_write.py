"""Replace a file atomically: readers see the old content or the new one, never a part.

The new content is written to a temporary file in the same folder, synced, and renamed. Where the file system allows it
(O_TMPFILE) the temporary file has no name until then, so a killed process leaves nothing. Elsewhere it is locked while
its writer lives, and the next writer deletes unlocked ones.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from exaln.foundation.lock_file import try_lock

LONGEST_STEM = 180
"""Bytes of a file's name that its temporary name repeats; a name has at most 255 bytes."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends without an error; after an error `path` is unchanged.

    A replaced file keeps its mode and, where the system allows it, its owner. Raises OSError. The name is durable only
    after `fsync_directory`.
    """
    delete_leftovers(path)
    descriptor, temporary = _new_file(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            try_lock(descriptor, required=False)  # tells other writers that this file is in use
            yield file
            file.flush()
            os.fsync(descriptor)
            before = _stat(path)
            if before is not None:
                _keep_owner_and_mode(descriptor, before)
            if temporary is None:
                temporary = _named(descriptor, path, is_new=before is None)
            if temporary is not None:
                temporary.replace(path)
    except BaseException:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise


def fsync_directory(directory: Path) -> None:
    """Make the names in a directory durable; does nothing on file systems that cannot."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def leftovers(directory: Path, name: str) -> Iterator[Path]:
    """Temporary files that killed writers of `name` may have left in a directory, also those of earlier versions."""
    pattern = re.compile(f"{re.escape(_temporary_prefix(name))}[0-9a-f]{{32}}|{re.escape(name)}[.][0-9a-f]{{32}}")
    return (path for path in directory.iterdir() if pattern.fullmatch(path.name))


def delete_leftovers(path: Path) -> None:
    """Delete the temporary files that killed writers of `path` left; those of living writers are locked."""
    pattern = re.compile(re.escape(_temporary_prefix(path.name)) + "[0-9a-f]{32}")
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _delete_if_unlocked(entry.path)


def _new_file(path: Path) -> tuple[int, Path | None]:
    """The descriptor of a new file in the folder of `path`, and its name; None if it has no name (O_TMPFILE).

    A file that will replace another one is private until it gets that file's mode.
    """
    mode = 0o666 if _stat(path) is None else 0o600
    if Path("/proc/self/fd").is_dir():
        with suppress(OSError):
            return os.open(path.parent, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, mode), None
    temporary = _temporary_name(path)
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), temporary


def _named(descriptor: int, path: Path, *, is_new: bool) -> Path | None:
    """Name a file without a name. Returns None if it could take `path` itself, else its temporary name."""
    if is_new:
        with suppress(OSError):  # above all FileExistsError
            _link(descriptor, path)
            return None
    temporary = _temporary_name(path)
    try:
        _link(descriptor, temporary)
    except OSError:  # the file system has files without a name but cannot name them later
        _copy(descriptor, temporary)
    return temporary


def _link(descriptor: int, path: Path) -> None:
    """Give an open file a name. src_dir_fd makes Python call linkat, which can follow the link in /proc."""
    os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def _copy(descriptor: int, to: Path) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with (
        open(descriptor, "rb", closefd=False) as source,
        os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file,
    ):
        _keep_owner_and_mode(file.fileno(), os.fstat(descriptor))
        shutil.copyfileobj(source, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    with suppress(OSError):  # only root may give files away
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _temporary_name(path: Path) -> Path:
    return path.with_name(f"{_temporary_prefix(path.name)}{uuid.uuid4().hex}")


def _temporary_prefix(name: str) -> str:
    return f".{os.fsencode(name)[:LONGEST_STEM].decode(errors='ignore')}."


def _delete_if_unlocked(name: str) -> None:
    with suppress(OSError):
        descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if try_lock(descriptor):
                Path(name).unlink()
        finally:
            os.close(descriptor)
