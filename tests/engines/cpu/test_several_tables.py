"""Several alignments of pairs in tables of tiles, on every instruction set: the textbook's, however a table is cut.

EXALN_SEVERAL sets the number of examples; `make test-several` uses it.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiled_textbook import textbook
from exaln import _core
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from kernel_cases import ISAS
from several_pairs import TargetEnd, drawn_pairs, several
from strategies import scorings
from waterman_eggert import textbook as plain_textbook

EXAMPLES = int(os.environ.get("EXALN_SEVERAL", "0"))
seeds = st.integers(0, 2**32 - 1)
TILES = [(0, 0), (64, 1), (64, 2), (64, 5), (64, 64), (128, 3), (192, 17), (4096, 8192)]

SCORINGS = [
    Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
    Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2),
    Scoring(match=3, mismatch=-1, gap_open=2, gap_extend=0),
    Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=0),
    Scoring(alphabet=DNA, match=5, mismatch=-4, gap_open=9.5, gap_extend=0.25),
    Scoring(match=60, mismatch=-40, gap_open=30, gap_extend=1),
    Scoring(match=3000, mismatch=-2000, gap_open=1000, gap_extend=7),
    Scoring("BLOSUM62"),
    Scoring("BLOSUM50", gap_open=3, gap_extend=1),
]


def examples(few):
    """Settings with `few` examples, or the number that EXALN_SEVERAL asks for."""
    return settings(max_examples=max(few, EXAMPLES), deadline=None, suppress_health_check=list(HealthCheck))


def check(rng, scoring, pairs, most, least):
    """One way on each instruction set, of which seeds draw all."""
    expected = [textbook(*pair, scoring, most, least) for pair in pairs]
    for isa in ISAS:
        how = {
            "isa": isa,
            "only_this_isa": bool(rng.integers(2)),
            "threads": int(rng.choice([1, 2, 7])),
            "tile": TILES[rng.integers(len(TILES))],
            "least_bits": int(rng.choice([8, 16, 32])),
        }
        if rng.integers(2):
            how["known_scores"] = [own[0][0] if own else 0 for own in (textbook(*p, scoring, 1, 1) for p in pairs)]
        if how["tile"] != (0, 0) and rng.integers(2):
            how["max_bytes"] = 1  # as few tiles as possible are kept
        assert several(pairs, scoring, most, [least] * len(pairs), **how) == expected, how


@pytest.mark.parametrize("scoring", SCORINGS, ids=lambda scoring: scoring.describe())
def test_the_compiled_textbook_is_the_textbook(scoring):
    rng = np.random.default_rng(5)
    for query, target in drawn_pairs(rng, 4, 12, 14):
        want = plain_textbook(query.tolist(), target.tolist(), scoring, 5, 2)
        assert textbook(query, target, scoring, 5, 2) == want


@pytest.mark.parametrize("scoring", SCORINGS, ids=lambda scoring: scoring.describe())
def test_pairs_of_all_kinds(scoring):
    rng = np.random.default_rng(3)
    for n_pairs, longest, most in ((3, 150, 12), (60, 24, 1), (120, 24, 40), (8, 90, 6)):
        pairs = drawn_pairs(rng, len(scoring.alphabet.letters), n_pairs, longest)
        check(rng, scoring, pairs, most, int(rng.choice([1, scoring.scale, 4 * int(scoring.matrix.max())])))


@examples(40)
@given(st.data(), seeds)
def test_any_scoring(data, seed):
    rng = np.random.default_rng(seed)
    scoring = data.draw(scorings(data.draw(st.sampled_from([DNA, PROTEIN]))))
    n_pairs, longest = [(1, 200), (4, 130), (20, 30), (40, 20)][rng.integers(4)]
    pairs = drawn_pairs(rng, len(scoring.alphabet.letters), n_pairs, longest)
    check(rng, scoring, pairs, int(rng.choice([1, 2, 8, 30])), int(rng.choice([1, 2, int(scoring.matrix.max())])))


@examples(60)
@given(seeds)
def test_ends_of_targets_are_uncertain_or_those_of_the_whole(seed):
    check_ends(np.random.default_rng(seed), SCORINGS[seed % len(SCORINGS)])


def check_ends(rng, scoring):
    """Ends from some columns on, with limits that hold and that are larger. Returns how many were certain."""
    longest = int(rng.choice([12, 40, 100]))
    (query, target), *_ = drawn_pairs(rng, len(scoring.alphabet.letters), 1, longest)
    if not len(query) or not len(target):
        return 0
    least = int(rng.choice([1, 2, 4])) * int(rng.choice([1, int(scoring.matrix.max())]))
    firsts = range(len(target)) if len(target) < 50 else rng.integers(0, len(target), 40).tolist()
    ends = [TargetEnd(query, target, scoring, first, least) for first in firsts]
    larger = int(rng.choice([0, 0, 1, 50, 40_000]))
    upper = [0 if first == 0 else end.upper + larger for first, end in zip(firsts, ends, strict=True)]
    margin = [int(rng.integers(0, end.margin + 1)) if rng.random() < 0.3 else end.margin for end in ends]
    most = int(rng.choice([1, 2, 5, 100]))
    how = {
        "isa": str(rng.choice(ISAS)),
        "threads": int(rng.choice([1, 2])),
        "tile": TILES[rng.integers(len(TILES))],
        "least_bits": int(rng.choice([8, 16, 32])),
        "known_scores": [end.known_score for end in ends] if rng.integers(2) else None,
    }
    found = several([end.pair for end in ends], scoring, most, [least] * len(ends), upper=upper, margin=margin, **how)
    for first, end, own in zip(firsts, ends, found, strict=True):
        if own is not None:
            assert own == end.alignments[:most], (first, how)
        assert own is not None or first > 0
    return sum(own is not None for own in found[1:])


def test_many_ends_are_certain():
    """So that the test above says something."""
    rng = np.random.default_rng(8)
    assert sum(check_ends(rng, SCORINGS[1]) for _ in range(20)) > 50


def test_memory_that_is_just_enough():
    rng, scoring = np.random.default_rng(2), SCORINGS[1]
    for longest in (60, 200, 900):
        query, target = rng.integers(0, 2, longest).astype(np.uint8), rng.integers(0, 2, 2 * longest).astype(np.uint8)
        costs = np.ascontiguousarray(scoring.matrix, np.int32), scoring.gap_first, scoring.gap_extend
        n_bytes = int(_core.several_bytes(len(query), len(target), costs)) + 1
        expected = textbook(query, target, scoring, 8, 9)
        assert several([(query, target)], scoring, 8, [9], max_bytes=n_bytes) == [expected]
        with pytest.raises(MemoryError):
            several([(query, target)], scoring, 8, [9], max_bytes=n_bytes // 2)
