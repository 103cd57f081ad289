"""Every kernel alone (instruction set x family x width) against the textbook: at every edge and at its limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from exaln import _core
from exaln.scoring.scoring import Scoring
from kernel_cases import (
    ISAS,
    KERNELS,
    OVERFLOWED,
    Costs,
    assert_engine_agrees,
    assert_kernels_agree,
    by_reference,
    diagonal_costs,
    join,
    mutated,
    random_codes,
    score_kernel,
    sequence_scoring,
    textbook,
)

BLOSUM62 = Costs.of(Scoring("BLOSUM62", gap_open=11, gap_extend=1))
CHEAP_GAPS = Costs(np.where(np.eye(4, dtype=bool), 5, -4), 1, 1)
STRIP = _core.STRIP_ROWS
EDGES = sorted(
    {lanes for isa in ISAS for _, lanes, _ in _core.kernel_shapes(isa)}
    | {8, 256, _core.STRIP_ROWS, 2 * _core.STRIP_ROWS}
)
LENGTHS = sorted({0, 1, 2, 3, *(edge + near for edge in EDGES for near in (-1, 0, 1))})


def test_all_instruction_sets_have_the_same_widths_and_the_edges_are_known():
    assert ISAS
    assert "portable" in ISAS
    for isa in ISAS:
        assert [bits for bits, _, _ in _core.kernel_shapes(isa)] == [8, 16, 32]
        assert {columns for _, _, columns in _core.kernel_shapes(isa)} <= {4, 8}
    assert {0, 1, 7, 8, 9, 15, 16, 17, 255, 256, 257} <= set(LENGTHS)
    assert _core.STRIP_ROWS + 1 in LENGTHS


@pytest.mark.parametrize("gap_extend", [0, 1, 2])
@pytest.mark.parametrize("missing", [40, 150, 390])
def test_gaps_along_the_query_cross_many_lanes(missing, gap_extend):
    rng = np.random.default_rng(missing)
    costs = Costs(np.where(np.eye(4, dtype=bool), 5, -4), 6, gap_extend)
    query = random_codes(rng, 700, 4)
    targets = [np.concatenate([query[:first], query[first + missing :]]) for first in (100, 155, 290)]
    targets += [np.concatenate([target[:200], target[230:]]) for target in targets]
    expected = by_reference([query], targets, costs)
    assert_kernels_agree([query], targets, costs, expected)
    low = Costs(np.where(np.eye(4, dtype=bool), 1, -4), 6, gap_extend)  # scores that fit 8 bits
    short = [np.concatenate([query[100:200], query[200 + missing : 300 + missing]])]
    assert_kernels_agree([query], short, low, by_reference([query], short, low))


@pytest.mark.parametrize("length", LENGTHS)
def test_kernels_with_query_lengths_around_every_edge(length):
    rng = np.random.default_rng(length)
    query = random_codes(rng, length, 4)
    targets = [mutated(rng, query, 4, rate) for rate in (0, 0.05, 0.3)] + [random_codes(rng, n, 4) for n in (1, 5, 30)]
    expected = by_reference([query], targets, CHEAP_GAPS)
    assert_kernels_agree([query], targets, CHEAP_GAPS, expected)
    assert_engine_agrees([query], targets, CHEAP_GAPS, expected)


@pytest.mark.parametrize("query_length", [1, 3, 16, 33, 64, 100, 257])
def test_kernels_with_target_lengths_around_every_edge_in_one_group(query_length):
    rng = np.random.default_rng(query_length)
    query = random_codes(rng, query_length, 4)
    repeated = np.resize(query, LENGTHS[-1])
    targets = [mutated(rng, repeated[:length], 4) for length in LENGTHS] + [repeated[:n] for n in LENGTHS]
    expected = by_reference([query], targets, CHEAP_GAPS)
    assert_kernels_agree([query], targets, CHEAP_GAPS, expected)
    assert_engine_agrees([query], targets, CHEAP_GAPS, expected)


@pytest.mark.parametrize("n_targets", [0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129])
def test_groups_with_every_number_of_targets(n_targets):
    rng = np.random.default_rng(n_targets)
    query = random_codes(rng, 21, 20)
    targets = [mutated(rng, query, 20, 0.4)[: rng.integers(0, 22)] for _ in range(n_targets)]
    expected = textbook([query], targets, BLOSUM62)
    assert_kernels_agree([query], targets, BLOSUM62, expected)
    assert_engine_agrees([query], targets, BLOSUM62, expected)


@pytest.mark.parametrize("gap_at", [1, 4, 15, 16, 17, 31, 63, 64, 127, 255, 256, 257, 300, STRIP - 1, STRIP, STRIP + 1])
@pytest.mark.parametrize("gap_length", [1, 7, 70, 260, STRIP + STRIP // 2])
def test_long_gaps_cross_tiles_strips_and_lanes(gap_at, gap_length):
    """One sequence lacks a stretch of the other, up to most of it: gaps are carried over all lanes, or strips."""
    rng = np.random.default_rng(gap_at)
    whole = random_codes(rng, 2 * STRIP + 100, 20)
    cut = np.delete(whole, slice(gap_at, gap_at + gap_length))
    costs = Costs(np.where(np.eye(20, dtype=bool), 11, -12), 3, 0)
    halves = [gap_at, len(whole) - gap_at - gap_length]
    bridged = 11 * sum(halves) - 3
    for query, target in ((whole, cut), (cut, whole)):
        expected = by_reference([query], [target], costs)
        assert expected[0, 0] >= max(bridged, 11 * max(halves))
        assert_kernels_agree([query], [target], costs, expected)


LIMIT_COSTS = {
    "match 1": diagonal_costs([1], 0, 0, mismatch=-1),
    "match 5": diagonal_costs([5, 1], 2, 1),
    "BLOSUM-like": diagonal_costs([11, 1, 4], 11, 1, mismatch=-4),
    "free gaps": diagonal_costs([20, 1], 0, 0, mismatch=-20),
    "deep": diagonal_costs([3, 1], 40, 60, mismatch=-100),
    "deepest": diagonal_costs([3, 1], 126, 1, mismatch=-128),
    "steep": diagonal_costs([30, 1], 1, 0, mismatch=-1),
    "large": diagonal_costs([2000, 300, 1], 500, 100),
    "largest": diagonal_costs([32767, 1000, 30, 1], 32766, 1),
    "beyond Scoring": diagonal_costs([500_000_000, 10_000_000, 100_000, 1000, 30, 1], 1, 1),
}


def is_short_enough(costs, bits):
    """Whether a score at the limit takes no more than 7,000 letters."""
    return costs.limit(bits) is None or costs.limit(bits) // costs.matrix.max() <= 7000


LIMIT_CASES = [
    (kernel, name) for kernel in KERNELS for name in LIMIT_COSTS if is_short_enough(LIMIT_COSTS[name], kernel[2])
]


@pytest.mark.parametrize(
    ("kernel", "name"), LIMIT_CASES, ids=[f"{isa}-{f}-{b}-{name}" for (isa, f, b), name in LIMIT_CASES]
)
def test_kernels_at_the_largest_score_and_one_above(kernel, name):
    costs = LIMIT_COSTS[name]
    limit, letter_scores = costs.limit(kernel[2]), np.diagonal(costs.matrix).tolist()
    if limit is None:
        with pytest.raises(ValueError, match="no room at this width"):
            score_kernel(kernel, np.zeros(1, np.uint8), [np.zeros(1, np.uint8)], costs)
        return
    for score in range(limit - 2, limit + 3):
        codes = sequence_scoring(score, letter_scores)
        lane_mates = [codes[:1], codes, codes[:-1], np.empty(0, np.uint8), codes]
        found = score_kernel(kernel, codes, lane_mates, costs)
        best = score if score <= limit else OVERFLOWED
        shorter = score - letter_scores[codes[-1]]
        assert found.tolist() == [letter_scores[codes[0]], best, shorter if shorter <= limit else OVERFLOWED, 0, best]


def test_the_tested_limits_cover_every_width():
    reached = {
        bits: [name for (_, _, b), name in LIMIT_CASES if b == bits and LIMIT_COSTS[name].limit(b)]
        for bits in (8, 16, 32)
    }
    assert len(set(reached[8])) >= 6
    assert len(set(reached[16])) >= 4
    assert set(reached[32]) == {"beyond Scoring"}
    assert LIMIT_COSTS["deepest"].limit(8) == 127 - 3
    assert LIMIT_COSTS["largest"].limit(16) is None


@pytest.mark.parametrize("n_letters", [1, 2, 15, 16, 17, 30, 31])
def test_kernels_score_every_code(n_letters):
    """All pairs of letters, each with a score of its own, in matrices on both sides of the half of a table."""
    rng = np.random.default_rng(n_letters)
    for highest in (40, 10_000, 32_767):
        costs = Costs(rng.permutation(np.linspace(1, highest, n_letters**2).astype(int)).reshape(n_letters, -1), 5, 5)
        queries = [np.array([code], np.uint8) for code in range(n_letters)]
        assert_kernels_agree(queries, queries, costs, costs.matrix)


@st.composite
def kernel_cases(draw):
    alphabet = draw(strategies.alphabets)
    scoring = draw(strategies.scorings(alphabet))
    pairs = draw(st.lists(strategies.related_pairs(alphabet, max_size=40), min_size=1, max_size=6))
    encode = alphabet.encode
    return Costs.of(scoring), [encode(pairs[0][0])], [encode(target) for _, target in pairs]


@settings(max_examples=300)
@given(kernel_cases())
def test_kernels_with_any_scoring_and_letters(case):
    costs, queries, targets = case
    expected = textbook(queries, targets, costs)
    np.testing.assert_array_equal(by_reference(queries, targets, costs), expected)
    assert_kernels_agree(queries, targets, costs, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"isa": "mmx"}, "unknown instruction set 'mmx'"),
        ({"family": "banded"}, "group or striped"),
        ({"bits": 64}, "8, 16 or 32"),
        ({"query": np.array([32], np.uint8)}, "code of 32"),
        ({"target_codes": np.array([1, 200], np.uint8)}, "code of 32"),
        ({"target_offsets": np.array([0, 3])}, "beyond the codes"),
        ({"matrix": np.ones((2, 3), np.int32)}, "n x n"),
    ],
)
def test_wrong_arguments_of_a_kernel_are_refused(change, message):
    codes, offsets = join([np.zeros(2, np.uint8)])
    good = {"isa": "portable", "family": "group", "bits": 8, "query": codes, "target_codes": codes}
    good |= {"target_offsets": offsets, "matrix": np.ones((2, 2), np.int32), "gap_first": 2, "gap_extend": 1}
    assert _core.score_kernel(**good).tolist() == [2]
    with pytest.raises(ValueError, match=message):
        _core.score_kernel(**(good | change))
