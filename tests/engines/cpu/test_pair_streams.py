"""Pairs of mixed lengths: each lane computes one pair after another, with the same scores and paths as one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from exaln.scoring.modes import GLOBAL, LOCAL, OVERLAP, SEMIGLOBAL, Mode
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from kernel_cases import ISAS, Costs, join, mutated, random_codes
from pair_cases import ALL_MODES, DNA_COSTS, align_pairs, by_definition, score_pairs

MODES = [LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP, Mode.parse("free:qs"), Mode.parse("free:qe,ts")]
ONE_PAIR_EACH = 400
"""Pairs, several times as many as the lanes of any instruction set."""


def mixed_pairs(rng, n_letters, n, longest, shortest=0):
    """Queries and targets of unrelated lengths; a third of them are related, some empty."""
    queries = [random_codes(rng, length, n_letters) for length in rng.integers(shortest, longest, n)]
    targets = [random_codes(rng, length, n_letters) for length in rng.integers(shortest, longest, n)]
    targets[::3] = [mutated(rng, query, n_letters, 0.2) for query in queries[::3]]
    return queries, targets, [(i, i) for i in range(n)]


def one_by_one(queries, targets, costs, mode):
    """The answer for each pair alone."""
    pairs = zip(queries, targets, strict=True)
    return [align_pairs([q], [t], [(0, 0)], costs, mode, "portable", max_bytes=0)[0] for q, t in pairs]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("n_letters", [4, 20])
@pytest.mark.parametrize("factor", [1, 100, 20_000], ids=["narrow", "16 bits", "32 bits"])
def test_streams_give_what_each_pair_alone_gives(mode, n_letters, factor):
    rng = np.random.default_rng(n_letters)
    matrix = DNA_COSTS.matrix if n_letters == 4 else rng.integers(-4, 7, (20, 20))
    costs = Costs(matrix * factor, 5 * factor, 2 * factor)
    queries, targets, pairs = mixed_pairs(rng, n_letters, ONE_PAIR_EACH, 90)
    alone = one_by_one(queries, targets, costs, mode)
    for number in range(0, len(pairs), 37):
        assert alone[number] == by_definition(queries[number], targets[number], costs, mode)
    scores = [score for score, *_ in alone]
    for isa in ISAS:
        assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == scores, isa
        for max_bytes in (1 << 26, 1 << 20):
            assert align_pairs(queries, targets, pairs, costs, mode, isa, max_bytes=max_bytes) == alone, isa


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, OVERLAP], ids=str)
def test_streams_do_not_depend_on_threads_or_order(mode):
    rng = np.random.default_rng(5)
    queries, targets, pairs = mixed_pairs(rng, 4, 700, 150, shortest=1)
    expected = align_pairs(queries, targets, pairs, DNA_COSTS, mode)
    shuffled = rng.permutation(len(pairs)).tolist()
    for threads in (1, 2, 5):
        found = align_pairs(queries, targets, [pairs[i] for i in shuffled], DNA_COSTS, mode, threads=threads)
        assert found == [expected[i] for i in shuffled]
    scores = score_pairs(queries, targets, pairs, DNA_COSTS, mode, threads=3)
    assert scores.tolist() == [score for score, *_ in expected]


@pytest.mark.parametrize("isa", ISAS)
def test_streams_of_local_pairs_that_overflow_bytes(isa):
    """Identical pairs among unrelated ones: lanes overflow, next to others and after others that do not."""
    rng = np.random.default_rng(6)
    for share in (0.05, 0.9):
        queries, targets, pairs = mixed_pairs(rng, 4, 300, 200, shortest=1)
        for i in np.flatnonzero(rng.random(len(pairs)) < share):
            targets[i] = queries[i].copy()
        alone = one_by_one(queries, targets, DNA_COSTS, LOCAL)
        assert align_pairs(queries, targets, pairs, DNA_COSTS, LOCAL, isa) == alone
        assert score_pairs(queries, targets, pairs, DNA_COSTS, LOCAL, isa).tolist() == [s for s, *_ in alone]


@pytest.mark.parametrize("isa", ISAS)
def test_streams_with_known_scores(isa):
    """Each lane looks for the score of its own pair, whatever the lanes have found before."""
    from exaln import _core

    rng = np.random.default_rng(7)
    queries, targets, pairs = mixed_pairs(rng, 4, 400, 90, shortest=20)
    alone = one_by_one(queries, targets, DNA_COSTS, LOCAL)
    known = np.array([score for score, *_ in alone], np.int32)
    kept = np.flatnonzero(known > 0)
    rows = (kept.astype(np.int64), kept.astype(np.int64))
    costs = (DNA_COSTS.matrix, DNA_COSTS.gap_first, DNA_COSTS.gap_extend)
    positions, *_ = _core.trace_all(join(queries), join(targets), rows, costs, known[kept], 2, isa, True)
    assert positions.reshape(-1, 4).tolist() == [alone[i][1] for i in kept]
    assert len(pairs) > len(kept) // 2


@st.composite
def cases(draw):
    alphabet = draw(st.sampled_from([DNA, PROTEIN, Alphabet("two", "HP")]) | strategies.custom_alphabets)
    costs = Costs.of(draw(strategies.scorings(alphabet)))
    n_letters = len(costs.matrix)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = mixed_pairs(rng, n_letters, draw(st.integers(30, 200)), draw(st.integers(2, 60)))
    return costs, *pairs, draw(st.sampled_from(ALL_MODES)), draw(st.sampled_from(ISAS))


@settings(max_examples=60)
@given(cases())
def test_streams_with_any_scoring_letters_and_mode(case):
    costs, queries, targets, pairs, mode, isa = case
    alone = one_by_one(queries, targets, costs, mode)
    assert align_pairs(queries, targets, pairs, costs, mode, isa) == alone
    assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == [score for score, *_ in alone]


def test_a_code_without_a_row_in_the_matrix_is_refused_on_any_number_of_threads():
    rng = np.random.default_rng(8)
    queries, targets, pairs = mixed_pairs(rng, 4, 600, 20, shortest=1)
    targets[599] = np.array([1, 4, 2], np.uint8)
    for threads in (1, 3):
        for call in (score_pairs, align_pairs):
            with pytest.raises(ValueError, match="a code that the matrix does not have"):
                call(queries, targets, pairs, DNA_COSTS, LOCAL, threads=threads)


def test_times_of_pairs_grow_with_the_work():
    from exaln import _core

    before = _core.pair_times()
    queries, targets, pairs = mixed_pairs(np.random.default_rng(9), 4, 100, 200, shortest=100)
    score_pairs(queries, targets, pairs, DNA_COSTS, LOCAL)
    after = _core.pair_times()
    assert after[0] - before[0] >= after[1] - before[1] > 0
