"""Databases of BLAST, DIAMOND and MMseqs2 are recognised, and the error says how to export them."""

import shlex
from pathlib import Path

import pytest

from command import Exaln
from exaln.sequences.other_databases import DIAMOND_MAGIC, other_database
from golden_data import GOLDEN

QUERY = GOLDEN / "hba_hbb.fasta"
VERSION_5 = ("pdb", "phr", "pin", "pot", "psq", "ptf", "pto")
"""The files that makeblastdb 2.12 writes."""


def write(folder: Path, *names: str, content: bytes = b"\0\0\0\5") -> None:
    for name in names:
        (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    "files",
    [
        [f"nr.{ending}" for ending in VERSION_5],
        ["nr.nin", "nr.nsq", "nr.nhr"],
        ["nr.00.pin", "nr.00.psq", "nr.00.phr", "nr.01.pin"],
        ["nr.pal"],
        ["nr.nal"],
        ["nr.ndb"],
    ],
    ids=str,
)
def test_a_blast_database_is_named_with_the_command_that_exports_it(
    exaln: Exaln, tmp_path: Path, files: list[str]
) -> None:
    write(tmp_path, *files)
    exported = f"blastdbcmd -db {tmp_path}/nr -entry all | exaln makedb --in - --db nr"
    for name in ("nr", *files):
        code, message = exaln.error("search", "-query", QUERY, "-db", tmp_path / name)
        assert code == 2
        assert f"{tmp_path / name}: a BLAST database; export it: {exported}\n" in message


def test_a_diamond_database_is_named(exaln: Exaln, tmp_path: Path) -> None:
    write(tmp_path, "nr.dmnd", content=DIAMOND_MAGIC + b"\0" * 40)
    for name in ("nr", "nr.dmnd"):
        code, message = exaln.error("search", "-query", QUERY, "-db", tmp_path / name)
        exported = f"diamond getseq --db {tmp_path / name} | exaln makedb --in - --db nr"
        assert (code, f"a DIAMOND database; export it: {exported}\n" in message) == (2, True)


def test_an_mmseqs_database_is_named(exaln: Exaln, tmp_path: Path) -> None:
    write(tmp_path, "uniref", "uniref.dbtype", "uniref.index", content=b"MKV\n\0")
    code, message = exaln.error("search", "-query", QUERY, "-db", tmp_path / "uniref")
    exported = f"mmseqs convert2fasta {tmp_path}/uniref uniref.fasta"
    assert (code, f"an MMseqs2 database; export it: {exported}\n" in message) == (2, True)


@pytest.mark.parametrize(
    "command",
    [
        ["search", "-db", QUERY, "-query"],
        ["score", "-db", QUERY, "-query"],
        ["makedb", "-out", "never", "-in"],
        ["align", QUERY],
        ["dbinfo", "-db"],
        ["fetch", "id", "-db"],
        ["export", "-db"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_reads_sequences_names_a_foreign_database(
    exaln: Exaln, tmp_path: Path, command: list[object]
) -> None:
    write(tmp_path, "nr.pin", "nr.psq")
    assert "a BLAST database; export it" in exaln.error(*command, tmp_path / "nr")[1]
    assert "a BLAST database; export it" in exaln.error(*command, tmp_path / "nr.psq")[1]


def test_a_fasta_file_beside_a_foreign_database_is_read(exaln: Exaln, tmp_path: Path) -> None:
    """makeblastdb, diamond and mmseqs write their files beside the FASTA file that they read."""
    fasta = tmp_path / "proteins.fasta"
    fasta.write_bytes(QUERY.read_bytes())
    write(tmp_path, *(f"proteins.fasta.{ending}" for ending in (*VERSION_5, "dbtype", "index")))
    write(tmp_path, "proteins.fasta.dmnd", content=DIAMOND_MAGIC)
    assert exaln("search", "-query", QUERY, "-db", fasta).code == 0


def test_sequences_in_a_file_with_the_ending_of_a_blast_database_are_read(exaln: Exaln, tmp_path: Path) -> None:
    for name in ("sample.pal", "sample.pin", "sample.dmnd"):
        (tmp_path / name).write_bytes(QUERY.read_bytes())
        assert exaln("search", "-query", QUERY, "-db", tmp_path / name).code == 0


def test_a_database_built_from_an_export_is_found_under_the_same_name(exaln: Exaln, tmp_path: Path) -> None:
    write(tmp_path, "nr.pin", "nr.psq")
    assert exaln("makedb", "-in", QUERY, "-out", tmp_path / "nr").code == 0
    assert exaln("search", "-query", QUERY, "-db", tmp_path / "nr").code == 0


def test_names_are_quoted_for_the_shell(tmp_path: Path) -> None:
    write(tmp_path, "my nr.pin")
    text = other_database(tmp_path / "my nr")
    assert text is not None
    assert shlex.split(text.partition("export it: ")[2])[:3] == ["blastdbcmd", "-db", f"{tmp_path}/my nr"]


@pytest.mark.parametrize("name", ["", ".", "..", "/", "nothing", "a" * 5000, "x\0y"])
def test_files_that_are_no_foreign_database_are_not_reported(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert other_database(name) is None
