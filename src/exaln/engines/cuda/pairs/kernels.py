"""The launches of the kernels for one batch of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from exaln.engines.cuda.pairs.arguments import FillCouplesArguments, PackCouplesArguments, TracebackArguments
from exaln.engines.cuda.pairs.plan import FOLD_BYTES
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.cuda.runtime.constants import WARP, WARP_BLOCK_THREADS, blocks_of_warps

if TYPE_CHECKING:
    from exaln.engines.cuda.pairs.plan import Batch
    from exaln.engines.cuda.pairs.sides import Side
    from exaln.engines.cuda.pairs.slots import Slot
    from exaln.engines.cuda.runtime.compiler import Source
    from exaln.engines.cuda.runtime.device import Device
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

TRACEBACK_THREADS = 128
"""Threads of a block in the traceback."""


class PairKernels:
    """pairs.cu in one shape. shape: its number. The source must be loaded."""

    def __init__(self, device: Device, source: Source, shape: int) -> None:
        self._device, self._shape = device, PAIR_SHAPES[shape]
        self._pack, self._fill, self._trace_back = (
            device.kernel(source, name) for name in ("pack_couples", "fill_couples", "trace_back")
        )

    def launch(self, batch: Batch, slot: Slot, sides: Sequence[Side]) -> None:
        """Queue the kernels of a batch whose block is on its way to the device."""
        device, stream, shape = self._device, slot.stream, self._shape
        block, n_pairs = slot.device_block, batch.n_pairs
        queries, targets = (block + batch.letters if side.is_sent else side.address for side in sides)
        pairs, layouts, table = block + batch.pairs, block + batch.layouts, block + FOLD_BYTES
        counters, n_couples = block + batch.counters, -(-n_pairs // 2)
        sequences = (queries, targets, pairs, n_pairs, layouts, block)
        packed = PackCouplesArguments(*sequences, slot.arena)
        device.launch(self._pack, blocks_of_warps(n_couples), WARP_BLOCK_THREADS, stream, packed)
        n_warps, n_sms = -(-n_couples * shape.lanes // WARP), device.properties.n_sms
        device.launch(
            self._fill,
            min(n_sms, n_warps),
            min(shape.threads, WARP * -(-n_warps // n_sms)),  # spreads few warps over all multiprocessors
            stream,
            FillCouplesArguments(pairs, n_pairs, layouts, table, counters, slot.arena),
        )
        traceback = TracebackArguments(
            *sequences,
            table,
            block + batch.run_starts,
            slot.runs,
            counters,
            block + batch.results,
            block + batch.runs,
            slot.arena,
        )
        device.launch(self._trace_back, -(-n_pairs // TRACEBACK_THREADS), TRACEBACK_THREADS, stream, traceback)


def kernels_of(
    device: Device, plan: Sequence[Batch], n_letters: int, scoring: Scoring, mode: Mode, *, paths: bool
) -> dict[int, PairKernels]:
    """The kernels of each shape in a plan, by its number; those that are missing are compiled in parallel."""
    sources = {
        shape: PAIR_SHAPES[shape].source(n_letters, scoring, mode, paths=paths)
        for shape in {batch.shape for batch in plan}
    }
    device.load(sources.values())
    return {shape: PairKernels(device, source, shape) for shape, source in sources.items()}
