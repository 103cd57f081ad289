"""Scores of single pairs in 32 bits, each by a whole block: see kernels/block.cu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan.batches import Workspace
from exaln.engines.cuda.scan.collect import TOO_HIGH
from exaln.engines.cuda.scan.pending import Pending, QueryGroup, Slab
from exaln.engines.cuda.scan.target_parts import ITEM_BYTES
from exaln.engines.cuda.scan.variants import block_bytes, block_shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Kernel
    from exaln.scoring.scoring import Scoring

INT32_MAX = (1 << 31) - 1

ITEMS_PER_BLOCK = 8
"""Of a launch in which queries have several strips: more would take more memory for rows between them, and gain little.
"""


class BlockScorer:
    """Scores lists of pairs that are on the device."""

    def __init__(self, workspace: Workspace, scoring: Scoring, n_letters: int) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._n_letters, self._max_score = n_letters, scoring.max_score
        self._constants = (
            ("LETTERS", n_letters),
            ("GAP_FIRST", scoring.gap_first),
            ("GAP_EXTEND", scoring.gap_extend),
        )

    def source(self, group: QueryGroup) -> Source:
        """What to compile."""
        n_threads, rows = self._shape(group)
        return Source("block.cu", (("THREADS", n_threads), ("ROWS", rows), *self._constants))

    def n_strips(self, group: QueryGroup) -> int:
        """Of the longest query."""
        n_threads, rows = self._shape(group)
        return -(-max(group.lengths) // (n_threads * rows))

    def uses_idle_memory(self, group: QueryGroup) -> bool:
        """Whether a batch that has no streams would use their memory, so that no other can be scored meanwhile."""
        return self.n_strips(group) > 1

    def n_blocks(self, group: QueryGroup) -> int:
        """Blocks of the kernel for pairs that run at a time."""
        n_threads, _ = self._shape(group)
        return self._device.facts.n_sms * max(1, self._device.blocks_per_sm(self._kernel(group), n_threads))

    def _shape(self, group: QueryGroup) -> tuple[int, int]:
        return block_shape(self._device.facts.shared_bytes, self._n_letters, max(group.lengths))

    def _kernel(self, group: QueryGroup) -> Kernel:
        n_bytes = block_bytes(*self._shape(group), self._n_letters)
        return self._device.kernel(self.source(group), "block_scores", n_bytes)

    def score(self, pending: Pending, items: int, lengths: NDArray[np.int64], slab: Slab) -> None:
        """Exact scores of pairs, listed on the device; queries and rows are counted from those of the slab.

        lengths: the most columns of each, descending.
        """
        n_strips, first = self.n_strips(pending.group), 0
        while first < len(lengths):
            between = self._between(pending, lengths[first:], n_strips)
            self._launch(pending, items + ITEM_BYTES * first, between, slab)
            first += between.n_items

    def _launch(self, pending: Pending, items: int, between: _Between, slab: Slab) -> None:
        device, on_device, side = self._device, pending.on_device, self._workspace.side_stream
        n_units = between.n_items * between.n_strips
        ticket = self._workspace.scratch("ticket of pairs", 4)
        device.fill(ticket, 0, 1, side)
        if between.address:
            device.fill(between.written, 0, n_units, side)
        arguments = (
            pending.batch.place("codes"),
            pending.batch.place("offsets") + 8 * slab.first_row,
            on_device["fold"],
            items,
            between.n_items,
            ticket,
            on_device["codes"],
            on_device["offsets"] + 8 * slab.first_query,
            on_device["table"],
            between.n_strips,
            between.address,
            between.longest,
            between.written,
            pending.score_address(slab),
            pending.batch.host.row_stride,
            INT32_MAX - max(0, self._max_score),
            pending.zeroed.counters + 4 * TOO_HIGH,
        )
        n_most = n_units if _is_alone(pending) else between.n_items  # others need multiprocessors too
        group = pending.group
        n_blocks = min(n_most, self.n_blocks(group))
        device.launch(self._kernel(group), n_blocks, self._shape(group)[0], side, arguments)

    def _between(self, pending: Pending, lengths: NDArray[np.int64], n_strips: int) -> _Between:
        """Room for rows between strips of the first items: of as many as there is memory for.

        A batch without streams has theirs, which is idle while it is scored.
        """
        n_items, longest = len(lengths), int(lengths[0])
        if n_strips == 1:
            return _Between(n_items, n_strips, longest, 0)
        each = 8 * longest + 4 * n_strips
        n_items = min(n_items, ITEMS_PER_BLOCK * self.n_blocks(pending.group))
        if _is_alone(pending):
            address, n_bytes = self._workspace.idle_scratch("stream", "boundary 0", "boundary 1")
            if n_bytes >= each:
                return _Between(min(n_items, n_bytes // each), n_strips, longest, address)
        n_items = max(1, min(n_items, self._workspace.spare // (2 * each)))
        return _Between(n_items, n_strips, longest, self._workspace.scratch("boundary of pairs", each * n_items))


def _is_alone(pending: Pending) -> bool:
    """Whether this batch has no streams, and no other one is scored meanwhile."""
    return not pending.batch.is_resident and not pending.batch.host.n_stream


@dataclass(frozen=True)
class _Between:
    """Where rows between strips of some items lie, `longest` columns each, if there are several strips."""

    n_items: int
    n_strips: int
    longest: int
    address: int

    @property
    def written(self) -> int:
        """Where strips tell how much of them they have written."""
        return self.address + 8 * self.longest * self.n_items if self.address else 0
