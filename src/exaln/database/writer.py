"""Change a database directory: one writer at a time, and each change takes effect completely or not at all.

New segments get names that no manifest mentions, and `commit` replaces the manifest. A writer that is stopped at any
point leaves the old database and at worst files that no manifest mentions; the next writer deletes those.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from exaln.database.manifest import MANIFEST_NAME, Manifest, SegmentEntry, read_manifest, replace_manifest
from exaln.database.segment_file import write_segment
from exaln.database.sorted_rows import SortedRows
from exaln.errors import DatabaseError, InputError, OutputError
from exaln.foundation.atomic_write import fsync_directory, leftovers
from exaln.foundation.lock_file import Lock, LockHeld
from exaln.foundation.output_file import output_errors

LOCK_NAME = ".lock"
_TEMPORARY = re.compile(r"segment-[0-9a-f]{32}\.arrow|\.?manifest\.json\.[0-9a-f]{32}")


class DatabaseWriter:
    """A context manager that holds the lock of a database directory and undoes on exit what was not committed.

    create: make a new database; with `force` an existing one is replaced. Entering raises InputError if the database
    exists, DatabaseError if it does not or is locked, and OutputError if the directory cannot be written.
    """

    def __init__(self, directory: Path, *, create: bool = False, force: bool = False) -> None:
        self.directory = directory
        self._is_new = create
        self._force = force
        self._made_directory = False
        self._added: list[str] = []
        self._lock: Lock | None = None

    def __enter__(self) -> DatabaseWriter:
        with output_errors(self.directory):
            try:
                if self._is_new:
                    self._make_directory()
                self._lock = self._acquire_lock()
                self._prepare()
            except BaseException:
                self._undo()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo()

    def add_segment(self, content: SortedRows, check: Callable[[], None]) -> SegmentEntry:
        """Write a segment durably under a new name; OutputError if that fails. Returns its entry for the manifest.

        `check` is called often and may raise an exception to stop.
        """
        name = f"segment-{uuid.uuid4().hex}.arrow"
        self._added.append(name)
        with output_errors(self.directory / name):
            n_bytes, hashes = write_segment(self.directory / name, content, check)
        return content.entry(name, n_bytes, hashes)

    def commit(self, manifest: Manifest) -> None:
        """Make `manifest` the content of the database, then delete files that it does not mention."""
        with output_errors(self.directory / MANIFEST_NAME):
            replace_manifest(self.directory, manifest)
        self._sweep(manifest)

    def _make_directory(self) -> None:
        try:
            self._made_directory = not self.directory.exists()
            self.directory.mkdir()
            fsync_directory(self.directory.parent)
        except FileExistsError:
            self._made_directory = False
            if not self.directory.is_dir():
                raise OutputError(f"{self.directory}: a file with this name exists; choose another name") from None
            if not self._force and (self.directory / MANIFEST_NAME).exists():
                raise InputError(f"{self.directory} exists; use append to add to it or --force to replace it") from None
            self._refuse_foreign_files()

    def _refuse_foreign_files(self) -> None:
        """OutputError if the directory is not a database and has files that no writer of databases left there."""
        foreign = [path.name for path in self.directory.iterdir() if not _is_ours(path.name)]
        if not foreign:
            return
        try:
            read_manifest(self.directory)
        except DatabaseError:
            raise OutputError(
                f"{self.directory}: not a database, and it contains other files ({min(foreign)}); choose another name"
            ) from None

    def _prepare(self) -> None:
        """Delete what earlier writers left; if the manifest cannot be read, only after it is replaced."""
        manifest_exists = (self.directory / MANIFEST_NAME).exists()
        if manifest_exists and self._is_new and not self._force:
            raise InputError(f"{self.directory} exists; use append to add to it or --force to replace it")
        try:
            self._sweep(read_manifest(self.directory) if manifest_exists or not self._is_new else None)
        except DatabaseError:
            if not self._is_new:
                raise

    def _acquire_lock(self) -> Lock:
        try:
            return Lock.on_file(self.directory / LOCK_NAME, note=b"%d\n" % os.getpid())
        except FileNotFoundError:
            raise DatabaseError(f"{self.directory}: no such database") from None
        except LockHeld as held:
            holder = held.note.decode("ascii", "replace").strip() or "unknown"
            raise DatabaseError(
                f"{self.directory} is being written by process {holder}; try again when it has finished"
            ) from None

    def _sweep(self, manifest: Manifest | None) -> None:
        """Delete segments and temporary files that the manifest does not mention."""
        needed = {entry.file for entry in manifest.segments} if manifest else set()
        for path in self.directory.iterdir():
            if _TEMPORARY.fullmatch(path.name) and path.name not in needed:
                path.unlink(missing_ok=True)

    def _undo(self) -> None:
        """Delete what was not committed, also a directory that this writer made and that is no database; unlock."""
        if self._lock is None:  # another writer may be at work here
            if self._made_directory:
                with suppress(OSError):
                    self.directory.rmdir()
            return
        try:
            with suppress(OSError):
                self._delete_uncommitted()
        finally:
            self._lock.close()

    def _delete_uncommitted(self) -> None:
        # Read the manifest on disk: an interruption may come right after it was replaced.
        try:
            committed = {entry.file for entry in read_manifest(self.directory).segments}
        except DatabaseError:
            committed = set()
        for name in self._added:
            if name not in committed:
                (self.directory / name).unlink(missing_ok=True)
        for path in leftovers(self.directory, MANIFEST_NAME):
            path.unlink(missing_ok=True)
        if self._made_directory and not (self.directory / MANIFEST_NAME).exists():
            (self.directory / LOCK_NAME).unlink(missing_ok=True)
            self.directory.rmdir()


def _is_ours(name: str) -> bool:
    return name in (LOCK_NAME, MANIFEST_NAME) or _TEMPORARY.fullmatch(name) is not None
