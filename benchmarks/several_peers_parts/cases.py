"""What is compared: real proteins with repeats and real genomes from the folder EXALN_DATA, whole or cut."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path as File

from exaln import Scoring, SequenceFile

TITIN = "gi|108861911|sp|Q8WZ42|TITIN_HUMAN"
PROTEIN_FILES = ("mmseqs_DB.fasta.gz", "yeast_UP000002311.fasta.gz", "titin_human_Q8WZ42.fa")
FAMILIES = {
    "collagens": ("E3VZL8", "A0A146YL74", "P30754"),
    "zinc fingers": ("P57071", "W0TX95", "H2PF88"),
    "ankyrins": ("D3YZU4", "Q5VUR7", "G0XW64"),
    "kelch": ("P38853", "P50090"),
    "WD repeats": ("B7FF07", "P16649"),
    "leucine-rich repeats": ("A0A0G2JNC9", "A0A0G2JS48", "Q9LYN8"),
    "polyubiquitins": ("Q42415", "P0CG63"),
    "flocculins": ("P32768", "P38894"),
    "other repeats of yeast": ("Q00402", "P04050", "P41809"),
}
"""UniProt accessions in the first two files."""

SCOP_REPEATS = {
    "scop: ankyrin": ("d1n11a_", "d1ixva_", "d1bd8a_"),
    "scop: beta propellers": ("d1gxra_", "d1k8kc_", "d1a12a_"),
    "scop: leucine-rich": ("d1jl5a_", "d1lrva_", "d1koha1"),
}
TITIN_DOMAINS = ((5001, 5100), (12677, 12765), (20001, 20100), (27001, 27100))
TITIN_PIECES = ((5001, 7500), (11001, 12500), (20001, 22500), (27001, 29000))
"""Tandem immunoglobulin domains, PEVK, and two parts of the A-band."""

K12, W = "NC_000913.3", "NC_017664.1"
GENES = {
    "IS186": (15388, 16730), "IS1A": (19796, 20563), "IS5A": (273955, 275149), "thrABC": (2801, 5800),
    "rrnH": (223771, 228875), "lacZ": (363231, 366305),
}  # fmt: skip
"""1-based positions in E. coli K-12 MG1655."""

K12_PIECE = (255001, 295000)
PHAGE_COPIES = ("60", "80", "90", "99")


@dataclass
class Case:
    """Queries, targets, and the program with which exaln is compared. pairs: of ids; None for all with all."""

    name: str
    peer: str
    scoring: Scoring
    queries: dict[str, str]
    targets: dict[str, str]
    pairs: list[tuple[str, str]] | None = None
    evalue: float = 10.0
    strands: tuple[str, ...] = field(default=("+",))

    def texts(self) -> dict[str, str]:
        """All sequences by id."""
        return {**self.targets, **self.queries}


def protein_cases(folder: File) -> list[Case]:
    """The cases with BLOSUM62 and gaps 11/1."""
    scoring = Scoring("BLOSUM62", gap_open=11, gap_extend=1)
    everything: dict[str, str] = {}
    for name in PROTEIN_FILES:
        everything.update(read_sequences(folder / "protein" / name))
    by_accession = {name.split("|")[1]: name for name in everything if name.count("|") == 2}
    titin, domains = everything[TITIN], cut("titin", everything[TITIN], TITIN_DOMAINS)
    pieces = cut("titin", titin, TITIN_PIECES)
    families = {name: [by_accession[accession] for accession in members] for name, members in FAMILIES.items()}
    scop = read_sequences(folder / "scop" / "scop20.fasta.gz")
    cases = [
        Case("titin domains x titin", "lalign36", scoring, domains, {TITIN: titin}),
        Case("titin pieces", "lalign36", scoring, pieces, pieces, each_with_each(list(pieces))),
    ]
    groups = [(name, {one: everything[one] for one in members}) for name, members in families.items()]
    groups += [(name, {one: scop[one] for one in members}) for name, members in SCOP_REPEATS.items()]
    cases += [Case(name, "lalign36", scoring, some, some, each_with_each(list(some))) for name, some in groups]
    queries = {**domains, **pieces, **{one: some[one] for _, some in groups for one in some}}
    return [*cases, Case("all of these x mmseqs, yeast, titin", "blastp", scoring, queries, everything)]


def genome_cases(folder: File) -> list[Case]:
    """The cases with match 2, mismatch -3 and gaps 5/2, on both strands."""
    dna = folder / "dna"
    genomes = {
        **read_sequences(dna / "ecoli_K12_MG1655_NC_000913.3.fna.gz"),
        **read_sequences(dna / "ecoli_W_NC_017664.1.fna.gz"),
    }
    genes = {name: genomes[K12][first - 1 : last] for name, (first, last) in GENES.items()}
    piece = cut("K12", genomes[K12], (K12_PIECE,))
    elements = {name: genes[name] for name in ("IS1A", "IS5A", "IS186")}
    human, orang = (read_sequences(dna / f"MT-{name}.fa") for name in ("human", "orang"))
    one_virus, other_virus = (read_sequences(dna / f"{name}.fasta") for name in ("AF133821.1", "AY352275.1"))
    phage = {"phageP1": only(read_sequences(dna / "phageP1.fasta.gz"))}
    copies = {
        f"phageP1_mutated_{share}": only(read_sequences(dna / f"phageP1_mutated_{share}.fasta.gz"))
        for share in PHAGE_COPIES
    }
    sides = [
        ("genes x E. coli K-12 and W", "blastn", genes, genomes),
        ("phage P1 x mutated copies", "blastn", phage, copies),
        ("mitochondria: human x orang-utan", "blastn", human, orang),
        ("HIV pair", "blastn", one_virus, other_virus),
        ("IS elements x 40 kb of K-12", "lalign36", elements, piece),
        ("HIV pair", "lalign36", one_virus, other_virus),
        ("mitochondria: human x orang-utan", "lalign36", human, orang),
    ]
    scoring = Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    return [Case(name, peer, scoring, one, other, strands=("+", "-")) for name, peer, one, other in sides]


def each_with_each(names: list[str]) -> list[tuple[str, str]]:
    """Every name with itself and with all later ones."""
    return [(one, other) for row, one in enumerate(names) for other in names[row:]]


def cut(name: str, text: str, ranges: tuple[tuple[int, int], ...]) -> dict[str, str]:
    """Parts of a sequence by id; the positions are 1-based and inclusive.

    >>> cut("s", "ABCDEF", ((2, 4),))
    {'s_2-4': 'BCD'}
    """
    return {f"{name}_{first}-{last}": text[first - 1 : last] for first, last in ranges}


def only(sequences: dict[str, str]) -> str:
    """The sequence of a file with one record."""
    (text,) = sequences.values()
    return text


def read_sequences(path: File) -> dict[str, str]:
    """The sequences of a file by id, in upper case; the first of those with the same id."""
    found: dict[str, str] = {}
    with warnings.catch_warnings(action="ignore"), SequenceFile(path) as file:
        for batch in file:
            for row, name in enumerate(batch.ids.to_list()):
                found.setdefault(name, batch.alphabet.decode(batch.sequence(row)))
    return found
