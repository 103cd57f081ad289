"""Whole searches with several alignments per target, drawn from a seed, and what the definition says they find.

The targets are small, and so are the constants by which a search cuts long ones: every way to cut them is met.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from compiled_textbook import textbook
from exaln.database import windows
from exaln.database.database import Database
from exaln.database.segment_limits import SegmentLimits
from exaln.engines.contracts import Tuning
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.scoring.scoring import Scoring
from exaln.search import aligning, candidate_parts, pipeline, scan_parts
from exaln.search.options import MOST_ALIGNMENTS
from exaln.search.pipeline import Search, SearchOptions
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records
from exaln.statistics.evalues import Statistics

COMPLEMENT = str.maketrans("ACGT", "TGCA")
LETTERS = {DNA: "ACGT", PROTEIN: "ARNDCQEGHILKMFPSTWYV"}

SCORINGS = [
    Scoring.default(DNA),
    Scoring(alphabet=DNA, match=1, mismatch=-3, gap_open=5, gap_extend=2),
    Scoring(alphabet=DNA, match=1, mismatch=-1, gap_open=0, gap_extend=1),
    Scoring(alphabet=DNA, match=5, mismatch=-4, gap_open=8, gap_extend=0.5),
    Scoring(alphabet=DNA, match=5, mismatch=-4, gap_open=8, gap_extend=0.1),
    Scoring(alphabet=DNA, match=3, mismatch=-2, gap_open=3, gap_extend=0),
    Scoring(alphabet=DNA, match=300, mismatch=-400, gap_open=500, gap_extend=20),
    Scoring("BLOSUM62"),
    Scoring("BLOSUM50", gap_open=3, gap_extend=1),
    Scoring("PAM30"),
]


class SmallBlocks(CpuEngine):
    """The cpu engine with the scores of blocks of any size, which the reference engine has."""

    def __init__(self, threads: int, *, scans_blocks: bool) -> None:
        super().__init__(threads)
        self.tuning = Tuning(scores_blocks_of_targets=scans_blocks)

    def score_blocks(self, task: Any) -> Any:
        return (ReferenceEngine() if task.block_columns else super()).score_blocks(task)

    def score_ends(self, task: Any, columns: int) -> Any:
        return ReferenceEngine().score_ends(task, columns)


@dataclass(frozen=True)
class Case:
    """A search. constants: (module, name) -> value, of the package while it runs."""

    scoring: Scoring
    queries: list[str]
    targets: list[str]
    options: dict[str, Any]
    constants: dict[tuple[Any, str], Any] = field(default_factory=dict)
    n_windows: int = 4
    rows: int = 100

    @property
    def strands(self) -> tuple[int, ...]:
        """The strands of the queries that are compared."""
        asked = {"both": (1, -1), "plus": (1,), "minus": (-1,)}[self.options.get("strand", "both")]
        return asked if self.scoring.alphabet.is_nucleotide else (1,)


def any_text(rng: np.random.Generator, letters: str, n: int) -> str:
    return "".join(rng.choice(list(letters), n))


def changed(rng: np.random.Generator, text: str, letters: str, rate: float) -> str:
    """A copy with letters replaced, removed and put in."""
    found = ""
    for letter in text:
        kind = rng.random() / max(rate, 1e-9)
        found += (
            letter if kind >= 1 else ["", any_text(rng, letters, 1), letter + any_text(rng, letters, 2)][int(3 * kind)]
        )
    return found


def other_strand(text: str) -> str:
    return text.translate(COMPLEMENT)[::-1]


def mosaic(rng: np.random.Generator, pieces: list[str], letters: str, is_dna: bool, longest: int) -> str:
    """Copies of pieces, in any order, nested in one another, with stretches between them."""
    text = any_text(rng, letters, int(rng.integers(0, longest // 3 + 1)))
    for _ in range(int(rng.integers(0, 9))):
        copy = changed(rng, pieces[int(rng.integers(len(pieces)))], letters, float(rng.choice([0, 0.05, 0.3])))
        if is_dna and rng.random() < 0.3:
            copy = other_strand(copy)
        place = int(rng.integers(0, len(text) + 1))
        gap = any_text(rng, letters, int(rng.choice([0, 0, 2, 20, 60])))
        text = text[:place] + copy + gap + text[place:]
    return text[:longest]


def drawn_case(rng: np.random.Generator, *, longest: int = 220, kernel_blocks: bool = False) -> Case:
    """Any search. kernel_blocks: blocks of ends have a multiple of 64 residues, as kernels have them."""
    scoring = SCORINGS[int(rng.integers(len(SCORINGS)))]
    letters = LETTERS[scoring.alphabet][: int(rng.choice([2, 4, 20]))]
    is_dna = scoring.alphabet.is_nucleotide
    pieces = [any_text(rng, letters, int(n)) for n in rng.choice([1, 2, 5, 9, 14, 25], 3)]
    pieces += [pieces[0] * 4, pieces[0] + pieces[1], pieces[1] + pieces[0], letters[0] * 12]
    shape = rng.random()
    widest = 20 if shape < 0.3 else 45 if shape < 0.9 else 2 * longest
    queries = [mosaic(rng, pieces, letters, False, widest) for _ in range(int(rng.integers(1, 4)))]
    targets = [
        mosaic(rng, [*pieces, *queries], letters, is_dna, int(rng.choice([1, 30, longest // 2, longest])))
        for _ in range(int(rng.integers(1, 6)))
    ]
    options = drawn_options(rng, is_dna)
    return Case(
        scoring,
        queries,
        targets,
        options,
        drawn_constants(rng, longest, kernel_blocks),
        n_windows=int(rng.choice([1, 2, 4, 64, 2048])),
        rows=int(rng.choice([1, 2, 100])),
    )


def drawn_options(rng: np.random.Generator, is_dna: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "evalue": float(rng.choice([1e-3, 0.1, 1, 10, 100, 1e4])),
        "max_target_seqs": int(rng.choice([1, 2, 3, 500])),
        "max_hsps": [None, None, 1, 2, 3, 5, 30][int(rng.integers(7))],
    }
    if is_dna:
        options["strand"] = str(rng.choice(["both", "both", "plus", "minus"]))
    for name, values in (
        ("min_score", [3, 10, 20]),
        ("min_identity", [50, 80, 100]),
        ("min_query_coverage", [20, 60]),
        ("min_target_coverage", [5, 30]),
        ("culling_limit", [1, 2, 5]),
        ("subject_besthit", [True]),
    ):
        if rng.random() < 0.12:
            options[name] = values[int(rng.integers(len(values)))]
    return options


def drawn_constants(rng: np.random.Generator, longest: int, kernel_blocks: bool) -> dict[tuple[Any, str], Any]:
    block = 64 if kernel_blocks else int(rng.choice([1, 2, 3, 5, 8, 16, 64]))
    leads = [(0, 1), (1, 4), (2, 3), (block, 2 * block), (2 * block, 3 * block), (8, 32), (30, 31)]
    return {
        (windows, "LONG_TARGET"): int(rng.choice([1, 2, 20, 60, longest])),
        (windows, "PIECE_RESIDUES"): int(rng.choice([1, 50, 300, 1 << 20])),
        (scan_parts, "LEAST_OVERLAP"): int(rng.choice([4, 8, 40])),
        (scan_parts, "SPANS_PER_STEP"): int(rng.choice([1, 2, 8])),
        (scan_parts, "END_COLUMNS"): block,
        (candidate_parts, "END_COLUMNS"): block,
        (candidate_parts, "WIDE_WINDOW"): int(rng.choice([1, 2, 8])),
        (candidate_parts, "STEP_SPANS"): int(rng.choice([1, 2, 3])),
        (aligning, "LEADS"): leads[int(rng.integers(len(leads)))],
        (pipeline, "PRUNE_CANDIDATES"): int(rng.choice([0, 3, 1 << 20])),
        (pipeline, "ROUND_ALIGNMENTS"): int(rng.choice([1, 2, 1 << 15])),
        (pipeline, "MAX_BLOCK_QUERIES"): int(rng.choice([1, 2, 256])),
    }


def records(alphabet: Any, texts: list[str]) -> Records:
    return Records.of(alphabet, [alphabet.encode(text) for text in texts], [f"s{i}" for i in range(len(texts))])


def database_of(case: Case) -> Database:
    return Database.in_memory([records(case.scoring.alphabet, case.targets)], limits=SegmentLimits(rows=case.rows))


ROW = "ordinal", "strand", "score", "query_start", "query_end", "target_start", "target_end"


def rows_of(hits: Any) -> list[tuple[Any, ...]]:
    """(ordinal, strand, score, query start and end, target start and end, steps) of each alignment of a query."""
    columns = [getattr(hits, name).tolist() for name in ROW]
    paths = [steps_of(hits.paths.operations[first:end]) for first, end in pairwise(hits.paths.offsets.tolist())]
    return list(zip(*columns, paths, strict=True))


def steps_of(operations: Any) -> str:
    from exaln.alignments.cigar import OPERATIONS

    text = "".join(OPERATIONS[run & 15] * (run >> 4) for run in operations.tolist())
    return text.replace("=", "M").replace("X", "M")


def found_by(engine: Any, case: Case) -> list[list[tuple[Any, ...]]]:
    engine.tuning = replace(engine.tuning, windows=case.n_windows)
    search = Search(database_of(case), case.scoring, engine, SearchOptions(**case.options))
    return [rows_of(hits) for hits in search.run([records(case.scoring.alphabet, case.queries)])]


# ------------------------------------------------------------------------------------------------ the definition


def expected(case: Case) -> list[list[tuple[Any, ...]]]:
    """For each query the rows of all alignments, in the order of the report."""
    return [_expected_of_query(case, query) for query in case.queries]


def _expected_of_query(case: Case, query: str) -> list[tuple[Any, ...]]:
    options = SearchOptions(**case.options)
    targets = []
    for ordinal, target in enumerate(case.targets):
        own = _of_target(case, options, query, target)
        if own:
            targets.append((ordinal, own))
    listed = [
        (one, ordinal, case.targets[ordinal])
        for ordinal, own in targets
        for one in (_besthit(own) if options.subject_besthit else own)
    ]
    passing = [(one, ordinal) for one, ordinal, target in listed if _passes(one, options, query, target)]
    ranked = _in_order(passing)
    if options.culling_limit:
        ranked = _in_order(_culled(ranked, options.culling_limit))
    best = list(dict.fromkeys(ordinal for _, ordinal in ranked))[: options.max_target_seqs]
    return [(ordinal, *one["row"]) for one, ordinal in ranked if ordinal in best]


def _of_target(case: Case, options: SearchOptions, query: str, target: str) -> list[dict[str, Any]]:
    """The alignments of a target on both strands, the best first, as many as are asked for."""
    scoring = case.scoring
    statistics = Statistics.of(scoring, db_residues=sum(map(len, case.targets)), db_targets=len(case.targets))
    least = max(1, options.min_score * scoring.scale)
    cap = options.max_hsps or (MOST_ALIGNMENTS if statistics is not None or least > 1 else 1)
    if statistics is not None:
        top = max(1, int(scoring.matrix.max()) * min(len(query), len(target)))
        scores = np.arange(top + 1)
        low = np.flatnonzero(statistics.evalues(scores, len(query), len(target)) <= options.evalue)
        least = max(least, int(low[0]) if len(low) else top + 1)
    own = []
    for strand in case.strands:
        text = query if strand > 0 else other_strand(query)
        codes = scoring.alphabet.encode(text), scoring.alphabet.encode(target)
        for place, (score, (row, column), steps) in enumerate(textbook(*codes, scoring, cap, least)):
            first_row = row - sum(step != "D" for step in steps)
            first_column = column - sum(step != "I" for step in steps)
            n_same = _identities(text, target, first_row, first_column, steps)
            start, end = (first_row, row) if strand > 0 else (len(query) - row, len(query) - first_row)
            evalue = 0.0
            if statistics is not None:
                evalue = float(statistics.evalues(np.array([score]), len(query), len(target))[0])
            own.append(
                {
                    "key": (-score, -strand, place),
                    "evalue": evalue,
                    "identities": n_same,
                    "row": (strand, score, start, end, first_column, column, steps if strand > 0 else steps[::-1]),
                }
            )
    own.sort(key=lambda one: one["key"])
    return own[:cap]


def _identities(query: str, target: str, row: int, column: int, steps: str) -> int:
    n_same = 0
    for step in steps:
        n_same += step == "M" and query[row] == target[column]
        row, column = row + (step != "D"), column + (step != "I")
    return n_same


def _passes(one: dict[str, Any], options: SearchOptions, query: str, target: str) -> bool:
    _, _, start, end, target_start, target_end, steps = one["row"]
    return (
        100 * one["identities"] >= (options.min_identity or 0) * len(steps)
        and 100 * (end - start) >= (options.min_query_coverage or 0) * len(query)
        and 100 * (target_end - target_start) >= (options.min_target_coverage or 0) * len(target)
    )


def _in_order(listed: list[Any]) -> list[Any]:
    """Targets by their best alignment, the alignments of a target in the order found."""
    best: dict[int, tuple[Any, ...]] = {}
    for one, ordinal in listed:
        best.setdefault(ordinal, (one["evalue"], one["key"][0], ordinal))
    return sorted(listed, key=lambda pair: best[pair[1]])


def _besthit(own: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As `hsp_filters.subject_besthit` says."""
    kept = list(own)
    for is_same in (True, False):
        done: list[dict[str, Any]] = []
        while kept:
            first = kept.pop(0)
            done.append(first)
            strand, _, start, end, *_ = first["row"]
            kept = [
                one
                for one in kept
                if not (
                    (one["row"][0] == strand) == is_same and one["row"][2] >= start - 3 and one["row"][3] <= end + 3
                )
            ]
        kept = done
    return kept


def _culled(ranked: list[Any], limit: int) -> list[Any]:
    """As `hsp_filters.culled` says."""
    kept = []
    for place, (one, ordinal) in enumerate(ranked):
        _, score, start, end, *_ = one["row"]
        around = 0
        for other_place, (other, _) in enumerate(ranked):
            is_better = other["row"][1] > score or (other["row"][1] == score and other_place < place)
            around += is_better and other["row"][2] <= start and other["row"][3] >= end
        if around < limit:
            kept.append((one, ordinal))
    return kept
