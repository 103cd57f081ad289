"""Write a segment: an Arrow IPC file whose blocks are gathered, hashed and written by several threads.

Arrow writes the file once to a sink that only notes where each buffer goes. It sees memory of the size of the columns
that is never filled: each block of the file is gathered from the unsorted rows right before it is written. So the
sorted rows are in memory at no time.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.checked_file import BLOCK_BYTES
from exaln.database.sorted_rows import SortedRows, Source
from exaln.foundation.gate import Gate
from exaln.foundation.thread_pool import ThreadPool

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Framing:
    """A source: bytes that Arrow has written, or gives as they are."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.n_bytes = len(data)
        self._data = data

    def copy(self, begin: int, end: int, out: NDArray[np.uint8]) -> None:
        """Write the bytes [begin, end) to the beginning of `out`."""
        out[: end - begin] = self._data[begin:end]


class Layout:
    """A file for Arrow to write to, which notes what goes where. sources: by address, what memory stands for."""

    closed = False

    def __init__(self, sources: dict[int, Source]) -> None:
        self.size = 0
        self._by_address = sources
        self._starts: list[int] = []
        self._sources: list[Source] = []

    def write(self, data: Any) -> int:
        """Note where these bytes go, without reading them."""
        view = np.frombuffer(data, np.uint8)
        if len(view):
            self._starts.append(self.size)
            self._sources.append(self._by_address.get(view.ctypes.data) or Framing(view))
            self.size += len(view)
        return len(view)

    def start_of(self, source: Source) -> int:
        """Where a source begins in the file; 0 if it is empty."""
        return next((start for start, one in zip(self._starts, self._sources, strict=True) if one is source), 0)

    def flush(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def copy(self, begin: int, end: int, out: NDArray[np.uint8]) -> None:
        """Write the bytes [begin, end) of the file to the beginning of `out`."""
        place = bisect_right(self._starts, begin) - 1
        while begin < end:
            start = self._starts[place]
            last = min(end, self._starts[place + 1] if place + 1 < len(self._starts) else self.size)
            self._sources[place].copy(begin - start, last - start, out)
            out = out[last - begin :]
            begin, place = last, place + 1


class SegmentFile:
    """A segment that is written to an open file."""

    def __init__(self, descriptor: int, content: SortedRows, check: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._content = content
        self._check = check
        self._gate = Gate()
        self._of_thread = threading.local()
        self._layout = self._layout_of(content)
        self.size = self._layout.size
        self.hashes = np.empty(-(-self.size // BLOCK_BYTES), np.uint64)

    def write(self) -> None:
        """Write all blocks: first those with sequences, while other threads sort ids and gather the small columns."""
        n_blocks = len(self.hashes)
        first = self._layout.start_of(self._content.sources["sequence"]) // BLOCK_BYTES
        blocks = [*range(first, n_blocks), *range(first)]
        tasks: list[Callable[[], object]] = [lambda: self._content.repeated_ids, self._content.length_histogram.get]
        tasks += [partial(self._write_block, block) for block in blocks]
        n_threads = min(self._content.threads, n_blocks)
        if n_threads == 1:
            for task in tasks:
                task()
        else:
            with ThreadPool(n_threads) as pool:
                pool.run(lambda task: task(), tasks)

    def _layout_of(self, content: SortedRows) -> Layout:
        import pyarrow as pa

        untouched = {name: np.empty(source.n_bytes, np.uint8) for name, source in content.sources.items()}
        for name in ("id", "description", "sequence"):  # Arrow looks at the first offset and at the last one
            offsets = untouched[f"{name} offsets"].view(np.int64)
            offsets[0], offsets[-1] = 0, content.sources[name].n_bytes
        layout = Layout({data.ctypes.data: content.sources[name] for name, data in untouched.items()})
        batch = content.batch(untouched)
        with pa.ipc.new_file(pa.PythonFile(layout, mode="w"), batch.schema) as writer:
            writer.write_batch(batch)
        return layout

    def close(self) -> None:
        """Wait until no thread uses the file any more."""
        self._gate.close()

    def _write_block(self, block: int) -> None:
        from xxhash import xxh3_64_intdigest

        begin, end = block * BLOCK_BYTES, min((block + 1) * BLOCK_BYTES, self.size)
        data = self._buffer()[: end - begin]
        self._check()
        self._layout.copy(begin, end, data)
        self.hashes[block] = xxh3_64_intdigest(data.data)
        with self._gate:
            self._write_bytes(data.data, begin)

    def _write_bytes(self, data: memoryview, begin: int) -> None:
        from exaln._core import start_writeback

        done = 0
        while done < len(data):
            done += os.pwrite(self._descriptor, data[done:], begin + done)
        start_writeback(self._descriptor, begin, len(data))

    def _buffer(self) -> NDArray[np.uint8]:
        """uint8[BLOCK_BYTES]: memory of this thread."""
        if not hasattr(self._of_thread, "buffer"):
            self._of_thread.buffer = np.empty(BLOCK_BYTES, np.uint8)
        buffer: NDArray[np.uint8] = self._of_thread.buffer
        return buffer


def write_segment(path: Path, content: SortedRows, check: Callable[[], None]) -> tuple[int, NDArray[np.uint64]]:
    """Write a segment durably. Returns its size in bytes and uint64[blocks], the xxh3_64 of each BLOCK_BYTES.

    `check` is called often and may raise an exception to stop.
    """
    with path.open("xb") as file:
        segment = SegmentFile(file.fileno(), content, check)
        try:
            segment.write()
        finally:
            segment.close()
        os.fsync(file.fileno())
    return segment.size, segment.hashes
