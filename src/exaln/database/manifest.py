"""manifest.json: the segments that make up a database, with their sizes and hashes.

It is replaced atomically, and that is the only moment at which a change to a database takes effect.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln import __version__
from exaln.database.checked_file import BLOCK_BYTES
from exaln.database.columns import FORMAT_VERSION
from exaln.database.segment import MAX_ROWS, Segment
from exaln.errors import DatabaseError, InputError
from exaln.foundation.state_file import Fields, StateFormat, content_hash
from exaln.sequences.alphabet import Alphabet
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANIFEST_NAME = "manifest.json"
FORMAT = StateFormat("exaln database", FORMAT_VERSION, "rebuild the database")


@dataclass(frozen=True)
class SegmentEntry:
    """One segment in the manifest. Its rows have the ordinals first_ordinal to first_ordinal + rows - 1, in any order.

    residues, text_bytes, bytes: sizes of the sequences, of ids, descriptions and masks, and of the file.
    shortest, longest: sequence lengths. block_xxh3_64: base64 of little-endian uint64[blocks], the xxh3_64 of each
    block of 1 MiB of the file.
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
        """Map the segment. FileNotFoundError if the file is missing, DatabaseError if it cannot be read or has a wrong
        size.
        """
        try:
            return Segment.mapped(
                directory / self.file,
                alphabet,
                hashes=self.hashes,
                n_bytes=self.bytes,
                n_rows=self.rows,
                n_residues=self.residues,
                first_ordinal=self.first_ordinal,
            )
        except FileNotFoundError:
            raise
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DatabaseError(f"{directory / self.file}: cannot be read: {reason}") from None

    @staticmethod
    def from_fields(fields: Fields) -> SegmentEntry:
        """An entry of the manifest's list of segments; the format's error if a value is wrong."""
        rows, longest = fields.integer("rows", 1, MAX_ROWS), fields.integer("longest")
        entry = SegmentEntry(
            file=fields.file_name("file"),
            rows=rows,
            residues=fields.integer("residues", longest, rows * longest),
            text_bytes=fields.integer("text_bytes"),
            first_ordinal=fields.integer("first_ordinal"),
            shortest=fields.integer("shortest", 0, longest),
            longest=longest,
            bytes=fields.integer("bytes", 1),
            block_xxh3_64=fields.text("block_xxh3_64"),
        )
        try:
            n_hashes = len(entry.hashes)
        except (ValueError, binascii.Error):
            n_hashes = -1
        if n_hashes != -(-entry.bytes // BLOCK_BYTES):
            raise fields.wrong("block_xxh3_64", f"a hash for each block of {entry.bytes} bytes")
        return entry

    @staticmethod
    def hashes_as_text(hashes: NDArray[np.uint64]) -> str:
        """Block hashes as the manifest stores them: base64 of little-endian uint64."""
        return base64.b64encode(hashes.astype("<u8").tobytes()).decode("ascii")


@dataclass(frozen=True)
class Manifest:
    """The content of a database: its segments in the order of their ordinals, and totals over them.

    length_histogram: int64[N_BINS], the number of sequences in each length bin. next_ordinal: for the next append.
    """

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
        """Total number of residues."""
        return sum(entry.residues for entry in self.segments)

    @property
    def digest(self) -> str:
        """A hash of alphabet and segments; databases with equal segments have equal digests."""
        content = {"letters": self.alphabet.letters, "segments": [asdict(entry) for entry in self.segments]}
        return content_hash(content)

    def to_values(self) -> dict[str, Any]:
        """The content of manifest.json without its format and its hash."""
        return {
            "written_by": self.written_by,
            "alphabet": self.alphabet.to_values(),
            "targets": self.n_targets,
            "residues": self.n_residues,
            "next_ordinal": self.next_ordinal,
            "length_histogram": np.trim_zeros(self.length_histogram, "b").tolist(),
            "segments": [asdict(entry) for entry in self.segments],
        }

    @staticmethod
    def from_json(text: str | bytes, name: str) -> Manifest:
        """Parse and check the text of a manifest; DatabaseError, which names the file `name`, if it is damaged."""
        return Manifest.from_fields(FORMAT.load(text, name))

    @staticmethod
    def from_fields(fields: Fields) -> Manifest:
        """A manifest from the values of its file; DatabaseError if one is wrong."""
        entries = tuple(SegmentEntry.from_fields(entry) for entry in fields.objects("segments"))
        n_targets = sum(entry.rows for entry in entries)
        manifest = Manifest(
            alphabet=_alphabet(fields.object("alphabet")),
            segments=entries,
            length_histogram=_histogram(fields, n_targets),
            next_ordinal=fields.integer("next_ordinal"),
            written_by=fields.text("written_by"),
        )
        if not entries or not _tile(entries) or manifest.next_ordinal != n_targets:
            raise fields.wrong("segments", "a list of files that have each sequence once")
        if (n_targets, manifest.n_residues) != (fields.integer("targets"), fields.integer("residues")):
            raise fields.wrong("targets and residues", "the sums over the segments")
        return manifest


def _tile(entries: Sequence[SegmentEntry]) -> bool:
    """Whether the segments have different files and cover the ordinals from 0 without gap or overlap."""
    ends = np.cumsum([0, *(entry.rows for entry in entries)]).tolist()
    return [entry.first_ordinal for entry in entries] == ends[:-1] and len({entry.file for entry in entries}) == len(
        entries
    )


def _histogram(fields: Fields, n_targets: int) -> NDArray[np.int64]:
    counts = fields.integers("length_histogram", 0, n_targets)
    if len(counts) > N_BINS or sum(counts) != n_targets:
        raise fields.wrong("length_histogram", "the number of sequences in each bin of length")
    histogram: NDArray[np.int64] = np.zeros(N_BINS, np.int64)
    histogram[: len(counts)] = counts
    return histogram


def _alphabet(fields: Fields) -> Alphabet:
    name, letters, synonyms = fields.text("name"), fields.text("letters"), fields.object("synonyms")
    values = {letter: synonyms.text(letter) for letter in synonyms.values}
    if not all(len(letter) == 1 and {letter, *others} <= set(letters) for letter, others in values.items()):
        raise fields.wrong("synonyms", "letters of the alphabet")
    try:
        return Alphabet.from_values({"name": name, "letters": letters, "synonyms": values})
    except InputError as error:
        raise fields.form.damaged(fields.file, str(error)) from None


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a database directory; DatabaseError if there is none."""
    try:
        return Manifest.from_fields(FORMAT.read(directory / MANIFEST_NAME))
    except FileNotFoundError:
        raise DatabaseError(f"{directory}: not a database (no {MANIFEST_NAME}); build it with makedb") from None


def missing_segment(error: FileNotFoundError) -> DatabaseError:
    """The error for a segment file that `SegmentEntry.open` did not find."""
    return DatabaseError(f"{error.filename}: a segment is missing; restore it from a copy or rebuild the database")


def replace_manifest(directory: Path, manifest: Manifest) -> None:
    """Commit: make `manifest` the content of the database, atomically and durably; OSError if that fails."""
    FORMAT.write(directory / MANIFEST_NAME, manifest.to_values())
