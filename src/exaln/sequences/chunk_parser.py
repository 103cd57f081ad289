"""Parse chunks of a file on another thread, while the next chunk is read and decompressed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from exaln._core import FastaReader

BYTES_PARSED_AT_ONCE = 4 << 20
"""The first part of a file is parsed on the caller's thread: most files have no more."""


class ChunkParser:
    """A context manager that feeds chunks to a reader, each in the background if `in_background`.

    The reader must not be used between `feed` and `wait`. A chunk must stay valid until `wait` returns.
    """

    def __init__(self, reader: FastaReader, *, in_background: bool) -> None:
        self.record_limit = 0
        self._reader = reader
        self._in_background = in_background
        self._thread: ThreadPoolExecutor | None = None
        self._parsing: Future[bool] | None = None
        self._n_bytes = 0
        self._is_fine = True

    def feed(self, chunk: bytes | memoryview, record_limit: int) -> None:
        """Begin to parse a chunk, in which a record may take `record_limit` bytes."""
        self._n_bytes += len(chunk)
        self.record_limit = record_limit
        self._reader.set_max_record_bytes(record_limit)
        if not self._in_background or self._n_bytes <= BYTES_PARSED_AT_ONCE:
            self._is_fine = self._reader.feed(chunk)
            return
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="exaln-parser")
        self._parsing = self._thread.submit(self._reader.feed, chunk)

    def wait(self) -> bool:
        """Wait until the last chunk is parsed. False if there is a problem in it."""
        if self._parsing is not None:
            self._is_fine, self._parsing = self._parsing.result(), None
        return self._is_fine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.shutdown()
