"""Codes on their way to a card: several threads copy pieces of them into pinned memory, where the card fetches them.

A single thread reads mapped memory more slowly than the card can compute with it, and a copy from memory that is not
pinned holds up the thread that asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.resources import available_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.card import Card, Event, PinnedMemory

MAX_LANES = 8
PIECE_BYTES = 4 << 20
PIECES_PER_LANE = 2
"""While the card fetches one, the other is filled."""

SMALL_BYTES = 256 << 10
"""Less than this is sent at once, without threads."""


class Sender:
    """Sends arrays to a card through one stream. Each lane is a thread with a piece of pinned memory."""

    def __init__(self, card: Card, stream: Any) -> None:
        self._card, self._stream = card, stream
        self._n_lanes = max(1, min(MAX_LANES, available_threads()))
        self._pool: ThreadPoolExecutor | None = None
        self._pinned: list[PinnedMemory] = []
        self._fetched: list[Event | None] = [None for _ in range(PIECES_PER_LANE * self._n_lanes)]

    def send(self, address: int, arrays: Sequence[NDArray[np.uint8]]) -> None:
        """Copy arrays to the card, one behind the other; when this returns they have been read, and the stream has the
        rest of the way.
        """
        n_bytes = sum(map(len, arrays))
        if n_bytes <= SMALL_BYTES:
            for piece, place in _pieces(arrays, SMALL_BYTES):
                self._card.upload(address + place, piece, self._stream)
            return
        if self._pool is None:
            self._pinned = [self._card.pinned(PIECE_BYTES) for _ in self._fetched]
            self._pool = ThreadPoolExecutor(self._n_lanes, "exaln sender", self._card.activate)
        pieces = list(_pieces(arrays, min(PIECE_BYTES, -(-n_bytes // self._n_lanes))))
        n_lanes = min(self._n_lanes, len(pieces))
        list(self._pool.map(lambda lane: self._send_lane(lane, address, pieces[lane::n_lanes]), range(n_lanes)))

    def _send_lane(self, lane: int, address: int, pieces: list[tuple[NDArray[np.uint8], int]]) -> None:
        card = self._card
        for turn, (piece, begin) in enumerate(pieces):
            number = lane + self._n_lanes * (turn % PIECES_PER_LANE)
            fetched, pinned = self._fetched[number], self._pinned[number].array
            if fetched is not None:
                card.wait(fetched)
            np.copyto(pinned[: len(piece)], piece)
            card.upload(address + begin, pinned[: len(piece)], self._stream)
            self._fetched[number] = card.record(card.event(), self._stream)


def _pieces(arrays: Sequence[NDArray[np.uint8]], most: int) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Arrays in pieces of at most so many bytes, and where each begins when all are one behind the other."""
    begin = 0
    for array in arrays:
        for first in range(0, len(array), most):
            yield array[first : first + most], begin + first
        begin += len(array)
