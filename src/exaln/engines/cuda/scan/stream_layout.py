"""Where targets lie in the streams that the kernels read, and how streams are cut into chunks.

A stream is a sequence of tiles of four columns: one idle tile, then the targets, each with as many tiles as its
residues need and at least one. In the paired stream targets 2i and 2i + 1 share their tiles. Targets are sorted by
length, so their offsets and first tiles are piecewise linear, and are computed and sent as breakpoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.sizes import PiecewiseLinear, Sizes
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


def _chunks(starts: PiecewiseLinear, min_tiles: int) -> tuple[PiecewiseLinear, PiecewiseLinear]:
    """Return first ids and first tiles of chunks. A chunk ends as soon as it has min_tiles tiles."""
    n, n_small = starts.n - 1, int(np.searchsorted(starts.breakpoints[:, 2], min_tiles))
    large = starts.breakpoints[n_small:]
    end = int(large[0, 0]) if len(large) else n
    ids, tiles, n_chunks, in_open = _chunks_of_small(starts.breakpoints[:n_small], end, min_tiles)
    if len(large):  # each target or pair ends a chunk
        begins, values, sizes = large.T
        numbers = n_chunks + begins - begins[0]
        ids = np.concatenate([ids, np.stack((numbers, begins + 1, np.ones_like(begins)), axis=1)])
        tiles = np.concatenate([tiles, np.stack((numbers, values + sizes, sizes), axis=1)])
        n_chunks += n - end
    elif in_open:
        begin, value, size = starts.breakpoints[-1].tolist()
        ids = np.concatenate([ids, [(n_chunks, n, 0)]])
        tiles = np.concatenate([tiles, [(n_chunks, value + (n - begin) * size, 0)]])
        n_chunks += 1
    return PiecewiseLinear(_simplified(ids), n_chunks), PiecewiseLinear(_simplified(tiles), n_chunks)


def _chunks_of_small(
    breakpoints: NDArray[np.int64], end: int, min_tiles: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Return breakpoints of first ids and tiles, the number of chunks, and tiles in the open chunk.

    breakpoints: of the targets or pairs before `end`, each of fewer than min_tiles tiles.
    """
    ids, tiles, n_chunks, in_open = [(0, 0, 0)], [(0, 1, 0)], 1, 0
    ends = [*breakpoints[1:, 0].tolist(), end]
    for (begin, value, size), own_end in zip(breakpoints.tolist(), ends, strict=False):
        first = begin + max(1, -(-(min_tiles - in_open) // max(1, size)))
        if first > own_end:
            in_open += (own_end - begin) * size
            continue
        per_chunk = max(1, -(-min_tiles // size))
        ids.append((n_chunks, first, per_chunk))
        tiles.append((n_chunks, value + (first - begin) * size, per_chunk * size))
        n_own = (own_end - first) // per_chunk + 1
        n_chunks += n_own
        in_open = (own_end - first - (n_own - 1) * per_chunk) * size
    return np.array(ids, np.int64), np.array(tiles, np.int64), n_chunks, in_open


def _simplified(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the breakpoints without those that only continue the line before."""
    first, value, step = array.T
    continues = (value[1:] == value[:-1] + np.diff(first) * step[:-1]) & (step[1:] == step[:-1])
    kept: NDArray[np.int64] = array[np.append(True, ~continues)]
    return kept
