"""Compare the hits of short random queries with BLAST's E-values and with an exact sum for alignments without gaps.

    python benchmarks/short_queries.py
    python benchmarks/short_queries.py --n-queries 2000

For every second or so halving of the number of hits with at least a score, prints hits per query, found / BLAST's
E-value, and found / exact. Random proteins as in calibration.py, with new targets for every 2,000 queries.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
from calibration_parts.cases import BLOCK
from calibration_parts.sequences import AMINO_ACIDS, protein_lengths, random_sequences
from calibration_parts.ungapped import chances_of_diagonals, expected_without_gaps, score_distribution

import exaln
from exaln import Scoring
from exaln.statistics.evalues import Statistics

N_TARGETS = 300
MOST_SCORE = 120
LEAST_HITS = 40
CASES = (("BLOSUM62", 11, 1, (10, 20, 30)), ("PAM30", 9, 1, (7, 10, 15, 20, 30)))


def tails(scoring: Scoring, length: int, n_queries: int, seed: int) -> np.ndarray:
    """float64[MOST_SCORE, 3]: targets per query with at least a score: found, by E-values, and exact without gaps."""
    rng = np.random.default_rng([seed, length])
    lowest, chances = score_distribution(scoring, AMINO_ACIDS)
    diagonals = [chances_of_diagonals(lowest, chances, length, score) for score in range(1, MOST_SCORE)]
    total = np.zeros((MOST_SCORE, 3))
    for first in range(0, n_queries, BLOCK):
        n = min(BLOCK, n_queries - first)
        queries = random_sequences(AMINO_ACIDS, [length] * n, rng)
        lengths = np.array(protein_lengths(N_TARGETS, rng))
        targets = random_sequences(AMINO_ACIDS, lengths.tolist(), rng)
        counts = np.bincount(all_scores(queries, targets, scoring).ravel(), minlength=MOST_SCORE)
        total[:, 0] += counts[::-1].cumsum()[::-1][:MOST_SCORE]
        statistics = Statistics.of(scoring, db_residues=int(lengths.sum()), db_targets=N_TARGETS)
        assert statistics is not None
        for score in range(1, MOST_SCORE):
            shares = lengths / lengths.sum()
            total[score, 1] += n * float(statistics.evalues(score, length, lengths) @ shares)
            total[score, 2] += n * expected_without_gaps(diagonals[score - 1], length, lengths)
    return total / n_queries


def all_scores(queries: list[str], targets: list[str], scoring: Scoring) -> np.ndarray:
    """int32[queries, targets]."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        fasta = Path(folder) / "targets.fasta"
        fasta.write_text("".join(f">{row}\n{target}\n" for row, target in enumerate(targets)), encoding="ascii")
        return exaln.scores(queries, fasta, scoring=scoring)


def main() -> None:
    """Print the comparison for each scoring and length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-queries", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{'scoring':<16}{'letters':>8}{'score':>7}{'per query':>12}{'/ E-value':>11}{'/ exact':>9}")
    for name, gap_open, gap_extend, lengths in CASES:
        scoring = Scoring(name, gap_open=gap_open, gap_extend=gap_extend)
        for length in lengths:
            last = 20.0
            for score, (found, by_evalue, exact) in enumerate(tails(scoring, length, options.n_queries, options.seed)):
                if score and LEAST_HITS / options.n_queries < found < last / 2:
                    last = found
                    ratios = f"{found / by_evalue:>11.3f}{found / exact:>9.3f}"
                    case = f"{name} {gap_open}/{gap_extend}"
                    print(f"{case:<16}{length:>8}{score:>7}{found:>12.4f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
