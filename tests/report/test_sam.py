"""SAM: one primary line per read, NM as samtools counts, base qualities; and samtools itself, where it is installed."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import exaln as package
from command import Exaln, write
from exaln.alignments import query_hits
from exaln.pairwise import pair_files
from exaln.report.sam import MINUS, SECONDARY, SUPPLEMENTARY, UNMAPPED
from exaln.sequences.alphabet import DNA, RNA
from exaln.sequences.fasta import read_records
from exaln.sequences.records import joined
from exaln.sequences.strands import reverse_complement

READ = "ACGTTTGACCAGTAACGGATTC"
NOT_PRIMARY = 0x900
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def fastq(path: Path, **reads: tuple[str, str]) -> Path:
    path.write_text("".join(f"@{name}\n{letters}\n+\n{quality}\n" for name, (letters, quality) in reads.items()))
    return path


def lines(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if not line.startswith("@")]


def primary_lines(rows: list[list[str]]) -> dict[str, list[list[str]]]:
    """Lines without 0x900, by read."""
    return {name: [r for r in rows if r[0] == name and not int(r[1]) & NOT_PRIMARY] for name in {r[0] for r in rows}}


@pytest.fixture
def targets(tmp_path: Path) -> Path:
    """Parts of the read, the whole of it twice, and something else; the fourth is the best, first of equals."""
    parts = {"t1": READ[:8], "t2": "GGGGGGGG", "t3": READ[:12], "t4": READ, "t5": READ[4:20], "t6": READ}
    return write(tmp_path / "targets.fa", **parts)


@pytest.mark.parametrize("max_pairs", [1, 2, 3, 100])
@pytest.mark.parametrize("part_hits", [1, 2, 100])
@pytest.mark.parametrize("option", [[], ["--all"]])
def test_the_best_alignment_of_a_read_is_primary(
    exaln: Exaln,
    tmp_path: Path,
    targets: Path,
    monkeypatch: pytest.MonkeyPatch,
    max_pairs: int,
    part_hits: int,
    option: list[str],
) -> None:
    """In whichever pieces the pairs come."""
    monkeypatch.setattr(pair_files, "MAX_PAIRS", max_pairs)
    monkeypatch.setattr(query_hits, "PART_HITS", part_hits)
    read = write(tmp_path / "read.fa", r=READ)
    rows = lines(exaln("align", read, targets, *option, "--outfmt", "sam").out)
    assert [(row[2], int(row[1])) for row in rows if row[2] != "t2"] == [
        ("t1", SECONDARY), ("t3", SECONDARY), ("t4", 0), ("t5", SECONDARY), ("t6", SECONDARY),
    ]  # fmt: skip
    assert [len(found) for found in primary_lines(rows).values()] == [1]


@pytest.mark.parametrize("max_pairs", [1, 2, 100])
def test_a_read_without_alignments_has_one_line(
    exaln: Exaln,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    max_pairs: int,
) -> None:
    monkeypatch.setattr(pair_files, "MAX_PAIRS", max_pairs)
    reads = write(tmp_path / "reads.fa", none="AAAA", some="CCCC", last="AAAAA")
    others = write(tmp_path / "others.fa", a="GGGG", b="CC", c="GGGGG")
    rows = lines(exaln("align", reads, others, "--all", "--outfmt", "sam").out)
    assert [(row[0], int(row[1]), row[2]) for row in rows] == [
        ("none", UNMAPPED, "*"), ("some", 0, "b"), ("last", UNMAPPED, "*"),
    ]  # fmt: skip
    one = write(tmp_path / "one.fa", none="AAAA")
    rows = lines(exaln("align", one, others, "--outfmt", "sam").out)
    assert [(row[0], int(row[1])) for row in rows] == [("none", UNMAPPED)]


def test_the_first_hit_of_a_search_is_primary(exaln: Exaln, tmp_path: Path, targets: Path) -> None:
    read = write(tmp_path / "read.fa", r=READ)
    rows = lines(exaln("search", "-q", read, "-d", targets, "--outfmt", "sam").out)
    best = [(row[2], int(row[1]) & NOT_PRIMARY) for row in rows if not int(row[1]) & SUPPLEMENTARY]
    assert best[:2] == [("t4", 0), ("t6", SECONDARY)]
    assert all(flags & SECONDARY for _, flags in best[1:])
    assert {row[2] for row in rows if int(row[1]) & NOT_PRIMARY == SUPPLEMENTARY} <= {"t4"}


# NM

EQUAL_LETTERS = "ACGTRYSWKMBDHV"
"""Letters that `samtools calmd` (1.16.1) takes for equal to themselves; N and U are not."""


@pytest.mark.parametrize("letter", DNA.letters)
def test_nm_takes_letters_for_equal_as_samtools_does(exaln: Exaln, tmp_path: Path, letter: str) -> None:
    one = write(tmp_path / "one.fa", a=READ + letter * 2 + READ.lower())
    (row,) = lines(exaln("align", one, one, "--outfmt", "sam", "--alphabet", "dna", "--strand", "plus").out)
    assert row[5] == "46M"
    assert row[11] == f"NM:i:{0 if letter in EQUAL_LETTERS else 2}"
    (row,) = lines(exaln("align", one, one, "--outfmt", "paf", "--alphabet", "dna", "--strand", "plus").out)
    assert f"NM:i:{0 if letter in EQUAL_LETTERS else 2}" in row


@pytest.mark.parametrize(("alphabet", "expected"), [(DNA, 1), (RNA, 9)])
def test_nm_of_the_minus_strand_counts_the_letters_that_are_written(
    exaln: Exaln,
    tmp_path: Path,
    alphabet: package.Alphabet,
    expected: int,
) -> None:
    """The U of an RNA read, seen from the other strand, is an A, and its A is a U."""
    target = "ACGNACGTGACCAGTAACGG".replace("T", "U" if alphabet is RNA else "T")
    read = alphabet.decode(reverse_complement(alphabet.encode(target), alphabet))
    files = write(tmp_path / "t.fa", t=target), write(tmp_path / "r.fa", r=read)
    options = ["--alphabet", alphabet.name, "--strand", "minus", "--outfmt", "sam"]
    (row,) = lines(exaln("align", files[1], files[0], *options).out)
    assert (row[1], row[5], row[9]) == (str(MINUS), "20M", target)
    assert row[11] == f"NM:i:{1 + target.count('U')}"
    assert (expected == 1) == (alphabet is DNA)


def test_nm_of_proteins_counts_equal_letters_as_equal(exaln: Exaln, tmp_path: Path) -> None:
    one = write(tmp_path / "one.fa", a="MKVLAAGXNNUGIVGHEAGAWGHEE")
    (row,) = lines(exaln("align", one, one, "--outfmt", "sam").out)
    assert row[11] == "NM:i:0"


# Qualities

QUALITY = "!\"#$%&'()*+,-./01~}|{zy"[: len(READ)]


def test_qualities_of_fastq_are_written(exaln: Exaln, tmp_path: Path) -> None:
    reverse = READ.translate(COMPLEMENT)[::-1]
    reads = fastq(tmp_path / "reads.fq", plus=(READ, QUALITY), minus=(reverse, QUALITY), none=("AAAA", "FGHI"))
    target = write(tmp_path / "t.fa", t="GG" + READ + "CC")
    expected = {
        "plus": ["0", READ, QUALITY],
        "minus": [str(MINUS), READ, QUALITY[::-1]],
        "none": [str(UNMAPPED), "AAAA", "FGHI"],
    }
    for command in (
        ["search", "-q", reads, "-d", target, "--min-score", 20],
        ["align", reads, target, "--strand", "both", "--mode", "semiglobal"],
        ["align", reads, target, "--all", "--strand", "both", "--mode", "semiglobal"],
    ):
        rows = {row[0]: [row[1], *row[9:11]] for row in lines(exaln(*command, "--outfmt", "sam").out)}
        assert rows["plus"] == expected["plus"]
        assert rows["minus"] == expected["minus"]
        if command[0] == "search":
            assert rows["none"] == expected["none"]


def test_qualities_of_removed_gaps_are_removed(exaln: Exaln, tmp_path: Path) -> None:
    reads = fastq(tmp_path / "reads.fq", r=("AC-GTT.TGACC", "ABCDEFGHIJKL"))
    target = write(tmp_path / "t.fa", t="ACGTTTGACC")
    (row,) = lines(exaln("align", reads, target, "--strip-gaps", "--outfmt", "sam").out)
    assert row[9:11] == ["ACGTTTGACC", "ABDEFHIJKL"]


def test_qualities_travel_through_shards_and_clusters(exaln: Exaln, tmp_path: Path) -> None:
    reads = fastq(tmp_path / "reads.fq", a=(READ, QUALITY), b=(READ[::-1], QUALITY))
    targets = write(tmp_path / "t.fa", t=READ, u=READ[::-1] + "ACGT")
    database = package.Database.build(targets, tmp_path / "db").path
    search = ["search", "-q", reads, "-d", database]
    whole = exaln(*search, "--outfmt", "sam").out
    assert QUALITY in whole
    parts = [tmp_path / f"part-{number}.parquet" for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        assert exaln(*search, "--shard", f"{number}/2", "-o", part).code == 0
    assert exaln("merge", *parts, "--outfmt", "sam").out == whole
    assert exaln(*search, "--cluster", "local:1", "--outfmt", "sam").out == whole


@pytest.mark.parametrize("cuts", [[], list(range(60)), [9, 23, 31]])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_qualities_are_read_beside_the_letters(cuts: list[int], end: str) -> None:
    """With gaps, blanks and several lines, however the file is cut."""
    from exaln._core import FastaReader

    data = "@a x\nAC-\nG T\n+a\nAB\nCD E\n@b\nACG\n+\n@+~\n@c\n\n+\n\n".replace("\n", end).encode()
    reader = FastaReader(DNA.table, True, keep_qualities=True)
    edges = [0, *(cut for cut in cuts if cut < len(data)), len(data)]
    for begin, stop in pairwise(edges):
        reader.feed(data[begin:stop])
    assert reader.finish()
    columns = reader.take()
    assert DNA.decode(columns[4]) == "ACGTACG"
    assert bytes(columns[8]) == b"ABDE@+~"


def test_qualities_of_parts_and_rows_of_records() -> None:
    first, second = (
        read_records(io.BytesIO(text), alphabet=DNA, keep_qualities=True)
        for text in (b"@a\nAC\n+\nIJ\n@b\nGGG\n+\nKLM\n", b"@c\nT\n+\nN\n")
    )
    assert bytes(first.rows(1, 2).quality(0)) == b"KLM"
    assert bytes(joined([first, second]).quality(2)) == b"N"
    fasta = read_records(io.BytesIO(b">a\nAC\n"), alphabet=DNA, keep_qualities=True)
    assert fasta.qualities is None
    assert fasta.quality(0) is None
    assert joined([first, fasta]).qualities is None


# samtools

needs_samtools = pytest.mark.skipif(shutil.which("samtools") is None, reason="samtools is not installed")


def mutated(letters: np.ndarray, rng: np.random.Generator) -> str:
    """A read with other letters, N and IUPAC codes, insertions and deletions here and there."""
    kept = letters[rng.random(len(letters)) > 0.02]
    other = rng.random(len(kept)) < 0.05
    kept[other] = rng.choice(np.frombuffer(b"ACGTNNRYKM", np.uint8), int(other.sum()))
    return bytes(np.insert(kept, rng.integers(0, len(kept), 2), ord("A"))).decode()


@needs_samtools
@pytest.mark.parametrize("command", ["search", "align", "align --all"])
@pytest.mark.parametrize("outfmt", [["sam"], ["sam", "extended"]])
def test_samtools_finds_nothing_to_correct(
    exaln: Exaln,
    tmp_path: Path,
    command: str,
    outfmt: list[str],
) -> None:
    rng = np.random.default_rng(7)
    genome = rng.choice(np.frombuffer(b"ACGTACGTACGTNR", np.uint8), (3, 2000))
    target = write(tmp_path / "t.fa", **{f"t{i}": bytes(row).decode() for i, row in enumerate(genome)})
    reads = {}
    for number in range(30):
        start = int(rng.integers(0, 1800))
        letters = mutated(genome[number % 3, start : start + 150], rng)
        letters = letters if number % 2 else DNA.decode(reverse_complement(DNA.encode(letters), DNA))
        reads[f"r{number}"] = (letters, "".join(map(chr, rng.integers(33, 127, len(letters)))))
    file, sam = fastq(tmp_path / "r.fq", **reads), tmp_path / "out.sam"
    given = ["search", "-q", file, "-d", target] if command == "search" else ["align", "--all", file, target]
    given += [] if command == "search" else ["--strand", "both"]
    if command == "align":
        single = write(tmp_path / "single.fa", t0=bytes(genome[0]).decode())
        given = ["align", file, single, "--strand", "both"]
        target = single
    assert exaln(*given, "--outfmt", *outfmt, "-o", sam, "--quiet").code == 0
    subprocess.run(["samtools", "quickcheck", "-v", sam], check=True)
    subprocess.run(["samtools", "view", "-b", "-o", tmp_path / "out.bam", sam], check=True, capture_output=True)
    found = subprocess.run(["samtools", "calmd", sam, target], check=True, capture_output=True, text=True)
    assert "different NM" not in found.stderr
    own, theirs = lines(sam.read_text()), lines(found.stdout)
    assert [row[:12] for row in own] == [row[:11] + [tag for tag in row[11:] if tag[:2] == "NM"] for row in theirs]
    assert Counter(row[0] for row in own if not int(row[1]) & NOT_PRIMARY) == dict.fromkeys(reads, 1)
    for row in own:
        letters, quality = reads[row[0]]
        assert row[10] == (quality[::-1] if int(row[1]) & MINUS else quality)
