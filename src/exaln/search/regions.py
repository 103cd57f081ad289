"""The parts of targets that are aligned: whole targets, or the surroundings of the ends of alignments in long ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.tasks import TargetEnds
from exaln.foundation.distinct import run_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.search.ranking import Ranked


LEADS = (1 << 9, 1 << 12)
"""Columns that a region has before the first end of an alignment, in the first attempts; at last the widest span."""


@dataclass(frozen=True)
class Regions:
    """Parts of ranked targets that hold all their alignments above the cutoff. Arrays of equal length, by target.

    hit: int64, the place of the target in the ranking; strand: int8; start, end: int64, of the part; score: int64, the
    best in it; upper, margin: int64, as in `TargetEnds`.
    """

    hit: NDArray[np.int64]
    strand: NDArray[np.int8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    score: NDArray[np.int64]
    upper: NDArray[np.int64]
    margin: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hit)

    def take(self, places: NDArray[Any]) -> Regions:
        """Some of them, by index or mask."""
        return Regions(*(getattr(self, field.name)[places] for field in fields(self)))

    @property
    def ends(self) -> TargetEnds:
        """For engines: what is known of the columns before the regions."""
        return TargetEnds(self.upper, self.margin)


def regions_of(
    candidates: Ranked, hit: NDArray[np.int64], lead: NDArray[np.int64], upper: NDArray[np.int64]
) -> Regions:
    """The regions of targets of which these are all candidates: whole targets, or parts in which alignments end.

    hit: int64[n_candidates], the place of the target in the ranking; lead: int64[n_candidates], the columns before a
    candidate that its region has; upper: int64[n_candidates], the most that H can be outside of all candidates, or 0 if
    no alignment that ends in a candidate begins before its lead.

    A region begins outside of all candidates, or with the target, so that regions do not overlap.
    """
    order = np.lexsort((candidates.start, -candidates.strand, hit))
    found, hit, lead, upper = candidates.take(order), hit[order], lead[order], upper[order]
    groups = run_offsets(hit, found.strand)
    group = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    start, longest = np.maximum(found.start - lead, 0), 1 + int(found.length.max(initial=0))
    covered = np.maximum.accumulate(found.end + longest * group) - longest * group
    is_first = np.ones(len(hit), np.bool_)
    is_first[1:] = (np.diff(group) != 0) | (start[1:] >= covered[:-1])
    first = np.flatnonzero(is_first)
    group_end = np.append(first[1:], len(hit)) - 1
    best = np.maximum.reduceat(found.score.astype(np.int64), first) if len(first) else np.empty(0, np.int64)
    start = start[first]
    return Regions(
        hit[first],
        found.strand[first],
        start,
        covered[group_end],
        best,
        np.where(start > 0, upper[first], 0),
        found.start[first] - start,
    )


def places_among(targets: Ranked, candidates: Ranked) -> NDArray[np.int64]:
    """int64[n]: the place in `targets` of the target of each candidate, or -1."""
    if not len(targets):
        return np.full(len(candidates), -1)
    n = 1 + max(int(targets.ordinal.max()), int(candidates.ordinal.max(initial=0)))
    keys = targets.query * n + targets.ordinal
    order = np.argsort(keys)
    wanted = candidates.query * n + candidates.ordinal
    place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
    return np.where(keys[order][place] == wanted, order[place], -1)
