"""Codes on their way to a device: threads copy them into pinned memory, from where the device fetches them.

A single thread reads mapped memory more slowly than the device can compute with it, and a copy from memory that is not
pinned holds up the thread that asks for it. Two pieces of pinned memory take turns: while the device fetches from one,
the other is filled, perhaps for a batch that there is no room for on the device yet.
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
"""A thread for less than this is not worth it."""


@dataclass(frozen=True)
class Prepared:
    """Arrays in pieces that are sent one by one; the first is in a buffer already."""

    pieces: list[list[NDArray[np.uint8]]]
    buffer: int | None


class Sender:
    """Sends arrays to a device through one stream."""

    def __init__(self, device: Device, stream: Any) -> None:
        self._device, self._stream = device, stream
        self._n_threads = max(1, min(MAX_THREADS, available_threads()))
        self._buffers: list[PinnedMemory | None] = [None] * N_BUFFERS
        self._fetched: list[Event | None] = [None] * N_BUFFERS
        self._turn = 0

    def prepare(self, arrays: Sequence[NDArray[np.uint8]]) -> Prepared:
        """Read as much as can be before it is known where arrays will go."""
        pieces = list(_pieces(arrays, PIECE_BYTES))
        return Prepared(pieces, self._fill(pieces[0]) if pieces else None)

    def send(self, address: int, prepared: Prepared) -> None:
        """Copy arrays to the device, one behind the other; when this returns they have been read, and the stream has the
        rest of the way.
        """
        buffer = prepared.buffer
        for piece in prepared.pieces:
            number = self._fill(piece) if buffer is None else buffer
            n_bytes, memory = sum(map(len, piece)), self._buffers[number]
            assert memory is not None
            self._device.upload(address, memory.array[:n_bytes], self._stream)
            self._fetched[number] = self._device.record(self._device.event(), self._stream)
            address += n_bytes
            buffer = None

    def _fill(self, piece: list[NDArray[np.uint8]]) -> int:
        """Copy a piece into the next buffer, once the device has fetched what was in it."""
        number, self._turn = self._turn, (self._turn + 1) % N_BUFFERS
        fetched, memory, n_bytes = self._fetched[number], self._buffers[number], sum(map(len, piece))
        if fetched is not None:
            self._device.wait(fetched)
        if memory is None or memory.n_bytes < n_bytes:
            memory = self._buffers[number] = self._device.pinned(n_bytes)
        _join(piece, memory.array, min(self._n_threads, -(-n_bytes // THREAD_BYTES)))
        return number


def _join(arrays: list[NDArray[np.uint8]], joined: NDArray[np.uint8], n_threads: int) -> None:
    """Copy arrays one behind the other; where the core is not built, by one thread."""
    try:
        from exaln._core import join_pieces
    except ImportError:
        np.concatenate(arrays, out=joined[: sum(map(len, arrays))])
    else:
        join_pieces(arrays, joined, n_threads)


def _pieces(arrays: Sequence[NDArray[np.uint8]], most: int) -> Iterator[list[NDArray[np.uint8]]]:
    """Arrays, cut where need be, in lists of at most so many bytes."""
    piece: list[NDArray[np.uint8]] = []
    room = most
    for array in arrays:
        begin = 0
        while begin < len(array):
            own = array[begin : begin + room]
            piece.append(own)
            begin += len(own)
            room -= len(own)
            if not room:
                yield piece
                piece, room = [], most
    if piece:
        yield piece
