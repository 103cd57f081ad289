"""Write segments: cut a stream of records into segments, sort each by length, and write it with its hashes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from exaln.database.columns import INTERVAL_BYTES, segment_schema
from exaln.database.manifest import SegmentEntry
from exaln.database.segment import BLOCK_BYTES
from exaln.errors import InputError
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS, length_histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pieces = list[tuple[NDArray[np.uint8], NDArray[np.int64]]]

MIB = 1 << 20


@dataclass(frozen=True)
class SegmentLimits:
    """Upper limits for one segment; a sequence beyond them gets a segment of its own.

    `text_bytes` counts ids, descriptions and soft-masked intervals. Building takes about twice as much memory.
    """

    rows: int = 4 * MIB
    residues: int = 256 * MIB
    text_bytes: int = 512 * MIB


DEFAULT_LIMITS = SegmentLimits()


@dataclass(frozen=True)
class SortedRows:
    """The content of one segment, ready to be written: an Arrow record batch and its figures for the manifest."""

    alphabet: Alphabet
    batch: Any
    rows: int
    residues: int
    text_bytes: int
    first_ordinal: int
    shortest: int
    longest: int
    repeated_ids: int
    length_histogram: NDArray[np.int64]

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


class RowBuffer:
    """Rows of one segment that are not sorted yet, kept by column so that each can be released once it is sorted."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.rows = self.residues = self.text_bytes = 0
        self._ids: Pieces = []
        self._descriptions: Pieces = []
        self._sequences: Pieces = []
        self._mask_starts: Pieces = []
        self._mask_ends: Pieces = []
        self._ordinals: list[NDArray[np.int64]] = []

    def add(self, records: Records, ordinals: NDArray[np.int64]) -> None:
        """Append rows with their ordinals, int64[n]; the arrays are referenced, not copied."""
        self._ids.append((records.ids.data, records.ids.offsets))
        self._descriptions.append((records.descriptions.data, records.descriptions.offsets))
        self._sequences.append((records.codes, records.offsets))
        for column, pieces in enumerate((self._mask_starts, self._mask_ends)):
            values = np.ascontiguousarray(records.mask[:, column], np.int64)
            pieces.append((values.view(np.uint8), records.mask_offsets * values.itemsize))
        self._ordinals.append(ordinals)
        self.rows += len(records)
        self.residues += records.n_residues
        self.text_bytes += int(text_bytes_before(records)[-1])

    def take_sorted(self) -> SortedRows:
        """The rows sorted by length, equal ones in input order. Empties the buffer, column by column."""
        import pyarrow as pa

        from exaln._core import argsort_bytes, argsort_stable

        lengths = np.concatenate([np.diff(offsets) for _, offsets in self._sequences])
        order = argsort_stable(lengths)
        rank = _rank_of(order)
        ids = _take_sorted_column(self._ids, order, rank)
        by_id, repeated_ids = argsort_bytes(*ids)
        ordinals = np.concatenate(self._ordinals)[order]
        self._ordinals.clear()
        columns = [
            _binary_array(pa.large_utf8(), *ids),
            _binary_array(pa.large_utf8(), *_take_sorted_column(self._descriptions, order, rank)),
            _binary_array(pa.large_binary(), *_take_sorted_column(self._sequences, order, rank)),
            self._take_mask(order, rank),
            pa.array(ordinals),
            pa.array(by_id),
        ]
        return SortedRows(
            alphabet=self.alphabet,
            batch=pa.RecordBatch.from_arrays(columns, schema=segment_schema(self.alphabet)),
            rows=self.rows,
            residues=self.residues,
            text_bytes=self.text_bytes,
            first_ordinal=int(ordinals.min()),
            shortest=int(lengths[order[0]]),
            longest=int(lengths[order[-1]]),
            repeated_ids=repeated_ids,
            length_histogram=length_histogram(lengths),
        )

    def _take_mask(self, order: NDArray[np.int32], rank: NDArray[np.int32] | None) -> Any:
        import pyarrow as pa

        if not any(len(starts) for starts, _ in self._mask_starts):
            return pa.nulls(self.rows, segment_schema(self.alphabet).field("mask").type)
        starts, byte_offsets = _take_sorted_column(self._mask_starts, order, rank)
        ends, _ = _take_sorted_column(self._mask_ends, order, rank)
        offsets = byte_offsets // np.dtype(np.int64).itemsize
        is_masked = np.packbits(np.diff(offsets) > 0, bitorder="little")
        mask_type = segment_schema(self.alphabet).field("mask").type
        bounds = [pa.array(bound.view(np.int64)) for bound in (starts, ends)]
        intervals = pa.StructArray.from_arrays(bounds, fields=list(mask_type.value_type))
        buffers = [pa.py_buffer(is_masked), pa.py_buffer(offsets)]
        return pa.Array.from_buffers(mask_type, self.rows, buffers, children=[intervals])


def _rank_of(order: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """int32[n]: the sorted position of each row; None if the rows are sorted already."""
    places = np.arange(len(order), dtype=np.int32)
    if np.array_equal(order, places):
        return None
    rank = np.empty(len(order), np.int32)
    rank[order] = places
    return rank


def _take_sorted_column(
    pieces: Pieces, order: NDArray[np.int32], rank: NDArray[np.int32] | None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Data uint8 and offsets int64[n + 1] of a column in sorted order; each piece is released once it is copied."""
    from exaln._core import scatter_rows

    lengths = np.concatenate([np.diff(offsets) for _, offsets in pieces])
    offsets = np.zeros(len(order) + 1, np.int64)
    np.cumsum(lengths if rank is None else lengths[order], out=offsets[1:])
    starts = offsets if rank is None else offsets[rank]
    data = np.empty(offsets[-1], np.uint8)
    done = 0
    while pieces:
        piece_data, piece_offsets = pieces.pop(0)
        n = len(piece_offsets) - 1
        scatter_rows(piece_data, piece_offsets, starts[done : done + n], data)
        done += n
    return data, offsets


def _binary_array(kind: Any, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


class SegmentBuilder:
    """Cuts a stream of records into segments and passes each to `keep` when it is complete."""

    def __init__(
        self, keep: Callable[[SortedRows], None], *, limits: SegmentLimits = DEFAULT_LIMITS, next_ordinal: int = 0
    ) -> None:
        self._keep = keep
        self._limits = limits
        self._buffer: RowBuffer | None = None
        self.next_ordinal = next_ordinal
        self.n_residues = self.repeated_ids = 0
        self.length_histogram = np.zeros(N_BINS, np.int64)

    def add(self, records: Records) -> None:
        """Append records, which get the next ordinals. Complete segments go to `keep`."""
        begin = 0
        while begin < len(records):
            n = self._rows_that_fit(records, begin)
            if n == 0:
                self.finish()
                continue
            ordinals = np.arange(self.next_ordinal, self.next_ordinal + n, dtype=np.int64)
            self.add_rows(records.rows(begin, begin + n), ordinals)
            self.next_ordinal += n
            begin += n

    def add_rows(self, records: Records, ordinals: NDArray[np.int64]) -> None:
        """Append rows that have ordinals already, int64[n], to the open segment whatever its size.

        InputError if their alphabet differs from that of the open segment.
        """
        if self._buffer is None:
            self._buffer = RowBuffer(records.alphabet)
        elif self._buffer.alphabet != records.alphabet:
            raise InputError(f"{records.alphabet.name} sequences cannot follow {self._buffer.alphabet.name} sequences")
        self._buffer.add(records, ordinals)
        self.n_residues += records.n_residues

    def finish(self) -> None:
        """Close the open segment, if there is one."""
        if self._buffer is None:
            return
        buffer, self._buffer = self._buffer, None
        content = buffer.take_sorted()
        self.repeated_ids += content.repeated_ids
        self.length_histogram += content.length_histogram
        self._keep(content)

    def _rows_that_fit(self, records: Records, begin: int) -> int:
        """How many rows from `begin` on fit into the open segment; at least one if it is empty."""
        limits, buffer = self._limits, self._buffer
        rows, residues, text_bytes = (buffer.rows, buffer.residues, buffer.text_bytes) if buffer else (0, 0, 0)
        text_before = text_bytes_before(records)
        by_residues = _last_at_most(records.offsets, begin, limits.residues - residues)
        by_text = _last_at_most(text_before, begin, limits.text_bytes - text_bytes)
        n = min(limits.rows - rows, by_residues, by_text)
        return max(n, 0 if buffer else 1)


def _last_at_most(offsets: NDArray[np.int64], begin: int, room: int) -> int:
    """How many rows from `begin` on have a total length of at most `room`."""
    return int(np.searchsorted(offsets, offsets[begin] + room, side="right")) - 1 - begin


def text_bytes_before(records: Records) -> NDArray[np.int64]:
    """int64[n + 1]: bytes of id, description and mask before each row."""
    columns = (records.ids.offsets, 1), (records.descriptions.offsets, 1), (records.mask_offsets, INTERVAL_BYTES)
    total = np.zeros(len(records) + 1, np.int64)
    for offsets, unit in columns:
        total += (offsets - offsets[0]) * unit
    return total


def write_segment(path: Path, content: SortedRows) -> tuple[int, NDArray[np.uint64]]:
    """Write a segment durably. Returns its size in bytes and uint64[blocks], the xxh3_64 of each BLOCK_BYTES."""
    import pyarrow as pa

    with path.open("xb") as file:
        hashing = _HashingFile(file)
        with pa.ipc.new_file(pa.PythonFile(hashing, mode="w"), content.batch.schema) as writer:
            writer.write_batch(content.batch)
        file.flush()
        os.fsync(file.fileno())
    return hashing.size, hashing.digests()


class _HashingFile:
    """A file for Arrow to write to, which hashes the bytes block by block on their way."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        import xxhash

        self._file = file
        self._new_hash = xxhash.xxh3_64
        self._hash = xxhash.xxh3_64()
        self._digests: list[int] = []
        self.size = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        done = 0
        while done < len(view):
            part = view[done : done + BLOCK_BYTES - self.size % BLOCK_BYTES]
            self._hash.update(part)
            done += len(part)
            self.size += len(part)
            if self.size % BLOCK_BYTES == 0:
                self._end_block()
        return len(view)

    def _end_block(self) -> None:
        self._digests.append(self._hash.intdigest())
        self._hash = self._new_hash()

    def digests(self) -> NDArray[np.uint64]:
        if self.size % BLOCK_BYTES:
            self._end_block()
        return np.array(self._digests, np.uint64)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Does nothing: `write_segment` closes the file."""
