"""Scores of pairs that have queries or targets in common: groups of one query, of a few, both sides swapped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from exaln.scoring.modes import GLOBAL, LOCAL, OVERLAP, SEMIGLOBAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from kernel_cases import ISAS, Costs, mutated, random_codes
from pair_cases import ALL_MODES, by_definition, oracle_score, score_pairs

SCORINGS = {
    "DNA": Costs.of(Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)),
    "BLOSUM62": Costs.of(Scoring("BLOSUM62", gap_open=11, gap_extend=1)),
    "not symmetric": Costs(np.random.default_rng(7).integers(-9, 9, (24, 24)), 4, 1),
    "linear gaps": Costs(np.random.default_rng(8).integers(-4, 6, (20, 20)), 0, 3),
}
N_LETTERS = {"DNA": 4, "BLOSUM62": 20, "not symmetric": 24, "linear gaps": 20}
COUNTS = [0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 127, 130]
"""Pairs of a sequence: around every number of lanes, and halves and quarters of it."""


def pairs_with(rng, counts, n_others, *, are_swapped):
    """So many pairs for each sequence of one side, in any order, the other side drawn from few; any may come again."""
    shared = np.repeat(np.arange(len(counts)), counts)
    pairs = np.stack([shared, rng.integers(0, n_others, len(shared))], axis=1)
    rng.shuffle(pairs)
    return [tuple(pair) for pair in (pairs[:, ::-1] if are_swapped else pairs).tolist()]


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("are_swapped", [False, True], ids=["by query", "by target"])
def test_every_number_of_pairs_that_share_a_sequence_in_every_mode(name, are_swapped):
    rng = np.random.default_rng(len(name))
    costs, n_letters = SCORINGS[name], N_LETTERS[name]
    shared = [random_codes(rng, length, n_letters) for length in rng.integers(1, 30, len(COUNTS))]
    others = [mutated(rng, shared[i % len(shared)], n_letters, 0.3) for i in range(9)]
    others[0] = others[0][:0]
    pairs = pairs_with(rng, COUNTS, len(others), are_swapped=are_swapped)
    queries, targets = (others, shared) if are_swapped else (shared, others)
    for mode in ALL_MODES:
        once = {(q, t): by_definition(queries[q], targets[t], costs, mode)[0] for q, t in sorted(set(pairs))}
        for q, t in pairs[:4]:
            assert oracle_score(queries[q], targets[t], costs, mode) == once[q, t]
        for isa in ["", *ISAS]:
            found = score_pairs(queries, targets, pairs, costs, mode, isa).tolist()
            assert found == [once[pair] for pair in pairs], (isa, mode)


@st.composite
def batches(draw):
    alphabet = draw(st.sampled_from([DNA, PROTEIN]) | strategies.custom_alphabets)
    costs = Costs.of(draw(strategies.scorings(alphabet)))
    sides = [
        [
            alphabet.encode(text)
            for text in draw(st.lists(strategies.sequences(alphabet, 0, 20), min_size=1, max_size=6))
        ]
        for _ in range(2)
    ]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = [
        pair
        for side, are_swapped in zip(sides, (False, True), strict=True)
        for pair in pairs_with(
            rng,
            draw(st.lists(st.sampled_from(COUNTS), min_size=len(side), max_size=len(side))),
            len(sides[not are_swapped]),
            are_swapped=are_swapped,
        )
    ]
    return costs, *sides, pairs, draw(st.sampled_from(ALL_MODES))


@settings(max_examples=150)
@given(batches(), st.integers(1, 3))
def test_any_mixture_of_shared_and_other_pairs(batch, threads):
    costs, queries, targets, pairs, mode = batch
    once = {(q, t): by_definition(queries[q], targets[t], costs, mode)[0] for q, t in sorted(set(pairs))}
    for isa in ["", *ISAS]:
        found = score_pairs(queries, targets, pairs, costs, mode, isa, threads=threads).tolist()
        assert found == [once[pair] for pair in pairs], isa


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP, Mode.parse("free:qe,ts")], ids=str)
@pytest.mark.parametrize("name", ["DNA", "BLOSUM62"])
@pytest.mark.parametrize("are_related", [False, True], ids=["random", "related"])
def test_shared_pairs_longer_than_strips_with_scores_beyond_8_bits(mode, name, are_related):
    """Each pair as it scores alone; related ones overflow, and go on above bases."""
    rng = np.random.default_rng(len(name) + are_related)
    costs, n_letters = SCORINGS[name], N_LETTERS[name]
    shared = [random_codes(rng, length, n_letters) for length in (130, 505, 511, 512, 513, 530, 1100)]
    others = [
        mutated(rng, shared[i % len(shared)], n_letters, 0.1)
        if are_related
        else random_codes(rng, int(rng.integers(90, 1200)), n_letters)
        for i in range(7)
    ]
    for are_swapped in (False, True):
        pairs = pairs_with(rng, [17, 33, 66, 40, 20, 36, 18], len(others), are_swapped=are_swapped)
        queries, targets = (others, shared) if are_swapped else (shared, others)
        alone = {(q, t): score_pairs(queries, targets, [(q, t)], costs, mode)[0] for q, t in sorted(set(pairs))}
        for isa in ["", *ISAS]:
            found = score_pairs(queries, targets, pairs, costs, mode, isa, threads=2).tolist()
            assert found == [alone[pair] for pair in pairs], (isa, are_swapped)


@pytest.mark.parametrize("mode", [LOCAL, SEMIGLOBAL, GLOBAL], ids=str)
@pytest.mark.parametrize("are_swapped", [False, True], ids=["reads as queries", "reads as targets"])
def test_many_short_sequences_with_few_long_ones(mode, are_swapped):
    """Parts of long targets are shared, too; sides that change places make rows of columns, beyond every strip."""
    rng = np.random.default_rng(3)
    costs = SCORINGS["DNA"]
    long = [random_codes(rng, length, 4) for length in (9_500, 12_000)]
    reads = [mutated(rng, long[i % 2][400 * i : 400 * i + 90 + i], 4) for i in range(22)]
    queries, targets = (long, reads) if are_swapped else (reads, long)
    pairs = [(q, t) for q in range(len(queries)) for t in range(len(targets))]
    alone = [int(score_pairs(queries, targets, [pair], costs, mode)[0]) for pair in pairs]
    assert alone[0] == by_definition(queries[0], targets[0], costs, mode)[0]
    for isa in ["", *ISAS]:
        assert score_pairs(queries, targets, pairs, costs, mode, isa, threads=2).tolist() == alone, isa
