"""Regions of one pair's table on devices; kernels/long.cu has the kernel.

A device gets some of the columns: letters, what surrounds them, and room for the lines that are kept. Its kernel runs
through all rows, while this thread looks how far it is. Of several devices each begins as soon as the one to the left has
the first rows of its last column, which are handed on as they come. Where a device has no room for all lines, the rows go
in slabs.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.letters import FoldedScores, fold_letters, used_letters
from exaln.engines.cuda.long.arguments import RegionArguments
from exaln.engines.cuda.long.device_checkpoints import DeviceLines, LineMemory, WantedLines
from exaln.engines.cuda.long.packed import ByteScores
from exaln.engines.cuda.long.shapes import MAX_SMALL_END, LongShape, long_cycles, long_shapes
from exaln.engines.cuda.runtime.constants import COLUMNS, WARP
from exaln.engines.cuda.runtime.download import Fetcher
from exaln.engines.regions import NOTHING, Boundary, Checkpoints, EndCell, PairTable, Pruning, Region
from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.regions import Line

STRIP = np.dtype([("first_row", "u4"), ("n_rows", "u4"), ("line", "i4"), ("is_narrow", "u4")])
CONTROL = np.dtype(
    [(name, "u4") for name in ("ticket", "stop", "rows", "unused")]
    + [("best", "i8"), ("tiles", "u8"), ("pruned", "u8")]
)
END = np.dtype([("score", "i8"), ("row", "i8"), ("column", "i8")])
GO_ON, CANCELLED, LOST = range(3)
NEVER = 0xFFFFFFFF
"""As in the kernel."""

QUEUE_PIECES = 64
"""Pieces that a strip can be ahead of the one below, unless that one waits for a warp."""

PATIENCE_SECONDS = 20
"""A strip that waits longer for the one above or below gives up; working ones wait for milliseconds at most."""

LOOK_SECONDS = 5e-4
PROGRESS_SECONDS = 0.1
ROOM_SHARE = 0.9
QUEUES_SHARE = 4
"""Checkpoints and all else of a slab take this part of what may be used, queues at most one part in so many of that."""

HELD_SHARE = 2
"""Checkpoints are held on a device if they take no more than one part in so many of what is free there."""

MIN_CARD_COLUMNS = 1 << 18
"""Fewer columns than this are not worth another device."""

MAX_SEQUENCE = 1 << 31
"""Pieces are counted in 32 bits."""


def fill_region(
    workspaces: Sequence[Workspace],
    pair: PairTable,
    region: Region,
    borders: Boundary,
    lines: Checkpoints,
    *,
    progress: Callable[[int], None] | None = None,
    wants_end: bool = False,
    pruning: Pruning | None = None,
) -> EndCell:
    """As `Engine.fill_region`, on these devices."""
    end = NOTHING
    if not region.cells:
        return end
    used = workspaces[: max(1, min(len(workspaces), region.n_columns // MIN_CARD_COLUMNS))]
    for workspace in used:
        workspace.device.activate()
        workspace.begin((), {})
    folded = _folded(pair, region)
    room = min(int(workspace.device.budget * ROOM_SHARE) for workspace in used)
    for slab in slabs(region, WantedLines.of(lines), room):
        own = _rows_of(lines, region, slab)
        around = _rows_around(borders, region, slab)
        done = (slab.first_row - region.first_row) * region.n_columns
        carry = None if slab.end_row == region.end_row else _room_for_row(region, lines)
        packs = _may_pack(pair, pruning, wants_end=wants_end)
        job = Slab(used, pair, folded, slab, around, WantedLines.of(own), packs=packs)
        told = None if progress is None else _after(progress, done)
        found = job.run(told, wants_end=wants_end, keeps_last=carry is not None, pruning=pruning)
        job.fetch(own, carry)
        end = found.better(end)
        if pruning is not None:
            pruning.best = max(pruning.best, end.score)
        if carry is not None:
            last = slab.end_row - region.first_row
            borders = Boundary(*carry, borders.left_H, borders.left_E, int(borders.left_H[last - 1]))
    return end


def hold_lines(
    workspace: Workspace,
    pair: PairTable,
    region: Region,
    borders: Boundary,
    wanted: WantedLines,
    *,
    progress: Callable[[int], None] | None = None,
    wants_end: bool = False,
    pruning: Pruning | None = None,
) -> tuple[DeviceLines, EndCell] | None:
    """As `Engine.hold_lines`, on this device; None if it has no room for them."""
    if wanted.n_bytes(region) > (workspace.device.budget - workspace.device.used) // HELD_SHARE:
        return None
    workspace.device.activate()
    workspace.begin((), {})
    packs = _may_pack(pair, pruning, wants_end=wants_end)
    job = Slab([workspace], pair, _folded(pair, region), region, borders, wanted, packs=packs, holds=True)
    end = job.run(progress, wants_end=wants_end, keeps_last=False, pruning=pruning)
    return job.held_lines(), end


def slabs(region: Region, lines: WantedLines, room: int) -> Iterator[Region]:
    """The rows of a region, as many at a time as a device has room for, with the lines that are kept of them."""
    score = lines.score.itemsize
    per_row = 2 * score * (len(lines.columns) + 2) + 2
    first = region.first_row

    def n_bytes(end: int) -> int:
        """Tiles, the row above, the longest queue, the last row, and lines; all other queues."""
        n_lines = np.searchsorted(lines.rows, end, "right") - np.searchsorted(lines.rows, first, "right")
        per_column = 4 + 2 * score * (3 + int(n_lines))
        return per_column * region.n_columns + per_row * (end - first) + room // QUEUES_SHARE

    while first < region.end_row:
        n_rows = bisect_right(range(1, region.end_row - first + 1), room, key=lambda n: n_bytes(first + n))
        end = first + max(min(n_rows, region.end_row - first), min(WARP, region.end_row - first))
        yield Region(first, end, region.first_column, region.end_column)
        first = end


def strips_of(n_rows: int, shape: LongShape, kept: NDArray[np.int64]) -> NDArray[Any]:
    """STRIP[n]: rows cut so that each kept row is the last of a strip. kept: ascending, how many rows are above it.

    >>> strips_of(300, LongShape(4, 32, 8, 8), np.array([130])).tolist()
    [(0, 128, -1, 0), (128, 2, 0, 1), (130, 128, -1, 0), (258, 40, -1, 0), (298, 2, -1, 1)]
    """
    ends = np.unique(np.append(kept, n_rows))
    begins = np.concatenate([[0], ends[:-1]])
    whole, left = np.divmod(ends - begins, shape.strip_rows)
    lanes, narrow = np.divmod(left, shape.rows)
    n_parts = np.stack([whole, lanes > 0, narrow > 0], axis=1)
    heights = np.stack([np.full_like(whole, shape.strip_rows), lanes * shape.rows, narrow], axis=1)
    strips = np.zeros(int(n_parts.sum()), STRIP)
    strips["n_rows"] = np.repeat(heights.reshape(-1), n_parts.reshape(-1))
    strips["is_narrow"] = np.repeat(np.tile([0, 0, 1], len(ends)), n_parts.reshape(-1))
    below = np.cumsum(strips["n_rows"])
    strips["first_row"] = below - strips["n_rows"]
    line = np.searchsorted(kept, below)
    is_line = line < len(kept)
    is_line[is_line] = kept[line[is_line]] == below[is_line]
    strips["line"] = np.where(is_line, line, -1)
    return strips


class Slab:
    """Some rows of a region, with all columns, on one device or several. holds: lines stay on the device, of which there is
    one.
    """

    def __init__(
        self,
        workspaces: Sequence[Workspace],
        pair: PairTable,
        folded: FoldedScores,
        region: Region,
        borders: Boundary,
        wanted: WantedLines,
        *,
        packs: bool,
        holds: bool = False,
    ) -> None:
        self._region, self._borders, self._is_local = region, borders, pair.mode.is_local
        share = max(1, *(sum(one.device.number == other.device.number for one in workspaces) for other in workspaces))
        cuts = [region.first_column + region.n_columns * i // len(workspaces) for i in range(len(workspaces) + 1)]
        self._parts = [
            DevicePart(
                workspace,
                pair,
                folded,
                Region(region.first_row, region.end_row, *columns),
                region,
                wanted,
                share,
                packs=packs,
                holds=holds,
            )
            for workspace, columns in zip(workspaces, pairwise(cuts), strict=True)
        ]

    def run(
        self,
        progress: Callable[[int], None] | None,
        *,
        wants_end: bool,
        keeps_last: bool,
        pruning: Pruning | None,
    ) -> EndCell:
        """Compute it; its end, if it is wanted and local. keeps_last: the last row will be fetched, too."""
        try:
            for number, part in enumerate(self._parts):
                part.prepare(
                    self._borders,
                    pruning,
                    has_left=number == 0,
                    hands_on=number + 1 < len(self._parts),
                    keeps_last=keeps_last,
                    wants_end=wants_end and self._is_local,
                )
            for part in self._parts:
                part.launch()
            self._watch(progress)
            end = NOTHING
            for part in self._parts:
                end = part.end().better(end) if wants_end else end
                if pruning is not None:
                    pruning.cells += part.cells_pruned()
            return end
        except BaseException:
            for part in self._parts:
                part.cancel()
            for part in self._parts:
                part.wait()
            raise

    def fetch(self, lines: Checkpoints, carry: tuple[Line, Line] | None) -> None:
        """Copy lines to where they belong, and the last row."""
        for part in self._parts:
            part.fetch(lines, carry)

    def held_lines(self) -> DeviceLines:
        """What stays on the device."""
        return self._parts[0].held_lines()

    def _watch(self, progress: Callable[[int], None] | None) -> None:
        """Until all devices are done; hands columns on, and tells how far they are."""
        told = time.monotonic()
        while not all(part.is_done() for part in self._parts):
            for left, right in pairwise(self._parts):
                right.receive(*left.columns_since(right.n_received))
            if progress is not None and time.monotonic() > told + PROGRESS_SECONDS:
                told = time.monotonic()
                progress(sum(part.cells_done() for part in self._parts))
            time.sleep(LOOK_SECONDS if len(self._parts) > 1 or self._region.cells > 1 << 34 else 0.0)
        if progress is not None:
            progress(self._region.cells)


class DevicePart:
    """Columns of a slab on one device. share: so many such kernels are on that GPU; packs: halves of words may be used;
    holds: lines stay there.
    """

    def __init__(
        self,
        workspace: Workspace,
        pair: PairTable,
        folded: FoldedScores,
        part: Region,
        slab: Region,
        lines: WantedLines,
        share: int,
        *,
        packs: bool = True,
        holds: bool = False,
    ) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._pair, self._folded, self._part, self._slab = pair, folded, part, slab
        self._wanted, self._score = lines, lines.score
        self._holds = holds
        self._kept_rows = lines.rows - slab.first_row
        self._own = slice(*np.searchsorted(lines.columns, [part.first_column, part.end_column], "right"))
        self._kept_columns = lines.columns[self._own] - part.first_column
        self._share = share
        self._done: Event | None = None
        self._control = 0
        self.n_received = 0
        self._bytes = ByteScores.of(folded, _piece(pair.target, part)) if packs else None
        self._shape = self._fastest_shape()

    def prepare(
        self,
        borders: Boundary,
        pruning: Pruning | None,
        *,
        has_left: bool,
        hands_on: bool,
        keeps_last: bool,
        wants_end: bool,
    ) -> None:
        """Send everything that the kernel needs; without the left column, that comes bit by bit.

        Nothing is launched before all parts are prepared: to load a kernel or to get memory may take until no kernel of
        the device runs, and one that waits for its left column would never end.
        """
        self._device.activate()
        part, score = self._part, self._score
        self._load(borders)
        if keeps_last:
            self._kept_rows = np.append(self._kept_rows, part.n_rows)
        if hands_on and not (len(self._kept_columns) and self._kept_columns[-1] == part.n_columns):
            self._kept_columns = np.append(self._kept_columns, part.n_columns)
        strips = strips_of(part.n_rows, self._shape, np.unique(self._kept_rows))
        self._strips = strips
        is_local = self._pair.mode.is_local
        gain = COLUMNS * self._shape.piece * max(0, self._pair.scoring.max_score) if is_local and wants_end else -1
        control = np.zeros(1, CONTROL)
        highest = max(0, self._pair.scoring.max_score) if is_local and pruning is not None else 0
        rows_left, columns_left = pruning.left(part) if pruning is not None else (0, 0)
        control["best"] = pruning.best if pruning is not None and highest else 0
        self._control = self._upload("control", control)
        self._left_rows = 0 if has_left else self._upload("left rows", np.zeros(1, np.uint32))
        n_channels = min(self._n_warps, -(-len(strips) // self._block_warps) * self._block_warps)
        self._n_blocks = n_channels // self._block_warps
        top_h, top_f = self._top(borders)
        left_h, left_e = self._left(borders, has_left=has_left)
        row_h, row_f, column_h, column_e = self._room_for_lines()
        self._arguments = RegionArguments(
            columns=self._upload("tiles", self._tiles()),
            n_pieces=self._n_pieces,
            n_columns=part.n_columns,
            query=self._upload("query", self._pair.query[part.first_row : part.end_row]),
            strips=self._upload("strips", strips),
            n_strips=len(strips),
            table=self._upload("table", self._table()),
            top_H=top_h,
            top_F=top_f,
            left_H=left_h,
            left_E=left_e,
            queues=self._cleared("queues", self._queue_words(n_channels) * 8),
            queue_pieces=QUEUE_PIECES,
            consumed=self._cleared("consumed", 4 * n_channels),
            n_channels=n_channels,
            checkpoint_columns=self._upload("columns", np.append(self._kept_columns - 1, NEVER).astype(np.uint32)),
            row_H=row_h,
            row_F=row_f,
            column_H=column_h,
            column_E=column_e,
            n_rows=part.n_rows,
            ends=self._scratch("ends", END.itemsize * len(strips)),
            gain=gain,
            control=self._control,
            patience=int(PATIENCE_SECONDS * 1e9),
            left_rows_ready=self._left_rows,
            highest=highest,
            rows_left=rows_left,
            columns_left=columns_left,
        )
        assert len(strips) // n_channels * self._n_pieces < MAX_SEQUENCE
        assert score == borders.top_H.dtype

    def launch(self) -> None:
        """The kernel, after everything that was sent."""
        self._device.activate()
        stream = self._workspace.stream
        ready = self._device.record(self._device.event(), stream)
        for other in (self._workspace.side_stream, self._workspace.copy_stream):
            self._device.let_wait(other, ready)
        self._device.launch_together(self._kernel, self._n_blocks, self._shape.threads, stream, self._arguments)
        self._done = self._device.record(self._device.event(), stream)

    def is_done(self) -> bool:
        """Whether the kernel has ended; raises if it gave up."""
        self._device.activate()
        assert self._done is not None
        if not self._device.is_done(self._done):
            return False
        if self._look()["stop"] == LOST:
            raise EngineError(f"{self._device}: a strip waited in vain for {PATIENCE_SECONDS} s; please report this")
        return True

    def cancel(self) -> None:
        """Let the kernel end, if it runs."""
        if self._done is not None and not self._device.is_broken:
            self._device.activate()
            self._device.upload(self._control + 4, np.array([CANCELLED], np.uint32), self._workspace.side_stream)

    def wait(self) -> None:
        """Until the kernel has ended."""
        if self._done is not None and not self._device.is_broken:
            self._device.activate()
            self._device.wait(self._done)

    def cells_done(self) -> int:
        """About how many."""
        n_tiles = len(self._strips) * self._n_pieces * self._shape.piece
        return int(self._part.cells * min(1.0, int(self._look()["tiles"]) / n_tiles))

    def cells_pruned(self) -> int:
        """About how many; the kernel is done."""
        return min(self._part.cells, int(self._look()["pruned"]))

    def columns_since(self, first: int) -> tuple[int, Line, Line]:
        """H and E of the last column, from this row of the slab on, as far as they are there."""
        self._device.activate()
        n = int(self._look()["rows"]) - first
        lines = np.empty((2, n), self._score)
        place = self._column_bytes * (len(self._kept_columns) - 1) + self._score.itemsize * first
        for name, line in zip(("column H", "column E"), lines, strict=True):
            self._device.download(line, self._scratch(name, 0) + place, self._workspace.side_stream)
        return first, lines[0], lines[1]

    def receive(self, first: int, left_h: Line, left_e: Line) -> None:
        """The column to the left, from this row on."""
        if not len(left_h):
            return
        self._device.activate()
        itemsize, stream = self._score.itemsize, self._workspace.copy_stream
        self._device.upload(self._scratch("left H", 0) + itemsize * (first + 1), left_h, stream)
        self._device.upload(self._scratch("left E", 0) + itemsize * first, left_e, stream)
        self.n_received = first + len(left_h)
        self._device.upload(self._left_rows, np.array([self.n_received], np.uint32), stream)

    def fetch(self, lines: Checkpoints, carry: tuple[Line, Line] | None) -> None:
        """Copy what is kept to where it belongs; the kernel is done."""
        self._device.activate()
        columns = slice(
            self._part.first_column - self._slab.first_column, self._part.end_column - self._slab.first_column
        )
        with Fetcher(self._workspace) as fetcher:
            for name, kept, last in (("row H", lines.row_H, 0), ("row F", lines.row_F, 1)):
                address = self._scratch(name, 0)
                for number, line in enumerate(kept):
                    fetcher.fetch(line[columns], address + self._line_bytes * number)
                if carry is not None:
                    n_lines = len(np.unique(self._kept_rows))
                    fetcher.fetch(carry[last][columns], address + self._line_bytes * (n_lines - 1))
            for name, kept in (("column H", lines.column_H), ("column E", lines.column_E)):
                address = self._scratch(name, 0)
                for number, line in enumerate(kept[self._own]):
                    fetcher.fetch(line, address + self._column_bytes * number)

    def end(self) -> EndCell:
        """The best cell of this part, in letters of the whole sequences."""
        if not self._pair.mode.is_local:
            return NOTHING
        self._device.activate()
        ends = np.empty(len(self._strips), END)
        self._device.download(ends, self._scratch("ends", 0), self._workspace.stream)
        best = ends[np.lexsort((ends["row"], ends["column"], -ends["score"]))[0]]
        if best["score"] == 0:
            return NOTHING
        row, column = self._part.first_row + int(best["row"]) + 1, self._part.first_column + int(best["column"]) + 1
        return EndCell(int(best["score"]), row, column)

    def _fastest_shape(self) -> LongShape:
        facts, part = self._device.properties, self._part

        def cycles(shape: LongShape) -> float:
            """Of whole strips; where columns are kept, packed ones take twice as long."""
            n_warps = facts.n_sms * shape.blocks * (shape.threads // WARP) // self._share
            n_rows = len(strips_of(part.n_rows, shape, np.unique(self._kept_rows))) * shape.strip_rows
            reach = COLUMNS * (shape.lanes + shape.piece) if shape.is_packed else 0
            special = min(1.0, len(self._kept_columns) * reach / part.n_columns)
            return long_cycles(shape, n_rows, part.n_columns, n_warps, facts.n_sms) * (1 + special)

        packed = self._pair.scoring if facts.dpx and self._bytes is not None else None
        shapes = long_shapes(self._folded.n_letters, self._score.itemsize, facts.shared_bytes, packed)
        return min(shapes, key=cycles)

    def _load(self, borders: Boundary) -> None:
        """The kernel, and how many of its warps there are at a time."""
        shape, n_letters, scoring = self._shape, self._folded.n_letters, self._pair.scoring
        highest = max(borders.corner, int(borders.top_H.max()), int(borders.left_H.max()))
        highest += min(self._slab.n_rows, self._slab.n_columns) * max(0, scoring.max_score)
        source = shape.source(
            n_letters,
            scoring,
            is_local=self._pair.mode.is_local,
            is_large=self._score.itemsize > 4,
            large_ends=self._pair.mode.is_local and highest > MAX_SMALL_END,
        )
        self._kernel = self._device.kernel(source, shape.kernel, shape.shared_bytes(n_letters, self._score.itemsize))
        self._block_warps = shape.threads // WARP
        per_sm = min(shape.blocks, self._device.blocks_per_sm(self._kernel, shape.threads))
        n_blocks = self._device.properties.n_sms * per_sm // self._share
        queue_bytes = QUEUE_PIECES * COLUMNS * shape.piece * 2 * self._score.itemsize
        most_warps = int(self._device.budget * ROOM_SHARE) // QUEUES_SHARE // queue_bytes
        self._n_warps = max(1, min(n_blocks, most_warps // self._block_warps)) * self._block_warps

    @property
    def _n_pieces(self) -> int:
        return -(-self._part.n_columns // (COLUMNS * self._shape.piece))

    @property
    def _padded_columns(self) -> int:
        return self._n_pieces * COLUMNS * self._shape.piece

    @property
    def _line_bytes(self) -> int:
        return self._padded_columns * self._score.itemsize

    @property
    def _column_bytes(self) -> int:
        return self._part.n_rows * self._score.itemsize

    def _queue_words(self, n_channels: int) -> int:
        n_pieces = n_channels * QUEUE_PIECES + self._n_pieces
        return n_pieces * COLUMNS * self._shape.piece * (self._score.itemsize // 4)

    def _table(self) -> NDArray[np.int32] | NDArray[np.int8]:
        """What letters score, as the kernel takes it."""
        if self._shape.is_packed:
            assert self._bytes is not None
            return self._bytes.table
        return self._folded.table.astype(np.int32)

    def _tiles(self) -> NDArray[np.uint32] | NDArray[np.uint16]:
        """Where in the profile the letter of each column is, or which bytes it takes; letters behind the last one."""
        n = ((self._n_pieces + 2) * self._shape.piece + 2 * WARP) * COLUMNS
        target = _piece(self._pair.target, self._part)
        if self._shape.is_packed:
            assert self._bytes is not None
            return self._bytes.places(target, n)
        letter_bytes = self._shape.letter_bytes
        offsets = (self._folded.fold.astype(np.uint32) - 1) * np.uint32(letter_bytes)
        tiles = np.full(n, self._folded.n_letters * letter_bytes if self._shape.has_pad else 0, np.uint32)
        np.take(offsets, target, out=tiles[: self._part.n_columns], mode="clip")
        return tiles

    def _top(self, borders: Boundary) -> Iterator[int]:
        begin = self._part.first_column - self._slab.first_column
        for name, line in (("top H", borders.top_H), ("top F", borders.top_F)):
            padded = np.empty(self._padded_columns, self._score)
            padded[: self._part.n_columns] = line[begin : begin + self._part.n_columns]
            padded[self._part.n_columns :] = padded[self._part.n_columns - 1]
            yield self._upload(name, padded)

    def _left(self, borders: Boundary, *, has_left: bool) -> Iterator[int]:
        begin = self._part.first_column - self._slab.first_column
        corner = borders.corner if has_left else borders.top_H[begin - 1]
        column = np.empty(self._part.n_rows + 1, self._score)
        column[0] = corner
        if has_left:
            column[1:] = borders.left_H
        yield self._upload("left H", column)
        yield self._upload("left E", borders.left_E) if has_left else self._scratch("left E", self._column_bytes)

    def _look(self) -> Any:
        """The state of the kernel, as a copy beside it finds it."""
        control = np.empty(1, CONTROL)
        self._device.download(control, self._control, self._workspace.side_stream)
        return control[0]

    def held_lines(self) -> DeviceLines:
        """What stays on the device."""
        lengths = self._line_bytes, self._column_bytes
        return DeviceLines(self._workspace, self._part, self._wanted, self._held, *lengths)

    def _room_for_lines(self) -> Iterable[int]:
        """Addresses of H and F of rows, H and E of columns."""
        across, down = self._line_bytes * len(self._kept_rows), self._column_bytes * len(self._kept_columns)
        sizes = {"row H": across, "row F": across, "column H": down, "column E": down}
        if not self._holds:
            return [self._scratch(name, size) for name, size in sizes.items()]
        self._held = LineMemory(self._workspace, sizes, self._wanted.margin_bytes(self._part))
        return self._held.addresses.values()

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


def _may_pack(pair: PairTable, pruning: Pruning | None, *, wants_end: bool) -> bool:
    """Whether halves of words may be used: not where the best score grows along the way, which is noted slowly."""
    return not (wants_end and pair.mode.is_local) or (pruning is not None and pruning.best > 0)


def _folded(pair: PairTable, region: Region) -> FoldedScores:
    """What letters score, of the target those of the region."""
    return fold_letters(pair.scoring, used_letters(_piece(pair.target, region), len(pair.scoring.matrix)))


def _piece(target: NDArray[np.uint8], region: Region) -> NDArray[np.uint8]:
    return target[region.first_column : region.end_column]


def _rows_of(lines: Checkpoints, region: Region, slab: Region) -> Checkpoints:
    """The lines of a slab, views."""
    own = slice(*np.searchsorted(lines.rows, [slab.first_row, slab.end_row], "right"))
    rows = slice(slab.first_row - region.first_row, slab.end_row - region.first_row)
    columns = lines.column_H[:, rows], lines.column_E[:, rows]
    return Checkpoints(lines.rows[own], lines.row_H[own], lines.row_F[own], lines.columns, *columns)


def _rows_around(borders: Boundary, region: Region, slab: Region) -> Boundary:
    """What surrounds a slab, if the row above it is that of the borders."""
    rows = slice(slab.first_row - region.first_row, slab.end_row - region.first_row)
    return Boundary(borders.top_H, borders.top_F, borders.left_H[rows], borders.left_E[rows], borders.corner)


def _room_for_row(region: Region, lines: Checkpoints) -> tuple[Line, Line]:
    score = lines.row_H.dtype
    return np.empty(region.n_columns, score), np.empty(region.n_columns, score)


def _after(progress: Callable[[int], None], done: int) -> Callable[[int], None]:
    return lambda cells: progress(done + cells)
