"""`Database`: encoded sequences, sorted by length and memory-mapped, so that opening one takes milliseconds.

A database is a directory `NAME.exaln/` of immutable segments and a manifest that names them (exaln.database.segment,
exaln.database.manifest). A `Database` is a snapshot: writers never change what an open one sees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, overload

import numpy as np

from exaln.database.columns import FORMAT_VERSION
from exaln.database.directory import find_directory, open_snapshot, with_suffix
from exaln.database.manifest import Manifest
from exaln.database.part import DatabasePart, SearchSpace
from exaln.database.segment import Segment, Target
from exaln.database.segment_limits import DEFAULT_LIMITS, SegmentLimits
from exaln.errors import DatabaseError, InputError
from exaln.foundation import arguments
from exaln.foundation.distinct import distinct
from exaln.foundation.html_table import html_table
from exaln.foundation.mapped_file import read_unchanged, unchanged
from exaln.foundation.output_file import open_text_output, require_extension
from exaln.foundation.plurals import number_of
from exaln.foundation.progress import ReadingProgress, showing
from exaln.foundation.resources import usable_threads
from exaln.sequences.alphabet import Alphabet, as_alphabet
from exaln.sequences.byte_streams import Source, printable
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.source_files import Progress
    from exaln.masking.methods import Masking

Databases: TypeAlias = "Database | str | os.PathLike[str] | Sequence[Database | str | os.PathLike[str]]"
"""What can be searched: a Database, the path of one or of a sequence file, or a list of these, searched as one."""

FASTA_EXTENSIONS = (".fasta", ".fa", ".faa", ".fna", ".txt")
IN_MEMORY = "database in memory"
MAX_LINE_WIDTH = 1 << 40
N_SHOWN = 5
"""Sequences that a notebook shows."""


@dataclass(frozen=True)
class DatabaseInfo:
    """A summary of a database, taken from its manifest; `path` is None for a database in memory."""

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
    """Sequences to search. Use `Database.open` or `Database.build` to get one.

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
        """All sequences in input order, read one at a time."""
        for segment in self.segments:
            targets = (segment.target(row) for row in segment.input_order.tolist())
            yield from read_unchanged(segment.require_unchanged, targets)

    @overload
    def __getitem__(self, place: int) -> Target: ...

    @overload
    def __getitem__(self, place: slice) -> list[Target]: ...

    def __getitem__(self, place: int | slice) -> Target | list[Target]:
        """The sequence at a position of the input, counted from 0, or from the end if negative; a list for a slice."""
        if isinstance(place, slice):
            return self._at(range(len(self))[place])
        if isinstance(place, str):
            raise arguments.wrong("the index", place, "a position in the database; fetch(id) finds a sequence by id")
        return self._at([range(len(self))[place]])[0]

    def __contains__(self, id_: object) -> bool:
        """Whether a sequence has this id."""
        if not isinstance(id_, str):
            return False
        with unchanged(self.require_unchanged):
            return any(len(segment.rows_with_ids([id_])[0]) > 0 for segment in self.segments)

    def _repr_html_(self) -> str:
        """A summary and the first sequences, for notebooks."""
        rows = [[str(one.ordinal), one.id, one.description, str(len(one.sequence))] for one in self[:N_SHOWN]]
        rows += [["...", "", "", ""]] if len(self) > N_SHOWN else []
        return html_table(repr(self).strip("<>"), ["place", "id", "description", "length"], rows)

    @property
    def alphabet(self) -> Alphabet:
        """The letters of all sequences."""
        return self._manifest.alphabet

    @property
    def n_targets(self) -> int:
        """Number of sequences. Their ordinals, the positions in the input, are 0 to n_targets - 1."""
        return self._manifest.n_targets

    @property
    def n_residues(self) -> int:
        """Total number of residues."""
        return self._manifest.n_residues

    @property
    def is_stored(self) -> bool:
        """Whether all segments are files with hashes, so that other processes can open the same content."""
        return all(entry.block_xxh3_64 for entry in self._manifest.segments)

    @property
    def search_space(self) -> SearchSpace:
        """The database size from which E-values are computed."""
        return SearchSpace(self.n_targets, self.n_residues)

    @property
    def length_histogram(self) -> NDArray[np.int64]:
        """int64[exaln.statistics.length_bins.N_BINS]: number of sequences in each length bin."""
        return self._manifest.length_histogram

    @property
    def info(self) -> DatabaseInfo:
        """A summary of the content and the files."""
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
        """Open a database, or read a FASTA or FASTQ file or "-" (stdin) into memory. A list of paths becomes one.

        `.exaln` may be left out. Opening reads the manifest and checks file sizes; content is checked when it is used.
        `alphabet`, `strip_gaps` and `max_record_size` (bytes, see `exaln.sequences.fasta`) apply to sequence files.
        """
        from exaln.database.source_files import read_inputs
        from exaln.sequences.other_databases import other_database

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
            directory = find_directory(Path(source))
            if directory is not None:
                return _opened(directory)
            other = other_database(source)
            if other is not None:
                raise DatabaseError(f"{printable(source)}: {other}")
            if not os.path.lexists(source):
                raise DatabaseError(
                    f"{printable(source)}: no such database or sequence file; build a database with makedb"
                )
        batches = read_inputs(source, alphabet=alphabet, strip_gaps=strip_gaps, max_record_size=max_record_size)
        with closing(batches):
            return Database.in_memory(batches, name=source)

    @staticmethod
    def of(databases: Databases, name: str = "databases") -> Database:
        """A Database from whatever a user passed; paths are opened, a list is joined.

        name: what messages call the argument.
        """
        if isinstance(databases, Database):
            return databases
        if isinstance(databases, list | tuple):
            return Database.joined([Database.of(one) for one in databases])
        expected = "a Database, the path of a database or sequence file, or a list of these"
        return Database.open(arguments.path(name, databases, expected))

    @staticmethod
    def joined(databases: Sequence[Database]) -> Database:
        """Several databases as one, with E-values for their total size.

        Ordinals continue from one database to the next. InputError if the alphabets differ.
        """
        from exaln.database.joined import joined

        listed = arguments.items("databases", databases, "a list of databases")
        databases = [arguments.instance("databases", database, Database) for database in listed]
        if not databases:
            raise InputError("databases is empty; at least one is needed")
        if len(databases) == 1:
            return databases[0]
        names = [database.name for database in databases]
        manifests, segments = ([getattr(one, part) for one in databases] for part in ("manifest", "segments"))
        return Database(None, *joined(names, manifests, segments), name=" ".join(names))

    @staticmethod
    def in_memory(
        batches: Iterable[Records], *, name: str = IN_MEMORY, limits: SegmentLimits = DEFAULT_LIMITS
    ) -> Database:
        """A database of these records in memory, without files."""
        from exaln.database.build import build_in_memory

        arguments.text("name", name)
        arguments.instance("limits", limits, SegmentLimits)
        return Database(None, *build_in_memory(_batches(batches), name, limits, usable_threads(None)), name=name)

    @staticmethod
    def build(
        inputs: Source | Sequence[Source],
        path: str | os.PathLike[str],
        *,
        alphabet: Alphabet | str | None = None,
        strip_gaps: bool = False,
        max_record_size: int | None = None,
        mask: str | None = None,
        force: bool = False,
        threads: int | None = None,
        progress: Progress | bool | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Build a database from sequence files, read in the order given, and open it.

        `.exaln` is added to `path` if it is missing. An existing database is replaced only with `force`, and stays as
        it is if anything fails. progress: True for a bar, or a function that is called up to ten times per second as
        `progress(bytes_done, bytes_total or None, residues)`. A record of more than `max_record_size` bytes is an
        InputError. mask: seg, dust or tantan, and its numbers, as in "seg 12 2.2 2.5"; what it finds is stored as
        masks, besides lower-case letters. threads: one per core if not given; the database does not depend on it.
        """
        from exaln.database.source_files import read_inputs

        threads, masking = _threads(threads), _masking(mask)
        with showing(progress, ReadingProgress, lambda: None) as report:
            batches = read_inputs(
                inputs,
                alphabet=alphabet,
                strip_gaps=strip_gaps,
                max_record_size=max_record_size,
                threads=threads,
                progress=report,
            )
            with closing(batches):
                masked = _masked(batches, masking, threads)
                return Database.build_records(masked, path, force=force, threads=threads, limits=limits)

    @staticmethod
    def build_records(
        batches: Iterable[Records],
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        threads: int | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Build a database from batches of records, such as a list or a generator yields, and open it."""
        from exaln.database.build import build_directory

        directory = with_suffix(Path(arguments.path("path", path, "the path of the database")))
        if directory is None:
            raise InputError(f"{os.fspath(path)}: not a name for a database; choose one such as proteins.exaln")
        arguments.instance("limits", limits, SegmentLimits)
        force = arguments.flag("force", force)
        build_directory(_batches(batches), directory, force=force, limits=limits, threads=_threads(threads))
        return _opened(directory)

    def append(
        self,
        inputs: Source | Sequence[Source],
        *,
        alphabet: Alphabet | str | None = None,
        strip_gaps: bool = False,
        max_record_size: int | None = None,
        mask: str | None = None,
        threads: int | None = None,
        progress: Progress | bool | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Add the sequences of these files. Returns the new database; this object keeps showing the old content.

        alphabet: that of the database, for sequences that look like another molecule and would otherwise be refused.
        mask: as in `build`, for the new sequences.
        """
        from exaln.database.source_files import read_inputs

        if as_alphabet(alphabet) not in (None, self.alphabet):
            raise InputError(f"{self.path}: a {self.alphabet.name} database; alphabet cannot be changed by append")
        threads, masking = _threads(threads), _masking(mask)
        with showing(progress, ReadingProgress, lambda: None) as report:
            batches = read_inputs(
                inputs,
                alphabet=alphabet,
                like=self.alphabet,
                strip_gaps=strip_gaps,
                max_record_size=max_record_size,
                threads=threads,
                progress=report,
            )
            with closing(batches):
                return self.append_records(_masked(batches, masking, threads), threads=threads, limits=limits)

    def append_records(
        self, batches: Iterable[Records], *, threads: int | None = None, limits: SegmentLimits = DEFAULT_LIMITS
    ) -> Database:
        """Add records at the end. Returns the new database; this object keeps showing the old content."""
        from exaln.database.build import append_to_directory

        directory = self._directory()
        arguments.instance("limits", limits, SegmentLimits)
        append_to_directory(_batches(batches), directory, limits=limits, threads=_threads(threads))
        return _opened(directory)

    def compact(
        self,
        *,
        threads: int | None = None,
        progress: Progress | bool | None = None,
        limits: SegmentLimits = DEFAULT_LIMITS,
    ) -> Database:
        """Merge neighbouring small segments, such as many appends leave. Returns the new database."""
        from exaln.database.build import compact_directory

        directory = self._directory()
        arguments.instance("limits", limits, SegmentLimits)
        with showing(progress, ReadingProgress, lambda: None) as report:
            compact_directory(directory, progress=report, limits=limits, threads=_threads(threads))
        return _opened(directory)

    def verify(self) -> None:
        """Check every byte and every rule of the format; DatabaseError has the first problem and counts the rest."""
        problems = self.problems()
        if problems:
            more = f" (and {number_of(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
            raise DatabaseError(problems[0] + more)

    def problems(self) -> list[str]:
        """What `verify` finds, one line per problem; an empty list if the database is sound."""
        from exaln.database.verify import problems_of_database

        return list(problems_of_database(self._manifest, self.segments))

    def fetch(self, ids: str | Iterable[str]) -> list[Target]:
        """All sequences with this id, or with each of these ids in turn; several with one id are in input order.

        An accession within an id works too: P30775 finds sp|P30775|RF1M_YEAST. InputError if an id is unknown.
        """
        with unchanged(self.require_unchanged):
            return [segment.target(row) for segment, row in self._find(_ids(ids))]

    def ordinals(self, ids: str | Iterable[str]) -> NDArray[np.int64]:
        """int64[n], ascending: the ordinals of all sequences with these ids. InputError if an id is unknown."""
        with unchanged(self.require_unchanged):
            return np.unique(np.array([segment.ordinal(row) for segment, row in self._find(_ids(ids))], np.int64))

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a segment file changed after it was opened, so that results cannot be trusted.

        Searches and all methods that read sequences call this before they return results. A deleted segment is not a
        change: a writer may delete a file that an open database still uses.
        """
        for segment in self.segments:
            segment.require_unchanged()

    def locate(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Segment number and row of each target, int64[n] each; ordinals: int64[n]."""
        ends = np.cumsum([segment.n_rows for segment in self.segments])
        numbers = np.searchsorted(ends, ordinals, side="right")
        rows = np.empty(len(ordinals), np.int64)
        for number in distinct(numbers):
            segment, here = self.segments[number], numbers == number
            rows[here] = segment.input_order[ordinals[here] - (ends[number] - segment.n_rows)]
        return numbers, rows

    def part(self, first: int, end: int) -> DatabasePart:
        """The targets whose first residue lies in [first, end), counted over all segments."""
        return DatabasePart(self._manifest, dict(enumerate(self.segments)), first, end)

    @property
    def manifest(self) -> Manifest:
        """The segments of the database and totals over them."""
        return self._manifest

    def export(
        self, out: str | os.PathLike[str] | BinaryIO, *, width: int = 60, ids: Iterable[str] | None = None
    ) -> None:
        """Write FASTA: all sequences in input order, or only those with `ids`, in that order.

        out: a path (replaced atomically; .gz and .zst compress), "-" for stdout, or a binary file. width: letters per
        line, 0 for one line.
        """
        from exaln.database.export import fasta_blocks

        width = min(arguments.integer("width", width), MAX_LINE_WIDTH)
        arguments.binary_file("out", out, "write", "a path, - or a file that is open for bytes")
        require_extension(out, "FASTA", FASTA_EXTENSIONS)
        texts = fasta_blocks(self.segments, width) if ids is None else self._fasta_of(_ids(ids), width)
        first = next(texts, b"")
        with open_text_output(out) as file:
            file.write(first)
            for text in texts:
                file.write(text)

    def _fasta_of(self, ids: Sequence[str], width: int) -> Iterator[bytes]:
        """The sequences with these ids as FASTA; all ids are looked up before the first one is yielded."""
        with unchanged(self.require_unchanged):
            places = self._find(ids)
        texts = (segment.target(row).fasta(width).encode("utf-8") for segment, row in places)
        yield from read_unchanged(self.require_unchanged, texts)

    def _at(self, ordinals: Sequence[int]) -> list[Target]:
        """The sequences with these ordinals."""
        with unchanged(self.require_unchanged):
            numbers, rows = self.locate(np.array(ordinals, np.int64))
            places = zip(numbers.tolist(), rows.tolist(), strict=True)
            return [self.segments[number].target(row) for number, row in places]

    def _find(self, ids: Sequence[str]) -> list[tuple[Segment, int]]:
        """Segment and row of each sequence with these ids; InputError if an id is unknown."""
        from exaln.database.accession_lookup import find_accessions

        found: list[list[tuple[Segment, int]]] = [[] for _ in ids]
        for segment in self.segments:
            for rows, places in zip(segment.rows_with_ids(ids), found, strict=True):
                places.extend((segment, int(row)) for row in rows)
        unknown = list(dict.fromkeys(id_ for id_, places in zip(ids, found, strict=True) if not places))
        others = find_accessions(self.name, self.segments, unknown) if unknown else {}
        return [place for id_, places in zip(ids, found, strict=True) for place in places or others[id_]]

    def _directory(self) -> Path:
        if self.path is None:
            raise DatabaseError(f"{self.name}: not a single database on disk; build one with a path first")
        return self.path


def _threads(threads: int | None) -> int:
    """The number of threads that an argument `threads` asks for; None means one per core."""
    return usable_threads(None if threads is None else arguments.integer("threads", threads, least=1))


def _masking(mask: str | None) -> Masking | None:
    """The method that an argument `mask` names, with its numbers."""
    from exaln.masking.methods import Masking

    return None if mask is None else Masking.parse(mask)


def _masked(batches: Iterable[Records], masking: Masking | None, threads: int) -> Iterator[Records]:
    """The batches, with what `masking` finds added to their masks."""
    for records in batches:
        yield records if masking is None else masking.added(records, threads=threads)


def _ids(ids: str | Iterable[str]) -> list[str]:
    """One id or several, as a list of strings."""
    expected = "an id or a list of ids"
    wanted = [ids] if isinstance(ids, str) else arguments.items("ids", ids, expected)
    for id_ in wanted:
        if not isinstance(id_, str):
            raise arguments.wrong("ids", id_, expected)
    return wanted


def _batches(batches: Iterable[Records]) -> Iterator[Records]:
    """The batches, each checked to be Records."""
    expected = "a list of Records"
    if isinstance(batches, Records) or not isinstance(batches, Iterable):
        raise arguments.wrong("batches", batches, expected)
    for records in batches:
        if not isinstance(records, Records):
            raise arguments.wrong("batches", records, expected)
        yield records


def _opened(directory: Path) -> Database:
    """A snapshot of the database in a directory."""
    return Database(directory, *open_snapshot(directory))
