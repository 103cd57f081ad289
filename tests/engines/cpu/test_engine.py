"""The core as a whole, on every instruction set: recorded scores, both sides of every limit, odd databases."""

from itertools import pairwise

import numpy as np
import pytest

import golden_data
import real_data
from exaln import _core
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from kernel_cases import (
    ISAS,
    Costs,
    assert_engine_agrees,
    by_reference,
    diagonal_costs,
    mutated,
    random_codes,
    score_all,
    sequence_scoring,
)

BLOSUM62 = Costs.of(Scoring("BLOSUM62", gap_open=11, gap_extend=1))


def encoded(sequences):
    return [PROTEIN.encode(sequence) for sequence in sequences]


def table(queries, targets, scores):
    return np.array([[scores[query, target] for target in targets] for query in queries])


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_scores_are_the_golden_ones(isa, threads):
    queries, targets = golden_data.queries(), golden_data.targets()
    expected = table(queries, targets, golden_data.scores())
    assert expected.size == 600
    found = score_all(encoded(queries.values()), encoded(targets.values()), BLOSUM62, isa, threads)
    np.testing.assert_array_equal(found, expected)


@real_data.needs_real_data
@pytest.mark.parametrize("isa", ISAS)
def test_scores_are_the_recorded_ones(isa):
    queries, targets = real_data.fasta("protein/cudasw4_allqueries.fasta"), real_data.fasta("scop/scop20.fasta.gz")
    expected = table(queries, targets, real_data.scores("oracle/cudasw4q_x_scop20.b62_11_1.tsv.gz"))
    assert expected.size == 152_320
    found = score_all(encoded(queries.values()), encoded(targets.values()), BLOSUM62, isa, threads=2)
    np.testing.assert_array_equal(found, expected)


EDGES = [126, 127, 128, 254, 255, 256, 32766, 32767, 32768, 32769, 65534, 65535, 65536, 65537]
STEPS = {
    "small": diagonal_costs([40, 1], 11, 1, mismatch=-4),
    "no gaps to speak of": diagonal_costs([37, 1, 7], 0, 1, mismatch=-1),
    "large": diagonal_costs([1000, 50, 1], 100, 100),
    "largest": diagonal_costs([32767, 2000, 100, 1], 32766, 1),
}


@pytest.mark.parametrize("steps", STEPS)
def test_self_scores_on_both_sides_of_every_limit(steps):
    """Alone (striped), and as a database of near-equal lengths (groups), in which each target has its own score."""
    costs = STEPS[steps]
    letter_scores = np.diagonal(costs.matrix).tolist()
    limits = [limit for limit in map(costs.limit, (8, 16)) if limit is not None and limit > 10]
    scores = sorted({*EDGES, *(limit + near for limit in limits for near in range(-2, 3))})
    sequences = [sequence_scoring(score, letter_scores) for score in scores]
    for isa in ISAS:
        for codes, score in zip(sequences, scores, strict=True):
            assert score_all([codes], [codes], costs, isa).tolist() == [[score]], isa
            assert set(score_all([codes], [codes] * 70, costs, isa)[0].tolist()) == {score}, isa


@pytest.mark.parametrize("isa", ISAS)
def test_titin_against_itself_is_exact(isa):
    """34,350 residues; the sum of the diagonal, as no other path is as good."""
    titin = np.random.default_rng(1).choice(20, 34_350).astype(np.uint8)
    if real_data.IS_HERE:
        (titin,) = encoded(real_data.fasta("protein/titin_human_Q8WZ42.fa").values())
    assert len(titin) == 34_350
    expected = int(np.diagonal(BLOSUM62.matrix)[titin].sum())
    assert expected > 100_000
    peptides = [titin[i : i + 1 + i % 40] for i in range(0, 34_000, 34)]
    found = score_all([titin], [*peptides, titin], BLOSUM62, isa, threads=2)[0]
    assert found[-1] == expected
    assert found[:-1].tolist() == [int(np.diagonal(BLOSUM62.matrix)[peptide].sum()) for peptide in peptides]


def test_a_long_target_among_a_thousand_peptides_is_exact():
    rng = np.random.default_rng(2)
    long = random_codes(rng, 3000, 20)
    peptides = [random_codes(rng, n, 20) for n in rng.integers(0, 30, 1000)]
    queries = [long[1000:1100], mutated(rng, long[100:300], 20), random_codes(rng, 5, 20)]
    for place in (0, 500, 1000):
        targets = [*peptides[:place], long, *peptides[place:]]
        expected = by_reference(queries[2:], targets, BLOSUM62)
        assert_engine_agrees(queries[2:], targets, BLOSUM62, expected, threads=(1, 2))
    expected = by_reference(queries, [long], BLOSUM62)
    for isa in ISAS:
        np.testing.assert_array_equal(score_all(queries, targets, BLOSUM62, isa, 2)[:, 1000:], expected)


def test_targets_that_overflow_8_and_16_bits_are_exact():
    """So that later rounds hold both families, many queries with different targets each, and a round of 32 bits."""
    rng = np.random.default_rng(3)
    costs = Costs(np.where(np.eye(20, dtype=bool), 500, -200), 100, 20)
    small = Costs(np.where(np.eye(20, dtype=bool), 6, -5), 10, 1)
    whole = random_codes(rng, 260, 20)
    queries = [whole[:n] for n in (260, 90, 30, 0, 1, 200)]
    targets = [mutated(rng, whole[i % 40 : 40 + 2 * i], 20, 0.02 * (i % 5)) for i in range(110)]
    for these in (small, costs):
        expected = by_reference(queries, targets, these)
        assert_engine_agrees(queries, targets, these, expected, threads=(1, 2, 3))
    assert (by_reference(queries[:1], targets, small) > small.limit(8)).mean() > 0.5
    assert 0.1 < (by_reference(queries[:1], targets, costs) > costs.limit(16)).mean() < 0.9


@pytest.mark.parametrize("letter", ["X", "*", "A", "W", "U"])
def test_sequences_of_one_letter_are_scored(letter):
    lengths = [0, 1, 5, 16, 63, 64, 65, 300, 1000]
    sequences = encoded([letter * n for n in lengths])
    score = int(BLOSUM62.matrix[sequences[1][0], sequences[1][0]])
    expected = [[max(0, score * min(m, n)) for m in lengths] for n in lengths]
    assert_engine_agrees(sequences, sequences, BLOSUM62, expected, threads=(1, 2))


def test_a_matrix_without_positive_score_gives_zero():
    """Scoring refuses it; the core must still not take it for an overflow."""
    sequences = [np.zeros(n, np.uint8) for n in (1, 300, 600)]
    for lowest, highest in ((-1, -1), (-5, 0), (-32767, -32767)):
        costs = Costs([[highest, lowest], [lowest, highest]], 1, 1)
        assert_engine_agrees(sequences, sequences, costs, np.zeros((3, 3)))


@pytest.mark.parametrize("n_queries", [0, 1, 3])
@pytest.mark.parametrize("n_targets", [0, 1, 3])
def test_no_queries_and_no_targets_give_empty_scores(n_queries, n_targets):
    for isa in ISAS:
        found = score_all([np.empty(0, np.uint8)] * n_queries, [np.empty(0, np.uint8)] * n_targets, BLOSUM62, isa, 2)
        assert found.shape == (n_queries, n_targets)
        assert found.dtype == np.int32
        assert not found.any()


def test_slices_of_arrays_are_scored():
    """Offsets need not begin at 0, and neither codes nor offsets need be aligned to anything."""
    rng = np.random.default_rng(4)
    codes = random_codes(rng, 5000, 24)
    edges = np.sort(rng.integers(7, 4000, 90))
    sequences = [codes[first:end] for first, end in pairwise(edges)]
    expected = score_all(sequences[:5], sequences, BLOSUM62)
    for isa in ISAS:
        found = _core.score_all(codes, edges[:6], codes[:4000], edges, BLOSUM62.matrix, 12, 1, 2, isa)
        np.testing.assert_array_equal(found, expected)
