"""Scores of letters that a matrix lacks: the rules of docs/letters.md, one by one."""

from fractions import Fraction
from itertools import product

import pytest

from exaln.errors import InputError
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, IUPAC, PROTEIN

PLAIN = "ARNDCQEGHILKMFPSTWYV"
LIKE_NCBI = ["BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "BLOSUM90", "PAM30", "PAM70", "PAM120", "PAM250"]
PROTEIN_MATRICES = [name for name in Scoring.names() if not name.startswith("NUC")]


def score(scoring, a, b):
    letters = scoring.alphabet.letters
    return Fraction(int(scoring.matrix[letters.index(a), letters.index(b)]), scoring.scale)


def write(path, letters, value):
    rows = [" " + " ".join(letters), *(f"{a} " + " ".join(str(value(a, b)) for b in letters) for a in letters)]
    path.write_text("\n".join(rows))
    return path


@pytest.fixture
def identity_file(tmp_path):
    """A matrix of the 20 amino acids alone: 4 for a match, -3 else, -2 for I/L, not symmetric for L/I."""
    special = {"IL": -2, "LI": 1}
    return write(tmp_path / "plain.mat", PLAIN, lambda a, b: special.get(a + b, 4 if a == b else -3))


@pytest.mark.parametrize("name", PROTEIN_MATRICES)
def test_u_scores_as_c_and_o_as_k_whatever_they_meet(name):
    scoring = Scoring(name)
    for odd, plain in ("UC", "OK"):
        for other in PROTEIN.letters:
            assert score(scoring, odd, other) == score(scoring, plain, other)
            assert score(scoring, other, odd) == score(scoring, other, plain)
        assert score(scoring, odd, odd) == score(scoring, plain, plain)


@pytest.mark.parametrize("name", PROTEIN_MATRICES)
def test_j_scores_the_mean_of_i_and_l_rounded_down(name):
    scoring = Scoring(name)
    for other in PLAIN + "BZ":
        total = score(scoring, "I", other) + score(scoring, "L", other)
        assert score(scoring, "J", other) == score(scoring, other, "J") == total // 2
    four = sum(score(scoring, a, b) for a, b in product("IL", "IL"))
    assert score(scoring, "J", "J") == four // 4


BLASTP = {
    "BLOSUM62": {"BN": (3, 4), "ZQ": (3, 4), "BZ": (1, 0), "ZW": (-3, -2), "JM": (1, 2), "OK": (5, -1), "XW": (-2, -1)},
    "BLOSUM90": {"BD": (4, 5), "ZE": (4, 5), "XX": (-2, -1), "XC": (-3, -1), "UC": (9, 9)},
    "PAM30": {"BN": (6, 6), "ZQ": (6, 6), "XX": (-5, -1), "XA": (-3, -1), "XC": (-9, -1), "XW": (-11, -1)}
    | {"JL": (3, 6), "JI": (3, 5), "JW": (-10, -7)},
    "PAM70": {"BN": (5, 5), "XX": (-3, -1), "XW": (-7, -1), "XS": (-1, -1)},
}
"""What exaln and blastp 2.12 (-comp_based_stats F -seg no) score for pairs of letters; docs/letters.md has some."""


@pytest.mark.parametrize("name", BLASTP)
def test_odd_letters_where_the_tables_of_blastp_differ(name):
    scoring = Scoring(name)
    assert {pair: score(scoring, *pair) for pair in BLASTP[name]} == {
        pair: here for pair, (here, _) in BLASTP[name].items()
    }


def test_scores_of_j_in_blosum62():
    blosum = Scoring("BLOSUM62")
    assert [score(blosum, "J", other) for other in "ILJVMFDK"] == [3, 3, 3, 2, 1, 0, -4, -3]


@pytest.mark.parametrize("name", LIKE_NCBI)
def test_what_the_matrix_says_about_b_z_x_and_stop_holds(name):
    scoring = Scoring(name)
    assert scoring.derived_letters == "JUO"
    assert score(scoring, "*", "*") == 1
    assert {score(scoring, "*", other) for other in PLAIN} == {scoring.min_score}
    assert score(scoring, "B", "D") > 0 < score(scoring, "Z", "E")
    assert score(scoring, "X", "X") < 0


def test_a_matrix_of_the_20_amino_acids_alone(identity_file):
    scoring = Scoring(identity_file)
    assert scoring.alphabet is PROTEIN
    assert scoring.derived_letters == "BZXJUO*"
    expected = {"BD": 0, "BN": 0, "BB": 0, "DB": 0, "BA": -3, "ZE": 0, "ZQ": 0, "BZ": -3, "UC": 4, "OK": 4, "UO": -3}
    expected |= {"JI": 2, "IJ": 1, "JL": 1, "LJ": 2, "JJ": 1}  # (4 + 1) / 2, (4 - 2) / 2, ...
    expected |= {"XA": -1, "AX": -1, "XX": -1, "XU": -1, "X*": -3, "*A": -3, "A*": -3, "*B": -3, "**": 1}
    assert {pair: score(scoring, *pair) for pair in expected} == expected


def test_x_is_never_worse_than_the_worst_pair(tmp_path):
    gentle = Scoring(write(tmp_path / "gentle.mat", PLAIN, lambda a, b: 1 if a == b else -0.25))
    assert score(gentle, "X", "A") == score(gentle, "X", "X") == Fraction(-1, 4)
    generous = Scoring(write(tmp_path / "generous.mat", PLAIN, lambda a, b: 2 if a == b else 1))
    assert score(generous, "X", "A") == 0


def test_means_are_rounded_on_the_grid_of_the_matrix(tmp_path):
    scoring = Scoring(write(tmp_path / "halves.mat", PLAIN, lambda a, b: 2.5 if a == b else -1))
    assert score(scoring, "B", "D") == Fraction(1, 2)  # 0.75, down to the next half
    assert score(scoring, "J", "A") == -1


def test_match_and_mismatch_as_blastn_scores_them():
    """Values of blastn's matrix for +2/-3: 2 bases -1, 3 bases -1 (-1.33), N -2 (-1.75)."""
    scoring = Scoring(match=2, mismatch=-3)
    assert scoring.derived_letters == "RYSWKMBDHVNU"
    expected = {"AA": 2, "AC": -3, "AR": -1, "AY": -3, "RR": -1, "RM": -1, "RY": -3, "AV": -1, "AB": -3, "VH": -1}
    expected |= {"AN": -2, "NN": -2, "NR": -2, "BN": -2, "UT": 2, "UU": 2, "UA": -3, "YU": -1, "NU": -2}
    assert {pair: score(scoring, *pair) for pair in expected} == expected


@pytest.mark.parametrize(("match", "mismatch"), [(1, -3), (1, -1), (5, -4), (2, -7), (10, -1), (7, 0), (0.5, -0.25)])
def test_ambiguity_codes_of_any_match_and_mismatch(match, mismatch):
    scoring = Scoring(match=match, mismatch=mismatch)
    bases = {"U": "T", **{base: base for base in "ACGT"}, **IUPAC}
    steps = Fraction(1, 4) if match == 0.5 else 1
    for a, b in product(DNA.letters, DNA.letters):
        n = max(len(bases[a]), len(bases[b]))
        exact = (Fraction(match) + (n - 1) * Fraction(mismatch)) / n
        rounded = int(exact / steps + (Fraction(1, 2) if exact >= 0 else -Fraction(1, 2))) * steps
        expected = rounded if set(bases[a]) & set(bases[b]) else mismatch
        assert score(scoring, a, b) == (min(expected, 0) if "N" in (a, b) else expected)


def test_n_never_scores_above_0(tmp_path):
    generous = Scoring(match=10, mismatch=-1)
    four = Scoring(write(tmp_path / "four.mat", "ACGT", lambda a, b: 10 if a == b else -1))
    for scoring in (generous, four, Scoring("NUC.4.4")):
        assert max(score(scoring, "N", other) for other in DNA.letters) <= 0


def test_a_matrix_of_four_bases_scores_codes_by_their_mean(tmp_path):
    scores = {"AG": -1, "GA": -1, "CT": -1, "TC": -1}
    path = write(tmp_path / "hoxd.mat", "ACGT", lambda a, b: scores.get(a + b, 5 if a == b else -4))
    dna = Scoring(path)
    expected = {"RA": 2, "AR": 2, "RR": 2, "RY": -4, "YT": 2, "WA": 0, "NA": -1, "UT": 5, "UC": -1}
    assert {pair: score(dna, *pair) for pair in expected} == expected
    rna = Scoring(path, alphabet="rna")
    expected = {"UU": 5, "TU": 5, "UC": -1, "YU": 2, "RA": 2}
    assert {pair: score(rna, *pair) for pair in expected} == expected


def test_match_and_mismatch_for_proteins():
    scoring = Scoring(match=3, mismatch=-2, alphabet="protein")
    expected = {"AA": 3, "AC": -2, "UC": 3, "JI": 1, "JA": -2, "BD": 1, "XX": -1, "XA": -1, "*A": -2, "**": 1}
    assert {pair: score(scoring, *pair) for pair in expected} == expected


def test_custom_alphabets_have_no_odd_letters():
    scoring = Scoring(match=3, mismatch=-2, alphabet="XUN*")
    assert scoring.derived_letters == ""
    assert scoring.matrix.tolist() == [[3 if i == j else -2 for j in range(4)] for i in range(4)]


def test_a_smaller_alphabet_uses_its_part_of_a_built_in_matrix():
    scoring = Scoring("BLOSUM62", alphabet="WAC")
    assert scoring.matrix.tolist() == [[11, -3, -2], [-3, 4, 0], [-2, 0, 9]]


@pytest.mark.parametrize(
    ("letters", "alphabet", "complaint"),
    [
        (PLAIN.replace("W", ""), "protein", "no scores for W of the protein alphabet"),
        (PLAIN, "dna", "is a protein matrix and cannot score dna sequences"),
        ("ACGT", "protein", "is a nucleotide matrix and cannot score protein sequences"),
        ("ACG", "dna", "no scores for T"),
        ("ACGTE", "dna", "line 1: E not in the dna alphabet"),
        (PLAIN + "1", None, "line 1: 1 not in the protein alphabet"),
        ("HP", None, "letters HP are neither the 20 amino acids nor A, C, G, T; give their alphabet"),
        ("HP", "HPQ", "no scores for Q of the custom alphabet"),
        ("HPQ", "HP", "line 1: Q not in the custom alphabet HP"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(tmp_path, letters, alphabet, complaint):
    path = write(tmp_path / "x.mat", letters, lambda a, b: 1 if a == b else -1)
    with pytest.raises(InputError, match=complaint) as caught:
        Scoring(path, alphabet=alphabet)
    assert str(path) in str(caught.value)


def test_x_and_stop_of_a_file_may_be_more_than_the_alphabet_has(tmp_path):
    path = write(tmp_path / "fasta.mat", "ACGTX*", lambda a, b: 5 if a == b else -4)
    assert Scoring(path).alphabet is DNA
