"""From the scores of a batch, on the device, to what leaves it: see kernels/collect.cu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan.batches import Workspace
from exaln.engines.cuda.scan.pending import N_COUNTERS, Found, Pending, ScoreRows, Slab
from exaln.engines.cuda.scan.target_parts import ITEM_BYTES
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLLECT = Source("collect.cu", (("BINS", N_BINS),))
THREADS = 256

BLOCK_SCORES = 16 << 20
"""Scores that are copied back at a time: 64 MiB."""

FIRST_CANDIDATES = 1 << 14
"""Candidates that are copied back with the counters, before their number is known; more need a second copy."""

CANDIDATE_BYTES = 12
OVERFLOWS, CANDIDATES, TOO_HIGH = 0, 1, 2
"""Places of the counters: scores that may be wrong, candidates, scores that do not fit 31 bits."""

RESULT_BYTES = 4 * N_COUNTERS + CANDIDATE_BYTES * FIRST_CANDIDATES
"""Of pinned memory, for the counters and the first candidates."""


class Collector:
    """Lists, cuts and copies. limit: packed scores up to this are exact."""

    def __init__(self, workspace: Workspace, limit: int) -> None:
        self._workspace, self._device, self._limit = workspace, workspace.device, limit

    def find_overflows(self, pending: Pending, stream: Any, slab: Slab) -> None:
        """List pairs of a slab whose score may be wrong, as many as there is room for, and set them to 0."""
        arguments = (
            pending.score_address(slab),
            pending.batch.host.row_stride,
            slab.n_queries,
            slab.n_rows,
            self._limit,
            pending.max_overflows,
            pending.zeroed.counters + 4 * OVERFLOWS,
            pending.batch.place("offsets") + 8 * slab.first_row,
            self.overflows(pending),
        )
        kernel = self._device.kernel(COLLECT, "find_overflows")
        self._device.launch(kernel, self._grid(slab.n_rows, slab.n_queries), THREADS, stream, arguments)

    def overflows(self, pending: Pending) -> int:
        """The address of that list."""
        return self._workspace.scratch(f"overflows {pending.own.number}", ITEM_BYTES * pending.max_overflows)

    def cut(self, pending: Pending, stream: Any) -> None:
        """List the candidates, and count for the histogram if it is wanted."""
        group, host = pending.group, pending.batch.host
        if pending.histogram:
            self._device.fill(pending.histogram, 0, len(group) * N_BINS * group.score_bins, stream)
        arguments = (
            pending.zeroed.scores,
            host.row_stride,
            0,
            len(group),
            len(host),
            pending.batch.place("offsets"),
            pending.on_device["minimum"],
            pending.capacity,
            pending.zeroed.counters + 4 * CANDIDATES,
            pending.candidates,
            pending.histogram,
            group.score_bins,
        )
        kernel = self._device.kernel(COLLECT, "cut")
        self._device.launch(kernel, self._grid(len(host), len(group)), THREADS, stream, arguments)

    def _grid(self, n_rows: int, n_queries: int) -> tuple[int, int]:
        return max(1, min(-(-n_rows // THREADS), 8 * self._device.facts.n_sms)), max(1, min(n_queries, 64))

    def fetch(self, pending: Pending, stream: Any) -> None:
        """Copy the counters and the first candidates to pinned memory."""
        result = pending.own.result
        self._device.download(result[: 4 * N_COUNTERS], pending.zeroed.counters, stream)
        n_first = CANDIDATE_BYTES * min(FIRST_CANDIDATES, pending.capacity)
        if pending.group.minimum is not None:
            self._device.download(result[4 * N_COUNTERS : 4 * N_COUNTERS + n_first], pending.candidates, stream)

    def counters(self, pending: Pending) -> NDArray[np.uint32]:
        """uint32[N_COUNTERS], once they were fetched."""
        counters: NDArray[np.uint32] = pending.own.result[: 4 * N_COUNTERS].view(np.uint32).copy()
        return counters

    def found(self, pending: Pending, n: int) -> Found:
        """The n candidates: those that were fetched, and the others."""
        group, side = pending.group, self._workspace.side_stream
        pairs = np.empty((n, 3), np.int32)
        n_first = min(n, FIRST_CANDIDATES)
        first = pending.own.result[4 * N_COUNTERS : 4 * N_COUNTERS + CANDIDATE_BYTES * n_first]
        pairs[:n_first] = first.view(np.int32).reshape(-1, 3)
        self._device.download(pairs[n_first:], pending.candidates + CANDIDATE_BYTES * n_first, side)
        if not pending.histogram:
            return Found(pairs, None)
        counts = np.empty((len(group), N_BINS, group.score_bins), np.uint32)
        self._device.download(counts, pending.histogram, side)
        return Found(pairs, counts.astype(np.int64))

    def score_rows(self, pending: Pending) -> Iterator[ScoreRows]:
        """All scores, some queries at a time."""
        stride, n_queries = pending.batch.host.row_stride, len(pending.group)
        step = max(1, BLOCK_SCORES // max(1, stride))
        for first in range(0, n_queries, step):
            rows = np.empty((min(step, n_queries - first), stride), np.int32)
            self._device.download(rows, pending.zeroed.scores + 4 * stride * first, self._workspace.side_stream)
            yield ScoreRows(first, rows[:, : len(pending.batch.host)])
