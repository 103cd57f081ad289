"""Complements and reverse complements, against a table written by hand."""

import pytest

from exaln.errors import InputError
from exaln.report.columns import COLUMNS
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN, RNA, Alphabet
from exaln.sequences.inputs import as_records
from exaln.sequences.strands import complements, doubled, reverse_complement
from exaln.sequences.strands import other_strand as records_of_other_strand
from hit_samples import Pair, other_strand, query_hits


@pytest.mark.parametrize("alphabet", [DNA, RNA], ids=str)
def test_reverse_complement_of_every_letter(alphabet: Alphabet) -> None:
    expected = other_strand(alphabet.letters, alphabet is RNA)
    codes = alphabet.encode(alphabet.letters)
    assert alphabet.decode(reverse_complement(codes, alphabet)) == expected
    twice = reverse_complement(reverse_complement(codes, alphabet), alphabet)
    assert twice[:-1].tolist() == codes[:-1].tolist()  # the last letter, U of DNA or T of RNA, becomes the usual one


def test_dna_and_rna_codes_have_the_same_complements() -> None:
    assert complements(DNA).tolist() == complements(RNA).tolist()


def test_proteins_have_one_strand() -> None:
    with pytest.raises(InputError, match="protein has no complement"):
        complements(PROTEIN)


def test_aligned_letters_of_rna_on_the_minus_strand() -> None:
    scoring = Scoring(match=2, mismatch=-3, alphabet="rna")
    hits = query_hits("GAUUACA", [Pair("CUGUAAUCU", "7M", 0, 1, -1)], scoring=scoring)
    assert COLUMNS["qseq"].texts(hits) == COLUMNS["sseq"].texts(hits) == ["GAUUACA"]


@pytest.mark.parametrize("part", [(0, 4), (1, 3), (2, 2)])
def test_the_other_strand_of_records_is_that_of_each_sequence(part: tuple[int, int]) -> None:
    records = as_records({"a": "ACGRT", "b": "", "c": "GGTN", "d": "U"}, DNA).rows(*part)
    each = [records.sequence(row).tolist() for row in range(len(records))]
    reversed_each = [reverse_complement(records.sequence(row), DNA).tolist() for row in range(len(records))]
    other, both = records_of_other_strand(records), doubled(records)
    assert [other.sequence(row).tolist() for row in range(len(other))] == reversed_each
    assert other.ids.to_list() == records.ids.to_list()
    assert [both.sequence(row).tolist() for row in range(len(both))] == each + reversed_each
