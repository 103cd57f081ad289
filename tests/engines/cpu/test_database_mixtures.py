"""Databases of every mixture: no order, padding, splitting or number of threads changes a score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine_calls
import exaln.engines.cpu.engine
import strategies
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.scoring.matrices import MAX_VALUE
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.sequences.records import Records
from kernel_cases import ISAS, Costs, by_reference, mutated, random_codes, score_all, textbook
from memory_targets import memory_targets

HP = Alphabet("hp", "HP")
LANE_GAPS = [(0, 0), (0, 1), (1, 0), (126, 1), (127, 0), (128, 0), (0, 64), (0, 65), (MAX_VALUE, 0)]
ALL_LETTERS = Alphabet("custom", strategies.LETTERS[:31])


def steep_costs(n_letters):
    """Letters that match themselves with a score of any size: related sequences soon pass 8 bits, or 16."""
    matches = st.sampled_from([2, 11, 42, 43, 100, 500, 10_922, 10_923, MAX_VALUE])
    return st.builds(
        lambda match, ratio, gaps: Costs(np.where(np.eye(n_letters, dtype=bool), match, -(match // ratio)), *gaps),
        matches,
        st.sampled_from([1, 3, 1000]),
        strategies.gap_costs,
    )


@st.composite
def mixtures(draw, longest=40, most=90):
    """Any scoring, some queries, and targets of mixed lengths of which many are pieces of a query."""
    alphabet = draw(st.sampled_from([PROTEIN, DNA, HP, ALL_LETTERS]))
    n_letters = len(alphabet.letters)
    costs = draw(strategies.scorings(alphabet).map(Costs.of) | steep_costs(n_letters))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = [*range(6), 15, 16, 17, 31, 32, 33, longest // 4, longest // 2, longest, longest]
    queries = [random_codes(rng, rng.choice(lengths), n_letters) for _ in range(draw(st.integers(1, 3)))]
    kinds = draw(st.lists(st.sampled_from(["random", "related", "repeated", "equal"]), min_size=1, max_size=4))
    targets = [
        target(rng, rng.choice(kinds), queries[rng.integers(len(queries))], rng.choice(lengths), n_letters)
        for _ in range(draw(st.sampled_from([17, most, most // 2, 5, 1, 0])))
    ]
    return alphabet, costs, queries, targets


def target(rng, kind, query, length, n_letters):
    if kind == "related":
        return mutated(rng, query, n_letters)
    if kind == "repeated":
        return np.resize(random_codes(rng, rng.integers(1, 4), n_letters), length)
    if kind == "equal":
        return np.full(length, rng.integers(n_letters), np.uint8)
    return random_codes(rng, length, n_letters)


@settings(max_examples=150)
@given(mixtures(most=20), st.integers(1, 3))
def test_any_mixture_of_sequences_has_the_textbook_scores(mixture, threads):
    _, costs, queries, targets = mixture
    expected = textbook(queries, targets, costs)
    np.testing.assert_array_equal(by_reference(queries, targets, costs), expected)
    for isa in ISAS:
        np.testing.assert_array_equal(score_all(queries, targets, costs, isa, threads), expected, isa)


@settings(max_examples=200)
@given(mixtures(longest=600), st.data())
def test_scores_do_not_depend_on_order_splitting_other_targets_and_threads(mixture, data):
    _, costs, queries, targets = mixture
    isa = data.draw(st.sampled_from(ISAS))
    expected = score_all(queries, targets, costs, isa)
    order = data.draw(st.permutations(range(len(targets))))
    shuffled = score_all(queries, [targets[i] for i in order], costs, isa, threads=2)
    np.testing.assert_array_equal(shuffled, expected[:, list(order)])
    cut = data.draw(st.integers(0, len(targets)))
    parts = [score_all(queries, part, costs, isa, threads=3) for part in (targets[:cut], targets[cut:])]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), expected)
    company = score_all([*queries, *targets[:3]], targets + queries, costs, isa)
    np.testing.assert_array_equal(company[: len(queries), : len(targets)], expected)


@settings(max_examples=200)
@given(mixtures(longest=600))
def test_swapped_sequences_and_a_transposed_matrix_give_the_same_scores(mixture):
    _, costs, queries, targets = mixture
    for isa in ISAS:
        there, back = score_all(queries, targets, costs, isa), score_all(targets, queries, costs.transposed(), isa)
        np.testing.assert_array_equal(there, back.T, isa)


@settings(max_examples=150)
@given(mixtures(longest=600))
def test_all_instruction_sets_agree_where_the_textbook_is_too_slow(mixture):
    _, costs, queries, targets = mixture
    first, *others = [score_all(queries, targets, costs, isa, 2) for isa in ISAS]
    for other in others:
        np.testing.assert_array_equal(other, first)
    np.testing.assert_array_equal(by_reference(queries[:1], targets[:4], costs), first[:1, :4])


@settings(max_examples=100)
@given(mixtures(), st.integers(1, 4), st.sampled_from([1, 7, 50, 10_000]), st.sampled_from([1, 2, 1024]))
def test_scores_do_not_depend_on_blocks_and_segments(mixture, n_segments, block_scores, block_queries):
    alphabet, costs, queries, targets = mixture
    scoring = Scoring(costs.matrix, gap_open=costs.gap_open, gap_extend=costs.gap_extend, alphabet=alphabet)
    records = Records.of(alphabet, queries)
    view = memory_targets(alphabet, targets, n_segments)
    expected = engine_calls.scores(ReferenceEngine(), records, view, scoring)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exaln.engines.cpu.engine, "BLOCK_SCORES", block_scores)
        patch.setattr(exaln.engines.cpu.engine, "MAX_BLOCK_QUERIES", block_queries)
        cells = [0]
        np.testing.assert_array_equal(engine_calls.scores(CpuEngine(2), records, view, scoring, cells.append), expected)
    assert cells == sorted(cells)
    assert cells[-1] == records.n_residues * view.n_residues


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("gaps", LANE_GAPS)
def test_scores_with_gap_costs_at_the_limits_of_the_lanes(isa, gaps):
    rng = np.random.default_rng(sum(gaps))
    query = random_codes(rng, 70, 4)
    targets = [mutated(rng, query, 4, 0.3) for _ in range(20)]
    for match, mismatch in ((1, -1), (42, -127), (42, -128), (43, -129), (5, 0), (MAX_VALUE, -MAX_VALUE)):
        costs = Costs(np.where(np.eye(4, dtype=bool), match, mismatch), *gaps)
        expected = by_reference([query], targets, costs)
        np.testing.assert_array_equal(score_all([query], targets, costs, isa), expected)
