"""Large arrays from a device, through pinned memory: pieces travel while threads put others where they belong."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.scan.batches import Workspace

N_SLOTS = 8
SLOT_BYTES = 4 << 20
SMALL_BYTES = 64 << 10
"""Fewer bytes than this are fetched at once."""


class Fetcher:
    """Fetches arrays until it is left; only then are they complete. The first touch of fresh memory takes the longest,
    so several threads do it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._device, self._stream, self._workspace = workspace.device, workspace.stream, workspace
        self._pool: ThreadPoolExecutor | None = None
        self._placed: deque[Future[None]] = deque()
        self._travelling: deque[tuple[Event, NDArray[np.uint8], NDArray[np.uint8]]] = deque()
        self._n_pieces = 0

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            while self._travelling:
                self._place_first()
            for placed in self._placed:
                placed.result()
        finally:
            if self._pool is not None:
                self._pool.shutdown()

    def fetch(self, array: NDArray[Any], address: int) -> None:
        """Fill a contiguous array from the device."""
        if array.nbytes < SMALL_BYTES:
            self._device.download(array, address, self._stream)
            return
        if self._pool is None:
            self._slots = self._workspace.pinned("pieces that are fetched", N_SLOTS * SLOT_BYTES)
            self._pool = ThreadPoolExecutor(N_SLOTS // 2)
        content = array.reshape(-1).view(np.uint8)
        for begin in range(0, len(content), SLOT_BYTES):
            self._fetch_piece(content[begin : begin + SLOT_BYTES], address + begin)

    def _fetch_piece(self, piece: NDArray[np.uint8], address: int) -> None:
        while len(self._travelling) > N_SLOTS // 2:
            self._place_first()
        while len(self._travelling) + len(self._placed) >= N_SLOTS:
            self._placed.popleft().result()
        first = self._n_pieces % N_SLOTS * SLOT_BYTES
        slot = self._slots[first : first + len(piece)]
        self._n_pieces += 1
        self._device.download(slot, address, self._stream)
        self._travelling.append((self._device.record(self._device.event(), self._stream), slot, piece))

    def _place_first(self) -> None:
        event, slot, piece = self._travelling.popleft()
        self._device.wait(event)
        assert self._pool is not None
        self._placed.append(self._pool.submit(np.copyto, piece, slot))
