"""Text of all scores, and the best of them: the same however a database is split and whatever is kept in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine_calls
from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.segment_limits import DEFAULT_LIMITS, SegmentLimits
from exaln.database.views import target_origins
from exaln.engines.choice import choose_engine
from exaln.scoring.scoring import Scoring
from exaln.search import score_table
from exaln.search.ranking import BestTargets
from exaln.search.score_table import best_targets, score_lines, score_texts
from oracle import smith_waterman

SCORING = Scoring(gap_open=9.5, gap_extend=0.5)
TARGETS = random_sequences(35, seed=5)
QUERIES = random_sequences(4, seed=6)


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, str, int]]:
    """Query, target, and twice the score, by the oracle."""
    letters = SCORING.alphabet.letters
    scores = {a: dict(zip(letters, row, strict=True)) for a, row in zip(letters, SCORING.matrix.tolist(), strict=True)}
    return [
        (q, t, int(smith_waterman(query.upper(), target.upper(), scores, SCORING.gap_open, SCORING.gap_extend)))
        for q, _, query in QUERIES
        for t, _, target in TARGETS
    ]


def split(lines: list[bytes]) -> list[tuple[str, str, str]]:
    rows = [line.split("\t") for line in b"".join(lines).decode().splitlines()]
    return [(query, target, score) for query, target, score in rows]


@pytest.mark.parametrize("max_scores", [1, 40, 1 << 20])
@pytest.mark.parametrize("max_lines", [1, 7, 1 << 16])
@pytest.mark.parametrize("limits", [TINY, DEFAULT_LIMITS], ids=["many segments", "one segment"])
@pytest.mark.parametrize("minimum", [None, 30])
def test_score_table_of_all_pairs_in_input_order(
    monkeypatch: pytest.MonkeyPatch,
    expected: list[tuple[str, str, int]],
    max_scores: int,
    max_lines: int,
    limits: SegmentLimits,
    minimum: int | None,
) -> None:
    monkeypatch.setattr(score_table, "MAX_SCORES", max_scores)
    monkeypatch.setattr(score_table, "MAX_LINES", max_lines)
    database = Database.in_memory([records_of(TARGETS)], limits=limits)
    queries = records_of(QUERIES)
    cells: list[int] = []
    lines = score_lines(queries, database, SCORING, choose_engine("cpu"), minimum=minimum, progress=cells.append)
    assert split(list(lines)) == [(q, t, f"{s / 2:g}") for q, t, s in expected if s >= (minimum or 0)]
    assert cells == sorted(cells)
    assert cells[-1] == queries.n_residues * database.n_residues


def test_best_targets_of_a_database_in_many_segments(expected: list[tuple[str, str, int]]) -> None:
    database = Database.in_memory([records_of(TARGETS)], limits=TINY)
    queries, engine = records_of(QUERIES), choose_engine("cpu")
    best = BestTargets(len(queries), k=6, minimum=20)
    for block in engine.score_blocks(engine_calls.scan_task(engine, queries, database, SCORING)):
        best.add(block.first_query, block.scores, target_origins(database, block.rows).ordinal)
    names = best_targets(database, best.ordinals)
    for query, (name, _, _) in enumerate(QUERIES):
        of_query = [(-score, target) for q, target, score in expected if q == name and score >= 20]
        ranked = sorted(of_query, key=lambda pair: pair[0])[:6]  # stable: equal scores stay in input order
        assert [target for target, _ in names[query]] == [target for _, target in ranked]
        assert score_texts(best.scores[query], SCORING) == [f"{-score / 2:g}" for score, _ in ranked]
    descriptions = {target: description for target, description, _ in TARGETS}
    assert all(descriptions[target] == description for of_query in names for target, description in of_query)


@given(
    scores=st.lists(st.integers(0, 5), max_size=60),
    k=st.integers(1, 8),
    minimum=st.integers(0, 4),
    n_pieces=st.integers(1, 6),
    seed=st.integers(0, 999),
)
def test_best_targets_do_not_depend_on_pieces_and_order(
    scores: list[int], k: int, minimum: int, n_pieces: int, seed: int
) -> None:
    best = BestTargets(1, k, minimum)
    for ordinals in np.array_split(np.random.default_rng(seed).permutation(len(scores)), n_pieces):
        values = np.array(scores, np.int32)[ordinals]
        best.add(0, values[None, :], ordinals)
    ranked = sorted((-score, ordinal) for ordinal, score in enumerate(scores) if score >= minimum)[:k]
    assert list(zip((-best.scores[0]).tolist(), best.ordinals[0].tolist(), strict=True)) == ranked
