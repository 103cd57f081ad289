"""Composition-based statistics: substitution scores for each pair of proteins, from the compositions of both.

A matrix such as BLOSUM62 is right for proteins of average composition. Two proteins that are both rich in, say,
glutamine score high by chance. BLAST's modes 1 to 3 give such a pair scores of its own (Schaffer et al. 2001, Yu et
al. 2003, Altschul et al. 2005): scaled ones, with which lambda is right again, or optimized ones, for which the
frequencies behind the matrix are changed as little as the compositions ask for. Scores are multiplied by SCALE, so that
little is lost by rounding; E-values come from the multiplied score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.scoring.letter_rules import AMINO_ACIDS
from exaln.statistics.matrix_frequencies import MatrixFrequencies, frequencies_of, names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

MODES = (0, 1, 2, 3)
"""0: the matrix as it is. 1: scaled scores. 2: optimized scores, scaled ones for some pairs. 3: optimized scores."""

SCALE = 32
"""Scores of pairs are multiplied by this; reports divide by it and round."""

TABLES_AT_ONCE = 1 << 12
"""Pairs whose tables are in memory together: 12 MB."""


@dataclass(frozen=True)
class Compositions:
    """The compositions of n proteins. counts: int64[n, 20], of the amino acids in the order of the alphabet, with U
    counted as C; lengths: int64[n], with all other letters.
    """

    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @staticmethod
    def of(codes: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Compositions:
        """Those of encoded sequences; sequence i is codes[offsets[i]:offsets[i + 1]]."""
        from exaln import _core

        counts = _core.count_amino_acids((np.ascontiguousarray(codes), np.ascontiguousarray(offsets)))
        return Compositions(counts.reshape(-1, len(AMINO_ACIDS)), np.diff(offsets))


@dataclass(frozen=True)
class CompositionScores:
    """The scores of pairs under one scoring and mode, 1 to 3. frequencies: those behind the matrix."""

    scoring: Scoring
    mode: int
    frequencies: MatrixFrequencies

    @staticmethod
    def of(scoring: Scoring, mode: int) -> CompositionScores | None:
        """The scores of a mode, None for mode 0. Raises InputError for a matrix without frequencies."""
        if not mode:
            return None
        frequencies = frequencies_of(scoring)
        if frequencies is None:
            raise InputError(
                f"{scoring.name} has no composition-based scores: the frequencies behind it are not known; "
                f"use --comp-based-stats 0 or one of the matrices {', '.join(names())}"
            )
        return CompositionScores(scoring, mode, frequencies)

    @property
    def gap_first(self) -> int:
        """The cost of a gap of one residue, multiplied like the scores."""
        return SCALE * self.scoring.gap_first

    @property
    def gap_extend(self) -> int:
        """The cost of a further residue of a gap, multiplied like the scores."""
        return SCALE * self.scoring.gap_extend

    def tables(
        self,
        queries: Compositions,
        targets: Compositions,
        query: NDArray[np.int64],
        target: NDArray[np.int64],
        threads: int = 1,
    ) -> NDArray[np.int32]:
        """int32[n, 27, 27]: the scores of pairs, rows of `queries` and `targets`, in the order of the alphabet."""
        from exaln import _core

        behind = self.frequencies
        n_letters = len(self.scoring.alphabet.letters)
        scores, _ = _core.adjusted_scores(
            (behind.joint, behind.background, behind.ratios, behind.lambda_ / SCALE),
            (np.ascontiguousarray(queries.counts), np.ascontiguousarray(queries.lengths)),
            (np.ascontiguousarray(targets.counts), np.ascontiguousarray(targets.lengths)),
            (np.ascontiguousarray(query), np.ascontiguousarray(target)),
            self.mode,
            threads,
        )
        return scores.reshape(len(query), n_letters, n_letters)
