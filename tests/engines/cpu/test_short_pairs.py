"""Short pairs in the core: every instruction set, mode and width against the oracle and the path rule."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from exaln import _core
from exaln.scoring.modes import GLOBAL, LOCAL, OVERLAP, SEMIGLOBAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet
from exaln.sequences.strands import complements, reverse_complement
from kernel_cases import ISAS, Costs, diagonal_costs, mutated, random_codes, sequence_scoring
from pair_cases import ALL_MODES, DNA_COSTS, MATRICES, align_pairs, by_definition, oracle_score

FIRST_LETTER = 64
PLUS, MINUS, BOTH = range(3)


def short_pairs(costs, isa, other_strand=(), *, is_nucleotide=False):
    """The core for texts whose letters are the characters from FIRST_LETTER on."""
    codes = np.full(256, 255, np.uint8)
    codes[FIRST_LETTER : FIRST_LETTER + len(costs.matrix)] = np.arange(len(costs.matrix))
    gaps = costs.gap_first, costs.gap_extend
    return _core.ShortPairs(costs.matrix, *gaps, codes, np.array(other_strand, np.uint8), is_nucleotide, isa)


def text(codes):
    return bytes(codes + FIRST_LETTER)


def aligned(pairs, query, target, mode, strand=PLUS):
    """(score, positions, counts, operations), as `by_definition` returns them, and the strand."""
    numbers, operations = pairs.align(text(query), text(target), mode.flags, strand)
    score, *rest, sign = numbers
    return (score, rest[:4], rest[4:], np.frombuffer(operations, np.uint32).tolist()), sign


def assert_exact(queries, targets, costs, mode, expected):
    """All instruction sets find what is expected, scores alone and with paths."""
    for isa in ISAS:
        pairs = short_pairs(costs, isa)
        for query, target, answer in zip(queries, targets, expected, strict=True):
            if mode.is_local and costs.matrix.max() <= 0:
                assert pairs.align(text(query), text(target), mode.flags) is None
                assert pairs.score(text(query), text(target), mode.flags) is None
                continue
            found, strand = aligned(pairs, query, target, mode)
            assert found == answer, (isa, mode)
            assert strand == 1
            assert pairs.score(text(query), text(target), mode.flags) == answer[0], (isa, mode)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("factor", [1, 100, 20_000], ids=["16 bits", "some 32 bits", "32 bits"])
def test_every_instruction_set_mode_and_width(name, factor):
    """A factor on all costs changes nothing but the score, and makes it too large for narrower lanes."""
    small = MATRICES[name]
    costs = Costs(small.matrix * factor, small.gap_open * factor, small.gap_extend * factor)
    rng = np.random.default_rng(len(name))
    queries = [random_codes(rng, length, len(costs.matrix)) for length in rng.integers(0, 40, 12)]
    targets = [mutated(rng, query, len(costs.matrix), rng.random() / 2) for query in queries]
    targets[1::3] = [random_codes(rng, length, len(costs.matrix)) for length in rng.integers(0, 40, 4)]
    for mode in ALL_MODES:
        expected = [by_definition(query, target, costs, mode) for query, target in zip(queries, targets, strict=True)]
        assert oracle_score(queries[0], targets[0], costs, mode) == expected[0][0]
        assert_exact(queries, targets, costs, mode, expected)


@st.composite
def cases(draw):
    alphabet = draw(st.sampled_from([DNA, PROTEIN, Alphabet("two", "HP")]) | strategies.custom_alphabets)
    costs = Costs.of(draw(strategies.scorings(alphabet)))
    pair = draw(strategies.related_pairs(alphabet, max_size=draw(st.sampled_from([6, 25, 70]))))
    return costs, *(alphabet.encode(one) for one in pair), draw(st.sampled_from(ALL_MODES))


@settings(max_examples=400)
@given(cases())
def test_any_scoring_letters_and_mode(case):
    costs, query, target, mode = case
    assert_exact([query], [target], costs, mode, [by_definition(query, target, costs, mode)])


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP, Mode.parse("free:qe,ts")], ids=str)
@pytest.mark.parametrize("n_letters", [2, 4, 20])
def test_lengths_around_the_edges_of_lanes_and_segments(mode, n_letters):
    rng = np.random.default_rng(n_letters)
    costs = Costs(rng.integers(-4, 9, (20, 20)), 11, 1) if n_letters == 20 else DNA_COSTS
    lanes = {lanes for isa in ISAS for bits, lanes, _ in _core.kernel_shapes(isa) if bits >= 16}
    lengths = sorted({n * times + near for n in lanes for times in (1, 2, 3) for near in (-1, 0, 1)} | {1, 2, 200})
    queries = [random_codes(rng, length, n_letters) for length in lengths]
    targets = [mutated(rng, query, n_letters, 0.2) for query in queries]
    expected = align_pairs(
        queries, targets, [(i, i) for i in range(len(lengths))], costs, mode, "portable", max_bytes=0
    )
    assert_exact(queries, targets, costs, mode, expected)


@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, SEMIGLOBAL, OVERLAP], ids=str)
def test_gaps_that_cross_many_lanes(mode):
    """A long insertion or deletion, cheap to extend: F is carried over several lanes, and competes there."""
    rng = np.random.default_rng(5)
    for gap_open, gap_extend in ((4, 0), (0, 0), (9, 1), (0, 1), (60, 3)):
        costs = Costs(np.where(np.eye(4, dtype=bool), 9, -8), gap_open, gap_extend)
        whole = random_codes(rng, 300, 4)
        parts = [np.concatenate([whole[:a], whole[b:]]) for a, b in ((40, 250), (3, 190), (100, 131), (64, 96))]
        queries, targets = [whole] * 4 + parts, parts + [whole] * 4
        some = [(i, i) for i in range(len(queries))]
        expected = align_pairs(queries, targets, some, costs, mode, "portable", max_bytes=0)  # cell by cell
        assert_exact(queries, targets, costs, mode, expected)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    "costs",
    [
        diagonal_costs([60, 30, 1], 11, 1, mismatch=-4),
        diagonal_costs([1000, 50, 1], 100, 100),
        diagonal_costs([900, 1], 0, 0, mismatch=-1),
        diagonal_costs([500_000_000, 10_000_000, 100_000, 1000, 30, 1], 1, 1),
    ],
    ids=["16", "16, dear gaps", "16, free gaps", "32"],
)
def test_local_scores_around_the_limits_of_16_and_32_bits(isa, costs):
    letter_scores, pairs = np.diagonal(costs.matrix).tolist(), short_pairs(costs, isa)
    for width, near in ((width, near) for width in (15, 16, 31, 32) for near in range(-1200, 1201, 37)):
        score = 2**width + near
        if score > 2**31 - 1 or score / max(letter_scores) > 1500:
            continue
        codes = sequence_scoring(score, letter_scores)
        found, _ = aligned(pairs, codes, codes, LOCAL)
        assert found[0] == score == pairs.score(text(codes), text(codes), LOCAL.flags)
        assert found[1] == [0, len(codes)] * 2


LIMITED = [
    Costs(np.array([[300, -200], [-200, 300]]), 200, 100),
    Costs(np.array([[999, -30_000], [-30_000, 999]]), 10, 0),
    Costs(np.array([[30, -20], [-20, 30]]), 0, 160),
    Costs(np.array([[1_000_000, -7_000_000], [-7_000_000, 1_000_000]]), 5_000_000, 9_000_000),
]


@pytest.mark.parametrize("costs", LIMITED)
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, OVERLAP, SEMIGLOBAL], ids=str)
def test_tables_around_the_limits_of_16_and_32_bits(costs, mode):
    """Letters all equal, none equal, and one long gap. What fits no lane is left to others."""
    for rows, columns in [(n, n) for n in range(10, 130, 7)] + [(2, 150), (2, 300), (150, 2), (90, 40)]:
        same, other = np.zeros(rows, np.uint8), np.ones(columns, np.uint8)
        queries, targets = [same, same], [np.zeros(columns, np.uint8), other]
        expected = align_pairs(queries, targets, [(0, 0), (1, 1)], costs, mode, "portable", max_bytes=0)
        for isa in ISAS:
            pairs = short_pairs(costs, isa)
            for query, target, answer in zip(queries, targets, expected, strict=True):
                if pairs.score(text(query), text(target), mode.flags) is None:
                    assert costs is LIMITED[-1]
                    assert pairs.align(text(query), text(target), mode.flags) is None
                else:
                    assert aligned(pairs, query, target, mode)[0] == answer


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("mode", [LOCAL, GLOBAL, OVERLAP], ids=str)
def test_strands(isa, mode):
    rng = np.random.default_rng(3)
    costs = Costs.of(scoring := Scoring(match=2, mismatch=-3))
    other_strand = complements(scoring.alphabet)
    pairs = short_pairs(costs, isa, other_strand, is_nucleotide=True)
    plus_only = short_pairs(costs, isa, is_nucleotide=True)
    for length in (0, 1, 20, 70):
        query = random_codes(rng, length, 4)
        for target in (query, reverse_complement(mutated(rng, query, 4, 0.1), DNA), random_codes(rng, 50, 4)):
            plus, _ = aligned(pairs, query, target, mode)
            mirrored, _ = aligned(pairs, reverse_complement(query, DNA), target, mode)
            score, positions, counts, operations = mirrored
            positions = [length - positions[1], length - positions[0], *positions[2:]]
            minus = score, positions, counts, operations[::-1]
            assert aligned(pairs, query, target, mode, MINUS) == (minus, -1)
            best = (minus, -1) if minus[0] > plus[0] else (plus, 1)
            assert aligned(pairs, query, target, mode, BOTH) == best
            assert plus[2][0] == plus[2][1]  # only equal bases are positive
            assert plus_only.align(text(query), text(target), mode.flags, MINUS) is None
            assert plus_only.align(text(query), text(target), mode.flags, BOTH) is None
    assert pairs.align(b"A", b"A", mode.flags, 3) is None
    assert pairs.align(b"A", b"A", mode.flags, -1) is None


def test_texts_that_are_refused():
    pairs = short_pairs(DNA_COSTS, ISAS[0])
    assert pairs.score("@ABC", b"@ABC", LOCAL.flags) == 8
    for wrong in ("@AZ", "@\u00e9", "@\ud800", b"@\xff", 5, bytearray(b"@A")):
        assert pairs.score(wrong, "@ABC", LOCAL.flags) is None
        assert pairs.align("@ABC", wrong, LOCAL.flags) is None


def test_counts_of_letters_in_classes():
    rng = np.random.default_rng(2)
    members = rng.integers(0, 2, (256, 8)).astype(np.uint8)
    for length in (0, 1, 254, 255, 256, 2000):
        text, other = (rng.integers(0, 256, n).astype(np.uint8) for n in (length, 300))
        counts = _core.class_counts(bytes(text), bytes(other), members.tobytes())
        both = np.concatenate([text, other])
        assert counts == tuple(tuple(members[one].sum(axis=0, dtype=int).tolist()) for one in (both, text, other))
    assert _core.class_counts("\ud800", "A", members.tobytes()) is None
    assert _core.class_counts("A", 5, members.tobytes()) is None
    with pytest.raises(ValueError, match="8 bytes for each byte"):
        _core.class_counts("A", "A", b"")


def test_arrays_that_are_refused():
    matrix, codes, none = DNA_COSTS.matrix, np.zeros(256, np.uint8), np.empty(0, np.uint8)
    _core.ShortPairs(matrix, 7, 2, codes, none, True, ISAS[0])
    for arguments, message in (
        ((matrix, 7, 2, codes[:255], none, True, ISAS[0]), "codes"),
        ((matrix, 7, 2, codes, codes[:3], True, ISAS[0]), "complement"),
        ((matrix, 7, 2, codes, codes[:4] + 4, True, ISAS[0]), "does not have"),
        ((matrix[:3], 7, 2, codes, none, True, ISAS[0]), "matrix"),
        ((matrix, 2, 7, codes, none, True, ISAS[0]), "gap costs"),
        ((matrix, 7, 2, codes, none, True, "sse9"), "unknown instruction set"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.ShortPairs(*arguments)


def test_many_threads_share_one_object():
    """Small tables and tables large enough to be computed without the GIL, at the same time."""
    rng = np.random.default_rng(9)
    queries = [random_codes(rng, length, 4) for length in (5, 40, 90, 700, 1100)]
    targets = [mutated(rng, query, 4) for query in queries]
    pairs = short_pairs(DNA_COSTS, ISAS[0])
    expected = [aligned(pairs, query, target, GLOBAL) for query, target in zip(queries, targets, strict=True)]
    wrong = []

    def work(first):
        for place in [(first + i) % len(queries) for i in range(60)]:
            if aligned(pairs, queries[place], targets[place], GLOBAL) != expected[place]:
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
