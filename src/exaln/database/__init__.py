"""Databases: encoded sequences, sorted by length, memory-mapped; built once, opened at once.

A database is a directory `NAME.exaln/` of immutable segments and a manifest that names them (exaln.database.segment,
exaln.database.manifest). A `Database` is a snapshot: writers never change what an open one sees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from exaln.alphabet import Alphabet
from exaln.database.build import append_to_directory, build_directory, build_in_memory, compact_directory
from exaln.database.check import problems_of_database
from exaln.database.inputs import Progress, Source, read_inputs
from exaln.database.layout import FORMAT_VERSION
from exaln.database.manifest import MANIFEST_NAME, Manifest, missing_segment, read_manifest
from exaln.database.part import DatabasePart, SearchSpace
from exaln.database.segment import Segment, Target
from exaln.database.segment_writer import DEFAULT_LIMITS, SegmentLimits, text_bytes_before
from exaln.database.writer import SUFFIX
from exaln.errors import DatabaseError, InputError
from exaln.mapped_file import read_unchanged, unchanged
from exaln.output_file import open_output
from exaln.paths import checked_path, is_folder
from exaln.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXPORT_BLOCK_BYTES = 16 << 20
OPEN_ATTEMPTS = 5


@dataclass(frozen=True)
class DatabaseInfo:
    """What `Database.info` tells; everything in it comes from the manifest. `path` is None for a database in memory."""

    path: Path | None
    format_version: int
    written_by: str
    alphabet: Alphabet
    n_targets: int
    n_residues: int
    n_segments: int
    n_bytes: int
    shortest: int
    longest: int


class Database:
    """Sequences to search in. Made by `Database.open` and `Database.build`.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> fasta = pathlib.Path(folder.name, "two.fasta")
    >>> _ = fasta.write_text(">one first sequence\\nHEAGAWGHEE\\n>two\\nPAWheae\\n")
    >>> database = Database.build(fasta, pathlib.Path(folder.name, "two"))
    >>> database.n_targets, database.n_residues, database.alphabet.name
    (2, 17, 'protein')
    >>> database.fetch("two")
    [Target(id='two', description='', sequence='PAWheae', ordinal=1)]
    >>> database = database.append(fasta)
    >>> [target.ordinal for target in database.fetch(["two", "one"])]
    [1, 3, 0, 2]
    >>> database.verify()
    >>> folder.cleanup()
    """

    def __init__(self, path: Path | None, manifest: Manifest, segments: tuple[Segment, ...]) -> None:
        self.path = path
        self.segments = segments
        self._manifest = manifest

    def __repr__(self) -> str:
        place = str(self.path) if self.path else "in memory"
        return f"<Database {place}: {self.n_targets} {self.alphabet.name} sequences, {self.n_residues} residues>"

    def __len__(self) -> int:
        return self.n_targets

    @property
    def alphabet(self) -> Alphabet:
        """The letters of all sequences."""
        return self._manifest.alphabet

    @property
    def n_targets(self) -> int:
        """Number of sequences; their ordinals are 0 to n_targets - 1."""
        return self._manifest.n_targets

    @property
    def n_residues(self) -> int:
        """Residues of all sequences together."""
        return self._manifest.n_residues

    @property
    def search_space(self) -> SearchSpace:
        """What E-values count with."""
        return SearchSpace(self.n_targets, self.n_residues)

    @property
    def length_histogram(self) -> NDArray[np.int64]:
        """int64[exaln.lengths.N_BINS]: sequences per bin of length."""
        return self._manifest.length_histogram

    @property
    def info(self) -> DatabaseInfo:
        """A summary."""
        entries = self._manifest.segments
        return DatabaseInfo(
            path=self.path,
            format_version=FORMAT_VERSION,
            written_by=self._manifest.written_by,
            alphabet=self.alphabet,
            n_targets=self.n_targets,
            n_residues=self.n_residues,
            n_segments=len(entries),
            n_bytes=sum(entry.bytes for entry in entries),
            shortest=min(entry.shortest for entry in entries),
            longest=max(entry.longest for entry in entries),
        )

    @staticmethod
    def open(
        path: str | os.PathLike[str], *, alphabet: Alphabet | str | None = None, strip_gaps: bool = False
    ) -> Database:
        """Open a database, or read a FASTA or FASTQ file or "-" (stdin) into memory.

        `.exaln` may be left out. Only the manifest is read, and sizes are checked; content is checked where it is used.
        `alphabet` and `strip_gaps` hold for sequence files.
        """
        source = os.fspath(path)
        if source != "-":
            directory = _find_directory(checked_path(path, "the database"))
            if directory is not None:
                return _open_directory(directory)
        return Database.in_memory(read_inputs(source, alphabet=alphabet, strip_gaps=strip_gaps), name=source)

    @staticmethod
    def in_memory(
        batches: Iterable[Records], *, name: str = "memory", limits: SegmentLimits = DEFAULT_LIMITS
    ) -> Database:
        """A database of these records that is not written anywhere."""
        return Database(None, *build_in_memory(batches, name, limits))

    @staticmethod
    def build(
        inputs: Source | Sequence[Source],
        path: str | os.PathLike[str],
        *,
        alphabet: Alphabet | str | None = None,
        strip_gaps: bool = False,
        force: bool = False,
        progress: Progress | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Build a database from sequence files, one after the other, and open it.

        `path` gets the suffix `.exaln` if it has another one. An existing database is replaced only with `force`.
        Whatever goes wrong, what was there before stays. `progress(bytes_done, bytes_total or None, residues)` is
        called up to ten times per second.
        """
        batches = read_inputs(inputs, alphabet=alphabet, strip_gaps=strip_gaps, progress=progress)
        return Database.build_records(batches, path, force=force, limits=limits)

    @staticmethod
    def build_records(
        batches: Iterable[Records],
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Build a database from records in memory or from a generator of them, and open it."""
        directory = _with_suffix(checked_path(path, "the database"))
        if directory is None:
            raise InputError(f"{os.fspath(path)}: no name for a database; choose one, such as proteins.exaln")
        build_directory(batches, directory, force=force, limits=limits)
        return _open_directory(directory)

    def append(
        self,
        inputs: Source | Sequence[Source],
        *,
        strip_gaps: bool = False,
        progress: Progress | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Add the sequences of these files. Returns the new database; this object goes on showing the old one."""
        batches = read_inputs(inputs, alphabet=self.alphabet, strip_gaps=strip_gaps, progress=progress)
        return self.append_records(batches, limits=limits)

    def append_records(self, batches: Iterable[Records], *, limits: SegmentLimits = DEFAULT_LIMITS) -> Database:
        """Add these records at the end. Returns the new database; this object goes on showing the old one."""
        directory = self._directory()
        append_to_directory(batches, directory, limits=limits)
        return _open_directory(directory)

    def compact(self, *, progress: Progress | None = None, limits: SegmentLimits = DEFAULT_LIMITS) -> Database:
        """Merge neighbouring small segments, as many appends leave them. Returns the new database."""
        directory = self._directory()
        compact_directory(directory, progress=progress, limits=limits)
        return _open_directory(directory)

    def verify(self) -> None:
        """Check every byte and every rule of the format; DatabaseError with the first problem and their number."""
        problems = self.problems()
        if problems:
            more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
            raise DatabaseError(problems[0] + more)

    def problems(self) -> list[str]:
        """What `verify` finds, one line per problem; empty if all is well."""
        return list(problems_of_database(self._manifest, self.segments))

    def fetch(self, ids: str | Iterable[str]) -> list[Target]:
        """All sequences with this id, or with these ids in turn, in input order; an unknown id is an InputError."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        with unchanged(self.require_unchanged):
            return [segment.target(row) for segment, row in self._find(wanted)]

    def require_unchanged(self) -> None:
        """DatabaseError if a segment was changed since it was opened: what was read since cannot be trusted.

        Searches and everything else here call this before they hand out results. Deleted segments do not matter: a
        writer may delete what an open database still uses.
        """
        for segment in self.segments:
            segment.require_unchanged()

    def locate(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where targets are: the number of the segment and the row in it, int64[n] each, of n places in the input."""
        ends = np.cumsum([segment.n_rows for segment in self.segments])
        numbers = np.searchsorted(ends, ordinals, side="right")
        rows = np.empty(len(ordinals), np.int64)
        for number in np.unique(numbers):
            segment, here = self.segments[number], numbers == number
            rows[here] = segment.input_order[ordinals[here] - (ends[number] - segment.n_rows)]
        return numbers, rows

    def part(self, first: int, end: int) -> DatabasePart:
        """The targets that begin at the residues [first, end), counted over all segments."""
        return DatabasePart(self._manifest, dict(enumerate(self.segments)), first, end)

    @property
    def manifest(self) -> Manifest:
        """What the database consists of."""
        return self._manifest

    def export(
        self, out: str | os.PathLike[str] | BinaryIO, *, width: int = 60, ids: Iterable[str] | None = None
    ) -> None:
        """Write FASTA: everything in input order, or only these ids in turn.

        `out` is a path (written as a whole or not at all), "-" or a binary file. `width` letters per line, 0: one line.
        """
        if width < 0:
            raise InputError(f"width is {width}; it must be positive, or 0 for one line per sequence")
        texts = self._fasta(width) if ids is None else self._fasta_of(list(ids), width)
        first = next(texts, b"")
        with open_output(out) as file:
            file.write(first)
            for text in texts:
                file.write(text)

    def _fasta(self, width: int) -> Iterator[bytes]:
        """All sequences as FASTA text, in input order, in pieces."""
        for segment in self.segments:
            texts = (segment.fasta(rows, width).tobytes() for rows in _export_blocks(segment))
            yield from read_unchanged(segment.require_unchanged, texts)

    def _fasta_of(self, ids: Sequence[str], width: int) -> Iterator[bytes]:
        """The sequences with these ids as FASTA text; all of them are found before the first is written."""
        with unchanged(self.require_unchanged):
            places = self._find(ids)
        texts = (segment.target(row).fasta(width).encode("utf-8") for segment, row in places)
        yield from read_unchanged(self.require_unchanged, texts)

    def _find(self, ids: Sequence[str]) -> list[tuple[Segment, int]]:
        """Segment and row of each sequence with these ids."""
        found: list[list[tuple[Segment, int]]] = [[] for _ in ids]
        for segment in self.segments:
            for rows, places in zip(segment.rows_with_ids(ids), found, strict=True):
                places.extend((segment, int(row)) for row in rows)
        for id_, places in zip(ids, found, strict=True):
            if not places:
                raise InputError(f"{self.path or 'database in memory'}: no sequence with the id {id_!r}")
        return [place for places in found for place in places]

    def _directory(self) -> Path:
        if self.path is None:
            raise DatabaseError("this database is in memory only; build one with a path first")
        return self.path


def _with_suffix(path: Path) -> Path | None:
    """The path with the suffix of databases; None for `.`, `..` and `/`, to which none can be added."""
    if path.suffix == SUFFIX:
        return path
    return None if path.name in ("", "..") else path.with_name(path.name + SUFFIX)


def _find_directory(path: Path) -> Path | None:
    """The directory that the user means, `.exaln` left out or not; None if it is a file, DatabaseError if nothing."""
    try:
        if is_folder(path) is False:
            return None
        candidates = [one for one in (path, _with_suffix(path)) if one is not None and is_folder(one)]
        databases = [one for one in candidates if is_folder(one / MANIFEST_NAME) is not None]
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read: {error.strerror}") from None
    if not candidates:
        raise DatabaseError(f"{path}: no such database or sequence file; build a database with makedb")
    return next(iter(databases + candidates))


def _open_directory(directory: Path) -> Database:
    """A snapshot. A writer may replace the manifest and delete segments meanwhile: then the new manifest is read."""
    missing = FileNotFoundError()
    for _ in range(OPEN_ATTEMPTS):
        manifest = read_manifest(directory)
        try:
            segments = tuple(entry.open(directory, manifest.alphabet) for entry in manifest.segments)
            return Database(directory, manifest, segments)
        except FileNotFoundError as error:
            missing = error
            if read_manifest(directory).segments == manifest.segments:
                break
    raise missing_segment(missing)


def _export_blocks(segment: Segment) -> Iterator[NDArray[np.int32]]:
    """The rows of a segment in input order, in blocks of about EXPORT_BLOCK_BYTES of text."""
    rows = segment.input_order
    ends = np.cumsum(np.diff(segment.offsets + text_bytes_before(segment.records))[rows])
    begin = 0
    while begin < len(rows):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + EXPORT_BLOCK_BYTES, side="right")))
        yield rows[begin:end]
        begin = end
