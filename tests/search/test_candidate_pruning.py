"""Candidates are dropped early only where k better ones of their query were seen."""

import numpy as np
import pytest

from exaln.engines.tasks import ScoreBlock
from exaln.scoring.scoring import Scoring
from exaln.search.candidate_pruning import LocatedCandidates, Pruner
from exaln.sequences.alphabet import DNA
from exaln.statistics.evalues import Statistics

LENGTHS = np.array([30, 200, 3000])


def candidates(rng: np.random.Generator, n: int) -> LocatedCandidates:
    """Of three queries; scores with many ties, lengths from 0 to very long ones."""
    lengths = np.floor(2 ** rng.uniform(0, 14, n)).astype(np.int64) - 1
    scores = rng.integers(20, 60, n).astype(np.int32)
    query, strand, row = rng.integers(0, 3, n), np.ones(n, np.int8), np.arange(n)
    return LocatedCandidates(query, strand, row, row, lengths, np.zeros_like(lengths), lengths, scores)


@pytest.mark.parametrize(
    "scoring", [Scoring("BLOSUM62"), Scoring("VTML200"), Scoring.default(DNA)], ids=lambda s: s.name
)
@pytest.mark.parametrize("k", [1, 7, 100])
@pytest.mark.parametrize("n_pieces", [1, 5])
def test_the_best_k_are_never_dropped(scoring: Scoring, k: int, n_pieces: int) -> None:
    rng = np.random.default_rng(k)
    found = candidates(rng, 3000)
    statistics = Statistics.of(scoring, db_residues=int(found.length.sum()), db_targets=3000)
    evalue = np.zeros(3000)
    if statistics is not None:
        evalue = statistics.evalues(found.score, LENGTHS[found.query], found.length)
    pruner, kept = Pruner(statistics, LENGTHS, k), []
    for piece in np.array_split(rng.permutation(3000), n_pieces):
        kept.extend(pruner.prune(found.taken(piece)).ordinal.tolist())
    assert len(kept) == len(set(kept))
    for query in range(3):
        own = np.flatnonzero(found.query == query)
        best = own[np.lexsort((own, -found.score[own].astype(int), evalue[own]))][:k]
        assert set(best.tolist()) <= set(kept)
    assert len(kept) < 3000 * (0.9 if k == 100 else 0.5)


def test_no_candidate_is_dropped_if_there_are_few() -> None:
    found = candidates(np.random.default_rng(1), 50)
    statistics = Statistics.of(Scoring("BLOSUM62"), db_residues=10_000, db_targets=50)
    assert sorted(Pruner(statistics, LENGTHS, 50).prune(found).ordinal.tolist()) == list(range(50))
    none = found.taken(np.empty(0, np.int64))
    assert len(Pruner(statistics, LENGTHS, 5).prune(none).ordinal) == 0


@pytest.mark.parametrize("max_scores", [1, 3, 5, 12, 1000])
def test_pieces_of_a_score_block_hold_every_score_once(max_scores: int) -> None:
    scores = np.arange(12, dtype=np.int32).reshape(3, 4)
    block = ScoreBlock(5, scores, np.array([9, 8, 7, 6]), np.array([1, 2, 3, 4]))
    seen = {}
    for piece in block.pieces(max_scores):
        assert piece.scores.size <= max_scores
        for row, line in enumerate(piece.scores.tolist()):
            for ordinal, score in zip(piece.rows.tolist(), line, strict=True):
                assert (piece.first_query + row, ordinal) not in seen
                seen[piece.first_query + row, ordinal] = score
    assert seen == {(5 + row, 9 - column): 4 * row + column for row in range(3) for column in range(4)}
