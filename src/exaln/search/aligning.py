"""From ranked targets to their alignments: one for each target, or all that reach the cutoff.

regions of the targets -> sequences of these regions -> engine -> alignments in terms of query and target as given
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
from exaln.alignments.strands import positions_as_given, reverse_paths
from exaln.engines.tasks import PairTask, SeveralTask
from exaln.pairwise.routing import align_pairs, batches
from exaln.scoring.modes import LOCAL
from exaln.search.regions import LEADS, Regions, regions_of
from exaln.sequences.records import read_only
from exaln.statistics.composition import TABLES_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import QueryRows, TargetEnds
    from exaln.search.evaluation import HitEvaluator
    from exaln.search.ranking import Ranked
    from exaln.search.regions import Ends
    from exaln.search.rescoring import Rescoring
    from exaln.sequences.records import Records


NOT_ADJUSTED: NDArray[np.uint8] = read_only(np.empty(0, np.uint8))
"""The adjustment of an alignment that is not rescored."""

NARROW, LARGE = 8, 1 << 24
"""Pairs are narrow if one sequence is NARROW times as long as the other, and large from LARGE cells on."""


@dataclass(frozen=True)
class TargetAlignments:
    """Alignments of ranked targets, target by target, the best of each first. Arrays of equal length.

    hit: int64, the place of the target in the ranking, ascending; strand: int8; aligned: with positions in the query as
    given and in the stored target; bits, evalue: float64; slices: the codes of the aligned part of each target;
    adjustments: of rescored pairs, as `rescoring.adjustment` makes them, else empty.
    is_cut: bool[n_targets], whether the target has more alignments than the cap allows.
    """

    hit: NDArray[np.int64]
    strand: NDArray[np.int8]
    aligned: AlignedPairs
    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]
    slices: Sequence[NDArray[np.uint8]]
    adjustments: Sequence[NDArray[np.uint8]]
    is_cut: NDArray[np.bool_]

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
            [self.adjustments[place] for place in places.tolist()],
            self.is_cut,
        )

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
            [shown for part in parts for shown in part.adjustments],
            np.concatenate([np.empty(0, np.bool_), *(part.is_cut for part in parts)]),
        )


@dataclass(frozen=True)
class AlignedRegions:
    """Regions and their alignments. found: of the regions, by their number; slices: the aligned codes of targets;
    adjustments: see `TargetAlignments`.
    """

    regions: Regions
    found: SeveralAligned
    slices: Sequence[NDArray[np.uint8]]
    adjustments: Sequence[NDArray[np.uint8]]

    def taken(self, is_kept: NDArray[np.bool_]) -> AlignedRegions:
        """Some of the regions. is_kept: bool[n_regions]."""
        own = np.flatnonzero(is_kept[self.found.pair])
        found = replace(self.found.taken(own), uncertain=self.found.uncertain[:0]).of_pairs(np.cumsum(is_kept) - 1)
        slices, adjustments = ([of[place] for place in own.tolist()] for of in (self.slices, self.adjustments))
        return AlignedRegions(self.regions.take(is_kept), found, slices, adjustments)

    @staticmethod
    def joined(parts: Sequence[AlignedRegions]) -> AlignedRegions:
        """The regions of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        firsts = np.cumsum([0, *(len(part.regions) for part in parts)])
        found = [
            part.found.of_pairs(np.arange(first, end))
            for part, first, end in zip(parts, firsts[:-1], firsts[1:], strict=True)
        ]
        slices = [codes for part in parts for codes in part.slices]
        adjustments = [shown for part in parts for shown in part.adjustments]
        regions = Regions.joined([part.regions for part in parts])
        return AlignedRegions(regions, SeveralAligned.joined(found), slices, adjustments)


class Aligner:
    """Aligns the ranked targets of one block of queries.

    queries: as given; rows: as scanned, on one strand or two. sequences: returns the sequences of the regions of some
    ranked targets, and int64[n], which belongs to each. rescoring: of the ranked targets, None if their scores are
    those of the scan.
    """

    def __init__(
        self,
        engine: Engine,
        evaluator: HitEvaluator,
        queries: Records,
        rows: QueryRows,
        sequences: Callable[[Ranked, Regions], tuple[Records, NDArray[np.int64]]],
        rescoring: Rescoring | None = None,
    ) -> None:
        self._rescoring = rescoring
        self._engine, self._evaluator = engine, evaluator
        self._queries, self._rows, self._sequences = queries, rows, sequences
        self._most = evaluator.alignments_per_target

    def align(self, ranked: Ranked, ends: Ends) -> TargetAlignments:
        """The alignments of these targets.

        Regions begin a little before the first end of an alignment, further away where that was not enough, and at last
        where no alignment can begin earlier. For one alignment of a target they begin there at once, because its score
        is known, which limits how far away that is.
        """
        lead = np.clip(ends.span, 0, None if self._most == 1 else LEADS[0])
        done: list[AlignedRegions] = []
        for attempt in range(len(LEADS) + 1):
            regions, region = regions_of(ends, lead)
            regions = replace(regions, least=np.maximum(regions.least, _score_of_place(regions, self._most_asked)))
            is_asked = np.ones(len(regions), np.bool_)
            done = [part.taken(regions.holds(part.regions)) for part in done]
            for part in done:
                is_asked &= ~part.regions.holds(regions)
            asked = np.flatnonzero(is_asked)
            found = self._aligned(ranked, regions.take(asked))
            uncertain = asked[found.found.uncertain]
            is_certain = np.ones(len(asked), np.bool_)
            is_certain[found.found.uncertain] = False
            done.append(found.taken(is_certain))
            if not len(uncertain):
                break
            if attempt + 1 < len(LEADS):
                own = np.isin(region, uncertain)
                lead[own] = np.clip(ends.span[own], 0, LEADS[attempt + 1])
            else:
                own = np.isin(ends.hit, regions.hit[uncertain])
                lead[own] = np.maximum(ends.span[own], 0)
        return self._in_given_terms(AlignedRegions.joined(done), ranked)

    def _aligned(self, ranked: Ranked, regions: Regions) -> AlignedRegions:
        """The alignments of these regions, of which some may be uncertain."""
        if self._rescoring is not None:
            return self._rescored(self._rescoring, ranked, regions)
        targets, places = self._sequences(ranked, regions)
        query_row = rows_on_strands(self._rows, len(self._queries), ranked.query[regions.hit], regions.strand)
        task = PairTask(self._rows, targets, query_row, places, LOCAL, known_scores=regions.score)
        alone, others = np.flatnonzero(self._is_alone(task)), np.flatnonzero(~self._is_alone(task))
        first = SeveralAligned(alone, align_pairs(self._engine, task.taken(alone)))
        several = self._several(task.taken(others), regions.least[others], regions.ends.taken(others))
        found = SeveralAligned.joined([first, several.of_pairs(others)])
        slices = _slices(targets, places[found.pair], found.aligned.positions)
        return AlignedRegions(regions, found, slices, [NOT_ADJUSTED] * len(slices))

    def _rescored(self, rescoring: Rescoring, ranked: Ranked, regions: Regions) -> AlignedRegions:
        """The alignments of whole targets under the tables of their pairs."""
        parts = []
        for first in range(0, max(len(regions), 1), TABLES_AT_ONCE):
            own = regions.take(np.arange(first, min(first + TABLES_AT_ONCE, len(regions))))
            pairs = rescoring.pairs(ranked.take(own.hit), own.score)
            found = self._several(pairs.task, own.least, own.ends)
            aligned = found.aligned
            slices, adjustments = pairs.slices(aligned, found.pair), pairs.adjustments(aligned, found.pair)
            found = replace(found, aligned=pairs.recounted(aligned, found.pair))
            parts.append(AlignedRegions(own, found, slices, adjustments))
        return AlignedRegions.joined(parts)

    def _is_alone(self, task: PairTask) -> NDArray[np.bool_]:
        """bool[n]: the pairs of which one alignment is asked for, except large and narrow ones, which are found sooner
        as several are.
        """
        rows, columns = task.shapes
        is_narrow = np.maximum(rows, columns) >= NARROW * np.minimum(rows, columns)
        return (self._most == 1) & ~(is_narrow & (task.cells >= LARGE))

    @property
    def _most_asked(self) -> int:
        """Alignments of a region that are asked for: one more than a cap, which is reported when it cuts."""
        return self._most + self._evaluator.has_cap

    def _several(self, task: PairTask, least: NDArray[np.int64], ends: TargetEnds) -> SeveralAligned:
        """All alignments of each region with at least these scores, as many as are asked for at most."""
        parts = []
        for first, end in batches(task.cells):
            own = slice(first, end)
            several = SeveralTask(task.taken(own), self._most_asked, least[own], ends.taken(own))
            parts.append(self._engine.align_several(several).of_pairs(np.arange(first, end)))
        return SeveralAligned.joined(parts)

    def _in_given_terms(self, done: AlignedRegions, ranked: Ranked) -> TargetAlignments:
        """The best alignments of each target, as many as are asked for, in terms of the query as given.

        Alignments of one score come plus strand first, then by their ends on their strand, as they are found.
        """
        found, regions = done.found, done.regions
        hit, strand, start = regions.hit[found.pair], regions.strand[found.pair], regions.start[found.pair]
        ends, score = found.aligned.positions, found.aligned.scores
        evaluated = self._evaluator.evaluate(score, self._queries.lengths[ranked.query[hit]], ranked.length[hit])
        order = np.lexsort((ends[:, 1], start + ends[:, 3], -strand, -score, hit))
        order = order[evaluated.passes[order]]
        place = np.arange(len(order)) - np.searchsorted(hit[order], hit[order])
        is_cut = (np.bincount(hit[order], minlength=len(ranked)) > self._most) & self._evaluator.has_cap
        order = order[place < self._most]
        aligned = found.aligned.taken(order)
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
            [done.slices[place] for place in order.tolist()],
            [done.adjustments[place] for place in order.tolist()],
            is_cut,
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


def rows_on_strands(
    rows: QueryRows, n_queries: int, query: NDArray[np.int64], strand: NDArray[np.int8]
) -> NDArray[np.int64]:
    """int64[n]: the row of each query on its strand; with both strands, the reverse complements follow all queries."""
    has_both = len(rows) > n_queries
    found: NDArray[np.int64] = query + (n_queries if has_both else 0) * (strand < 0)
    return found


def _score_of_place(regions: Regions, most: int) -> NDArray[np.int64]:
    """int64[n]: for each region, the score of place `most` among the best ones of all regions of its target, or 0.

    If no alignment lies in two of the regions, that many alignments of the target have it, so those with lower scores
    are not asked for. Where some do, the regions become one, and others are asked again if their place has changed.
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
