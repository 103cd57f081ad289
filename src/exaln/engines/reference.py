"""The textbook dynamic programme in NumPy, one target at a time: the definition that engines are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.cigar import Paths
from exaln.engines.base import Engine, Pairs, Placement, Progress, ScoreBlock, Traces, require_same_alphabet
from exaln.engines.reference_path import local_alignment
from exaln.errors import EngineError
from exaln.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.records import Records
    from exaln.scoring import Scoring


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
        """Pair by pair, over the whole table."""
        found = [
            local_alignment(queries.sequence(q), targets.sequence(t), scoring)
            for q, t in zip(pairs.query.tolist(), pairs.target.tolist(), strict=True)
        ]
        for alignment, score in zip(found, pairs.score.tolist(), strict=True):
            if alignment.score != score:
                raise EngineError(f"traceback failed: the score is {alignment.score}, not {score}")
        return Traces(
            positions=np.array([alignment.positions for alignment in found], np.int64).reshape(-1, 4),
            counts=np.array([alignment.counts for alignment in found], np.int32).reshape(-1, 6),
            paths=Paths(
                np.array([run for alignment in found for run in alignment.operations], np.uint32),
                offsets_of(len(alignment.operations) for alignment in found),
            ),
        )


def local_score(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring) -> int:
    """The best local score of two encoded sequences.

    Column by column. Within a column F(i) is the maximum over k < i of H'(k) - gap_first - (i - 1 - k) * gap_extend,
    where H' is H without F (to open a gap where another ends never pays): a running maximum of H'(k) + k * gap_extend.
    """
    if len(query) == 0 or len(target) == 0:
        return 0
    gap_first, gap_extend = scoring.gap_first, scoring.gap_extend
    rows = np.arange(len(query), dtype=np.int64) * gap_extend
    h = np.zeros(len(query) + 1, np.int64)  # h[0] is the border above the first row
    e = np.full(len(query), -gap_first, np.int64)
    best = 0
    for letter in target:
        matched = h[:-1] + scoring.matrix[query, letter]
        without_f = np.maximum(np.maximum(matched, e), 0)
        opened = np.maximum.accumulate(without_f + rows)[:-1] - gap_first - rows[:-1]
        h[1] = without_f[0]
        h[2:] = np.maximum(without_f[1:], opened)
        e = np.maximum(e - gap_extend, h[1:] - gap_first)
        best = max(best, int(h.max()))
    if best > np.iinfo(np.int32).max:
        raise EngineError(f"the score {best} does not fit 31 bits; use smaller scores")
    return best
