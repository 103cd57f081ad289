"""The note on queries that are too short to reach the E-value."""

import warnings
from pathlib import Path

import pytest

import exaln
from command import Exaln

DB_RESIDUES = 206_000_000
PEPTIDE = "MKTAYIAKQR"
TARGET = "MGSSHHHHHHSSGLVPRGSH" + PEPTIDE + "QISFVKSHFSRQLEERLGLIEVQAPILSRVG"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target.fasta"
    path.write_text(f">t\n{TARGET}\n")
    return path


def warned(target: Path, queries: dict[str, str], **options: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exaln.search(queries, target, dbsize=DB_RESIDUES, engine="cpu", **options)  # type: ignore[arg-type]
    return [str(one.message) for one in caught]


def test_a_query_whose_perfect_match_misses_the_evalue_is_told(target: Path) -> None:
    (message,) = warned(target, {"pep": PEPTIDE}, evalue=0.1)
    assert message.startswith("pep (10 residues) is too short for evalue 0.1: a perfect match has an E-value of ")
    assert "with scoring=blastp-short one of" in message


def test_the_evalue_that_the_note_names_lets_the_perfect_match_pass(target: Path) -> None:
    (message,) = warned(target, {"pep": PEPTIDE}, evalue=0.1)
    named = float(message.split("a perfect match has an E-value of ")[1].split(",")[0])
    found = exaln.search({"pep": PEPTIDE}, target, dbsize=DB_RESIDUES, engine="cpu", evalue=named * 1.2)
    assert [hit.cigar for hit in found] == ["10M"]


def test_several_short_queries_are_counted_in_one_line(target: Path) -> None:
    queries = {"a": PEPTIDE, "long": TARGET, "b": PEPTIDE[1:], "c": PEPTIDE[:5]}
    (message,) = warned(target, queries, evalue=0.1)
    assert message.startswith("3 queries, a (10 residues) first, are too short for evalue 0.1:")


@pytest.mark.parametrize("evalue", [1e4, float("inf")])
def test_a_query_that_can_reach_the_evalue_is_not_told(target: Path, evalue: float) -> None:
    assert warned(target, {"other": "WWWWWWWW", "unknown": "XXXX", "long": "WC" * 30}, evalue=evalue) == []


def test_the_command_prints_one_note(exaln: Exaln, target: Path, tmp_path: Path) -> None:
    (tmp_path / "peptide.fasta").write_text(f">pep\n{PEPTIDE}\n")
    search = ["search", "--query", tmp_path / "peptide.fasta", "--db", target, "--dbsize", DB_RESIDUES]
    found = exaln(*search, "--evalue", "0.1")
    assert found.out == ""
    assert "note: pep (10 residues) is too short for --evalue 0.1" in found.err
    assert "with --task blastp-short one of" in found.err
    assert "a larger --evalue shows more" in found.err
    assert "too short" not in exaln(*search, "--evalue", "1e6").err


def test_bases_are_offered_the_task_for_bases(exaln: Exaln, tmp_path: Path) -> None:
    (tmp_path / "q.fasta").write_text(">primer\nGATTACAGATTAC\n")
    (tmp_path / "t.fasta").write_text(">genome\n" + "ACGT" * 40 + "\n")
    search = ["search", "--query", tmp_path / "q.fasta", "--db", tmp_path / "t.fasta", "--dbsize", 10**9]
    assert "note: primer (13 residues) is too short for --evalue 1:" in exaln(*search, "--evalue", "1").err
