"""Databases as workers open them: on a path that all machines share, or at any URL that fsspec can read.

Segments from a URL are copied to a cache folder of the worker when they are first needed. Every segment is checked
against the hashes of the manifest before it is used.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.cluster.scratch import ScratchFolder
from exaln.database.manifest import MANIFEST_NAME, Manifest, SegmentEntry, missing_segment, read_manifest
from exaln.database.segment import Segment
from exaln.errors import DatabaseError
from exaln.foundation.distinct import distinct
from exaln.sequences.alphabet import Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPARE_BYTES = 1 << 30
"""Disk space that the cache leaves free."""


def is_url(location: str) -> bool:
    """True if the location is a URL, which fsspec reads."""
    return "://" in location


def manifest_at(location: str) -> Manifest:
    """The manifest of the database at a path or URL."""
    if not is_url(location):
        return read_manifest(Path(location))
    name = f"{location.rstrip('/')}/{MANIFEST_NAME}"
    return Manifest.from_json(_read(name), name)


def _read(name: str) -> bytes:
    with _remote(name) as file:
        content: bytes = file.read()
        return content


@contextmanager
def _remote(name: str) -> Iterator[Any]:
    """A file at a URL. File systems raise errors of many classes; all become a DatabaseError that names the file."""
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(name)
        with system.open(path) as file:
            yield file
    except Exception as error:
        raise DatabaseError(f"{name}: cannot be read: {error}") from error


@dataclass
class Cache:
    """Copies of segments in a folder of this machine; the least recently used are removed when the disk is full."""

    folder: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def temporary() -> Cache:
        """A cache in a folder that is removed when the process ends."""
        return Cache(ScratchFolder.of_process("exaln-segments-"))

    def fetch(self, location: str, entry: SegmentEntry, *, again: bool = False) -> Path:
        """The path of the copy of a segment, fetched if necessary; again: replace a damaged copy."""
        path = self.folder / Path(entry.file).name
        with self._lock:
            if again:
                path.unlink(missing_ok=True)
            if path.exists():
                os.utime(
                    path, ns=(time.time_ns(), path.stat().st_mtime_ns)
                )  # not its mtime, by which open segments notice changes
                return path
            self.folder.mkdir(parents=True, exist_ok=True)
            self._make_room(entry.bytes)
            temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
            try:
                _copy(f"{location.rstrip('/')}/{entry.file}", temporary)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            return path

    def _make_room(self, n_bytes: int) -> None:
        kept = sorted(self.folder.glob("*.arrow"), key=lambda path: path.stat().st_atime)
        while kept and shutil.disk_usage(self.folder).free < n_bytes + SPARE_BYTES:
            kept.pop(0).unlink(missing_ok=True)


def _copy(name: str, to: Path) -> None:
    if not is_url(name):
        shutil.copyfile(name, to)
        return
    with _remote(name) as source, to.open("xb") as file:
        shutil.copyfileobj(source, file, 1 << 22)


def open_segment(location: str, entry: SegmentEntry, alphabet: Alphabet, cache: Cache | None) -> Segment:
    """An open, checked segment; a damaged copy in the cache is fetched again. DatabaseError if it cannot be read."""
    try:
        if cache is None:
            segment = entry.open(Path(location), alphabet)
            segment.check()
            return segment
        return _open_cached(location, entry, alphabet, cache)
    except DatabaseError:
        raise
    except FileNotFoundError as error:
        raise missing_segment(error) from None
    except OSError as error:
        raise DatabaseError(f"{location}: {entry.file} cannot be read: {error}") from None


def _open_cached(location: str, entry: SegmentEntry, alphabet: Alphabet, cache: Cache) -> Segment:
    with suppress(DatabaseError, FileNotFoundError):
        path = cache.fetch(location, entry)
        segment = entry.open(path.parent, alphabet)
        segment.check()
        return segment
    path = cache.fetch(location, entry, again=True)
    try:
        segment = entry.open(path.parent, alphabet)
        segment.check()
        return segment
    except DatabaseError as error:
        raise DatabaseError(str(error).replace(str(path), f"{location.rstrip('/')}/{entry.file}")) from None


class FetchedTargets:
    """The targets of a database at a URL, whose segments are fetched when they are needed."""

    def __init__(self, location: str, manifest: Manifest) -> None:
        self._location, self._manifest, self._cache = location, manifest, Cache.temporary()
        self.segments: dict[int, Segment] = {}

    def locate(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Segment number and row of each target, int64[n] each; these segments are fetched."""
        firsts = np.array([entry.first_ordinal for entry in self._manifest.segments], np.int64)
        numbers = np.searchsorted(firsts, ordinals, side="right") - 1
        rows = np.empty(len(ordinals), np.int64)
        for number in distinct(numbers).tolist():
            if number not in self.segments:
                entry = self._manifest.segments[number]
                self.segments[number] = open_segment(self._location, entry, self._manifest.alphabet, self._cache)
            here = numbers == number
            rows[here] = self.segments[number].input_order[ordinals[here] - firsts[number]]
        return numbers, rows

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a fetched file changed after it was opened."""
        for segment in self.segments.values():
            segment.require_unchanged()
