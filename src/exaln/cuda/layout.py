"""Where targets lie in the streams that the kernels read, and how streams are cut into chunks.

A stream is a row of tiles of four columns: an idle tile, then the targets, each in as many as its letters need and at
least one; in the paired stream the targets 2i and 2i + 1 share their tiles. Targets are sorted by length, so there are
few different numbers of tiles, and what depends on them is done for all targets of one number at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.cuda.variants import COLUMNS
from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring import Scoring

CHUNK_TILES = {False: 32, True: 8}
"""A group of lanes is handed so many tiles at once, or more, in the single and in the paired stream."""

MAX_TILES = (1 << 32) - 2
"""Tiles are counted in 32 bits."""

SINGLE_TILE_BYTES, PAIRED_TILE_BYTES, BOUNDARY_TILE_BYTES = 4, 8, 32
"""Four columns of one target, of a pair of targets, and of H and F between two strips."""


@dataclass(frozen=True)
class StreamLayout:
    """A stream: targets one by one, or (paired) two by two.

    starts: uint32[n + 1], the first tile of each target or pair, then the number of all tiles; the idle tile is 0.
    chunks: uint32[n_chunks + 1, 2], the first tile and the first target or pair of each chunk; the last row closes it.
    """

    is_paired: bool
    starts: NDArray[np.uint32]
    chunks: NDArray[np.uint32]

    @property
    def n_tiles(self) -> int:
        """With the idle one."""
        return int(self.starts[-1])

    @property
    def n_chunks(self) -> int:
        """Pieces of work."""
        return len(self.chunks) - 1

    @cached_property
    def n_bytes(self) -> int:
        """Of the stream on the card."""
        return self.n_tiles * (PAIRED_TILE_BYTES if self.is_paired else SINGLE_TILE_BYTES)

    @cached_property
    def boundary_bytes(self) -> int:
        """Of the rows between strips."""
        return self.n_tiles * BOUNDARY_TILE_BYTES


def stream_layout(lengths: NDArray[np.int64], *, is_paired: bool) -> StreamLayout:
    """The stream of targets with these lengths, which ascend."""
    longest = lengths[1::2] if is_paired else lengths
    if is_paired and len(lengths) % 2:
        longest = np.append(longest, lengths[-1])
    tiles = tiles_of(longest)
    starts = np.ones(len(tiles) + 1, np.int64)
    starts[1:] += np.cumsum(tiles)
    if starts[-1] > MAX_TILES:
        raise EngineError(f"a batch of {int(starts[-1]):,} tiles is too large; set --gpu-memory")
    edges = _chunk_edges(tiles, CHUNK_TILES[is_paired])
    chunks = np.stack((starts[edges], edges), axis=1).astype(np.uint32)
    return StreamLayout(is_paired, starts.astype(np.uint32), chunks)


def tiles_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: tiles of targets.

    >>> tiles_of(np.array([0, 1, 4, 5]))
    array([1, 1, 1, 2])
    """
    return np.maximum(1, -(-lengths // COLUMNS))


def _chunk_edges(tiles: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Where chunks begin, and n: each goes on until it has `least` tiles or more. `tiles` ascend."""
    n = len(tiles)
    edges: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    begins: list[int] = np.searchsorted(tiles, np.arange(1, least + 1)).tolist()
    in_open = 0
    for size, (begin, end) in enumerate(pairwise(begins), start=1):
        first = begin + -(-(least - in_open) // size)
        if first > end:
            in_open += (end - begin) * size
            continue
        edges.append(np.arange(first, end + 1, -(-least // size), dtype=np.int64))
        in_open = (end - int(edges[-1][-1])) * size
    edges.append(np.arange(begins[-1] + 1, n + 1, dtype=np.int64))
    joined = np.concatenate(edges)
    return joined if joined[-1] == n else np.append(joined, n)


@dataclass(frozen=True)
class FoldedScores:
    """What letters of the query score with folded letters of the targets.

    fold: uint8[256], from the code of a letter to 1 .. n_letters, one number for each that scores differently.
    table: int16[letters of the alphabet, n_letters], row = code of the query's letter, column = folded letter - 1.
    """

    fold: NDArray[np.uint8]
    table: NDArray[np.int16]

    @property
    def n_letters(self) -> int:
        """Letters of the targets that score differently."""
        return int(self.table.shape[1])


def fold_letters(scoring: Scoring, is_used: NDArray[np.bool_]) -> FoldedScores:
    """The scores of letters that targets have, equal ones once; is_used: bool[256], by code."""
    used = np.flatnonzero(is_used[: len(scoring.matrix)])
    if not len(used):
        used = np.zeros(1, np.int64)
    _, first, places = np.unique(scoring.matrix[:, used], axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.uint8)
    rank[order] = np.arange(1, len(order) + 1, dtype=np.uint8)
    fold = np.ones(256, np.uint8)
    fold[used] = rank[places.reshape(-1)]
    table = scoring.matrix[:, used[first[order]]].astype(np.int16)
    return FoldedScores(fold, np.ascontiguousarray(table))


LETTER_PIECE = 1 << 20


def used_letters(codes: NDArray[np.uint8], n_letters: int, known: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """bool[256]: which codes occur, besides those known before.

    Frequent letters are found at once, so that only the rare ones are looked for in the rest.
    """
    is_used = np.zeros(256, np.bool_) if known is None else known.copy()
    is_used[np.unique(codes[: LETTER_PIECE // 16])] = True
    for begin in range(0, len(codes), LETTER_PIECE):
        missing = np.flatnonzero(~is_used[:n_letters])
        if not len(missing):
            break
        piece = codes[begin : begin + LETTER_PIECE]
        missing = missing[missing <= piece.max()]
        is_used[missing] = [bool((piece == code).any()) for code in missing]
    return is_used
