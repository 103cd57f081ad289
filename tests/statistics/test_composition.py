"""Scores of pairs by composition: an independent solver, the rule, and what the tables must keep."""

import os

import numpy as np
import pytest

from exaln import Scoring
from exaln._core import adjusted_scores, target_frequencies
from exaln.errors import InputError
from exaln.scoring.letter_rules import AMINO_ACIDS
from exaln.statistics.composition import SCALE, Compositions, CompositionScores
from exaln.statistics.matrix_frequencies import frequencies_of, names

ENTROPY, PSEUDOCOUNTS = 0.44, 20

N_PAIRS = int(os.environ.get("EXALN_PAIRS", 40))


def textbook(q, rows, columns):
    """Target frequencies by Newton's method on all equations at once, with the constraints as a dense matrix."""
    sums = np.vstack([np.eye(20).repeat(20, axis=1)[1:], np.tile(np.eye(20), (1, 20))])
    wanted = np.concatenate([rows[1:], columns])
    x, z, old = q.ravel().copy(), np.zeros(40), np.log(q / np.outer(rows, columns)).ravel()
    for _ in range(200):
        moved = np.log(x / q.ravel())
        slopes = np.vstack([sums, moved + old + 1])
        dual = moved + 1 - slopes.T @ z
        primal = np.append(wanted - sums @ x, ENTROPY - x @ (moved + old))
        if np.linalg.norm(np.append(dual, primal)) < 1e-11:
            break
        inverse = x / (1 - z[-1])
        dz = np.linalg.solve((slopes * inverse) @ slopes.T, primal + slopes @ (inverse * dual))
        dx = inverse * (slopes.T @ dz - dual)
        length = min(1.0, 0.95 * float(np.min(np.where(dx < 0, -x / dx, np.inf))))
        x, z = x + length * dx, z + length * dz
    return x.reshape(20, 20)


def drawn(rng, n, background, length=200):
    """n compositions, from average to biased ones."""
    shares = np.array([rng.dirichlet(background * rng.choice([10, 40, 400])) for _ in range(n)])
    counts = np.array([rng.multinomial(length, share) for share in shares]).astype(np.int64)
    return Compositions(counts, np.full(n, length))


def with_pseudocounts(counts, background):
    weight = PSEUDOCOUNTS / (counts.sum() + PSEUDOCOUNTS)
    return (1 - weight) * counts / counts.sum() + weight * background


def test_target_frequencies_are_those_of_a_textbook_solver():
    behind = frequencies_of(Scoring("BLOSUM62"))
    rng = np.random.default_rng(1)
    queries, targets = (drawn(rng, N_PAIRS, behind.background) for _ in range(2))
    for query, target in zip(queries.counts, targets.counts, strict=True):
        rows, columns = (with_pseudocounts(counts, behind.background) for counts in (query, target))
        found, _, converged = target_frequencies(behind.joint, rows, columns, ENTROPY)
        expected = textbook(behind.joint, rows, columns)
        assert converged
        assert np.abs(np.log(found.reshape(20, 20) / expected)).max() < 1e-6
        assert np.abs(found.reshape(20, 20).sum(axis=0) - columns).max() < 1e-8


@pytest.mark.parametrize("name", names())
def test_optimized_scores_are_rounded_logarithms_of_the_frequencies(name):
    behind = frequencies_of(Scoring(name))
    scores = CompositionScores.of(Scoring(name), 3)
    queries, targets = (drawn(np.random.default_rng(seed), 5, behind.background) for seed in (2, 3))
    tables = scores.tables(queries, targets, np.arange(5), np.arange(5))
    for table, query, target in zip(tables, queries.counts, targets.counts, strict=True):
        rows, columns = (with_pseudocounts(counts, behind.background) for counts in (query, target))
        exact = SCALE * np.log(textbook(behind.joint, rows, columns) / np.outer(rows, columns)) / behind.lambda_
        assert np.abs(table[:20, :20] - exact).max() < 0.5 + 1e-5


def test_scaled_scores_have_the_lambda_of_the_matrix():
    scoring = Scoring("BLOSUM62")
    behind, scores = frequencies_of(scoring), CompositionScores.of(scoring, 1)
    queries, targets = (drawn(np.random.default_rng(seed), 50, behind.background) for seed in (4, 5))
    tables = scores.tables(queries, targets, np.arange(50), np.arange(50))
    standard = SCALE * np.log(behind.ratios[:20, :20]) / behind.lambda_
    n_scaled = 0
    for table, query, target in zip(tables, queries.counts, targets.counts, strict=True):
        chances = np.outer(query, target) / query.sum() / target.sum()
        factor = float((table[:20, :20] * standard).sum() / (standard * standard).sum())
        excess = float((chances * np.exp(behind.lambda_ / SCALE * table[:20, :20])).sum()) - 1
        assert 0.499 < factor < 1.001
        if 0.51 < factor < 0.99:
            assert abs(excess) < 3e-3  # integers
            n_scaled += 1
    assert n_scaled > 10


def test_mode_2_scales_pairs_that_differ_in_length_and_composition_unless_one_is_dominated():
    behind = frequencies_of(Scoring("BLOSUM62"))
    matrix = behind.joint, behind.background, behind.ratios, behind.lambda_ / SCALE
    usual = np.rint(behind.background * 1000).astype(np.int64)
    hydrophobic = usual * np.isin(list(AMINO_ACIDS), list("AILMFV")) * 2 + usual
    polar = usual * np.isin(list(AMINO_ACIDS), list("DEKRSQ")) * 2 + usual
    rich_in_two = usual + 600 * np.isin(list(AMINO_ACIDS), list("EK"))

    def rule(query, target, lengths, mode=2):
        one, other = (np.ascontiguousarray(counts[np.newaxis]) for counts in (query, target))
        sizes = (np.array([length], np.int64) for length in lengths)
        place = np.zeros(1, np.int64)
        return int(adjusted_scores(matrix, (one, next(sizes)), (other, next(sizes)), (place, place), mode)[1][0])

    scaled, optimized = 0, 1
    assert rule(hydrophobic, polar, (400, 2000)) == scaled
    assert rule(polar, hydrophobic, (2000, 400)) == scaled
    assert rule(hydrophobic, polar, (400, 1200)) == optimized  # the ratio of lengths is not above 3
    assert rule(hydrophobic, hydrophobic, (400, 2000)) == optimized  # equal compositions
    assert rule(hydrophobic, rich_in_two, (400, 2000)) == optimized  # two letters have 40 %
    assert rule(hydrophobic, polar, (400, 2000), mode=3) == optimized
    assert rule(hydrophobic, hydrophobic, (400, 400), mode=1) == scaled
    assert rule(usual * 0, polar, (5, 2000)) == scaled  # no amino acid at all


def test_letters_besides_the_amino_acids_score_as_they_stand_for_others():
    scoring = Scoring("BLOSUM62")
    alphabet = scoring.alphabet
    own = drawn(np.random.default_rng(7), 1, frequencies_of(scoring).background)
    for mode in (1, 2, 3):
        table = CompositionScores.of(scoring, mode).tables(own, own, np.zeros(1, np.int64), np.zeros(1, np.int64))[0]
        code = {letter: place for place, letter in enumerate(alphabet.letters)}
        assert np.array_equal(table[code["U"]], table[code["C"]])
        assert np.array_equal(table[:, code["O"]], table[:, code["X"]])
        assert table[code["X"]].max() <= -1
        assert min(table[code["D"], code["D"]], table[code["N"], code["N"]]) < SCALE * 8
        assert table[code["B"], code["W"]] < 0 < table[code["B"], code["D"]]
        assert table[code["J"], code["D"]] < 0 < table[code["J"], code["L"]]
        assert abs(table[code["*"], code["*"]] - SCALE) < 5


def test_compositions_count_u_as_c_and_leave_out_other_letters():
    codes = Scoring("BLOSUM62").alphabet.encode("ACUXB*WW")
    found = Compositions.of(codes, np.array([0, 4, 8]))
    assert found.counts.sum(axis=1).tolist() == [3, 2]
    assert found.counts[0, AMINO_ACIDS.index("C")] == 2
    assert found.lengths.tolist() == [4, 4]


@pytest.mark.parametrize("scoring", [Scoring("VTML160"), Scoring(match=2, mismatch=-3, alphabet="dna")])
def test_a_scoring_without_frequencies_is_refused(scoring):
    with pytest.raises(InputError, match="no composition-based scores"):
        CompositionScores.of(scoring, 2)
    assert CompositionScores.of(scoring, 0) is None
