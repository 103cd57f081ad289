"""Uploads to a device through pinned buffers.

One thread reads mapped memory more slowly than a device computes with it, and a copy from pageable memory blocks its
caller. So several threads copy residue codes into two pinned buffers in turn: the device copies from one while the
other is filled, possibly for a batch that still waits for room on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.foundation.resources import available_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Device, Event, PinnedMemory

MAX_THREADS = 8
PIECE_BYTES = 32 << 20
N_BUFFERS = 2
THREAD_BYTES = 1 << 20
"""Bytes that are worth another thread."""


@dataclass(frozen=True)
class Prepared:
    """Arrays cut into pieces of at most one buffer. The first piece is in `buffer` already, unless that is None."""

    pieces: list[list[NDArray[np.uint8]]]
    buffer: int | None


class Uploader:
    """Uploads arrays to a device through one stream."""

    def __init__(self, device: Device, stream: Any) -> None:
        self._device, self._stream = device, stream
        self._n_threads = max(1, min(MAX_THREADS, available_threads()))
        self._buffers: list[PinnedMemory | None] = [None] * N_BUFFERS
        self._uploaded: list[Event | None] = [None] * N_BUFFERS
        self._next = 0

    def prepare(self, arrays: Sequence[NDArray[np.uint8]]) -> Prepared:
        """Cut arrays into pieces and read the first one, before the address on the device is known."""
        pieces = list(_pieces(arrays, PIECE_BYTES))
        return Prepared(pieces, self._fill(pieces[0]) if pieces else None)

    def upload(self, address: int, prepared: Prepared) -> None:
        """Copy prepared arrays to consecutive memory at `address`. On return, some copies may still be queued."""
        buffer = prepared.buffer
        for piece in prepared.pieces:
            number = self._fill(piece) if buffer is None else buffer
            n_bytes, memory = sum(map(len, piece)), self._buffers[number]
            assert memory is not None
            self._device.upload(address, memory.array[:n_bytes], self._stream)
            self._uploaded[number] = self._device.record(self._device.event(), self._stream)
            address += n_bytes
            buffer = None

    def _fill(self, piece: list[NDArray[np.uint8]]) -> int:
        """Copy a piece into the next buffer, once its last upload is done, and return the buffer's number."""
        number, self._next = self._next, (self._next + 1) % N_BUFFERS
        uploaded, memory, n_bytes = self._uploaded[number], self._buffers[number], sum(map(len, piece))
        if uploaded is not None:
            self._device.wait(uploaded)
        if memory is None or memory.n_bytes < n_bytes:
            memory = self._buffers[number] = self._device.pinned(n_bytes)
        _join(piece, memory.array, min(self._n_threads, -(-n_bytes // THREAD_BYTES)))
        return number


def _join(arrays: list[NDArray[np.uint8]], joined: NDArray[np.uint8], n_threads: int) -> None:
    """Copy arrays into consecutive memory; with one thread if the C++ core is not built."""
    try:
        from exaln._core import join_pieces
    except ImportError:
        np.concatenate(arrays, out=joined[: sum(map(len, arrays))])
    else:
        join_pieces(arrays, joined, n_threads)


def _pieces(arrays: Sequence[NDArray[np.uint8]], max_bytes: int) -> Iterator[list[NDArray[np.uint8]]]:
    """Yield the arrays as lists of at most `max_bytes` bytes, cutting arrays where a list is full."""
    piece: list[NDArray[np.uint8]] = []
    room = max_bytes
    for array in arrays:
        begin = 0
        while begin < len(array):
            own = array[begin : begin + room]
            piece.append(own)
            begin += len(own)
            room -= len(own)
            if not room:
                yield piece
                piece, room = [], max_bytes
    if piece:
        yield piece
