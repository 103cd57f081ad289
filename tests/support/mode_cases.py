"""Shared by tests of alignment modes: a list of all modes, scores of the oracle, and alignments with checks."""

from __future__ import annotations

from itertools import combinations, groupby
from typing import Any

import numpy as np

import engine_calls
import oracle
from exaln.alignments.aligned_pairs import PairList
from exaln.alignments.cigar import OPERATIONS
from exaln.engines.choice import choose_engine
from exaln.scoring.modes import ENDS, GLOBAL, LOCAL, Mode
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records

ALL_MODES = [
    LOCAL,
    *(Mode.parse(f"free:{','.join(ends)}") for n in (1, 2, 3, 4) for ends in combinations(ENDS, n)),
    GLOBAL,
]


TWO, FOUR = Alphabet("two", "HP"), Alphabet("four", "WXYZ")


def free_ends(mode: Mode) -> list[str]:
    """The free ends of a mode: any of qs, qe, ts, te."""
    return [end for end, attribute in ENDS.items() if getattr(mode, attribute)]


def oracle_score(query: list[int], target: list[int], scoring: Scoring, mode: Mode) -> float:
    """The score of two sequences of codes by the oracle."""
    costs = scoring.matrix.tolist(), scoring.gap_open, scoring.gap_extend
    if mode.is_local:
        return oracle.smith_waterman(query, target, *costs)
    return oracle.aligned_score(query, target, *costs, free=free_ends(mode))


def expanded(operations: np.ndarray[Any, Any]) -> str:
    """A path with one letter per column."""
    return "".join(OPERATIONS[run & 15] * (run >> 4) for run in operations.tolist())


def rescored(path: str, query: list[int], target: list[int], scoring: Scoring) -> int:
    """The score of a path through these codes; asserts that = and X are right and that all codes are used."""
    score, last = 0, ""
    letters, others = iter(query), iter(target)
    for step in path:
        if step in "=X":
            a, b = next(letters), next(others)
            assert (a == b) == (step == "=")
            score += int(scoring.matrix[a, b])
        else:
            next(letters if step == "I" else others)
            score -= scoring.gap_extend + scoring.gap_open * (step != last)
        last = step
    assert [*letters, *others] == []
    return score


def aligned(
    engine: str, queries: list[list[int]], targets: list[list[int]], scoring: Scoring, mode: Mode
) -> list[tuple[int, list[int], str]]:
    """(score, positions, path) of each pair by an engine, after checks of their consistency."""
    first, second = (
        Records.of(scoring.alphabet, [np.array(one, np.uint8) for one in some]) for some in (queries, targets)
    )
    pairs = PairList(np.arange(len(queries)), np.arange(len(queries)))
    working = choose_engine(engine, threads=1)
    traces = engine_calls.align_pairs(working, first, second, pairs, scoring, mode)
    scores = traces.scores
    assert scores.dtype == traces.positions.dtype == np.int64
    assert engine_calls.score_pairs(working, first, second, pairs, scoring, mode).tolist() == scores.tolist()
    found = []
    for i, (query, target) in enumerate(zip(queries, targets, strict=True)):
        path, (q0, q1, t0, t1) = expanded(traces.paths[i]), traces.positions[i].tolist()
        score = int(scores[i])
        assert rescored(path, query[q0:q1], target[t0:t1], scoring) == score
        for is_free, is_complete in (
            (mode.query_start, q0 == 0),
            (mode.query_end, q1 == len(query)),
            (mode.target_start, t0 == 0),
            (mode.target_end, t1 == len(target)),
        ):
            assert is_free or is_complete
        assert mode.is_local or ((q0 == 0 or t0 == 0) and (q1 == len(query) or t1 == len(target)))
        identities, _, mismatches, gap_opens, gaps, columns = traces.counts[i].tolist()
        assert (identities, mismatches, gaps, columns) == (
            path.count("="),
            path.count("X"),
            path.count("D") + path.count("I"),
            len(path),
        )
        assert gap_opens == sum(step in "DI" for step, _ in groupby(path))
        found.append((score, [q0, q1, t0, t1], path))
    return found
