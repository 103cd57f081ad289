"""Databases: encoded sequences, sorted by length, memory-mapped; built once, opened at once.

A database is a directory `NAME.exaln/` of immutable segments and a manifest that names them (exaln.database.segment,
exaln.database.manifest). A `Database` is a snapshot: writers never change what an open one sees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, overload

import numpy as np

from exaln.database.accession_lookup import find_accessions
from exaln.database.build import append_to_directory, build_directory, build_in_memory, compact_directory
from exaln.database.columns import FORMAT_VERSION
from exaln.database.joined import joined
from exaln.database.manifest import MANIFEST_NAME, Manifest, missing_segment, read_manifest
from exaln.database.part import DatabasePart, SearchSpace
from exaln.database.segment import Segment, Target
from exaln.database.segment_writer import DEFAULT_LIMITS, SegmentLimits, text_bytes_before
from exaln.database.source_files import Progress, Source, read_inputs
from exaln.database.verify import problems_of_database
from exaln.database.writer import SUFFIX
from exaln.errors import DatabaseError, InputError
from exaln.foundation import arguments
from exaln.foundation.html_table import html_table
from exaln.foundation.mapped_file import read_unchanged, unchanged
from exaln.foundation.output_file import open_text_output, require_extension
from exaln.foundation.paths import is_folder
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import ReadingProgress, showing
from exaln.sequences.alphabet import Alphabet, as_alphabet
from exaln.sequences.byte_streams import printable
from exaln.sequences.other_databases import other_database
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

Databases: TypeAlias = "Database | str | os.PathLike[str] | Sequence[Database | str | os.PathLike[str]]"
"""What can be searched: a database, its path or a sequence file, or several of these, which are searched as one."""

EXPORT_BLOCK_BYTES = 16 << 20
OPEN_ATTEMPTS = 5
FASTA_EXTENSIONS = (".fasta", ".fa", ".faa", ".fna", ".txt")
IN_MEMORY = "database in memory"
WIDEST = 1 << 40
SHOWN = 5
"""Sequences that a notebook shows."""


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
        size = f"{number_of(self.n_targets, f'{self.alphabet.name} sequence')}, {number_of(self.n_residues, 'residue')}"
        return f"<Database {place}: {size}>"

    def __len__(self) -> int:
        return self.n_targets

    def __iter__(self) -> Iterator[Target]:
        """All sequences in input order; each is read when its turn comes."""
        for segment in self.segments:
            targets = (segment.target(row) for row in segment.input_order.tolist())
            yield from read_unchanged(segment.require_unchanged, targets)

    @overload
    def __getitem__(self, place: int) -> Target: ...

    @overload
    def __getitem__(self, place: slice) -> list[Target]: ...

    def __getitem__(self, place: int | slice) -> Target | list[Target]:
        """The sequence at a place in the input, from 0 on, or from -1 back; a slice gives a list."""
        if isinstance(place, slice):
            return self._at(range(len(self))[place])
        if isinstance(place, str):
            raise arguments.wrong("the index", place, "a place in the database; fetch(id) finds a sequence by its id")
        return self._at([range(len(self))[place]])[0]

    def __contains__(self, id_: object) -> bool:
        """Whether a sequence has this id."""
        if not isinstance(id_, str):
            return False
        with unchanged(self.require_unchanged):
            return any(len(segment.rows_with_ids([id_])[0]) > 0 for segment in self.segments)

    def _repr_html_(self) -> str:
        """A summary and the first sequences, for notebooks."""
        rows = [[str(one.ordinal), one.id, one.description, str(len(one.sequence))] for one in self[:SHOWN]]
        rows += [["...", "", "", ""]] if len(self) > SHOWN else []
        return html_table(repr(self).strip("<>"), ["place", "id", "description", "length"], rows)

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
        """int64[exaln.statistics.length_bins.N_BINS]: sequences per bin of length."""
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
        max_record_size: int | None = None,
    ) -> Database:
        """Open a database, or read a FASTA or FASTQ file or "-" (stdin) into memory; several become one.

        `.exaln` may be left out. Only the manifest is read, and sizes are checked; content is checked where it is used.
        `alphabet`, `strip_gaps` and `max_record_size` (bytes, see `exaln.sequences.fasta`) hold for sequence files.
        """
        if isinstance(path, list | tuple):
            return Database.joined(
                [
                    Database.open(one, alphabet=alphabet, strip_gaps=strip_gaps, max_record_size=max_record_size)
                    for one in path
                ]
            )
        source = os.fspath(arguments.path("path", path, "the path of a database or sequence file"))
        as_alphabet(alphabet), arguments.flag("strip_gaps", strip_gaps)
        if source != "-":
            directory = _find_directory(Path(source))
            if directory is not None:
                return _open_directory(directory)
            other = other_database(source)
            if other is not None:
                raise DatabaseError(f"{printable(source)}: {other}")
            if not os.path.lexists(source):
                raise DatabaseError(
                    f"{printable(source)}: no such database or sequence file; build a database with makedb"
                )
        batches = read_inputs(source, alphabet=alphabet, strip_gaps=strip_gaps, max_record_size=max_record_size)
        return Database.in_memory(batches, name=source)

    @staticmethod
    def of(databases: Databases, name: str = "databases") -> Database:
        """A database, opened if it is a path; several become one. name: of the argument, for messages."""
        if isinstance(databases, Database):
            return databases
        if isinstance(databases, list | tuple):
            return Database.joined([Database.of(one) for one in databases])
        expected = "a Database, the path of a database or sequence file, or a list of these"
        return Database.open(arguments.path(name, databases, expected))

    @staticmethod
    def joined(databases: Sequence[Database]) -> Database:
        """Several databases as one: the targets of each in turn, and E-values of all together.

        Place in the input runs on from one database to the next. InputError if their letters differ.
        """
        if not arguments.items("databases", databases, "a list of databases"):
            raise InputError("databases is empty; at least one is needed")
        for database in databases:
            arguments.instance("databases", database, Database)
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
        arguments.text("name", name)
        arguments.instance("limits", limits, SegmentLimits)
        return Database(None, *build_in_memory(_batches(batches), name, limits), name=name)

    @staticmethod
    def build(
        inputs: Source | Sequence[Source],
        path: str | os.PathLike[str],
        *,
        alphabet: Alphabet | str | None = None,
        strip_gaps: bool = False,
        max_record_size: int | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Build a database from sequence files, one after the other, and open it.

        `path` gets the suffix `.exaln` if it has another one. An existing database is replaced only with `force`.
        Whatever goes wrong, what was there before stays. progress: True for a bar, or a function that is called up to
        ten times per second as `progress(bytes_done, bytes_total or None, residues)`. A record that takes more than
        `max_record_size` bytes is refused.
        """
        with showing(progress, ReadingProgress, lambda: None) as report:
            batches = read_inputs(
                inputs, alphabet=alphabet, strip_gaps=strip_gaps, max_record_size=max_record_size, progress=report
            )
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
        directory = _with_suffix(Path(arguments.path("path", path, "the path of the database")))
        if directory is None:
            raise InputError(f"{os.fspath(path)}: no name for a database; choose one, such as proteins.exaln")
        arguments.instance("limits", limits, SegmentLimits)
        build_directory(_batches(batches), directory, force=arguments.flag("force", force), limits=limits)
        return _open_directory(directory)

    def append(
        self,
        inputs: Source | Sequence[Source],
        *,
        alphabet: Alphabet | str | None = None,
        strip_gaps: bool = False,
        max_record_size: int | None = None,
        progress: Progress | bool | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Add the sequences of these files. Returns the new database; this object goes on showing the old one.

        `alphabet`: what the sequences are, if they may look like another molecule; it must be that of the database.
        """
        if as_alphabet(alphabet) not in (None, self.alphabet):
            raise InputError(f"{self.path}: a {self.alphabet.name} database; the alphabet cannot be another")
        with showing(progress, ReadingProgress, lambda: None) as report:
            batches = read_inputs(
                inputs,
                alphabet=alphabet,
                like=self.alphabet,
                strip_gaps=strip_gaps,
                max_record_size=max_record_size,
                progress=report,
            )
            return self.append_records(batches, limits=limits)

    def append_records(self, batches: Iterable[Records], *, limits: SegmentLimits = DEFAULT_LIMITS) -> Database:
        """Add these records at the end. Returns the new database; this object goes on showing the old one."""
        directory = self._directory()
        arguments.instance("limits", limits, SegmentLimits)
        append_to_directory(_batches(batches), directory, limits=limits)
        return _open_directory(directory)

    def compact(self, *, progress: Progress | bool | None = None, limits: SegmentLimits = DEFAULT_LIMITS) -> Database:
        """Merge neighbouring small segments, as many appends leave them. Returns the new database."""
        directory = self._directory()
        arguments.instance("limits", limits, SegmentLimits)
        with showing(progress, ReadingProgress, lambda: None) as report:
            compact_directory(directory, progress=report, limits=limits)
        return _open_directory(directory)

    def verify(self) -> None:
        """Check every byte and every rule of the format; DatabaseError with the first problem and their number."""
        problems = self.problems()
        if problems:
            more = f" (and {number_of(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
            raise DatabaseError(problems[0] + more)

    def problems(self) -> list[str]:
        """What `verify` finds, one line per problem; empty if all is well."""
        return list(problems_of_database(self._manifest, self.segments))

    def fetch(self, ids: str | Iterable[str]) -> list[Target]:
        """All sequences with this id, or with these ids in turn, in input order; an unknown id is an InputError.

        What is no id may be an accession within one: P30775 finds sp|P30775|RF1M_YEAST.
        """
        with unchanged(self.require_unchanged):
            return [segment.target(row) for segment, row in self._find(_ids(ids))]

    def ordinals(self, ids: str | Iterable[str]) -> NDArray[np.int64]:
        """int64[n], ascending: the places of all sequences with these ids; an unknown id is an InputError."""
        with unchanged(self.require_unchanged):
            return np.unique(np.array([segment.ordinal(row) for segment, row in self._find(_ids(ids))], np.int64))

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

        `out` is a path (written as a whole or not at all; .gz and .zst compress), "-" or a binary file. `width` letters
        per line, 0: one line.
        """
        width = min(arguments.integer("width", width), WIDEST)
        arguments.binary_file("out", out, "write", "a path, - or a file that is open for bytes")
        require_extension(out, "FASTA", FASTA_EXTENSIONS)
        texts = self._fasta(width) if ids is None else self._fasta_of(_ids(ids), width)
        first = next(texts, b"")
        with open_text_output(out) as file:
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

    def _at(self, ordinals: Sequence[int]) -> list[Target]:
        """The sequences at these places of the input."""
        with unchanged(self.require_unchanged):
            numbers, rows = self.locate(np.array(ordinals, np.int64))
            places = zip(numbers.tolist(), rows.tolist(), strict=True)
            return [self.segments[number].target(row) for number, row in places]

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


def _ids(ids: str | Iterable[str]) -> list[str]:
    """One id or several, as a list."""
    expected = "an id, or several"
    wanted = [ids] if isinstance(ids, str) else arguments.items("ids", ids, expected)
    for id_ in wanted:
        if not isinstance(id_, str):
            raise arguments.wrong("ids", id_, expected)
    return wanted


def _batches(batches: Iterable[Records]) -> Iterator[Records]:
    """The same, each checked to be records."""
    expected = "Records, several of them"
    if isinstance(batches, Records) or not isinstance(batches, Iterable):
        raise arguments.wrong("batches", batches, expected)
    for records in batches:
        if not isinstance(records, Records):
            raise arguments.wrong("batches", records, expected)
        yield records


def _with_suffix(path: Path) -> Path | None:
    """The path with the suffix of databases; None for `.`, `..` and `/`, to which none can be added."""
    if path.suffix == SUFFIX:
        return path
    return None if path.name in ("", "..") else path.with_name(path.name + SUFFIX)


def _find_directory(path: Path) -> Path | None:
    """The directory that the user means, `.exaln` left out or not; None if it is a file or nothing."""
    try:
        if is_folder(path) is False:
            return None
        candidates = [one for one in (path, _with_suffix(path)) if one is not None and is_folder(one)]
        databases = [one for one in candidates if is_folder(one / MANIFEST_NAME) is not None]
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read: {error.strerror}") from None
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
