"""Tracebacks: every instruction set against the path rule in plain Python, long pairs against the direct method."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import golden_data
import strategies
from engine_calls import align_pairs
from exaln import _core
from exaln.alignments.aligned_pairs import PairList
from exaln.alignments.cigar import OPERATIONS
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import ReferenceEngine, local_score
from exaln.errors import EngineError
from exaln.pairwise.pairs import align
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN, Alphabet
from exaln.sequences.records import Records

ISAS = [name for name, usable in _core.isas() if usable]
WORKED_EXAMPLES = [
    ("TGTTACGG", "GGTTGACTA", {"match": 3, "mismatch": -3, "gap_open": 0, "gap_extend": 2}, 13, "3M1D2M"),
    ("HEAGAWGHEE", "PAWHEAE", {"matrix": "BLOSUM50", "gap_open": 0, "gap_extend": 8}, 28, "2M1I2M"),
    (
        "ATGTAAACTGTACCTGATGGCTAA",
        "AGTGTAAACTGTACCTGATGGCTAA",
        {"match": 3, "mismatch": -2, "gap_open": 1, "gap_extend": 1},
        70,
        "1M1D23M",
    ),
    ("GTCTAC", "TCTCGAT", {"match": 2, "mismatch": -1, "gap_open": 0, "gap_extend": 1}, 7, None),
    ("WHSSPSILLNS", "WSAPSVLLNAS", {"matrix": "BLOSUM50", "gap_open": 2, "gap_extend": 1}, 56, None),
    ("GGGGGGTTTTTT", "AAACCCTTTTTT", {"match": 1, "mismatch": -4, "gap_open": 5, "gap_extend": 1}, 6, None),
    ("AGCACACA", "ACACACTA", {"match": 2, "mismatch": -1, "gap_open": 0, "gap_extend": 1}, 12, None),
]


def expanded(operations: np.ndarray[Any, Any]) -> str:
    """One letter per column."""
    return "".join(OPERATIONS[run & 15] * (run >> 4) for run in operations.tolist())


def trace_all_pairs(engine: Any, query: Records, targets: Records, scoring: Scoring) -> list[tuple[Any, ...]]:
    """(positions, counts, path) of every target that has a score above 0."""
    scores = [local_score(query.sequence(0), targets.sequence(row), scoring) for row in range(len(targets))]
    rows = np.flatnonzero(scores)
    pairs = PairList(np.zeros(len(rows), np.int64), rows.astype(np.int64))
    traces = align_pairs(engine, query, targets, pairs, scoring, known_scores=np.array(scores, np.int64)[rows])
    return [
        (traces.positions[i].tolist(), traces.counts[i].tolist(), expanded(traces.paths[i])) for i in range(len(rows))
    ]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Records, Records, Scoring]:
    alphabet = draw(st.sampled_from([PROTEIN, Alphabet("two", "HP"), Alphabet("four", "WXYZ")]))
    scoring = draw(strategies.scorings(alphabet))
    query, related = draw(strategies.related_pairs(alphabet, max_size=30))
    others = draw(st.lists(strategies.sequences(alphabet, max_size=30), max_size=5))
    encode = alphabet.encode
    return Records.of(alphabet, [encode(query)]), Records.of(alphabet, [encode(t) for t in (related, *others)]), scoring


@pytest.mark.parametrize("isa", ISAS)
@settings(max_examples=60)
@given(case=cases())
def test_every_instruction_set_follows_the_path_rule(isa: str, case: tuple[Records, Records, Scoring]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXALN_ISA", isa)
        engine = CpuEngine(threads=1)
        assert trace_all_pairs(engine, *case) == trace_all_pairs(ReferenceEngine(), *case)


@pytest.mark.parametrize("isa", ISAS)
def test_paths_of_real_pairs_do_not_depend_on_the_instruction_set(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core refuses a path that does not re-score, so getting paths at all is the first half of the check."""
    scoring = Scoring("BLOSUM62")
    queries, targets, scores = golden_data.queries(), golden_data.targets(), golden_data.scores()
    encode = PROTEIN.encode
    all_queries = Records.of(PROTEIN, [encode(text) for text in queries.values()])
    all_targets = Records.of(PROTEIN, [encode(text) for text in targets.values()])
    pairs = PairList(np.repeat(np.arange(len(queries)), len(targets)), np.tile(np.arange(len(targets)), len(queries)))
    known = np.array([scores[q, t] for q in queries for t in targets], np.int64)
    fastest = align_pairs(CpuEngine(threads=2), all_queries, all_targets, pairs, scoring, known_scores=known)
    monkeypatch.setenv("EXALN_ISA", isa)
    traces = align_pairs(CpuEngine(threads=1), all_queries, all_targets, pairs, scoring, known_scores=known)
    assert np.array_equal(traces.positions, fastest.positions)
    assert np.array_equal(traces.counts, fastest.counts)
    assert np.array_equal(traces.paths.operations, fastest.paths.operations)


@settings(max_examples=100)
@given(case=cases())
def test_a_pair_too_large_for_directions_has_the_same_path(case: tuple[Records, Records, Scoring]) -> None:
    """No room for directions: every pair is traced by the blocks of the long method, here smaller than a block."""
    query, targets, scoring = case
    direct = trace_with(query, targets, scoring)
    assert trace_with(query, targets, scoring, max_bytes=0) == direct
    assert trace_with(query, targets, scoring, max_bytes=30_000) == direct


def test_the_path_of_a_long_pair_runs_through_many_blocks() -> None:
    random = np.random.default_rng(5)
    scoring = Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    first = random.integers(0, 4, 3_000).astype(np.uint8)
    changed = np.where(random.random(len(first)) < 0.1, random.integers(0, 4, len(first)), first).astype(np.uint8)
    second = np.concatenate([changed[200:1400], changed[1900:2500], first[:40], changed[2500:]])
    query, targets = Records.of(scoring.alphabet, [first]), Records.of(scoring.alphabet, [second, second[::-1].copy()])
    direct = trace_with(query, targets, scoring, max_bytes=1 << 30)
    for max_bytes in (0, 1 << 20, 5 << 20, 20 << 20):  # blocks; strips of rows, fewer and fewer
        assert trace_with(query, targets, scoring, max_bytes=max_bytes) == direct
    assert len(direct[0][2]) > 2_500


def trace_with(query: Records, targets: Records, scoring: Scoring, **options: int) -> list[tuple[Any, ...]]:
    """(positions, counts, path) of every target that has a score above 0, from the core itself."""
    scores = np.array(
        [local_score(query.sequence(0), targets.sequence(r), scoring) for r in range(len(targets))], np.int32
    )
    rows = np.flatnonzero(scores).astype(np.int64)
    sequences = (query.codes, query.offsets), (targets.codes, targets.offsets)
    costs = (scoring.matrix, scoring.gap_first, scoring.gap_extend)
    found = _core.trace_all(*sequences, (np.zeros(len(rows), np.int64), rows), costs, scores[rows], **options)
    positions, counts, operations, offsets = found
    return [
        (positions[4 * i : 4 * i + 4].tolist(), counts[6 * i : 6 * i + 6].tolist(), expanded(operations[begin:end]))
        for i, (begin, end) in enumerate(pairwise(offsets.tolist()))
    ]


@pytest.mark.parametrize(("query", "target", "costs", "score", "cigar"), WORKED_EXAMPLES)
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_paths_of_worked_examples(
    engine: str, query: str, target: str, costs: dict[str, Any], score: int, cigar: str | None
) -> None:
    found = align(query, target, scoring=Scoring(**costs), engine=engine)
    assert found.score == score
    assert cigar is None or found.cigar == cigar


def test_paths_with_fractional_scores_and_with_nothing_in_common() -> None:
    sequences = golden_data.fasta("hba_hbb.fasta")
    water = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    found = align(*sequences.values(), scoring=water)
    assert (found.score, found.columns, found.identities) == (293.5, 145, 63)
    assert (found.query_start, found.query_end, found.target_start, found.target_end) == (2, 141, 3, 146)
    nothing = align("AAAA", "WWWW", scoring=Scoring("BLOSUM62"))
    assert (nothing.score, nothing.cigar, nothing.columns) == (0, "", 0)
    assert "no similarity" in str(nothing)


def test_a_known_score_that_is_not_the_optimum_is_refused() -> None:
    scoring = Scoring("BLOSUM62")
    one = Records.of(PROTEIN, [PROTEIN.encode("HEAGAWGHEE")])
    first = np.zeros(1, np.int64)
    with pytest.raises(EngineError, match="traceback failed"):
        align_pairs(CpuEngine(threads=1), one, one, PairList(first, first), scoring, known_scores=np.array([63]))
