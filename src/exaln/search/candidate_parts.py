"""Where in long targets the alignments of some queries end: what has to be aligned.

candidates: whole targets, blocks of long targets, or windows -> narrower parts of windows -> blocks
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.gather import sequences_of
from exaln.database.windows import windows_of
from exaln.engines.tasks import PairTask
from exaln.foundation.distinct import distinct
from exaln.foundation.mapped_file import unchanged
from exaln.scoring.modes import LOCAL
from exaln.search.candidate_pruning import LocatedCandidates
from exaln.search.ranking import Ranked, empty_ranking
from exaln.search.regions import Ends, places_among
from exaln.search.scan_parts import END_COLUMNS, ScanPart, cutoff_of_long_targets, spans_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.search.pipeline import Block, Scanned, Search

WIDE_WINDOW, STEP_SPANS = 8, 2
"""Windows of at least so many spans are divided into parts of STEP_SPANS + 1 spans before ends are looked for."""


class CandidateParts:
    """The parts of targets in which alignments of a block of queries end."""

    def __init__(self, search: Search, block: Block) -> None:
        self._search, self._block = search, block

    def ends(self, scanned: Scanned, ranked: Ranked) -> Ends:
        """The parts of these targets in which alignments end, and whole targets that are not long."""
        candidates = self._of_targets(scanned, ranked)
        hit = places_among(ranked, candidates)
        if self._search.evaluator.alignments_per_target == 1:
            is_best = candidates.score == ranked.score[hit]
            best = candidates.take(is_best)
            spans = spans_of_rows(self._block.rows, self._query_rows(best), best.score)
            return Ends(best, hit[is_best], _within(best, spans), ranked.score[hit[is_best]] - 1)
        query_length = self._block.queries.lengths[ranked.query]
        least = self._search.evaluator.least_scores(query_length, ranked.length)
        return Ends(candidates, hit, self._spans(candidates), least[hit] - 1)

    def _of_targets(self, scanned: Scanned, ranked: Ranked) -> Ranked:
        candidates = scanned.candidates.take(places_among(ranked, scanned.candidates) >= 0)
        if not self._search.engine.tuning.scores_blocks_of_targets:
            candidates = self._blocks(candidates)
        if not scanned.has_dropped[ranked.query].any():
            return candidates
        again = self._found_again(ranked.take(scanned.has_dropped[ranked.query]))
        return Ranked.joined([candidates.take(~scanned.has_dropped[candidates.query]), self._blocks(again)])

    def _spans(self, candidates: Ranked) -> NDArray[np.int64]:
        """int64[n]: the most columns that an alignment with each target spans, if it may be reported."""
        return _within(candidates, self._query_spans[self._query_rows(candidates)])

    @property
    def _query_spans(self) -> NDArray[np.int64]:
        rows = self._block.rows
        least = cutoff_of_long_targets(self._search.evaluator.cutoff(rows.lengths))
        return spans_of_rows(rows, np.arange(len(rows)), least)

    def _query_rows(self, candidates: Ranked) -> NDArray[np.int64]:
        """int64[n]: the row of each query on its strand; with both, the reverse complements follow all queries."""
        n_queries = len(self._block.queries)
        return candidates.query + (n_queries if self._search.n_strands == 2 else 0) * (candidates.strand < 0)

    def _blocks(self, candidates: Ranked) -> Ranked:
        """The candidates, with blocks in which alignments end in place of parts of targets."""
        is_whole = candidates.end - candidates.start == candidates.length
        if is_whole.all():
            return candidates
        parts = self._narrowed(candidates.take(~is_whole))
        scores, offsets = self._search.engine.score_ends(self._pairs(parts), END_COLUMNS)
        of = np.repeat(np.arange(len(parts)), np.diff(offsets))
        start = parts.start[of] + END_COLUMNS * (np.arange(len(of)) - offsets[of])
        end = np.minimum(start + END_COLUMNS, parts.end[of])
        return Ranked.joined([candidates.take(is_whole), self._passed(parts.take(of), start, end, scores)])

    def _narrowed(self, candidates: Ranked) -> Ranked:
        """Windows, with parts in place of those which are many spans long: most of them has no alignment."""
        span = np.maximum(self._spans(candidates), 1)
        is_wide = candidates.end - candidates.start >= WIDE_WINDOW * span
        wide, found = candidates.take(is_wide), [candidates.take(~is_wide)]
        for one in distinct(span[is_wide]).tolist():
            own = wide.take(span[is_wide] == one)
            parts = windows_of(own.end - own.start, one, STEP_SPANS * one)
            start = own.start[parts.row]
            found.append(self._scored(own.take(parts.row), start + parts.start, start + parts.end))
        return Ranked.joined(found)

    def _scored(self, candidates: Ranked, start: NDArray[np.int64], end: NDArray[np.int64]) -> Ranked:
        """Parts [start, end) of the targets of candidates, on the same strand, where they pass the filters."""
        parts = replace(candidates, start=start, end=end)
        return self._passed(parts, start, end, self._search.engine.score(self._pairs(parts)))

    def _pairs(self, parts: Ranked) -> PairTask:
        """The queries with these parts of targets."""
        search = self._search
        with unchanged(search.database.require_unchanged):
            targets, at = sequences_of(
                search.database, parts.row, (parts.start, parts.end), parts.length, search.views.starts
            )
        return PairTask(self._block.rows, targets, self._query_rows(parts), at, LOCAL)

    def _passed(
        self, own: Ranked, start: NDArray[np.int64], end: NDArray[np.int64], score: NDArray[np.int64]
    ) -> Ranked:
        found = (own.query, own.strand, own.row, own.ordinal, own.length, start, end, score.astype(np.int32))
        return self._search.passed(LocatedCandidates(*found), self._block)

    def _found_again(self, targets: Ranked) -> Ranked:
        """Candidates of these targets on all strands and in all windows."""
        found, rows = [empty_ranking()], self._block.rows
        for part in self._search.views.parts(rows, self._search.evaluator.cutoff(rows.lengths)):
            for place in distinct(part.places).tolist():
                found.append(self._scored_again(part, place, targets.take(targets.query == rows.query[place])))
        return Ranked.joined(found)

    def _scored_again(self, part: ScanPart, place: int, targets: Ranked) -> Ranked:
        """Candidates of one row of the queries in all parts that a view has of some targets."""
        pieces = [part.parts_of_target(length) for length in targets.length.tolist()]
        of = np.repeat(np.arange(len(pieces)), [len(start) for start, _ in pieces])
        whole = [np.empty(0, np.int64)]
        start, end = (np.concatenate(whole + [piece[side] for piece in pieces]) for side in (0, 1))
        own = replace(targets.take(of), strand=np.full(len(of), self._block.rows.strand[place], np.int8))
        return self._scored(own, start, end)


def _within(candidates: Ranked, spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: the spans, which are -1 if unlimited, or the lengths of the targets if those are less."""
    limited: NDArray[np.int64] = np.where(spans < 0, candidates.length, np.minimum(spans, candidates.length))
    return limited
