"""Read compressed files on threads of their own, before it is their turn: each is decompressed by one core."""

from __future__ import annotations

import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from exaln.errors import ExalnWarning
from exaln.sequences.byte_streams import Source, is_packed
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from exaln.sequences.fasta import SequenceFile

BYTES_AHEAD = 256 << 20
"""Letters of all files together that are read before it is their turn; each file may exceed its share by a batch."""


@dataclass(frozen=True)
class Batch:
    """Records, None at the end, what is odd up to here, and the bytes that were read of the file."""

    records: Records | None
    oddities: list[str]
    bytes_read: int


class FileAhead:
    """A sequence file that a thread reads until `n_bytes` of letters wait; a context manager, which ends the thread.

    open_file: opens the file, on that thread. Errors are raised, and warnings given, when the records are taken.
    """

    def __init__(self, open_file: Callable[[], SequenceFile], n_bytes: int) -> None:
        self.bytes_read = 0
        self._open_file = open_file
        self._n_bytes = n_bytes
        self._n_waiting = 0
        self._batches: deque[Batch | BaseException] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._read, name="exaln-file")

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def __iter__(self) -> Iterator[Records]:
        while True:
            batch = self._take()
            if isinstance(batch, BaseException):
                raise batch
            self.bytes_read = batch.bytes_read
            for oddity in batch.oddities:
                warnings.warn(oddity, ExalnWarning, stacklevel=3)
            if batch.records is None:
                return
            yield batch.records

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._thread.is_alive():
            self._thread.join()

    def stop(self) -> None:
        """Let the thread end, without waiting for it."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _take(self) -> Batch | BaseException:
        with self._changed:
            self._changed.wait_for(lambda: self._batches)
            batch = self._batches.popleft()
            if isinstance(batch, Batch) and batch.records is not None:
                self._n_waiting -= batch.records.n_residues
            self._changed.notify_all()
            return batch

    def _read(self) -> None:
        try:
            with self._open_file() as file:
                for records in file.batches:
                    if not self._put(file, records):
                        return
                self._put(file, None)
        except BaseException as error:
            with self._changed:
                self._batches.append(error)
                self._changed.notify_all()

    def _put(self, file: SequenceFile, records: Records | None) -> bool:
        """Let records wait once there is room. False if the consumer has closed."""
        oddities, file.oddities = file.oddities, []
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._n_waiting < self._n_bytes)
            self._batches.append(Batch(records, oddities, file.bytes_read))
            self._n_waiting += 0 if records is None else records.n_residues
            self._changed.notify_all()
            return not self._is_closed


class FilesAhead:
    """Reads the compressed ones of `sources` ahead, up to `n_files` at a time; a context manager, which ends that.

    Pipes are not read ahead: they may wait for another process for ever.
    """

    def __init__(self, sources: Sequence[Source], n_files: int) -> None:
        self._sources = sources
        self._n_files = n_files
        self._next = 0
        self._files: dict[int, FileAhead] = {}

    def start(self, place: int, open_file: Callable[[Source], SequenceFile]) -> None:
        """Begin to read files behind sources[place]."""
        for done in [one for one in self._files if one < place]:
            del self._files[done]
        self._next = max(self._next, place + 1)
        while len(self._files) < self._n_files and self._next < len(self._sources):
            source = self._sources[self._next]
            if isinstance(source, str | os.PathLike) and is_packed(source):
                file = self._files[self._next] = FileAhead(partial(open_file, source), BYTES_AHEAD // self._n_files)
                file.start()
            self._next += 1

    def take(self, place: int) -> FileAhead | None:
        """The file that is read ahead at this place, None if there is none."""
        return self._files.get(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.stop()
        for file in self._files.values():
            file.__exit__(kind, error, trace)
