"""Lookup by accession: a word that is no id of a database is searched within its ids."""

from pathlib import Path

import pytest

from command import Exaln
from exaln.database import accession_lookup as lookup
from exaln.database.database import Database
from exaln.database.segment import Segment
from exaln.errors import InputError

TEXT = """\
>sp|P30775|RF1M_YEAST Peptide chain release factor
MKVLA
>sp|P02232.2|LGB1_VICFA leghemoglobin
MKVLC
>pdb|2GDM|A a chain
MKVLD
>NP_001123.1 a plain accession
MKVLE
>gi|122087146|gb|AAA12345.3| another
MKVLF
>sp|Q11111.1|A_TEST version one
MKVLG
>sp|Q11111.2|A_TEST version two
MKVLH
>P69905 an id that is also an accession
MKVLI
>sp|P69905|HBA_HUMAN hemoglobin
MKVLK
>tr|P30775X|not it
MKVLL
>lcl|mine a local name
MKVLM
>gnl|mydb|abc.1 a general name
MKVLN
>pir||S16356 a name without accession
MKVLP
"""
FOUND = {
    "P30775": "sp|P30775|RF1M_YEAST",
    "P02232": "sp|P02232.2|LGB1_VICFA",
    "P02232.2": "sp|P02232.2|LGB1_VICFA",
    "2GDM_A": "pdb|2GDM|A",
    "NP_001123": "NP_001123.1",
    "AAA12345": "gi|122087146|gb|AAA12345.3|",
    "AAA12345.3": "gi|122087146|gb|AAA12345.3|",
    "Q11111.2": "sp|Q11111.2|A_TEST",
    "P69905": "P69905",
    "sp|P69905|HBA_HUMAN": "sp|P69905|HBA_HUMAN",
    "mine": "lcl|mine",
    "mydb:abc.1": "gnl|mydb|abc.1",
    "S16356": "pir||S16356",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "targets.fasta").write_text(TEXT)
    built = Database.build(tmp_path / "targets.fasta", tmp_path / "targets")
    assert built.path is not None
    return built.path


@pytest.mark.parametrize("few", [0, 16])
def test_accessions_find_their_sequence(path: Path, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "FEW_WORDS", few)
    database = Database.open(path)
    assert {text: [target.id for target in database.fetch(text)] for text in FOUND} == {
        text: [id_] for text, id_ in FOUND.items()
    }
    assert [target.id for target in database.fetch(list(FOUND))] == list(FOUND.values())


@pytest.mark.parametrize("rows_at_once", [1, 3, 1 << 20])
def test_ids_are_read_in_parts(path: Path, rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "ROWS_AT_ONCE", rows_at_once)
    for few in (0, 16):
        monkeypatch.setattr(lookup, "FEW_WORDS", few)
        assert [target.ordinal for target in Database.open(path).fetch(["AAA12345", "P30775"])] == [4, 0]


@pytest.mark.parametrize(
    "text", ["P02232.1", "P30775.1", "P3077", "RF1M_YEAST", "2GDM", "A", "sp", "", "\ud800", "p30775"]
)
def test_words_that_are_no_accession_are_not_found(path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no sequence with the id"):
        Database.open(path).fetch(text)


def test_an_accession_of_several_ids_is_an_error_that_lists_them(exaln: Exaln, path: Path) -> None:
    code, message = exaln.error("fetch", "--db", path, "Q11111")
    assert code == 1
    listed = "'Q11111' is the accession of 2 ids: sp|Q11111.1|A_TEST, sp|Q11111.2|A_TEST; give one of these ids"
    assert f"{path}: {listed}\n" in message


def test_all_sequences_with_the_id_are_found_in_input_order(path: Path, tmp_path: Path) -> None:
    database = Database.open(path).append(tmp_path / "targets.fasta")
    assert [target.ordinal for target in database.fetch("P30775")] == [0, 13]
    joined = Database.joined([database, database])
    assert [target.ordinal for target in joined.fetch("2GDM_A")] == [2, 15, 28, 41]


def test_exact_ids_are_found_without_reading_all_ids(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(segment: Segment) -> None:
        raise AssertionError("all ids were read")

    monkeypatch.setattr(Segment, "checked_ids", refuse)
    assert len(Database.open(path).fetch(["P69905", "sp|P30775|RF1M_YEAST"])) == 2
    with pytest.raises(AssertionError, match="all ids were read"):
        Database.open(path).fetch("P30775")


def test_a_lookup_reads_no_sequences(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database.open(path)
    monkeypatch.setattr(Segment, "check", lambda segment: pytest.fail("the whole segment was read"))
    assert database.fetch("P30775")[0].sequence == "MKVLA"


def test_lists_of_ids_may_have_accessions(exaln: Exaln, path: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("P30775\nAAA12345.3\n")
    (tmp_path / "query.fasta").write_text(">q\nMKVLAMKVLF\n")
    assert exaln("fetch", "--db", path, "--ids", tmp_path / "ids.txt").out.splitlines()[1::2] == [
        "MKVLA",
        "MKVLF",
    ]
    search = ["search", "--query", tmp_path / "query.fasta", "--db", path, "--evalue", 1e9, "--outfmt", "6 sordinal"]
    search += ["--max-hsps", 1]
    assert sorted(exaln(*search, "-seqidlist", tmp_path / "ids.txt").out.split()) == ["1", "5"]
    without = exaln(*search, "-negative_seqidlist", tmp_path / "ids.txt").out.split()
    assert sorted(map(int, without)) == [2, 3, 4, *range(6, 14)]
    (tmp_path / "ids.txt").write_text("Q11111\n")
    code, message = exaln.error(*search, "--ids", tmp_path / "ids.txt")
    assert (code, f"{tmp_path}/ids.txt: {path}: 'Q11111' is the accession of 2 ids" in message) == (1, True)
