"""The parts of targets that are aligned: whole targets, or the surroundings of the ends of alignments in long ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.tasks import TargetEnds
from exaln.foundation.distinct import run_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.search.candidate_pruning import LocatedCandidates
    from exaln.search.ranking import Ranked


LEADS = (1 << 9, 1 << 12)
"""Columns that a region has before the first end of an alignment, in the first attempts; at last the widest span."""


@dataclass(frozen=True)
class Ends:
    """All parts of ranked targets in which alignments end, and whole targets. Arrays of equal length.

    candidates: the parts; hit: int64, the place of the target in the ranking; span: int64, the most columns of an
    alignment, at most those of its target; upper: int64, the most that H can be outside of all parts.
    """

    candidates: Ranked
    hit: NDArray[np.int64]
    span: NDArray[np.int64]
    upper: NDArray[np.int64]


@dataclass(frozen=True)
class Regions:
    """Parts of ranked targets that hold all their alignments above the cutoff. Arrays of equal length, by target.

    hit: int64, the place of the target in the ranking; strand: int8; start, end: int64, of the part; score: int64, the
    best in it; upper, margin: int64, as in `TargetEnds`; least: int64, the least score that is asked for.
    """

    hit: NDArray[np.int64]
    strand: NDArray[np.int8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    score: NDArray[np.int64]
    upper: NDArray[np.int64]
    margin: NDArray[np.int64]
    least: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hit)

    def take(self, places: NDArray[Any]) -> Regions:
        """Some of them, by index or mask."""
        return Regions(*(getattr(self, field.name)[places] for field in fields(self)))

    @staticmethod
    def joined(parts: Sequence[Regions]) -> Regions:
        """The regions of all parts, one part after the other."""
        return Regions(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Regions)))

    def holds(self, others: Regions) -> NDArray[np.bool_]:
        """bool[n_others]: which others are among these, with the same least scores."""
        if not len(self) or not len(others):
            return np.zeros(len(others), np.bool_)
        own = set(zip(*(column.tolist() for column in self._key), strict=True))
        return np.array([key in own for key in zip(*(column.tolist() for column in others._key), strict=True)])

    @property
    def _key(self) -> tuple[NDArray[Any], ...]:
        return self.hit, self.strand, self.start, self.end, self.least

    @property
    def ends(self) -> TargetEnds:
        """For engines: what is known of the columns before the regions."""
        return TargetEnds(self.upper, self.margin)


def regions_of(ends: Ends, lead: NDArray[np.int64]) -> tuple[Regions, NDArray[np.int64]]:
    """The regions of targets, and int64[n_candidates], the region that each candidate lies in.

    lead: int64[n_candidates], the columns before a candidate that its region has, at least 0. The column before a
    region is outside of all candidates, or the region begins with the target. With the widest span as lead no alignment
    begins before it.
    """
    order = np.lexsort((ends.candidates.start, -ends.candidates.strand, ends.hit))
    found, hit, lead = ends.candidates.take(order), ends.hit[order], lead[order]
    groups = run_offsets(hit, found.strand)
    group = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    start, longest = np.maximum(found.start - lead, 0), 1 + int(found.length.max(initial=0))
    covered = np.maximum.accumulate(found.end + longest * group) - longest * group
    is_first = np.ones(len(hit), np.bool_)
    is_first[1:] = (np.diff(group) != 0) | (start[1:] > covered[:-1])
    first = np.flatnonzero(is_first)
    region = np.empty(len(hit), np.int64)
    region[order] = np.cumsum(is_first) - 1
    start, is_bounded = start[first], lead[first] < ends.span[order][first]
    return Regions(
        hit[first],
        found.strand[first],
        start,
        covered[np.append(first[1:], len(hit))[: len(first)] - 1],
        np.maximum.reduceat(found.score.astype(np.int64), first) if len(first) else np.empty(0, np.int64),
        np.where((start > 0) & is_bounded, ends.upper[order][first], 0),
        found.start[first] - start,
        ends.upper[order][first] + 1,
    ), region


def places_among(targets: Ranked, candidates: Ranked | LocatedCandidates) -> NDArray[np.int64]:
    """int64[n]: the place in `targets` of the target of each candidate, or -1."""
    if not len(targets):
        return np.full(len(candidates), -1)
    n = 1 + max(int(targets.ordinal.max()), int(candidates.ordinal.max(initial=0)))
    keys = targets.query * n + targets.ordinal
    order = np.argsort(keys)
    wanted = candidates.query * n + candidates.ordinal
    place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
    return np.where(keys[order][place] == wanted, order[place], -1)
