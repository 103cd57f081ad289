"""Scores of single pairs in 32 bits, each by a whole block: see kernels/block.cu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exaln.cuda.batches import Workspace
from exaln.cuda.collect import TOO_HIGH
from exaln.cuda.compiler import Source
from exaln.cuda.pending import Pending, Slab
from exaln.cuda.variants import block_bytes, block_shape

if TYPE_CHECKING:
    from exaln.cuda.card import Kernel
    from exaln.scoring import Scoring

INT32_MAX = (1 << 31) - 1


class BlockScorer:
    """Scores lists of pairs that are on the card."""

    def __init__(self, workspace: Workspace, scoring: Scoring, n_letters: int) -> None:
        self._workspace, self._card = workspace, workspace.card
        self._n_letters, self._max_score = n_letters, scoring.max_score
        self._constants = (
            ("LETTERS", n_letters),
            ("GAP_FIRST", scoring.gap_first),
            ("GAP_EXTEND", scoring.gap_extend),
        )

    @property
    def source(self) -> Source:
        """What to compile."""
        n_threads, rows = self._shape
        return Source("block.cu", (("THREADS", n_threads), ("ROWS", rows), *self._constants))

    @property
    def _shape(self) -> tuple[int, int]:
        return block_shape(self._card.facts.shared_bytes, self._n_letters)

    @property
    def n_blocks(self) -> int:
        """Blocks of the kernel for pairs that run at a time."""
        n_threads, _ = self._shape
        return self._card.facts.n_sms * max(1, self._card.blocks_per_sm(self._kernel, n_threads))

    @property
    def _kernel(self) -> Kernel:
        return self._card.kernel(self.source, "block_scores", block_bytes(*self._shape, self._n_letters))

    def score(self, pending: Pending, items: int, n_items: int, longest: int, slab: Slab) -> None:
        """Exact scores of pairs, listed on the card; queries and rows are counted from those of the slab."""
        card, on_card, side = self._card, pending.on_card, self._workspace.side_stream
        n_threads, rows = self._shape
        n_blocks = min(n_items, self.n_blocks)
        boundary = 0
        if max(pending.group.lengths) > n_threads * rows:
            is_alone = not pending.batch.is_resident and not pending.batch.host.n_stream
            n_blocks, boundary = self._boundary(n_blocks, longest, is_alone=is_alone)
        ticket = self._workspace.scratch("ticket of pairs", 4)
        card.fill(ticket, 0, 1, side)
        arguments = (
            pending.batch.place("codes"),
            pending.batch.place("offsets") + 8 * slab.first_row,
            on_card["fold"],
            items,
            n_items,
            ticket,
            on_card["codes"],
            on_card["offsets"] + 8 * slab.first_query,
            on_card["table"],
            boundary,
            longest,
            pending.score_address(slab),
            pending.batch.host.row_stride,
            INT32_MAX - max(0, self._max_score),
            pending.counters + 4 * TOO_HIGH,
        )
        card.launch(self._kernel, n_blocks, n_threads, side, arguments)

    def _boundary(self, n_blocks: int, longest: int, *, is_alone: bool) -> tuple[int, int]:
        """Rows between strips, one per block: fewer blocks where memory is short.

        is_alone: this batch has no streams, so that memory of others is free while it is scored.
        """
        if is_alone:
            address, n_bytes = self._workspace.idle_scratch("stream", "boundary 0", "boundary 1")
            if n_bytes >= 8 * longest:
                return min(n_blocks, n_bytes // (8 * longest)), address
        n_blocks = max(1, min(n_blocks, self._workspace.spare // (2 * max(1, 8 * longest))))
        return n_blocks, self._workspace.scratch("boundary of pairs", 8 * longest * n_blocks)
