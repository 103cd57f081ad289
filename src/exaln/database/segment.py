"""A segment: one immutable, memory-mapped file of a database, an Arrow IPC file with one record batch sorted by length.

No byte is used before its hash was compared with the manifest (`checked_file`). A column that is used as a whole must
keep its rules (`column_checks`); rows that are looked up are checked on their own. What is not used is not read: a
search of millions of targets reads all codes, and the ids of the hits. After reading a segment, call
`require_unchanged` before returning results.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.checked_file import BLOCK_BYTES, CheckedFile
from exaln.database.column_checks import (
    WRONG_CODES,
    WRONG_MASK,
    WRONG_OFFSETS,
    WRONG_ORDINALS,
    Column,
    SegmentContent,
    problem_of,
    problem_of_codes,
)
from exaln.database.columns import SegmentColumns, columns_of, segment_schema
from exaln.errors import DatabaseError
from exaln.foundation import arguments
from exaln.foundation.mapped_file import WatchedFile
from exaln.foundation.thread_pool import run_in_parallel
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records, Text, offsets_of
from exaln.sequences.used_letters import used_letters

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ROWS = (1 << 31) - 1
FOOTER_BYTES = 1 << 16
"""An upper bound for the size of the Arrow metadata at either end of a segment."""
MANY_IDS = 64
"""From this number of ids on, one pass over whole columns is faster than a binary search for each id."""
READ_BYTES = 4 * BLOCK_BYTES
"""Codes that a thread reads at a time."""


@dataclass(frozen=True)
class Target:
    """A database sequence as text, soft-masked stretches in lower case; `ordinal` is its input position from 0."""

    id: str
    description: str
    sequence: str
    ordinal: int

    def __len__(self) -> int:
        return len(self.sequence)

    def fasta(self, width: int = 60) -> str:
        """The record as FASTA text, `width` letters per line; 0 for one line.

        >>> print(Target("one", "first sequence", "HEAGAWGHEE", 0).fasta(width=6), end="")
        >one first sequence
        HEAGAW
        GHEE
        """
        step = arguments.integer("width", width) or max(len(self.sequence), 1)
        lines = [self.sequence[i : i + step] for i in range(0, len(self.sequence), step)]
        return "\n".join([f">{self.id} {self.description}".rstrip(" "), *lines, ""])


class Segment:
    """Rows of a database, sorted by length. Arrays are read-only views; rows are numbered from 0 within a segment.

    Every property and method that reads columns raises DatabaseError if what it reads is damaged or has changed.
    """

    def __init__(
        self,
        name: str,
        alphabet: Alphabet,
        *,
        batch: Any = None,
        file: CheckedFile | None = None,
        n_rows: int,
        n_residues: int,
        first_ordinal: int = 0,
    ) -> None:
        self.name = name
        self.alphabet = alphabet
        self.n_rows = n_rows
        self.n_residues = n_residues
        self.first_ordinal = first_ordinal
        self._batch = batch
        self._file = file
        self._valid: set[Column] = set() if file is not None else set(Column)
        self._n_before = 0

    @staticmethod
    def in_memory(name: str, alphabet: Alphabet, batch: Any, *, first_ordinal: int = 0) -> Segment:
        """A segment over a record batch in memory, made by this process and therefore used without checks."""
        n_residues = int(columns_of(batch).offsets[-1])
        return Segment(
            name, alphabet, batch=batch, n_rows=batch.num_rows, n_residues=n_residues, first_ordinal=first_ordinal
        )

    @staticmethod
    def mapped(
        path: Path,
        alphabet: Alphabet,
        *,
        hashes: NDArray[np.uint64],
        n_bytes: int,
        n_rows: int,
        n_residues: int,
        first_ordinal: int,
    ) -> Segment:
        """Map a file. hashes: uint64[blocks]; the other arguments are those of the manifest.

        FileNotFoundError if there is no such file, DatabaseError if its size is not `n_bytes`.
        """
        file = WatchedFile(path.parent, path.name)
        found = len(file.bytes)
        if found != n_bytes:
            raise DatabaseError(
                f"{path}: {found} bytes instead of {n_bytes}: the segment is damaged; restore or rebuild it"
            )
        return Segment(
            str(path),
            alphabet,
            file=CheckedFile(str(path), file, hashes),
            n_rows=n_rows,
            n_residues=n_residues,
            first_ordinal=first_ordinal,
        )

    def __repr__(self) -> str:
        return f"Segment({self.name!r}, n_rows={self.n_rows}, n_residues={self.n_residues})"

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle: another process opens the file again and repeats all checks."""
        state = dict(vars(self))
        if self._file is not None:
            made = ("_columns", "_found_letters", "_moved_ordinals", "input_order")
            state = {name: value for name, value in state.items() if name not in made}
            state |= {"_batch": None, "_valid": set()}
        return state

    def check(self) -> None:
        """Compare all blocks that were not yet compared with their hashes; DatabaseError if one differs."""
        if self._file is not None:
            self._file.check()

    def require_unchanged(self) -> None:
        """Raise DatabaseError if the file changed after it was opened, so that what was read cannot be trusted."""
        if self._file is not None:
            self._file.require_unchanged()

    @property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[n_residues]: the codes of all sequences, joined."""
        return self._valid_columns(Column.CODES).codes[: self.n_residues]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]: sequence i is codes[offsets[i]:offsets[i + 1]]; the first offset is 0."""
        return self._valid_columns(Column.OFFSETS).offsets

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64[n_rows]: position of each row in the input of the whole database."""
        columns = self._valid_columns(Column.ORDINAL)
        return self._moved_ordinals if self._n_before else columns.ordinals

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur."""
        self._valid_columns(Column.CODES)
        return self._found_letters

    @property
    def block_offset(self) -> int:
        """The place of the first code in its block of the file."""
        return 0 if self._file is None else self._file.place_of(self._columns.codes) % BLOCK_BYTES

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` on, which are read and checked without mapping them."""
        codes = self._valid_columns(Column.OFFSETS).codes[begin : begin + len(out)]
        if self._file is None or not len(out):
            out[:] = codes
            return
        self._file.read(self._file.place_of(codes), out)
        if Column.CODES not in self._valid:
            self._require(problem_of_codes(used_letters(out), len(self.alphabet.letters)))

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of these rows; only their blocks are read."""
        columns = self._columns
        if Column.ORDINAL not in self._valid:
            self._check_ranges(columns.ordinals, rows, rows + 1)
        ordinals = columns.ordinals[rows]
        own = ordinals - self.first_ordinal
        self._require(WRONG_ORDINALS if np.any((own < 0) | (own >= self.n_rows)) else None)
        return ordinals + self._n_before

    def sequences_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Codes of these rows, joined, and their offsets, int64[n + 1]; only their blocks are read."""
        codes, offsets = self._taken(self._columns.codes, self._columns.offsets, rows)
        self._require(problem_of_codes(used_letters(codes), len(self.alphabet.letters)))
        return codes, offsets

    def ranges_of(
        self, rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Codes [starts, ends) of these rows, joined, and their offsets, int64[n + 1]; only their blocks are read."""
        from exaln._core import take_rows

        columns = self._columns
        self._check_ranges(columns.offsets, rows, rows + 2)
        begins, lasts = columns.offsets[rows] + starts, columns.offsets[rows] + ends
        is_within = np.all((starts >= 0) & (starts <= ends) & (lasts <= columns.offsets[rows + 1]))
        self._require(None if is_within and np.all(begins >= 0) else WRONG_OFFSETS)
        self._require(None if np.all(lasts <= len(columns.codes)) else WRONG_OFFSETS)
        self._check_ranges(columns.codes, begins, lasts)
        codes = take_rows(columns.codes, begins, lasts)
        self._require(problem_of_codes(used_letters(codes), len(self.alphabet.letters)))
        return codes, offsets_of(ends - starts)

    def ids_of(self, rows: NDArray[np.int64]) -> Text:
        """The ids of these rows; only their blocks are read."""
        return self._texts(self._columns.id_data, self._columns.id_offsets, rows)

    def descriptions_of(self, rows: NDArray[np.int64]) -> Text:
        """The descriptions of these rows; only their blocks are read."""
        return self._texts(self._columns.description_data, self._columns.description_offsets, rows)

    def moved(self, n_before: int) -> Segment:
        """The same rows with `n_before` added to their ordinals, for databases that are joined."""
        if not n_before:
            return self
        moved = copy.copy(self)
        moved._n_before = self._n_before + n_before
        moved.__dict__.pop("_moved_ordinals", None)
        return moved

    @cached_property
    def _moved_ordinals(self) -> NDArray[np.int64]:
        moved: NDArray[np.int64] = self._columns.ordinals + self._n_before
        moved.flags.writeable = False
        return moved

    @property
    def by_id(self) -> NDArray[np.int32]:
        """int32[n_rows]: the rows sorted by the bytes of their ids."""
        return self._valid_columns(Column.BY_ID).by_id

    @property
    def ids(self) -> Text:
        """The ids, a column of n_rows strings."""
        columns = self._valid_columns(Column.ID)
        return Text(columns.id_data, columns.id_offsets)

    def checked_ids(self) -> Text:
        """The ids; reads and checks only their part of the file, which is small next to the sequences."""
        columns = self._columns
        return Text(self._checked(columns.id_data), self._checked(columns.id_offsets))

    @property
    def descriptions(self) -> Text:
        """The descriptions, a column of n_rows strings."""
        columns = self._valid_columns(Column.DESCRIPTION)
        return Text(columns.description_data, columns.description_offsets)

    @property
    def mask(self) -> NDArray[np.int64]:
        """int64[intervals, 2]: soft-masked stretches as in `Records`; a copy."""
        columns = self._valid_columns(Column.MASK)
        return np.stack((columns.mask_starts, columns.mask_ends), axis=1)

    @property
    def masks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`mask` and `mask_offsets`."""
        return self.mask, self.mask_offsets

    @property
    def mask_offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]: the intervals of row i are mask[mask_offsets[i]:mask_offsets[i + 1]]."""
        return self._valid_columns(Column.MASK).mask_offsets

    @property
    def records(self) -> Records:
        """All rows, sorted by length, after all columns were checked."""
        self._valid_columns(*Column)
        return Records(
            alphabet=self.alphabet,
            ids=self.ids,
            descriptions=self.descriptions,
            codes=self.codes,
            offsets=self.offsets,
            mask=self.mask,
            mask_offsets=self.mask_offsets,
        )

    @property
    def batch(self) -> Any:
        """The checked segment as a `pyarrow.RecordBatch`."""
        self._valid_columns(*Column)
        return self._batch

    @cached_property
    def input_order(self) -> NDArray[np.int32]:
        """int32[n_rows]: the rows in input order."""
        ordinals = self.ordinals
        rows = np.empty(self.n_rows, np.int32)
        rows[ordinals - ordinals.min()] = np.arange(self.n_rows, dtype=np.int32)
        return rows

    def fasta(self, rows: NDArray[np.int32], width: int) -> NDArray[np.uint8]:
        """uint8: FASTA text of these rows; `width` letters per line, 0 for one line. rows: int32[n]."""
        from exaln._core import fasta_text

        columns = self._valid_columns(*Column)
        return fasta_text(
            columns.id_data,
            columns.id_offsets,
            columns.description_data,
            columns.description_offsets,
            columns.codes,
            columns.offsets,
            columns.mask_starts,
            columns.mask_ends,
            columns.mask_offsets,
            _letter_bytes(self.alphabet.letters),
            _letter_bytes(self.alphabet.letters.lower()),
            width,
            rows,
        )

    def rows_with_ids(self, ids: Sequence[str]) -> list[NDArray[np.int32]]:
        """The rows with each id, an int32 array per id, in input order; an empty array for an unknown id."""
        self.require_unchanged()
        by_id = self._columns.by_id
        keys = [id_.encode("utf-8", "surrogatepass") for id_ in ids]  # a string that is not text is just not found
        ranges = self._find_all(keys) if len(keys) >= MANY_IDS else [self._find(key) for key in keys]
        return [np.array(sorted(self._checked(by_id[begin:end]), key=self.ordinal), np.int32) for begin, end in ranges]

    def ordinal(self, row: int) -> int:
        """The position of one row in the input of the whole database."""
        if not 0 <= row < self.n_rows:
            raise self.invalid("by_id has rows that do not exist")
        return int(self.ordinals_of(np.array([row]))[0])

    def target(self, row: int) -> Target:
        """One row as text; IndexError if there is no such row."""
        row = range(self.n_rows)[row]
        columns = self._columns
        return Target(
            id=self._text(columns.id_data, columns.id_offsets, row),
            description=self._text(columns.description_data, columns.description_offsets, row),
            sequence=self._letters(row),
            ordinal=self.ordinal(row),
        )

    def _letters(self, row: int) -> str:
        """The letters of one sequence, soft-masked stretches in lower case."""
        columns = self._columns
        codes = np.array(self._slice(columns.codes, columns.offsets, row))
        if len(codes) and int(codes.max()) >= len(self.alphabet.letters):
            raise self.invalid(WRONG_CODES)
        letters = np.array(_letter_bytes(self.alphabet.letters)[codes])
        starts = self._slice(columns.mask_starts, columns.mask_offsets, row)
        ends = self._slice(columns.mask_ends, columns.mask_offsets, row)
        lower = _letter_bytes(self.alphabet.letters.lower())
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if not 0 <= start < end <= len(codes):
                raise self.invalid(WRONG_MASK)
            letters[start:end] = lower[codes[start:end]]
        return bytes(letters).decode("ascii")

    def _text(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], row: int) -> str:
        try:
            return bytes(self._slice(data, offsets, row)).decode("utf-8")
        except UnicodeDecodeError:
            raise self.invalid("an id or description is not UTF-8 text") from None

    def _find(self, key: bytes) -> tuple[int, int]:
        """The range [begin, end) of an id in by_id, by binary search: only the rows that it probes are read."""

        def id_at(place: int) -> bytes:
            row = int(self._checked(columns.by_id[place : place + 1])[0])
            if not 0 <= row < self.n_rows:
                raise self.invalid("by_id has rows that do not exist")
            return bytes(self._slice(columns.id_data, columns.id_offsets, row))

        columns = self._columns
        places = range(self.n_rows)
        begin = bisect.bisect_left(places, key, key=id_at)
        return begin, bisect.bisect_right(places, key, lo=begin, key=id_at)

    def _find_all(self, keys: Sequence[bytes]) -> list[tuple[int, int]]:
        """The range [begin, end) in by_id of each of many ids, in one pass over whole columns."""
        from exaln._core import find_bytes

        columns = self._columns
        data, offsets = np.frombuffer(b"".join(keys), np.uint8), offsets_of(len(key) for key in keys)
        for column in (columns.id_data, columns.id_offsets, columns.by_id):
            self._checked(column)
        try:
            places = find_bytes(columns.id_data, columns.id_offsets, columns.by_id, data, offsets)
        except (ValueError, IndexError) as error:
            raise self.invalid(str(error)) from None
        return [(int(begin), int(end)) for begin, end in places.reshape(-1, 2)]

    def _slice(self, data: NDArray[Any], offsets: NDArray[np.int64], row: int) -> NDArray[Any]:
        begin, end = self._checked(offsets[row : row + 2]).tolist()
        if not 0 <= begin <= end <= len(data):
            raise self.invalid("offsets point outside their data")
        return self._checked(data[begin:end])

    def _texts(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> Text:
        text = Text(*self._taken(data, offsets, rows))
        try:
            if len(text.data) and int(text.data.max()) >= 0x80:
                text.to_list()
        except UnicodeDecodeError:
            raise self.invalid("an id or description is not UTF-8 text") from None
        return text

    def _taken(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The data of these rows, joined, and their offsets, int64[n + 1]."""
        from exaln._core import take_rows

        self._check_ranges(offsets, rows, rows + 2)
        begins, ends = offsets[rows], offsets[rows + 1]
        is_within = np.all((begins >= 0) & (begins <= ends) & (ends <= len(data)))
        self._require(None if is_within else WRONG_OFFSETS)
        self._check_ranges(data, begins, ends)
        return take_rows(data, begins, ends), offsets_of(ends - begins)

    def _check_ranges(self, view: NDArray[Any], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Compare the blocks of the elements [begins[i], ends[i]) of a column, for all i, with their hashes."""
        if self._file is not None and len(view):
            self._file.check_ranges(view, begins, ends)

    def _checked(self, view: NDArray[Any]) -> NDArray[Any]:
        """The view itself, after its blocks were compared with their hashes; DatabaseError if one differs."""
        return view if self._file is None else self._file.checked(view)

    def _valid_columns(self, *names: Column) -> SegmentColumns:
        """All columns, of which these were read and keep their rules."""
        self.require_unchanged()
        for name in names:
            if name not in self._valid:
                self._validate(name)
        return self._columns

    def _validate(self, name: Column) -> None:
        if name in (Column.CODES, Column.MASK):
            self._valid_columns(Column.OFFSETS)
        if name == Column.CODES:
            problem = problem_of_codes(self._found_letters, len(self.alphabet.letters))
        else:
            for field in name.value:
                self._checked(getattr(self._columns, field))
            problem = problem_of(name, self._content)
        self._require(problem)
        self._valid.add(name)

    @cached_property
    def _found_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur, found in one pass over all of them, on all cores."""
        found = np.zeros(256, np.bool_)

        def read(piece: tuple[int, int]) -> None:
            codes = np.empty(piece[1] - piece[0], np.uint8)
            self.read_codes(piece[0], codes)
            np.logical_or(found, used_letters(codes), out=found)

        cuts = range(READ_BYTES - self.block_offset, self.n_residues, READ_BYTES)
        run_in_parallel(read, list(pairwise([0, *cuts, self.n_residues])))
        return found

    def broken_rule(self) -> str | None:
        """The first rule of `column_checks` that the columns break; None if they keep all of them."""
        content = self._content
        return next((problem for name in Column if (problem := problem_of(name, content)) is not None), None)

    @property
    def _content(self) -> SegmentContent:
        n_letters = len(self.alphabet.letters)
        return SegmentContent(self._batch, self._columns, self.n_residues, n_letters, self.first_ordinal)

    def _require(self, problem: str | None) -> None:
        """Raise DatabaseError if a rule is broken; if the file has changed, that is the error."""
        if problem is not None:
            self.require_unchanged()
            raise self.invalid(problem)

    def invalid(self, problem: str) -> DatabaseError:
        """The error for a segment whose hashes are right and whose content is not."""
        return DatabaseError(f"{self.name}: not a valid segment: {problem}; rebuild the database")

    @cached_property
    def _columns(self) -> SegmentColumns:
        """Views of the columns, all within the file; their content is not checked yet."""
        from pyarrow import ArrowException

        try:
            columns = columns_of(self._arrow_batch())
        except (ValueError, TypeError, LookupError, OSError, MemoryError, OverflowError, ArrowException) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DatabaseError(f"{self.name}: not a segment of this format: {reason}; rebuild the database") from None
        if self._file is not None and not all(map(self._file.has, vars(columns).values())):
            raise self.invalid("a column is compressed or lies outside the file")
        return columns

    def _arrow_batch(self) -> Any:
        """The record batch. Arrow reads metadata at both ends of the file, so these blocks are checked first."""
        if self._batch is None:
            import pyarrow as pa

            assert self._file is not None
            content = self._file.bytes
            self._checked(content[:FOOTER_BYTES])
            self._checked(content[-FOOTER_BYTES:])
            batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content))).get_batch(0)
            if not batch.schema.equals(segment_schema(self.alphabet), check_metadata=True):
                raise ValueError("columns or alphabet differ from those of the database")
            if batch.num_rows != self.n_rows:
                raise ValueError(f"{batch.num_rows} rows instead of {self.n_rows}")
            self._batch = batch
        return self._batch


def _letter_bytes(letters: str) -> NDArray[np.uint8]:
    return np.frombuffer(letters.encode("ascii"), np.uint8)
