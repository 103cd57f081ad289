"""The textbook dynamic programming algorithm in NumPy, one target at a time: the definition for all engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
from exaln.alignments.cigar import Paths
from exaln.engines.contracts import Engine, Tuning
from exaln.engines.outline import ScanOutline, kernel_uses, target_lengths
from exaln.engines.reference.columns import best_in_blocks, certain_from, table_score
from exaln.engines.reference.path import ReferenceAlignment, aligned_letters, table_alignment
from exaln.engines.reference.region import fill_region, trace_block
from exaln.engines.regions import NOTHING, RegionResult, RegionTask
from exaln.engines.tasks import Candidates, PairTask, Resident, ScanTask, ScoreBlock, SeveralTask, candidates_of
from exaln.errors import EngineError
from exaln.scoring.modes import Mode
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.views import TargetView
    from exaln.engines.regions import PairTable, Traceback
    from exaln.scoring.scoring import Scoring


CELLS_PER_SECOND = 2e6
"""A typical speed, used for estimates."""


class ReferenceEngine(Engine):
    """Slow, and easy to check by eye."""

    name = "reference"
    tuning = Tuning()
    checkpoint_bytes = 1 << 27

    @staticmethod
    def unavailable_reason() -> str | None:
        """Return None: NumPy is always available."""
        return None

    def describe(self) -> str:
        """The engine, for logs."""
        return "reference, NumPy"

    def open(self, view: TargetView, budget: int | None = None) -> Resident:
        """The view itself; nothing is copied."""
        return Resident(view, budget)

    def scan(self, task: ScanTask) -> Iterator[Candidates]:
        """Yield candidates, target by target."""
        return candidates_of(self.score_blocks(task), task)

    def score_blocks(self, task: ScanTask) -> Iterator[ScoreBlock]:
        """Yield one block per target."""
        queries = [task.queries.row_scores(query) for query in range(len(task.queries))]
        cells = row = 0
        for segment in task.view.segments:
            codes, offsets = segment.codes, segment.offsets
            for place in range(len(offsets) - 1):
                target = codes[offsets[place] : offsets[place + 1]]
                scores = [_search_scores(rows, target, task.scoring, task.block_columns) for rows in queries]
                n_scores = -(-len(target) // task.block_columns) if task.block_columns else 1
                table = np.array(scores, np.int32).reshape(len(queries), n_scores)
                yield task.score_block(0, table, row, np.array([len(target)], np.int64))
                row += 1
                cells += task.queries.n_rows * len(target)
                if task.progress:
                    task.progress(cells)

    def outline(self, task: ScanTask) -> ScanOutline:
        """One batch per target; the time follows from a typical speed."""
        lengths = target_lengths(task.view)
        cells = task.queries.n_rows * int(lengths.sum())
        return ScanOutline(
            kernels=kernel_uses(lengths, [("NumPy, column by column", len(lengths))]),
            n_batches=len(lengths),
            host_bytes=64 * int(task.queries.lengths.max(initial=0)),
            seconds=cells / CELLS_PER_SECOND,
            source="from a typical speed",
        )

    def align(self, task: PairTask) -> AlignedPairs:
        """Align pair by pair, over the whole table of each."""
        found = _columns([_alignment(task, pair) for pair in range(len(task))])
        if task.known_scores is not None:
            for score, expected in zip(found.scores.tolist(), task.known_scores.tolist(), strict=True):
                if score != expected:
                    raise EngineError(f"traceback failed: the score is {score}, not {expected}")
        return found

    def align_several(self, task: SeveralTask) -> SeveralAligned:
        """Align pair by pair, with the letters that earlier alignments align forbidden."""
        found = [_several(task, pair) for pair in range(len(task.pairs))]
        owners = np.repeat(np.arange(len(found)), [len(own or []) for own in found])
        uncertain = np.flatnonzero([own is None for own in found])
        return SeveralAligned(owners, _columns([alignment for own in found for alignment in own or []]), uncertain)

    def score(self, task: PairTask) -> NDArray[np.int64]:
        """int64[n]: scores, computed pair by pair."""
        return np.array([_pair_score(task, pair) for pair in range(len(task))], np.int64)

    def score_ends(self, task: PairTask, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The best of each block of columns, pair by pair."""
        found = [
            best_in_blocks(rows[:, target].T, columns, task.gap_costs)
            for pair in range(len(task))
            for rows in [task.row_scores(pair)]
            for target in [task.targets.sequence(int(task.target[pair]))]
        ]
        return np.array([score for own in found for score in own], np.int64), offsets_of(map(len, found))

    def is_long(self, task: PairTask) -> NDArray[np.bool_]:
        """All False: every pair is computed in one table."""
        return np.zeros(len(task), np.bool_)

    def fill(self, task: RegionTask) -> RegionResult:
        """Fill a region column by column; nothing is pruned."""
        checkpoints = task.room()
        end = fill_region(task.pair, task.region, task.boundary, checkpoints, task.progress)
        return RegionResult(checkpoints, end if task.pair.mode.is_local and task.finds_end else NOTHING)

    def traceback(self, pair: PairTable) -> Traceback:
        """A traceback over the whole table of each block."""
        return lambda grid, state: trace_block(pair, *grid.block(state), state)

    def lower_bound(self, pair: PairTable) -> int:
        """Return 0, because nothing is pruned."""
        return 0

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Few rows, so that progress shows."""
        return max(1, 10**8 // max(1, n_columns))


FORBIDDEN = -(2**40)
"""The score of a forbidden cell: far below every score of two letters, and far above NEVER."""


def _cell_scores(task: PairTask, pair: int) -> NDArray[np.int64]:
    """int64[rows, columns]: the score of each query letter with each target letter."""
    rows = task.row_scores(pair).astype(np.int64)
    scores = rows[:, task.targets.sequence(int(task.target[pair]))]
    if task.forbidden is not None:
        scores[task.forbidden[pair][:, 0], task.forbidden[pair][:, 1]] = FORBIDDEN
    return scores


def _pair_score(task: PairTask, pair: int) -> int:
    if task.forbidden is not None:
        return table_score([*_cell_scores(task, pair).T], int(task.shapes[0][pair]), task.gap_costs, task.mode)
    rows, target = task.row_scores(pair), task.targets.sequence(int(task.target[pair]))
    return table_score([rows[:, letter] for letter in target], len(rows), task.gap_costs, task.mode)


def _alignment(task: PairTask, pair: int) -> ReferenceAlignment:
    """The alignment of one pair."""
    return table_alignment(_cell_scores(task, pair), _equal_letters(task, pair), task.gap_costs, task.mode)


def _equal_letters(task: PairTask, pair: int) -> NDArray[np.bool_]:
    """bool[rows, columns]: whether two letters are equal. A profile has no letters, so it has no identities."""
    target = task.targets.sequence(int(task.target[pair]))
    if task.queries.is_profile:
        return np.zeros((int(task.shapes[0][pair]), len(target)), np.bool_)
    is_same: NDArray[np.bool_] = np.equal.outer(task.queries.sequence(int(task.query[pair]), "reference"), target)
    return is_same


def _several(task: SeveralTask, pair: int) -> list[ReferenceAlignment] | None:
    """The alignments of one pair, in the order found; None if they are not certain."""
    scores, is_same = _cell_scores(task.pairs, pair), _equal_letters(task.pairs, pair)
    found: list[ReferenceAlignment] = []
    upper = 0 if task.ends is None else int(task.ends.upper[pair])
    first = certain_from(scores.T, task.pairs.gap_costs, upper)
    if task.ends is not None and first > task.ends.margin[pair]:
        return None
    while len(found) < task.most:
        one = table_alignment(scores, is_same, task.pairs.gap_costs, task.pairs.mode)
        if one.score < task.least[pair]:
            break
        if upper and one.positions[2] <= first:
            return None
        found.append(one)
        for row, column in aligned_letters(one):
            scores[row, column] = FORBIDDEN
    return found


def _columns(found: list[ReferenceAlignment]) -> AlignedPairs:
    return AlignedPairs(
        scores=np.array([alignment.score for alignment in found], np.int64),
        positions=np.array([alignment.positions for alignment in found], np.int64).reshape(-1, 4),
        counts=np.array([alignment.counts for alignment in found], np.int32).reshape(-1, 6),
        paths=Paths(
            np.array([run for alignment in found for run in alignment.operations], np.uint32),
            offsets_of(len(alignment.operations) for alignment in found),
        ),
    )


def local_score(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring) -> int:
    """The best local score of two encoded sequences. Raises EngineError if it does not fit the int32 of a search."""
    return _search_scores(scoring.matrix[query], target, scoring, 0)[0]


def _search_scores(rows: NDArray[np.int32], target: NDArray[np.uint8], scoring: Scoring, size: int) -> list[int]:
    """The best score, or with a size of blocks the best of each."""
    best = best_in_blocks(rows[:, target].T, size or max(1, len(target)), scoring)
    if not size and not best:
        best = [0]
    if max(best, default=0) > np.iinfo(np.int32).max:
        raise EngineError(f"the score {max(best)} does not fit 31 bits; use smaller scores")
    return best


def mode_score(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring, mode: Mode) -> int:
    """The best score of two encoded sequences in any mode."""
    rows = scoring.matrix[query]
    return table_score([rows[:, letter] for letter in target], len(rows), scoring, mode)
