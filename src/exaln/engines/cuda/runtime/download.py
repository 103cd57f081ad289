"""Downloads of large arrays through pinned memory: threads copy finished pieces while others are in flight."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.runtime.workspace import Workspace

N_SLOTS = 8
SLOT_BYTES = 4 << 20
SMALL_BYTES = 64 << 10
"""Smaller arrays are copied directly."""

PIECES = "downloaded pieces"
"""Name of the pinned buffer."""


class Fetcher:
    """A context in which arrays are downloaded; they are complete when it is left.

    Several threads copy the pieces, because the first touch of fresh memory takes the longest.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._device, self._stream, self._workspace = workspace.device, workspace.stream, workspace
        self._pool: ThreadPoolExecutor | None = None
        self._copies: deque[Future[None]] = deque()
        self._in_flight: deque[tuple[Event, NDArray[np.uint8], NDArray[np.uint8]]] = deque()
        self._n_pieces = 0

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            while self._in_flight:
                self._copy_first()
            for copied in self._copies:
                copied.result()
        finally:
            if self._pool is not None:
                self._pool.shutdown()

    def fetch(self, array: NDArray[Any], address: int) -> None:
        """Fill a contiguous array from device memory at `address`."""
        if array.nbytes < SMALL_BYTES:
            self._device.download(array, address, self._stream)
            return
        if self._pool is None:
            self._slots = self._workspace.pinned(PIECES, N_SLOTS * SLOT_BYTES)
            self._pool = ThreadPoolExecutor(N_SLOTS // 2)
        content = array.reshape(-1).view(np.uint8)
        for begin in range(0, len(content), SLOT_BYTES):
            self._fetch_piece(content[begin : begin + SLOT_BYTES], address + begin)

    def _fetch_piece(self, piece: NDArray[np.uint8], address: int) -> None:
        while len(self._in_flight) > N_SLOTS // 2:
            self._copy_first()
        while len(self._in_flight) + len(self._copies) >= N_SLOTS:
            self._copies.popleft().result()
        first = self._n_pieces % N_SLOTS * SLOT_BYTES
        slot = self._slots[first : first + len(piece)]
        self._n_pieces += 1
        self._device.download(slot, address, self._stream)
        self._in_flight.append((self._device.record(self._device.event(), self._stream), slot, piece))

    def _copy_first(self) -> None:
        event, slot, piece = self._in_flight.popleft()
        self._device.wait(event)
        assert self._pool is not None
        self._copies.append(self._pool.submit(np.copyto, piece, slot))
