"""Codes on their way to a card: several threads copy pieces of them into pinned memory, where the card fetches them.

A single thread reads mapped memory more slowly than the card can compute with it, and a copy from memory that is not
pinned holds up the thread that asks for it.
"""

from __future__ import annotations

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
        self._pieces: list[PinnedMemory] = []
        self._fetched: list[Event | None] = [None for _ in range(PIECES_PER_LANE * self._n_lanes)]

    def send(self, address: int, codes: NDArray[np.uint8]) -> None:
        """Copy codes to the card; when this returns they have been read, and the stream has the rest of the way."""
        if len(codes) <= SMALL_BYTES:
            self._card.upload(address, codes, self._stream)
            return
        if self._pool is None:
            self._pieces = [self._card.pinned(PIECE_BYTES) for _ in self._fetched]
            self._pool = ThreadPoolExecutor(self._n_lanes, "exaln sender", self._card.activate)
        n_lanes = min(self._n_lanes, -(-len(codes) // PIECE_BYTES))
        list(self._pool.map(lambda lane: self._send_lane(lane, n_lanes, address, codes), range(n_lanes)))

    def _send_lane(self, lane: int, n_lanes: int, address: int, codes: NDArray[np.uint8]) -> None:
        """Every n-th piece."""
        card = self._card
        for turn, begin in enumerate(range(lane * PIECE_BYTES, len(codes), n_lanes * PIECE_BYTES)):
            place = lane + self._n_lanes * (turn % PIECES_PER_LANE)
            fetched, pinned = self._fetched[place], self._pieces[place].array
            if fetched is not None:
                card.wait(fetched)
            piece = codes[begin : begin + PIECE_BYTES]
            np.copyto(pinned[: len(piece)], piece)
            card.upload(address + begin, pinned[: len(piece)], self._stream)
            self._fetched[place] = card.record(card.event(), self._stream)
