"""Hits made by hand, for tests of reports; plain Python computes their counts from letters and path."""

import io
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from exaln.alignments.cigar import OPERATIONS, Paths
from exaln.alignments.query_hits import QueryHits
from exaln.report.writing import SearchSummary, parse_outfmt, write_report
from exaln.scoring.scoring import Scoring
from exaln.statistics.evalues import Statistics

BLOSUM = Scoring("BLOSUM62")
DNA = Scoring(match=2, mismatch=-3)
PAIRED = dict(zip("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN", strict=True))


@dataclass(frozen=True)
class Pair:
    """A target and its alignment with the query; the CIGAR has M, I and D, starts are 0-based."""

    target: str
    cigar: str
    query_start: int = 0
    target_start: int = 0
    strand: int = 1
    target_id: str = "t1"
    target_description: str = ""
    bits: float = float("nan")
    evalue: float = float("nan")
    ordinal: int = 0


@dataclass(frozen=True)
class Row:
    """The two rows of an alignment as text with gaps, and where it ends."""

    query: str
    target: str
    query_end: int
    target_end: int


def other_strand(sequence: str, rna: bool = False) -> str:
    """The reverse complement, independent of the package."""
    text = "".join(PAIRED[letter] for letter in reversed(sequence))
    return text.replace("T", "U") if rna else text


def steps(cigar: str) -> list[tuple[int, str]]:
    """The operations of a CIGAR: (length, letter)."""
    assert re.fullmatch(r"([1-9][0-9]*[MIDX=])*", cigar), cigar
    return [(int(length), letter) for length, letter in re.findall(r"([0-9]+)([MIDX=])", cigar)]


def rows(query: str, pair: Pair, rna: bool = False) -> Row:
    """The aligned rows of a pair."""
    consumed = sum(length for length, letter in steps(pair.cigar) if letter != "I")
    target_end = pair.target_start + consumed
    target = pair.target[pair.target_start : target_end]
    if pair.strand < 0:
        target = other_strand(target, rna)
    at_query, at_target, above, below = pair.query_start, 0, "", ""
    for length, letter in steps(pair.cigar):
        above += "-" * length if letter == "D" else query[at_query : at_query + length]
        below += "-" * length if letter == "I" else target[at_target : at_target + length]
        at_query += 0 if letter == "D" else length
        at_target += 0 if letter == "I" else length
    return Row(above, below, at_query, target_end)


def operations(row: Row) -> list[int]:
    """The path of an alignment as uint32 operations, with = and X."""
    kinds = ["D" if a == "-" else "I" if b == "-" else "=" if a == b else "X" for a, b in columns_of(row)]
    return [len(list(run)) << 4 | OPERATIONS.index(kind) for kind, run in itertools.groupby(kinds)]


def columns_of(row: Row) -> list[tuple[str, str]]:
    """The columns of an alignment."""
    return list(zip(row.query, row.target, strict=True))


def score_of(row: Row, scoring: Scoring) -> int:
    """The scaled score of an alignment, gap runs costed by the definition."""
    codes = {letter: code for code, letter in enumerate(scoring.alphabet.letters)}
    pairs = sum(int(scoring.matrix[codes[a], codes[b]]) for a, b in columns_of(row) if "-" not in (a, b))
    runs = re.findall("-+", row.query) + re.findall("-+", row.target)
    return pairs - sum(scoring.gap_open + len(run) * scoring.gap_extend for run in runs)


def query_hits(
    query: str,
    pairs: Sequence[Pair] = (),
    *,
    scoring: Scoring = BLOSUM,
    query_id: str = "q1",
    query_description: str = "",
    index: int = 0,
) -> QueryHits:
    """The hits of one query against these targets, in the order given."""
    alphabet = scoring.alphabet
    drawn = [rows(query, pair, alphabet.name == "rna") for pair in pairs]
    paths = [operations(row) for row in drawn]
    matrix, code = scoring.matrix, alphabet.letters.index

    def counts(values: list[int]) -> np.ndarray:
        return np.array(values, np.int32)

    def positives(row: Row) -> int:
        return sum(a == b or matrix[code(a), code(b)] > 0 for a, b in columns_of(row) if "-" not in (a, b))

    return QueryHits(
        index=index,
        query_id=query_id,
        query_description=query_description,
        query=alphabet.encode(query),
        alphabet=alphabet,
        scoring=scoring,
        target_ids=[pair.target_id for pair in pairs],
        target_descriptions=[pair.target_description for pair in pairs],
        target_slices=[
            alphabet.encode(pair.target[pair.target_start : row.target_end])
            for pair, row in zip(pairs, drawn, strict=True)
        ],
        target_lengths=np.array([len(pair.target) for pair in pairs], np.int64),
        ordinal=np.array([pair.ordinal for pair in pairs], np.int64),
        score=np.array([score_of(row, scoring) for row in drawn], np.int64),
        bits=np.array([pair.bits for pair in pairs], np.float64),
        evalue=np.array([pair.evalue for pair in pairs], np.float64),
        strand=np.array([pair.strand for pair in pairs], np.int8),
        query_start=np.array([pair.query_start for pair in pairs], np.int64),
        query_end=np.array([row.query_end for row in drawn], np.int64),
        target_start=np.array([pair.target_start for pair in pairs], np.int64),
        target_end=np.array([row.target_end for row in drawn], np.int64),
        paths=Paths(
            np.array([operation for path in paths for operation in path], np.uint32),
            np.cumsum([0, *map(len, paths)]).astype(np.int64),
        ),
        identities=counts([sum(a == b for a, b in columns_of(row)) for row in drawn]),
        positives=counts([positives(row) for row in drawn]),
        mismatches=counts([sum(a != b and "-" not in (a, b) for a, b in columns_of(row)) for row in drawn]),
        gap_opens=counts([len(re.findall("-+", row.query) + re.findall("-+", row.target)) for row in drawn]),
        gaps=counts([(row.query + row.target).count("-") for row in drawn]),
        columns=counts([len(row.query) for row in drawn]),
    )


@st.composite
def random_pairs(draw: st.DrawFn, query: str, scoring: Scoring) -> Pair:
    """A target and a path made together: starts and ends with a pair of letters, gaps of either kind, either strand."""
    letters = st.sampled_from(scoring.alphabet.letters)
    start = draw(st.integers(0, len(query) - 1))
    left = draw(st.integers(1, len(query) - start))
    cigar, below, at = "", "", start
    while left:
        size = draw(st.integers(1, left))
        below += "".join(draw(letters | st.just(query[at + place])) for place in range(size))
        cigar, at, left = cigar + f"{size}M", at + size, left - size
        if left > 1 and draw(st.booleans()):
            size = draw(st.integers(1, left - 1))
            cigar, at, left = cigar + f"{size}I", at + size, left - size
        if left and draw(st.booleans()):
            inserted = draw(st.text(letters, min_size=1, max_size=12))
            cigar, below = cigar + f"{len(inserted)}D", below + inserted
    if "MM" in re.sub("[0-9]", "", cigar):
        cigar = "".join(f"{sum(n for n, _ in run)}{kind}" for kind, run in runs_of(cigar))
    strand = draw(st.sampled_from([1, -1])) if scoring.alphabet.is_nucleotide else 1
    if strand < 0:
        below = other_strand(below.replace("U", "T"), scoring.alphabet.name == "rna")
    before, after = draw(st.text(letters, max_size=9)), draw(st.text(letters, max_size=9))
    number = draw(st.integers(0, 10**6))
    evalue, bits = draw(st.floats(0, 1e6)), draw(st.floats(0, 1e5))
    return Pair(
        before + below + after, cigar, start, len(before), strand, f"t{number}", "title", bits, evalue, ordinal=number
    )


def runs_of(cigar: str) -> list[tuple[str, list[tuple[int, str]]]]:
    """The operations, grouped by runs of the same letter."""
    return [(kind, list(run)) for kind, run in itertools.groupby(steps(cigar), key=lambda step: step[1])]


@st.composite
def random_hits(draw: st.DrawFn) -> tuple[str, list[Pair], QueryHits]:
    """(query, pairs, their QueryHits) for protein and DNA."""
    scoring = draw(st.sampled_from([BLOSUM, DNA]))
    query = draw(st.text(st.sampled_from(scoring.alphabet.letters.replace("U", "")), min_size=1, max_size=40))
    pairs = draw(st.lists(random_pairs(query, scoring), max_size=5, unique_by=lambda pair: pair.ordinal))
    return query, pairs, query_hits(query, pairs, scoring=scoring)


def whole_of(pairs: Sequence[Pair], scoring: Scoring = BLOSUM) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Reads the whole targets of these pairs."""
    codes = {pair.ordinal: scoring.alphabet.encode(pair.target) for pair in pairs}
    return lambda ordinals: [codes[ordinal] for ordinal in ordinals.tolist()]


def report(
    form: str,
    hits: Sequence[QueryHits],
    database: str = "targets",
    scoring: Scoring = BLOSUM,
    pairs: Sequence[Pair] = (),
) -> str:
    """A report as text, for a database of 3 targets with 300 residues. pairs: have the whole targets."""
    statistics = Statistics.of(scoring, db_residues=300, db_targets=3)
    file = io.BytesIO()
    summary = SearchSummary(database, 3, 300, scoring, statistics)
    write_report(parse_outfmt(form), hits, summary, file, whole=whole_of(pairs, scoring))
    return file.getvalue().decode()


GLOBIN_PAIRS = [
    Pair("PAWHEAE", "2M1I2M", 4, 1, 1, "sp|P1.2|ONE_TEST", "first, of two", bits=12.34, evalue=0.00012, ordinal=2),
    Pair("AAGAWGREE", "8M", 2, 1, 1, "two", "", bits=123.9, evalue=2.5, ordinal=0),
]
GLOBIN = query_hits("HEAGAWGHEE", GLOBIN_PAIRS, query_id="q1", query_description="a query")
NOTHING = query_hits("HEAG", query_id="q2", index=1)
MINUS_PAIRS = [Pair("CCTTGACAACGG", "5M1D3M", 1, 2, -1, "chr1", "plasmid", bits=20.06, evalue=0.0203)]
MINUS = query_hits("ACGTTGCAAC", MINUS_PAIRS, scoring=DNA, query_id="read", index=2)
