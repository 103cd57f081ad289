"""The parts of targets that are aligned: whole targets, or the windows of long ones, joined where they overlap."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.search.ranking import Ranked


@dataclass(frozen=True)
class Regions:
    """Parts of ranked targets in which all their alignments above the cutoff lie. Arrays of equal length, by target.

    hit: int64, the place of the target in the ranking; strand: int8; start, end: int64, of the part; score: int64, the
    best in it.
    """

    hit: NDArray[np.int64]
    strand: NDArray[np.int8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    score: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hit)

    def take(self, places: NDArray[Any]) -> Regions:
        """Some of them, by index or mask."""
        return Regions(*(getattr(self, field.name)[places] for field in fields(self)))

    def of_hits(self, first: int, end: int) -> Regions:
        """Those of the targets [first, end) of the ranking, counted from `first`."""
        own = slice(*np.searchsorted(self.hit, [first, end]).tolist())
        return Regions(self.hit[own] - first, self.strand[own], self.start[own], self.end[own], self.score[own])


def regions_of(targets: Ranked, candidates: Ranked) -> Regions:
    """The regions of these targets. candidates: all that were found, among them those of the targets.

    Windows that overlap are joined, so that every alignment of the target above the cutoff lies within one region: it
    lies within a window, which is a candidate because its best score is no less.
    """
    hit = places_among(targets, candidates)
    own = np.flatnonzero(hit >= 0)
    order = own[np.lexsort((candidates.start[own], -candidates.strand[own], hit[own]))]
    found, hit = candidates.take(order), hit[order]
    if not len(hit):
        return Regions(hit, found.strand, found.start, found.end, found.score.astype(np.int64))
    is_first = np.ones(len(hit), np.bool_)
    is_same = (np.diff(hit) == 0) & (np.diff(found.strand) == 0)
    is_first[1:] = ~is_same | (found.start[1:] >= found.end[:-1])
    starts = np.flatnonzero(is_first)
    return Regions(
        hit[starts],
        found.strand[starts],
        found.start[starts],
        np.maximum.reduceat(found.end, starts),
        np.maximum.reduceat(found.score.astype(np.int64), starts),
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
