"""Pairs in the core: every instruction set x mode x width against the oracle and the path rule, at every limit."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from exaln import _core
from exaln.scoring.modes import GLOBAL, LOCAL, OVERLAP, SEMIGLOBAL, Mode
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from kernel_cases import ISAS, Costs, by_reference, diagonal_costs, mutated, random_codes, sequence_scoring
from pair_cases import ALL_MODES, DNA_COSTS, MATRICES, align_pairs, by_definition, oracle_score, score_pairs, table_fits

ROOM = {"whole": 1 << 26, "strips": 20_000, "alone": 0}
"""Bytes of directions: all cells at once, strips of rows, none."""


def mixture(rng, n_letters, n=24, longest=34):
    """Queries and targets of any lengths, 0 and 1 among them; related, equal, all one letter, or nothing in common."""
    queries = [random_codes(rng, length, n_letters) for length in rng.integers(0, longest, n)]
    queries[:3] = [queries[0][:0], queries[1][:1], np.zeros(longest, np.uint8)]
    targets = [mutated(rng, query, n_letters, rng.random() / 2) for query in queries]
    targets[1::4] = [random_codes(rng, length, n_letters) for length in rng.integers(0, longest, len(targets[1::4]))]
    targets[2::4] = [np.concatenate([random_codes(rng, 9, n_letters), t[:-3]]) for t in targets[2::4]]
    targets[3::8] = [query.copy() for query in queries[3::8]]
    return queries, targets


def pairs_of(rng, queries, targets):
    """Record by record, and one query with many targets."""
    one = int(rng.integers(len(queries)))
    return [(i, i) for i in range(len(queries))] + [(one, i) for i in range(len(targets))]


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("factor", [1, 100, 20_000], ids=["narrow", "16 bits", "32 bits"])
def test_pairs_with_every_instruction_set_mode_and_width(name, factor):
    """A factor on all costs changes nothing but the score, and makes it too large for narrower lanes."""
    small = MATRICES[name]
    costs = Costs(small.matrix * factor, small.gap_open * factor, small.gap_extend * factor)
    rng = np.random.default_rng(len(name))
    queries, targets = mixture(rng, len(costs.matrix))
    pairs = pairs_of(rng, queries, targets)
    for mode in ALL_MODES:
        once = {pair: by_definition(queries[pair[0]], targets[pair[1]], costs, mode) for pair in set(pairs)}
        expected = [once[pair] for pair in pairs]
        scores = [score for score, *_ in expected]
        for q, t in pairs[:6]:
            assert oracle_score(queries[q], targets[t], costs, mode) == once[q, t][0]
        for isa in ISAS:
            assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == scores, (isa, mode)
            for room, max_bytes in ROOM.items():
                found = align_pairs(queries, targets, pairs, costs, mode, isa, max_bytes=max_bytes)
                assert found == expected, (isa, mode, room)
        assert align_pairs(queries, targets, pairs, costs, mode, threads=3) == expected


def test_the_tested_factors_reach_every_width():
    wide = Costs(DNA_COSTS.matrix * 20_000, 100_000, 40_000)
    assert table_fits(DNA_COSTS, 8, 10, 10)
    assert not table_fits(Costs(DNA_COSTS.matrix * 100, 500, 200), 8, 1, 1)
    assert table_fits(Costs(DNA_COSTS.matrix * 100, 500, 200), 16, 34, 34)
    assert not table_fits(wide, 16, 1, 1)
    assert table_fits(wide, 32, 40, 40)


@st.composite
def cases(draw):
    alphabet = draw(st.sampled_from([DNA, PROTEIN, Alphabet("two", "HP")]) | strategies.custom_alphabets)
    costs = Costs.of(draw(strategies.scorings(alphabet)))
    pairs = draw(st.lists(strategies.related_pairs(alphabet, max_size=25), min_size=1, max_size=6))
    sequences = [[alphabet.encode(pair[side]) for pair in pairs] for side in (0, 1)]
    return costs, *sequences, draw(st.sampled_from(ALL_MODES)), draw(st.sampled_from(list(ROOM.values())))


@settings(max_examples=300)
@given(cases())
def test_pairs_with_any_scoring_letters_and_mode(case):
    costs, queries, targets, mode, max_bytes = case
    pairs = [(i, i) for i in range(len(queries))]
    expected = [by_definition(q, t, costs, mode) for q, t in zip(queries, targets, strict=True)]
    for isa in ISAS:
        assert align_pairs(queries, targets, pairs, costs, mode, isa, max_bytes=max_bytes) == expected
        assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == [score for score, *_ in expected]


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP, Mode.parse("free:qe,ts")], ids=str)
@pytest.mark.parametrize("n_letters", [4, 20])
def test_pairs_with_lengths_around_every_edge(mode, n_letters):
    """Lanes, tiles, strips: pairs longer than a strip, groups with one pair more or less than lanes."""
    rng = np.random.default_rng(n_letters)
    costs = DNA_COSTS if n_letters == 4 else Costs(rng.integers(-4, 9, (20, 20)), 11, 1)
    lengths = (1, 3, 4, 7, 8, 9, 15, 16, 17, 65, _core.STRIP_ROWS - 1, _core.STRIP_ROWS, _core.STRIP_ROWS + 1)
    queries = [random_codes(rng, length, n_letters) for length in lengths]
    targets = [mutated(rng, query, n_letters, 0.2) for query in queries]
    pairs = [(i, i) for i in range(len(lengths))] + [(i, -1 - i + len(lengths)) for i in range(len(lengths))]
    alone = align_pairs(queries, targets, pairs, costs, mode, "portable", max_bytes=0)
    if mode.is_local:
        expected = by_reference(queries, targets, costs)
        assert [score for score, *_ in alone] == [expected[pair] for pair in pairs]
    for isa, max_bytes in product(ISAS, (100_000, 1 << 26)):
        assert align_pairs(queries, targets, pairs, costs, mode, isa, max_bytes=max_bytes) == alone
        assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == [score for score, *_ in alone]
    lanes = sorted({lanes for isa in ISAS for _, lanes, _ in _core.kernel_shapes(isa)})
    for n in sorted({n + near for n in lanes for near in (-1, 0, 1)}):
        some = (pairs * 10)[:n]
        for isa in ISAS:
            assert align_pairs(queries, targets, some, costs, mode, isa) == (alone * 10)[:n]


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, OVERLAP], ids=str)
@pytest.mark.parametrize("n_letters", [4, 8, 15, 28])
def test_letters_that_score_alike_in_pairs_of_mixed_lengths(n_letters, mode):
    """Such letters share a class, and shorter pairs of a group are padded: padding must not fall into their class."""
    rng = np.random.default_rng(n_letters)
    for factor in (1, 100):  # lanes of 8 and of 16 bits
        kinds = rng.integers(0, 4, n_letters)
        costs = Costs(np.where(kinds[:, None] == kinds, 2, -3) * factor, 5 * factor, 2 * factor)
        queries = [random_codes(rng, length, n_letters) for length in rng.integers(1, 40, 80)]
        targets = [random_codes(rng, length, n_letters) for length in rng.integers(1, 40, 80)]
        pairs = [(i, i) for i in range(len(queries))]
        expected = [oracle_score(q, t, costs, mode) for q, t in zip(queries, targets, strict=True)]
        for isa in ISAS:
            assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == expected, (isa, factor)
            found = align_pairs(queries, targets, pairs, costs, mode, isa)
            assert [score for score, *_ in found] == expected, (isa, factor)


TABLE_LIMITS = [
    (8, Costs(np.array([[3, -2], [-2, 3]]), 2, 1)),
    (8, Costs(np.array([[1, -60], [-60, 1]]), 0, 1)),
    (8, Costs(np.array([[7, -7], [-7, 7]]), 20, 0)),
    (16, Costs(np.array([[300, -200], [-200, 300]]), 200, 100)),
    (16, Costs(np.array([[999, -30_000], [-30_000, 999]]), 10, 0)),
    (32, Costs(np.array([[1_000_000, -7_000_000], [-7_000_000, 1_000_000]]), 5_000_000, 9_000_000)),
]


@pytest.mark.parametrize(("bits", "costs"), TABLE_LIMITS)
@pytest.mark.parametrize("mode", [GLOBAL, OVERLAP, SEMIGLOBAL], ids=str)
def test_pairs_at_the_score_limit_of_every_width(bits, costs, mode):
    """The largest tables that fit, and those one wider: all letters equal, none, and the rest of one sequence a gap."""
    last = max(n for n in range(1, 500) if table_fits(costs, bits, n, n))
    assert last > 1
    sizes = [(last + near, last + near) for near in (-1, 0, 1)]
    longest = max(n for n in range(last, 2000) if table_fits(costs, bits, 2, n) or n == last)
    sizes += [(2, longest), (2, longest + 1), (longest, 2)]
    for rows, columns in sizes:
        same, other = np.zeros(rows, np.uint8), np.ones(columns, np.uint8)
        queries, targets = (
            [same, same, np.arange(rows, dtype=np.uint8) % 2],
            [np.zeros(columns, np.uint8), other, other],
        )
        pairs = list(product(range(3), range(3)))
        alone = align_pairs(queries, targets, pairs, costs, mode, "portable", max_bytes=0)
        assert alone[0][0] == oracle_score(queries[0], targets[0], costs, mode)
        assert alone[1][0] == oracle_score(queries[0], targets[1], costs, mode)
        for isa in ISAS:
            assert align_pairs(queries, targets, pairs, costs, mode, isa) == alone
            assert score_pairs(queries, targets, pairs, costs, mode, isa).tolist() == [score for score, *_ in alone]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    "costs",
    [
        diagonal_costs([60, 30, 1], 11, 1, mismatch=-4),
        diagonal_costs([40, 1], 0, 0, mismatch=-1),
        diagonal_costs([1000, 50, 1], 100, 100),
        diagonal_costs([500_000_000, 10_000_000, 100_000, 1000, 30, 1], 1, 1),
    ],
    ids=["8", "8, free gaps", "16", "32"],
)
def test_local_pairs_at_the_score_limit_of_every_width(isa, costs):
    """A pair that overflows beside pairs that do not: it alone is computed again, in wider lanes."""
    letter_scores = np.diagonal(costs.matrix).tolist()
    limits = [costs.limit(bits) for bits in (8, 16, 32)]
    for score in (limit + near for limit in limits if limit is not None for near in (-1, 0, 1)):
        if score > 2**31 - 1 or score / max(letter_scores) > 2000:
            continue
        codes = sequence_scoring(score, letter_scores)
        sequences = [codes, codes[:1], codes[:-1], codes[:0]]
        pairs = [(1, 0), (0, 0), (2, 0), (3, 0), (0, 3)]
        expected = [letter_scores[codes[0]], score, score - letter_scores[codes[-1]], 0, 0]
        assert score_pairs(sequences, sequences, pairs, costs, LOCAL, isa).tolist() == expected
        found = align_pairs(sequences, sequences, pairs, costs, LOCAL, isa)
        assert [s for s, *_ in found] == expected
        assert found[1][1:] == ([0, len(codes)] * 2, found[1][2], [len(codes) << 4 | 7])
        assert found[3][1:] == ([0] * 4, [0] * 6, [])


def block_rows(costs, columns):
    """Rows of a block whose scores are above a base per lane, as BlockRange in ranges.hpp has it; or None."""
    most, first, extend = max(0, costs.matrix.max()), costs.gap_open + costs.gap_extend, costs.gap_extend
    depth = max(first + extend, -min(-1, costs.matrix.min()))
    for rows in range(32, 3, -1):
        above = max(rows, columns) * most + first + (max(rows, columns) - 1) * extend + most
        below = 2 * first + (rows + columns - 2) * extend + depth + 1
        if above + below <= 255:
            return rows
    return None


BASED = {
    "DNA": (DNA_COSTS, 32),
    "protein": (Costs(np.random.default_rng(5).integers(-4, 9, (20, 20)) + 2 * np.eye(20, dtype=int), 11, 1), 15),
    "nearly free gaps": (Costs(np.where(np.eye(4, dtype=bool), 6, -7), 0, 1), 29),
    "few rows": (Costs(np.where(np.eye(4, dtype=bool), 17, -30), 10, 2), 4),
    "none": (Costs(np.where(np.eye(4, dtype=bool), 18, -30), 10, 2), None),
}


@pytest.mark.parametrize("name", BASED)
def test_local_pairs_with_high_scores(name):
    """Beyond 8 bits: up and down by as much as a few letters can change a score, far from any base and back to 0."""
    costs, rows = BASED[name]
    assert block_rows(costs, 8) == rows
    n_letters = len(costs.matrix)
    rng = np.random.default_rng(len(name))
    same = np.full(150, n_letters - 1, np.uint8)
    long = random_codes(rng, 400, n_letters)
    parts = [mutated(rng, long[begin : begin + 90], n_letters, 0.02) for begin in (0, 100, 200, 300)]
    far = random_codes(rng, 60, n_letters)
    queries = [same, same[:149], long, long, long[::-1].copy(), long, np.concatenate([long, long]), *parts]
    targets = [same, long, long, np.concatenate([parts[0], far, parts[1], parts[3]]), long[::-1].copy()]
    targets += [np.concatenate([far, long[150:], far, long[:200]]), np.concatenate([long[30:], long[:-30]])]
    targets += [np.concatenate([part, far, part, part[:80]]) for part in parts]
    pairs = [(i, i) for i in range(len(queries))] + [(2, i) for i in range(len(targets))] + [(i, 5) for i in range(11)]
    alone = align_pairs(queries, targets, pairs, costs, LOCAL, "portable", max_bytes=0)
    assert max(score for score, *_ in alone) > 600
    for isa in ISAS:
        assert align_pairs(queries, targets, pairs, costs, LOCAL, isa) == alone, isa
        assert score_pairs(queries, targets, pairs, costs, LOCAL, isa).tolist() == [score for score, *_ in alone], isa


def test_local_pairs_at_the_limit_of_score_bases():
    """The largest score that 16 bits are trusted with is a matter of lengths and of the best score of a letter."""
    costs = Costs(np.where(np.eye(4, dtype=bool), 16, -5), 3, 1)
    assert block_rows(costs, 8)
    rng = np.random.default_rng(1)
    for length in (1998, 1999, 2000, 2001, 2047, 2048, 2049):
        codes = random_codes(rng, length, 4)
        for isa in ISAS:
            scores = score_pairs(
                [codes] * 3, [codes, codes[1:], codes[:-1]], [(0, 0), (1, 1), (2, 2)], costs, LOCAL, isa
            )
            assert scores.tolist() == [16 * length, 16 * (length - 1), 16 * (length - 1)], (isa, length)


def test_a_pair_score_beyond_31_bits_is_exact():
    costs = diagonal_costs([500_000_000, 1], 1, 1)
    codes = [np.zeros(5, np.uint8)]
    for mode in (LOCAL, GLOBAL):
        assert score_pairs([codes[0][:4]], codes, [(0, 0)], costs, mode).tolist() == [
            2_000_000_000 - 2 * (mode == GLOBAL)
        ]
        assert score_pairs(codes, codes, [(0, 0)], costs, mode).tolist() == [2_500_000_000]
        assert align_pairs(codes, codes, [(0, 0)], costs, mode) == [by_definition(codes[0], codes[0], costs, mode)]
    deep = Costs(np.array([[1]]), 0, 1_500_000_000)
    assert score_pairs(codes, [codes[0][:3]], [(0, 0)], deep, GLOBAL).tolist() == [3 - 3_000_000_000]
    assert align_pairs(codes, [codes[0][:3]], [(0, 0)], deep, GLOBAL) == [
        by_definition(codes[0], codes[0][:3], deep, GLOBAL)
    ]
    free = Mode.parse("free:qs")  # the values in between do not fit, the score does
    assert score_pairs(codes, [codes[0][:4]], [(0, 0)], deep, free).tolist() == [4]


def test_ends_in_different_strips_tie():
    """As good an end further down, but in a smaller column, is the one that counts; in the same column the first."""
    block = np.array([0, 1, 2, 3, 3, 2, 1, 0], np.uint8)
    far = np.full(_core.STRIP_ROWS, 4, np.uint8)
    costs = Costs(np.where(np.eye(6, dtype=bool), 1, -9), 9, 9)
    other = block[::-1][:7] ^ 1
    query = np.concatenate([block[:7], far, other, far, block[:7]])
    target = np.concatenate([np.full(20, 5, np.uint8), other, np.full(100, 5, np.uint8), block[:7]])
    for isa, max_bytes in product(ISAS, (60_000, 1 << 26, 0)):
        found = align_pairs([query], [target], [(0, 0)], costs, LOCAL, isa, max_bytes=max_bytes)
        assert found[0][:2] == (7, [7 + len(far), 14 + len(far), 20, 27]), (isa, max_bytes)


def test_no_pairs_are_accepted_and_wrong_arguments_refused():
    one = [np.zeros(2, np.uint8)]
    assert score_pairs(one, one, [], DNA_COSTS, GLOBAL).tolist() == []
    assert align_pairs(one, one, [], DNA_COSTS, LOCAL) == []
    for pairs in ([(0, 1)], [(-1, 0)]):
        with pytest.raises(ValueError, match="not there"):
            score_pairs(one, one, pairs, DNA_COSTS, GLOBAL)
    with pytest.raises(ValueError, match="threads"):
        score_pairs(one, one, [(0, 0)], DNA_COSTS, GLOBAL, threads=0)
    with pytest.raises(ValueError, match="a code that the matrix does not have"):
        align_pairs([np.array([77], np.uint8)], one, [(0, 0)], DNA_COSTS, GLOBAL)
