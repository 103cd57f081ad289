"""Where targets lie in the streams that the kernels read, and how streams are cut into chunks.

A stream is a sequence of tiles of four columns: one idle tile, then the targets, each with as many tiles as its
residues need and at least one. In the paired stream targets 2i and 2i + 1 share their tiles. Targets are sorted by
length, so their offsets and first tiles are piecewise linear, and are computed and sent as breakpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.runtime.constants import COLUMNS
from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK_TILES = 8
"""Least number of tiles of a chunk, the unit of work of a group of lanes."""

MAX_TILES = (1 << 32) - 8
"""Tiles are counted in 32 bits."""

SINGLE_TILE_BYTES, PAIRED_TILE_BYTES, BOUNDARY_TILE_BYTES = 4, 8, 32
"""Four columns of one target, of a pair of targets, and of H and F in the boundary row between two strips."""


@dataclass(frozen=True)
class PiecewiseLinear:
    """A column of n numbers that is piecewise linear. breakpoints: int64[k, 3] of first, value, step.

    Element i is value + (i - first) * step of the last breakpoint with first <= i.

    >>> PiecewiseLinear(np.array([[0, 5, 0], [2, 10, 3]]), 5).expanded()
    array([ 5,  5, 10, 13, 16])
    """

    breakpoints: NDArray[np.int64]
    n: int

    def expanded(self) -> NDArray[np.int64]:
        """Return int64[n]: the numbers, as kernels/expand.cu writes them."""
        places = np.arange(self.n)
        last = np.searchsorted(self.breakpoints[:, 0], places, side="right") - 1
        first, value, step = self.breakpoints[last].T
        numbers: NDArray[np.int64] = value + (places - first) * step
        return numbers


@dataclass(frozen=True)
class Sizes:
    """Ascending numbers, run-length encoded: values int64[k], firsts int64[k] (where each value begins), n in all.

    >>> sizes = Sizes.of(np.array([2, 2, 5, 5, 5, 9]))
    >>> sizes.values, sizes.firsts
    (array([2, 5, 9]), array([0, 2, 5]))
    """

    values: NDArray[np.int64]
    firsts: NDArray[np.int64]
    n: int

    @staticmethod
    def of(numbers: NDArray[np.int64]) -> Sizes:
        """Encode ascending numbers."""
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return Sizes(numbers[firsts], firsts, len(numbers))

    def rows(self, first: int, end: int) -> Sizes:
        """Return the numbers from `first` up to `end`."""
        if end <= first:
            return Sizes(self.values[:0], self.firsts[:0], 0)
        begin, last = np.searchsorted(self.firsts, (first, end - 1), side="right") - 1
        own = slice(int(begin), int(last) + 1)
        return Sizes(self.values[own], np.maximum(self.firsts[own] - first, 0), end - first)

    @staticmethod
    def joined(parts: Sequence[Sizes]) -> Sizes:
        """Concatenate parts, whose numbers must ascend.

        >>> Sizes.joined([Sizes.of(np.array([2, 5])), Sizes.of(np.array([5, 7]))]).firsts
        array([0, 1, 3])
        """
        ends = np.cumsum([0, *(part.n for part in parts)])
        values = np.concatenate([part.values for part in parts])
        firsts = np.concatenate([part.firsts + begin for part, begin in zip(parts, ends[:-1].tolist(), strict=True)])
        is_new = np.diff(values, prepend=-1) > 0
        return Sizes(values[is_new], firsts[is_new], int(ends[-1]))

    def tiles(self) -> Sizes:
        """Return the tiles of targets with these lengths."""
        tiles = tiles_of(self.values)
        is_new = np.diff(tiles, prepend=0) > 0
        return Sizes(tiles[is_new], self.firsts[is_new], self.n)

    def larger_of_pairs(self) -> Sizes:
        """Return the second number of each pair, and the last number if it has no partner."""
        firsts = self.firsts // 2
        is_kept = np.diff(firsts, append=self.n) > 0
        return Sizes(self.values[is_kept], firsts[is_kept], -(-self.n // 2))

    def sums(self, begin: int = 0) -> PiecewiseLinear:
        """Return begin plus the sum of all numbers before each, and of all numbers: n + 1 in all."""
        if not self.n:
            return PiecewiseLinear(np.array([[0, begin, 0]]), 1)
        before = np.cumsum(np.diff(self.firsts, prepend=0) * np.append(0, self.values[:-1]))
        return PiecewiseLinear(np.stack((self.firsts, begin + before, self.values), axis=1), self.n + 1)

    @property
    def total(self) -> int:
        """Sum of all numbers."""
        return int((np.diff(self.firsts, append=self.n) * self.values).sum())


@dataclass(frozen=True)
class StreamLayout:
    """The layout of a stream of single targets or (paired) of pairs of targets.

    starts: the first tile of each target or pair, then the number of all tiles; tile 0 is idle.
    chunk_tiles, chunk_ids: the first tile and the first target or pair of each chunk, then the ends of the last chunk.
    """

    is_paired: bool
    starts: PiecewiseLinear
    chunk_tiles: PiecewiseLinear
    chunk_ids: PiecewiseLinear
    n_tiles: int

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return self.chunk_ids.n - 1

    @property
    def n_bytes(self) -> int:
        """Bytes of the stream on the device."""
        return self.n_tiles * (PAIRED_TILE_BYTES if self.is_paired else SINGLE_TILE_BYTES)


def stream_layout(lengths: Sizes, *, is_paired: bool) -> StreamLayout:
    """Return the layout of targets with these lengths. Raises EngineError if there are more than MAX_TILES tiles."""
    tiles = stream_tiles(lengths, is_paired=is_paired)
    starts = tiles.sums(1)
    n_tiles = 1 + tiles.total
    if n_tiles > MAX_TILES:
        raise EngineError(f"a batch of {n_tiles:,} tiles is too large; set --gpu-memory")
    chunk_ids, chunk_tiles = _chunks(starts, CHUNK_TILES)
    return StreamLayout(is_paired, starts, chunk_tiles, chunk_ids, n_tiles)


def stream_tiles(lengths: Sizes, *, is_paired: bool) -> Sizes:
    """Return the tiles of each target, or of each pair of targets."""
    return (lengths.larger_of_pairs() if is_paired else lengths).tiles()


def tiles_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: the tiles of targets with these lengths.

    >>> tiles_of(np.array([0, 1, 4, 5]))
    array([1, 1, 1, 2])
    """
    return np.maximum(1, -(-lengths // COLUMNS))


def _chunks(starts: PiecewiseLinear, min_tiles: int) -> tuple[PiecewiseLinear, PiecewiseLinear]:
    """Return first ids and first tiles of chunks. A chunk ends as soon as it has min_tiles tiles."""
    n = starts.n - 1
    ids, tiles, n_chunks = [(0, 0, 0)], [(0, 1, 0)], 1
    in_open = 0
    ends = [*starts.breakpoints[1:, 0].tolist(), n]
    for (begin, value, size), end in zip(starts.breakpoints.tolist(), ends, strict=True):
        first = begin + max(1, -(-(min_tiles - in_open) // max(1, size)))
        if first > end:
            in_open += (end - begin) * size
            continue
        per_chunk = max(1, -(-min_tiles // size))
        ids.append((n_chunks, first, per_chunk))
        tiles.append((n_chunks, value + (first - begin) * size, per_chunk * size))
        n_own = (end - first) // per_chunk + 1
        n_chunks += n_own
        in_open = (end - first - (n_own - 1) * per_chunk) * size
    if in_open:
        ids.append((n_chunks, n, 0))
        tiles.append((n_chunks, value + (n - begin) * size, 0))
        n_chunks += 1
    return PiecewiseLinear(_simplified(ids), n_chunks), PiecewiseLinear(_simplified(tiles), n_chunks)


def _simplified(breakpoints: list[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Return the breakpoints without those that only continue the line before."""
    array = np.array(breakpoints, np.int64)
    first, value, step = array.T
    continues = (value[1:] == value[:-1] + np.diff(first) * step[:-1]) & (step[1:] == step[:-1])
    kept: NDArray[np.int64] = array[np.append(True, ~continues)]
    return kept
