"""Presets: BLAST's defaults for options that are not given."""

from pathlib import Path

import pytest

import exaln
from command import Exaln
from exaln.errors import InputError
from exaln.search.options import SearchOptions
from exaln.search.presets import with_preset
from exaln.sequences.alphabet import Alphabet
from golden_data import GOLDEN

PROTEINS = ["--query", GOLDEN / "blastp_columns_query.fasta", "--db", GOLDEN / "blastp_columns_targets.fasta"]
BASES = ["--query", GOLDEN / "blastn_columns_query.fasta", "--db", GOLDEN / "blastn_columns_targets.fasta"]


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ("", "--comp-based-stats 2"),
        ("--comp-based-stats 0", "--comp-based-stats 0"),
        ("-comp_based_stats F", ""),
        ("-comp_based_stats 1 --evalue 1e-3", "--comp-based-stats 1 --evalue 1e-3"),
        ("--query-mask seg", "--comp-based-stats 2 --query-mask seg"),
    ],
)
def test_the_preset_of_proteins_adjusts_scores(exaln: Exaln, options: str, same: str) -> None:
    found = exaln("search", *PROTEINS, "--preset", "blast", *options.split())
    assert found.out == exaln("search", *PROTEINS, *same.split()).out != ""


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ("", "--task megablast --query-mask dust --query-masking soft"),
        ("-dust no", "--task megablast"),
        ("--task blastn -soft_masking false", "--query-mask dust --query-masking hard"),
        ("--query-mask lowercase", "--task megablast --query-mask lowercase --query-masking soft"),
        ("-dust no --match 2 --mismatch -3 --gap-open 5 --gap-extend 2", ""),
    ],
)
def test_the_preset_of_nucleotides_is_megablast_with_dust(exaln: Exaln, options: str, same: str) -> None:
    pytest.importorskip("pydustmasker")
    found = exaln("search", *BASES, "--preset", "blast", *options.split())
    assert found.out == exaln("search", *BASES, *same.split()).out != ""


def test_explain_and_cluster_searches_know_the_preset(exaln: Exaln, tmp_path: Path) -> None:
    exaln("makedb", "--in", PROTEINS[3], "--db", tmp_path / "db")
    database = [*PROTEINS[:3], tmp_path / "db"]
    units = exaln("search", *database, "--preset", "blast", "--resume", tmp_path / "kept")
    assert units.out == exaln("search", *database, "--comp-based-stats", "2").out != ""
    assert exaln("explain", *PROTEINS, "--preset", "blast").code == 0


def test_the_preset_in_python() -> None:
    query, targets = Path(PROTEINS[1]), PROTEINS[3]
    found = exaln.search(query, targets, preset="blast")
    wanted = exaln.search(query, targets, comp_based_stats=2)
    assert [(hit.target_id, hit.evalue) for hit in found] == [(hit.target_id, hit.evalue) for hit in wanted]
    bases = with_preset(SearchOptions(query_masking="soft", evalue=1), "blast", Alphabet.named("dna"))
    assert bases == (SearchOptions(query_masking="soft", evalue=1, query_mask="dust"), "megablast")


def test_a_preset_that_cannot_be_is_refused(exaln: Exaln) -> None:
    with pytest.raises(InputError, match="preset"):
        with_preset(SearchOptions(), "ncbi", Alphabet.named("dna"))
    with pytest.raises(InputError, match="preset blast is for proteins and nucleotides"):
        with_preset(SearchOptions(), "blast", Alphabet("hp", "HP"))
    assert "invalid value for '--preset'" in exaln.error("search", *PROTEINS, "--preset", "ncbi")[1]
