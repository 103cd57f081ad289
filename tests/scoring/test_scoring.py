"""Scoring: matrices, gap costs, fractions, and wrong arguments. See also test_letter_rules and test_matrices."""

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden_data
from exaln.errors import InputError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import BUILT_IN, DNA, PROTEIN, RNA, Alphabet
from oracle import smith_waterman
from strategies import alphabets, related_pairs, scorings


def score(scoring, a, b):
    letters = scoring.alphabet.letters
    return int(scoring.matrix[letters.index(a), letters.index(b)])


def oracle_score(scoring, query, target):
    encode = scoring.alphabet.encode
    return smith_waterman(
        encode(query).tolist(), encode(target).tolist(), scoring.matrix.tolist(), scoring.gap_open, scoring.gap_extend
    )


KNOWN_SCORES = {
    "BLOSUM45": {"WW": 15, "AA": 5, "CC": 12, "WD": -4, "IV": 3},
    "BLOSUM50": {"WW": 15, "AA": 5, "CC": 13, "HH": 10, "LI": 2},
    "BLOSUM62": {"WW": 11, "AA": 4, "CC": 9, "IV": 3, "EQ": 2, "WP": -4, "XX": -1, "AX": 0, "A*": -4, "**": 1},
    "BLOSUM80": {"WW": 11, "AA": 5, "CC": 9, "WD": -6, "**": 1},
    "BLOSUM90": {"WW": 11, "AA": 5, "CC": 9, "WD": -6},
    "PAM30": {"WW": 13, "AA": 6, "CC": 10, "WE": -17, "A*": -17, "**": 1},
    "PAM70": {"WW": 13, "AA": 5, "CC": 9},
    "PAM120": {"WW": 12, "AA": 3, "CC": 9},
    "PAM250": {"WW": 17, "AA": 2, "CC": 12, "YF": 7},
    "VTML10": {"WW": 12, "AA": 7, "DF": -20},
    "VTML20": {"WW": 12, "AA": 7, "DR": -12},
    "VTML40": {"WW": 12, "AA": 6},
    "VTML80": {"WW": 11, "AA": 5},
    "VTML120": {"WW": 11, "WE": -6, "YF": 4},
    "VTML160": {"WW": 16, "AA": 5, "GI": -7, "XX": 0, "A*": -7},
    "VTML200": {"WW": 15, "AA": 4, "YF": 5},
    "NUC.4.4": {"AA": 5, "AC": -4, "AR": 1, "RR": -1, "AN": -2, "NN": -1, "UT": 5, "UU": 5, "UA": -4},
}


@pytest.mark.parametrize("name", Scoring.names())
def test_built_in_matrices(name):
    scoring = Scoring(name)
    assert scoring.name == name
    assert scoring.matrix.dtype == np.int32
    assert np.array_equal(scoring.matrix, scoring.matrix.T)
    for (a, b), expected in KNOWN_SCORES[name].items():
        assert score(scoring, a, b) == expected
    assert Scoring(name.lower()) == scoring
    assert scoring.max_score == scoring.matrix.max() > 0 > scoring.min_score == scoring.matrix.min()


ROBINSON = {  # residues in the sample of Robinson & Robinson 1991, NCBI's background
    "A": 35155,
    "R": 23105,
    "N": 20212,
    "D": 24161,
    "C": 8669,
    "Q": 19208,
    "E": 28354,
    "G": 33229,
    "H": 9906,
    "I": 23161,
    "L": 40625,
    "K": 25872,
    "M": 10101,
    "F": 17367,
    "P": 23435,
    "S": 32070,
    "T": 26311,
    "W": 5990,
    "Y": 14488,
    "V": 29012,
}
UNGAPPED = {  # lambda and H that NCBI publishes for its matrices
    "BLOSUM45": (0.2291, 0.2514),
    "BLOSUM50": (0.2318, 0.3362),
    "BLOSUM62": (0.3176, 0.4012),
    "BLOSUM80": (0.3430, 0.6568),
    "BLOSUM90": (0.3346, 0.7547),
    "PAM30": (0.3400, 1.754),
    "PAM70": (0.3345, 1.029),
    "PAM250": (0.2252, 0.2223),
}


@pytest.mark.parametrize("name", UNGAPPED)
def test_matrices_are_those_of_ncbis_statistics(name):
    """Lambda depends on every one of the 210 scores and on the units: EMBOSS' BLOSUM80, in third-bits, would fail."""
    codes = PROTEIN.encode("".join(ROBINSON))
    scores = Scoring(name).matrix[np.ix_(codes, codes)]
    frequencies = np.array(list(ROBINSON.values())) / sum(ROBINSON.values())
    pairs = np.outer(frequencies, frequencies)
    low, high = 0.1, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(pairs * np.exp(middle * scores)) < 1 else (low, middle)
    entropy = np.sum(pairs * np.exp(low * scores) * low * scores)
    assert (round(low, 4), round(entropy, 3)) == (UNGAPPED[name][0], round(UNGAPPED[name][1], 3))


def test_default_gaps_are_ncbis():
    expected = {"BLOSUM62": (11, 1), "BLOSUM45": (14, 2), "BLOSUM50": (13, 2), "BLOSUM80": (10, 1), "BLOSUM90": (10, 1)}
    expected |= {"PAM30": (9, 1), "PAM70": (10, 1), "PAM250": (14, 2)}
    for name, gaps in expected.items():
        assert (Scoring(name).gap_open, Scoring(name).gap_extend) == gaps
    assert (Scoring(match=1, mismatch=-1).gap_open, Scoring(match=1, mismatch=-1).gap_extend) == (5, 2)
    only_open = Scoring("PAM250", gap_open=20)
    assert (only_open.gap_open, only_open.gap_extend, only_open.gap_first) == (20, 2, 22)


def test_default_scoring_of_each_alphabet():
    assert Scoring() == Scoring.default("protein") == Scoring("BLOSUM62", gap_open=11, gap_extend=1)
    assert Scoring.default(DNA) == Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    assert Scoring.default("rna").alphabet is RNA
    assert Scoring(alphabet="dna", gap_open=0).gap_open == 0
    with pytest.raises(InputError, match="custom alphabet has no default scoring"):
        Scoring.default("HP")


def test_edna_full_is_nuc_4_4():
    assert Scoring("EDNAFULL") == Scoring("ednafull") == Scoring("NUC.4.4")
    rna = Scoring("NUC.4.4", alphabet="rna")
    assert [score(rna, *pair) for pair in ("UU", "TU", "UA", "YU", "NU")] == [5, 5, -4, 1, -2]


def test_fractional_gaps_give_the_score_that_emboss_reports_for_haemoglobins():
    hba, hbb = golden_data.fasta("hba_hbb.fasta").values()
    water = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    assert (water.scale, water.gap_open, water.gap_extend, water.max_score) == (2, 19, 1, 22)
    assert water.unscale(oracle_score(water, hba, hbb)) == 293.5
    blast = Scoring("BLOSUM62")
    assert blast.unscale(oracle_score(blast, hba, hbb)) == 285
    assert isinstance(blast.unscale(285), int)


@pytest.mark.parametrize("tenth", [0.1, Decimal("0.1"), Fraction(1, 10), np.float64(0.1)])
def test_fractions_are_taken_as_written(tenth):
    scoring = Scoring("BLOSUM62", gap_open=10, gap_extend=tenth)
    assert (scoring.scale, scoring.gap_open, scoring.gap_extend, scoring.max_score) == (10, 100, 1, 110)
    assert scoring == Scoring("BLOSUM62", gap_open=10, gap_extend=0.1)


def test_scale_is_the_common_denominator_of_all_values():
    assert Scoring(match=0.5, mismatch=-0.75, gap_open=1, gap_extend=Fraction(1, 3)).scale == 12
    assert Scoring("BLOSUM62", gap_open=11.0, gap_extend=1.0).scale == 1


@given(st.integers(1, 400), st.integers(-400, 0), st.integers(0, 500), st.integers(0, 200))
def test_scaling_is_exact(match, mismatch, gap_open, gap_extend):
    """Hundredths: what was given comes back, divided by the scale."""
    values = [x / 100 for x in (match, mismatch, gap_open, gap_extend)]
    scoring = Scoring(match=values[0], mismatch=values[1], gap_open=values[2], gap_extend=values[3])
    given_back = (score(scoring, "A", "A"), score(scoring, "A", "C"), scoring.gap_open, scoring.gap_extend)
    assert [Fraction(x, scoring.scale) for x in given_back] == [
        Fraction(x, 100) for x in (match, mismatch, gap_open, gap_extend)
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"gap_open": -1}, "gap_open is -1; a gap cost must be 0 or above"),
        ({"gap_extend": -0.5}, "gap_extend is -0.5"),
        ({"gap_extend": float("nan")}, "gap_extend is nan; it must be a finite number"),
        ({"gap_open": float("inf")}, "gap_open is inf; it must be a finite number"),
        ({"gap_open": Decimal("NaN")}, "it must be a finite number"),
        ({"gap_open": "eleven"}, "gap_open is 'eleven'; it must be a finite number"),
        ({"gap_open": 1 / 3}, "gap_open is 0.333.*; it must be a multiple of 1/1000"),
        ({"gap_open": 40000}, "gap_open is 40000; at most 32767 is possible"),
        ({"gap_open": 1e300}, "at most 32767 is possible"),
        ({"gap_open": 32767, "gap_extend": 1}, "a gap of 1 of 32768 is too large"),
        ({"gap_open": 1000, "gap_extend": 0.01}, "too large; 32767 is possible after multiplication by 100"),
        ({"gap_open": Fraction(1, 999), "gap_extend": Fraction(1, 998)}, "common denominator"),
        ({"match": 1}, "match and mismatch go together"),
        ({"mismatch": -1}, "match and mismatch go together"),
        ({"match": -3, "mismatch": -2}, "match is -3, which is below mismatch, -2; exchange the two"),
        ({"match": 2, "mismatch": 3}, "mismatch is 3; it must be 0 or below"),
        ({"match": 2, "mismatch": -40000}, "mismatch is -40000; at most 32767"),
        ({"matrix": "BLOSUM62", "match": 2, "mismatch": -3}, "give one or the other"),
        ({"matrix": "BLOSUM62", "mismatch": -3}, "give one or the other"),
        ({"matrix": "BLOSUM62", "alphabet": "dna"}, "BLOSUM62 is a protein matrix and cannot score dna sequences"),
        ({"matrix": "NUC.4.4", "alphabet": "protein"}, "NUC.4.4 is a nucleotide matrix and cannot score protein"),
        ({"matrix": "BLOSUM62", "alphabet": "ACD1"}, "no scores for 1 of the custom alphabet"),
        ({"matrix": "BLOSUM63"}, "'BLOSUM63' is neither a file nor one of the built-in matrices BLOSUM45, "),
        ({"alphabet": "protien"}, "unknown alphabet 'protien'"),
        ({"matrix": np.eye(4)}, "needs an alphabet"),
        ({"matrix": np.eye(4), "alphabet": "HP"}, "the matrix is 4 x 4; the custom alphabet needs 2 x 2"),
        ({"matrix": np.array([[1, 2], [np.nan, 1]]), "alphabet": "HP"}, "score P/H is nan"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments, complaint):
    with pytest.raises(InputError, match=complaint) as caught:
        Scoring(**arguments)
    assert "\n" not in str(caught.value)


def test_free_gaps_count_the_common_subsequence():
    free = Scoring(match=1, mismatch=0, gap_open=0, gap_extend=0)
    assert oracle_score(free, "ACGTACGT", "CTCT") == 4
    assert free.gap_first == 0


def test_rows_of_an_array_are_query_letters():
    scoring = Scoring(np.array([[2, -1.5], [0, 1]]), alphabet="HP", gap_open=3, gap_extend=1)
    assert scoring.scale == 2
    assert scoring.matrix.tolist() == [[4, -3], [0, 2]]
    assert (score(scoring, "H", "P"), score(scoring, "P", "H")) == (-3, 0)
    assert oracle_score(Scoring(np.array([[1, 5], [-1, 1]]), alphabet="HP"), "H", "P") == 5


@pytest.mark.parametrize(
    ("scoring", "text", "description"),
    [
        (Scoring(), "Scoring('BLOSUM62', gap_open=11, gap_extend=1)", "BLOSUM62, gaps 11/1: a gap of 1 costs 12"),
        (
            Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5),
            "Scoring('BLOSUM62', gap_open=9.5, gap_extend=0.5)",
            "BLOSUM62, gaps 9.5/0.5: a gap of 1 costs 10",
        ),
        (
            Scoring(match=2, mismatch=-3),
            "Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)",
            "match 2, mismatch -3, gaps 5/2: a gap of 1 costs 7",
        ),
        (
            Scoring(match=1, mismatch=-0.5, alphabet="rna"),
            "Scoring(match=1, mismatch=-0.5, gap_open=5, gap_extend=2, alphabet='rna')",
            "match 1, mismatch -0.5, gaps 5/2: a gap of 1 costs 7",
        ),
        (
            Scoring(match=1, mismatch=-1, alphabet=Alphabet("hp", "HP")),
            "Scoring(match=1, mismatch=-1, gap_open=5, gap_extend=2, alphabet=Alphabet(name='hp', letters='HP'))",
            "match 1, mismatch -1, gaps 5/2: a gap of 1 costs 7",
        ),
    ],
)
def test_repr_and_description_of_a_scoring(scoring, text, description):
    assert repr(scoring) == text
    assert scoring.describe() == description
    assert eval(text) == scoring


def test_a_scoring_cannot_change():
    scoring = Scoring()
    with pytest.raises(AttributeError):
        scoring.gap_open = 5
    for same in (scoring, copy.deepcopy(scoring), pickle.loads(pickle.dumps(scoring))):
        with pytest.raises(ValueError, match="read-only"):
            same.matrix[0, 0] = 5


@given(alphabets.flatmap(scorings))
def test_equal_scorings_are_one_key_and_survive_pickling(scoring):
    restored = pickle.loads(pickle.dumps(scoring))
    assert {scoring: 1}[restored] == 1
    assert np.array_equal(restored.matrix, scoring.matrix)
    assert restored != Scoring("BLOSUM62", gap_open=123)
    assert scoring != "BLOSUM62"


@given(alphabets.flatmap(scorings))
def test_folding_never_changes_a_score(scoring):
    small, whole = scoring.folded()
    fold = whole[: len(scoring.matrix)]
    assert small.dtype == np.int32
    assert fold.dtype == np.uint8
    assert np.array_equal(small[np.ix_(fold, fold)], scoring.matrix)
    assert np.unique(fold).tolist() == list(range(len(small)))
    _, first_use = np.unique(fold, return_index=True)
    assert first_use.tolist() == sorted(first_use)
    both = np.concatenate([small, small.T], axis=1)
    assert len(np.unique(both, axis=0)) == len(small)


@given(alphabets.flatmap(scorings), st.data())
def test_only_letters_in_use_are_folded(scoring, data):
    n = len(scoring.matrix)
    is_used = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    small, fold = scoring.folded(is_used)
    used = fold[:n][is_used]
    assert np.array_equal(small[np.ix_(used, used)], scoring.matrix[np.ix_(is_used, is_used)])
    assert not fold[:n][~is_used].any()
    assert len(small) == max(1, len(set(used.tolist())))


@pytest.mark.parametrize("matrix", [[[2, 1], [2, 1]], [[2, 2], [1, 1]]])
def test_letters_that_differ_on_one_side_only_do_not_fold(matrix):
    small, fold = Scoring(np.array(matrix), alphabet="HP").folded()
    assert small.tolist() == matrix
    assert fold[:2].tolist() == [0, 1]


def test_letters_with_the_same_scores_fold_together():
    _, fold = Scoring("BLOSUM62").folded()
    code = dict(zip(PROTEIN.letters, fold.tolist(), strict=False))
    assert code["U"] == code["C"]
    assert code["O"] == code["K"]
    assert len(set(code.values())) == 25


@given(st.data())
def test_the_transposed_matrix_scores_the_exchanged_pair(data):
    alphabet = data.draw(st.sampled_from(list(BUILT_IN.values())))
    scoring = data.draw(scorings(alphabet))
    query, target = data.draw(related_pairs(alphabet, max_size=20))
    mirrored = Scoring(scoring.matrix.T, alphabet=alphabet, gap_open=scoring.gap_open, gap_extend=scoring.gap_extend)
    assert oracle_score(scoring, query, target) == oracle_score(mirrored, target, query)
