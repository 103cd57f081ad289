"""search and align from the command line: every option, every format, unusual input, exit codes."""

import csv
import gzip
import io
import json
import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from command import Exaln, write
from exaln.database.database import Database
from golden_data import GOLDEN

QUERIES, TARGETS, GLOBINS = (
    str(GOLDEN / name) for name in ("cudasw4q_part.fasta", "scop20_part.fasta", "hba_hbb.fasta")
)
BADINPUT = Path(__file__).parents[1] / "badinput"
with (BADINPUT / "EXPECTED.tsv").open(newline="") as table:
    CASES = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


def searched(exaln: Exaln, *options: object, query: object = GLOBINS, db: object = GLOBINS) -> list[list[str]]:
    """Rows of a search that goes well and says nothing."""
    result = exaln("search", "--query", query, "--db", db, "--quiet", *options)
    assert (result.code, result.err) == (0, "")
    return result.rows


# What is found


def test_the_default_format_is_blasts_table(exaln: Exaln) -> None:
    result = exaln("search", "--query", GLOBINS, "--db", GLOBINS)
    a, b = "HBA_HUMAN", "HBB_HUMAN"
    targets = {pair: list(rows) for pair, rows in groupby(result.rows, key=lambda row: (row[0], row[1]))}
    assert list(targets) == [(a, a), (a, b), (b, b), (b, a)]
    assert "\t".join(targets[a, b][0]) == f"{a}\t{b}\t42.069\t145\t76\t2\t3\t141\t4\t146\t5.00e-38\t114"
    for rows in targets.values():
        evalues = [float(row[10]) for row in rows]
        assert evalues == sorted(evalues)
        assert len(evalues) > 1
        assert evalues[-1] <= 10
    assert result.err.startswith(f"exaln: 4 hits ({len(result.rows)} alignments) of 2 queries in ")
    assert result.err.count("\n") == 1


def test_one_alignment_per_target_on_request(exaln: Exaln) -> None:
    result = exaln("search", "--query", GLOBINS, "--db", GLOBINS, "--max-hsps", 1)
    first = {tuple(row[:2]): row for row in reversed(searched(exaln))}
    assert result.rows == [first[tuple(row[:2])] for row in result.rows]
    assert len(result.rows) == len(first) == 4
    assert result.err.startswith("exaln: 4 hits of 2 queries in ")


def test_blast_names_of_options_give_the_same_hits(exaln: Exaln) -> None:
    ours = searched(exaln, "--evalue", "1e3", "--max-target-seqs", 3, "--min-identity", 25, "--query-coverage", 10,
                    "--outfmt", "6 std cigar", "--threads", 1, query=QUERIES, db=TARGETS)  # fmt: skip
    blast = ["search", "-query", QUERIES, "-subject", TARGETS, "-evalue", "1e3", "-max_target_seqs", "3",
             "-perc_identity", "25", "-qcov_hsp_perc", "10", "-outfmt", "6 std cigar", "-num_threads", "1",
             "-matrix", "BLOSUM62", "-gapopen", "11", "-gapextend", "1", "--quiet"]  # fmt: skip
    assert exaln(*blast).rows == ours
    assert len(ours) > 5


def of_first_targets(rows: list[list[str]]) -> list[list[str]]:
    """The rows of the first target of each query. The first columns are query and target."""
    first = {query: target for query, target, *_ in reversed(rows)}
    return [row for row in rows if first[row[0]] == row[1]]


def test_filters_by_evalue_score_bits_and_number_of_hits(exaln: Exaln) -> None:
    columns = ["--outfmt", "6", "qseqid", "sseqid", "evalue", "bitscore", "score"]
    everything = searched(exaln, "--evalue", "1e9", *columns, query=QUERIES, db=TARGETS)
    counts = Counter((row[0], row[1]) for row in everything)
    assert (len(counts), set(counts.values())) == (600, {100})
    few = searched(exaln, "--evalue", "1e-6", *columns, query=QUERIES, db=TARGETS)
    assert few == [row for row in everything if float(row[2]) <= 1e-6] != []
    assert searched(exaln, "--evalue", "1e9", "--min-score", 60, *columns, query=QUERIES, db=TARGETS) == [
        row for row in everything if int(row[4]) >= 60
    ]
    assert searched(exaln, "--evalue", "1e9", "--min-bits", 30, *columns, query=QUERIES, db=TARGETS) == [
        row for row in everything if float(row[3]) >= 30
    ]
    best = searched(exaln, "--evalue", "1e9", "--max-target-seqs", 1, *columns, query=QUERIES, db=TARGETS)
    assert best == of_first_targets(everything)
    assert len(best) == 1000


@pytest.mark.parametrize(
    ("option", "columns"),
    [
        ("--min-identity", ("nident", "length")),
        ("--query-coverage", ("qend", "qlen", "qstart")),
        ("--target-coverage", ("send", "slen", "sstart")),
    ],
)
def test_filters_on_the_alignment_act_before_the_number_of_hits(
    exaln: Exaln, option: str, columns: tuple[str, ...]
) -> None:
    def percent(row: list[str]) -> float:
        part, whole, *start = map(int, row[3:])
        return 100 * (part - start[0] + 1 if start else part) / whole

    options = ["--evalue", "1e9", "--outfmt", "6", "qseqid", "sseqid", "score", *columns]
    everything = searched(exaln, *options, query=QUERIES, db=TARGETS)
    limit = sorted(map(percent, everything))[-100] - 1e-9
    passing = [row for row in everything if percent(row) >= limit]
    found = searched(exaln, *options, option, limit, query=QUERIES, db=TARGETS)
    assert sorted(found) == sorted(passing)
    first = searched(exaln, *options, option, limit, "--max-target-seqs", 1, query=QUERIES, db=TARGETS)
    assert first == of_first_targets(found)


def test_the_least_score_counts_in_units_of_the_scoring(exaln: Exaln) -> None:
    """Fractional scores are doubled inside."""
    options = ["--gapopen", 9.5, "--gapextend", 0.5, "--outfmt", "6 qseqid sseqid score"]
    for least, n_hits in ((293, 4), (294, 2)):
        result = exaln("search", "--query", GLOBINS, "--db", GLOBINS, *options, "--min-score", least, "--quiet")
        assert len(result.rows) == n_hits
    assert result.err.startswith("exaln: warning: BLOSUM62 with gaps 9.5/0.5 has no E-value statistics")


def test_dbsize_fixes_the_search_space(exaln: Exaln, tmp_path: Path) -> None:
    whole = searched(exaln, "--outfmt", "6 qseqid sseqid evalue", "--evalue", "1e-3", query=QUERIES, db=TARGETS)
    parts = []
    text = Path(TARGETS).read_text().split(">")[1:]
    for number, half in enumerate((text[:30], text[30:])):
        part = tmp_path / f"{number}.fasta"
        part.write_text("".join(f">{record}" for record in half))
        options = ["--outfmt", "6 qseqid sseqid evalue", "--evalue", "1e-3", "--dbsize", 16_624]
        parts += searched(exaln, *options, query=QUERIES, db=part)
    assert sorted(parts) == sorted(whole)


def test_searches_limited_by_lists_of_ids(exaln: Exaln, tmp_path: Path) -> None:
    list_ = tmp_path / "some.ids"
    list_.write_bytes(b"HBB_HUMAN\r\n\r\n  HBB_HUMAN \n")
    assert {row[1] for row in searched(exaln, "--ids", list_)} == {"HBB_HUMAN"}
    assert {row[1] for row in searched(exaln, "-negative_seqidlist", list_)} == {"HBA_HUMAN"}
    everything = searched(exaln)
    assert [row for row in everything if row[1] == "HBB_HUMAN"] == searched(exaln, "-seqidlist", list_)
    list_.write_text("")
    assert searched(exaln, "--exclude-ids", list_) == everything
    code, message = exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, "--ids", list_)
    assert code == 1
    assert "some.ids: the list of ids is empty" in message
    list_.write_text("HBB_HUMAN\nnobody\n")
    for option in ("--ids", "--exclude-ids"):
        code, message = exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, option, list_)
        assert code == 1
        assert "some.ids: " in message
        assert "'nobody'" in message
    list_.write_bytes(b"\xff\xfe")
    assert exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, "--ids", list_)[0] == 1
    assert exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, "--ids", tmp_path / "none")[0] == 1


def test_without_statistics_hits_are_ranked_by_score(exaln: Exaln) -> None:
    result = exaln("search", "--query", QUERIES, "--db", TARGETS, "--matrix", "VTML200", "--quiet",
                   "--max-target-seqs", 4, "--outfmt", "6 qseqid evalue bitscore score")  # fmt: skip
    assert result.code == 0
    assert result.err.count("\n") == 1
    assert "warning: VTML200 with gaps 10/2 has no E-value statistics" in result.err
    assert len(result.rows) == 40
    for first in range(0, 40, 4):
        scores = [int(row[3]) for row in result.rows[first : first + 4]]
        assert scores == sorted(scores, reverse=True)
    assert {(row[1], row[2]) for row in result.rows} == {("", "")}
    bits = ["--statistics", "none", "--min-bits", 30]
    code, message = exaln.error("search", "--query", QUERIES, "--db", TARGETS, "--matrix", "VTML200", *bits)
    assert code == 1
    assert "VTML200 with gaps 10/2 has no bit scores" in message


SIMULATED = ["--query", GLOBINS, "--db", TARGETS, "--gap-open", 9, "--gap-extend", 3, "--evalue", 1]
COLUMNS = ["--outfmt", "6 qseqid sseqid score evalue bitscore"]


def test_scorings_outside_ncbis_table_get_evalues_by_simulation(exaln: Exaln, simulation: Path) -> None:
    result = exaln("search", *SIMULATED, *COLUMNS)
    note, _ = result.err.splitlines()
    assert re.fullmatch(
        r"exaln: BLOSUM62 with gaps 9/3 has E-values by simulation: lambda 0\.\d+ ± 0\.\d+, K 0\.\d+ ± 0\.\d+, seed 1",
        note,
    )
    assert result.rows
    assert all(0 <= float(row[3]) <= 1 and float(row[4]) > 15 for row in result.rows)
    assert result.rows == exaln("search", *SIMULATED, *COLUMNS, "--threads", 1).rows
    other = exaln("search", *SIMULATED, *COLUMNS, "--seed", 2)
    assert other.err.splitlines()[0].endswith("seed 2")
    assert [row[:3] for row in other.rows][:5] == [row[:3] for row in result.rows][:5]
    assert other.rows != result.rows
    assert len(list(simulation.glob("statistics-*.json"))) == 2


def test_the_source_of_evalues_can_be_chosen(exaln: Exaln, simulation: Path) -> None:
    nothing = exaln("search", *SIMULATED, *COLUMNS, "--statistics", "none", "--quiet")
    assert nothing.err == ""
    assert {(row[3], row[4]) for row in nothing.rows} == {("", "")}
    table = exaln("search", *SIMULATED, *COLUMNS, "--statistics", "table", "--quiet")
    assert table.err.startswith("exaln: warning: BLOSUM62 with gaps 9/3 has no E-value statistics: ranking hits")
    assert table.rows == nothing.rows
    assert not simulation.exists()
    by_table, simulated = (
        exaln("search", "--query", GLOBINS, "--db", GLOBINS, *COLUMNS, "--statistics", source)
        for source in ("auto", "simulated")
    )
    assert "by simulation" not in by_table.err
    assert "BLOSUM62 with gaps 11/1 has E-values by simulation" in simulated.err
    for ours, theirs in zip(simulated.rows[:1], by_table.rows[:1], strict=True):
        assert ours[:3] == theirs[:3]
        assert float(ours[4]) == pytest.approx(float(theirs[4]), rel=0.05)


def test_scorings_in_the_linear_phase_are_ranked_by_score_with_one_line(exaln: Exaln, simulation: Path) -> None:
    search = ["search", "--query", GLOBINS, "--db", GLOBINS, "--gap-open", 2, "--gap-extend", 2, "--quiet", *COLUMNS]
    result = exaln(*search)
    assert result.code == 0
    assert result.err.count("\n") == 1
    assert "its scores grow in proportion to the length, or nearly so; raise the gap costs" in result.err
    assert {row[3] for row in result.rows} == {""}
    code, message = exaln.error(*search, "--statistics", "simulated")
    assert (code, "BLOSUM62 with gaps 2/2 has no E-values: its scores grow in proportion" in message) == (1, True)


def test_every_report_has_simulated_statistics(exaln: Exaln, simulation: Path) -> None:
    xml = exaln("search", *SIMULATED, "--outfmt", 5).out
    assert "<Statistics_lambda>0." in xml
    values = json.loads(exaln("search", *SIMULATED, "--outfmt", "json").out)
    assert "by simulation: lambda" in values["search"]["statistics"]["description"]
    assert all(hit["evalue"] <= 1 for hit in values["queries"][0]["hits"])
    assert values["search"]["statistics"]["source"] == "simulation"
    assert "\nBy simulation: lambda 0." in exaln("search", *SIMULATED, "--outfmt", 0).out
    assert "; by simulation: lambda 0." in exaln("explain", *SIMULATED).out


def test_both_strands_of_dna_and_rna(exaln: Exaln, tmp_path: Path) -> None:
    piece, reverse = "ACGTTGCATGCCAAGTCTTGA", "TCAAGACTTGGCATGCAACGT"
    target = write(tmp_path / "t.fa", t="GG" + piece + "CC")
    columns = ["--outfmt", "6 qstart qend sstart send sstrand qseq sseq cigar"]
    for letters in ("T", "U"):
        query = write(tmp_path / "q.fa", q=reverse.replace("T", letters))
        both = searched(exaln, *columns, query=query, db=target)
        assert both[0] == ["1", "21", "23", "3", "minus", reverse.replace("T", letters), reverse, "21M"]
        assert {row[4] for row in both} == {"plus", "minus"}
        for strand in ("plus", "minus"):
            one = searched(exaln, *columns, "-strand", strand, query=query, db=target)
            assert one == [row for row in both if row[4] == strand]
    (row,) = searched(exaln, *columns, "--evalue", "1e-3", query=query, db=target)
    assert row == both[0]
    assert searched(exaln, *columns, "--evalue", "1e-3", "--strand", "plus", query=query, db=target) == []
    code, message = exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, "--strand", "minus")
    assert code == 1
    assert "protein sequences have one strand" in message


def test_search_with_custom_letters(exaln: Exaln, tmp_path: Path) -> None:
    file = write(tmp_path / "hp.fa", a="HPHPPH", b="PPHHHHP")
    options = ["--alphabet", "HP", "--match", 1, "--mismatch", -1, "--gapopen", 1, "--gapextend", 1]
    result = exaln("search", "--query", file, "--db", file, *options, "--outfmt", "6 std score")
    assert [row[:2] for row in result.rows] == [["a", "a"], ["a", "b"], ["b", "b"], ["b", "a"]]
    assert exaln.error("search", "--query", file, "--db", file, "--alphabet", "HP")[0] == 1


def test_queries_longer_than_targets_and_empty_sequences(exaln: Exaln, tmp_path: Path) -> None:
    """A query longer than every target, targets and queries without residues."""
    short = write(tmp_path / "short.fa", mkv="MKV", nothing="", w="WWWW")
    result = exaln("search", "--query", QUERIES, "--db", short, "--evalue", "1e9", "--outfmt", "6 std slen", "--quiet")
    assert result.code == 0
    assert {row[1] for row in result.rows} == {"mkv", "w"}
    assert all(int(row[9]) <= int(row[12]) for row in result.rows)
    result = exaln("search", "--query", short, "--db", TARGETS, "--evalue", "1e9", "--outfmt", "7", "--quiet")
    assert "# Query: nothing\n" in result.out
    assert "# 0 hits found\n" in result.out
    assert result.out.endswith("# exaln processed 3 queries\n")


def test_headers_cannot_break_a_format(exaln: Exaln, tmp_path: Path) -> None:
    sequence = "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSH"
    odd = 'tab\there, "quoted" <b>&amp; \x07\x1b[31m \x7f'
    file = tmp_path / "odd.fa"
    file.write_text(f">odd {odd}\n{sequence}\n>huge {'y' * 2_000_000}\n{sequence}\n")
    one = ["--max-hsps", 1]
    for columns in ("std stitle", "std salltitles qtitle"):
        rows = searched(exaln, "--outfmt", f"6 {columns}", *one, query=file, db=file)
        assert [len(row) for row in rows] == [12 + len(columns.split()) - 1] * 4
        assert "\x1b" not in rows[0][12]
    text = exaln("search", "--query", file, "--db", file, "--outfmt", "10 sseqid stitle", "--quiet", *one).out
    before = csv.field_size_limit(3_000_000)
    rows = list(csv.reader(io.StringIO(text)))
    csv.field_size_limit(before)
    assert [len(row) for row in rows] == [2] * 4
    assert rows[0][1].startswith('tab here, "quoted" <b>&amp;')
    found = json.loads(exaln("search", "--query", file, "--db", file, "--outfmt", "json", "--quiet").out)
    titles = [hit["target_description"] for query in found["queries"] for hit in query["hits"]]
    assert sorted(map(len, titles)) == [len(odd)] * 2 + [2_000_000] * 2
    assert odd in titles
    fasta = exaln("search", "--query", file, "--db", file, "--outfmt", "fasta", "--quiet").out
    assert sum(line.startswith(">") for line in fasta.split("\n")) == fasta.count(">odd") + fasta.count(">huge")


# Formats

BY_NAME = ["0", "6", "7", "10", "json", "parquet", "arrow", "fasta", "fasta aligned", "pairwise", "tsv", "csv",
           "sam", "17", "sam extended", "paf", "paf extended"]  # fmt: skip
STARTS = {"0": b"exaln ", "7": b"# exaln", "json": b"{", "parquet": b"PAR1", "arrow": b"ARROW1",
          "fasta": b">", "fasta aligned": b">", "pairwise": b"exaln ", "sam": b"@HD", "17": b"@HD",
          "sam extended": b"@HD"}  # fmt: skip


@pytest.mark.parametrize("outfmt", BY_NAME)
@pytest.mark.parametrize("command", ["search", "align"])
def test_every_format_can_be_chosen_by_name(exaln: Exaln, tmp_path: Path, outfmt: str, command: str) -> None:
    out = tmp_path / "hits"
    files = ["--query", GLOBINS, "--db", GLOBINS] if command == "search" else [GLOBINS, GLOBINS]
    result = exaln(command, *files, "--outfmt", outfmt, "--out", out, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")
    start = (
        b"Query= HBA_HUMAN" if command == "align" and outfmt in ("0", "pairwise") else STARTS.get(outfmt, b"HBA_HUMAN")
    )
    assert out.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("extension", "same_as"),
    [("tsv", "6"), ("tab", "6"), ("unknown", "6"), ("csv", "10"), ("txt", "0"), ("json", "json"), ("fa", "fasta"),
     ("fasta", "fasta"), ("parquet", "parquet"), ("arrow", "arrow"), ("feather", "arrow"), ("tsv.gz", "6"),
     ("json.zst", "json")],
)  # fmt: skip
def test_formats_by_extension(exaln: Exaln, tmp_path: Path, extension: str, same_as: str) -> None:
    named, chosen = tmp_path / f"hits.{extension}", tmp_path / "chosen"
    assert exaln("search", "--query", GLOBINS, "--db", GLOBINS, "--out", named, "--quiet").code == 0
    outfmt = ["--outfmt", same_as]
    assert exaln("search", "--query", GLOBINS, "--db", GLOBINS, "--out", chosen, *outfmt, "--quiet").code == 0
    content = named.read_bytes()
    if extension.endswith(".gz"):
        content = gzip.decompress(content)
    elif extension.endswith(".zst"):
        import zstandard

        content = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    assert content == chosen.read_bytes()


@pytest.mark.parametrize(
    ("outfmt", "says"),
    [("6 std nonsense", "unknown column 'nonsense'"), ("6 staxid", "no taxonomy"),
     ("16", "only 5 is available"), ("12", "only 15 is available"),
     ("sam std", "it takes extended"), ("99", "unknown output format '99'"), ("json std", "cannot be followed by")],
)  # fmt: skip
def test_formats_that_are_refused(exaln: Exaln, outfmt: str, says: str) -> None:
    for words in ([outfmt], outfmt.split()):
        code, message = exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, "--outfmt", *words)
        assert code == 1
        assert says in message


def test_no_binary_on_a_terminal(exaln: Exaln, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for files in (["search", "--query", GLOBINS, "--db", GLOBINS], ["align", GLOBINS, GLOBINS]):
        code, message = exaln.error(*files, "--outfmt", "parquet")
        assert code == 1
        assert "give --out FILE" in message


# Bad input and options


@pytest.mark.parametrize("place", ["query", "db"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_every_bad_file_as_queries_and_as_targets(
    exaln: Exaln, case: dict[str, str], place: str, tmp_path: Path
) -> None:
    """Each odd file as queries and as targets: it works with at most a warning, or fails with one line."""
    is_dna = case["alphabet"] == "dna"
    other = write(tmp_path / "dna.fa", d="ACGTTGCATGCCAAGTCTTGA" * 3) if is_dna else Path(GLOBINS)
    files = {"query": other, "db": other, place: BADINPUT / case["file"]}
    out = tmp_path / "hits.tsv"
    alphabet = ["--alphabet", case["alphabet"] or "protein"]
    arguments = ["--query", files["query"], "--db", files["db"], "--out", out, "--evalue", "1e9", "--quiet"]
    result = exaln("search", *arguments, *alphabet)
    assert "Traceback" not in result.err
    if case["outcome"] == "error":
        assert result.code == 1
        assert result.err.startswith("exaln: error: ")
        assert case["says"] in result.err
        assert result.err.count("\n") == 1
        assert not out.exists()
    else:
        assert result.code == 0
        column = 0 if place == "query" else 1
        found = {line.split("\t")[column] for line in out.read_text().splitlines()}
        assert found <= set(case["ids"].split())
        assert all(line.startswith("exaln: warning: ") for line in result.err.splitlines())
    assert {path.name for path in tmp_path.iterdir()} <= {"dna.fa", "hits.tsv"}


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--evalue", "0"], 1, "evalue is 0.0"),
        (["--evalue", "nan"], 1, "evalue is nan"),
        (["--min-identity", "nan"], 1, "min_identity is nan; expected a number"),
        (["--min-bits", "nan"], 1, "min_bits is nan; expected a number"),
        (["--min-identity", "101"], 1, "--min-identity"),
        (["--max-target-seqs", "0"], 1, "--max-target-seqs"),
        (["--threads", "0"], 1, "--threads"),
        (["--dbsize", "0"], 1, "--dbsize"),
        (["--matrix", "BLOSUM99"], 1, "BLOSUM99"),
        (["--engine", "warp"], 3, "warp"),
        (["--out", "/nowhere/hits.tsv"], 6, "/nowhere/hits.tsv"),
        (["--db", "none.exaln"], 2, "none.exaln"),
        (["--query", "none.fasta"], 1, "none.fasta"),
        (["-word_size", "3"], 1, "no such option: -word_size"),
        (["--evlaue", "3"], 1, "did you mean --evalue?"),
    ],
)
def test_bad_options_end_with_their_exit_code(exaln: Exaln, options: list[str], code: int, says: str) -> None:
    failed, message = exaln.error("search", "--query", GLOBINS, "--db", GLOBINS, *options)
    assert says in message
    assert failed == code


def test_a_damaged_database_is_exit_code_2(exaln: Exaln, tmp_path: Path) -> None:
    path = Database.build(TARGETS, tmp_path / "db").path
    assert path is not None
    (segment,) = path.glob("*.arrow")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    out = tmp_path / "hits.tsv"
    code, message = exaln.error("search", "--query", QUERIES, "--db", path, "--out", out)
    assert code == 2
    assert segment.name in message
    assert not out.exists()


def test_queries_or_targets_from_stdin(exaln: Exaln, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = searched(exaln)
    content = Path(GLOBINS).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert searched(exaln, query="-") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert searched(exaln, db="-") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, message = exaln.error("search", "--query", "-", "--db", GLOBINS)
    assert code == 1
    assert "<stdin>: no sequences found" in message
    assert "stdin (-) is named twice" in exaln.error("search", "--query", "-", "--db", "-")[1]


def test_verbose_prints_scoring_engine_and_statistics(exaln: Exaln) -> None:
    said = exaln("search", "--query", GLOBINS, "--db", GLOBINS, "--verbose", "--threads", 1).err
    assert "a gap of 1 costs 12" in said
    assert "1 thread" in said
    assert "finite-size correction" in said
    assert exaln("search", "--query", GLOBINS, "--db", GLOBINS, "--engine", "reference", "--verbose").err.count("NumPy")


# align


def test_align_goes_pair_by_pair(exaln: Exaln, tmp_path: Path) -> None:
    one = write(tmp_path / "one.fa", one="HEAGAWGHEE")
    three = write(tmp_path / "three.fa", a="PAWHEAE", b="WWW", c="HEAGAWGHEE")
    columns = ["--outfmt", "6", "qseqid", "sseqid", "score", "cigar", "sordinal"]
    assert exaln("align", one, three, *columns).rows == [
        ["one", "a", "17", "3M", "1"], ["one", "b", "11", "1M", "2"], ["one", "c", "62", "10M", "3"],
    ]  # fmt: skip
    assert [row[4] for row in exaln("align", three, one, *columns).rows] == ["1", "1", "1"]
    assert [row[2] for row in exaln("align", three, three, *columns).rows] == ["44", "33", "62"]
    assert exaln("align", *columns, three, three).rows == exaln("align", three, three, *columns).rows
    assert (
        exaln("align", "--outfmt", "6", three, three, "--threads", 1).rows
        == exaln("align", three, three, "--outfmt", "6").rows
    )
    code, message = exaln.error("align", GLOBINS, three)
    assert code == 1
    assert "has 2 records and" in message


def test_align_draws_the_worked_example(exaln: Exaln, tmp_path: Path) -> None:
    one, two = write(tmp_path / "1.fa", one="HEAGAWGHEE"), write(tmp_path / "2.fa", two="PAWHEAE")
    drawn = exaln("align", one, two, "--matrix", "BLOSUM50", "--gapopen", 0, "--gapextend", 8).out
    assert "Query  5  AWGHE  9\n          AW HE\nSbjct  2  AW-HE  5\n" in drawn


def test_align_without_residues_or_without_similarity(exaln: Exaln, tmp_path: Path) -> None:
    nothing, some = write(tmp_path / "nothing.fa", nothing=""), write(tmp_path / "some.fa", some="WWW")
    for pair in ([nothing, some], [some, nothing], [nothing, nothing]):
        result = exaln("align", *pair, "--outfmt", "6", "--alphabet", "protein")
        assert (result.code, result.out) == (0, "")
        assert "without residues" in result.err
        assert "No similarity" in exaln("align", *pair, "--alphabet", "protein").out
    other = write(tmp_path / "other.fa", other="GGG")
    assert exaln("align", some, other, "--outfmt", "6", "--alphabet", "protein").out == ""


def test_align_refuses_mixed_alphabets_and_missing_files(exaln: Exaln, tmp_path: Path) -> None:
    dna = write(tmp_path / "dna.fa", d="ACGTACGTACGT")
    assert "is not a dna letter" in exaln.error("align", dna, write(tmp_path / "p.fa", p="HEAGAWGHEE"))[1]
    assert exaln.error("align", dna, tmp_path / "none.fa")[0] == 1
    assert exaln.error("align", dna)[0] == 1
    assert exaln.error("align", dna, dna, "--out", "/nowhere/x")[0] == 6


def test_every_printed_path_scores_what_is_printed(exaln: Exaln) -> None:
    """Recomputed from the printed rows of letters alone."""
    from exaln import Scoring

    blosum = Scoring("BLOSUM62")
    rows = searched(exaln, "--evalue", "1e9", "--outfmt", "6 score qseq sseq gapopen gaps", query=QUERIES, db=TARGETS)
    assert len(rows) == 60_000
    for score, query, target, opens, gaps in rows:
        both = np.array([[a, b] for a, b in zip(query, target, strict=True) if "-" not in (a, b)])
        codes = [blosum.alphabet.encode("".join(both[:, side])) for side in (0, 1)]
        assert int(score) == blosum.matrix[codes[0], codes[1]].sum() - 11 * int(opens) - int(gaps)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["--query-coverage", 60], ["--min-query-coverage", 60]),
        (["-qcov_hsp_perc", 60], ["--min-query-coverage", 60]),
        (["--target-coverage=60"], ["--min-target-coverage", 60]),
        (["--gapopen", 9, "--gapextend=2"], ["--gap-open", 9, "--gap-extend", 2]),
        (["-gapopen", 9, "-gapextend", 2], ["--gap-open", 9, "--gap-extend", 2]),
    ],
)
def test_old_names_of_options_work_and_are_not_in_the_help(exaln: Exaln, old: list[object], new: list[object]) -> None:
    rows = [searched(exaln, "--evalue", 1e3, *names, query=QUERIES, db=TARGETS) for names in (old, new, [])]
    assert rows[0] == rows[1] != rows[2]
    names = [str(name).split("=")[0] for name in old if str(name).startswith("--")]
    shown = exaln("search", "--help").out.split("BLAST's names work too")[0].split()
    assert not set(names) & set(shown)
    assert str(new[0]) in shown


def test_score_takes_max_target_seqs_and_its_old_name_top(exaln: Exaln) -> None:
    arguments = ["score", "--query", GLOBINS, "--db", GLOBINS, "--quiet"]
    assert exaln(*arguments, "--top", 1).rows == exaln(*arguments, "--max-target-seqs", 1).rows
    assert "--top" not in exaln("score", "--help").out
