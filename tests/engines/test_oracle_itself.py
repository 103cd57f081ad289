"""The oracle against worked examples, other tools' scores, and every alignment there is."""

from itertools import groupby, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden_data
from exaln.scoring.scoring import Scoring
from oracle import smith_waterman


def identity(match, mismatch, letters="ACGT"):
    return {a: {b: match if a == b else mismatch for b in letters} for a in letters}


def as_dict(scoring):
    letters = scoring.alphabet.letters
    return {a: dict(zip(letters, row.tolist(), strict=True)) for a, row in zip(letters, scoring.matrix, strict=True)}


BLOSUM50 = as_dict(Scoring("BLOSUM50"))
BLOSUM62 = as_dict(Scoring("BLOSUM62"))


@pytest.mark.parametrize(
    ("query", "target", "scores", "gap_first", "gap_extend", "expected"),
    [
        ("TGTTACGG", "GGTTGACTA", identity(3, -3), 2, 2, 13),
        ("HEAGAWGHEE", "PAWHEAE", BLOSUM50, 8, 8, 28),
        ("WHSSPSILLNS", "WSAPSVLLNAS", BLOSUM50, 3, 1, 56),
        ("ATGTAAACTGTACCTGATGGCTAA", "AGTGTAAACTGTACCTGATGGCTAA", identity(3, -2), 2, 1, 70),
        ("GGGGGGTTTTTT", "AAACCCTTTTTT", identity(1, -4), 6, 1, 6),
        ("AGCACACA", "ACACACTA", identity(2, -1), 1, 1, 12),
        ("GTCTAC", "TCTCGAT", identity(2, -1), 1, 1, 7),
        ("", "ACGT", identity(2, -1), 1, 1, 0),
        ("AAAA", "TTTT", identity(2, -1), 1, 1, 0),
    ],
)
def test_the_oracle_scores_worked_examples(query, target, scores, gap_first, gap_extend, expected):
    gap_open = gap_first - gap_extend
    assert smith_waterman(query, target, scores, gap_open, gap_extend) == expected
    assert smith_waterman(target, query, scores, gap_open, gap_extend) == expected


def test_the_oracle_scores_haemoglobins_as_emboss_and_blast_do():
    hba, hbb = golden_data.fasta("hba_hbb.fasta").values()
    assert smith_waterman(hba, hbb, BLOSUM62, 9.5, 0.5) == 293.5
    assert smith_waterman(hba, hbb, BLOSUM62, 11, 1) == 285


def test_the_oracle_gives_the_golden_scores_of_the_smallest_pairs():
    queries, targets, scores = golden_data.queries(), golden_data.targets(), golden_data.scores()
    assert scores.keys() == set(product(queries, targets))
    smallest = sorted(scores, key=lambda pair: len(queries[pair[0]]) * len(targets[pair[1]]))[:25]
    shortest = min(queries, key=lambda name: len(queries[name]))
    odd = [(shortest, name) for name, sequence in targets.items() if set(sequence) & set("XZ")]
    assert len(odd) >= 5
    for query, target in smallest + odd:
        assert smith_waterman(queries[query], targets[target], BLOSUM62, 11, 1) == scores[query, target]


def best_of_all_alignments(query, target, scores, gap_open, gap_extend):
    """Write down every alignment of every pair of substrings, column by column, and add it up."""
    best = 0
    for length in range(1, len(query) + len(target) + 1):
        for steps in product("MDI", repeat=length):
            n_query = length - steps.count("D")
            n_target = length - steps.count("I")
            gaps = sum(gap_open + gap_extend * len(list(run)) for step, run in groupby(steps) if step != "M")
            for i, j in product(range(len(query) - n_query + 1), range(len(target) - n_target + 1)):
                best = max(best, matched(steps, query[i:], target[j:], scores) - gaps)
    return best


def matched(steps, query, target, scores):
    i = j = total = 0
    for step in steps:
        total += scores[query[i]][target[j]] if step == "M" else 0
        i, j = i + (step != "D"), j + (step != "I")
    return total


small = st.text("AC", max_size=3)


@given(small, small, st.lists(st.integers(-3, 5), min_size=4, max_size=4), st.integers(0, 3), st.integers(0, 2))
def test_the_oracle_score_is_the_maximum_over_all_alignments(query, target, values, gap_open, gap_extend):
    aa, ac, ca, cc = values
    scores = {"A": {"A": aa, "C": ac}, "C": {"A": ca, "C": cc}}
    expected = best_of_all_alignments(query, target, scores, gap_open, gap_extend)
    assert smith_waterman(query, target, scores, gap_open, gap_extend) == expected
