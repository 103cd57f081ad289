"""A lower bound of a long pair's local score, found quickly, so that cells can be pruned from the start.

Words that occur once in each sequence are points that an alignment may pass through. The longest chain of them,
ascending in both sequences, cuts the pair into small parts, and the score of each part from corner to corner is exact.
A run of parts is an alignment, good or not: where two gaps meet at a point they are counted as two, so the alignment
scores at least the sum of its parts. The choice of words decides how close the bound is, not whether it holds.
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
"""Words of each sequence that are used, about: those whose first eight letters have the smallest hash."""

LARGE_CELLS = 1 << 26
"""Parts with more cells are scored one by one, as a region each."""

SHARE = 512
"""All parts together have at most one in SHARE of the table's cells; larger ones beyond that count as gaps."""

HASHED_AT_ONCE = 1 << 22
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint32(0xC2B2AE3D)


def chain_score(engine: Engine, pair: PairTable) -> int:
    """The score of the best run of parts of the chain, or 0."""
    rows, columns = _chain(*_common_words(pair.query, pair.target))
    if len(rows) < 2:
        return 0
    sums = np.concatenate([[0], np.cumsum(_part_scores(engine, pair, rows, columns))])
    return int((sums - np.minimum.accumulate(sums)).max())


def _part_scores(
    engine: Engine, pair: PairTable, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64[n - 1]: from each point of the chain to the next."""
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
    """The score of one pair from corner to corner, from the last row of its table."""
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
    """The parts between these cuts."""
    n = len(cuts) - 1
    return replace(
        Records.of(alphabet, [sequence[cuts[0] : cuts[-1]]]),
        ids=Text.numbered("part", n),
        descriptions=Text.of([""] * n),
        offsets=cuts - cuts[0],
        mask_offsets=np.zeros(n + 1, np.int64),
    )


def _common_words(query: NDArray[np.uint8], target: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where words that occur once in each begin, by their place in the query."""
    of_query, of_target = _single_words(query), _single_words(target)
    _, in_query, in_target = np.intersect1d(of_query[0], of_target[0], assume_unique=True, return_indices=True)
    rows, columns = of_query[1][in_query], of_target[1][in_target]
    order = np.argsort(rows)
    return rows[order], columns[order]


def _single_words(sequence: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of words that occur once, of those that are looked at, and where they are."""
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
    """uint32[n - 7]: a hash of the eight letters from each place on, by doubling their number; a word has three."""
    hashes = sequence.astype(np.uint32) + np.uint32(1)
    for length, factor in ((1, 0x1F35), (2, 0x9E3779B1), (4, 0x85EBCA77)):
        hashes = hashes[:-length] * np.uint32(factor) + hashes[length:]
    return hashes


def _chain(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """As many points as possible that ascend in both; rows ascend already.

    >>> [part.tolist() for part in _chain(np.array([1, 2, 3, 4]), np.array([5, 9, 6, 7]))]
    [[1, 3, 4], [5, 6, 7]]
    """
    ends: list[int] = []  # the least column that a chain of each length ends with, and which point that is
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
