"""How a database is cut into batches: as large as the memory of the devices allows, for what the plans of a scan need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.batch_rows import BatchRows
from exaln.engines.cuda.scan.layout import BOUNDARY_TILE_BYTES, PAIRED_TILE_BYTES, SINGLE_TILE_BYTES, tiles_of
from exaln.engines.cuda.scan.plan import PIECES
from exaln.engines.cuda.scan.variants import COLUMNS, Packing

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BATCH_RESIDUES = 256 << 20
MIN_BATCH_RESIDUES = 4 << 20
"""Batches that are made small for overlap or for several devices have at least so many."""

STREAMED_BATCHES = 8
"""A streamed database is cut into at least so many batches, so that sending overlaps computing from early on."""

BATCHES_PER_CARD = 4
"""With several devices, so that the slower ones can be given less."""

SCORES_SHARE = 8
"""One part in so many of the memory is for scores."""

CANDIDATES_SHARE = 64
"""One part in so many is for candidates."""

FIXED_BYTES = 1 << 20
"""What a scan needs besides: queries, lists of pairs, counters; rounded up."""

ROW_BYTES = 28
"""Of a target in a batch, besides its codes: offset, first tiles, chunks; rounded up."""

BEND_BYTES = 7 * 16
"""Of a target that is longer than the one before, at most: a run of each column."""

HEADER_BYTES = 4 << 10
"""Of a batch, besides its rows, rounded up."""

STRIPS_BYTES = 8 << 10
"""Counters, and what strips tell each other besides four bytes for each target; rounded up."""

FINEST = 8
"""Rows are not cut finer than into so many pieces for each, where one of ordinary length is alone."""

MAX_TRIES = 8
RETRY = 0.98


@dataclass(frozen=True)
class Needs:
    """What of a batch a scan has on the device, besides its codes: all of it by default.

    streams: by Packing. boundaries: whether rows between strips of single targets, and of pairs of them, are kept.
    """

    streams: tuple[bool, bool, bool] = (True, True, True)
    boundaries: tuple[bool, bool] = (True, True)

    def __or__(self, other: Needs) -> Needs:
        a, b, c = (one or two for one, two in zip(self.streams, other.streams, strict=True))
        d, e = (one or two for one, two in zip(self.boundaries, other.boundaries, strict=True))
        return Needs((a, b, c), (d, e))

    @property
    def stream_bytes(self) -> int:
        """Of streams, for each tile of a target alone; a pair has half as many tiles."""
        singles, *pairs = self.streams
        return SINGLE_TILE_BYTES * singles + PAIRED_TILE_BYTES // 2 * sum(pairs)

    @property
    def boundary_bytes(self) -> int:
        """Of rows between strips, for the same."""
        singles, pairs = self.boundaries
        return BOUNDARY_TILE_BYTES * singles + BOUNDARY_TILE_BYTES // 2 * pairs


NO_NEEDS = Needs((False, False, False), (False, False))


class RowSums:
    """Rows of a segment in numbers: residues, tiles, bends int64[n + 1], those of all rows before each.

    The first n_short rows are not above long_length; the others have no tiles. A bend is a row that is longer than the
    one before.
    """

    def __init__(self, lengths: NDArray[np.int64], long_length: int) -> None:
        self.n_rows = len(lengths)
        self.n_short = int(np.searchsorted(lengths, long_length, side="right"))
        self.longest = int(lengths[self.n_short - 1]) if self.n_short else 0
        self.residues = _sums(lengths)
        self.tiles = _sums(np.where(lengths <= long_length, tiles_of(lengths), 0))
        self.bends = _sums(np.diff(lengths, prepend=-1) > 0)

    @property
    def n_tiles(self) -> int:
        """Of all rows."""
        return int(self.tiles[-1])

    def total(self, per_row: int, per_residue: int, per_tile: int) -> int:
        """The weight of all rows."""
        return per_row * self.n_rows + per_residue * int(self.residues[-1]) + per_tile * int(self.tiles[-1])

    def weights(self, per_row: int, per_residue: int, per_tile: int, per_bend: int = 0) -> NDArray[np.int64]:
        """int64[n + 1]: the weight of all rows before each."""
        weights: NDArray[np.int64] = per_row * np.arange(self.n_rows + 1) + per_residue * self.residues
        for factor, sums in ((per_tile, self.tiles), (per_bend, self.bends)):
            if factor:
                weights += factor * sums
        return weights


def _sums(numbers: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.int64]:
    sums = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=sums[1:])
    return sums


@dataclass(frozen=True)
class Largest:
    """The most rows, residues, tiles and bends of any batch, and tiles of any target."""

    n_rows: int
    n_residues: int
    n_tiles: int
    n_bends: int
    longest_tiles: int

    def scratch(self, needs: Needs, n_queries: int) -> dict[str, int]:
        """Bytes of the memory that streamed batches share, by the names that it has; so that it never has to grow."""
        n_tiles = (self.n_tiles + 1, (self.n_tiles + self.longest_tiles) // 2 + 2)
        sizes = {}
        for number in range(2):
            rows = ROW_BYTES * self.n_rows + BEND_BYTES * (self.n_bends + PIECES)
            sizes[f"slot {number}"] = self.n_residues + rows + HEADER_BYTES
            sizes[f"scores {number}"] = 4 * (n_queries * (self.n_rows + 1) + self.n_rows) + STRIPS_BYTES
        for packing in Packing:
            if needs.streams[packing]:
                is_paired = packing != Packing.TWO_QUERIES
                tile_bytes = PAIRED_TILE_BYTES if is_paired else SINGLE_TILE_BYTES
                sizes[f"stream {packing:d}"] = tile_bytes * n_tiles[is_paired]
        for is_paired in (False, True):
            if needs.boundaries[is_paired]:
                sizes[f"boundary {is_paired:d}"] = BOUNDARY_TILE_BYTES * n_tiles[is_paired]
        return sizes


@dataclass(frozen=True)
class Division:
    """How a database is scanned: whether its batches stay on the devices, and the batches."""

    is_resident: bool
    batches: list[BatchRows]
    largest: Largest
    least_budget: int = 0
    """Bytes on each device for which it was made, if it is resident."""


def divide_resident(segments: Sequence[RowSums], budget: int, n_devices: int = 1) -> Division | None:
    """Cut segments to stay on devices with `budget` bytes each; None if they do not fit.

    They fit if codes, columns and streams of all batches leave enough for scoring one of reasonable size. Whatever the
    queries need, so that batches are the same in all scans.
    """
    needs = Needs()
    kept = sum(rows.total(ROW_BYTES, 1, needs.stream_bytes) for rows in segments)
    spare = budget - budget // SCORES_SHARE - -(-kept // n_devices)
    largest = max((rows.total(1, 0, needs.boundary_bytes) for rows in segments), default=0)
    if spare < min(largest, MIN_BATCH_RESIDUES * needs.boundary_bytes // COLUMNS):
        return None
    weights = [rows.weights(1, 0, needs.boundary_bytes) for rows in segments]
    division = _cut(segments, weights, spare, BATCHES_PER_CARD * n_devices if n_devices > 1 else 1, is_resident=True)
    used = -(-kept // n_devices) + division.largest.n_tiles * needs.boundary_bytes
    return replace(division, least_budget=used * SCORES_SHARE // (SCORES_SHARE - 1))


def divide_streamed(
    segments: Sequence[RowSums], budget: int, needs: Needs, n_queries: int, n_devices: int = 1
) -> Division:
    """Cut segments to pass through devices with `budget` bytes each, so many queries at a time.

    Two batches are on a device at a time, of which one is computed. Some batches have more rows, others more tiles, and
    there must be memory for the most of each. Long targets have batches of their own.
    """
    per_tile = needs.stream_bytes + needs.boundary_bytes
    weights = [rows.weights(2 * ROW_BYTES + 8 * (n_queries + 1), 2, per_tile, 2 * BEND_BYTES) for rows in segments]
    room = max(1, budget - budget // CANDIDATES_SHARE - FIXED_BYTES)
    limit = float(room)
    for _ in range(MAX_TRIES):
        division = _cut(segments, weights, max(1, int(limit)), STREAMED_BATCHES * n_devices, is_resident=False)
        used = sum(division.largest.scratch(needs, n_queries).values())
        if used <= room:
            break
        limit *= RETRY * room / used
    return division


def _cut(
    segments: Sequence[RowSums], weights: Sequence[NDArray[np.int64]], limit: int, n_least: int, *, is_resident: bool
) -> Division:
    """Batches of even weight, none far above the limit; n_least or more of them, if they do not get too small."""
    n_residues = sum(int(rows.residues[-1]) for rows in segments)
    most = min(MAX_BATCH_RESIDUES, max(MIN_BATCH_RESIDUES, -(-n_residues // n_least)))
    batches: list[BatchRows] = []
    largest = (0, 0, 0, 0)
    for number, (rows, own) in enumerate(zip(segments, weights, strict=True)):
        for pieces in _batches(rows, own, limit, most, is_resident=is_resident):
            begins, ends = np.array(pieces).T
            sums = [int((column[ends] - column[begins]).sum()) for column in (rows.residues, rows.tiles, rows.bends)]
            sizes = (int((ends - begins).sum()), *sums)
            n_rows, n_own, n_tiles, n_bends = (max(one, other) for one, other in zip(largest, sizes, strict=True))
            largest = n_rows, n_own, n_tiles, n_bends
            batches.append(BatchRows(number, pieces, sums[0]))
    longest = max((rows.longest for rows in segments), default=0)
    return Division(is_resident, batches, Largest(*largest, -(-longest // COLUMNS)))


Pieces = tuple[tuple[int, int], ...]


def _batches(
    rows: RowSums, weights: NDArray[np.int64], limit: int, most: int, *, is_resident: bool
) -> Iterator[Pieces]:
    """Those of a segment. Streamed ones have pieces spread over all lengths; long targets go by themselves, before the
    last batch, so that it is computed while the longest ones are still under way.
    """
    n_mixed = rows.n_rows if is_resident else rows.n_short
    n_batches = max(1, -(-int(weights[n_mixed]) // limit), -(-int(rows.residues[n_mixed]) // most))
    edges = even_edges(weights[: n_mixed + 1], n_batches if is_resident or n_batches == 1 else n_batches * PIECES)
    *mixed, last = _dealt(list(pairwise(edges.tolist())), n_batches) or [()]
    yield from mixed
    if n_mixed < rows.n_rows:
        residues = rows.residues[n_mixed:] - rows.residues[n_mixed]
        share = max(1, min(limit // 2, int(rows.residues[n_mixed]) // n_batches))
        edges = n_mixed + even_edges(residues, -(-int(residues[-1]) // share))
        yield from (((first, end),) for first, end in pairwise(edges.tolist()))
    if last:
        yield last


def _dealt(ranges: Sequence[tuple[int, int]], n_batches: int) -> list[Pieces]:
    """Ranges dealt to batches, forwards and backwards in turns, so that none gets the longer ones each time.

    >>> _dealt([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], 2)
    [((0, 1), (3, 4), (4, 5)), ((1, 2), (2, 3))]
    """
    batches: list[list[tuple[int, int]]] = [[] for _ in range(min(n_batches, len(ranges)))]
    for number, own in enumerate(ranges):
        turn, place = divmod(number, n_batches)
        batches[n_batches - 1 - place if turn % 2 else place].append(own)
    return [tuple(own) for own in batches]


def even_edges(weights: NDArray[np.int64], n_pieces: int) -> NDArray[np.int64]:
    """Where to cut rows into at most n_pieces of about equal weight, none empty. weights: of all rows before each.

    >>> even_edges(np.array([0, 1, 2, 3, 6, 12]), 4)
    array([0, 3, 4, 5])
    """
    n_rows = len(weights) - 1
    if not n_rows:
        return np.zeros(1, np.int64)
    n_pieces = min(n_pieces, FINEST * n_rows)
    goals = weights[-1] * np.arange(1, n_pieces) // max(1, n_pieces)
    return np.unique(np.concatenate([[0], np.searchsorted(weights, goals), [n_rows]]))
