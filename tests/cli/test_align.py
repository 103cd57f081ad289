"""align from the command line: modes, pairs, formats, plots, bad input. What search shares: test_search.py."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from Bio import Align

import exaln as package
from command import Exaln, write
from exaln.pairwise import pair_files
from exaln.sequences.fasta import SequenceFile
from golden_data import fasta

READS = {"r1": "ACGTT", "r2": "TTAC", "r3": "GGGA"}
GENES = {"g1": "CCACGTTCC", "g2": "GTTACG", "g3": "TTGGAT"}
SCORE = ["--outfmt", "6", "qseqid", "sseqid", "score", "cigar"]


@pytest.fixture
def reads(tmp_path: Path) -> Path:
    return write(tmp_path / "reads.fa", **READS)


@pytest.fixture
def genes(tmp_path: Path) -> Path:
    return write(tmp_path / "genes.fa", **GENES)


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap", "free:qs,te"])
def test_every_mode_equals_the_python_result(exaln: Exaln, reads: Path, genes: Path, mode: str) -> None:
    found = package.align_many(list(READS.values()), list(GENES.values()), mode=mode)
    rows = exaln("align", reads, genes, "--mode", mode, *SCORE).rows
    expected = [[f"r{i}", f"g{i}", str(one.score), one.cigar] for i, one in enumerate(found, start=1) if one.columns]
    assert rows == expected
    drawn = exaln("align", reads, genes, "--mode", mode).out
    assert (f"({mode})" in drawn) == (mode != "local")
    document = json.loads(exaln("align", reads, genes, "--mode", mode, "--outfmt", "json").out)
    assert document["search"]["mode"] == mode
    scores = [[hit["score"] for hit in query["hits"]] for query in document["queries"]]
    assert scores == [[one.score] if one.columns else [] for one in found]


def test_all_against_all_equals_the_python_result(
    exaln: Exaln, reads: Path, genes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = package.align_many(reads, genes, pairs="all")
    rows = [[one.query_id, one.target_id, str(one.score), one.cigar] for one in expected if one.columns]
    assert exaln("align", "--all", reads, genes, *SCORE).rows == rows
    monkeypatch.setattr(pair_files, "MAX_PAIRS", 2)
    assert exaln("align", "--all", reads, genes, *SCORE).rows == rows
    document = json.loads(exaln("align", "--all", reads, genes, "--outfmt", "json").out)
    assert [query["query_id"] for query in document["queries"]] == list(READS)


@pytest.mark.parametrize("batch_residues", [1, 9, 1 << 20])
@pytest.mark.parametrize("max_pairs", [1, 2, 100])
def test_pairs_do_not_depend_on_the_batch_size(
    reads: Path, genes: Path, batch_residues: int, max_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_files, "MAX_PAIRS", max_pairs)

    def pairs(first: Path, second: Path, make: object) -> list[tuple[str, str, int, int]]:
        with (
            SequenceFile(first, batch_residues=batch_residues) as left,
            SequenceFile(second, batch_residues=batch_residues) as right,
        ):
            return [
                (batch.queries.ids[q], batch.targets.ids[t], batch.first_query + q, batch.first_target + t)
                for batch in make(left, right)  # type: ignore[operator]
                for q, t in zip(batch.pairs.query.tolist(), batch.pairs.target.tolist(), strict=True)
            ]

    one = write(reads.parent / "one.fa", one="ACGT")
    assert pairs(reads, genes, pair_files.zipped) == [(f"r{i + 1}", f"g{i + 1}", i, i) for i in range(3)]
    assert pairs(one, genes, pair_files.zipped) == [("one", f"g{i + 1}", 0, i) for i in range(3)]
    assert pairs(reads, one, pair_files.zipped) == [(f"r{i + 1}", "one", i, 0) for i in range(3)]
    assert pairs(one, one, pair_files.zipped) == [("one", "one", 0, 0)]
    every = [(f"r{i + 1}", f"g{j + 1}", i, j) for i in range(3) for j in range(3)]
    assert pairs(reads, genes, pair_files.crossed) == every


@pytest.mark.parametrize("batch_residues", [1, 1 << 20])
def test_different_numbers_of_records_are_refused(reads: Path, batch_residues: int) -> None:
    two = write(reads.parent / "two.fa", a="ACGT", b="ACGT")
    for first, second, numbers in ((reads, two, "has 3 .*has 2"), (two, reads, "has 2 .*has 3")):
        with (
            SequenceFile(first, batch_residues=batch_residues) as left,
            SequenceFile(second, batch_residues=batch_residues) as right,
            pytest.raises(package.InputError, match=f"{numbers}: they go pair by pair.*--all"),
        ):
            list(pair_files.zipped(left, right))


def test_bad_input_is_one_line_and_leaves_no_file(exaln: Exaln, reads: Path, tmp_path: Path) -> None:
    two, out = write(tmp_path / "two.fa", a="ACGT", b="ACGT"), tmp_path / "out.sam"
    empty = tmp_path / "empty.fa"
    empty.write_text("")
    for arguments, says in (
        ([reads, two], "has 3 records and"),
        ([reads, empty], "no sequences found"),
        ([empty, reads], "no sequences found"),
        (["--all", reads, empty], "no sequences found"),
        (["--all", empty, reads], "no sequences found"),
        ([reads, tmp_path / "none.fa"], "none.fa"),
        ([reads, write(tmp_path / "protein.fa", p="HEAGAWGHEE")], "is not a dna letter"),
        ([reads, reads, "--mode", "glocal"], "unknown mode 'glocal'; choose local, global"),
        ([reads, reads, "--plot", "x.pdf"], "plots are written to .svg, .png or .html"),
        ([reads, reads, "--plot", tmp_path / "x.svg"], "--plot draws one pair, but there are several"),
        (["-", "-"], "stdin (-) is named twice"),
    ):
        code, message = exaln.error("align", *arguments, "--out", out)
        assert code == 1
        assert says in message
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.fa", "protein.fa", "reads.fa", "two.fa"]
    code, _ = exaln.error("align", reads, reads, "--out", tmp_path / "none" / "out.sam")
    assert code == 6


def test_nothing_is_printed_if_the_numbers_of_records_differ(exaln: Exaln, reads: Path, tmp_path: Path) -> None:
    two = write(tmp_path / "two.fa", a="ACGT", b="ACGT")
    assert exaln("align", reads, two).out == ""


# SAM and PAF


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap"])
@pytest.mark.parametrize("extended", [False, True])
def test_sam_is_read_by_biopython(exaln: Exaln, reads: Path, genes: Path, mode: str, extended: bool) -> None:
    outfmt = ["sam", "extended"] if extended else ["sam"]
    text = exaln("align", reads, genes, "--mode", mode, "--outfmt", *outfmt).out
    found = package.align_many(reads, genes, mode=mode)
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("@")]
    header = [line for line in text.splitlines() if line.startswith("@")]
    assert header[0] == "@HD\tVN:1.6\tSO:unknown"
    assert header[1:4] == [f"@SQ\tSN:{name}\tLN:{len(letters)}" for name, letters in GENES.items()]
    assert header[4] == f"@PG\tID:exaln\tPN:exaln\tVN:{package.__version__}"
    parsed = list(Align.parse(io.StringIO(text), "sam"))
    assert len(parsed) == len(found) == 3
    for line, theirs, ours in zip(lines, parsed, found, strict=True):
        assert line[1] == "0"
        assert line[3] == str(ours.target_start + 1)
        assert line[9] == package.Scoring.default("dna").alphabet.decode(ours.query)
        assert line[11:] == [f"NM:i:{ours.mismatches + ours.gaps}", f"AS:i:{ours.score}"]
        path = ours.cigar_extended if extended else ours.cigar
        clips = [f"{n}S" if n else "" for n in (ours.query_start, len(ours.query) - ours.query_end)]
        assert line[5] == path.join(clips)
        begin, end = theirs.coordinates[:, 0], theirs.coordinates[:, -1]
        assert [*begin, *end] == [ours.target_start, ours.query_start, ours.target_end, ours.query_end]


def test_sam_of_unaligned_reads_and_unusual_names(exaln: Exaln, tmp_path: Path) -> None:
    first = write(tmp_path / "a.fa", plain="WWWW", stop="HEAG*", hélix="HEAG")
    second = write(tmp_path / "b.fa", **{"x": "GGGG", "=y,z": "HEAG", "z": "HEAG"})
    lines = exaln("align", first, second, "--outfmt", "sam").out.splitlines()
    assert lines[1:3] == ["@SQ\tSN:_y_z\tLN:4", "@SQ\tSN:z\tLN:4"]
    assert lines[4:] == [
        "plain\t4\t*\t0\t255\t*\t*\t0\t0\tWWWW\t*",
        "stop\t0\t_y_z\t1\t255\t4M1S\t*\t0\t0\t*\t*\tNM:i:0\tAS:i:23",
        "h_lix\t0\tz\t1\t255\t4M\t*\t0\t0\tHEAG\t*\tNM:i:0\tAS:i:23",
    ]


def test_sam_needs_one_name_per_target(exaln: Exaln, tmp_path: Path) -> None:
    first = tmp_path / "a.fa"
    first.write_text(">a\nHEAG\n>b\nHEAG\n")
    second = tmp_path / "b.fa"
    second.write_text(">x\nHEAG\n>x\nHEAGA\n")
    code, message = exaln.error("align", first, second, "--outfmt", "sam")
    assert code == 1
    assert "two targets of different lengths are named 'x'; SAM needs distinct names" in message


def test_fractional_scores_and_alignments_of_gaps_only(exaln: Exaln, tmp_path: Path) -> None:
    some, none = write(tmp_path / "a.fa", a="ACGT"), write(tmp_path / "n.fa", n="")
    costs = ["--mode", "global", "--gapopen", "1.5", "--gapextend", "1"]
    assert exaln("align", some, some, *costs, "--outfmt", "paf").out == (
        "a\t4\t0\t4\t+\ta\t4\t0\t4\t4\t4\t255\tNM:i:0\tAS:f:8\tcg:Z:4M\n"
    )
    alphabet = ["--alphabet", "dna", "--quiet"]
    assert exaln("align", none, some, *costs, *alphabet, "--outfmt", "paf").out == (
        "n\t0\t0\t0\t+\ta\t4\t0\t4\t0\t4\t255\tNM:i:4\tAS:f:-5.5\tcg:Z:4D\n"
    )
    assert exaln("align", some, none, *costs, *alphabet, "--outfmt", "sam").out.splitlines()[-1].startswith("a\t4\t*")
    for outfmt in ("table", "6 std qcovs scovhsp", "7", "10", "json", "0", "fasta"):
        for pair in ([none, some], [some, none], [none, none]):
            assert exaln("align", *pair, *costs, *alphabet, "--outfmt", outfmt).code == 0


def test_minus_strand_hits_in_sam_and_paf(exaln: Exaln, tmp_path: Path) -> None:
    """From a search, which looks at both strands."""
    target = "TTGACAGCTAGCTCAGTCCTAGGTATAATGCTAGCGAAAGAGGAGAAATACTAGATGCGTAAAGGAGAAGAACTTTTCACTGGAGTTG"
    primer = "AACTCCAGTGAAAAGTTCTTCTCCTTTACAA"  # the reverse complement of its end, and AA that does not fit
    query, db = write(tmp_path / "q.fa", primer=primer), write(tmp_path / "t.fa", t=target)
    search = ["search", "--query", query, "--db", db, "--max-hsps", "1", "--quiet", "--outfmt"]
    (line,) = [line.split("\t") for line in exaln(*search, "sam").out.splitlines() if not line.startswith("@")]
    (theirs,) = Align.parse(io.StringIO(exaln(*search, "sam").out), "sam")
    complement = primer[::-1].translate(str.maketrans("ACGT", "TGCA"))
    assert line[1] == "16"
    assert line[9] == complement
    start, path = int(line[3]) - 1, line[5]
    assert path == "2S29M"
    assert target[start : start + 29] == complement[2:]
    assert theirs.coordinates[1, 0] > theirs.coordinates[1, -1]
    (paf,) = [line.split("\t") for line in exaln(*search, "paf").out.splitlines()]
    assert paf[:9] == ["primer", "31", "0", "29", "-", "t", "88", str(start), str(start + 29)]


# The terminal


def test_colours_only_on_a_terminal(exaln: Exaln, reads: Path, genes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = exaln("align", reads, genes).out
    assert "\x1b" not in plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = exaln("align", reads, genes).out
    assert "\x1b[1;32m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert exaln("align", reads, genes).out == plain


def test_verbose_says_mode_and_engine(exaln: Exaln, reads: Path, genes: Path) -> None:
    said = exaln("align", reads, genes, "--mode", "overlap", "--verbose").err
    assert "match 2, mismatch -3, gaps 5/2: a gap of 1 costs 7; overlap; cpu" in said
    assert "3 pairs in " in said
    assert exaln("align", reads, genes).err == ""


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_the_plot_equals_that_of_python(exaln: Exaln, tmp_path: Path, kind: str) -> None:
    first, second = write(tmp_path / "a.fa", a="HEAGAWGHEE"), write(tmp_path / "b.fa", b="PAWHEAE")
    result = exaln("align", first, second, "--plot", tmp_path / f"plot.{kind}", "--out", tmp_path / "out.txt")
    assert (result.code, result.out, result.err) == (0, "", "")
    package.align_many(first, second)[0].plot(tmp_path / f"same.{kind}")
    assert (tmp_path / f"plot.{kind}").read_bytes() == (tmp_path / f"same.{kind}").read_bytes()
    assert "Sbjct" in (tmp_path / "out.txt").read_text()


def test_the_plot_has_all_alignments_that_are_reported(exaln: Exaln, tmp_path: Path) -> None:
    gene = "ACGTTGCATGCATTTACGGACCATCGGATTACGATCGATT"
    minus = gene.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    first, second = write(tmp_path / "a.fa", a=gene), write(tmp_path / "b.fa", b=gene + "CCCC" + minus + "GG" + gene)
    several = ["--max-hsps", "4", "--min-score", "40", "--strand", "both", "--outfmt", "6"]
    assert len(exaln("align", first, second, *several, "--plot", tmp_path / "plot.html").rows) == 3
    package.align_many(first, second, max_hsps=4, min_score=40, strand="both").plot(tmp_path / "same.html")
    assert (tmp_path / "plot.html").read_bytes() == (tmp_path / "same.html").read_bytes()
    assert "local, 3 alignments, best score 80, 1 on the minus strand" in (tmp_path / "plot.html").read_text()


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
def test_the_plot_shows_the_reverse_complement_if_it_was_compared(exaln: Exaln, tmp_path: Path, strand: str) -> None:
    first = write(tmp_path / "a.fa", a="ACGTTGCATGCATTTACGGACCATCGGATTACGATCGATT")
    exaln("align", first, first, "--strand", strand, "--plot", tmp_path / "plot.svg", "--outfmt", "6")
    assert ("the same, reverse complement" in (tmp_path / "plot.svg").read_text()) == (strand != "plus")


def test_many_pairs_are_aligned_batch_by_batch(exaln: Exaln, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs go out before the last are read: an error in the last record leaves no file, but the first were aligned."""
    rng = np.random.default_rng(3)
    letters = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(500)]
    first = write(tmp_path / "a.fa", **{f"a{i}": text for i, text in enumerate(letters)})
    second = write(tmp_path / "b.fa", **{f"b{i}": text for i, text in enumerate(letters)})
    monkeypatch.setattr(pair_files, "MAX_PAIRS", 64)
    rows = exaln("align", first, second, *SCORE, "--mode", "global").rows
    assert rows == [[f"a{i}", f"b{i}", "60", "30M"] for i in range(500)]


BLAST = ["HBA_HUMAN", "HBB_HUMAN", "285", "114", "2.54e-38"]
"""blastp -subject -comp_based_stats F -seg no -outfmt "6 qseqid sseqid score bitscore evalue"."""


@pytest.fixture
def globins(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{name}.fa", **{name: letters}) for name, letters in fasta("hba_hbb.fasta").items()]


def test_local_pairs_have_bits_and_evalue_in_every_format(exaln: Exaln, globins: list[Path]) -> None:
    columns = ["qseqid", "sseqid", "score", "bitscore", "evalue"]
    assert exaln("align", *globins, "--outfmt", "6", *columns).rows == [BLAST]
    assert exaln("align", *globins, "--outfmt", "10", *columns).out == ",".join(BLAST) + "\n"
    assert "\t".join(BLAST) in exaln("align", *globins, "--outfmt", "7", *columns).out
    assert " Score = 114 bits (285),  Expect = 3e-38\n" in exaln("align", *globins).out
    assert "2.54e-38" in exaln("align", *globins, "--outfmt", "table").out
    (query,) = json.loads(exaln("align", *globins, "--outfmt", "json").out)["queries"]
    expected = package.align_many(*globins)[0]
    assert (query["hits"][0]["bits"], query["hits"][0]["evalue"]) == (expected.bits, expected.evalue)


def test_modes_other_than_local_have_no_bits_and_evalue(exaln: Exaln, globins: list[Path]) -> None:
    options = ["--mode", "global", "--outfmt"]
    assert exaln("align", *globins, *options, "6", "bitscore", "evalue", "score").rows == [["", "", "282"]]
    assert " Score = 282 (global)\n" in exaln("align", *globins, *options, "0").out


def test_a_note_when_targets_are_far_longer_than_the_query(
    exaln: Exaln,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exaln.cli.hints.LONG_TARGET", 200)
    query = write(tmp_path / "q.fa", q="ACGTTTGACC")
    targets = {length: write(tmp_path / f"{length}.fa", t=("ACGTTTGACC" * 20)[:length]) for length in (199, 200)}
    note = (
        "exaln: note: target t is far longer than its query (200 and 10 residues); "
        "only the best alignment is shown, --max-hsps N shows more\n"
    )
    without_statistics = [
        "search",
        "--match",
        "5",
        "--mismatch",
        "-4",
        "--gap-open",
        "7",
        "--gap-extend",
        "3",
        "-q",
        query,
        "-d",
    ]
    of_search = note.replace("N shows", "N or --min-score S shows")
    notes = ((["align", query], note), (["align", query, "--all"], note), (without_statistics, of_search))
    for command, expected in notes:
        assert "note:" not in exaln(*command, targets[199]).err
        said = exaln(*command, targets[200], *(["-o", tmp_path / "out.tsv"]))
        assert said.err.count(expected) == 1
        assert "note:" not in exaln(*command, targets[200], "--quiet").err
        assert "note:" not in exaln(*command, targets[200], "--max-hsps", 9).err
    assert (
        note.replace("--max", "--mode local --max") in exaln("align", query, targets[200], "--mode", "semiglobal").err
    )
    assert "note:" not in exaln("search", "-q", query, "-d", targets[200]).err
    assert "far longer" not in exaln(*without_statistics, targets[200], "--min-score", 20).err
    assert "note:" not in exaln("align", query, targets[200], "--mode", "global").err
    longer = write(tmp_path / "long.fa", q="ACGTTTGACCA")
    assert "note:" not in exaln("align", longer, targets[200]).err
