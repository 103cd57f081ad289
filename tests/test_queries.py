"""What users pass as sequences."""

from __future__ import annotations

from pathlib import Path

import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

from exaln.alphabet import DNA, PROTEIN
from exaln.errors import ExalnWarning, InputError
from exaln.queries import as_records, warn_if_nucleotides
from exaln.records import Records


def test_strings_bytes_and_records_are_the_same_sequences(tmp_path: Path) -> None:
    fasta = tmp_path / "one.fasta"
    fasta.write_text(">x with words\nHEAGAWGHEE\n")
    record = SeqRecord(Seq("HEAGAWGHEE"), id="x", description="x with words")
    forms = ["HEAGAWGHEE", b"heagawghee", ["HEAGAWGHEE"], Path(fasta), record, [record], as_records("HEAGAWGHEE")]
    for form in forms:
        found = as_records(form)
        assert found.alphabet == PROTEIN
        assert PROTEIN.decode(found.sequence(0)) == "HEAGAWGHEE"
        assert len(found) == 1
    for form in (Path(fasta), record):
        found = as_records(form)
        assert (found.ids[0], found.descriptions[0]) == ("x", "with words")


def test_several_records_of_biopython() -> None:
    found = as_records([SeqRecord(Seq("ACGT"), id="a"), "GGTT"])
    assert found.alphabet == DNA
    assert [found.ids[row] for row in range(2)] == ["a", "seq2"]


def test_no_sequences_are_no_records() -> None:
    assert len(as_records([])) == 0


def test_a_file_given_as_text_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queries.fasta").write_text(">x\nAAAA\n")
    with pytest.raises(InputError, match=r"pass pathlib\.Path\('queries\.fasta'\)"):
        as_records("queries.fasta")
    with pytest.raises(InputError, match="a sequence must be text, not int"):
        as_records([7])  # type: ignore[list-item]
    with pytest.raises(InputError, match="sequence 2: '1' at position 3"):
        as_records(["ACGT", "AC1T"], DNA)


def test_nucleotides_among_proteins_get_a_warning() -> None:
    with pytest.warns(ExalnWarning, match="look like dna"):
        warn_if_nucleotides(as_records("ACGTACGTAC" * 10, PROTEIN), "q.fasta")
    for harmless in (as_records("ACGT", PROTEIN), as_records("HEAGAWGHEE" * 10), as_records("ACGTACGTAC" * 10, DNA)):
        warn_if_nucleotides(harmless, "q.fasta")


def test_views_of_records_are_judged_by_their_own_letters() -> None:
    both = Records.of(PROTEIN, [PROTEIN.encode("ACGTACGTAC" * 10), PROTEIN.encode("HEAGAWGHEE" * 10)])
    warn_if_nucleotides(both.rows(1, 2), "q.fasta")
    with pytest.warns(ExalnWarning, match="look like dna"):
        warn_if_nucleotides(both.rows(0, 1), "q.fasta")


@pytest.mark.parametrize("length", [255, 256, 300, 4095, 5000])
def test_a_long_sequence_with_a_wrong_letter_is_an_input_error(length):
    with pytest.raises(InputError, match="'1' at position 1 is not a"):
        as_records(["1" * length], PROTEIN)
