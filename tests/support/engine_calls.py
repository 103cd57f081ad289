"""Engines called with plain records, as tests have them: tasks are made here."""

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from exaln.database.views import target_origins
from exaln.engines.contracts import score_matrix
from exaln.engines.tasks import PairTask, QueryRows, ScanTask
from exaln.scoring.modes import LOCAL


@dataclass(frozen=True)
class Found:
    """Candidates with the ordinals and lengths of their targets."""

    query: np.ndarray
    ordinal: np.ndarray
    length: np.ndarray
    score: np.ndarray

    @property
    def triples(self):
        return list(zip(self.query.tolist(), self.ordinal.tolist(), self.score.tolist(), strict=True))


def scan_task(engine, queries, targets, scoring, cutoff=None, **more):
    """Queries (records) against targets (a view), for this engine."""
    return ScanTask(QueryRows.of_sequences(queries, scoring), engine.open(targets), cutoff, **more)


def scores(engine, queries, targets, scoring, progress=None):
    """int32[queries, targets], the targets in the order of the input."""
    return score_matrix(engine, scan_task(engine, queries, targets, scoring, progress=progress))


def located(candidates, targets):
    """Candidates with their targets."""
    origins = target_origins(targets, candidates.row)
    return Found(candidates.query, origins.ordinal, origins.length, candidates.score)


def scan(engine, queries, targets, scoring, cutoff=None, progress=None):
    """The candidates, piece by piece, with their targets."""
    task = scan_task(engine, queries, targets, scoring, cutoff, progress=progress)
    with closing(engine.scan(task)) as found:
        for candidates in found:
            yield located(candidates, targets)


def pair_task(queries, targets, pairs, scoring, mode=LOCAL, known_scores=None):
    """Pairs (with rows `query` and `target`) of two sets of records."""
    return PairTask(QueryRows.of_sequences(queries, scoring), targets, pairs.query, pairs.target, mode, known_scores)


def align_pairs(engine, queries, targets, pairs, scoring, mode=LOCAL, known_scores=None):
    """The alignments of these pairs by one call of the engine."""
    return engine.align(pair_task(queries, targets, pairs, scoring, mode, known_scores))


def score_pairs(engine, queries, targets, pairs, scoring, mode=LOCAL):
    """The scores of these pairs by one call of the engine."""
    return engine.score(pair_task(queries, targets, pairs, scoring, mode))
