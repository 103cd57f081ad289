"""The note on queries that are too short to reach the E-value."""

from collections.abc import Callable
from pathlib import Path

import pytest

import exaln
from command import Exaln

Notes = Callable[[dict[str, str], float], list[str]]

DB_RESIDUES = 206_000_000
PEPTIDE = "MKTAYIAKQR"
TARGET = "MGSSHHHHHHSSGLVPRGSH" + PEPTIDE + "QISFVKSHFSRQLEERLGLIEVQAPILSRVG"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target.fasta"
    path.write_text(f">t\n{TARGET}\n")
    return path


@pytest.fixture
def notes(exaln: Exaln, target: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """The notes on short queries that a search prints. queries: sequences by id."""

    def run(queries: dict[str, str], evalue: float) -> list[str]:
        query = tmp_path / "queries.fasta"
        query.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in queries.items()))
        found = exaln("search", "--query", query, "--db", target, "--dbsize", DB_RESIDUES, "--evalue", evalue)
        return [line.removeprefix("exaln: note: ") for line in found.err.splitlines() if "too short" in line]

    return run


def test_a_query_whose_perfect_match_misses_the_evalue_is_told(notes: Notes) -> None:
    (note,) = notes({"pep": PEPTIDE}, 0.1)
    assert note.startswith("pep (10 residues) is too short for --evalue 0.1: a perfect match has an E-value of ")
    assert "with --task blastp-short one of" in note
    assert note.endswith("; a larger --evalue shows more")


def test_the_evalue_that_the_note_names_lets_the_perfect_match_pass(notes: Notes, target: Path) -> None:
    (note,) = notes({"pep": PEPTIDE}, 0.1)
    named = float(note.split("a perfect match has an E-value of ")[1].split(",")[0])
    found = exaln.search({"pep": PEPTIDE}, target, dbsize=DB_RESIDUES, engine="cpu", evalue=named * 1.2)
    assert [hit.cigar for hit in found] == ["10M"]


def test_several_short_queries_are_counted_in_one_line(notes: Notes) -> None:
    (note,) = notes({"a": PEPTIDE, "long": TARGET, "b": PEPTIDE[1:], "c": PEPTIDE[:5]}, 0.1)
    assert note.startswith("3 queries, a (10 residues) first, are too short for --evalue 0.1:")


@pytest.mark.parametrize("evalue", [1e4, float("inf")])
def test_a_query_that_can_reach_the_evalue_is_not_told(notes: Notes, evalue: float) -> None:
    assert notes({"other": "WWWWWWWW", "unknown": "XXXX", "long": "WC" * 30}, evalue) == []


def test_bases_are_offered_the_task_for_bases(exaln: Exaln, tmp_path: Path) -> None:
    (tmp_path / "q.fasta").write_text(">primer\nGATTACAGATTAC\n")
    (tmp_path / "t.fasta").write_text(">genome\n" + "ACGT" * 40 + "\n")
    search = ["search", "--query", tmp_path / "q.fasta", "--db", tmp_path / "t.fasta", "--dbsize", 10**9]
    assert "note: primer (13 residues) is too short for --evalue 1:" in exaln(*search, "--evalue", "1").err
