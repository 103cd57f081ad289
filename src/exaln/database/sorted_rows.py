"""The rows of a segment, sorted by length: columns that are gathered from unsorted pieces when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from exaln.database.columns import INTERVAL_BYTES, segment_schema
from exaln.database.manifest import SegmentEntry
from exaln.database.once import Once
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records, Text
from exaln.statistics.length_bins import length_histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import OrderedColumn

    Piece = tuple[NDArray[np.uint8], NDArray[np.int64]]


class RowBuffer:
    """Rows of one segment that are not sorted yet: the records, referenced and not copied, and their ordinals."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.rows = self.residues = self.text_bytes = 0
        self.records: list[Records] = []
        self.ordinals: list[NDArray[np.int64]] = []

    def add(self, records: Records, ordinals: NDArray[np.int64]) -> None:
        """Append rows with their ordinals, int64[n]."""
        self.records.append(records)
        self.ordinals.append(ordinals)
        self.rows += len(records)
        self.residues += records.n_residues
        self.text_bytes += int(text_bytes_before(records)[-1])


class Source(Protocol):
    """The bytes of a column, or of another part of a segment; they may be computed by the first call of `copy`."""

    @property
    def n_bytes(self) -> int:
        """How many there are."""

    def copy(self, begin: int, end: int, out: NDArray[np.uint8]) -> None:
        """Write the bytes [begin, end) to the beginning of `out`."""


class Computed:
    """A source: `n_bytes` of an array that is computed once."""

    def __init__(self, n_bytes: int, array: Once[NDArray[Any]]) -> None:
        self.n_bytes = n_bytes
        self._array = array

    def copy(self, begin: int, end: int, out: NDArray[np.uint8]) -> None:
        """Write the bytes [begin, end) to the beginning of `out`."""
        out[: end - begin] = self._array.get().view(np.uint8)[begin:end]


class Gathered:
    """A source: the values of rows, `n_bytes` in all, which stay in their pieces until they are copied."""

    def __init__(self, n_bytes: int, column: Once[OrderedColumn], threads: int) -> None:
        self.n_bytes = n_bytes
        self._column = column
        self._threads = threads

    def copy(self, begin: int, end: int, out: NDArray[np.uint8]) -> None:
        """Write the bytes [begin, end) to the beginning of `out`."""
        self._column.get().copy(begin, end, out)

    def whole(self) -> NDArray[np.uint8]:
        """uint8[n_bytes]: the values of all rows."""
        data = np.empty(self.n_bytes, np.uint8)
        self._column.get().copy(0, self.n_bytes, data, self._threads)
        return data


class SortedRows:
    """The rows of a buffer by length, equal ones in input order, as columns that are computed when they are needed.

    sources: by name, as in `batch`. `figures` gives what only the sorting of the ids finds out.
    """

    def __init__(self, buffer: RowBuffer, threads: int) -> None:
        from exaln._core import argsort_stable

        self.alphabet = buffer.alphabet
        self.rows, self.residues, self.text_bytes = buffer.rows, buffer.residues, buffer.text_bytes
        self.threads = threads
        records = buffer.records
        lengths = np.concatenate([part.lengths for part in records])
        order = argsort_stable(lengths)
        self._rank: NDArray[np.int32] = np.empty(self.rows, np.int32)
        self._rank[order] = np.arange(self.rows, dtype=np.int32)
        self.shortest, self.longest = int(lengths[order[0]]), int(lengths[order[-1]])
        self.first_ordinal = min(int(part.min()) for part in buffer.ordinals)
        self.length_histogram = Once(lambda: length_histogram(lengths))
        self.sources: dict[str, Source] = {}
        self._ids = self._add_column("id", [_text_piece(part.ids) for part in records])
        self._add_column("description", [_text_piece(part.descriptions) for part in records])
        self._add_column("sequence", [(part.codes, part.offsets) for part in records])
        self._add_numbers("ordinal", 8, Once(lambda: np.concatenate(buffer.ordinals)[order]))
        self._sorted_ids = Once(self._sort_ids)
        self._add_numbers("by_id", 4, Once(lambda: self._sorted_ids.get()[0]))
        self._mask = _mask_array(self.alphabet, self._mask_of(records), self.rows)

    @property
    def repeated_ids(self) -> int:
        """How many rows have the id of another one. The ids are sorted now if they were not."""
        return self._sorted_ids.get()[1]

    def batch(self, data: dict[str, NDArray[np.uint8]]) -> Any:
        """The rows as an Arrow record batch with these bytes, named as `sources`, which may be computed later."""
        import pyarrow as pa

        binary = {"id": pa.large_utf8(), "description": pa.large_utf8(), "sequence": pa.large_binary()}
        columns = [_array(kind, self.rows, data[f"{name} offsets"], data[name]) for name, kind in binary.items()]
        columns += [self._mask, _array(pa.int64(), self.rows, data["ordinal"])]
        columns += [_array(pa.int32(), self.rows, data["by_id"])]
        return pa.RecordBatch.from_arrays(columns, schema=segment_schema(self.alphabet))

    def batch_in_memory(self) -> Any:
        """The rows as an Arrow record batch, all of it computed."""
        return self.batch({name: _bytes_of(source) for name, source in self.sources.items()})

    def entry(self, file: str, n_bytes: int, hashes: NDArray[np.uint64] | None = None) -> SegmentEntry:
        """The manifest's entry for this segment in a file of `n_bytes`; a segment in memory has no hashes."""
        return SegmentEntry(
            file=file,
            rows=self.rows,
            residues=self.residues,
            text_bytes=self.text_bytes,
            first_ordinal=self.first_ordinal,
            shortest=self.shortest,
            longest=self.longest,
            bytes=n_bytes,
            block_xxh3_64=SegmentEntry.hashes_as_text(np.empty(0, np.uint64) if hashes is None else hashes),
        )

    def _add_column(self, name: str, pieces: list[Piece]) -> Gathered:
        """Add the values of a column and their offsets to the sources; returns the values."""
        column = Once(lambda: self._ordered(pieces))
        values = Gathered(sum(int(offsets[-1] - offsets[0]) for _, offsets in pieces), column, self.threads)
        self.sources[name] = values
        self._add_numbers(f"{name} offsets", 8, Once(lambda: column.get().offsets), self.rows + 1)
        return values

    def _add_numbers(self, name: str, size: int, numbers: Once[NDArray[Any]], n: int | None = None) -> None:
        self.sources[name] = Computed(size * (self.rows if n is None else n), numbers)

    def _ordered(self, pieces: list[Piece]) -> OrderedColumn:
        from exaln._core import OrderedColumn

        data, offsets = zip(*pieces, strict=True)
        return OrderedColumn(list(data), list(offsets), self._rank, self.threads)

    def _sort_ids(self) -> tuple[NDArray[np.int32], int]:
        from exaln._core import argsort_bytes

        offsets = _bytes_of(self.sources["id offsets"]).view(np.int64)
        return argsort_bytes(self._ids.whole(), offsets, self.threads)

    def _mask_of(self, records: list[Records]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """int64[intervals, 2] and their offsets int64[rows + 1]; None if nothing is masked."""
        if not any(len(part.mask) for part in records):
            return None
        pieces = [
            (np.ascontiguousarray(part.mask, np.int64).view(np.uint8).ravel(), part.mask_offsets * INTERVAL_BYTES)
            for part in records
        ]
        column = self._ordered(pieces)
        intervals = Gathered(int(column.offsets[-1]), Once(lambda: column), self.threads).whole()
        return intervals.view(np.int64).reshape(-1, 2), column.offsets // INTERVAL_BYTES


def _mask_array(alphabet: Alphabet, mask: tuple[NDArray[np.int64], NDArray[np.int64]] | None, n_rows: int) -> Any:
    """The column of masks: a list of intervals for each row, null if it has none."""
    import pyarrow as pa

    mask_type = segment_schema(alphabet).field("mask").type
    if mask is None:
        return pa.nulls(n_rows, mask_type)
    intervals, offsets = mask
    bounds = [pa.array(np.ascontiguousarray(intervals[:, side])) for side in range(2)]
    is_masked = np.packbits(np.diff(offsets) > 0, bitorder="little")
    children = [pa.StructArray.from_arrays(bounds, fields=list(mask_type.value_type))]
    return pa.Array.from_buffers(mask_type, n_rows, [pa.py_buffer(is_masked), pa.py_buffer(offsets)], children=children)


def _array(kind: Any, n_rows: int, *buffers: NDArray[np.uint8]) -> Any:
    """An Arrow array over memory, which may be written later."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, n_rows, [None, *map(pa.py_buffer, buffers)])


def _bytes_of(source: Source) -> NDArray[np.uint8]:
    """uint8: all bytes of a source."""
    if isinstance(source, Gathered):
        return source.whole()
    data = np.empty(source.n_bytes, np.uint8)
    source.copy(0, source.n_bytes, data)
    return data


def _text_piece(text: Text) -> Piece:
    return text.data, text.offsets


def text_bytes_before(records: Records) -> NDArray[np.int64]:
    """int64[n + 1]: bytes of id, description and mask before each row."""
    columns = (records.ids.offsets, 1), (records.descriptions.offsets, 1), (records.mask_offsets, INTERVAL_BYTES)
    total = np.zeros(len(records) + 1, np.int64)
    for offsets, unit in columns:
        total += (offsets - offsets[0]) * unit
    return total
