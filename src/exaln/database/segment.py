"""A segment: one immutable, memory-mapped file of a database, an Arrow IPC file with one record batch sorted by length.

No byte is used before its hash was compared with the manifest. There is one hash per block of 1 MiB, so looking up one
id checks a few blocks; `Segment.check`, which every column property calls, checks the rest. The columns must then keep
the rules of `database.column_checks`; a single row that is looked up is checked on its own. After reading a segment,
call `require_unchanged` before returning results.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.column_checks import WRONG_CODES, WRONG_MASK, WRONG_ORDINALS, problem_of
from exaln.database.columns import SegmentColumns, columns_of, segment_schema
from exaln.errors import DatabaseError
from exaln.foundation import arguments
from exaln.foundation.mapped_file import WatchedFile
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records, Text, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 20
MAX_ROWS = (1 << 31) - 1
FOOTER_BYTES = 1 << 16
"""An upper bound for the size of the Arrow metadata at either end of a segment."""
MANY_IDS = 64
"""From this number of ids on, one pass over whole columns is faster than a binary search for each id."""


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

    Every property and method that reads columns raises DatabaseError if the file is damaged or has changed.
    """

    def __init__(
        self,
        name: str,
        alphabet: Alphabet,
        *,
        batch: Any = None,
        file: WatchedFile | None = None,
        hashes: NDArray[np.uint64] | None = None,
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
        self._mapped = None if file is None else file.bytes
        self._hashes = hashes
        self._is_checked = np.zeros(0 if hashes is None else len(hashes), np.bool_)
        self._is_valid = file is None
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
            file=file,
            hashes=hashes,
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
            state |= {
                "_batch": None,
                "_mapped": None,
                "_is_checked": np.zeros_like(self._is_checked),
                "_is_valid": False,
            }
            state = {
                name: value
                for name, value in state.items()
                if name not in ("_columns", "_moved_ordinals", "input_order")
            }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._file is not None:
            self._mapped = self._file.bytes

    def check(self) -> None:
        """Compare all blocks that were not yet compared with their hashes; DatabaseError if one differs."""
        if not self._is_checked.all():
            self._check_blocks(0, len(self._is_checked))

    def require_unchanged(self) -> None:
        """Raise DatabaseError if the file changed after it was opened, so that what was read cannot be trusted."""
        if self._file is not None:
            self._file.require_unchanged()

    @property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[n_residues]: the codes of all sequences, joined."""
        return self._checked_columns().codes[: self.n_residues]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]: sequence i is codes[offsets[i]:offsets[i + 1]]; the first offset is 0."""
        return self._checked_columns().offsets

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64[n_rows]: position of each row in the input of the whole database."""
        columns = self._checked_columns()
        return self._moved_ordinals if self._n_before else columns.ordinals

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
        return self._checked_columns().by_id

    @property
    def ids(self) -> Text:
        """The ids, a column of n_rows strings."""
        columns = self._checked_columns()
        return Text(columns.id_data, columns.id_offsets)

    def checked_ids(self) -> Text:
        """The ids; reads and checks only their part of the file, which is small next to the sequences."""
        columns = self._columns
        return Text(self._checked(columns.id_data), self._checked(columns.id_offsets))

    @property
    def descriptions(self) -> Text:
        """The descriptions, a column of n_rows strings."""
        columns = self._checked_columns()
        return Text(columns.description_data, columns.description_offsets)

    @property
    def mask(self) -> NDArray[np.int64]:
        """int64[intervals, 2]: soft-masked stretches as in `Records`; a copy."""
        columns = self._checked_columns()
        return np.stack((columns.mask_starts, columns.mask_ends), axis=1)

    @property
    def mask_offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]: the intervals of row i are mask[mask_offsets[i]:mask_offsets[i + 1]]."""
        return self._checked_columns().mask_offsets

    @property
    def records(self) -> Records:
        """All rows, sorted by length."""
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
        self._checked_columns()
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

        columns = self._checked_columns()
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
        ordinal = int(self._checked(self._columns.ordinals[row : row + 1])[0])
        if not 0 <= ordinal - self.first_ordinal < self.n_rows:
            raise self.invalid(WRONG_ORDINALS)
        return ordinal + self._n_before

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

    def _checked(self, view: NDArray[Any]) -> NDArray[Any]:
        """The view itself, after its blocks were compared with their hashes; DatabaseError if one differs."""
        if self._mapped is None or not view.size:
            return view
        begin = view.__array_interface__["data"][0] - self._mapped.__array_interface__["data"][0]
        first, last = begin // BLOCK_BYTES, (begin + view.nbytes - 1) // BLOCK_BYTES
        if not self._is_checked[first : last + 1].all():
            self._check_blocks(first, last + 1)
        return view

    def _check_blocks(self, begin: int, end: int) -> None:
        import xxhash

        assert self._mapped is not None
        assert self._hashes is not None
        for block in range(begin, end):
            if self._is_checked[block]:
                continue
            content = self._mapped[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
            if xxhash.xxh3_64_intdigest(content.data) != int(self._hashes[block]):
                raise DatabaseError(
                    f"{self.name}: damaged between byte {block * BLOCK_BYTES} and {block * BLOCK_BYTES + len(content)} "
                    "(xxh3 differs from the manifest); restore the file from a copy or rebuild the database"
                )
            self._is_checked[block] = True

    def _checked_columns(self) -> SegmentColumns:
        self.require_unchanged()
        self.check()
        columns = self._columns
        if not self._is_valid:
            problem = self.broken_rule()
            if problem is not None:
                self.require_unchanged()
                raise self.invalid(problem)
            self._is_valid = True
        return columns

    def broken_rule(self) -> str | None:
        """The first rule of `column_checks` that the columns break; None if they keep all of them."""
        return problem_of(self._batch, self._columns, self.n_residues, len(self.alphabet.letters), self.first_ordinal)

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
        if self._mapped is not None and not all(_is_within(view, self._mapped) for view in vars(columns).values()):
            raise self.invalid("a column is compressed or lies outside the file")
        return columns

    def _arrow_batch(self) -> Any:
        """The record batch. Arrow reads metadata at both ends of the file, so these blocks are checked first."""
        if self._batch is None:
            import pyarrow as pa

            assert self._mapped is not None
            self._checked(self._mapped[:FOOTER_BYTES])
            self._checked(self._mapped[-FOOTER_BYTES:])
            batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._mapped))).get_batch(0)
            if not batch.schema.equals(segment_schema(self.alphabet), check_metadata=True):
                raise ValueError("columns or alphabet differ from those of the database")
            if batch.num_rows != self.n_rows:
                raise ValueError(f"{batch.num_rows} rows instead of {self.n_rows}")
            self._batch = batch
        return self._batch


def _is_within(view: NDArray[Any], whole: NDArray[np.uint8]) -> bool:
    """Whether an array is a view into another one."""
    begin = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return not view.nbytes or 0 <= begin <= len(whole) - view.nbytes


def _letter_bytes(letters: str) -> NDArray[np.uint8]:
    return np.frombuffer(letters.encode("ascii"), np.uint8)
