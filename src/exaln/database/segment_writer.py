"""Cut a stream of records into segments, and sort and keep each one while the next one is read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from exaln.database.segment_limits import DEFAULT_LIMITS, SegmentLimits
from exaln.database.sorted_rows import RowBuffer, SortedRows, text_bytes_before
from exaln.errors import InputError
from exaln.foundation.gate import Closed, Gate
from exaln.foundation.import_ahead import import_ahead
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray


Keep = Callable[[SortedRows, Callable[[], None]], None]
"""Keeps a complete segment. It often calls the function that it is given, which may raise Closed."""


class SegmentBuilder:
    """A context manager that cuts a stream of records into segments and passes each to `keep` when it is complete.

    A segment is kept on another thread while the next one is filled; the last one is kept by the caller's thread.
    """

    def __init__(
        self, keep: Keep, *, threads: int, limits: SegmentLimits = DEFAULT_LIMITS, next_ordinal: int = 0
    ) -> None:
        self._keep = keep
        self._limits = limits
        self._threads = threads
        self._buffer: RowBuffer | None = None
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._gate = Gate()
        self.next_ordinal = next_ordinal
        self.n_residues = self.repeated_ids = 0
        self.length_histogram: NDArray[np.int64] = np.zeros(N_BINS, np.int64)

    def __enter__(self) -> Self:
        import_ahead("pyarrow")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gate.close()
        if self._writer is not None:
            self._writer.shutdown()

    def add(self, records: Records) -> None:
        """Append records, which get the next ordinals. Complete segments go to `keep`."""
        begin = 0
        while begin < len(records):
            n = self._rows_that_fit(records, begin)
            if n == 0:
                self._keep_in_background()
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
        """Close the open segment, if there is one, and wait until all segments are kept."""
        self._wait()
        if self._buffer is not None:
            buffer, self._buffer = self._buffer, None
            self._close(buffer)

    def _keep_in_background(self) -> None:
        self._wait()
        assert self._buffer is not None
        buffer, self._buffer = self._buffer, None
        self._writer = self._writer or ThreadPoolExecutor(1, thread_name_prefix="exaln-segments")
        self._writing = self._writer.submit(self._close, buffer)

    def _wait(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def _close(self, buffer: RowBuffer) -> None:
        with self._gate:
            content = SortedRows(buffer, self._threads)
            self._keep(content, self._check)
        self.repeated_ids += content.repeated_ids
        self.length_histogram += content.length_histogram.get()

    def _check(self) -> None:
        if self._gate.is_closed:
            raise Closed

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
