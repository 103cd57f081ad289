"""Matrix files in NCBI's text format: what is read, and what is refused with file and line."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from exaln.errors import InputError
from exaln.scoring import matrices
from exaln.scoring.scoring import Scoring

TWO_LETTERS = "# two letters\n   H  P\nH  2 -1\nP -1  3\n"


def test_every_built_in_name_has_a_file_and_the_reverse():
    assert {path.stem for path in matrices.DATA.glob("*.txt")} == set(Scoring.names())
    for path in matrices.DATA.glob("*.txt"):
        assert "# Source: " in path.read_text()


def test_a_built_in_matrix_read_as_a_file_is_the_same():
    built_in, file = Scoring("BLOSUM62"), Scoring(matrices.DATA / "BLOSUM62.txt")
    assert np.array_equal(built_in.matrix, file.matrix)
    assert file.name == os.fspath(matrices.DATA / "BLOSUM62.txt")
    assert (file.gap_open, file.gap_extend) == (11, 1)


@pytest.mark.parametrize(
    "text",
    [
        TWO_LETTERS,
        TWO_LETTERS.replace("\n", "\r\n"),
        TWO_LETTERS.replace("\n", "\r"),
        "\ufeff" + TWO_LETTERS,
        TWO_LETTERS.rstrip(),
        "\n\n" + TWO_LETTERS.replace("H  2", "\n# in between\n\n\th +2.0") + "\n\n",
        "h p # the letters\np -1 3e0 # last row first\nh 2 -10e-1\n",
    ],
)
def test_layouts_of_a_file_that_give_the_same_matrix(tmp_path, text):
    path = tmp_path / "hp.mat"
    path.write_bytes(text.encode())
    assert Scoring(path, alphabet="HP").matrix.tolist() == [[2, -1], [-1, 3]]


def test_rows_of_a_file_are_query_letters(tmp_path):
    path = tmp_path / "hp.mat"
    path.write_text("P H\nH 1 2\nP 3 4\n")
    assert Scoring(str(path), alphabet="HP").matrix.tolist() == [[2, 1], [4, 3]]


def test_decimals_are_exact(tmp_path):
    path = tmp_path / "hp.mat"
    path.write_text("H P\nH 0.1 -.25\nP -0.25 1\n")
    scoring = Scoring(path, alphabet="HP")
    assert scoring.scale == 20
    assert scoring.matrix.tolist() == [[2, -5], [-5, 20]]
    assert matrices.load(path).scores["H", "H"] == Fraction(1, 10)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ": the matrix is empty"),
        ("# only\n\n# comments\n", ": the matrix is empty"),
        (TWO_LETTERS.replace("P -1  3", "P -1"), ", line 4: the row of P has 1 value, but 2 letters above it"),
        (TWO_LETTERS.replace("P -1  3", "P -1 3 3"), ", line 4: the row of P has 3 values"),
        (TWO_LETTERS.replace("P -1  3", ""), ": the matrix has no row for P, named in line 2"),
        (TWO_LETTERS + "H 1 1\n", ", line 5: a second row for letter H"),
        (TWO_LETTERS + "Q 1 1\n", ", line 5: the row of 'Q', which is not among the letters HP"),
        (TWO_LETTERS + "HP 1 1\n", ", line 5: the row of 'HP'"),
        (TWO_LETTERS.replace("H  P", "H h"), ", line 2: letter H is named twice"),
        (TWO_LETTERS.replace("H  P", "His P"), ", line 2: 'His' is not a letter"),
        (TWO_LETTERS.replace("H  P", "H \u00c4"), ", line 2: '\u00c4' is not a letter"),
        (TWO_LETTERS.replace("2 -1", "2 x"), ", line 3, row H, column P: 'x' is not a number"),
        (TWO_LETTERS.replace("2 -1", "2 1_0"), ", line 3, row H, column P: '1_0' is not a number"),
        (TWO_LETTERS.replace("2 -1", "2 1/2"), ", line 3, row H, column P: '1/2' is not a number"),
        (TWO_LETTERS.replace("2 -1", "2 1e999999999"), "is not a number"),
        (TWO_LETTERS.replace("2 -1", "2 " + "1" * 50), "'11111111111111111...' is not a number"),
        (TWO_LETTERS.replace("2 -1", "nan -1"), ", line 3, row H, column H: nan is not a finite number"),
        (TWO_LETTERS.replace("2 -1", "2 -Inf"), ", line 3, row H, column P: -Inf is not a finite number"),
        (TWO_LETTERS.replace("2 -1", "32768 -1"), ", line 3, row H, column H: 32768 is too large"),
        (TWO_LETTERS.replace("2 -1", "2 -32768"), ", line 3, row H, column P: -32768 is too large"),
        (TWO_LETTERS.replace("2 -1", "2 0.33333"), ", line 3, row H, column P: 0.33333 has too many decimals"),
        (TWO_LETTERS.replace("2 -1", "0.5 -32767"), ": a score of 32767 is too large; 32767 is possible after"),
        ("\0\0\0", ": this is not a matrix in NCBI's text format"),
        (">seq\nACGT\n", ", line 1: '>seq' is not a letter"),
    ],
)
def test_malformed_files_are_refused_with_file_and_line(tmp_path, text, complaint):
    path = tmp_path / "hp.mat"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Scoring(path, alphabet="HP")
    assert complaint in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_the_largest_values_are_accepted(tmp_path):
    path = tmp_path / "hp.mat"
    path.write_text("H P\nH 32767 -32767\nP 0 1\n")
    assert Scoring(path, alphabet="HP").matrix.tolist() == [[32767, -32767], [0, 1]]


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read the matrix: No such file"):
        Scoring(tmp_path / "none.mat")
    with pytest.raises(InputError, match="cannot read the matrix: Is a directory"):
        Scoring(tmp_path)
    (tmp_path / "large.mat").write_bytes(b"A" * (matrices.MAX_FILE_BYTES + 1))
    with pytest.raises(InputError, match="not a matrix in NCBI's text format"):
        Scoring(tmp_path / "large.mat")


def test_a_built_in_name_wins_over_a_file_and_a_path_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "BLOSUM62").write_text(TWO_LETTERS)
    assert Scoring("BLOSUM62").max_score == 11
    assert Scoring("./BLOSUM62", alphabet="HP").max_score == 3


@pytest.mark.skipif("EXALN_DATA" not in os.environ, reason="set EXALN_DATA to the folder of real data")
@pytest.mark.parametrize("name", [name for name in Scoring.names() if name.startswith(("BLOSUM", "PAM", "NUC"))])
def test_values_are_those_of_emboss_except_the_units_of_blosum80(name):
    source = "EDNAFULL" if name == "NUC.4.4" else f"E{name}"
    theirs = Scoring(Path(os.environ["EXALN_DATA"]) / "oracle" / "matrices" / source)
    assert np.array_equal(Scoring(name).matrix, theirs.matrix) == (name != "BLOSUM80")
