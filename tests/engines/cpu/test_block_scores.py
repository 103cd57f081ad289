"""Scores of blocks of targets: on every instruction set those of the whole table, and of the reference engine.

EXALN_SEVERAL sets the number of examples; `make test-several` uses it.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exaln
from compiled_textbook import table
from engine_calls import pair_task, scan_task
from exaln import _core
from exaln.alignments.aligned_pairs import PairList
from exaln.database import windows
from exaln.database.database import Database
from exaln.engines.reference.engine import ReferenceEngine
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records, offsets_of
from kernel_cases import ISAS, engine_with
from memory_targets import memory_targets
from several_pairs import drawn_pairs, letters
from several_searches import any_text
from several_searches import records as records_of
from strategies import scorings

EXAMPLES = int(os.environ.get("EXALN_SEVERAL", "0"))
LENGTHS = [0, 1, 2, 62, 63, 64, 65, 66, 126, 127, 128, 129, 130, 191, 192, 193, 255, 256, 257, 320, 511, 512, 513]

SCORINGS = [
    Scoring(match=1, mismatch=-1, gap_open=0, gap_extend=1),
    Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2),
    Scoring(match=3, mismatch=-1, gap_open=2, gap_extend=0),
    Scoring(match=60, mismatch=-40, gap_open=30, gap_extend=1),
    Scoring(match=3000, mismatch=-2000, gap_open=1000, gap_extend=7),
    Scoring("BLOSUM62"),
]


def block_scores(query, target, scoring, columns):
    """The best H of each block of columns, from the whole table."""
    best = table(query, target, scoring)[:, 1:].max(axis=0)
    return [int(best[first : first + columns].max()) for first in range(0, len(target), columns)]


def drawn_targets(rng, n_letters, n):
    """Targets of lengths around multiples of 64; with repeats, so that gaps and high scores cross the blocks."""
    lengths = [int(rng.choice(LENGTHS)) for _ in range(n)]
    units = [letters(rng, n_letters, rng.integers(1, 40)) for _ in range(3)]
    return [
        letters(rng, n_letters, length) if rng.random() < 0.4 else np.resize(units[rng.integers(3)], length)
        for length in lengths
    ]


def check(rng, scoring, queries, targets, columns):
    expected = np.array(
        [[score for target in targets for score in block_scores(query, target, scoring, columns)] for query in queries]
    )
    (query_codes, query_offsets), (codes, offsets) = (
        (np.concatenate([np.empty(0, np.uint8), *sequences]), offsets_of(map(len, sequences)))
        for sequences in (queries, targets)
    )
    matrix = np.ascontiguousarray(scoring.matrix, np.int32)
    for isa in ISAS:
        threads = int(rng.choice([1, 2, 7]))
        found = _core.score_all(
            query_codes,
            query_offsets,
            codes,
            offsets,
            matrix,
            scoring.gap_first,
            scoring.gap_extend,
            threads,
            isa,
            None,
            columns,
        )
        np.testing.assert_array_equal(found, expected.reshape(len(queries), -1), f"{isa}, {threads} threads, {columns}")


@pytest.mark.parametrize("scoring", SCORINGS, ids=lambda scoring: scoring.describe())
@pytest.mark.parametrize("n_targets", [0, 1, 3, 70, 300])
def test_lengths_around_multiples_of_a_block(scoring, n_targets):
    rng = np.random.default_rng(n_targets)
    queries = [letters(rng, 4, n) for n in (0, 1, 30, 65)]
    targets = drawn_targets(rng, 4, n_targets)
    if n_targets == 3:
        targets = [np.resize(queries[2], 5000), np.resize(queries[3], 64 * 70), targets[0][:1]]
    for columns in (64, 128, 192, 4096):
        check(rng, scoring, queries, targets, columns)


@pytest.mark.parametrize("gap_open", [0, 11])
@pytest.mark.parametrize("gap_extend", [0, 1, 6])
def test_copies_in_long_targets(gap_open, gap_extend):
    """Where a copy overflows the lanes, that part of the target alone is scored again: also where copies lie close
    together, at the ends, and with gaps far beyond the query.
    """
    rng = np.random.default_rng(gap_extend)
    queries = [letters(rng, 20, n) for n in (25, 70, 130)]
    targets = []
    for length in rng.integers(500, 4000, 40).tolist():
        target = letters(rng, 20, length)
        for _ in range(int(rng.integers(0, 6))):
            query = queries[rng.integers(3)]
            cut, gap = int(rng.integers(len(query))), int(rng.integers(0, 200)) * int(rng.integers(2))
            copy = np.concatenate([query[:cut], letters(rng, 20, gap), query[cut:]])
            first = int(rng.integers(-len(copy), length))
            copy = copy[max(-first, 0) :][: length - max(first, 0)]
            target[max(first, 0) :][: len(copy)] = copy
        targets.append(target)
    check(rng, Scoring("BLOSUM62", gap_open=gap_open, gap_extend=gap_extend), queries, targets, 64)


@settings(max_examples=max(20, EXAMPLES // 4), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 2**32 - 1))
def test_any_scoring(data, seed):
    rng = np.random.default_rng(seed)
    scoring = data.draw(scorings(data.draw(st.sampled_from([DNA, PROTEIN]))))
    n_letters = int(rng.choice([2, len(scoring.alphabet.letters)]))
    pairs = drawn_pairs(rng, n_letters, 3, int(rng.choice([20, 100])))
    queries = [query for query, _ in pairs]
    targets = [*drawn_targets(rng, n_letters, int(rng.choice([1, 4, 80]))), *(target for _, target in pairs)]
    targets += [np.concatenate([query] * int(rng.integers(1, 9))) for query in queries]
    check(rng, scoring, queries, targets, 64 * int(rng.integers(1, 4)))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", [1, 3])
def test_scans_and_pairs_of_engines(isa, threads):
    rng = np.random.default_rng(1)
    scoring = Scoring("BLOSUM62")
    queries = Records.of(PROTEIN, [letters(rng, 20, n) for n in (0, 1, 20, 33)])
    targets = drawn_targets(rng, 20, 12)
    view, engines = memory_targets(PROTEIN, targets, 2), (ReferenceEngine(), engine_with(isa, threads))
    whole, ours = (
        sorted(
            (block.first_query + row, int(column), int(score))
            for block in engine.score_blocks(scan_task(engine, queries, view, scoring, block_columns=64))
            for row, scores in enumerate(block.scores)
            for column, score in zip(block.rows, scores, strict=True)
        )
        for engine in engines
    )
    assert ours == whole
    records = Records.of(PROTEIN, targets)
    rows = PairList(rng.integers(0, 4, 30), rng.integers(0, 12, 30))
    task = pair_task(queries, records, rows, scoring)
    for columns in (64, 128):
        expected, found = (engine.score_ends(task, columns) for engine in engines)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        ends = [
            score
            for query, target in zip(rows.query.tolist(), rows.target.tolist(), strict=True)
            for score in block_scores(queries.sequence(query), targets[target], scoring, columns)
        ]
        assert expected[0].tolist() == ends
    nothing = engines[1].score_ends(pair_task(queries, records, PairList(rows.query[:0], rows.target[:0]), scoring), 64)
    assert [part.tolist() for part in nothing] == [[], [0]]


@pytest.mark.parametrize("isa", ISAS)
def test_a_query_without_letters_scores_nothing_in_any_block(isa):
    """Also after another query, whose scores lie in the same memory."""
    matrix = np.ascontiguousarray(Scoring.default(DNA).matrix, np.int32)
    codes, offsets = np.zeros(700, np.uint8), np.array([0, 10, 200, 700])
    found = _core.score_all(codes[:30], np.array([0, 30, 30]), codes, offsets, matrix, 7, 2, 1, isa, None, 64)
    assert (found[0] > 0).all()
    assert (found[1] == 0).all()


@pytest.mark.parametrize("max_hsps", [None, 1, 3])
def test_queries_without_letters_are_searched_in_long_targets(monkeypatch, max_hsps):
    monkeypatch.setattr(windows, "LONG_TARGET", 1000)
    rng = np.random.default_rng(1)
    targets = [any_text(rng, "ACGT", 20_000 + n) for n in range(4)]
    database = Database.in_memory([records_of(DNA, targets)])
    queries = {"first": targets[0][:300], "none": "", "second": targets[1][500:800]}
    found = exaln.search(queries, database, engine="cpu", max_hsps=max_hsps)
    assert {hit.query_id for hit in found} == {"first", "second"}
