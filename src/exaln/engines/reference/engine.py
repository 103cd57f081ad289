"""The textbook dynamic programme in NumPy, one target at a time: the definition that engines are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import Paths
from exaln.engines.contracts import (
    Engine,
    PairList,
    Pairs,
    Placement,
    Progress,
    ScoreBlock,
    Traces,
    require_same_alphabet,
)
from exaln.engines.reference.path import NEVER, ReferenceAlignment, border, reference_alignment
from exaln.engines.reference.region import fill_region, walk_block
from exaln.engines.regions import NOTHING, Borders, EndCell, Lines, PairTable, Pruning, Region
from exaln.errors import EngineError
from exaln.scoring.modes import LOCAL, Mode
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.pairwise.long.traceback import Walker
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.records import Records


class ReferenceEngine(Engine):
    """Slow, and easy to check by eye."""

    name = "reference"

    @staticmethod
    def unavailable_reason() -> str | None:
        """It always works."""
        return None

    def describe(self) -> str:
        """For logs."""
        return "reference, NumPy"

    def blocks(
        self, queries: Records, placement: Placement, scoring: Scoring, progress: Progress | None = None
    ) -> Iterator[ScoreBlock]:
        """A block per target."""
        require_same_alphabet(queries, placement.database, scoring)
        cells = 0
        for segment in placement.database.segments:
            codes, offsets = segment.codes, segment.offsets
            for row, ordinal in enumerate(segment.ordinals):
                target = codes[offsets[row] : offsets[row + 1]]
                scores = [[local_score(queries.sequence(q), target, scoring)] for q in range(len(queries))]
                yield ScoreBlock(
                    first_query=0,
                    scores=np.array(scores, np.int32).reshape(len(queries), 1),
                    ordinals=np.array([ordinal], np.int64),
                    lengths=np.array([len(target)], np.int64),
                )
                cells += queries.n_residues * len(target)
                if progress:
                    progress(cells)

    def align(self, queries: Records, targets: Records, pairs: Pairs, scoring: Scoring) -> Traces:
        """As `align_pairs`, with scores that must be right."""
        found, traces = self.align_pairs(queries, targets, PairList(pairs.query, pairs.target), scoring, LOCAL)
        for score, expected in zip(found.tolist(), pairs.score.tolist(), strict=True):
            if score != expected:
                raise EngineError(f"traceback failed: the score is {score}, not {expected}")
        return traces

    def align_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> tuple[NDArray[np.int64], Traces]:
        """Pair by pair, over the whole table."""
        require_same_alphabet(queries, targets, scoring)
        found = [
            reference_alignment(queries.sequence(q), targets.sequence(t), scoring, mode)
            for q, t in zip(pairs.query.tolist(), pairs.target.tolist(), strict=True)
        ]
        return np.array([alignment.score for alignment in found], np.int64), _traces(found)

    def score_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> NDArray[np.int64]:
        """Pair by pair."""
        require_same_alphabet(queries, targets, scoring)
        scores = [
            mode_score(queries.sequence(q), targets.sequence(t), scoring, mode)
            for q, t in zip(pairs.query.tolist(), pairs.target.tolist(), strict=True)
        ]
        return np.array(scores, np.int64)

    def fill_region(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        lines: Lines,
        *,
        progress: Progress | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> EndCell:
        """Column by column; nothing is pruned."""
        end = fill_region(pair, region, borders, lines, progress)
        return end if pair.mode.is_local and wants_end else NOTHING

    def walker(self, pair: PairTable) -> Walker:
        """Over the whole table of the block."""
        return lambda kept, state: walk_block(pair, *kept.block_of(state), state)

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """So few that somebody sees progress."""
        return max(1, 10**8 // max(1, n_columns))


def _traces(found: list[ReferenceAlignment]) -> Traces:
    return Traces(
        positions=np.array([alignment.positions for alignment in found], np.int64).reshape(-1, 4),
        counts=np.array([alignment.counts for alignment in found], np.int32).reshape(-1, 6),
        paths=Paths(
            np.array([run for alignment in found for run in alignment.operations], np.uint32),
            offsets_of(len(alignment.operations) for alignment in found),
        ),
    )


def local_score(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring) -> int:
    """The best local score of two encoded sequences; EngineError if it does not fit the int32 of a search."""
    best = mode_score(query, target, scoring, LOCAL)
    if best > np.iinfo(np.int32).max:
        raise EngineError(f"the score {best} does not fit 31 bits; use smaller scores")
    return best


def mode_score(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring, mode: Mode) -> int:
    """The best score of two encoded sequences.

    Column by column. Within a column F(i) is the maximum over k < i of H'(k) - gap_first - (i - 1 - k) * gap_extend,
    where H' is H without F (to open a gap where another ends never pays): a running maximum of H'(k) + k * gap_extend.
    """
    gap_first, gap_extend = scoring.gap_first, scoring.gap_extend
    rows = np.arange(len(query) + 1, dtype=np.int64) * gap_extend
    top = border(len(target), scoring, is_free=mode.target_start)
    h = border(len(query), scoring, is_free=mode.query_start)
    e = np.full(len(h), NEVER, np.int64)
    best = int(h[-1]) if mode.target_end or not len(target) else NEVER
    for letter, above in zip(target, top[1:], strict=True):
        e = np.maximum(e - gap_extend, h - gap_first)
        matched = h[:-1] + scoring.matrix[query, letter]
        h = np.concatenate([[above], np.maximum(matched, e[1:])])
        if mode.is_local:
            h = np.maximum(h, 0)
        opened = np.maximum.accumulate(h + rows)[:-1] - gap_first - rows[:-1]
        h[1:] = np.maximum(h[1:], opened)
        if mode.is_local:
            best = max(best, int(h.max()))
        elif mode.target_end:
            best = max(best, int(h[-1]))
    if not mode.is_local:
        best = max(best, int(h.max() if mode.query_end else h[-1]))
    return best
