"""Every command and function that reads sequences refuses nucleotides among proteins, unless told otherwise."""

from pathlib import Path

import numpy as np
import pytest

import exaln
from exaln.__main__ import run
from exaln.errors import InputError
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.inputs import as_records
from exaln.sequences.molecules import LEAST_RESIDUES, require_molecule
from exaln.sequences.records import Records

GENE = "ATGGTGCTGTCTCCTGCCGACAAGACCAACGTCAAGGCCGCCTGGGGTAAGGTCGGCGCGCACGCTGGCGAGTATGGT"
GLOBIN = "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDD"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "gene.fasta").write_text(f">gene a coding sequence\n{GENE}\n")
    (tmp_path / "protein.fasta").write_text(f">globin\n{GLOBIN}\n")
    (tmp_path / "both.fasta").write_text(f">globin\n{GLOBIN}\n>gene\n{GENE}\n")
    exaln.Database.build(tmp_path / "protein.fasta", tmp_path / "protein.exaln")
    return tmp_path


COMMANDS = [
    "search --query gene.fasta --db protein.exaln",
    "search --query both.fasta --db protein.exaln",
    "search --query gene.fasta --db protein.fasta",
    "score --query gene.fasta --db protein.exaln",
    "align protein.fasta gene.fasta",
    "makedb --in protein.fasta gene.fasta --db new.exaln",
    "append --in gene.fasta --db protein.exaln",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_gene_among_proteins_is_an_error(
    files: Path, command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    assert run(command.split()) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("exaln: error: ")
    assert ".fasta: 'gene' looks like DNA, but it is compared with proteins; translate it first" in err
    assert run([*command.split(), "--alphabet", "protein"]) == 0


def test_a_protein_among_genes_is_an_error(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["align", str(files / "gene.fasta"), str(files / "protein.fasta")]) == 1
    assert "is not a dna letter; proteins need --alphabet protein" in capfd.readouterr().err


def test_python_refuses_a_gene_among_proteins_unless_a_scoring_is_given(files: Path) -> None:
    database = exaln.Database.open(files / "protein.exaln")
    scoring = exaln.Scoring("BLOSUM62")
    calls = [
        lambda **more: exaln.search(GENE, database, **more),
        lambda **more: exaln.search(files / "gene.fasta", database, **more),
        lambda **more: exaln.scores([GLOBIN, GENE], database, **more),
        lambda **more: exaln.align(GLOBIN, GENE, **more),
        lambda **more: exaln.score(GENE, GLOBIN, **more),
        lambda **more: exaln.align_many(files / "protein.fasta", files / "gene.fasta", **more),
        lambda **more: exaln.score_many([GLOBIN, GLOBIN], [GLOBIN, GENE], **more),
    ]
    for call in calls:
        with pytest.raises(InputError, match="looks like DNA, but it is compared with proteins"):
            call()
        call(scoring=scoring)
    with pytest.raises(InputError, match="looks like DNA"):
        database.append(files / "gene.fasta")
    with pytest.raises(InputError, match="a protein database; alphabet cannot be changed by append"):
        database.append(files / "gene.fasta", alphabet="dna")


@pytest.mark.parametrize(
    ("sequence", "is_refused"),
    [
        (GENE, True),
        (GENE.lower(), True),
        (GENE.replace("T", "U"), True),
        (GENE[:LEAST_RESIDUES], True),
        (GENE[: LEAST_RESIDUES - 1], False),  # a peptide may look so
        (GENE + "NNNNNRYK", True),
        (GLOBIN, False),
        ("GA" * 40, False),  # a repeat of a silk
        ("A" * 80, False),
        (GLOBIN + GENE, False),
    ],
)
def test_which_sequences_look_like_nucleotides(sequence: str, is_refused: bool) -> None:
    records = as_records(["PEPTIDE", sequence, ""], PROTEIN)
    for view in (records, records.rows(1, 2)):
        if is_refused:
            with pytest.raises(InputError, match=r"q\.fasta: 'seq2' looks like"):
                require_molecule(view, "q.fasta")
        else:
            require_molecule(view, "q.fasta")
    require_molecule(records.rows(0, 1), "q.fasta")


def test_records_of_a_nucleotide_alphabet_are_accepted() -> None:
    require_molecule(as_records([GENE], DNA), "q.fasta")
    require_molecule(Records.of(PROTEIN, [np.empty(0, np.uint8)]), "q.fasta")
    assert exaln.score(GENE, GENE.replace("T", "U")) == 2 * len(GENE)
