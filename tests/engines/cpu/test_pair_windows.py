"""Short queries in long targets: parts and windows change neither score nor end nor path."""

import numpy as np
import pytest

from exaln import _core
from exaln.scoring.modes import GLOBAL, LOCAL, OVERLAP, SEMIGLOBAL
from kernel_cases import Costs, join, random_codes
from pair_cases import align_pairs, by_definition, score_pairs

PART = 4096
"""Columns of a part, MIN_PART_COLUMNS in native/pairs/windows.cpp: its edges are where mistakes would be."""

DNA = Costs(np.where(np.eye(4, dtype=bool), 2, -3), 5, 2)
LINEAR = Costs(np.where(np.eye(4, dtype=bool), 1, -1), 0, 1)
CHEAP_GAPS = Costs(np.where(np.eye(4, dtype=bool), 9, -9), 2, 1)
FREE_GAPS = Costs(np.where(np.eye(4, dtype=bool), 2, -3), 5, 0)


def long_target(query, places, gap=0):
    """Letters that the query does not have, with copies of it that begin in these places, cut in two by a gap."""
    target = np.full(3 * PART + 77, 3, np.uint8)
    half = len(query) // 2
    for place in places:
        target[place : place + half] = query[:half]
        target[place + half + gap : place + len(query) + gap] = query[half:]
    return target


CASES = {
    "once": ([5000], 0),
    "in the first and the last column": ([0, 3 * PART + 77 - 12], 0),
    "the same thrice": ([PART - 3, 2 * PART + 5, 3 * PART], 0),
    "across an edge": ([PART - 6], 0),
    "a gap across an edge": ([PART - 10], 8),
    "a gap that ends with the overlap": ([2 * PART - 2], 11),
    "nowhere": ([], 0),
}


@pytest.mark.parametrize("costs", [DNA, LINEAR, CHEAP_GAPS], ids=["DNA", "linear", "cheap gaps"])
@pytest.mark.parametrize("mode", [LOCAL, SEMIGLOBAL], ids=str)
def test_pairs_cut_into_windows_follow_the_definition(costs, mode):
    query = np.array([0, 1, 2, 0, 0, 1, 2, 2, 1, 0, 2, 1], np.uint8)
    targets = [long_target(query, *case) for case in CASES.values()]
    targets.append(random_codes(np.random.default_rng(3), 3 * PART, 4))
    pairs = [(0, i) for i in range(len(targets))]
    expected = [by_definition(query, target, costs, mode) for target in targets]
    found = align_pairs([query], targets, pairs, costs, mode, threads=2)
    for name, one, known in zip([*CASES, "random"], found, expected, strict=True):
        assert one == known, name
    assert score_pairs([query], targets, pairs, costs, mode).tolist() == [known[0] for known in expected]


@pytest.mark.parametrize(
    ("costs", "mode"), [(DNA, OVERLAP), (DNA, GLOBAL), (FREE_GAPS, LOCAL)], ids=["overlap", "global", "free gaps"]
)
def test_pairs_that_are_not_cut_into_windows_follow_the_definition(costs, mode):
    query = np.array([0, 1, 2, 0, 0], np.uint8)
    target = long_target(query, [PART - 2, 2 * PART])
    assert align_pairs([query], [target], [(0, 0)], costs, mode) == [by_definition(query, target, costs, mode)]


def test_windowed_and_other_pairs_in_one_batch():
    """In any order, several queries with one target, one of them empty."""
    rng = np.random.default_rng(5)
    queries = [random_codes(rng, length, 4) for length in (9, 0, 14, 1, 30)]
    targets = [long_target(queries[0], [PART]), queries[4].copy(), long_target(queries[2], [PART - 7, 20], 3)]
    pairs = [(4, 1), (0, 0), (1, 2), (2, 2), (0, 1), (2, 0), (3, 2)]
    expected = [by_definition(queries[q], targets[t], DNA, LOCAL) for q, t in pairs]
    assert align_pairs(queries, targets, pairs, DNA, LOCAL) == expected


@pytest.mark.parametrize("wrong", [1, -1])
def test_a_wrong_known_score_of_a_windowed_pair_is_refused(wrong):
    query = np.array([0, 1, 2, 0, 0], np.uint8)
    first = np.zeros(1, np.int64)
    arguments = join([query]), join([long_target(query, [PART])]), (first, first), (DNA.matrix, 7, 2)
    assert _core.trace_all(*arguments, np.array([10], np.int32))[0].tolist() == [0, 5, PART, PART + 5]
    with pytest.raises(RuntimeError, match="no path has the score"):
        _core.trace_all(*arguments, np.array([10 + wrong], np.int32))
