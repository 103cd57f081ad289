"""Scores of many targets in packed numbers: expand and pack a batch, then launch the strips of a plan.

kernels/expand.cu, pack.cu and stream.cu have the kernels.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.constants import COLUMNS, WARP_BLOCK_THREADS, blocks_of_warps
from exaln.engines.cuda.scan.arguments import ExpandArguments, PackArguments, StreamArguments
from exaln.engines.cuda.scan.buffers import BOUNDARIES, STREAMS
from exaln.engines.cuda.scan.collect import COLLECT
from exaln.engines.cuda.scan.shapes import STACK_BYTES, Packing, Shape
from exaln.engines.cuda.scan.stream_layout import BOUNDARY_TILE_BYTES

if TYPE_CHECKING:
    from exaln.engines.cuda.letters import FoldedScores
    from exaln.engines.cuda.runtime.device import Kernel
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.batches import DeviceBatch
    from exaln.engines.cuda.scan.in_flight import BatchInFlight
    from exaln.engines.cuda.scan.launch_throttle import LaunchThrottle
    from exaln.engines.cuda.scan.results import ScanTimes
    from exaln.engines.cuda.scan.stream_layout import StreamLayout
    from exaln.engines.cuda.scan.strips import Strip
    from exaln.scoring.scoring import Scoring

CELLS_PER_SECOND = 5e12
"""Rough speed, by which queued work is estimated."""

MAX_LAUNCH_SECONDS = 0.05
"""Longest launch of several strips, by the same estimate: an interrupt has to wait for it."""

EXPAND = Source("expand.cu")
EXPAND_THREADS = 256

PACK_KERNELS = {
    Packing.TWO_QUERIES: "pack_singles",
    Packing.LETTER_PAIRS: "pack_pairs",
    Packing.MERGED: "pack_merged",
}
"""Kernels of pack.cu, by what stream.cu reads."""


def pack_source(n_letters: int) -> Source:
    """Return what to compile of pack.cu."""
    return Source("pack.cu", (("LETTERS", n_letters),))


class StreamScorer:
    """Scores the streams of batches on one device with one scoring."""

    def __init__(
        self,
        workspace: Workspace,
        scoring: Scoring,
        folded: FoldedScores,
        times: ScanTimes,
        throttle: LaunchThrottle,
    ) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._folded, self._times, self._throttle = folded, times, throttle
        self._gaps = scoring.gap_first, scoring.gap_extend
        self._pack_source = pack_source(folded.n_letters)
        self._loaded: set[tuple[Source, tuple[Strip, ...]]] = set()
        self._kernels: dict[tuple[Shape, bool], Kernel] = {}

    def sources(self, kinds: Iterable[tuple[Shape, bool]]) -> list[Source]:
        """Return what to compile for strips of these kinds, besides block.cu."""
        own = [shape.source(self._folded.n_letters, *self._gaps, keeps_rows=keeps_rows) for shape, keeps_rows in kinds]
        return [*own, self._pack_source, COLLECT, EXPAND]

    def load(self, strips: tuple[Strip, ...], blocks: Source) -> None:
        """Compile and load all kernels of a plan together, the first time that it is used. blocks: of block.cu."""
        key = blocks, strips
        if key in self._loaded:
            return
        self._loaded.add(key)
        started = time.perf_counter()
        kinds = {strip.kind for strip in strips}
        self._times.kernels = tuple(sorted({*self._times.kernels, *(str(shape) for shape, _ in kinds)}))
        new = [kind for kind in kinds if kind not in self._kernels]
        sources = self.sources(new)
        self._device.load([*sources, blocks])
        for (shape, keeps_rows), source in zip(new, sources, strict=False):
            n_bytes = shape.profile_bytes(self._folded.n_letters)
            self._kernels[shape, keeps_rows] = self._device.kernel(source, "stream_scores", n_bytes)
        self._times.compile += time.perf_counter() - started

    def expand(self, batch: DeviceBatch, stream: Any) -> None:
        """Expand the columns of a batch from their breakpoints, unless that was done."""
        if batch.is_expanded:
            return
        kernel, host = self._device.kernel(EXPAND, "expand"), batch.host
        n_blocks = max(1, min(-(-host.n_longest_column // EXPAND_THREADS), 4 * self._device.properties.n_sms))
        arguments = ExpandArguments(batch.breakpoints, batch.columns)
        self._device.launch(kernel, (n_blocks, host.n_columns), EXPAND_THREADS, stream, arguments)
        batch.is_expanded = True

    def pack(self, pending: BatchInFlight, packing: Packing) -> None:
        """Pack the codes of a batch into a stream of tiles, unless that was done."""
        batch = pending.batch
        if not batch.needs_packing(self._folded, packing):
            return
        layout = batch.host.layouts[packing.is_paired]
        kernel = self._device.kernel(self._pack_source, PACK_KERNELS[packing])
        arguments = PackArguments(
            codes=batch.codes,
            offsets=batch.offsets,
            starts=batch.starts(is_paired=packing.is_paired),
            n_targets=batch.host.n_stream,
            fold=pending.on_device.fold,
            stream=self._stream_address(batch, packing, layout.n_bytes),
        )
        n_blocks = blocks_of_warps(layout.starts.n - 1)
        self._device.launch(kernel, n_blocks, WARP_BLOCK_THREADS, self._workspace.stream, arguments)
        batch.packed_with[packing] = self._folded.fold.tobytes()

    def score(self, pending: BatchInFlight, strips: tuple[Strip, ...], lane_rows: int) -> None:
        """Queue all strips over all targets of the streams. lane_rows: address of the rows of all strips."""
        host = pending.batch.host
        for is_paired in {strip.shape.is_paired for strip in strips if strip.keeps_rows}:  # clear the idle tile
            boundary = self._boundary(host.layouts[is_paired])
            self._device.fill(boundary, 0, BOUNDARY_TILE_BYTES // 4, self._workspace.stream)
        for first, own in launches(strips, host.n_stream_residues / CELLS_PER_SECOND):
            self._launch(pending, own, first, lane_rows)
            lane_rows += STACK_BYTES * own[0].shape.lanes * len(own)

    def _launch(self, pending: BatchInFlight, strips: Sequence[Strip], first: int, lane_rows: int) -> None:
        """Queue strips with the same kernel. first: the number of the first strip in the plan."""
        batch, state, (shape, keeps_rows) = pending.batch, pending.state, strips[0].kind
        layout = batch.host.layouts[shape.is_paired]
        arguments = StreamArguments(
            stream=self._stream_address(batch, shape.packing),
            chunks=batch.chunks(is_paired=shape.is_paired),
            n_chunks=layout.n_chunks,
            n_strips=len(strips),
            n_strips_before=first,
            tickets=state.tickets + 4 * first,
            chunks_done=state.chunks_done + 4 * first,
            target_flags=state.target_flags,
            stacks=lane_rows,
            queries=pending.on_device.codes,
            table=pending.on_device.packed_table,
            boundary=self._boundary(layout) if keeps_rows else 0,
            scores=state.scores,
            row_stride=batch.host.row_stride,
        )
        stream, kernel = self._workspace.stream, self._kernels[shape, keeps_rows]
        n_blocks = min(self._device.properties.n_sms, layout.n_chunks)
        self._device.launch(kernel, n_blocks, shape.threads, stream, arguments)
        self._times.raw_cells += 2 * shape.strip_rows * COLUMNS * layout.n_tiles * len(strips)
        cells = sum(strip.n_rows for strip in strips) * batch.host.n_stream_residues
        pending.reported_cells += cells
        self._throttle.launched(stream, cells, cells / CELLS_PER_SECOND)

    def _stream_address(self, batch: DeviceBatch, packing: Packing, n_bytes: int = 0) -> int:
        """Return the address of a stream: with a resident batch, or in a buffer that streamed batches share."""
        if not batch.is_resident:
            return self._workspace.scratch(STREAMS[packing], n_bytes)
        if packing not in batch.streams:
            batch.streams[packing] = self._workspace.allocate(n_bytes)
        return batch.streams[packing].address

    def _boundary(self, layout: StreamLayout) -> int:
        return self._workspace.scratch(BOUNDARIES[layout.is_paired], layout.n_tiles * BOUNDARY_TILE_BYTES)


def launches(strips: Sequence[Strip], row_seconds: float) -> Iterator[tuple[int, Sequence[Strip]]]:
    """Yield consecutive strips with the same kernel, up to MAX_LAUNCH_SECONDS, and the number of the first one."""
    first, n_rows = 0, 0
    for place, strip in enumerate(strips):
        n_rows += strip.n_rows
        if place > first and (strip.kind != strips[first].kind or n_rows * row_seconds > MAX_LAUNCH_SECONDS):
            yield first, strips[first:place]
            first, n_rows = place, strip.n_rows
    if strips:
        yield first, strips[first:]
