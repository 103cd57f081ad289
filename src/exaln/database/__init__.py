"""Databases: encoded sequences, sorted by length, memory-mapped; built once, opened at once.

A database is a directory `NAME.exaln/` of immutable segments and a manifest that names them (exaln.database.segment,
exaln.database.manifest). A `Database` is a snapshot: writers never change what an open one sees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np

from exaln.alphabet import Alphabet
from exaln.database.accession_lookup import find_accessions
from exaln.database.build import append_to_directory, build_directory, build_in_memory, compact_directory
from exaln.database.check import problems_of_database
from exaln.database.inputs import Progress, Source, read_inputs
from exaln.database.joined import joined
from exaln.database.layout import FORMAT_VERSION
from exaln.database.manifest import MANIFEST_NAME, Manifest, missing_segment, read_manifest
from exaln.database.part import DatabasePart, SearchSpace
from exaln.database.segment import Segment, Target
from exaln.database.segment_writer import DEFAULT_LIMITS, SegmentLimits, text_bytes_before
from exaln.database.writer import SUFFIX
from exaln.errors import DatabaseError, InputError
from exaln.other_databases import other_database
from exaln.output_file import open_output
from exaln.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

Databases: TypeAlias = "Database | str | os.PathLike[str] | Sequence[Database | str | os.PathLike[str]]"
"""What can be searched: a database, its path or a sequence file, or several of these, which are searched as one."""

EXPORT_BLOCK_BYTES = 16 << 20
OPEN_ATTEMPTS = 5
IN_MEMORY = "database in memory"


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

    def __init__(
        self, path: Path | None, manifest: Manifest, segments: tuple[Segment, ...], name: str = IN_MEMORY
    ) -> None:
        self.path = path
        self.name = str(path) if path else name
        self.segments = segments
        self._manifest = manifest

    def __repr__(self) -> str:
        place = self.name.removeprefix("database ")
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
    def is_stored(self) -> bool:
        """Whether all of it is in files with hashes, so that other processes find the same content."""
        return all(entry.block_xxh3_64 for entry in self._manifest.segments)

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
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        alphabet: Alphabet | str | None = None,
        strip_gaps: bool = False,
    ) -> Database:
        """Open a database, or read a FASTA or FASTQ file or "-" (stdin) into memory; several become one.

        `.exaln` may be left out. Only the manifest is read, and sizes are checked; content is checked where it is used.
        `alphabet` and `strip_gaps` hold for sequence files.
        """
        if isinstance(path, Sequence) and not isinstance(path, str | bytes):
            return Database.joined([Database.open(one, alphabet=alphabet, strip_gaps=strip_gaps) for one in path])
        source = os.fspath(path)
        if source != "-":
            directory = _find_directory(Path(path))
            if directory is not None:
                return _open_directory(directory)
            other = other_database(source)
            if other is not None:
                raise DatabaseError(f"{source}: {other}")
            if not Path(path).exists():
                raise DatabaseError(f"{source}: no such database or sequence file; build a database with makedb")
        return Database.in_memory(read_inputs(source, alphabet=alphabet, strip_gaps=strip_gaps), name=source)

    @staticmethod
    def of(databases: Databases) -> Database:
        """A database, opened if it is a path; several become one."""
        if isinstance(databases, Database):
            return databases
        if isinstance(databases, str | os.PathLike):
            return Database.open(databases)
        if not isinstance(databases, Sequence):
            raise InputError(f"a database must be a Database, a path or a list of them, not {type(databases).__name__}")
        return Database.joined([Database.of(one) for one in databases])

    @staticmethod
    def joined(databases: Sequence[Database]) -> Database:
        """Several databases as one: the targets of each in turn, and E-values of all together.

        Place in the input runs on from one database to the next. InputError if their letters differ.
        """
        if not databases:
            raise InputError("no database was given; at least one is needed")
        if len(databases) == 1:
            return databases[0]
        names = [database.name for database in databases]
        manifests, segments = ([getattr(one, part) for one in databases] for part in ("manifest", "segments"))
        return Database(None, *joined(names, manifests, segments), name=" ".join(names))

    @staticmethod
    def in_memory(
        batches: Iterable[Records], *, name: str = IN_MEMORY, limits: SegmentLimits = DEFAULT_LIMITS
    ) -> Database:
        """A database of these records that is not written anywhere."""
        return Database(None, *build_in_memory(batches, name, limits), name=name)

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
        directory = _with_suffix(Path(path))
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
        """All sequences with this id, or with these ids in turn, in input order; an unknown id is an InputError.

        What is no id may be an accession within one: P30775 finds sp|P30775|RF1M_YEAST.
        """
        wanted = [ids] if isinstance(ids, str) else list(ids)
        return [segment.target(row) for segment, row in self._find(wanted)]

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
        targets = [] if ids is None else self._find(list(ids))
        with open_output(out) as file:
            if ids is None:
                for segment in self.segments:
                    for rows in _export_blocks(segment):
                        file.write(segment.fasta(rows, width).data)
            for segment, row in targets:
                file.write(segment.target(row).fasta(width).encode("utf-8"))

    def _find(self, ids: Sequence[str]) -> list[tuple[Segment, int]]:
        """Segment and row of each sequence with these ids."""
        found: list[list[tuple[Segment, int]]] = [[] for _ in ids]
        for segment in self.segments:
            for rows, places in zip(segment.rows_with_ids(ids), found, strict=True):
                places.extend((segment, int(row)) for row in rows)
        unknown = list(dict.fromkeys(id_ for id_, places in zip(ids, found, strict=True) if not places))
        others = find_accessions(self.name, self.segments, unknown) if unknown else {}
        return [place for id_, places in zip(ids, found, strict=True) for place in places or others[id_]]

    def _directory(self) -> Path:
        if self.path is None:
            raise DatabaseError(f"{self.name}: in memory only, or several databases; build one with a path first")
        return self.path


def _with_suffix(path: Path) -> Path:
    return path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)


def _find_directory(path: Path) -> Path | None:
    """The directory that the user means, `.exaln` left out or not; None if it is a file or nothing."""
    if path.is_file():
        return None
    candidates = [candidate for candidate in (path, _with_suffix(path)) if candidate.is_dir()]
    databases = [candidate for candidate in candidates if (candidate / MANIFEST_NAME).exists()]
    return next(iter(databases + candidates), None)


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
