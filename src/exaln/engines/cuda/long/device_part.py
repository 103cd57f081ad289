"""Columns of a slab on one device: sends what the kernel reads, launches it, watches it, and fetches its results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.long.arguments import RegionArguments
from exaln.engines.cuda.long.device_checkpoints import CheckpointMemory, CheckpointRequest, DeviceCheckpoints
from exaln.engines.cuda.long.kernel_inputs import (
    CANCELLED,
    CONTROL,
    END,
    LOST,
    NEVER,
    STOP_OFFSET,
    column_tiles,
    padded_row,
    score_table,
    strips_of,
    target_letters,
)
from exaln.engines.cuda.long.packed import ByteScores
from exaln.engines.cuda.long.shapes import MAX_SMALL_END, LongShape, long_cycles, long_shapes
from exaln.engines.cuda.runtime.constants import COLUMNS, WARP
from exaln.engines.cuda.runtime.download import Fetcher
from exaln.engines.regions import NOTHING, EndCell
from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.letters import FoldedScores
    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.regions import Boundary, Checkpoints, Line, PairTable, Pruning, Region

QUEUE_PIECES = 64
"""Pieces by which a strip can be ahead of the one below, unless that one waits for a warp."""

PATIENCE_SECONDS = 20
"""A strip that waits longer than this for another gives up; in normal operation a wait takes milliseconds at most."""

MEMORY_SHARE = 0.9
"""The part of a device's memory budget that a slab may use."""

QUEUES_SHARE = 4
"""Queues take at most 1 / QUEUES_SHARE of that."""

BLOCK_FRACTION = 8
"""Blocks on the path have about 1 / BLOCK_FRACTION of the rows and columns of the table, or less."""

MAX_SEQUENCE = 1 << 31
"""The pieces that pass through one queue are counted in 32 bits."""


@dataclass(frozen=True)
class SlabTask:
    """Some rows of a region with all its columns, to be computed by one device or several.

    folded: scores of the letters that occur in the columns. request: which checkpoints are kept. finds_end: whether the
    best cell of a local table is searched. packs: whether long_packed.cu may be used. keeps_last_row: whether the last
    row is fetched as well. holds: whether checkpoints stay on the device, of which there is then one.
    """

    pair: PairTable
    folded: FoldedScores
    region: Region
    boundary: Boundary
    request: CheckpointRequest
    finds_end: bool
    pruning: Pruning | None
    packs: bool
    keeps_last_row: bool = False
    holds: bool = False


class DevicePart:
    """The columns `part` of a slab on one device.

    share: number of such kernels that run on the same GPU at a time.
    """

    def __init__(self, workspace: Workspace, task: SlabTask, part: Region, share: int) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._task, self._part, self._share = task, part, share
        self._score = task.request.score
        columns = task.request.columns
        self._own_columns = slice(*np.searchsorted(columns, [part.first_column, part.end_column], "right"))
        self._checkpoint_rows = task.request.rows - task.region.first_row
        self._checkpoint_columns = columns[self._own_columns] - part.first_column
        self._done: Event | None = None
        self._control = 0
        self.n_received = 0
        target = target_letters(task.pair, part)
        self._byte_scores = ByteScores.of(task.folded, target) if task.packs else None
        self._shape = self._fastest_shape()
        self._n_pieces = -(-part.n_columns // (COLUMNS * self._shape.piece))
        self._padded_columns = self._n_pieces * COLUMNS * self._shape.piece
        self._row_bytes = self._padded_columns * self._score.itemsize
        self._column_bytes = part.n_rows * self._score.itemsize

    def prepare(self, *, is_first: bool, is_last: bool) -> None:
        """Send everything that the kernel reads; in parts other than the first without the left column.

        All parts are prepared before the first launch: loading a kernel or allocating memory may block until no kernel
        runs on the device, and a kernel that waits for its left column would then never end.
        """
        self._device.activate()
        task, part, shape = self._task, self._part, self._shape
        self._load()
        if task.keeps_last_row:
            self._checkpoint_rows = np.append(self._checkpoint_rows, part.n_rows)
        has_last_column = len(self._checkpoint_columns) and self._checkpoint_columns[-1] == part.n_columns
        if not is_last and not has_last_column:
            self._checkpoint_columns = np.append(self._checkpoint_columns, part.n_columns)
        strips = self._strips = strips_of(part.n_rows, shape, np.unique(self._checkpoint_rows))
        is_local, max_score = task.pair.mode.is_local, max(0, task.pair.scoring.max_score)
        pruning = task.pruning
        highest = max_score if is_local and pruning is not None else 0
        rows_left, columns_left = (0, 0) if pruning is None else pruning.left(part)
        control = np.zeros(1, CONTROL)
        control["best"] = pruning.best if highest and pruning is not None else 0
        self._control = self._upload("control", control)
        self._left_rows_ready = 0 if is_first else self._upload("left rows", np.zeros(1, np.uint32))
        n_channels = min(self._n_warps, -(-len(strips) // self._block_warps) * self._block_warps)
        self._n_blocks = n_channels // self._block_warps
        target, byte_scores = target_letters(task.pair, part), self._byte_scores
        top_h, top_f = self._send_top()
        left_h, left_e = self._send_left(is_first=is_first)
        row_h, row_f, column_h, column_e = self._checkpoint_addresses()
        self._arguments = RegionArguments(
            columns=self._upload("tiles", column_tiles(target, self._n_pieces, shape, task.folded, byte_scores)),
            n_pieces=self._n_pieces,
            n_columns=part.n_columns,
            query=self._upload("query", task.pair.query[part.first_row : part.end_row]),
            strips=self._upload("strips", strips),
            n_strips=len(strips),
            table=self._upload("table", score_table(shape, task.folded, byte_scores)),
            top_H=top_h,
            top_F=top_f,
            left_H=left_h,
            left_E=left_e,
            queues=self._cleared("queues", self._queue_words(n_channels) * 8),
            queue_pieces=QUEUE_PIECES,
            consumed=self._cleared("consumed", 4 * n_channels),
            n_channels=n_channels,
            checkpoint_columns=self._upload(
                "columns", np.append(self._checkpoint_columns - 1, NEVER).astype(np.uint32)
            ),
            row_H=row_h,
            row_F=row_f,
            column_H=column_h,
            column_E=column_e,
            n_rows=part.n_rows,
            ends=self._scratch("ends", END.itemsize * len(strips)),
            gain=COLUMNS * shape.piece * max_score if task.finds_end else -1,
            control=self._control,
            patience=int(PATIENCE_SECONDS * 1e9),
            left_rows_ready=self._left_rows_ready,
            highest=highest,
            rows_left=rows_left,
            columns_left=columns_left,
        )
        assert len(strips) // n_channels * self._n_pieces < MAX_SEQUENCE
        assert self._score == task.boundary.top_H.dtype

    def launch(self) -> None:
        """Launch the kernel after all uploads."""
        self._device.activate()
        stream = self._workspace.stream
        ready = self._device.record(self._device.event(), stream)
        for other in (self._workspace.side_stream, self._workspace.copy_stream):
            self._device.let_wait(other, ready)
        self._device.launch_together(self._kernel, self._n_blocks, self._shape.threads, stream, self._arguments)
        self._done = self._device.record(self._device.event(), stream)

    # While the kernel runs.

    def is_done(self) -> bool:
        """Whether the kernel has ended. EngineError if it gave up."""
        self._device.activate()
        assert self._done is not None
        if not self._device.is_done(self._done):
            return False
        if self._control_now()["stop"] == LOST:
            raise EngineError(f"{self._device}: a strip waited in vain for {PATIENCE_SECONDS} s; please report this")
        return True

    def cancel(self) -> None:
        """Make the kernel end, if it runs."""
        if self._done is not None and not self._device.is_broken:
            self._device.activate()
            stop = np.array([CANCELLED], np.uint32)
            self._device.upload(self._control + STOP_OFFSET, stop, self._workspace.side_stream)

    def wait(self) -> None:
        """Wait for the end of the kernel."""
        if self._done is not None and not self._device.is_broken:
            self._device.activate()
            self._device.wait(self._done)

    def cells_done(self) -> int:
        """The approximate number of cells that are computed."""
        n_tiles = len(self._strips) * self._n_pieces * self._shape.piece
        return int(self._part.cells * min(1.0, int(self._control_now()["tiles"]) / n_tiles))

    def columns_since(self, first: int) -> tuple[int, Line, Line]:
        """(first, H, E): the last column from row `first` of the slab on, as far as it is complete."""
        self._device.activate()
        n = int(self._control_now()["rows"]) - first
        lines = np.empty((2, n), self._score)
        offset = self._column_bytes * (len(self._checkpoint_columns) - 1) + self._score.itemsize * first
        for name, line in zip(("column H", "column E"), lines, strict=True):
            self._device.download(line, self._scratch(name, 0) + offset, self._workspace.side_stream)
        return first, lines[0], lines[1]

    def receive(self, first: int, left_h: Line, left_e: Line) -> None:
        """Send rows of the column to the left, from row `first` of the slab on."""
        if not len(left_h):
            return
        self._device.activate()
        itemsize, stream = self._score.itemsize, self._workspace.copy_stream
        self._device.upload(self._scratch("left H", 0) + itemsize * (first + 1), left_h, stream)
        self._device.upload(self._scratch("left E", 0) + itemsize * first, left_e, stream)
        self.n_received = first + len(left_h)
        self._device.upload(self._left_rows_ready, np.array([self.n_received], np.uint32), stream)

    # When it is done.

    def cells_pruned(self) -> int:
        """The approximate number of cells that were skipped."""
        return min(self._part.cells, int(self._control_now()["pruned"]))

    def end(self) -> EndCell:
        """The best cell of this part, in letters of the whole sequences."""
        if not self._task.pair.mode.is_local:
            return NOTHING
        self._device.activate()
        ends = np.empty(len(self._strips), END)
        self._device.download(ends, self._scratch("ends", 0), self._workspace.stream)
        best = ends[np.lexsort((ends["row"], ends["column"], -ends["score"]))[0]]
        if best["score"] == 0:
            return NOTHING
        row, column = self._part.first_row + int(best["row"]) + 1, self._part.first_column + int(best["column"]) + 1
        return EndCell(int(best["score"]), row, column)

    def fetch(self, checkpoints: Checkpoints, last_row: tuple[Line, Line] | None) -> None:
        """Copy the checkpoints of this part, and H and F of the last row, to their places in these arrays."""
        self._device.activate()
        columns = self._columns_of_slab()
        last = len(np.unique(self._checkpoint_rows)) - 1
        with Fetcher(self._workspace) as fetcher:
            for name, rows, kind in (("row H", checkpoints.row_H, 0), ("row F", checkpoints.row_F, 1)):
                address = self._scratch(name, 0)
                for number, row in enumerate(rows):
                    fetcher.fetch(row[columns], address + self._row_bytes * number)
                if last_row is not None:
                    fetcher.fetch(last_row[kind][columns], address + self._row_bytes * last)
            for name, kept in (("column H", checkpoints.column_H), ("column E", checkpoints.column_E)):
                address = self._scratch(name, 0)
                for number, column in enumerate(kept[self._own_columns]):
                    fetcher.fetch(column, address + self._column_bytes * number)

    def held_checkpoints(self) -> DeviceCheckpoints:
        """The checkpoints that stay on the device."""
        sizes = self._row_bytes, self._column_bytes
        return DeviceCheckpoints(self._workspace, self._part, self._task.request, self._held, *sizes)

    # The shape of the kernel.

    def _fastest_shape(self) -> LongShape:
        part = self._part

        def cycles(shape: LongShape) -> float:
            """Of whole strips. Packed pieces with checkpoint columns take twice as long."""
            n_rows = len(strips_of(part.n_rows, shape, np.unique(self._checkpoint_rows))) * shape.strip_rows
            reach = COLUMNS * (shape.lanes + shape.piece) if shape.is_packed else 0
            special = min(1.0, len(self._checkpoint_columns) * reach / part.n_columns)
            return self._cycles(shape, n_rows, part.n_columns) * (1 + special)

        return min(self._shapes(self._byte_scores is not None), key=cycles)

    def _shapes(self, packs: bool) -> list[LongShape]:
        properties, task = self._device.properties, self._task
        packed = task.pair.scoring if properties.dpx and packs else None
        return long_shapes(task.folded.n_letters, self._score.itemsize, properties.shared_bytes, packed)

    def _cycles(self, shape: LongShape, n_rows: int, n_columns: int) -> float:
        n_sms = self._device.properties.n_sms
        n_warps = n_sms * shape.blocks * (shape.threads // WARP) // self._share
        return long_cycles(shape, n_rows, n_columns, n_warps, n_sms)

    def _shape_of_blocks(self) -> LongShape:
        """The shape that blocks on the path will probably have, which are filled again after this region."""
        n_rows, n_columns = (max(1, n // BLOCK_FRACTION) for n in (self._part.n_rows, self._part.n_columns))
        return min(self._shapes(packs=False), key=lambda shape: self._cycles(shape, n_rows, n_columns))

    def _load(self) -> None:
        """Load the kernel, and find out how many of its warps run at a time."""
        task, shape, n_letters = self._task, self._shape, self._task.folded.n_letters
        scoring, boundary, is_local = task.pair.scoring, task.boundary, task.pair.mode.is_local
        highest = max(boundary.corner, int(boundary.top_H.max()), int(boundary.left_H.max()))
        highest += min(task.region.n_rows, task.region.n_columns) * max(0, scoring.max_score)
        source, of_blocks = (
            one.source(
                n_letters,
                scoring,
                is_local=is_local,
                is_large=self._score.itemsize > 4,
                large_ends=is_local and highest > MAX_SMALL_END,
            )
            for one in (shape, self._shape_of_blocks())
        )
        self._device.load([source], [of_blocks] if len(task.request.rows) else [])
        self._kernel = self._device.kernel(source, shape.kernel, shape.shared_bytes(n_letters, self._score.itemsize))
        self._block_warps = shape.threads // WARP
        per_sm = min(shape.blocks, self._device.blocks_per_sm(self._kernel, shape.threads))
        n_blocks = self._device.properties.n_sms * per_sm // self._share
        queue_bytes = QUEUE_PIECES * COLUMNS * shape.piece * 2 * self._score.itemsize
        max_warps = int(self._device.budget * MEMORY_SHARE) // QUEUES_SHARE // queue_bytes
        self._n_warps = max(1, min(n_blocks, max_warps // self._block_warps)) * self._block_warps

    # Memory of the device.

    def _queue_words(self, n_channels: int) -> int:
        n_pieces = n_channels * QUEUE_PIECES + self._n_pieces
        return n_pieces * COLUMNS * self._shape.piece * (self._score.itemsize // 4)

    def _columns_of_slab(self) -> slice:
        first = self._task.region.first_column
        return slice(self._part.first_column - first, self._part.end_column - first)

    def _send_top(self) -> list[int]:
        """Addresses of H and F of the row above."""
        columns, boundary = self._columns_of_slab(), self._task.boundary
        return [
            self._upload(name, padded_row(row[columns], self._padded_columns))
            for name, row in (("top H", boundary.top_H), ("top F", boundary.top_F))
        ]

    def _send_left(self, *, is_first: bool) -> list[int]:
        """Addresses of H, from the corner on, and E of the column to the left, which other parts receive later."""
        boundary = self._task.boundary
        column = np.empty(self._part.n_rows + 1, self._score)
        column[0] = boundary.corner if is_first else boundary.top_H[self._columns_of_slab().start - 1]
        if is_first:
            column[1:] = boundary.left_H
        left_h = self._upload("left H", column)
        if is_first:
            return [left_h, self._upload("left E", boundary.left_E)]
        return [left_h, self._scratch("left E", self._column_bytes)]

    def _checkpoint_addresses(self) -> Iterable[int]:
        """Addresses of H and F of checkpoint rows, H and E of checkpoint columns."""
        across = self._row_bytes * len(self._checkpoint_rows)
        down = self._column_bytes * len(self._checkpoint_columns)
        sizes = {"row H": across, "row F": across, "column H": down, "column E": down}
        if not self._task.holds:
            return [self._scratch(name, size) for name, size in sizes.items()]
        self._held = CheckpointMemory(self._workspace, sizes, self._task.request.margin_bytes(self._part))
        return self._held.addresses.values()

    def _control_now(self) -> Any:
        """A copy of the control block, which may be taken while the kernel runs."""
        control = np.empty(1, CONTROL)
        self._device.download(control, self._control, self._workspace.side_stream)
        return control[0]

    def _scratch(self, name: str, n_bytes: int) -> int:
        return self._workspace.scratch(f"{name} of a long pair", n_bytes)

    def _upload(self, name: str, array: NDArray[Any]) -> int:
        address = self._scratch(name, array.nbytes)
        self._device.upload(address, np.ascontiguousarray(array), self._workspace.stream)
        return address

    def _cleared(self, name: str, n_bytes: int) -> int:
        address = self._scratch(name, n_bytes)
        self._device.fill(address, 0, n_bytes // 4, self._workspace.stream)
        return address
