"""How a database is cut into batches, as large as device memory and the requirements of a plan allow.

Everything here is a pure function of target lengths, so that a division can be computed without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.runtime.constants import COLUMNS
from exaln.engines.cuda.scan.batch_rows import BatchRows
from exaln.engines.cuda.scan.buffers import BOUNDARIES, RESULT_BUFFERS, SLOTS, STREAMS, Buffer
from exaln.engines.cuda.scan.long_targets import LENGTH_CLASSES
from exaln.engines.cuda.scan.shapes import Packing
from exaln.engines.cuda.scan.sizes import PrefixSums, tiles_of
from exaln.engines.cuda.scan.stream_layout import BOUNDARY_TILE_BYTES, PAIRED_TILE_BYTES, SINGLE_TILE_BYTES
from exaln.engines.cuda.scan.strips import Strip
from exaln.foundation.distinct import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.scan.sizes import Sizes

MAX_BATCH_RESIDUES = 256 << 20
MIN_BATCH_RESIDUES = 4 << 20
"""Least residues of a batch that is made small for overlap or for several devices."""

STREAMED_BATCHES = 8
"""Least number of batches of a streamed database, so that uploads overlap with computing from early on."""

BATCHES_PER_DEVICE = 4
"""With several devices, so that slower ones can take fewer."""

SCORES_SHARE = 8
"""Scores take 1 / SCORES_SHARE of the memory."""

CANDIDATES_SHARE = 64
"""Candidates take 1 / CANDIDATES_SHARE of the memory."""

FIXED_BYTES = 1 << 20
"""Other memory of a scan: queries, lists of pairs, counters; rounded up."""

ROW_BYTES = 28
"""Memory of a target in a batch besides its codes: offset, first tiles, chunks; rounded up."""

BREAKPOINT_BYTES = 7 * 16
"""Most memory of the breakpoints at a target that is longer than the one before: one in each column."""

HEADER_BYTES = 4 << 10
"""Memory of a batch besides its rows, rounded up."""

STRIPS_BYTES = 8 << 10
"""Counters and progress flags besides four bytes per target, rounded up."""

MAX_CUTS_PER_ROW = 8
"""Most cuts that `even_edges` looks for, per row."""

MAX_TRIES = 8
RETRY = 0.98


@dataclass(frozen=True)
class Requirements:
    """What a scan has on the device for each batch besides its codes; by default everything.

    streams: by Packing. boundaries: whether boundary rows of single targets, and of pairs of targets, are stored.
    """

    streams: tuple[bool, bool, bool] = (True, True, True)
    boundaries: tuple[bool, bool] = (True, True)

    @staticmethod
    def of(strips: Sequence[Strip]) -> Requirements:
        """Return what the launches of these strips read and store."""
        packings = {strip.shape.packing for strip in strips}
        stored = {strip.shape.is_paired for strip in strips if strip.keeps_rows}
        singles, pairs, merged = (packing in packings for packing in Packing)
        return Requirements((singles, pairs, merged), (False in stored, True in stored))

    @property
    def stream_bytes(self) -> int:
        """Bytes of all streams per tile of a single target; pairs have half as many tiles."""
        singles, *pairs = self.streams
        return SINGLE_TILE_BYTES * singles + PAIRED_TILE_BYTES // 2 * sum(pairs)

    @property
    def boundary_bytes(self) -> int:
        """Bytes of all boundary rows per tile of a single target."""
        singles, pairs = self.boundaries
        return BOUNDARY_TILE_BYTES * singles + BOUNDARY_TILE_BYTES // 2 * pairs


NO_REQUIREMENTS = Requirements((False, False, False), (False, False))


class RowSums:
    """Prefix sums over the rows of a segment with these lengths: residues, tiles and breakpoints.

    The first n_short rows are not longer than long_length; the others have no tiles. A row that is longer than the one
    before is a breakpoint.
    """

    def __init__(self, lengths: Sizes, long_length: int) -> None:
        self.n_rows = len(lengths)
        self.n_short = lengths.n_up_to(long_length)
        self.longest = int(lengths.at(np.array(self.n_short - 1))) if self.n_short else 0
        self._firsts, self._lengths = lengths.firsts, lengths.values
        self._tiles = np.where(lengths.values <= long_length, tiles_of(lengths.values), 0)
        self.residues = self.weights(0, 1, 0)
        self.tiles = self.weights(0, 0, 1)
        self.breakpoints = self.weights(0, 0, 0, 1)

    @property
    def n_tiles(self) -> int:
        """Tiles of all rows."""
        return self.tiles.total

    def total(self, per_row: int, per_residue: int, per_tile: int) -> int:
        """Return the weight of all rows."""
        return per_row * self.n_rows + per_residue * self.residues.total + per_tile * self.tiles.total

    def weights(self, per_row: int, per_residue: int, per_tile: int, per_breakpoint: int = 0) -> PrefixSums:
        """Return the weight of all rows before each."""
        steps = per_row + per_residue * self._lengths + per_tile * self._tiles
        return PrefixSums(self._firsts, self.n_rows, steps, per_breakpoint)


@dataclass(frozen=True)
class Largest:
    """The most rows, residues, tiles and breakpoints of any batch, and the most tiles of any target."""

    n_rows: int
    n_residues: int
    n_tiles: int
    n_breakpoints: int
    longest_tiles: int

    def with_batch(self, n_rows: int, n_residues: int, n_tiles: int, n_breakpoints: int) -> Largest:
        """Return the most of these and of another batch."""
        return Largest(
            max(self.n_rows, n_rows),
            max(self.n_residues, n_residues),
            max(self.n_tiles, n_tiles),
            max(self.n_breakpoints, n_breakpoints),
            self.longest_tiles,
        )

    def scratch(self, requirements: Requirements, n_queries: int) -> dict[Buffer, int]:
        """Return the bytes of the scratch buffers that streamed batches share, so that they never have to grow."""
        n_tiles = (self.n_tiles + 1, (self.n_tiles + self.longest_tiles) // 2 + 2)
        rows = ROW_BYTES * self.n_rows + BREAKPOINT_BYTES * (self.n_breakpoints + LENGTH_CLASSES)
        scores = 4 * (n_queries * (self.n_rows + 1) + self.n_rows) + STRIPS_BYTES
        sizes = dict.fromkeys(SLOTS, self.n_residues + rows + HEADER_BYTES)
        sizes |= {buffers.launch_state: scores for buffers in RESULT_BUFFERS}
        for packing, stream in STREAMS.items():
            if requirements.streams[packing]:
                tile_bytes = PAIRED_TILE_BYTES if packing.is_paired else SINGLE_TILE_BYTES
                sizes[stream] = tile_bytes * n_tiles[packing.is_paired]
        for is_paired, boundary in enumerate(BOUNDARIES):
            if requirements.boundaries[is_paired]:
                sizes[boundary] = BOUNDARY_TILE_BYTES * n_tiles[is_paired]
        return sizes


@dataclass(frozen=True)
class Division:
    """How a database is cut. is_resident: whether batches stay on the devices.

    min_budget: bytes on each device that a resident division needs.
    """

    is_resident: bool
    batches: tuple[BatchRows, ...]
    largest: Largest
    min_budget: int = 0


def divide_resident(segments: Sequence[RowSums], budget: int, n_devices: int = 1) -> Division | None:
    """Cut segments to stay on devices with `budget` bytes each; return None if they do not fit.

    They fit if codes, columns and streams of all batches leave enough memory to score a batch of reasonable size. All
    requirements are assumed, so that batches are the same in every scan.
    """
    requirements = Requirements()
    kept = sum(rows.total(ROW_BYTES, 1, requirements.stream_bytes) for rows in segments)
    spare = budget - budget // SCORES_SHARE - -(-kept // n_devices)
    boundary_bytes = requirements.boundary_bytes
    largest = max((rows.total(1, 0, boundary_bytes) for rows in segments), default=0)
    if spare < min(largest, MIN_BATCH_RESIDUES * boundary_bytes // COLUMNS):
        return None
    weights = [rows.weights(1, 0, boundary_bytes) for rows in segments]
    division = _cut(segments, weights, spare, BATCHES_PER_DEVICE * n_devices if n_devices > 1 else 1, is_resident=True)
    used = -(-kept // n_devices) + division.largest.n_tiles * boundary_bytes
    return replace(division, min_budget=used * SCORES_SHARE // (SCORES_SHARE - 1))


def divide_streamed(
    segments: Sequence[RowSums], budget: int, requirements: Requirements, n_queries: int, n_devices: int = 1
) -> Division:
    """Cut segments to pass through devices with `budget` bytes each, n_queries queries at a time.

    Two batches are on a device at a time, of which one is scored. Some batches have more rows, others more tiles, and
    there must be memory for the most of each. Long targets have batches of their own.
    """
    per_tile = requirements.stream_bytes + requirements.boundary_bytes
    per_row = 2 * ROW_BYTES + 8 * (n_queries + 1)
    weights = [rows.weights(per_row, 2, per_tile, 2 * BREAKPOINT_BYTES) for rows in segments]
    room = max(1, budget - budget // CANDIDATES_SHARE - FIXED_BYTES)
    limit = float(room)
    for _ in range(MAX_TRIES):
        division = _cut(segments, weights, max(1, int(limit)), STREAMED_BATCHES * n_devices, is_resident=False)
        used = sum(division.largest.scratch(requirements, n_queries).values())
        if used <= room:
            break
        limit *= RETRY * room / used
    return division


def _cut(
    segments: Sequence[RowSums],
    weights: Sequence[PrefixSums],
    limit: int,
    min_batches: int,
    *,
    is_resident: bool,
) -> Division:
    """Cut segments into batches of even weight, none far above the limit, and min_batches or more if large enough."""
    total = sum(rows.residues.total for rows in segments)
    max_residues = min(MAX_BATCH_RESIDUES, max(MIN_BATCH_RESIDUES, -(-total // min_batches)))
    batches: list[BatchRows] = []
    largest = Largest(0, 0, 0, 0, -(-max((rows.longest for rows in segments), default=0) // COLUMNS))
    for number, (rows, own) in enumerate(zip(segments, weights, strict=True)):
        columns = rows.residues, rows.tiles, rows.breakpoints
        for pieces in _batches(rows, own, limit, max_residues, is_resident=is_resident):
            begins, ends = np.array(pieces).T
            n_residues, n_tiles, n_breakpoints = (
                int((column.at(ends) - column.at(begins)).sum()) for column in columns
            )
            largest = largest.with_batch(int((ends - begins).sum()), n_residues, n_tiles, n_breakpoints)
            batches.append(BatchRows(number, pieces, n_residues))
    return Division(is_resident, tuple(batches), largest)


Pieces = tuple[tuple[int, int], ...]


def _batches(
    rows: RowSums, weights: PrefixSums, limit: int, max_residues: int, *, is_resident: bool
) -> Iterator[Pieces]:
    """Yield the batches of a segment. Streamed batches have pieces of all length classes.

    Batches of long targets come before the last batch, which is computed while the longest targets are still running.
    """
    n_mixed = rows.n_rows if is_resident else rows.n_short
    weight, n_residues = (int(sums.at(np.array(n_mixed))) for sums in (weights, rows.residues))
    n_batches = max(1, -(-weight // limit), -(-n_residues // max_residues))
    n_pieces = n_batches if is_resident or n_batches == 1 else n_batches * LENGTH_CLASSES
    edges = even_edges(weights, 0, n_mixed, n_pieces)
    *mixed, last = _dealt(list(pairwise(edges.tolist())), n_batches) or [()]
    yield from mixed
    if n_mixed < rows.n_rows:
        share = max(1, min(limit // 2, n_residues // n_batches))
        edges = even_edges(rows.residues, n_mixed, rows.n_rows, -(-(rows.residues.total - n_residues) // share))
        yield from (((first, end),) for first, end in pairwise(edges.tolist()))
    if last:
        yield last


def _dealt(ranges: Sequence[tuple[int, int]], n_batches: int) -> list[Pieces]:
    """Deal ranges to batches, forwards and backwards in turn, so that none always gets the longer rows.

    >>> _dealt([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], 2)
    [((0, 1), (3, 4), (4, 5)), ((1, 2), (2, 3))]
    """
    batches: list[list[tuple[int, int]]] = [[] for _ in range(min(n_batches, len(ranges)))]
    for number, own in enumerate(ranges):
        deal, place = divmod(number, n_batches)
        batches[n_batches - 1 - place if deal % 2 else place].append(own)
    return [tuple(own) for own in batches]


def even_edges(weights: PrefixSums, first: int, end: int, n_pieces: int) -> NDArray[np.int64]:
    """Return where to cut rows [first, end) into at most n_pieces pieces of about equal weight, none empty.

    >>> even_edges(PrefixSums(np.array([0, 3, 4]), 5, np.array([1, 3, 6])), 0, 5, 4)
    array([0, 3, 4, 5])
    """
    if end <= first:
        return np.array([first])
    n_pieces = min(n_pieces, MAX_CUTS_PER_ROW * (end - first))
    begin, total = weights.at(np.array([first, end])).tolist()
    goals = begin + (total - begin) * np.arange(1, n_pieces) // max(1, n_pieces)
    cuts = np.maximum(weights.first_at_least(goals), first)
    return distinct(np.concatenate([[first], cuts, [end]]))
