"""The first pass of a search with soft masks, and the scores of the pairs that it lets through.

screen: masked queries x masked targets -> pairs that reach the cutoff
rescoring: these pairs as they are -> exact scores, which must reach the cutoff as well
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.masked import MaskedTargets
from exaln.engines.tasks import PairTask
from exaln.pairwise.routing import score_pairs
from exaln.scoring.modes import LOCAL
from exaln.search.candidate_pruning import LocatedCandidates
from exaln.search.masks import SOFT
from exaln.search.ranking import Ranked, empty_ranking, rank
from exaln.search.scan_parts import LONG_QUERY, ScanViews

if TYPE_CHECKING:
    from exaln.database.database import Database
    from exaln.database.part import DatabasePart
    from exaln.engines.tasks import Progress
    from exaln.search.pipeline import Block, Search

ROUND_PAIRS = 64 << 10
"""Pairs that are scored, and whose targets are in memory, at a time."""


class Screen:
    """The masked targets of a search, ready to be scanned with masked queries. stored: the targets without masks."""

    def __init__(self, search: Search, stored: Database | DatabasePart) -> None:
        self._search = search
        is_masked = search.masks.target == SOFT
        self.views = ScanViews(MaskedTargets(stored), search.engine) if is_masked else search.views

    def passing(self, block: Block, progress: Progress | None) -> Ranked:
        """One candidate for each pair that reaches the cutoff with its masks; scores are those with masks."""
        search = self._search
        masked = search.masks.screened(block.queries)
        rows = block.rows if masked is block.queries else search.query_rows(masked)
        found = [empty_ranking()]
        for _, listed in search.candidates(self.views, replace(block, rows=rows), progress):
            found.append(search.passed(listed, block))
        return rank(Ranked.joined(found))

    def can_rescore(self, block: Block) -> bool:
        """Whether each pair is scored on its own. Long sequences are scanned again, to know where alignments end."""
        return not self._search.views.has_windows and int(block.queries.lengths.max(initial=0)) < LONG_QUERY

    def rescored(self, block: Block, pairs: Ranked) -> Ranked:
        """Candidates with the exact scores of these pairs on all strands that are searched, without soft masks."""
        search, n_queries = self._search, len(block.queries)
        found = [empty_ranking()]
        for first in range(0, len(pairs), ROUND_PAIRS):
            own = pairs.take(np.arange(first, min(first + ROUND_PAIRS, len(pairs))))
            start = np.zeros(len(own), np.int64)
            targets, at = search.whole_targets(own.row, own.length)
            for rows_before in range(0, len(block.rows), n_queries):
                place = rows_before + own.query
                task = PairTask(block.rows, targets, place, at, LOCAL)
                score = score_pairs(search.engine, task).astype(np.int32)
                strand = block.rows.strand[place]
                located = (own.query, strand, own.row, own.ordinal, own.length, start, own.length, score)
                found.append(search.passed(LocatedCandidates(*located), block))
        return Ranked.joined(found)
