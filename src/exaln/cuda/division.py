"""How a database is cut into batches: as large as the memory of the cards allows, for what the plans of a scan need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.cuda.layout import BOUNDARY_TILE_BYTES, PAIRED_TILE_BYTES, SINGLE_TILE_BYTES, tiles_of
from exaln.cuda.variants import COLUMNS
from exaln.schedule import RowRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BATCH_RESIDUES = 256 << 20
MIN_BATCH_RESIDUES = 4 << 20
"""Batches that are made small for overlap or for several cards have at least so many."""

STREAMED_BATCHES = 8
"""A streamed database is cut into at least so many batches, so that sending overlaps computing from early on."""

BATCHES_PER_CARD = 4
"""With several cards, so that the slower ones can be given less."""

SCORES_SHARE = 8
"""One part in so many of the memory is for scores."""

CANDIDATES_SHARE = 32
"""One part in so many is for candidates."""

FIXED_BYTES = 3 << 20
"""What a scan needs besides: queries, lists of pairs, counters; rounded up."""

ROW_BYTES = 26
"""Of a target in a batch, besides its codes: offset, first tiles, chunks; rounded up."""

HEADER_BYTES = 64 << 10
"""Of a batch, besides its rows: runs; rounded up."""

MAX_TRIES = 8
RETRY = 0.98


@dataclass(frozen=True)
class Needs:
    """Which streams, single and paired, a scan reads, and between which it keeps rows; all of them by default."""

    streams: tuple[bool, bool] = (True, True)
    boundaries: tuple[bool, bool] = (True, True)

    def __or__(self, other: Needs) -> Needs:
        (a, b), (c, d) = self.streams, self.boundaries
        (e, f), (g, h) = other.streams, other.boundaries
        return Needs((a or e, b or f), (c or g, d or h))

    @property
    def stream_bytes(self) -> int:
        """Of streams, for each tile of a target alone; a pair has half as many tiles."""
        return SINGLE_TILE_BYTES * self.streams[0] + PAIRED_TILE_BYTES // 2 * self.streams[1]

    @property
    def boundary_bytes(self) -> int:
        """Of rows between strips, for the same."""
        return BOUNDARY_TILE_BYTES * self.boundaries[0] + BOUNDARY_TILE_BYTES // 2 * self.boundaries[1]


NO_NEEDS = Needs((False, False), (False, False))


class RowSums:
    """Rows of a segment in numbers: residues, tiles int64[n + 1], those of all rows before each.

    Rows above long_length have no tiles.
    """

    def __init__(self, lengths: NDArray[np.int64], long_length: int) -> None:
        self.n_rows = len(lengths)
        self.longest = int(lengths[np.searchsorted(lengths, long_length, side="right") - 1]) if len(lengths) else 0
        self.residues = _sums(lengths)
        self.tiles = _sums(np.where(lengths <= long_length, tiles_of(lengths), 0))

    def total(self, per_row: int, per_residue: int, per_tile: int) -> int:
        """The weight of all rows."""
        return per_row * self.n_rows + per_residue * int(self.residues[-1]) + per_tile * int(self.tiles[-1])

    def weights(self, per_row: int, per_residue: int, per_tile: int) -> NDArray[np.int64]:
        """int64[n + 1]: the weight of all rows before each."""
        weights: NDArray[np.int64] = per_row * np.arange(self.n_rows + 1) + per_residue * self.residues
        return weights + per_tile * self.tiles if per_tile else weights


def _sums(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    sums = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=sums[1:])
    return sums


@dataclass(frozen=True)
class Largest:
    """The most rows, residues and tiles of any batch, and tiles of any target."""

    n_rows: int
    n_residues: int
    n_tiles: int
    longest_tiles: int

    def scratch(self, needs: Needs, n_queries: int) -> dict[str, int]:
        """Bytes of the memory that streamed batches share, by the names that it has; so that it never has to grow."""
        n_tiles = {False: self.n_tiles + 1, True: (self.n_tiles + self.longest_tiles) // 2 + 2}
        tile_bytes = {False: SINGLE_TILE_BYTES, True: PAIRED_TILE_BYTES}
        sizes = {}
        for number in range(2):
            sizes[f"slot {number}"] = self.n_residues + ROW_BYTES * self.n_rows + HEADER_BYTES
            sizes[f"scores {number}"] = 4 * n_queries * (self.n_rows + 1)
        for paired in (False, True):
            if needs.streams[paired]:
                sizes[f"stream {paired:d}"] = tile_bytes[paired] * n_tiles[paired]
            if needs.boundaries[paired]:
                sizes[f"boundary {paired:d}"] = BOUNDARY_TILE_BYTES * n_tiles[paired]
        return sizes


@dataclass(frozen=True)
class Division:
    """How a database is scanned: whether its batches stay on the cards, and the batches."""

    is_resident: bool
    ranges: list[RowRange]
    largest: Largest
    least_budget: int = 0
    """Bytes on each card for which it was made, if it is resident."""


def divide_resident(segments: Sequence[RowSums], budget: int, n_cards: int = 1) -> Division | None:
    """Cut segments to stay on cards with `budget` bytes each; None if they do not fit.

    They fit if codes, columns and streams of all batches leave enough for scoring one of reasonable size. Whatever the
    queries need, so that batches are the same in all scans.
    """
    needs = Needs()
    kept = sum(rows.total(ROW_BYTES, 1, needs.stream_bytes) for rows in segments)
    spare = budget - budget // SCORES_SHARE - -(-kept // n_cards)
    largest = max((rows.total(1, 0, needs.boundary_bytes) for rows in segments), default=0)
    if spare < min(largest, MIN_BATCH_RESIDUES * needs.boundary_bytes // COLUMNS):
        return None
    weights = [rows.weights(1, 0, needs.boundary_bytes) for rows in segments]
    division = _cut(segments, weights, spare, BATCHES_PER_CARD * n_cards if n_cards > 1 else 1, is_resident=True)
    used = -(-kept // n_cards) + division.largest.n_tiles * needs.boundary_bytes
    return replace(division, least_budget=used * SCORES_SHARE // (SCORES_SHARE - 1))


def divide_streamed(
    segments: Sequence[RowSums], budget: int, needs: Needs, n_queries: int, n_cards: int = 1, wave: int = 0
) -> Division:
    """Cut segments to pass through cards with `budget` bytes each, so many queries at a time.

    Two batches are on a card at a time, of which one is computed. Some batches have more rows, others more tiles, and
    there must be memory for the most of each. wave: the rows that a card scores side by side, see `wave_edges`.
    """
    per_tile = needs.stream_bytes + needs.boundary_bytes
    weights = [rows.weights(2 * ROW_BYTES + 8 * n_queries, 2, per_tile) for rows in segments]
    room = max(1, budget - budget // CANDIDATES_SHARE - FIXED_BYTES)
    limit = float(room)
    for _ in range(MAX_TRIES):
        division = _cut(segments, weights, max(1, int(limit)), STREAMED_BATCHES * n_cards, is_resident=False, wave=wave)
        used = sum(division.largest.scratch(needs, n_queries).values())
        if used <= room:
            break
        limit *= RETRY * room / used
    return division


def _cut(
    segments: Sequence[RowSums],
    weights: Sequence[NDArray[np.int64]],
    limit: int,
    n_least: int,
    *,
    is_resident: bool,
    wave: int = 0,
) -> Division:
    """Ranges of even weight, none above the limit; n_least or more of them, if they do not get too small."""
    n_residues = sum(int(rows.residues[-1]) for rows in segments)
    most = min(MAX_BATCH_RESIDUES, max(MIN_BATCH_RESIDUES, -(-n_residues // n_least)))
    ranges: list[RowRange] = []
    n_rows = n_in_batch = n_tiles = 0
    for number, (rows, own) in enumerate(zip(segments, weights, strict=True)):
        n_pieces = max(-(-int(own[-1]) // limit), -(-int(rows.residues[-1]) // most))
        edges = even_edges(own, n_pieces)
        if wave and n_pieces > 1:
            edges = wave_edges(own, min(limit, -(-int(own[-1]) // n_pieces)), wave)
        residues = np.diff(rows.residues[edges])
        n_rows = max(n_rows, int(np.diff(edges).max(initial=0)))
        n_in_batch = max(n_in_batch, int(residues.max(initial=0)))
        n_tiles = max(n_tiles, int(np.diff(rows.tiles[edges]).max(initial=0)))
        for (first, end), n in zip(pairwise(edges.tolist()), residues.tolist(), strict=True):
            ranges.append(RowRange(number, first, end, n))
    longest = max((rows.longest for rows in segments), default=0)
    return Division(is_resident, ranges, Largest(n_rows, n_in_batch, n_tiles, -(-longest // COLUMNS)))


def even_edges(weights: NDArray[np.int64], n_pieces: int) -> NDArray[np.int64]:
    """Where to cut rows into at most n_pieces of about equal weight, none empty. weights: of all rows before each.

    >>> even_edges(np.array([0, 1, 2, 3, 6, 12]), 4)
    array([0, 3, 4, 5])
    """
    n_rows = len(weights) - 1
    if not n_rows:
        return np.zeros(1, np.int64)
    goals = weights[-1] * np.arange(1, n_pieces) // max(1, n_pieces)
    return np.unique(np.concatenate([[0], np.searchsorted(weights, goals), [n_rows]]))


FULL_WAVES = 0.9
"""A batch whose last wave makes less of it useless than this leaves is as large as it can be."""


def wave_edges(weights: NDArray[np.int64], limit: int, wave: int) -> NDArray[np.int64]:
    """Where to cut rows into pieces of at most this weight, so that each keeps all groups of lanes busy to its end.

    Rows of a piece are about equally long, and a card scores `wave` of them side by side: with a little more than a
    whole number of waves, most groups would wait for the last few rows. Longer targets are scored by larger groups,
    which are half or a quarter as many. weights: of all rows before each.

    >>> wave_edges(np.arange(0, 101), limit=25, wave=10)
    array([  0,  20,  40,  60,  80, 100])
    >>> wave_edges(np.arange(0, 101), limit=39, wave=10)
    array([  0,  39,  78, 100])
    """
    n_rows, edges = len(weights) - 1, [0]
    while edges[-1] < n_rows:
        first = edges[-1]
        end = min(n_rows, int(np.searchsorted(weights, weights[first] + limit, side="right")) - 1)
        n_own = max(1, end - first)
        edges.append(first + (n_own if end == n_rows else _whole_waves(n_own, wave)))
    return np.array(edges)


def _whole_waves(n_rows: int, wave: int) -> int:
    for size in (wave, wave // 2, wave // 4):
        if 0 < size <= n_rows:
            n_waves = n_rows / size
            return n_rows if n_waves / -(-n_rows // size) >= FULL_WAVES else n_rows // size * size
    return n_rows
