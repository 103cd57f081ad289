"""A quick lower bound of a long pair's local score, with which cells can be pruned from the start.

Words that occur once in each sequence are points that an alignment may pass through. The longest chain of such points,
ascending in both sequences, cuts the pair into small parts, and each part gets its exact global score. Consecutive
parts form an alignment that scores at least the sum of its parts: where two gaps meet at a point, the sum counts both
opening costs. The choice of words decides how close the bound is, not whether it holds.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.regions import (
    Boundary,
    Checkpoints,
    PairTable,
    Region,
    RegionTask,
    score_type,
    table_left,
    table_top,
)
from exaln.engines.tasks import PairTask, QueryRows
from exaln.scoring.modes import GLOBAL
from exaln.sequences.records import Records, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.sequences.alphabet import Alphabet

WORD = 24
MOST_WORDS = 1 << 17
"""Approximate number of words used per sequence: those whose first eight letters have the smallest hashes."""

LARGE_CELLS = 1 << 26
"""Parts with more cells are scored one by one, each as a region."""

SHARE = 512
"""The scored parts have at most 1 / SHARE of the table's cells in all; the largest parts beyond that count as gaps."""

HASHED_AT_ONCE = 1 << 22
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint32(0xC2B2AE3D)


def chain_score(engine: Engine, pair: PairTable) -> int:
    """The score of the best sequence of consecutive parts of the chain, or 0 without a chain."""
    rows, columns = _chain(*_common_words(pair.query, pair.target))
    if len(rows) < 2:
        return 0
    sums = np.concatenate([[0], np.cumsum(_part_scores(engine, pair, rows, columns))])
    return int((sums - np.minimum.accumulate(sums)).max())


def _part_scores(
    engine: Engine, pair: PairTable, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64[n - 1]: the global score of each part, from a point of the chain to the next."""
    n_rows, n_columns = np.diff(rows), np.diff(columns)
    scores = -2 * pair.scoring.gap_open - (n_rows + n_columns) * pair.scoring.gap_extend
    cells = n_rows * n_columns
    order = np.argsort(cells)
    taken = order[np.cumsum(cells[order]) <= max(LARGE_CELLS, len(pair.query) * len(pair.target) // SHARE)]
    small, large = taken[cells[taken] <= LARGE_CELLS], taken[cells[taken] > LARGE_CELLS]
    parts = _between(pair.query, rows, pair.scoring.alphabet), _between(pair.target, columns, pair.scoring.alphabet)
    queries = QueryRows.of_sequences(parts[0], pair.scoring)
    scores[small] = engine.score(PairTask(queries, parts[1], small, small, GLOBAL))
    for part in large.tolist():
        own = PairTable(parts[0].sequence(part), parts[1].sequence(part), pair.scoring, GLOBAL)
        scores[part] = _global_score(engine, own)
    return scores


def _global_score(engine: Engine, pair: PairTable) -> int:
    """The global score of one pair, read from the last row of its table."""
    n_rows, n_columns = len(pair.query), len(pair.target)
    region, score = Region(0, n_rows, 0, n_columns), score_type(n_rows, n_columns, pair.scoring)
    top, left = table_top(0, n_columns, pair.scoring, GLOBAL), table_left(0, n_rows, pair.scoring, GLOBAL)
    top_h, top_f, left_h, left_e = (line.astype(score) for line in (*top, *left))
    boundary = Boundary(top_h, top_f, left_h, left_e, corner=0)
    rows, columns = np.array([n_rows], np.int64), np.zeros(0, np.int64)
    task = RegionTask(pair, region, boundary, rows, columns, lambda: Checkpoints.empty(region, rows, columns, score))
    h, _ = engine.fill(task).checkpoints.row(0, slice(n_columns - 1, n_columns))
    return int(h[0])


def _between(sequence: NDArray[np.uint8], cuts: NDArray[np.int64], alphabet: Alphabet) -> Records:
    """The parts of a sequence between these cuts, as records."""
    n = len(cuts) - 1
    return replace(
        Records.of(alphabet, [sequence[cuts[0] : cuts[-1]]]),
        ids=Text.numbered("part", n),
        descriptions=Text.of([""] * n),
        offsets=cuts - cuts[0],
        mask_offsets=np.zeros(n + 1, np.int64),
    )


def _common_words(query: NDArray[np.uint8], target: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64 each: the places in query and target of words that occur once in both, ordered by the query."""
    of_query, of_target = _single_words(query), _single_words(target)
    _, in_query, in_target = np.intersect1d(of_query[0], of_target[0], assume_unique=True, return_indices=True)
    rows, columns = of_query[1][in_query], of_target[1][in_target]
    order = np.argsort(rows)
    return rows[order], columns[order]


def _single_words(sequence: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """uint64, int64: hashes and places of the sampled words that occur once."""
    limit = np.uint32(2**32 * MOST_WORDS // max(MOST_WORDS + 1, len(sequence)))
    hashes, places = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for first in range(0, len(sequence) - WORD + 1, HASHED_AT_ONCE):
        thirds = _eights(sequence[first : first + HASHED_AT_ONCE + WORD - 1])
        chosen = np.flatnonzero((thirds[: len(thirds) - 16] ^ thirds[: len(thirds) - 16] >> 15) * MIXER < limit)
        words = thirds[chosen].astype(np.uint64)
        for begin in (8, 16):
            words = words * MULTIPLIER + thirds[chosen + begin]
        hashes.append(words)
        places.append(chosen + first)
    found, first_places, counts = np.unique(np.concatenate(hashes), return_index=True, return_counts=True)
    return found[counts == 1], np.concatenate(places)[first_places[counts == 1]]


def _eights(sequence: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """uint32[n - 7]: a hash of the eight letters from each place on, built by doubling. A word has three of them."""
    hashes = sequence.astype(np.uint32) + np.uint32(1)
    for length, factor in ((1, 0x1F35), (2, 0x9E3779B1), (4, 0x85EBCA77)):
        hashes = hashes[:-length] * np.uint32(factor) + hashes[length:]
    return hashes


def _chain(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The largest subset of points that ascend in both coordinates. rows: ascending.

    >>> [part.tolist() for part in _chain(np.array([1, 2, 3, 4]), np.array([5, 9, 6, 7]))]
    [[1, 3, 4], [5, 6, 7]]
    """
    ends: list[int] = []  # for each length, the smallest last column of a chain; `points` has the point
    points: list[int] = []
    before = np.full(len(columns), -1, np.int64)
    for point, column in enumerate(columns.tolist()):
        length = bisect_left(ends, column)
        before[point] = points[length - 1] if length else -1
        ends[length : length + 1] = [column]
        points[length : length + 1] = [point]
    chain, point = [], points[-1] if points else -1
    while point >= 0:
        chain.append(point)
        point = int(before[point])
    kept = np.array(chain[::-1], np.int64)
    return rows[kept], columns[kept]
