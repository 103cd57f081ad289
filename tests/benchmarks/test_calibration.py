"""The expected counts of benchmarks/calibration.py, against sums over the targets and by hand."""

import itertools
import math

import numpy as np
import pytest
from calibration_parts.counts import Count, expected_hits
from calibration_parts.sequences import AMINO_ACIDS, biased, random_sequences, shuffled
from calibration_parts.ungapped import chances_of_diagonals, expected_without_gaps, score_distribution

from exaln import Scoring
from exaln.statistics.evalues import Statistics


def test_the_expected_count_is_the_evalue_of_the_first_score_within_the_limit():
    """Nucleotides: E does not depend on the target, and falls by exp(lambda) from one score to the next."""
    lengths = [1000, 500, 1500]
    statistics = Statistics.of(Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=2), db_residues=3000, db_targets=3)
    evalues = statistics.evalues(np.arange(100), 50, 1000)
    between = float(np.sqrt(evalues[12] * evalues[11]))
    expected = expected_hits(statistics, 50, lengths, (between, float(evalues[12])))
    assert expected == pytest.approx([evalues[12], evalues[12]])
    assert expected[0] < between


def test_of_proteins_each_target_has_its_share_of_its_own_evalue():
    lengths, query_length, limit = [40, 300, 300, 900], 35, 1.0
    statistics = Statistics.of(Scoring("BLOSUM62", gap_open=11, gap_extend=1), db_residues=1540, db_targets=4)
    by_hand = 0.0
    for length in lengths:
        evalues = [float(statistics.evalues(score, query_length, length)) for score in range(1, 200)]
        by_hand += next(evalue for evalue in evalues if evalue <= limit) * length / 1540
    assert expected_hits(statistics, query_length, lengths, (limit,)) == pytest.approx([by_hand])
    assert 0.7 < by_hand < 1


@pytest.mark.parametrize(
    ("observed", "expected", "n_queries", "is_kept"),
    [
        (1.149, 1.0, 10**6, True),  # within 15 %
        (1.151, 1.0, 10**6, False),
        (0.849, 1.0, 10**6, False),
        (1.29, 1.0, 100, True),  # three standard deviations of 100 hits are 30
        (1.31, 1.0, 100, False),
        (0.0, 0.0, 100, True),
    ],
)
def test_a_count_is_required_within_15_percent_or_three_standard_deviations(observed, expected, n_queries, is_kept):
    count = Count(limit=1.0, expected=expected, observed=observed, n_queries=n_queries)
    assert count.is_kept is is_kept


def test_ratios_are_of_what_is_expected_or_of_the_limit():
    count = Count(limit=1.0, expected=0.8, observed=0.92, n_queries=10**6)
    assert count.ratio == pytest.approx(1.15)
    assert count.is_limit_kept
    assert math.isnan(Count(limit=1.0, expected=0.0, observed=0.0, n_queries=1).ratio)


def test_random_sequences_have_their_lengths_and_composition():
    composition = biased(AMINO_ACIDS, "KN", 3)
    (long, short) = random_sequences(composition, [100_000, 7], np.random.default_rng(1))
    assert (len(long), len(short)) == (100_000, 7)
    share = sum(composition[letter] for letter in "KN") / sum(composition.values())
    assert (long.count("K") + long.count("N")) / 100_000 == pytest.approx(share, rel=0.02)
    assert set(long) == set(AMINO_ACIDS)


def test_shuffled_sequences_keep_their_letters():
    (copy,) = shuffled(["ACDEFGHIKL" * 5], np.random.default_rng(1))
    assert copy != "ACDEFGHIKL" * 5
    assert sorted(copy) == sorted("ACDEFGHIKL" * 5)


@pytest.mark.parametrize("score", [1, 2, 3, 4])
def test_the_chance_of_a_diagonal_is_that_of_all_its_sequences_of_scores(score):
    """Scores -1, 0 and +2 with chances 1/2, 1/4 and 1/4, and all 3 ** 4 sequences of four of them."""
    chances = {-1: 0.5, 0: 0.25, 2: 0.25}
    by_hand = 0.0
    for steps in itertools.product(chances, repeat=4):
        segments = (sum(steps[a:b]) for a in range(4) for b in range(a + 1, 5))
        by_hand += math.prod(chances[step] for step in steps) * (max(segments) >= score)
    got = chances_of_diagonals(-1, np.array([0.5, 0.25, 0.0, 0.25]), 4, score)
    assert got[4] == pytest.approx(by_hand)
    assert got[0] == 0


def test_the_sum_has_all_diagonals_of_a_query_with_a_target():
    """Query of 3, target of 5: three whole diagonals, and two each of length 1 and 2."""
    assert expected_without_gaps(np.array([0, 1, 10, 100]), 3, np.array([5])) == 3 * 100 + 2 * 10 + 2 * 1


def test_the_distribution_of_scores_is_that_of_pairs_of_letters():
    lowest, chances = score_distribution(Scoring(match=1, mismatch=-3), {"A": 0.25, "C": 0.25, "G": 0.25, "T": 0.25})
    assert lowest == -3
    assert chances == pytest.approx([0.75, 0, 0, 0, 0.25])
