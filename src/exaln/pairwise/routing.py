"""The one place where pairs are routed: to batches that an engine computes side by side, or one by one to `long`.

An engine says once, for all pairs of a call, which of them are long. Short queries in long targets stay in batches: the
engine cuts their targets into windows. Long pairs are computed region by region, over the whole machine, with the
caller's memory limit, work directory and progress.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs
from exaln.alignments.cigar import Paths
from exaln.errors import EngineError
from exaln.pairwise.long.options import IN_MEMORY, SCORES, LongOptions
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import PairTask, Progress

BATCH_PAIRS = 1 << 17
BATCH_CELLS = 1 << 36
"""Limits of a batch: pairs, and cells, unless one pair has more."""


def align_pairs(
    engine: Engine, task: PairTask, options: LongOptions = IN_MEMORY, progress: Progress | None = None
) -> AlignedPairs:
    """Scores and alignments of all pairs, in their order. progress: called with the cells done so far."""
    parts: list[AlignedPairs] = []
    places: list[NDArray[np.int64] | slice] = []
    for own, long_options in _parts(engine, task, options, progress):
        some = task.taken(own)
        parts.append(engine.align(some) if long_options is None else _align_long(engine, some, long_options))
        places.append(own)
    aligned = AlignedPairs.joined(parts)
    if all(isinstance(own, slice) for own in places):
        return aligned
    numbers = np.arange(len(task))
    return aligned.taken(np.argsort(np.concatenate([numbers[own] for own in places])))


def score_pairs(
    engine: Engine, task: PairTask, options: LongOptions = IN_MEMORY, progress: Progress | None = None
) -> NDArray[np.int64]:
    """int64[n]: scores of all pairs, in their order. progress: called with the cells done so far."""
    scores = np.empty(len(task), np.int64)
    for own, long_options in _parts(engine, task, options, progress):
        some = task.taken(own)
        if long_options is None:
            scores[own] = engine.score(some)
        else:
            from exaln.pairwise.long.driver import score_long

            scores[own] = score_long(engine, *_sequences(engine, some), task.scoring, task.mode, long_options)
    return scores


def _align_long(engine: Engine, task: PairTask, options: LongOptions) -> AlignedPairs:
    """The alignment of the only pair of a task."""
    from exaln.pairwise.long.driver import align_long

    found = align_long(engine, *_sequences(engine, task), task.scoring, task.mode, options)
    if task.known_scores is not None and found.score != task.known_scores[0]:
        raise EngineError("traceback failed: an alignment does not have the score of its pair")
    return AlignedPairs(
        scores=np.array([found.score], np.int64),
        positions=np.array([found.positions], np.int64),
        counts=np.array([found.counts], np.int32),
        paths=Paths(found.operations, offsets_of([len(found.operations)])),
    )


def _sequences(engine: Engine, task: PairTask) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    return task.queries.sequence(int(task.query[0]), engine.name), task.targets.sequence(int(task.target[0]))


def _parts(
    engine: Engine, task: PairTask, options: LongOptions, progress: Progress | None
) -> Iterator[tuple[NDArray[np.int64] | slice, LongOptions | None]]:
    """Yield the pairs to compute at a time: batches first, then each long pair with its options.

    Batches are slices, in order, if no pair is long. `progress` is called between them.
    """
    cells, is_long, done = task.cells, engine.is_long(task), 0
    short = np.flatnonzero(~is_long) if is_long.any() else None
    own_cells = cells if short is None else cells[short]
    for first, end in batches(own_cells, engine.tuning.pair_batches) if len(own_cells) or not len(task) else ():
        yield slice(first, end) if short is None else short[first:end], None
        if progress is not None or short is not None:
            done += int(own_cells[first:end].sum())
        if progress is not None:
            progress(done)
    for place in [] if short is None else np.flatnonzero(is_long).tolist():
        yield np.array([place]), _watched(options, progress, done)
        done += int(cells[place])
        if progress is not None:
            progress(done)


def _watched(options: LongOptions, progress: Progress | None, done: int) -> LongOptions:
    """Options that report the scored cells of a long pair, added to those done before."""
    if progress is None or options.watch is not None:
        return options

    def watch(stage: str, part: int, total: int) -> None:
        if stage == SCORES:
            progress(done + part)

    return replace(options, watch=watch)


def batches(cells: NDArray[np.int64], at_a_time: int = 1) -> Iterator[tuple[int, int]]:
    """Ranges of pairs with at most BATCH_PAIRS pairs and BATCH_CELLS cells, or one pair with more.

    at_a_time: multiplies both limits.

    >>> list(batches(np.array([1 << 35, 1 << 35, 5, 1 << 37, 1])))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    >>> list(batches(np.array([], np.int64)))
    [(0, 0)]
    """
    total, first = np.cumsum(cells), 0
    while True:
        done = int(total[first - 1]) if first else 0
        end = int(np.searchsorted(total, done + at_a_time * BATCH_CELLS, side="right"))
        end = min(max(end, first + 1), first + at_a_time * BATCH_PAIRS, len(cells))
        yield first, end
        first = end
        if first >= len(cells):
            return
