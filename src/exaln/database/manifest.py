"""manifest.json: which segments make up a database. It is replaced as a whole, and that is the only commit point."""

from __future__ import annotations

import base64
import errno
import json
import os
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln import __version__
from exaln.alphabet import Alphabet
from exaln.database.layout import FORMAT_VERSION
from exaln.database.segment import Segment
from exaln.errors import DatabaseError
from exaln.lengths import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANIFEST_NAME = "manifest.json"
TEMPORARY_PREFIX = MANIFEST_NAME + "."


@dataclass(frozen=True)
class SegmentEntry:
    """What the manifest says about one segment. It has the ordinals from `first_ordinal` on, each once, `rows` of them.

    block_xxh3_64: base64 of little-endian uint64[blocks], the xxh3_64 of each block of 1 MiB of the file.
    """

    file: str
    rows: int
    residues: int
    text_bytes: int
    first_ordinal: int
    shortest: int
    longest: int
    bytes: int
    block_xxh3_64: str

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """uint64[blocks]: the hash of each block."""
        return np.frombuffer(base64.b64decode(self.block_xxh3_64, validate=True), "<u8")

    def open(self, directory: Path, alphabet: Alphabet) -> Segment:
        """Map the segment; FileNotFoundError if it is gone, DatabaseError if it cannot be what was written."""
        path = directory / self.file
        try:
            return Segment.mapped(
                path, alphabet, hashes=self.hashes, n_bytes=self.bytes, n_rows=self.rows, n_residues=self.residues
            )
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise DatabaseError(f"{path}: cannot be read: {error}") from None

    @staticmethod
    def hashes_as_text(hashes: NDArray[np.uint64]) -> str:
        """How hashes are written."""
        return base64.b64encode(hashes.astype("<u8").tobytes()).decode("ascii")


@dataclass(frozen=True)
class Manifest:
    """The content of a database: its segments in the order of their ordinals, and totals over them."""

    alphabet: Alphabet
    segments: tuple[SegmentEntry, ...]
    length_histogram: NDArray[np.int64] = field(repr=False)
    next_ordinal: int
    written_by: str = f"exaln {__version__}"

    @property
    def n_targets(self) -> int:
        """Number of sequences."""
        return sum(entry.rows for entry in self.segments)

    @property
    def n_residues(self) -> int:
        """Residues of all sequences together."""
        return sum(entry.residues for entry in self.segments)

    @property
    def digest(self) -> str:
        """A hash of all that the database holds: equal for equal segments."""
        content = {"letters": self.alphabet.letters, "segments": [asdict(entry) for entry in self.segments]}
        return _content_hash(content)

    def to_json(self) -> str:
        """The text of manifest.json, with a hash of itself."""
        counts = np.trim_zeros(self.length_histogram, "b").tolist()
        content: dict[str, Any] = {
            "format": "exaln database",
            "format_version": FORMAT_VERSION,
            "written_by": self.written_by,
            "alphabet": self.alphabet.to_values(),
            "targets": self.n_targets,
            "residues": self.n_residues,
            "next_ordinal": self.next_ordinal,
            "length_histogram": counts,
            "segments": [asdict(entry) for entry in self.segments],
        }
        content["xxh3_64"] = _content_hash(content)
        return json.dumps(content, indent=1) + "\n"

    @staticmethod
    def from_json(text: str | bytes, name: str) -> Manifest:
        """Parse and check a manifest; `name` is used in messages."""
        try:
            content = json.loads(text)
            version = content["format_version"]
        except (ValueError, TypeError, KeyError):
            raise DatabaseError(
                f"{name}: damaged or not the manifest of an exaln database; rebuild the database"
            ) from None
        if version != FORMAT_VERSION:
            raise DatabaseError(
                f"{name}: database format {version}, but this exaln reads format {FORMAT_VERSION}; "
                "use a matching exaln or build the database again"
            )
        if content.pop("xxh3_64", None) != _content_hash(content):
            raise DatabaseError(f"{name}: damaged (its hash differs from its content); rebuild the database")
        return Manifest._from_content(content, name)

    @staticmethod
    def _from_content(content: dict[str, Any], name: str) -> Manifest:
        try:
            histogram = np.zeros(N_BINS, np.int64)
            histogram[: len(content["length_histogram"])] = content["length_histogram"]
            manifest = Manifest(
                alphabet=Alphabet.from_values(content["alphabet"]),
                segments=tuple(SegmentEntry(**entry) for entry in content["segments"]),
                length_histogram=histogram,
                next_ordinal=content["next_ordinal"],
                written_by=content["written_by"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DatabaseError(f"{name}: not the manifest of an exaln database: {error}") from None
        if (manifest.n_targets, manifest.n_residues) != (content["targets"], content["residues"]):
            raise DatabaseError(f"{name}: totals differ from the sums over the segments; rebuild the database")
        return manifest


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a database directory; DatabaseError if there is none."""
    path = directory / MANIFEST_NAME
    try:
        return Manifest.from_json(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise DatabaseError(f"{directory}: not a database (no {MANIFEST_NAME}); build it with makedb") from None
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read: {error.strerror}") from None


def missing_segment(error: FileNotFoundError) -> DatabaseError:
    """What to tell the user about a segment that `SegmentEntry.open` did not find."""
    return DatabaseError(f"{error.filename}: a segment is missing; restore it from a copy or rebuild the database")


def replace_manifest(directory: Path, manifest: Manifest) -> None:
    """Commit: make the segments of `manifest` the content of the database, durably and at once."""
    temporary = directory / f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}"
    with temporary.open("x", encoding="ascii") as file:
        file.write(manifest.to_json())
        file.flush()
        os.fsync(file.fileno())
    fsync_directory(directory)
    temporary.replace(directory / MANIFEST_NAME)
    fsync_directory(directory)


def fsync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems have no such thing
            raise
    finally:
        os.close(descriptor)


def _content_hash(content: dict[str, Any]) -> str:
    import xxhash

    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii"))
