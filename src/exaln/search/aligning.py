"""From ranked targets to their alignments: one for each target, or all that reach the cutoff.

regions of the targets -> sequences of these regions -> engine -> alignments in terms of query and target as given
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
from exaln.alignments.strands import positions_as_given, reverse_paths
from exaln.engines.tasks import PairTask, SeveralTask
from exaln.pairwise.routing import align_pairs, batches
from exaln.scoring.modes import LOCAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import QueryRows
    from exaln.search.evaluation import HitEvaluator
    from exaln.search.options import SearchOptions
    from exaln.search.ranking import Ranked
    from exaln.search.regions import Regions
    from exaln.sequences.records import Records


@dataclass(frozen=True)
class TargetAlignments:
    """Alignments of ranked targets, target by target, the best of each first. Arrays of equal length.

    hit: int64, the place of the target in the ranking, ascending; strand: int8; aligned: with positions in the query as
    given and in the stored target; bits, evalue: float64; slices: the codes of the aligned part of each target.
    is_cut: bool[n_targets], whether the target has more alignments than were asked for; is_certain: bool[n_targets],
    whether these are its alignments, or its regions must be wider.
    """

    hit: NDArray[np.int64]
    strand: NDArray[np.int8]
    aligned: AlignedPairs
    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]
    slices: Sequence[NDArray[np.uint8]]
    is_cut: NDArray[np.bool_]
    is_certain: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.hit)

    def take(self, places: NDArray[np.int64]) -> TargetAlignments:
        """Some of them, in this order."""
        return TargetAlignments(
            self.hit[places],
            self.strand[places],
            self.aligned.taken(places),
            self.bits[places],
            self.evalue[places],
            [self.slices[place] for place in places.tolist()],
            self.is_cut,
            self.is_certain,
        )

    def taken(self, targets: NDArray[np.bool_]) -> TargetAlignments:
        """The alignments of some of the targets; the others have none."""
        if targets.all():
            return self
        return replace(self.take(np.flatnonzero(targets[self.hit])), is_cut=self.is_cut & targets)

    @staticmethod
    def merged(parts: Sequence[TargetAlignments]) -> TargetAlignments:
        """The alignments of all parts, each of which has those of some of the same targets."""
        if len(parts) == 1:
            return parts[0]
        n, joined = len(parts[0].is_cut), TargetAlignments.joined(parts)
        joined = replace(
            joined,
            hit=joined.hit % n,
            is_cut=np.logical_or.reduce([part.is_cut for part in parts]),
            is_certain=np.logical_or.reduce([part.is_certain for part in parts]),
        )
        return joined.take(np.argsort(joined.hit, kind="stable"))

    @staticmethod
    def joined(parts: Sequence[TargetAlignments]) -> TargetAlignments:
        """The alignments of all parts; the targets of each part follow those of the part before."""
        firsts = np.cumsum([0, *(len(part.is_cut) for part in parts)])
        return TargetAlignments(
            np.concatenate([np.empty(0, np.int64), *(p.hit + first for p, first in zip(parts, firsts, strict=False))]),
            np.concatenate([np.empty(0, np.int8), *(part.strand for part in parts)]),
            AlignedPairs.joined([part.aligned for part in parts]),
            np.concatenate([np.empty(0), *(part.bits for part in parts)]),
            np.concatenate([np.empty(0), *(part.evalue for part in parts)]),
            [codes for part in parts for codes in part.slices],
            np.concatenate([np.empty(0, np.bool_), *(part.is_cut for part in parts)]),
            np.concatenate([np.empty(0, np.bool_), *(part.is_certain for part in parts)]),
        )


class Aligner:
    """Aligns the ranked targets of one block of queries. queries: as given; rows: as scanned, on one strand or two."""

    def __init__(
        self,
        engine: Engine,
        evaluator: HitEvaluator,
        options: SearchOptions,
        queries: Records,
        rows: QueryRows,
    ) -> None:
        self._engine, self._evaluator, self._options = engine, evaluator, options
        self._queries, self._rows = queries, rows
        self._most = evaluator.alignments_per_target

    def align(self, ranked: Ranked, regions: Regions, targets: Records, places: NDArray[np.int64]) -> TargetAlignments:
        """The alignments of these targets. targets, places: the sequences of regions, and which belongs to each."""
        query_row = self._query_rows(ranked.query[regions.hit], regions.strand)
        task = PairTask(self._rows, targets, query_row, places, LOCAL, known_scores=regions.score)
        is_alone = regions.upper == 0 if self._most == 1 else np.zeros(len(regions), np.bool_)
        alone, others = np.flatnonzero(is_alone), np.flatnonzero(~is_alone)
        first = SeveralAligned(alone, align_pairs(self._engine, task.taken(alone)))
        several = self._several(task.taken(others), ranked, regions.take(others))
        found = SeveralAligned.joined([first, several.of_pairs(others)])
        is_certain = np.ones(len(ranked), np.bool_)
        is_certain[regions.hit[found.uncertain]] = False
        return self._in_given_terms(found, ranked, regions, targets, places, is_certain)

    def _query_rows(self, query: NDArray[np.int64], strand: NDArray[np.int8]) -> NDArray[np.int64]:
        """The row of each query on its strand; with both strands, the reverse complements follow all queries."""
        has_both = len(self._rows) > len(self._queries)
        rows: NDArray[np.int64] = query + (len(self._queries) if has_both else 0) * (strand < 0)
        return rows

    def _several(self, task: PairTask, ranked: Ranked, regions: Regions) -> SeveralAligned:
        """All alignments of each region that reach the cutoff, one more than the limit at most."""
        query_length, ends = self._queries.lengths[ranked.query[regions.hit]], regions.ends
        most, parts = self._most + (self._options.max_hsps is None), []
        least = self._evaluator.least_scores(query_length, ranked.length[regions.hit])
        least = np.maximum(least, _score_of_place(regions, most))
        for first, end in batches(task.cells):
            own = slice(first, end)
            found = self._engine.align_several(SeveralTask(task.taken(own), most, least[own], ends.taken(own)))
            parts.append(found.of_pairs(np.arange(first, end)))
        return SeveralAligned.joined(parts)

    def _in_given_terms(
        self,
        found: SeveralAligned,
        ranked: Ranked,
        regions: Regions,
        targets: Records,
        places: NDArray[np.int64],
        is_certain: NDArray[np.bool_],
    ) -> TargetAlignments:
        """The best alignments of each target, as many as are asked for, in terms of the query as given.

        Alignments of one score come plus strand first, then by their ends on their strand, as they are found.
        """
        hit, strand, region = regions.hit[found.pair], regions.strand[found.pair], found.pair
        start, ends = regions.start[region], found.aligned.positions
        score = found.aligned.scores
        evaluated = self._evaluator.evaluate(score, self._queries.lengths[ranked.query[hit]], ranked.length[hit])
        order = np.lexsort((ends[:, 1], start + ends[:, 3], -strand, -score, hit))
        order = order[evaluated.passes[order]]
        place = np.arange(len(order)) - np.searchsorted(hit[order], hit[order])
        is_cut = np.bincount(hit[order], minlength=len(ranked)) > self._most
        order = order[place < self._most]
        aligned, region = found.aligned.taken(order), region[order]
        codes = _slices(targets, places[region], aligned.positions)
        positions = aligned.positions + start[order][:, np.newaxis] * np.array([0, 0, 1, 1])
        aligned = self._on_given_strand(
            replace(aligned, positions=positions), strand[order], ranked.query[hit[order]]
        ).counted_in(self._queries.alphabet)
        return TargetAlignments(
            hit[order],
            strand[order],
            aligned,
            evaluated.bits[order],
            evaluated.evalue[order],
            codes,
            is_cut,
            is_certain,
        )

    def _on_given_strand(
        self, aligned: AlignedPairs, strand: NDArray[np.int8], query: NDArray[np.int64]
    ) -> AlignedPairs:
        """Alignments of reverse complements, in terms of the query as given: the path runs along it."""
        minus = strand < 0
        if not minus.any():
            return aligned
        positions = positions_as_given(aligned.positions, self._queries.lengths[query], minus)
        return replace(aligned, positions=positions, paths=reverse_paths(aligned.paths, minus))


def _score_of_place(regions: Regions, most: int) -> NDArray[np.int64]:
    """int64[n]: for each region, the score of place `most` among the best ones of all regions of its target, or 0.

    That many alignments of the target have it, so those with lower scores are not asked for.
    """
    order = np.lexsort((-regions.score, regions.hit))
    hit, score = regions.hit[order], regions.score[order]
    place = np.arange(len(hit)) - np.searchsorted(hit, hit)
    found = np.zeros(1 + int(hit.max(initial=0)), np.int64)
    is_place = place == most - 1
    found[hit[is_place]] = score[is_place]
    return found[regions.hit]


def _slices(targets: Records, places: NDArray[np.int64], positions: NDArray[Any]) -> list[NDArray[np.uint8]]:
    """The aligned part of each target, a copy; positions: within these sequences."""
    first = targets.offsets[places]
    begins, ends = (first + positions[:, 2]).tolist(), (first + positions[:, 3]).tolist()
    return [targets.codes[begin:end].copy() for begin, end in zip(begins, ends, strict=True)]
