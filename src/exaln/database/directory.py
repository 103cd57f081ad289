"""The directory of a database: which one a user means, and a consistent snapshot of what is in it."""

from __future__ import annotations

from pathlib import Path

from exaln.database.manifest import MANIFEST_NAME, Manifest, missing_segment, read_manifest
from exaln.database.segment import Segment
from exaln.errors import DatabaseError
from exaln.foundation.paths import is_folder

SUFFIX = ".exaln"
OPEN_ATTEMPTS = 5


def with_suffix(path: Path) -> Path | None:
    """The path with the suffix `.exaln`, added if it is missing; None for `.`, `..` and `/`."""
    if path.suffix == SUFFIX:
        return path
    return None if path.name in ("", "..") else path.with_name(path.name + SUFFIX)


def find_directory(path: Path) -> Path | None:
    """The directory that `path` names, with or without `.exaln`; None if there is a file or nothing.

    A directory with a manifest goes before one without. DatabaseError if a folder on the way cannot be read.
    """
    try:
        if is_folder(path) is False:
            return None
        candidates = [one for one in (path, with_suffix(path)) if one is not None and is_folder(one)]
        databases = [one for one in candidates if is_folder(one / MANIFEST_NAME) is not None]
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read: {error.strerror}") from None
    return next(iter(databases + candidates), None)


def open_snapshot(directory: Path) -> tuple[Manifest, tuple[Segment, ...]]:
    """The manifest of a database and its mapped segments; DatabaseError if one is missing or damaged.

    A writer may replace the manifest and delete old segments meanwhile. Then the new manifest is read.
    """
    missing = FileNotFoundError()
    for _ in range(OPEN_ATTEMPTS):
        manifest = read_manifest(directory)
        try:
            return manifest, tuple(entry.open(directory, manifest.alphabet) for entry in manifest.segments)
        except FileNotFoundError as error:
            missing = error
            if read_manifest(directory).segments == manifest.segments:
                break
    raise missing_segment(missing)
