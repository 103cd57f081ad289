"""From the scores of a batch on the device to candidates on the host; kernels/collect.cu has the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan.arguments import CutArguments, OverflowArguments
from exaln.engines.cuda.scan.in_flight import N_COUNTERS, BatchInFlight, Slab
from exaln.engines.cuda.scan.results import CandidateRows, ScoreRows
from exaln.engines.cuda.scan.target_parts import ITEM_BYTES
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.workspace import Workspace

COLLECT = Source("collect.cu", (("BINS", N_BINS),))
THREADS = 256

BLOCK_SCORES = 16 << 20
"""Scores that are downloaded at a time: 64 MiB."""

FIRST_CANDIDATES = 1 << 14
"""Candidates that are downloaded with the counters, before their number is known; more need a second copy."""

CANDIDATE_BYTES = 12
OVERFLOWS, CANDIDATES, TOO_HIGH = 0, 1, 2
"""Indices of the counters: scores that may be wrong, candidates, scores that do not fit 31 bits."""

RESULT_BYTES = 4 * N_COUNTERS + CANDIDATE_BYTES * FIRST_CANDIDATES
"""Pinned memory for the counters and the first candidates."""


class Collector:
    """Lists overflows and candidates, and downloads them. limit: packed scores up to this are exact."""

    def __init__(self, workspace: Workspace, limit: int) -> None:
        self._workspace, self._device, self._limit = workspace, workspace.device, limit

    def find_overflows(self, pending: BatchInFlight, stream: Any, slab: Slab) -> None:
        """List the pairs of a slab whose score may be wrong, up to the list's capacity, and set their scores to 0."""
        arguments = OverflowArguments(
            scores=pending.score_address(slab),
            row_stride=pending.batch.host.row_stride,
            n_queries=slab.n_queries,
            n_targets=slab.n_rows,
            limit=self._limit,
            capacity=pending.max_overflows,
            count=pending.state.counters + 4 * OVERFLOWS,
            offsets=pending.batch.offsets + 8 * slab.first_row,
            items=self.overflows(pending),
        )
        kernel = self._device.kernel(COLLECT, "find_overflows")
        self._device.launch(kernel, self._grid(slab.n_rows, slab.n_queries), THREADS, stream, arguments)

    def overflows(self, pending: BatchInFlight) -> int:
        """Return the address of the list of overflows."""
        return self._workspace.scratch(pending.own.buffers.overflows, ITEM_BYTES * pending.max_overflows)

    def cut(self, pending: BatchInFlight, stream: Any) -> None:
        """List the pairs whose score reaches the cutoff."""
        group, host = pending.group, pending.batch.host
        arguments = CutArguments(
            scores=pending.state.scores,
            row_stride=host.row_stride,
            first_query=0,
            n_queries=len(group),
            n_targets=len(host),
            offsets=pending.batch.offsets,
            minimum=pending.on_device.cutoff,
            capacity=pending.capacity,
            count=pending.state.counters + 4 * CANDIDATES,
            candidates=pending.candidates,
        )
        kernel = self._device.kernel(COLLECT, "cut")
        self._device.launch(kernel, self._grid(len(host), len(group)), THREADS, stream, arguments)

    def _grid(self, n_rows: int, n_queries: int) -> tuple[int, int]:
        return max(1, min(-(-n_rows // THREADS), 8 * self._device.properties.n_sms)), max(1, min(n_queries, 64))

    def fetch(self, pending: BatchInFlight, stream: Any) -> None:
        """Download the counters and the first candidates to pinned memory."""
        result = pending.own.result
        self._device.download(result[: 4 * N_COUNTERS], pending.state.counters, stream)
        n_first = CANDIDATE_BYTES * min(FIRST_CANDIDATES, pending.capacity)
        if pending.group.cutoff is not None:
            self._device.download(result[4 * N_COUNTERS : 4 * N_COUNTERS + n_first], pending.candidates, stream)

    def counters(self, pending: BatchInFlight) -> NDArray[np.uint32]:
        """Return uint32[N_COUNTERS], after `fetch`."""
        counters: NDArray[np.uint32] = pending.own.result[: 4 * N_COUNTERS].view(np.uint32).copy()
        return counters

    def candidates(self, pending: BatchInFlight, n: int) -> CandidateRows:
        """Return the n candidates: those of `fetch`, and the others."""
        pairs = np.empty((n, 3), np.int32)
        n_first = min(n, FIRST_CANDIDATES)
        first = pending.own.result[4 * N_COUNTERS : 4 * N_COUNTERS + CANDIDATE_BYTES * n_first]
        pairs[:n_first] = first.view(np.int32).reshape(-1, 3)
        others = pending.candidates + CANDIDATE_BYTES * n_first
        self._device.download(pairs[n_first:], others, self._workspace.side_stream)
        return CandidateRows(pairs)

    def score_rows(self, pending: BatchInFlight) -> Iterator[ScoreRows]:
        """Yield all scores, some queries at a time."""
        stride, n_queries = pending.batch.host.row_stride, len(pending.group)
        step = max(1, BLOCK_SCORES // max(1, stride))
        for first in range(0, n_queries, step):
            rows = np.empty((min(step, n_queries - first), stride), np.int32)
            self._device.download(rows, pending.state.scores + 4 * stride * first, self._workspace.side_stream)
            yield ScoreRows(first, rows[:, : len(pending.batch.host)])
