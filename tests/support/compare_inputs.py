"""Input files for compare_outputs.py.

All of them are made from the FASTA files in tests/golden, from literals and from a fixed random seed.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterable
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"

Records = list[tuple[str, str]]
"""Header (without >) and sequence of each record."""

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
COMPLEMENT = str.maketrans("ACGT", "TGCA")

ODD_RECORDS: Records = [
    (
        "sp|P69905|HBA_HUMAN alpha\x01gi|4504345|ref|NP_000508.4| the same\x01pdb|1A00|A again",
        "MVLSPADKTNVKAAWGKVGAHAGEYGA",
    ),
    ('=1+1 "quoted", with a comma', "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMF"),
    ("tab\there and \x1b[31mred\x1b[0m", "mvlspadktnvkAAWGKVGAHAGEYGA"),
    ("ümlaut|x αβγ", "MVLSPADKTNVXXXWGKVGAHAGEYGA*"),
    ("NP_001123.1 selenocysteine, pyrrolysine and ambiguous letters", "MVLSPUOKTNVBZJWGKVGAHAGEYGA"),
    ("lcl|x:1-20/@a name that SAM cannot have", "MVLSPADKTNVKAAWGKVGAHAGEYGA"),
]

BAD_FILES: dict[str, bytes] = {
    "empty.fasta": b"",
    "only_newlines.fasta": b"\n\n\n",
    "header_only.fasta": b">a\n",
    "no_name.fasta": b">\nMKVLAAGIT\n",
    "empty_record.fasta": b">a\nMKVLAAGIT\n>b\n>c\nMKVLAAGIV\n",
    "same_id.fasta": b">a\nMKVLAAGIT\n>a\nMKVLAAGIV\n",
    "gap.fasta": b">a\nMKVLAAGIT\n>b\nMKV-LAA.GIT\n",
    "at_sign.fasta": b">a\nMKVL@AGIT\n",
    "digits.fasta": b">a\n1 MKVLAAGIT 9\n",
    "nul.fasta": b">a\nMKVL\0AGIT\n",
    "nul_in_header.fasta": b">a\0b text\nMKVLAAGIT\n",
    "latin1.fasta": ">a caf\u00e9\nMKVLAAGIT\n".encode("latin-1"),
    "utf16.fasta": ">a\nMKVLAAGIT\n".encode("utf-16"),
    "bom.fasta": b"\xef\xbb\xbf>a\nMKVLAAGIT\n",
    "crlf.fasta": b">a one\r\nMKVLAAGIT\r\n\r\n>b\r\nMKVLAAGIV\r\n",
    "cr.fasta": b">a\rMKVLAAGIT\r>b\rMKVLAAGIV\r",
    "text.txt": b"This is no sequence file.\n",
    "text_first.fasta": b"; a comment\nMKV\n>a\nMKVLAAGIT\n",
    "looks_like_dna.fasta": b">a\n" + b"ACGTTGCA" * 10 + b"\n",
    "all_x.fasta": b">a\nXXXXXXXXXXXXXXXX\n",
    "short_quality.fastq": b"@a\nACGTACGT\n+\nIIII\n",
    "truncated.fastq": b"@a\nACGTACGT\n+\nIIIIIIII\n@b\nACG",
    "bad_quality.fastq": b"@a\nACGTACGT\n+\nIIII\x01III\n",
    "truncated.fasta.gz": gzip.compress(b">a\n" + b"MKVLAAGITWYHE" * 40 + b"\n", mtime=0)[:-12],
    "plain.fasta.gz": b">a\nMKVLAAGIT\n",
    "gzip_inside.fasta": gzip.compress(b">a\nMKVLAAGIT\n", mtime=0),
}
"""Files that are refused, read with a warning, or read although they look odd."""

MATRIX = """# match 4, mismatch -3; N scores 0
   A  C  G  T  N
A  4 -3 -3 -3  0
C -3  4 -3 -3  0
G -3 -3  4 -3  0
T -3 -3 -3  4  0
N  0  0  0  0  0
"""


def make_inputs(folder: Path) -> None:
    """Write all input files to `folder`, which must exist."""
    proteins, queries = read_fasta(GOLDEN / "scop20_part.fasta"), read_fasta(GOLDEN / "cudasw4q_part.fasta")
    globins = read_fasta(GOLDEN / "hba_hbb.fasta")
    write_fasta(folder / "proteins.fasta", proteins)
    write_fasta(folder / "first.fasta", proteins[:25])
    write_fasta(folder / "second.fasta", proteins[25:])
    write_fasta(folder / "queries.fasta", queries)
    write_fasta(folder / "few.fasta", queries[:2])
    write_fasta(folder / "globins.fasta", globins)
    write_fasta(folder / "alpha.fasta", globins[:1])
    write_fasta(folder / "beta.fasta", globins[1:])
    write_fasta(folder / "odd.fasta", ODD_RECORDS)
    write_fasta(folder / "cas9.fasta", read_fasta(GOLDEN / "cas9_part.fasta"))
    for name in ("blastn_columns_query.fasta", "blastn_columns_targets.fasta"):
        (folder / name).write_bytes((GOLDEN / name).read_bytes())
    ids = [header.split()[0] for header, _ in proteins]
    (folder / "ids.txt").write_text("\n".join(ids[::2]) + "\n")
    (folder / "unknown_ids.txt").write_text(f"{ids[0]}\nno_such_id\n")
    (folder / "matrix.txt").write_text(MATRIX)
    (folder / "bad_matrix.txt").write_text(MATRIX.replace("4 -3", "4 x", 1))
    (folder / "bad").mkdir()
    for name, content in BAD_FILES.items():
        (folder / "bad" / name).write_bytes(content)
    make_nucleotides(folder)
    make_pairs(folder)


def make_nucleotides(folder: Path) -> None:
    """Write a genome of three records, and reads of both its strands as FASTA, FASTQ, compressed FASTQ and RNA."""
    rng = random.Random(1)
    genome = [(f"contig{number} of a genome", letters(rng, "ACGT", n)) for number, n in enumerate((6000, 2500, 400), 1)]
    genome.append(("ambiguous", genome[2][1][:180] + "NNNNNRYSWKM" + genome[2][1][180:].lower()))
    write_fasta(folder / "genome.fasta", genome)
    reads: Records = []
    for number in range(12):
        source = genome[number % 3][1]
        length = rng.choice((40, 75, 150, 260))
        start = rng.randrange(len(source) - length)
        read = mutated(rng, source[start : start + length], "ACGT", 0.06)
        reads.append((f"read{number} x", read.translate(COMPLEMENT)[::-1] if number % 2 else read))
    reads.append(("unrelated", letters(rng, "ACGT", 60)))
    write_fasta(folder / "reads.fasta", reads)
    write_fasta(folder / "rna.fasta", [(header, read.replace("T", "U")) for header, read in reads])
    fastq = "".join(f"@{header}\n{read}\n+\n{letters(rng, '#+5?IJ', len(read))}\n" for header, read in reads)
    (folder / "reads.fastq").write_text(fastq)
    (folder / "reads.fastq.gz").write_bytes(gzip.compress(fastq.encode(), mtime=0))


def make_pairs(folder: Path) -> None:
    """Write files whose n-th records make pairs: many short ones, a few larger ones, and one long pair."""
    rng = random.Random(2)
    lengths = [1, 2, 7, 16, 31, 32, 33, 64, 65, 127, 130, 200, 255, 257, 300, 399]
    write_pairs(folder, "protein", rng, AMINO_ACIDS, lengths, 0.3)
    write_pairs(folder, "dna", rng, "ACGT", lengths, 0.1)
    write_pairs(folder, "mixed", rng, "ACGT", [3000] * 20 + [12_500], 0.1)
    write_pairs(folder, "long", rng, "ACGT", [30_000], 0.05)
    reads = read_fasta(folder / "dna_a.fasta")
    (folder / "dna_a.fastq").write_text("".join(f"@{name}\n{read}\n+\n{'I' * len(read)}\n" for name, read in reads))
    turned = [(name, read.translate(COMPLEMENT)[::-1]) for name, read in read_fasta(folder / "dna_b.fasta")]
    write_fasta(folder / "dna_b_minus.fasta", turned)
    write_fasta(folder / "short_a.fasta", [("a", "HEAGAWGHEE")])
    write_fasta(folder / "short_b.fasta", [("b", "PAWHEAE")])


def write_pairs(
    folder: Path, name: str, rng: random.Random, alphabet: str, lengths: Iterable[int], rate: float
) -> None:
    """Write NAME_a.fasta, random sequences of these lengths, and NAME_b.fasta, mutated copies within random ends."""
    firsts = [(f"{name}{number} first", letters(rng, alphabet, n)) for number, n in enumerate(lengths)]
    seconds = []
    for number, (_, first) in enumerate(firsts):
        before, after = (letters(rng, alphabet, rng.randrange(20)) for _ in range(2))
        seconds.append((f"{name}{number}b second", before + mutated(rng, first, alphabet, rate) + after))
    write_fasta(folder / f"{name}_a.fasta", firsts)
    write_fasta(folder / f"{name}_b.fasta", seconds)


def letters(rng: random.Random, alphabet: str, n: int) -> str:
    """Return n random letters."""
    return "".join(rng.choices(alphabet, k=n))


def mutated(rng: random.Random, sequence: str, alphabet: str, rate: float) -> str:
    """Return a copy in which this share of the letters is substituted, deleted, or followed by an insertion."""

    def copy(letter: str) -> str:
        if rng.random() >= rate:
            return letter
        return rng.choice((rng.choice(alphabet), "", letter + letters(rng, alphabet, rng.randrange(1, 6))))

    return "".join(map(copy, sequence))


def read_fasta(path: Path) -> Records:
    """Return the records of a FASTA file."""
    records = re.split(r"^>", path.read_text(), flags=re.MULTILINE)[1:]
    split = (record.split("\n", 1) for record in records)
    return [(header, sequence.replace("\n", "")) for header, sequence in split]


def write_fasta(path: Path, records: Records) -> None:
    """Write records with 70 letters per line."""
    with path.open("w", encoding="utf-8") as file:
        for header, sequence in records:
            lines = [sequence[first : first + 70] for first in range(0, len(sequence), 70)]
            file.write("\n".join((f">{header}", *lines, "")))
