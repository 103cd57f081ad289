"""Pairs of sequences for the studies, made from fixed seeds, and the expected alignments.

Scores come from the reference engine, paths from the cpu engine, whose scores must be equal. For large batches only a
sample is compared with the reference engine; pairs that are too large for it are compared with the cpu engine only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.aligned_pairs import PairList
from exaln.alignments.cigar import OPERATIONS
from exaln.engines.bench.cpu import synthetic_proteins
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.engine import local_score
from exaln.errors import EngineError
from exaln.pairwise.pairs import pair_task
from exaln.pairwise.routing import align_pairs, score_pairs
from exaln.scoring.modes import LOCAL
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import PairTask
    from exaln.scoring.scoring import Scoring

    Codes = NDArray[np.uint8]

SEED = 8
CHANGED = 0.25
"""Share of the letters that differ in the second sequence: replaced, or (a tenth each) deleted or duplicated."""

LETTERS = {"nucleotides": "ACGT", "proteins": "ARNDCQEGHILKMFPSTWYV"}
SAMPLED = 24
"""Number of pairs of a batch whose scores are compared with the reference engine."""

LARGEST_REFERENCE = 1 << 28
"""Largest number of cells of a pair for the reference engine: some seconds."""


@dataclass(frozen=True)
class Answer:
    """The best local alignment of a pair. steps: its path from the start, M, D (target only), I (query only)."""

    score: int
    query_end: int
    target_end: int
    steps: str


def similar_pair(kind: str, length: int, seed: int = SEED) -> tuple[Codes, Codes]:
    """Two similar sequences of equal length, nucleotides or proteins, both encoded as proteins."""
    random = np.random.default_rng((seed, length))
    codes = PROTEIN.encode(LETTERS[kind])
    if kind == "proteins":
        first = synthetic_proteins(random, np.array([length])).codes.copy()
    else:
        first = codes[random.integers(0, len(codes), length)]
    return first, changed(random, first, codes)


def changed(random: np.random.Generator, sequence: Codes, letters: Codes) -> Codes:
    """Return a similar sequence of the same length."""
    n = len(sequence)
    what = random.random(n)
    other = letters[random.integers(0, len(letters), n)]
    kept = np.where(what < CHANGED, other, sequence)
    n_copies = np.ones(n, np.int64)
    n_copies[what < CHANGED / 10] = 0
    n_copies[(what >= CHANGED / 10) & (what < CHANGED / 5)] = 2
    longer = np.concatenate([np.repeat(kept, n_copies), letters[random.integers(0, len(letters), n)]])
    return np.ascontiguousarray(longer[:n], np.uint8)


def task_of(queries: list[Codes], targets: list[Codes], scoring: Scoring) -> PairTask:
    """The pairs queries[i], targets[i] as a task for engines, in local mode."""
    rows = np.arange(len(queries), dtype=np.int64)
    records = [Records.of(scoring.alphabet, sequences) for sequences in (queries, targets)]
    return pair_task(records[0], records[1], PairList(rows, rows), scoring, LOCAL)


def answer_of(query: Codes, target: Codes, scoring: Scoring) -> Answer:
    """The best alignment of one pair; its score is checked with the reference engine."""
    (answer,) = answers_of([query], [target], scoring)
    return answer


def answers_of(queries: list[Codes], targets: list[Codes], scoring: Scoring) -> list[Answer]:
    """The best alignments of pairs by the cpu engine; a sample of scores is checked with the reference engine.

    Raises EngineError if they differ.
    """
    aligned = CpuEngine().align(task_of(queries, targets, scoring))
    scores = aligned.scores
    for i in np.unique(np.linspace(0, len(queries) - 1, SAMPLED).astype(int)) if queries else ():
        is_small = len(queries[i]) * len(targets[i]) <= LARGEST_REFERENCE
        expected = local_score(queries[i], targets[i], scoring) if is_small else scores[i]
        if scores[i] != expected:
            raise EngineError(f"pair {i}: the cpu engine's score is {scores[i]}, and must be {expected}")
    paths, offsets = aligned.paths.operations, aligned.paths.offsets
    return [
        Answer(int(score), int(ends[1]), int(ends[3]), steps_of(paths[offsets[i] : offsets[i + 1]]))
        for i, (score, ends) in enumerate(zip(scores, aligned.positions, strict=True))
    ]


def score_by(engine: Engine, query: Codes, target: Codes, scoring: Scoring) -> int:
    """The score of one pair by an engine; a long pair uses the whole machine or device."""
    return int(score_pairs(engine, task_of([query], [target], scoring))[0])


def align_by(engine: Engine, query: Codes, target: Codes, scoring: Scoring) -> Answer:
    """The alignment of one pair by an engine."""
    result = align_pairs(engine, task_of([query], [target], scoring))
    _, query_end, _, target_end = result.positions[0].tolist()
    return Answer(int(result.scores[0]), query_end, target_end, steps_of(result.paths.operations))


def steps_of(operations: NDArray[np.uint32]) -> str:
    """Convert a path to one letter per column: M for = and X.

    >>> steps_of(np.array([2 << 4 | OPERATIONS.index("="), 1 << 4 | OPERATIONS.index("D")], np.uint32))
    'MMD'
    """
    letters = ("M" if OPERATIONS[op & 15] in "=X" else OPERATIONS[op & 15] for op in operations.tolist())
    return "".join(letter * (op >> 4) for letter, op in zip(letters, operations.tolist(), strict=True))
