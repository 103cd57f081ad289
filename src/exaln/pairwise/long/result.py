"""The path of a long pair as operations and counts, re-scored; its steps are read in pieces, to bound memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, DIFFERENT, EQUAL, INSERTION
from exaln.engines.regions import STEP_BOTH, STEP_QUERY, STEP_TARGET, EndCell
from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.pairwise.long.traceback import LongPair

STEPS_AT_ONCE = 1 << 22
LONGEST_RUN = (1 << 28) - 1
"""Letters of a run, at most: an operation has 28 bits for them beside its code."""

_OPERATION = np.zeros(3, np.uint8)
_OPERATION[[STEP_QUERY, STEP_TARGET]] = INSERTION, DELETION


@dataclass(frozen=True)
class LongAlignment:
    """positions: query start and end, target start and end. counts: as in `alignments.aligned_pairs.AlignedPairs`.
    operations: uint32, as in `alignments.cigar.Paths`.
    """

    score: int
    positions: tuple[int, int, int, int]
    counts: tuple[int, int, int, int, int, int]
    operations: NDArray[np.uint32]


def rescored(pair: LongPair, end: EndCell, path: Sequence[NDArray[np.uint8]]) -> LongAlignment:
    """The alignment with this end cell and this path. Raises EngineError if the path does not have the end's score.

    path: steps in pieces, backwards.
    """
    row, column = _start(end, path)
    if row < 0 or column < 0:
        raise EngineError("the path of a long pair is longer than its sequences")
    first_row, first_column = row, column
    matrix = pair.scoring.matrix
    codes, lengths, n_pairs = [], [], np.zeros(matrix.size, np.int64)
    for steps in _forwards(path):
        of_query, of_target = steps[steps != STEP_TARGET], steps[steps != STEP_QUERY]  # steps that use a letter of it
        q = pair.query[row : row + len(of_query)][of_query == STEP_BOTH]
        t = pair.target[column : column + len(of_target)][of_target == STEP_BOTH]
        n_pairs += np.bincount(q * np.int64(len(matrix)) + t, minlength=matrix.size)
        operations = _OPERATION[steps]
        operations[steps == STEP_BOTH] = np.where(q == t, np.uint8(EQUAL), np.uint8(DIFFERENT))
        begins = np.flatnonzero(np.concatenate([[True], operations[1:] != operations[:-1]]))
        codes.append(operations[begins])
        lengths.append(np.diff(np.append(begins, len(operations))))
        row, column = row + len(of_query), column + len(of_target)
    runs, run_lengths = _merged(codes, lengths)
    is_positive = (matrix > 0) | np.eye(len(matrix), dtype=np.bool_)
    counts = _counts(runs, run_lengths, positives=int(n_pairs[is_positive.reshape(-1)].sum()))
    letters = int(n_pairs @ matrix.reshape(-1).astype(np.int64))
    score = letters - counts[3] * pair.scoring.gap_open - counts[4] * pair.scoring.gap_extend
    if score != end.score:
        raise EngineError(f"the path of a long pair scores {score}, not {end.score}")
    return LongAlignment(score, (first_row, end.row, first_column, end.column), counts, _operations(runs, run_lengths))


def _start(end: EndCell, path: Sequence[NDArray[np.uint8]]) -> tuple[int, int]:
    """Letters of the query and of the target before the path begins."""
    counts = np.zeros(3, np.int64)
    for steps in path:
        counts += np.bincount(steps, minlength=3)
    both = int(counts[STEP_BOTH])
    return end.row - both - int(counts[STEP_QUERY]), end.column - both - int(counts[STEP_TARGET])


def _forwards(path: Sequence[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """The steps of a path from its start to its end, in pieces of bounded size, none of them empty."""
    for steps in reversed(path):
        for stop in range(len(steps), 0, -STEPS_AT_ONCE):
            yield steps[max(0, stop - STEPS_AT_ONCE) : stop][::-1]


def _merged(
    codes: list[NDArray[np.uint8]], lengths: list[NDArray[np.int64]]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Runs of operations, with those joined that the ends of pieces had cut."""
    if not codes:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64)
    every, length = np.concatenate(codes), np.concatenate(lengths)
    begins = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    return every[begins], np.add.reduceat(length, begins)


def _counts(runs: NDArray[np.uint8], lengths: NDArray[np.int64], positives: int) -> tuple[int, int, int, int, int, int]:
    is_gap = runs < EQUAL
    total = {code: int(lengths[runs == code].sum()) for code in (EQUAL, DIFFERENT)}
    gaps = int(lengths[is_gap].sum())
    columns = int(lengths.sum())
    return total[EQUAL], positives, total[DIFFERENT], int(is_gap.sum()), gaps, columns


def _operations(runs: NDArray[np.uint8], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """uint32[n]: length << 4 | code. A run longer than LONGEST_RUN becomes several."""
    parts = np.maximum(1, -(-lengths // LONGEST_RUN))
    codes = np.repeat(runs, parts).astype(np.uint32)
    split = np.full(len(codes), LONGEST_RUN, np.int64)
    split[np.cumsum(parts) - 1] = lengths - (parts - 1) * LONGEST_RUN
    return split.astype(np.uint32) << np.uint32(4) | codes
