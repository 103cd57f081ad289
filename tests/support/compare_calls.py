"""Calls of the Python API for compare_outputs.py, which runs `python compare_calls.py NAME` in an empty folder.

Every function without parameters is a case. Only public names are used. Results go to stdout and files, messages of
errors and warnings to stderr.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exaln

IN = Path(os.environ.get("IN", "."))
"""The folder of the input files."""

MODES = ("local", "global", "semiglobal", "overlap", "free:qs,te", "free:qe,ts", "free:te")
PROTEINS = {"one": "HEAGAWGHEE", "two": "WHSSPSILLNS", "three": "W"}
TARGETS = {"first": "PAWHEAE", "second": "WSAPSVLLNAS", "third": "AAAA"}
GENOME = "CCTACGTAGCAATTGGCATTACGTTAGGCA"


if "ONE_ALIGNMENT" in os.environ and "max_hsps" in inspect.signature(exaln.search).parameters:
    search_all = exaln.search

    def search_one(*args: Any, **options: Any) -> Any:
        """Search with one alignment per target, also where options are given as a whole."""
        if "options" in options:
            return search_all(*args, **options | {"options": dataclasses.replace(options["options"], max_hsps=1)})
        return search_all(*args, **options | {"max_hsps": 1})

    exaln.search = search_one


def refused(call: Callable[[], Any]) -> None:
    """Print the class of the error to stdout and its message to stderr."""
    try:
        print("accepted:", call())
    except Exception as error:
        print(type(error).__name__, isinstance(error, exaln.ExalnError))
        print(error, file=sys.stderr)


def show(alignment: exaln.Alignment) -> None:
    """Print every property of an alignment."""
    print(repr(alignment), alignment, alignment._repr_html_(), sep="\n")
    print(alignment.score, alignment.bits, alignment.evalue, alignment.strand, alignment.mode, alignment.scoring)
    print(alignment.query_id, alignment.query_start, alignment.query_end, alignment.query_sequence)
    print(alignment.target_id, alignment.target_start, alignment.target_end, alignment.target_sequence)
    print(alignment.cigar, alignment.cigar_extended, alignment.query_aligned, alignment.target_aligned)
    print(alignment.columns, alignment.identities, alignment.identity, alignment.positives)
    print(alignment.mismatches, alignment.gaps, alignment.gap_opens)


def score() -> None:
    for mode in MODES:
        print(mode, [exaln.score(a, b, mode=mode) for a in PROTEINS.values() for b in TARGETS.values()])
    print(exaln.score("KITTEN", "SITTING", scoring=exaln.Scoring("BLOSUM50", gap_open=9.5, gap_extend=0.5)))
    print(
        exaln.score("ACGU", "ACGT"),
        exaln.score(GENOME, "GCATT", engine="reference"),
        exaln.score("", "", mode="global"),
    )


def score_many() -> None:
    for mode in MODES:
        for pairs in ("zip", "all"):
            found = exaln.score_many(PROTEINS, TARGETS, mode=mode, pairs=pairs)
            print(mode, pairs, found.dtype, found.tolist())
    for threads in (1, 2):
        files = IN / "dna_a.fasta", IN / "dna_b.fasta"
        print(exaln.score_many(*files, threads=threads, scoring=exaln.Scoring(match=1, mismatch=-3)).tolist())
    print(exaln.score_many(["ACGT", "GGCA"], GENOME, scoring=exaln.Scoring(match=1.5, mismatch=-1)).tolist())


def align() -> None:
    for mode in MODES:
        show(exaln.align("HEAGAWGHEE", "PAWHEAE", mode=mode))
    show(exaln.align("TGCCTAAC", GENOME, strand="both"))
    print(exaln.align(IN / "alpha.fasta", IN / "beta.fasta", scoring="BLOSUM45").text(width=40))
    print(exaln.align("MKVLAAGIT", "MKVLWAGIT").text(colour=True))


def align_many() -> None:
    for mode in MODES:
        found = exaln.align_many(IN / "protein_a.fasta", IN / "protein_b.fasta", mode=mode)
        print(repr(found), len(found), found.scores.tolist(), found.cigars, found.cigars_extended)
        print(found.positions.tolist(), found.counts.tolist(), found.bits, found.evalues)
        print(found.to_arrow().to_pylist()[:3])
    found = exaln.align_many(["ACGTTGCA", "TTAGCAAT", "GGGGG"], GENOME, mode="semiglobal", strand="both")
    print(found._repr_html_(), found.to_pandas().to_csv(), [str(one) for one in found], sep="\n")
    print(exaln.align_many(PROTEINS, TARGETS, pairs="all").to_pandas().to_csv())


def forms_of(texts: list[str], alphabet: exaln.Alphabet) -> dict[str, Callable[[], Any]]:
    """The same sequences in every form that is accepted, made when called: some can be read once."""
    import numpy as np
    import pandas
    import polars
    import pyarrow

    def codes() -> list[Any]:
        return [alphabet.encode(text) for text in texts]

    halves = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    ids = [f"id{number}" for number in range(len(texts))]
    return {
        "str": lambda: texts,
        "tuple": lambda: tuple(texts),
        "generator": lambda: iter(texts),
        "dict": lambda: dict(zip(ids, texts, strict=True)),
        "bytes": lambda: [text.encode() for text in texts],
        "bytearray": lambda: [bytearray(text.encode()) for text in texts],
        "mixed": lambda: [(texts[n], texts[n].encode(), code)[n % 3] for n, code in enumerate(codes())],
        "codes": codes,
        "Records": lambda: exaln.Records.of(alphabet, codes(), ids),
        "NumPy U": lambda: np.array(texts),
        "NumPy S": lambda: np.array([text.encode() for text in texts]),
        "NumPy object": lambda: np.array(texts, object),
        "Arrow": lambda: pyarrow.array(texts),
        "Arrow large": lambda: pyarrow.array(texts, pyarrow.large_string()),
        "Arrow chunks": lambda: pyarrow.chunked_array(halves),
        "Arrow slice": lambda: pyarrow.array(["AAAA", *texts, "AAAA"]).slice(1, len(texts)),
        "Arrow binary": lambda: pyarrow.array([text.encode() for text in texts]),
        "polars": lambda: polars.Series(texts),
        "pandas": lambda: pandas.Series(texts),
        "pandas of objects": lambda: pandas.Series(texts, dtype=object),
    }


def show_forms(queries: list[str], targets: list[str], scoring: exaln.Scoring, modes: tuple[str, ...]) -> None:
    """Print scores and alignments of every form in these modes."""
    sides = [forms_of(texts, scoring.alphabet) for texts in (queries, targets)]
    for mode in modes:
        for form, query in sides[0].items():
            target = sides[1][form]
            found = exaln.align_many(query(), target(), scoring=scoring, mode=mode)
            scores = exaln.score_many(query(), target(), scoring=scoring, mode=mode)
            print(mode, form, scores.dtype, scores.tolist(), found.scores.tolist(), found.cigars, found.cigars_extended)
            print(found.positions.tolist(), found.counts.tolist(), found.bits, found.evalues)
            print(found.queries.ids.to_list(), found.targets.ids.to_list())


def pairs_in_every_form() -> None:
    """Lengths from 0 on, lower case, ambiguous letters, U for T; DNA, RNA, proteins and letters of one's own."""
    dna = ["ACGTTGCA", "a", "acgtNNRYACGTACGTTTGACA", "GGGTTTAAACCC" * 9, "ACGUUGCA", "TTAGCAATCC"]
    show_forms(dna, [text[1:] + "A" for text in reversed(dna)], exaln.Scoring.default("dna"), MODES)
    proteins = [*PROTEINS.values(), "MKVLAAGITWYHEUOBZJX*", "mkvl", "WSAPSVLLNAS" * 12]
    show_forms(proteins, [text + "W" for text in reversed(proteins)], exaln.Scoring("BLOSUM45"), MODES[:4])
    own = exaln.Scoring(match=1.5, mismatch=-1, gap_open=2, gap_extend=0.5, alphabet=exaln.Alphabet.parse("ABCDE"))
    show_forms(["ABC", "EDCBA", "AAAAABBBBB"], ["ABD", "DCBA", "AABB"], own, ("local", "global"))


def pairs_without_scoring() -> None:
    """The alphabet is detected from both sides together."""

    def aligned(form: str, queries: list[str], targets: list[str]) -> tuple[Any, ...]:
        sides = (forms_of(texts, exaln.Alphabet.named("protein"))[form]() for texts in (queries, targets))
        found = exaln.align_many(*sides, mode="global")
        return found.scoring, found.scores.tolist(), found.cigars

    for sides in (
        (["ACGT", "GATTACA"], ["ACGT", "GATTAGA"]),
        (["ACGT", "GATTACA"], ["MKVL", "WWWW"]),
        (["ACGU", "GAUUACA"], ["ACGU", "GAUUAGA"]),
        (["ACGT", "NNNN"], ["ACGU", "acgt"]),
    ):
        for form in forms_of([], exaln.Alphabet.named("protein")):
            if form == "generator" or form.startswith("Arrow"):  # earlier only one side of these was looked at
                continue
            print(form)
            refused(lambda form=form, sides=sides: aligned(form, *sides))


def pairs_of_different_forms() -> None:
    """One side in one form, the other side in another; one sequence with many; all with all."""
    scoring, texts = exaln.Scoring.default("dna"), ["ACGTTGCA", "TTAGCAAT", "GGGGGACG"]
    forms = forms_of(texts, scoring.alphabet)
    for first, query in forms.items():
        for second, target in forms.items():
            print(first, second, exaln.score_many(query(), target(), scoring=scoring).tolist())
    for form, query in forms.items():
        for pairs in ("zip", "all"):
            print(form, exaln.score_many(query(), GENOME, scoring=scoring, pairs=pairs).tolist())
            print(form, exaln.align_many(GENOME, query(), scoring=scoring, mode="overlap", pairs=pairs).cigars)
        print(form, exaln.align_many(query(), GENOME, scoring=scoring, strand="both").to_pandas().to_csv())


def many_pairs() -> None:
    """A few thousand pairs of mixed lengths, more than one batch of any kernel, in every mode."""
    import hashlib
    import random

    import pyarrow

    rng = random.Random(3)
    queries = ["".join(rng.choices("ACGTN", (20, 20, 20, 20, 1), k=rng.choice((1, 30, 100, 333)))) for _ in range(3000)]
    targets = ["".join(letter if rng.random() > 0.1 else rng.choice("ACGT") for letter in text) for text in queries]
    for mode in MODES:
        for form in (list, pyarrow.array):
            found = exaln.align_many(form(queries), form(targets), mode=mode)
            text = repr((found.scores.tolist(), found.positions.tolist(), found.counts.tolist(), found.cigars_extended))
            scores = exaln.score_many(form(queries), form(targets), mode=mode)
            print(mode, hashlib.sha256(text.encode()).hexdigest(), (scores == found.scores).all(), found.scores.sum())
    print(found[17:20].cigars, found[-1].cigar, [one.cigar for one in found][2990:], found.to_arrow().num_rows)


def letters_that_are_not_in_the_alphabet() -> None:
    """Errors name the sequence, on either side, in every form."""
    scoring, good = exaln.Scoring.default("dna"), ["ACGT"] * 50
    for position, letter in ((0, "!"), (3, "-"), (2, "E"), (1, "\u00e9")):
        bad = list(good)
        bad[37] = bad[37][:position] + letter + bad[37][position + 1 :]
        for form in ("str", "tuple", "bytes", "NumPy U", "NumPy object", "Arrow", "polars", "pandas"):
            try:
                made, fine = (forms_of(texts, scoring.alphabet)[form]() for texts in (bad, good))
            except UnicodeEncodeError:
                continue
            for query, target in ((made, fine), (fine, made)):
                refused(lambda query=query, target=target: exaln.align_many(query, target, scoring=scoring))
                refused(lambda query=query, target=target: exaln.score_many(query, target, scoring=scoring))
    for bad in ([*good[:5], None], [*good[:5], 7], [*good[:5], Path("x.fasta")], [["ACGT"]], [1.5]):
        refused(lambda bad=bad: exaln.score_many(bad, "ACGT"))


def align_codes() -> None:
    import numpy as np

    alphabet = exaln.Alphabet.named("dna")
    codes = np.stack([alphabet.encode("ACGTTGCA"), alphabet.encode("TTAGCAAT")])
    found = exaln.align_many(codes, alphabet.encode(GENOME), scoring=exaln.Scoring.default("dna"))
    print(found.scores.tolist(), found.cigars)
    print(exaln.score_many(codes, codes, pairs="all", scoring=exaln.Scoring.default("dna")).tolist())


def align_mixed() -> None:
    """Align twenty pairs of 3,000 x 3,000 and one of 12,500 x 12,500 in one call."""
    for mode in ("local", "semiglobal"):
        found = exaln.align_many(IN / "mixed_a.fasta", IN / "mixed_b.fasta", mode=mode)
        print(found.scores.tolist(), found.positions.tolist(), found.cigars)


def align_long() -> None:
    for mode in ("local", "global"):
        long = exaln.align(IN / "long_a.fasta", IN / "long_b.fasta", mode=mode, memory=64 << 20, work_dir="work")
        again = exaln.align(IN / "long_a.fasta", IN / "long_b.fasta", mode=mode, work_dir="work")
        print(long.score, long.cigar, long.query_start, long.target_start, again.cigar == long.cigar)
    refused(lambda: exaln.align(IN / "long_a.fasta", IN / "long_b.fasta", memory=1000))


def plots() -> None:
    exaln.align(IN / "alpha.fasta", IN / "beta.fasta").plot("globins.svg")
    exaln.align("HEAGAWGHEE", "PAWHEAE", mode="global").plot("table.svg")
    exaln.align(IN / "long_a.fasta", IN / "long_b.fasta").plot("long.html")
    print(type(exaln.align("ACGT", "ACGT").plot()).__name__)
    refused(lambda: exaln.align("ACGT", "ACGT").plot("pair.gif"))


def biopython() -> None:
    there = exaln.align("ACGTTGCA", GENOME, mode="semiglobal").to_biopython()
    print(there)
    show(exaln.Alignment.from_biopython(there))


def search() -> None:
    hits = exaln.search(IN / "few.fasta", IN / "proteins.exaln", evalue=100)
    print(repr(hits), str(hits), hits._repr_html_(), len(hits), sep="\n")
    print(hits[0], hits[-1], hits[0].alignment(), hits.of(1), sep="\n")
    print(hits.to_pandas().to_csv(), hits.to_polars().write_csv(), hits.to_arrow().schema.remove_metadata(), sep="\n")
    print(exaln.search({"none": "WWWWWWWW"}, IN / "proteins.exaln", evalue=1e-9))


def search_options() -> None:
    database = exaln.Database.open(IN / "proteins.exaln")
    options: dict[str, Any]
    for options in (
        {"evalue": 1.0},
        {"max_target_seqs": 3},
        {"min_bits": 22.0, "min_score": 40},
        {"min_identity": 25.0, "evalue": 1000.0},
        {"min_query_coverage": 30.0, "min_target_coverage": 10.0, "evalue": 100.0},
        {"ids": ["d1gw5a_", "d1cqxa1"]},
        {"exclude_ids": ["d1gw5a_", "d1cqxa1"], "dbsize": 10**9},
        {"scoring": exaln.Scoring("BLOSUM45", gap_open=14, gap_extend=2)},
        {"scoring": exaln.Scoring("BLOSUM62", gap_open=5, gap_extend=5), "max_target_seqs": 2},
        {"engine": "reference", "max_target_seqs": 2},
        {"options": exaln.SearchOptions(evalue=5.0, max_target_seqs=2), "threads": 1},
    ):
        hits = exaln.search(IN / "few.fasta", database, **options)
        print(
            list(options), [(hit.query_id, hit.target_id, hit.score, hit.bits, hit.evalue, hit.cigar) for hit in hits]
        )


def search_several() -> None:
    parts = [IN / "first.exaln", IN / "second.fasta"]
    print(exaln.search(IN / "few.fasta", parts).to_pandas().to_csv())
    joined = exaln.Database.joined([exaln.Database.open(IN / f"{name}.exaln") for name in ("first", "second")])
    print(joined, exaln.search(IN / "few.fasta", joined).to_pandas().to_csv())
    for strand in ("both", "plus", "minus"):
        print(exaln.search(IN / "reads.fasta", IN / "genome.fasta", strand=strand).to_pandas().to_csv())


def write_hits() -> None:
    hits = exaln.search(IN / "few.fasta", IN / "proteins.exaln")
    for name in ("hits.txt", "hits.tsv", "hits.csv", "hits.json", "hits.parquet", "hits.arrow", "hits.sam", "hits.paf"):
        hits.write(name)
    hits.write("hits.fasta")
    hits.write("aligned.fasta", outfmt="fasta aligned")
    hits.write("columns.tsv.gz", outfmt="7 std qcovs cigarx btop")
    hits.write("table.txt", outfmt="table")
    stream = io.BytesIO()
    hits.write(stream, outfmt=["6", "std", "score"])
    print(stream.getvalue().decode())
    exaln.search(IN / "reads.fastq", IN / "genome.exaln").write("reads.sam")
    refused(lambda: hits.write("hits.bam"))
    refused(lambda: hits.write("no/such/folder.tsv"))
    refused(lambda: exaln.Hits(hits.to_arrow()).write("again.tsv"))


def scores() -> None:
    for engine in ("cpu", "reference"):
        found = exaln.scores(IN / "few.fasta", IN / "first.fasta", engine=engine)
        print(found.dtype, found.shape, found.tolist())
    print(exaln.scores(PROTEINS, IN / "proteins.exaln", scoring="PAM30").tolist())
    print(exaln.scores(IN / "reads.fasta", [IN / "genome.exaln", IN / "genome.fasta"]).tolist())


def database() -> None:
    built = exaln.Database.build([IN / "first.fasta", IN / "globins.fasta"], "all.exaln")
    print(built, built.info, built._repr_html_(), len(built), built.n_targets, built.n_residues)
    grown = built.append(IN / "second.fasta")
    print(grown, grown.compact(), grown.alphabet, "d1gw5a_" in built, "nothing" in built)
    opened = exaln.Database.open("all.exaln")
    print(opened[0], opened.fetch("HBA_HUMAN"), opened.fetch(["d1gw5a_", "HBB_HUMAN"])[0].fasta())
    print(opened.ordinals(["HBB_HUMAN", "HBA_HUMAN"]).tolist(), [target.id for target in opened], opened.problems())
    opened.verify()
    opened.export("all.fasta", width=40)
    opened.export("two.fasta.gz", ids=["HBB_HUMAN", "HBA_HUMAN"])
    for bad in ("none.exaln", IN / "bad" / "text.txt", IN / "bad" / "empty.fasta"):
        refused(lambda bad=bad: exaln.Database.open(bad))
    refused(lambda: exaln.Database.build(IN / "first.fasta", "all.exaln"))
    refused(lambda: opened.fetch("nothing"))
    refused(lambda: opened.append(IN / "genome.fasta"))


def database_in_memory() -> None:
    alphabet = exaln.Alphabet.named("protein")
    records = exaln.Records.of(alphabet, [alphabet.encode(text) for text in TARGETS.values()], list(TARGETS))
    memory = exaln.Database.in_memory([records], name="mine")
    print(memory, memory.is_stored, memory.info, [target.sequence for target in memory])
    print(exaln.search(PROTEINS, memory, evalue=1e6).to_pandas().to_csv())


def sequence_files() -> None:
    for name in (
        "odd.fasta",
        "genome.fasta",
        "rna.fasta",
        "reads.fastq.gz",
        "bad/crlf.fasta",
        "bad/empty_record.fasta",
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            file = exaln.SequenceFile(IN / name, keep_qualities=True)
            for records in file:
                print(name, len(records), list(records.ids), list(records.descriptions), records.lengths.tolist())
                print([records.alphabet.decode(records.sequence(row)) for row in range(len(records))])
                print(records.mask.tolist(), records.n_residues, str(records.quality(0)))
            print(file.n_records, file.n_residues, file.n_empty, file.alphabet)
        print([warning.category.__name__ for warning in caught])
        print(*(warning.message for warning in caught), sep="\n", file=sys.stderr)
    for bad in sorted((IN / "bad").iterdir()):
        print(bad.name)
        refused(lambda bad=bad: sum(len(records) for records in exaln.SequenceFile(bad)))


def records() -> None:
    alphabet = exaln.Alphabet.named("dna")
    made = exaln.Records.of(alphabet, [alphabet.encode("ACGTN"), alphabet.encode("ac")], ["a", "b"], ["first", ""])
    print(made, len(made), made.rows(1, 2), made.lengths.tolist(), made.n_residues, sep="\n")
    print(exaln.align_many(made, made, mode="global").cigars)


def scoring() -> None:
    print(exaln.Scoring.names())
    for made in (
        exaln.Scoring(),
        exaln.Scoring("VTML80"),
        exaln.Scoring(match=1, mismatch=-2, gap_open=0, gap_extend=2.5),
        exaln.Scoring(IN / "matrix.txt", gap_open=4, gap_extend=1, alphabet="dna"),
        exaln.Scoring.default("rna"),
    ):
        print(
            repr(made), made.describe(), made.gap_first, made.max_score, made.min_score, made == made, hash(made) != 0
        )
    for alphabet in ("protein", "dna", "rna"):
        print(repr(exaln.Alphabet.named(alphabet)), exaln.Alphabet.named(alphabet).is_nucleotide)
    print(exaln.Alphabet.parse("ABC").encode("CAB").tolist(), exaln.Alphabet.parse("ABC").decode([0, 2]))
    for mode in MODES:
        print(repr(exaln.Mode.parse(mode)), str(exaln.Mode.parse(mode)))


def errors() -> None:
    for call in (
        lambda: exaln.align("ACGT", "MKVLAAGIT*"),
        lambda: exaln.align("MKV-L", "MKVL"),
        lambda: exaln.align("MKVL", "MKVL", mode="nowhere"),
        lambda: exaln.align("MKVL", "MKVL", engine="abacus"),
        lambda: exaln.align("MKVL", "MKVL", threads=0),
        lambda: exaln.align("ACGT", "ACGT", strand="left"),
        lambda: exaln.align("MKVL", "MKVL", strand="both"),
        lambda: exaln.align(5, "MKVL"),
        lambda: exaln.align_many(["MKVL", "MKVL"], ["MKVL"] * 3),
        lambda: exaln.align_many(["MKVL"], ["MKVL"], pairs="some"),
        lambda: exaln.score("MKVL", "MKVL", scoring="BLOSUM63"),
        lambda: exaln.score("MKVL", "MKVL", scoring=exaln.Scoring(match=-1, mismatch=-2)),
        lambda: exaln.score("MKVL", "MKVL", devices=[0], engine="cpu"),
        lambda: exaln.Scoring("BLOSUM62", gap_open=-1),
        lambda: exaln.Scoring("BLOSUM62", match=2),
        lambda: exaln.Scoring(IN / "bad_matrix.txt"),
        lambda: exaln.Scoring(IN / "none.txt"),
        lambda: exaln.Alphabet.parse("aa"),
        lambda: exaln.Mode.parse("free:xx"),
        lambda: exaln.SearchOptions(evalue=0),
        lambda: exaln.SearchOptions(max_target_seqs=0),
        lambda: exaln.SearchOptions(min_identity=101),
        lambda: exaln.search("MKVL", "none.exaln"),
        lambda: exaln.search("MKVL", IN / "proteins.exaln", ids=["nothing"]),
        lambda: exaln.search("MKVL", IN / "genome.exaln"),
        lambda: exaln.search(IN / "none.fasta", IN / "proteins.exaln"),
        lambda: exaln.search("MKVL", IN / "proteins.exaln", evalues=3),
        lambda: exaln.search([], IN / "proteins.exaln"),
        lambda: exaln.nothing,
    ):
        refused(call)


if __name__ == "__main__":
    # Python's own text names the file and line of the package that warns.
    warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}", file=sys.stderr)
    globals()[sys.argv[1]]()
