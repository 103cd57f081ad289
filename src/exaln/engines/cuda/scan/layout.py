"""Where targets lie in the streams that the kernels read, and how streams are cut into chunks.

A stream is a row of tiles of four columns: an idle tile, then the targets, each in as many as its letters need and at
least one; in the paired stream the targets 2i and 2i + 1 share their tiles. Targets are sorted by length, so numbers
that go with them are straight lines with few bends: runs, which is how they are computed and sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.variants import COLUMNS
from exaln.errors import EngineError
from exaln.scoring.scoring import equal_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

CHUNK_TILES = 8
"""A group of lanes is handed so many tiles at once, or more."""

MAX_TILES = (1 << 32) - 8
"""Tiles are counted in 32 bits."""

SINGLE_TILE_BYTES, PAIRED_TILE_BYTES, BOUNDARY_TILE_BYTES = 4, 8, 32
"""Four columns of one target, of a pair of targets, and of H and F between two strips."""


@dataclass(frozen=True)
class Runs:
    """A column of n numbers as straight lines: int64[k, 3] of first, value, step.

    Element i is value + (i - first) * step of the last run whose first is not above i.

    >>> Runs(np.array([[0, 5, 0], [2, 10, 3]]), 5).expanded()
    array([ 5,  5, 10, 13, 16])
    """

    runs: NDArray[np.int64]
    n: int

    def expanded(self) -> NDArray[np.int64]:
        """int64[n]: the numbers, as kernels/expand.cu writes them."""
        places = np.arange(self.n)
        first, value, step = self.runs[np.searchsorted(self.runs[:, 0], places, side="right") - 1].T
        numbers: NDArray[np.int64] = value + (places - first) * step
        return numbers


@dataclass(frozen=True)
class Sizes:
    """Numbers that ascend, n of them, as runs of equal ones: values int64[k], and firsts int64[k], where each begins.

    >>> sizes = Sizes.of(np.array([2, 2, 5, 5, 5, 9]))
    >>> sizes.values, sizes.firsts
    (array([2, 5, 9]), array([0, 2, 5]))
    """

    values: NDArray[np.int64]
    firsts: NDArray[np.int64]
    n: int

    @staticmethod
    def of(numbers: NDArray[np.int64]) -> Sizes:
        """Find the runs."""
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return Sizes(numbers[firsts], firsts, len(numbers))

    def rows(self, first: int, end: int) -> Sizes:
        """Those from `first` up to `end`."""
        if end <= first:
            return Sizes(self.values[:0], self.firsts[:0], 0)
        begin, last = np.searchsorted(self.firsts, (first, end - 1), side="right") - 1
        own = slice(int(begin), int(last) + 1)
        return Sizes(self.values[own], np.maximum(self.firsts[own] - first, 0), end - first)

    @staticmethod
    def joined(parts: Sequence[Sizes]) -> Sizes:
        """Some after the others; they must ascend.

        >>> Sizes.joined([Sizes.of(np.array([2, 5])), Sizes.of(np.array([5, 7]))]).firsts
        array([0, 1, 3])
        """
        ends = np.cumsum([0, *(part.n for part in parts)])
        values = np.concatenate([part.values for part in parts])
        firsts = np.concatenate([part.firsts + begin for part, begin in zip(parts, ends[:-1].tolist(), strict=True)])
        is_new = np.diff(values, prepend=-1) > 0
        return Sizes(values[is_new], firsts[is_new], int(ends[-1]))

    def tiles(self) -> Sizes:
        """Of targets with these lengths."""
        tiles = tiles_of(self.values)
        is_new = np.diff(tiles, prepend=0) > 0
        return Sizes(tiles[is_new], self.firsts[is_new], self.n)

    def larger_of_pairs(self) -> Sizes:
        """The second of each pair; a last one without a partner stands for itself."""
        firsts = self.firsts // 2
        is_kept = np.diff(firsts, append=self.n) > 0
        return Sizes(self.values[is_kept], firsts[is_kept], -(-self.n // 2))

    def sums(self, begin: int = 0) -> Runs:
        """Where things of these sizes begin, one after the other, and where the last one ends."""
        if not self.n:
            return Runs(np.array([[0, begin, 0]]), 1)
        before = np.cumsum(np.diff(self.firsts, prepend=0) * np.append(0, self.values[:-1]))
        return Runs(np.stack((self.firsts, begin + before, self.values), axis=1), self.n + 1)

    @property
    def total(self) -> int:
        """The sum of all."""
        return int((np.diff(self.firsts, append=self.n) * self.values).sum())


@dataclass(frozen=True)
class StreamLayout:
    """A stream: targets one by one, or (paired) two by two.

    starts: the first tile of each target or pair, then the number of all tiles; the idle tile is 0.
    chunk_tiles, chunk_ids: the first tile and the first target or pair of each chunk; the last entry closes it.
    """

    is_paired: bool
    starts: Runs
    chunk_tiles: Runs
    chunk_ids: Runs
    n_tiles: int

    @property
    def n_chunks(self) -> int:
        """Pieces of work."""
        return self.chunk_ids.n - 1

    @property
    def n_bytes(self) -> int:
        """Of the stream on the device."""
        return self.n_tiles * (PAIRED_TILE_BYTES if self.is_paired else SINGLE_TILE_BYTES)


def stream_layout(lengths: Sizes, *, is_paired: bool) -> StreamLayout:
    """The stream of targets with these lengths."""
    tiles = (lengths.larger_of_pairs() if is_paired else lengths).tiles()
    starts = tiles.sums(1)
    n_tiles = 1 + tiles.total
    if n_tiles > MAX_TILES:
        raise EngineError(f"a batch of {n_tiles:,} tiles is too large; set --gpu-memory")
    chunk_ids, chunk_tiles = _chunks(starts, CHUNK_TILES)
    return StreamLayout(is_paired, starts, chunk_tiles, chunk_ids, n_tiles)


def tiles_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: tiles of targets.

    >>> tiles_of(np.array([0, 1, 4, 5]))
    array([1, 1, 1, 2])
    """
    return np.maximum(1, -(-lengths // COLUMNS))


def _chunks(starts: Runs, least: int) -> tuple[Runs, Runs]:
    """First ids and first tiles of chunks: each goes on until it has `least` tiles or more."""
    n = starts.n - 1
    ids, tiles, n_chunks = [(0, 0, 0)], [(0, 1, 0)], 1
    in_open = 0
    ends = [*starts.runs[1:, 0].tolist(), n]
    for (begin, value, size), end in zip(starts.runs.tolist(), ends, strict=True):
        first = begin + max(1, -(-(least - in_open) // max(1, size)))
        if first > end:
            in_open += (end - begin) * size
            continue
        together = max(1, -(-least // size))
        ids.append((n_chunks, first, together))
        tiles.append((n_chunks, value + (first - begin) * size, together * size))
        n_own = (end - first) // together + 1
        n_chunks += n_own
        in_open = (end - first - (n_own - 1) * together) * size
    if in_open:
        ids.append((n_chunks, n, 0))
        tiles.append((n_chunks, value + (n - begin) * size, 0))
        n_chunks += 1
    return Runs(_straightened(ids), n_chunks), Runs(_straightened(tiles), n_chunks)


def _straightened(runs: list[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Runs without those that only go on as the one before."""
    array = np.array(runs, np.int64)
    first, value, step = array.T
    goes_on = (value[1:] == value[:-1] + np.diff(first) * step[:-1]) & (step[1:] == step[:-1])
    straight: NDArray[np.int64] = array[np.append(True, ~goes_on)]
    return straight


IMPOSSIBLE = {True: 0x8000, False: 0xFC00}
"""With and without DPX: half a word that is less than any score; see kernels/packed.cuh."""


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

    def packed(self, dpx: bool) -> NDArray[np.uint16]:
        """uint16[1 + letters of the alphabet, 1 + n_letters rounded up to 8]: halves of words, as the device adds them.

        The first row is for no letter of a query, the first column for no letter of a target: nothing is aligned there.
        """
        scores = np.pad(self.table, ((1, 0), (1, -(1 + self.n_letters) % 8)))
        halves: NDArray[np.uint16] = (scores if dpx else scores.astype(np.float16)).view(np.uint16)
        halves[0], halves[:, 0] = IMPOSSIBLE[dpx], IMPOSSIBLE[dpx]
        return halves


def fold_letters(scoring: Scoring, is_used: NDArray[np.bool_]) -> FoldedScores:
    """The scores of letters that targets have, equal ones once; is_used: bool[256], by code."""
    kept, fold = equal_columns(scoring.matrix, is_used[: len(scoring.matrix)])
    return FoldedScores(fold + np.uint8(1), np.ascontiguousarray(scoring.matrix[:, kept], np.int16))


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
