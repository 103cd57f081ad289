"""Scores of single pairs in 32 bits, each computed by a whole block; kernels/block.cu has the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan.arguments import BlockArguments
from exaln.engines.cuda.scan.buffers import BLOCK_BOUNDARY, BLOCK_TICKET, STREAM_BUFFERS
from exaln.engines.cuda.scan.collect import TOO_HIGH
from exaln.engines.cuda.scan.in_flight import BatchInFlight, QueryGroup, Slab
from exaln.engines.cuda.scan.shapes import block_bytes, block_shape, block_source
from exaln.engines.cuda.scan.target_parts import ITEM_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Kernel
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.scoring.scoring import Scoring

INT32_MAX = (1 << 31) - 1

ITEMS_PER_BLOCK = 8
"""Items per block of a launch in which queries have several strips: more take more memory and gain little."""


class BlockScorer:
    """Scores pairs that are listed on the device."""

    def __init__(self, workspace: Workspace, scoring: Scoring, n_letters: int) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._n_letters, self._scoring = n_letters, scoring

    def source(self, group: QueryGroup) -> Source:
        """Return what to compile for a group of queries."""
        return block_source(*self._shape(group), self._n_letters, self._scoring)

    def n_strips(self, group: QueryGroup) -> int:
        """Return the strips of the longest query."""
        n_threads, rows = self._shape(group)
        return -(-max(group.lengths) // (n_threads * rows))

    def uses_stream_buffers(self, group: QueryGroup) -> bool:
        """Return whether a batch without streams uses their buffers, so that no other batch can be scored meanwhile."""
        return self.n_strips(group) > 1

    def n_blocks(self, group: QueryGroup) -> int:
        """Return how many blocks of the kernel run at a time."""
        n_threads, _ = self._shape(group)
        return self._device.properties.n_sms * max(1, self._device.blocks_per_sm(self._kernel(group), n_threads))

    def _shape(self, group: QueryGroup) -> tuple[int, int]:
        return block_shape(self._device.properties.shared_bytes, self._n_letters, max(group.lengths))

    def _kernel(self, group: QueryGroup) -> Kernel:
        n_bytes = block_bytes(*self._shape(group), self._n_letters)
        return self._device.kernel(self.source(group), "block_scores", n_bytes)

    def score(self, pending: BatchInFlight, items: int, lengths: NDArray[np.int64], slab: Slab) -> None:
        """Score the pairs that are listed at address `items`, with queries and rows counted from those of the slab.

        lengths: the most columns of each item, descending.
        """
        n_strips, first = self.n_strips(pending.group), 0
        while first < len(lengths):
            boundary = self._boundary(pending, lengths[first:], n_strips)
            self._launch(pending, items + ITEM_BYTES * first, boundary, slab)
            first += boundary.n_items

    def _launch(self, pending: BatchInFlight, items: int, boundary: _Boundary, slab: Slab) -> None:
        device, on_device, side = self._device, pending.on_device, self._workspace.side_stream
        n_units = boundary.n_items * boundary.n_strips
        ticket = self._workspace.scratch(BLOCK_TICKET, 4)
        device.fill(ticket, 0, 1, side)
        if boundary.address:
            device.fill(boundary.n_written, 0, n_units, side)
        arguments = BlockArguments(
            codes=pending.batch.codes,
            offsets=pending.batch.offsets + 8 * slab.first_row,
            fold=on_device.fold,
            items=items,
            n_items=boundary.n_items,
            ticket=ticket,
            queries=on_device.codes,
            query_offsets=on_device.offsets + 8 * slab.first_query,
            table=on_device.table,
            n_strips=boundary.n_strips,
            boundary=boundary.address,
            boundary_stride=boundary.longest,
            n_written=boundary.n_written,
            scores=pending.score_address(slab),
            row_stride=pending.batch.host.row_stride,
            limit=INT32_MAX - max(0, self._scoring.max_score),
            overflows=pending.state.counters + 4 * TOO_HIGH,
        )
        n_most = n_units if _is_only_batch(pending) else boundary.n_items  # leave multiprocessors to other batches
        group = pending.group
        n_blocks = min(n_most, self.n_blocks(group))
        device.launch(self._kernel(group), n_blocks, self._shape(group)[0], side, arguments)

    def _boundary(self, pending: BatchInFlight, lengths: NDArray[np.int64], n_strips: int) -> _Boundary:
        """Return memory for the boundary rows of the first items, of as many as fit.

        A batch without streams takes their buffers, which are idle while it is scored.
        """
        n_items, longest = len(lengths), int(lengths[0])
        if n_strips == 1:
            return _Boundary(n_items, n_strips, longest, 0)
        each = 8 * longest + 4 * n_strips
        n_items = min(n_items, ITEMS_PER_BLOCK * self.n_blocks(pending.group))
        if _is_only_batch(pending):
            address, n_bytes = self._workspace.largest_scratch(STREAM_BUFFERS)
            if n_bytes >= each:
                return _Boundary(min(n_items, n_bytes // each), n_strips, longest, address)
        n_items = max(1, min(n_items, self._workspace.spare // (2 * each)))
        return _Boundary(n_items, n_strips, longest, self._workspace.scratch(BLOCK_BOUNDARY, each * n_items))


def _is_only_batch(pending: BatchInFlight) -> bool:
    """Return whether this batch has no streams, and no other batch is scored meanwhile."""
    return not pending.batch.is_resident and not pending.batch.host.n_stream


@dataclass(frozen=True)
class _Boundary:
    """Boundary rows between the strips of n_items items, `longest` columns each; address 0 if there is one strip."""

    n_items: int
    n_strips: int
    longest: int
    address: int

    @property
    def n_written(self) -> int:
        """Address of the progress flags: columns that each strip has written."""
        return self.address + 8 * self.longest * self.n_items if self.address else 0
