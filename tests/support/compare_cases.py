"""The commands that compare_outputs.py runs with two versions of exaln.

Every line of a case is run by sh in the folder of the case. `exaln` and `python` are those of the version, and $IN is
the folder of the files that compare_inputs.py makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from compare_inputs import BAD_FILES


@dataclass(frozen=True)
class Case:
    """Shell lines that are run one after the other in one folder.

    kind is "bytes" if exit codes, stdout and files must be the same, and "help" if stdout is text that may be reworded.
    """

    name: str
    lines: tuple[str, ...]
    kind: str = "bytes"


DATABASES = ("proteins", "genome", "first", "second")
"""Input files of which the earlier version builds a database for all cases, $IN/NAME.exaln."""

FORMATS = {
    "table": "txt",
    "0": "txt",
    "6": "tsv",
    "7": "txt",
    "10": "csv",
    "json": "json",
    "parquet": "parquet",
    "arrow": "arrow",
    "sam": "sam",
    "sam extended": "sam",
    "paf": "paf",
    "paf extended": "paf",
    "fasta": "fasta",
    "fasta aligned": "fasta",
}
"""Every --outfmt, and an extension for its files."""

MODES = ("local", "global", "semiglobal", "overlap", "free:qs,te", "free:qe,ts", "free:te")

COLUMNS = (
    "qseqid qacc qaccver qtitle qlen qordinal sseqid sacc saccver stitle slen sordinal sallseqid sallacc salltitles "
    "qstart qend sstart send evalue bitscore score length pident nident mismatch positive ppos gapopen gaps "
    "qcovs qcovhsp qcovus scovhsp qframe sframe frames sstrand qseq sseq btop cigar cigarx"
)

COMMANDS = "makedb search merge worker align score append compact dbinfo verify fetch export info bench study"

SEARCH = "exaln search --query $IN/few.fasta --db $IN/proteins.exaln"
DNA_SEARCH = "exaln search --query $IN/reads.fasta --db $IN/genome.exaln"
DAMAGE = "printf X | dd bs=1 conv=notrunc status=none"
COPY = "cp -r $IN/proteins.exaln copy.exaln"


def all_cases(data: str | None) -> list[Case]:
    """Return all cases; `data` is the folder of real sequences, or None."""
    cases = [*database_cases(), *search_cases(), *part_cases(), *score_cases(), *align_cases(), *long_cases()]
    cases += [*python_cases(), *refused_cases(), *help_cases()]
    return [*cases, *(real_data_cases(data) if data else ())]


def simple(prefix: str, lines: dict[str, str | tuple[str, ...]]) -> Iterator[Case]:
    """Yield a case for each name, which is completed by the prefix."""
    for name, line in lines.items():
        yield Case(f"{prefix}: {name}", (line,) if isinstance(line, str) else line)


def database_cases() -> Iterator[Case]:
    yield from simple(
        "database",
        {
            "protein": ("exaln makedb --in $IN/proteins.fasta --db new", "exaln verify --db new.exaln"),
            "dna": ("exaln makedb --in $IN/genome.fasta --db new.exaln", "exaln export --db new.exaln --width 0"),
            "rna": ("exaln makedb --in $IN/rna.fasta --db new", "exaln dbinfo --db new.exaln"),
            "FASTQ": ("exaln makedb --in $IN/reads.fastq --db new", "exaln export --db new.exaln"),
            "gzip": ("exaln makedb --in $IN/reads.fastq.gz --db new", "exaln dbinfo --db new.exaln --json"),
            "odd headers and letters": ("exaln makedb --in $IN/odd.fasta --db new", "exaln export --db new.exaln"),
            "several files": "exaln makedb --in $IN/first.fasta $IN/second.fasta --db new --verbose",
            "several files, compressed": (
                "gzip -nc $IN/first.fasta > first.fasta.gz; gzip -nc $IN/second.fasta > second.fasta.gz",
                "exaln makedb --in first.fasta.gz second.fasta.gz $IN/globins.fasta --db new",
                "exaln makedb --in $IN/globins.fasta second.fasta.gz first.fasta.gz --db turned",
                "cat first.fasta.gz second.fasta.gz > both.fasta.gz; exaln makedb --in both.fasta.gz --db both",
                "exaln dbinfo --db new.exaln --db turned.exaln --db both.exaln",
            ),
            "several formats": (
                "exaln makedb --in $IN/reads.fastq $IN/reads.fastq.gz $IN/genome.fasta $IN/reads.fasta --db new",
                "exaln export --db new.exaln",
            ),
            "several files, one of them bad": tuple(
                f"exaln makedb --in $IN/first.fasta {bad} $IN/second.fasta --db new"
                for bad in ("$IN/bad/nul.fasta", "none.fasta", "$IN/bad/truncated.fasta.gz", "$IN/genome.fasta", ".")
            ),
            "the same ids in several files": "exaln makedb --in $IN/first.fasta $IN/first.fasta --db new",
            "many segments": (
                "exaln makedb --in $IN/globins.fasta --db new",
                "for name in first second few cas9 globins queries proteins; do"
                " exaln append --in $IN/$name.fasta --db new.exaln --quiet; done",
                "exaln dbinfo --db new.exaln; exaln verify --db new.exaln",
                "exaln search --query $IN/few.fasta --db new.exaln --outfmt 6 std sordinal cigar --evalue 1000",
                "exaln score --query $IN/alpha.fasta --db new.exaln",
                "exaln fetch --db new.exaln HBA_HUMAN",
                "exaln compact --db new.exaln; exaln export --db new.exaln --width 0 --out all.fasta.gz",
                "exaln search --query $IN/few.fasta --db new.exaln --outfmt 6 std sordinal cigar --evalue 1000",
            ),
            "long lines and short ones": (
                "exaln export --db $IN/genome.exaln --width 0 --out wide.fasta",
                "exaln export --db $IN/genome.exaln --width 1 --out narrow.fasta",
                "exaln makedb --in wide.fasta narrow.fasta --db new; exaln export --db new.exaln",
            ),
            "stdin": "cat $IN/proteins.fasta | exaln makedb --in - --db new --quiet",
            "alphabets": (
                "exaln makedb --in $IN/genome.fasta --db protein --alphabet protein",
                "exaln makedb --in $IN/short_a.fasta --db own --alphabet AEGHW",
                "exaln makedb --in $IN/genome.fasta --db nucl -dbtype nucl",
                "exaln dbinfo --db own.exaln --db own.exaln",
            ),
            "gaps removed": (
                "exaln makedb --in $IN/bad/gap.fasta --db new --strip-gaps",
                "exaln export --db new.exaln",
            ),
            "BLAST's names": "exaln makedb -in $IN/proteins.fasta -dbtype prot -out new -parse_seqids",
            "append and compact": (
                "exaln makedb --in $IN/first.fasta --db new",
                "exaln append --in $IN/second.fasta --db new.exaln",
                "exaln append --in $IN/globins.fasta --db new.exaln --verbose",
                "exaln dbinfo --db new.exaln",
                "exaln compact --db new.exaln",
                "exaln compact --db new.exaln",
                "exaln verify --db new.exaln --verbose",
                "exaln export --db new.exaln --out all.fasta",
            ),
            "replaced": (
                "exaln makedb --in $IN/first.fasta --db new",
                "exaln makedb --in $IN/second.fasta --db new",
                "exaln makedb --in $IN/second.fasta --db new --force",
            ),
            "information": (
                "exaln dbinfo --db $IN/proteins.exaln",
                "exaln dbinfo --db $IN/first.exaln --db $IN/second.exaln --json",
                "exaln dbinfo --db $IN/genome.fasta",
            ),
            "fetch": (
                "exaln fetch --db $IN/proteins.exaln d1gw5a_ d1cqxa1",
                "exaln fetch --db $IN/proteins.exaln --ids $IN/ids.txt --out some.fasta.gz --width 100",
                "echo d1gw5a_ | exaln fetch --db $IN/first.exaln --db $IN/second.exaln --ids - --width 0",
                "exaln fetch --db $IN/odd.fasta P69905 NP_001123",
                "exaln fetch -db $IN/proteins.exaln -entry_batch $IN/ids.txt -line_length 50 -out blast.fasta",
            ),
            "export": (
                "exaln export --db $IN/second.exaln --db $IN/globins.fasta",
                "exaln export --db $IN/first.exaln --db $IN/second.exaln --out all.fasta.zst",
                "umask 077; exaln export --db $IN/genome.exaln --out private.fasta",
                "touch mode.fasta; chmod 640 mode.fasta; exaln export --db $IN/genome.exaln --out mode.fasta",
            ),
        },
    )


def search_cases() -> Iterator[Case]:
    for outfmt, extension in FORMATS.items():
        lines = (
            f"{SEARCH} --outfmt {outfmt}",
            f"{SEARCH} --outfmt '{outfmt}' --out hits.{extension} --evalue 100 --max-target-seqs 20",
            f"{DNA_SEARCH} --outfmt '{outfmt}' --out dna.{extension}",
        )
        yield Case(f"search: --outfmt {outfmt}", lines)
    for engine in ("reference", "cpu", "cuda"):
        yield Case(f"search: --engine {engine}", (f"{SEARCH} --engine {engine} --max-target-seqs 3",))
    for isa in ("portable", "sse41", "avx2", "avx512bw", "avx512vbmi", "neon"):
        search = (
            f"EXALN_ISA={isa} exaln search --query $IN/queries.fasta --db $IN/proteins.exaln --outfmt '6 std score'"
        )
        align = f"EXALN_ISA={isa} exaln align $IN/dna_a.fasta $IN/dna_b.fasta --mode overlap --outfmt paf"
        yield Case(f"EXALN_ISA={isa}", (search, align))
    yield from simple(
        "search",
        {
            "extensions": tuple(
                f"{SEARCH} --out hits.{name}" for name in ("tsv.gz", "txt.zst", "csv", "feather", "faa")
            ),
            "all columns, protein": f"{SEARCH} --outfmt '6 {COLUMNS}'",
            "all columns, DNA": f"{DNA_SEARCH} --outfmt '7 {COLUMNS}'",
            "columns without quotes": f"{SEARCH} --outfmt 10 std qcovs cigar --max-target-seqs 2",
            "odd headers and letters": tuple(
                f"exaln search --query $IN/odd.fasta --db $IN/odd.fasta --outfmt '{outfmt}'"
                for outfmt in (
                    "0",
                    "6 qseqid stitle sallseqid salltitles sacc score",
                    "10 sseqid stitle",
                    "json",
                    "sam",
                )
            ),
            "golden nucleotides": (
                "exaln search --query $IN/blastn_columns_query.fasta --db $IN/blastn_columns_targets.fasta --outfmt 0"
            ),
            "strands": tuple(f"{DNA_SEARCH} --strand {strand} --outfmt 6 std sstrand" for strand in ("plus", "minus")),
            "FASTQ to SAM": "exaln search --query $IN/reads.fastq.gz --db $IN/genome.fasta --outfmt sam",
            "RNA": "exaln search --query $IN/rna.fasta --db $IN/genome.exaln --outfmt 6",
            "stdin": "cat $IN/few.fasta | exaln search --query - --db $IN/proteins.fasta --outfmt 6",
            "threads": tuple(f"{SEARCH} --evalue 1000 --threads {n} --out hits{n}.tsv" for n in (1, 2)),
            "filters": (
                f"{SEARCH} --evalue 1e-2",
                f"{SEARCH} --evalue inf --max-target-seqs 7",
                f"{SEARCH} --min-bits 22 --min-score 45",
                f"{SEARCH} --evalue 1000 --min-identity 30 --min-query-coverage 20 --min-target-coverage 20",
                f"{SEARCH} --dbsize 1000000000",
            ),
            "ids": (f"{SEARCH} --ids $IN/ids.txt", f"{SEARCH} --exclude-ids $IN/ids.txt --max-target-seqs 5"),
            "several databases": (
                "exaln search --query $IN/few.fasta --db $IN/first.exaln --db $IN/second.exaln",
                'exaln search -query $IN/few.fasta -db "$IN/first.exaln $IN/second.fasta" -outfmt 6 std sordinal',
            ),
            "matrices": tuple(
                f"{SEARCH} --matrix {name} --max-target-seqs 2" for name in ("BLOSUM45", "PAM30", "VTML80")
            ),
            "no statistics": f"{SEARCH} --gap-open 5 --gap-extend 5 --outfmt 6 sseqid score evalue bitscore",
            "fractional costs": f"{SEARCH} --gap-open 9.5 --gap-extend 0.5 --outfmt 6 sseqid score cigar",
            "match and mismatch": f"{DNA_SEARCH} --match 1 --mismatch -2 --gap-open 0 --gap-extend 2.5",
            "matrix file": f"{DNA_SEARCH} --matrix $IN/matrix.txt --gap-open 6 --gap-extend 2 --outfmt 6 sseqid score",
            "no hits": (f"{SEARCH} --evalue 1e-300 --outfmt 7", f"{SEARCH} --evalue 1e-300 --outfmt json"),
            "verbose": f"{SEARCH} --max-target-seqs 1 --verbose --engine cpu",
            "BLAST's options": (
                "exaln search -query $IN/few.fasta -subject $IN/proteins.fasta -evalue 1 -max_target_seqs 3 -seg no"
                " -comp_based_stats 0 -task blastp -num_threads 1 -outfmt '7 std qcovs' -perc_identity 10"
            ),
        },
    )


def part_cases() -> Iterator[Case]:
    """Yield the cases of searches in parts: shards, --resume and a local cluster."""
    shards = tuple(f"{SEARCH} --evalue 100 --shard {n}/3 --out part{n}.parquet" for n in (1, 2, 3))
    merges = tuple(f"exaln merge part*.parquet --outfmt '{name}' --out hits{n}" for n, name in enumerate(FORMATS))
    resume = f"{SEARCH} --resume run --evalue 100 --out"
    yield from simple(
        "parts",
        {
            "shards and merge": (*shards, "exaln merge part*.parquet", *merges),
            "shards of DNA": (
                *(f"{DNA_SEARCH} --shard {n}/2 --out part{n}.parquet" for n in (1, 2)),
                "exaln merge part1.parquet part2.parquet --outfmt sam",
            ),
            "shards refused": (
                f"{SEARCH} --shard 3/2 --out part.parquet",
                f"{SEARCH} --shard 1/2",
                "exaln search --query $IN/few.fasta --db $IN/proteins.fasta --shard 1/2 --out part.parquet",
                f"{SEARCH} --shard 1/2 --out part1.parquet",
                f"{SEARCH} --shard 2/2 --evalue 5 --out other.parquet",
                "exaln merge part1.parquet",
                "exaln merge part1.parquet other.parquet",
                "exaln merge part1.parquet part1.parquet",
                "exaln merge none.parquet",
                "exaln merge $IN/few.fasta",
                f"{SEARCH} --shard 2/2 --out part2.parquet",
                f"{DAMAGE} seek=3000 of=part1.parquet; exaln merge part1.parquet part2.parquet",
            ),
            "resume twice": (
                f"{resume} hits.tsv",
                f"{resume} hits.json",
                f"{SEARCH} --resume run --evalue 5",
                f"rm run/unit-*; {resume} again.tsv",
                f"{DAMAGE} seek=20 of=run/manifest.json; {resume} damaged.tsv",
            ),
            "resume of DNA": f"{DNA_SEARCH} --resume run --outfmt paf",
            "local cluster": f"{SEARCH} --evalue 100 --cluster local:2 --out hits.tsv --quiet",
            "local cluster, DNA, resume": (
                f"{DNA_SEARCH} --cluster local:1 --resume run --out hits.sam",
                f"{DNA_SEARCH} --cluster local:1 --resume run --out hits.json",
            ),
        },
    )


def score_cases() -> Iterator[Case]:
    score = "exaln score --query $IN/few.fasta --db $IN/proteins.exaln"
    yield from simple(
        "score",
        {
            "all pairs": "exaln score --query $IN/queries.fasta --db $IN/proteins.fasta",
            "formats": tuple(f"{score} --max-target-seqs 5 --format {name}" for name in ("tsv", "table")),
            "file": (f"{score} --out scores.tsv", f"{score} --max-target-seqs 3 --out best.tsv.gz"),
            "least score": f"{score} --min-score 50",
            "nucleotides": "exaln score --query $IN/reads.fasta --db $IN/genome.exaln --match 1 --mismatch -3",
            "fractional costs": f"{score} --gap-open 9.5 --gap-extend 0.5 --max-target-seqs 4",
            "several databases": "exaln score --query $IN/few.fasta --db $IN/first.exaln --db $IN/second.fasta",
            "engines and threads": (
                f"{score} --engine reference --max-target-seqs 4",
                f"{score} --engine cuda --max-target-seqs 4",
                f"EXALN_ENGINE=reference {score} --max-target-seqs 2",
                f"{score} --threads 1",
            ),
            "Cas9": "exaln score -query $IN/cas9.fasta -subject $IN/cas9.fasta -gapopen 9 -gapextend 1",
        },
    )


def align_cases() -> Iterator[Case]:
    for mode in MODES[:5]:
        align = f"exaln align --mode {mode}"
        dna = (
            f"{align} $IN/dna_a.fastq $IN/dna_b.fasta --outfmt '{outfmt}' --out {number}.{extension}"
            for number, (outfmt, extension) in enumerate(FORMATS.items())
        )
        proteins = (
            f"{align} $IN/protein_a.fasta $IN/protein_b.fasta --outfmt '{name}'" for name in ("0", f"6 {COLUMNS}")
        )
        yield Case(f"align: --mode {mode}", (*dna, *proteins))
    yield from simple(
        "align",
        {
            "one pair": (
                "exaln align $IN/alpha.fasta $IN/beta.fasta",
                "exaln align $IN/alpha.fasta $IN/beta.fasta --outfmt json --matrix BLOSUM50",
                "cat $IN/alpha.fasta | exaln align - $IN/beta.fasta --out pair.paf",
            ),
            "other free ends": tuple(
                f"exaln align $IN/dna_a.fasta $IN/dna_b.fasta --mode {mode} --outfmt 0" for mode in MODES[5:]
            ),
            "one with many": (
                "exaln align $IN/alpha.fasta $IN/proteins.fasta --outfmt 6",
                "exaln align $IN/proteins.fasta $IN/alpha.fasta --outfmt sam --mode semiglobal",
            ),
            "all with all": "exaln align $IN/cas9.fasta $IN/cas9.fasta --all --outfmt 6 std score cigar",
            "strands": tuple(
                f"exaln align $IN/dna_a.fastq $IN/dna_b_minus.fasta --strand {strand} --outfmt {outfmt} --mode {mode}"
                for strand, outfmt, mode in (
                    ("both", "sam", "local"),
                    ("minus", "paf", "global"),
                    ("plus", "0", "local"),
                )
            ),
            "note about the other strand": "exaln align $IN/dna_a.fasta $IN/dna_b_minus.fasta --outfmt 6",
            "edit distance": (
                "exaln align $IN/short_a.fasta $IN/short_b.fasta --mode global --match 0 --mismatch -1 --gap-open 0"
                " --gap-extend 1 --outfmt 6 score cigar --alphabet protein"
            ),
            "engines and threads": (
                "exaln align $IN/dna_a.fasta $IN/dna_b.fasta --engine reference --outfmt paf",
                "exaln align $IN/dna_a.fasta $IN/dna_b.fasta --engine cuda --outfmt paf",
                "exaln align $IN/dna_a.fasta $IN/dna_b.fasta --threads 1 --outfmt paf --verbose",
            ),
            "plots": (
                "exaln align $IN/alpha.fasta $IN/beta.fasta --plot dots.svg --out pair.txt",
                "exaln align $IN/short_a.fasta $IN/short_b.fasta --mode global --plot table.svg --out pair.txt",
                "exaln align $IN/alpha.fasta $IN/beta.fasta --plot dots.html --quiet",
            ),
        },
    )


def long_cases() -> Iterator[Case]:
    long = "exaln align $IN/long_a.fasta $IN/long_b.fasta"
    yield from simple(
        "long pair",
        {
            "modes": tuple(f"{long} --mode {mode} --outfmt paf" for mode in MODES),
            "work directory": (
                f"{long} --work-dir work --out pair.paf",
                f"{long} --work-dir work --out again.sam --threads 1",
                f"{long} --work-dir work --mode global --outfmt 6 score cigar",
                f"for file in work/*/*.steps; do {DAMAGE} seek=900 of=$file; done",
                f"{long} --work-dir work --out damaged.paf",
            ),
            "memory": (
                f"{long} --memory 2M --out small.paf",
                f"{long} --memory 2M --work-dir work --mode overlap --out small.sam",
                f"{long} --memory 10K --out refused.paf",
            ),
            "plot": f"{long} --plot pair.svg --out pair.txt",
            "both strands": f"{long} --strand both --outfmt paf extended",
            "among shorter pairs": "exaln align $IN/mixed_a.fasta $IN/mixed_b.fasta --outfmt paf --mode semiglobal",
        },
    )


def python_cases() -> Iterator[Case]:
    """Yield a case for every function without parameters in compare_calls.py, which only the two versions import."""
    source = Path(__file__).with_name("compare_calls.py").read_text()
    for name in re.findall(r"^def (\w+)\(\)", source, re.MULTILINE):
        yield Case(f"python: {name}", (f"python $IN/compare_calls.py {name}",))


def refused_cases() -> Iterator[Case]:
    for name in BAD_FILES:
        search = f"exaln search --query $IN/bad/{name} --db $IN/proteins.fasta --outfmt 7"
        yield Case(f"bad file: {name}", (f"exaln makedb --in $IN/bad/{name} --db new", search))
    blast = (
        "-word_size 3",
        "-task megablast",
        "-taxids 9606",
        "-num_alignments 5",
        "-seg yes",
        "-dbtype nucl",
        "-html",
    )
    yield from simple(
        "refused",
        {
            "missing files": (
                "exaln search --query none.fasta --db $IN/proteins.exaln",
                "exaln search --query $IN/few.fasta --db none.exaln",
                "exaln makedb --in none.fasta --db new",
                "exaln align $IN/alpha.fasta none.fasta",
                "exaln append --in $IN/few.fasta --db none.exaln",
            ),
            "options": (
                "exaln search --nothing",
                "exaln search --query $IN/few.fasta",
                f"{SEARCH} --threads 0",
                f"{SEARCH} --evalue 0",
                f"{SEARCH} --evalue many",
                f"{SEARCH} --min-identity 101",
                f"{SEARCH} --strand left",
                "exaln align $IN/alpha.fasta $IN/beta.fasta --mode nowhere",
                "exaln nothing",
                "exaln score --query $IN/few.fasta --db $IN/proteins.exaln --format table",
            ),
            "too many threads": f"{SEARCH} --threads 100000 --max-target-seqs 1 --engine reference",
            "formats and columns": (
                f"{SEARCH} --outfmt 5",
                f"{SEARCH} --outfmt '6 std nothing'",
                f"{SEARCH} --outfmt '6 staxid'",
                f"{SEARCH} --outfmt 'sam std'",
                f"{SEARCH} --out hits.xml",
                f"{SEARCH} --out hits.bam",
                f"{SEARCH} --out hits.parquet.gz",
            ),
            "scoring": (
                f"{SEARCH} --matrix BLOSUM63",
                f"{SEARCH} --gap-open -1",
                f"{SEARCH} --matrix BLOSUM62 --match 2",
                f"{DNA_SEARCH} --matrix $IN/bad_matrix.txt",
                f"{DNA_SEARCH} --match -1 --mismatch -2",
                f"{SEARCH} --gap-extend 0.3333",
            ),
            "engines": (
                f"{SEARCH} --engine abacus",
                f"EXALN_ENGINE=abacus {SEARCH}",
                f"EXALN_ISA=abacus {SEARCH}",
                f"{SEARCH} --engine cpu --devices 0",
                f"{SEARCH} --engine cpu --gpu-memory 1G",
            ),
            "alphabets": (
                "exaln search --query $IN/few.fasta --db $IN/genome.exaln",
                "exaln search --query $IN/reads.fasta --db $IN/proteins.exaln",
                "exaln search --query $IN/few.fasta --db $IN/proteins.exaln --db $IN/genome.exaln",
                "exaln makedb --in $IN/few.fasta --db new --alphabet dna",
                "exaln makedb --in $IN/few.fasta --db new --alphabet aa",
                "cp -r $IN/genome.exaln copy.exaln; exaln append --in $IN/few.fasta --db copy.exaln",
            ),
            "records that are too large": f"{SEARCH} --max-record-size 100",
            "output": (
                f"{SEARCH} --out no/such/folder.tsv",
                f"mkdir folder; {SEARCH} --out folder",
                f"{SEARCH} > /dev/full",
                f"{SEARCH} --out /dev/full",
                f"{SEARCH} >&-",
                "cp $IN/few.fasta .; exaln search --query few.fasta --db $IN/proteins.exaln --out few.fasta",
                "exaln makedb --in $IN/few.fasta --db no/such/folder",
            ),
            "ids": (
                f"{SEARCH} --ids $IN/unknown_ids.txt",
                f"{SEARCH} --ids none.txt",
                "exaln fetch --db $IN/proteins.exaln no_such_id",
                "exaln fetch --db $IN/proteins.exaln",
            ),
            "pairs": (
                "exaln align $IN/globins.fasta $IN/cas9.fasta",
                "exaln align $IN/globins.fasta $IN/globins.fasta --plot pair.svg",
                "exaln align $IN/alpha.fasta $IN/beta.fasta --plot pair.gif",
                "exaln align $IN/alpha.fasta $IN/reads.fasta",
            ),
            "BLAST's options": tuple(f"{SEARCH} {option}" for option in blast),
            "BLAST's programs": tuple(f"exaln {name}" for name in ("blastp", "blastx", "makeblastdb", "blastdbcmd")),
            "databases of other programs": (
                "touch nr.pin nr.phr nr.psq; exaln search --query $IN/few.fasta --db nr",
                "printf 'x' > a.dmnd; exaln search --query $IN/few.fasta --db a.dmnd",
                "touch u u.dbtype u.index; exaln search --query $IN/few.fasta --db u",
                "mkdir empty.exaln; exaln dbinfo --db empty.exaln",
            ),
            "damaged segment": (
                COPY,
                f"{DAMAGE} seek=9000 of=$(ls copy.exaln/segment-*)",
                "exaln verify --db copy.exaln",
                "exaln search --query $IN/few.fasta --db copy.exaln",
            ),
            "short segment": (
                f"{COPY}; truncate -s 20000 copy.exaln/segment-*",
                "exaln dbinfo --db copy.exaln",
                "exaln verify --db copy.exaln",
            ),
            "missing segment": (f"{COPY}; rm copy.exaln/segment-*", "exaln export --db copy.exaln"),
            "damaged manifest": (
                f"{COPY}; {DAMAGE} seek=200 of=copy.exaln/manifest.json",
                "exaln verify --db copy.exaln",
                "exaln append --in $IN/few.fasta --db copy.exaln",
            ),
            "newer format": (
                f'{COPY}; sed -i \'s/"format_version": 1/"format_version": 99/\' copy.exaln/manifest.json',
                "exaln dbinfo --db copy.exaln",
            ),
            "clusters": (
                f"{SEARCH} --cluster nowhere",
                f"{SEARCH} --cluster tcp://192.0.2.1:8786",
                f"{SEARCH} --cluster slurm --cluster-config none.toml",
                "exaln search --query $IN/few.fasta --db $IN/proteins.fasta --cluster local:1",
                "exaln worker tcp://192.0.2.1:8786",
                f"{SEARCH} --plan",
            ),
        },
    )


def help_cases() -> Iterator[Case]:
    yield Case("help: exaln", ("exaln", "exaln --help", "exaln -h"), "help")
    yield Case("help: version", ("exaln --version", "exaln search -version"))
    for command in COMMANDS.split():
        yield Case(f"help: {command}", (f"exaln {command} --help",), "help")
    yield Case("help: information", ("exaln info", "exaln info --json"), "help")
    yield Case("help: completion", ("_EXALN_COMPLETE=bash_source exaln",))
    complete = "COMP_WORDS='exaln search --min' COMP_CWORD=2 _EXALN_COMPLETE=bash_complete exaln"
    yield Case("help: completion of an option", (complete,))


def real_data_cases(data: str) -> Iterable[Case]:
    """Yield cases on real sequences; `data` is their folder, as in EXALN_DATA."""
    mitochondria = f"exaln align {data}/dna/MT-human.fa {data}/dna/MT-orang.fa"
    phages = f"exaln align {data}/dna/phageP1.fasta.gz {data}/dna/phageP1_mutated_90.fasta.gz"
    reads = f"{data}/dna/hifi/test_hifi.query.fasta.gz {data}/dna/hifi/test_hifi.target.fasta.gz"
    costs = "--match 1 --mismatch -3 --gap-open 3 --gap-extend 2"
    queries = f"--query {data}/protein/cudasw4_allqueries.fasta"
    yield from simple(
        "real data",
        {
            "two mitochondria": tuple(f"{mitochondria} {costs} --mode {mode} --outfmt paf" for mode in MODES[:4]),
            "two phages": (f"{phages} {costs} --work-dir work --out pair.sam", f"{phages} {costs} --outfmt 0"),
            "long reads": f"exaln align {reads} {costs} --outfmt sam extended",
            "protein domains": f"exaln search {queries} --db {data}/scop/scop20.fasta.gz --outfmt 6 std score cigar",
            "proteome": (
                f"exaln makedb --in {data}/protein/yeast_UP000002311.fasta.gz --db yeast",
                "exaln search --query $IN/queries.fasta --db yeast.exaln --out hits.json",
                "exaln score --query $IN/few.fasta --db yeast.exaln --max-target-seqs 50",
            ),
            "genomes": (
                f"exaln makedb --in {data}/dna/phageP1.fasta.gz {data}/dna/MT-human.fa --db dna",
                f"exaln search --query {data}/dna/MT-orang.fa --db dna.exaln --outfmt 6 std cigar",
            ),
        },
    )
