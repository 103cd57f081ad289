"""Long pairs among others: they are aligned one by one, over the whole machine, and take their places again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import Paths
from exaln.engines.contracts import Engine, PairList, Pairs, Traces
from exaln.pairwise.long.driver import IN_MEMORY, LongOptions, align_long, score_long
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.records import Records

    Aligned = tuple[NDArray[np.int64], Traces]  # scores and alignments of some pairs

SHORT, UNEVEN = 4096, 32
"""A sequence shorter than this, with one so many times as long, is no long pair: parts of the longer one side by side
are sooner done.
"""


def are_long(engine: Engine, queries: Records, targets: Records, pairs: PairList | Pairs) -> NDArray[np.bool_]:
    """bool[n]: which of these pairs the engine should align one by one."""
    rows, columns = queries.lengths[pairs.query], targets.lengths[pairs.target]
    shorter, longer = np.minimum(rows, columns), np.maximum(rows, columns)
    is_uneven = (shorter < SHORT) & (longer >= UNEVEN * shorter)
    return np.asarray((rows * columns > engine.long_pair_cells(len(pairs))) & ~is_uneven, np.bool_)


def align_alone(
    engine: Engine,
    queries: Records,
    targets: Records,
    pairs: PairList | Pairs,
    row: int,
    scoring: Scoring,
    mode: Mode,
    options: LongOptions = IN_MEMORY,
) -> Aligned:
    """One pair of many, as a long one."""
    found = align_long(engine, *_sequences(queries, targets, pairs, row), scoring, mode, options)
    return np.array([found.score], np.int64), Traces(
        positions=np.array([found.positions], np.int64),
        counts=np.array([found.counts], np.int32),
        paths=Paths(found.operations, offsets_of([len(found.operations)])),
    )


def score_alone(
    engine: Engine,
    queries: Records,
    targets: Records,
    pairs: PairList,
    row: int,
    scoring: Scoring,
    mode: Mode,
    options: LongOptions = IN_MEMORY,
) -> int:
    """Its score alone."""
    return score_long(engine, *_sequences(queries, targets, pairs, row), scoring, mode, options)


def _sequences(
    queries: Records, targets: Records, pairs: PairList | Pairs, row: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    return queries.sequence(int(pairs.query[row])), targets.sequence(int(pairs.target[row]))


def align_apart(
    engine: Engine,
    queries: Records,
    targets: Records,
    pairs: PairList | Pairs,
    scoring: Scoring,
    mode: Mode,
    align_rest: Callable[[NDArray[np.int64]], Aligned],
) -> Aligned:
    """All pairs, of which those that are long are aligned one by one, and the rows of the rest by `align_rest`."""
    is_long = are_long(engine, queries, targets, pairs)
    rest, alone = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    if not len(alone):
        return align_rest(rest)
    parts = [align_alone(engine, queries, targets, pairs, row, scoring, mode) for row in alone.tolist()]
    if len(rest):
        parts.insert(0, align_rest(rest))
    scores, traces = zip(*parts, strict=True)
    order = np.argsort(np.concatenate([rest, alone]))
    return np.concatenate(scores)[order], Traces.joined(traces).taken(order)


def score_apart(
    engine: Engine,
    queries: Records,
    targets: Records,
    pairs: PairList,
    scoring: Scoring,
    mode: Mode,
    score_rest: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """The scores alone, likewise."""
    is_long = are_long(engine, queries, targets, pairs)
    scores = np.empty(len(pairs), np.int64)
    for row in np.flatnonzero(is_long).tolist():
        scores[row] = score_alone(engine, queries, targets, pairs, row, scoring, mode)
    rest = np.flatnonzero(~is_long)
    if len(rest):
        scores[rest] = score_rest(rest)
    return scores
