"""Filters on the alignments of a query by the ranges of the query that they lie in, as BLAST has them.

All arrays have an element per alignment, in the order of a report: query by query, target by target, the alignments of
a target best first. Ranges are [query_start, query_end) on the query as given, on both strands.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.foundation.distinct import run_offsets
from exaln.search.ranking import report_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.search.options import SearchOptions

    Numbers = NDArray[np.integer]

OVERHANG = 3
"""Letters by which an alignment may extend beyond a better one of its target that envelops it, at each end."""


def subject_besthit(
    query: Numbers, ordinal: Numbers, strand: Numbers, query_start: Numbers, query_end: Numbers, score: Numbers
) -> NDArray[np.bool_]:
    """bool[n]: the alignments that BLAST's -subject_besthit keeps.

    The alignments of a target are taken by descending score, equal ones in order. Each that is still there drops those
    after it on its strand whose range lies within its own, give or take OVERHANG letters at either end. Then each that
    is left drops those after it on the other strand in the same way. The best alignment of a target always stays.

    >>> both = np.zeros(3, np.int64), np.zeros(3, np.int64)
    >>> start, end, score = np.array([0, 7, 40]), np.array([50, 53, 54]), np.array([90, 60, 20])
    >>> subject_besthit(*both, np.array([1, 1, 1]), start, end, score).tolist()
    [True, False, True]
    """
    keeps = np.ones(len(query), np.bool_)
    for first, end in pairwise(run_offsets(query, ordinal).tolist()):
        if end - first > 1:
            own = slice(first, end)
            keeps[own] = _besthit_of_target(strand[own], query_start[own], query_end[own], score[own])
    return keeps


def _besthit_of_target(strand: Numbers, start: Numbers, end: Numbers, score: Numbers) -> NDArray[np.bool_]:
    """bool[n]: which alignments of one target stay."""
    order = np.argsort(-score.astype(np.int64), kind="stable")
    strand, start, end = strand[order], start[order], end[order]
    keeps = np.ones(len(order), np.bool_)
    for same_strand in (True, False):
        for place in range(len(order) - 1):
            if keeps[place]:
                after = slice(place + 1, None)
                enveloped = (start[after] >= start[place] - OVERHANG) & (end[after] <= end[place] + OVERHANG)
                keeps[after] &= ~(enveloped & ((strand[after] == strand[place]) == same_strand))
    found = np.empty(len(order), np.bool_)
    found[order] = keeps
    return found


def report_list(
    query: NDArray[np.int64],
    evalue: NDArray[np.float64],
    score: NDArray[np.int64],
    ordinal: NDArray[np.int64],
    query_start: NDArray[np.int64],
    query_end: NDArray[np.int64],
    options: SearchOptions,
) -> NDArray[np.int64]:
    """int64[k]: the alignments that are reported, in the order of the report: culled, then cut to the best targets.

    The alignments of parts of a database that were listed so can be joined and listed again: those that were dropped in
    a part lie within better ones of that part.
    """
    every = report_order(query, evalue, score, ordinal, len(query)) if options.culling_limit else np.arange(len(query))
    if options.culling_limit:
        every = every[culled(query[every], query_start[every], query_end[every], score[every], options.culling_limit)]
    order = report_order(query[every], evalue[every], score[every], ordinal[every], options.max_target_seqs)
    return every[order]


def culled(query: Numbers, query_start: Numbers, query_end: Numbers, score: Numbers, limit: int) -> NDArray[np.bool_]:
    """bool[n]: the alignments that stay under BLAST's -culling_limit, as its help defines it.

    An alignment is dropped if its range lies within those of at least `limit` better alignments of the query, with
    whatever targets and on whatever strands. Better is a higher score, or an equal one earlier in the report. With a
    limit of 0 all stay. blastp and blastn also weigh lengths, and drop alignments of which only half is covered.

    >>> start, end, score = np.array([0, 0, 5, 5]), np.array([9, 9, 8, 12]), np.array([50, 40, 30, 20])
    >>> [culled(np.zeros(4, np.int64), start, end, score, limit).tolist() for limit in (1, 2)]
    [[True, False, False, True], [True, True, False, True]]
    """
    keeps = np.ones(len(query), np.bool_)
    order = np.lexsort((-score.astype(np.int64), query))
    for first, end in pairwise(run_offsets(query[order]).tolist() if limit else []):
        own = order[first:end]
        keeps[own] = _kept_of_query(query_start[own], query_end[own], limit)
    return keeps


def _kept_of_query(start: Numbers, end: Numbers, limit: int) -> NDArray[np.bool_]:
    """bool[n]: which ranges, best first, lie within fewer than `limit` of the earlier ones.

    Ranges that were dropped need not be counted: those that envelop a dropped one envelop what lies within it too.
    """
    keeps = np.zeros(len(start), np.bool_)
    kept_start, kept_end, n_kept = np.empty(len(start), np.int64), np.empty(len(start), np.int64), 0
    for place, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        around = (kept_start[:n_kept] <= first) & (kept_end[:n_kept] >= last)
        if np.count_nonzero(around) < limit:
            keeps[place] = True
            kept_start[n_kept], kept_end[n_kept] = first, last
            n_kept += 1
    return keeps
