"""Every column that BLAST prints in formats 6 and 7, compared with what blastp and blastn 2.12 printed."""

import json
from pathlib import Path

import pytest

from command import Exaln
from exaln.report.columns import COLUMNS, REFUSED
from golden_data import GOLDEN

HEADINGS = (
    "query id, query acc., query acc.ver, query length, subject id, subject ids, subject acc., subject acc.ver, "
    "subject accs., subject length, q. start, q. end, s. start, s. end, query seq, subject seq, evalue, bit score, "
    "score, alignment length, % identity, identical, mismatches, positives, gap opens, gaps, % positives, "
    "query/sbjct frames, query frame, sbjct frame, BTOP, subject title, subject titles, subject strand, "
    "% query coverage per subject, % query coverage per hsp, % query coverage per uniq subject"
)
"""The line "Fields:" of blastn 2.12 for these columns."""

# fmt: off
SPECIFIERS = {
    "qseqid", "qgi", "qacc", "qaccver", "qlen", "sseqid", "sallseqid", "sgi", "sallgi", "sacc", "saccver",
    "sallacc", "slen", "qstart", "qend", "sstart", "send", "qseq", "sseq", "evalue", "bitscore", "score", "length",
    "pident", "nident", "mismatch", "positive", "gapopen", "gaps", "ppos", "frames", "qframe", "sframe", "btop",
    "staxid", "ssciname", "scomname", "sblastname", "sskingdom", "staxids", "sscinames", "scomnames", "sblastnames",
    "sskingdoms", "stitle", "salltitles", "sstrand", "qcovs", "qcovhsp", "qcovus",
}
# fmt: on
"""The format specifiers that `blastp -help` of 2.12 lists."""


def recorded(program: str) -> tuple[list[str], dict[tuple[str, str], list[str]]]:
    """The columns, and the row of each query and target, that BLAST printed."""
    heading, *lines = (GOLDEN / f"{program}_columns.tsv").read_text(encoding="ascii").splitlines()
    rows = [line.split("\t") for line in lines]
    names = heading.removeprefix("# ").split("\t")
    return names, {(row[names.index("qseqid")], row[names.index("sseqid")]): row for row in rows}


def inputs(program: str) -> list[object]:
    """The options that name the sequences of a recorded run."""
    return ["-query", GOLDEN / f"{program}_columns_query.fasta", "-db", GOLDEN / f"{program}_columns_targets.fasta"]


@pytest.mark.parametrize("program", ["blastp", "blastn"])
def test_every_column_is_what_blast_prints(exaln: Exaln, program: str) -> None:
    names, wanted = recorded(program)
    assert {*names, *REFUSED} == SPECIFIERS
    result = exaln("search", *inputs(program), "-evalue", "1e-6", "-max_hsps", 1, "-outfmt", f"6 {' '.join(names)}")
    assert result.code == 0
    found = {(row[names.index("qseqid")], row[names.index("sseqid")]): row for row in result.rows}
    assert found.keys() == wanted.keys()
    for pair, row in wanted.items():
        assert dict(zip(names, found[pair], strict=True)) == dict(zip(names, row, strict=True)), pair


def test_headings_are_those_of_blast() -> None:
    names, _ = recorded("blastn")
    assert ", ".join(COLUMNS[name].heading for name in names) == HEADINGS


def test_equal_letters_are_positive_whatever_the_matrix_says(exaln: Exaln) -> None:
    """blastp prints "Positives = 88/88" for two sequences with XX, of which BLOSUM62 scores each pair -1."""
    result = exaln("search", *inputs("blastp"), "-outfmt", "0")
    assert " Identities = 88/88 (100%), Positives = 88/88 (100%), Gaps = 0/88 (0%)\n" in result.out
    assert " Identities = 81/87 (93%), Positives = 85/87 (98%), Gaps = 1/87 (1%)\n" in result.out


def test_json_has_the_same_positives(exaln: Exaln) -> None:
    found = json.loads(exaln("search", *inputs("blastp"), "-outfmt", "json").out)
    assert found["queries"][0]["hits"][0]["positives"] == 88


def test_of_nucleotides_only_equal_letters_are_positive(exaln: Exaln, tmp_path: Path) -> None:
    """blastn 2.12 with +3/-2 gaps 5/5: R against A scores +1 and is a mismatch; 59 positives of 60 columns."""
    text = "ACGTTGCATGCATTTACGGACTTATCGGATTACRATCGATTTACGATCGATGGGATCTAC"
    (tmp_path / "q.fa").write_text(f">q\n{text}\n")
    (tmp_path / "t.fa").write_text(f">t\n{text.replace('R', 'A')}\n")
    scoring = ["-reward", 3, "-penalty", -2, "-gapopen", 5, "-gapextend", 5]
    columns = "6 score nident positive ppos mismatch btop"
    result = exaln("search", "-query", tmp_path / "q.fa", "-db", tmp_path / "t.fa", *scoring, "-outfmt", columns)
    assert result.rows[:1] == [["178", "59", "59", "98.33", "1", "33RA26"]]
