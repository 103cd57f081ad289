"""Queries against a database: scan with a cutoff, rank, align the best, yield the hits query by query.

queries -> blocks -> scan parts -> engine.scan (exact scores, cut to candidates)
        -> E-values, rank, best k -> regions -> engine.align (paths of the best) -> QueryHits

Where the engine leaves the CPU idle, a block is scanned while the one before it is aligned and reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import Paths
from exaln.alignments.query_hits import QueryHits
from exaln.database.database import Database
from exaln.database.gather import sequences_of, texts_of
from exaln.database.masked import MaskedTargets
from exaln.database.part import DatabasePart
from exaln.database.row_ranges import query_blocks
from exaln.engines.choice import choose_engine
from exaln.engines.contracts import Engine, score_matrix
from exaln.engines.tasks import QueryRows, ScanTask, comparable
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.distinct import distinct
from exaln.foundation.mapped_file import read_unchanged, unchanged
from exaln.foundation.prefetch import prefetch
from exaln.foundation.progress import AnyProgress, ScoringProgress, SearchProgress, showing
from exaln.report.summary import SearchSummary
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring
from exaln.search.aligning import Aligner, TargetAlignments
from exaln.search.candidate_parts import CandidateParts
from exaln.search.candidate_pruning import LocatedCandidates, Pruner
from exaln.search.cut_targets import CutTargets
from exaln.search.evaluation import HitEvaluator, simulated_for
from exaln.search.hsp_filters import report_list, subject_besthit
from exaln.search.masks import HARD
from exaln.search.options import OLD_NAMES, SearchOptions
from exaln.search.presets import with_preset
from exaln.search.ranking import Ranked, empty_ranking, hit_order, is_among_first, rank, report_order
from exaln.search.regions import Regions, places_among
from exaln.search.rescoring import Rescoring, screening_options
from exaln.search.scan_parts import ScanPart, ScanViews, cells_reported
from exaln.search.screen import Screen
from exaln.search.shuffling import Shuffling
from exaln.sequences.inputs import as_records
from exaln.sequences.records import Records
from exaln.sequences.strands import doubled, other_strand, require_strand
from exaln.statistics.composition import CompositionScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Databases
    from exaln.engines.tasks import Progress
    from exaln.search.hits import Hits
    from exaln.search.target_ids import Ids
    from exaln.sequences.inputs import Sequences
    from exaln.statistics.simulated import SimulatedParameters

MAX_BLOCK_QUERIES = 256
"""Queries in a block, at most; fewer if the engine takes fewer pairs at a time."""

MAX_FILTERED_PAIRS = 2 << 20
"""Pairs of a block where a filter needs alignments: every pair may have to stay in memory as a candidate."""

PRUNE_CANDIDATES = 1 << 20
"""Above this number of candidates, those that are not among the best k are dropped during the scan."""

ROUND_ALIGNMENTS = 32 << 10
"""Approximate number of alignments made, and held in memory, at a time."""


@dataclass(frozen=True)
class Block:
    """Queries that are scanned together.

    first_index: the place of the first of them among all queries. cells_before: cells of the blocks before. rows: what
    is compared with the targets: the queries, their reverse complements, or both, one after the other.
    """

    queries: Records
    first_index: int
    cells_before: int
    rows: QueryRows


class Search:
    """A database, a scoring and an engine, ready for queries.

    evaluator: that of an earlier search of the same kind. scanning: a context manager entered for the scan of each
    block, for callers that share an engine.
    """

    def __init__(
        self,
        database: Database | DatabasePart,
        scoring: Scoring,
        engine: Engine,
        options: SearchOptions,
        evaluator: HitEvaluator | None = None,
        scanning: AbstractContextManager[object] | None = None,
    ) -> None:
        scoring.require_positive("a search")
        if isinstance(database, Database):
            options = options.resolved(database)
        options.require_resolved()
        if not comparable(scoring.alphabet, database.alphabet):
            raise InputError(f"{scoring.name} scores {scoring.alphabet.name}, the database is {database.alphabet.name}")
        self.masks = options.masks
        self.masks.require_fit(database.alphabet)
        self.database = MaskedTargets(database) if self.masks.target == HARD else database
        self.scoring, self.engine, self.options = scoring, engine, options
        self._pair_scores = self._scores_of_pairs()
        self.evaluator = evaluator or self._evaluator(options, simulated_for(scoring, options, engine))
        self._scanning = scanning or nullcontext()
        self.statistics = self.evaluator.statistics
        self.scan_evaluator = self._evaluator_of_scans()
        require_strand(options.strand, database.alphabet)
        self.views = ScanViews(self.database, engine)
        self._screen = Screen(self, database) if self.masks.is_soft else None

    def _scores_of_pairs(self) -> CompositionScores | None:
        """The scores of pairs with composition-based statistics, else None. Raises InputError if there are none."""
        scores = CompositionScores.of(self.scoring, self.options.comp_based_stats)
        if scores is not None and self.masks.is_soft:
            raise InputError("--comp-based-stats and soft masks cannot be combined; use hard masks, or none")
        return scores

    def _evaluator_of_scans(self) -> HitEvaluator:
        """What decides on the scores of scans: with composition-based statistics, what is rescored."""
        if self._pair_scores is None:
            return self.evaluator
        if self.statistics is None:
            raise InputError(f"{self.scoring.describe()} has no E-values; use --comp-based-stats 0 or other gap costs")
        return self._evaluator(screening_options(self.options), self.evaluator.simulated)

    def _evaluator(self, options: SearchOptions, simulated: SimulatedParameters | None) -> HitEvaluator:
        space = self.database.search_space
        return HitEvaluator(
            self.scoring, options, n_targets=space.n_targets, n_residues=space.n_residues, simulated=simulated
        )

    def run(
        self, queries: Iterable[Records], progress: Progress | None = None, *, first_index: int = 0
    ) -> Iterator[QueryHits]:
        """The hits of each query, in the order of the queries.

        progress: called with the cells done so far, on another thread if the engine leaves the CPU idle. first_index:
        the place of the first query among all queries.
        """
        blocks = self.blocks(queries, first_index)
        if self.engine.tuning.scans_beside_cpu:
            scanned = prefetch(blocks, lambda block, check: self._scan(block, _with_check(progress, check)))
        else:
            scanned = ((block, self._scan(block, progress)) for block in blocks)
        with closing(scanned):
            for block, found in scanned:
                yield from self._aligned(block, self._rescored(block, found))

    def blocks(self, queries: Iterable[Records], first_index: int = 0) -> Iterator[Block]:
        """The blocks in which these queries are scanned. first_index: see `run`."""
        cells = 0
        for records in queries:
            if not comparable(records.alphabet, self.database.alphabet):
                raise InputError(f"the queries are {records.alphabet.name}, the database {self.database.alphabet.name}")
            for first, end in query_blocks(len(records), self._block_queries()):
                own = self.masks.given(records.rows(first, end))
                yield Block(own, first_index + first, cells, self.query_rows(own))
                cells += self.n_cells(own.n_residues)
            first_index += len(records)

    @property
    def n_strands(self) -> int:
        """Strands of each query that are compared with the database: 1 or 2."""
        return 2 if self.database.alphabet.is_nucleotide and self.options.strand == "both" else 1

    def summary(self, database: str) -> SearchSummary:
        """The description of the search in reports. database: its name."""
        space = self.database.search_space
        return SearchSummary(
            database, space.n_targets, space.n_residues, self.scoring, self.statistics, self.options.evalue
        )

    def n_cells(self, query_residues: int) -> int:
        """Cells of a search with queries of `query_residues` residues in all."""
        return query_residues * self.n_strands * self.database.n_residues

    def _block_queries(self) -> int:
        max_pairs = (
            MAX_FILTERED_PAIRS if self.options.needs_alignments or self.rescores else self.engine.tuning.scan_pairs
        )
        return max(1, min(MAX_BLOCK_QUERIES, max_pairs // max(1, self.database.n_targets)))

    @property
    def rescores(self) -> bool:
        """Whether candidates are rescored: then none is dropped before."""
        return self._pair_scores is not None

    def _aligned(self, block: Block, scanned: Scanned) -> Iterator[QueryHits]:
        """The hits of the queries of a block."""
        if self.options.needs_alignments:
            ranked, found = self._align_and_filter(block, scanned)
            yield from self._hits(block, range(len(block.queries)), ranked, found)
            return
        ranked = self.best(scanned.ranked)
        for rows in self._rounds(ranked, len(block.queries)):
            part = ranked.take((ranked.query >= rows.start) & (ranked.query < rows.stop))
            yield from self._hits(block, rows, part, self._align(block, scanned, part))

    def _rounds(self, ranked: Ranked, n_queries: int) -> Iterator[range]:
        """Consecutive queries whose hits are aligned together."""
        ends = np.searchsorted(ranked.query, np.arange(n_queries), side="right")
        first = 0
        while first < n_queries:
            done = int(ends[first - 1]) if first else 0
            end = int(np.searchsorted(ends, done + ROUND_ALIGNMENTS, side="right"))
            yield range(first, max(end, first + 1))
            first = max(end, first + 1)

    def _align(self, block: Block, scanned: Scanned, ranked: Ranked) -> TargetAlignments:
        """The alignments of some of the ranked targets."""
        rescoring = scanned.rescoring
        aligner = Aligner(self.engine, self.evaluator, block.queries, block.rows, self._sequences, rescoring)
        ends = CandidateParts(self, block).ends(scanned, ranked) if rescoring is None else rescoring.ends(ranked)
        found = aligner.align(ranked, ends)
        return self._without_enveloped(ranked, found)

    def _adjusted(self, block: Block, scanned: Scanned, scores: CompositionScores) -> Scanned:
        """What passes the filters under scores of its own, with what makes alignments under them."""
        evaluators = self.scan_evaluator, self.evaluator
        rescoring = Rescoring(scores, self.engine, evaluators, block.queries, block.rows, self.whole_targets)
        ranked = rescoring.rescored(scanned.ranked)
        return Scanned(ranked, ranked, np.zeros(len(block.queries), np.bool_), rescoring)

    def whole_targets(self, rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[Records, NDArray[np.int64]]:
        """The targets in these rows, and int64[n], which record is which."""
        with unchanged(self.database.require_unchanged):
            return sequences_of(self.database, rows, (np.zeros_like(lengths), lengths), lengths, self.views.starts)

    def _sequences(self, ranked: Ranked, regions: Regions) -> tuple[Records, NDArray[np.int64]]:
        """The sequences of regions of these targets, and int64[n], which belongs to each."""
        with unchanged(self.database.require_unchanged):
            rows, lengths = ranked.row[regions.hit], ranked.length[regions.hit]
            return sequences_of(self.database, rows, (regions.start, regions.end), lengths, self.views.starts)

    def _align_and_filter(self, block: Block, scanned: Scanned) -> tuple[Ranked, TargetAlignments]:
        """The best k targets with alignments that pass the filters on them.

        A target ranks by its best alignment that passes, so it can enter the best k only if its best score would. Where
        it would not, no more alignments are made for the query.
        """
        waiting, kept = scanned.ranked, [empty_ranking()]
        parts: list[TargetAlignments] = []
        while len(waiting):
            n_waiting = len(distinct(waiting.query))
            is_next = is_among_first(waiting.query, max(1, ROUND_ALIGNMENTS // n_waiting))
            now = waiting.take(is_next)
            found = self._align(block, scanned, now)
            kept.append(now)
            parts.append(found.take(self._passing(now, found, block.queries)))
            waiting = waiting.take(~is_next)
            if not self.options.culling_limit:
                waiting = self._that_can_enter(waiting, Ranked.joined(kept), TargetAlignments.joined(parts))
        ranked, alignments = Ranked.joined(kept), TargetAlignments.joined(parts)
        ranges = alignments.aligned.positions[:, 0], alignments.aligned.positions[:, 1]
        return ranked, alignments.take(report_list(*_report_keys(ranked, alignments), *ranges, self.options))

    def _without_enveloped(self, ranked: Ranked, found: TargetAlignments) -> TargetAlignments:
        """The alignments without those that -subject_besthit drops."""
        if not self.options.subject_besthit:
            return found
        ranges = found.aligned.positions[:, 0], found.aligned.positions[:, 1]
        query, ordinal = ranked.query[found.hit], ranked.ordinal[found.hit]
        keeps = subject_besthit(query, ordinal, found.strand, *ranges, found.aligned.scores)
        return found.take(np.flatnonzero(keeps))

    def _that_can_enter(self, waiting: Ranked, ranked: Ranked, found: TargetAlignments) -> Ranked:
        """The waiting targets that would be among the best k of what is found already."""
        k = self.options.max_target_seqs
        query, evalue, score, ordinal = _report_keys(ranked, found)
        order = report_order(query, evalue, score, ordinal, k)
        is_new = np.ones(len(order), np.bool_)  # the best alignment of each target is its first
        is_new[1:] = (np.diff(query[order]) != 0) | (np.diff(ordinal[order]) != 0)
        best = order[is_new]
        worst = best[np.diff(query[best], append=-1) != 0]  # of each query, its last target
        worst = worst[np.bincount(query[best], minlength=1)[query[worst]] >= k]
        n = len(waiting)
        keys = np.concatenate([waiting.query, query[worst]])
        place = np.empty(len(keys), np.int64)
        place[
            hit_order(
                keys,
                np.concatenate([waiting.evalue, evalue[worst]]),
                np.concatenate([waiting.score, score[worst]]),
                np.concatenate([waiting.ordinal, ordinal[worst]]),
            )
        ] = np.arange(len(keys))
        limit = np.full(1 + int(keys.max(initial=0)), len(keys))
        limit[query[worst]] = place[n:]
        return waiting.take(place[:n] < limit[waiting.query])

    def query_rows(self, queries: Records) -> QueryRows:
        """The queries on the strands that are asked for; with both, the reverse complements follow all queries."""
        n, both = len(queries), np.repeat(np.array([1, -1], np.int8), len(queries))
        if not self.database.alphabet.is_nucleotide or self.options.strand == "plus":
            return QueryRows.of_sequences(queries, self.scoring)
        if self.options.strand == "minus":
            return QueryRows.of_sequences(other_strand(queries), self.scoring, strand=both[n:])
        return QueryRows.of_sequences(doubled(queries), self.scoring, query=np.arange(2 * n) % n, strand=both)

    def _scan(self, block: Block, progress: Progress | None) -> Scanned:
        """All candidates that pass the filters which need no alignment, ranked.

        With soft masks, the pairs that pass with them, which `_rescored` scores; or those of long sequences, scored.
        """
        if self._screen is None:
            return self._scanned(block, progress, None)
        passing = self._screen.passing(block, progress)
        if not self._screen.can_rescore(block):
            return self._scanned(block, progress and _same_cells(progress, self._cells_after(block)), passing)
        return Scanned(passing, passing, np.zeros(len(block.queries), np.bool_))

    def _scanned(self, block: Block, progress: Progress | None, pairs: Ranked | None) -> Scanned:
        """The candidates of a scan of the database. pairs: those of which they must be, if not all are wanted."""
        found = CandidateList(self, len(block.queries))
        latest: ScanPart | None = None
        pruner: Pruner | None = None
        for part, listed in self.candidates(self.views, block, progress):
            if part is not latest:
                latest, pruner = part, self._pruner(block, part)
            wanted = listed if pairs is None else listed.taken(places_among(pairs, listed) >= 0)
            kept = wanted if pruner is None else pruner.prune(wanted)
            if self.finds_targets_again and len(kept) < len(wanted):
                found.has_dropped[distinct(wanted.query)] = True
            found.add(self.passed(kept, block))
        return found.scanned()

    def candidates(
        self, views: ScanViews, block: Block, progress: Progress | None
    ) -> Iterator[tuple[ScanPart, LocatedCandidates]]:
        """Yield what the engine finds in each part of a scan, of the targets that are searched."""
        cutoff, done = self.scan_evaluator.cutoff(block.rows.lengths), block.cells_before
        for part in views.parts(block.rows, cutoff):
            report = None if progress is None else _report_of(part, progress, done)
            task = part.task(report)
            with (
                self._scanning,
                closing(read_unchanged(self.database.require_unchanged, self.engine.scan(task))) as scan,
            ):
                for found in scan:
                    yield part, self._listed(views.located(task, part, found, block.rows))
            done += part.cells

    def _rescored(self, block: Block, found: Scanned) -> Scanned:
        """The candidates by the scores that are reported: adjusted to composition, or without soft masks."""
        if self._pair_scores is not None:
            return self._adjusted(block, found, self._pair_scores)
        if self._screen is None or not self._screen.can_rescore(block):
            return found
        every = self._screen.rescored(block, found.candidates)
        return Scanned(rank(every), every, found.has_dropped)

    def _cells_after(self, block: Block) -> int:
        return block.cells_before + self.n_cells(block.queries.n_residues)

    def _pruner(self, block: Block, part: ScanPart) -> Pruner | None:
        """What drops candidates; a pruner counts targets, so that it needs one candidate of each on each strand."""
        if self.options.needs_alignments or self.rescores or not part.has_whole_pairs:
            return None
        return Pruner(self.statistics, block.queries.lengths, self.options.max_target_seqs * self.n_strands)

    @property
    def finds_targets_again(self) -> bool:
        """Whether several candidates of a target may have alignments to report."""
        return (
            not self.rescores
            and self.evaluator.alignments_per_target > 1
            and (self.n_strands > 1 or self.views.has_windows)
        )

    def best(self, ranked: Ranked) -> Ranked:
        """The best targets of each query."""
        return ranked.take(is_among_first(ranked.query, self.options.max_target_seqs))

    def _listed(self, found: LocatedCandidates) -> LocatedCandidates:
        """The candidates that the lists of targets allow."""
        include, exclude = self.options.include, self.options.exclude
        if include is None and exclude is None:
            return found
        passes = np.ones(len(found.ordinal), np.bool_)
        if include is not None:
            passes &= np.isin(found.ordinal, include)
        if exclude is not None:
            passes &= ~np.isin(found.ordinal, exclude)
        return found.taken(passes)

    def passed(self, found: LocatedCandidates, block: Block) -> Ranked:
        """The candidates that pass the filters on the scan, with bits and E-values."""
        evaluated = self.scan_evaluator.evaluate(found.score, block.queries.lengths[found.query], found.length)
        columns = {field.name: getattr(found, field.name) for field in fields(LocatedCandidates)}
        return Ranked(**columns, bits=evaluated.bits, evalue=evaluated.evalue).take(evaluated.passes)

    def _passing(self, ranked: Ranked, found: TargetAlignments, queries: Records) -> NDArray[np.int64]:
        """The places of alignments that pass the filters on them."""
        options, positions, counts = self.options, found.aligned.positions, found.aligned.counts
        checks = (
            (options.min_identity, counts[:, 0], counts[:, 5]),
            (options.min_query_coverage, positions[:, 1] - positions[:, 0], queries.lengths[ranked.query[found.hit]]),
            (options.min_target_coverage, positions[:, 3] - positions[:, 2], ranked.length[found.hit]),
        )
        passes = np.ones(len(found), np.bool_)
        for minimum, part, whole in checks:
            if minimum is not None:
                passes &= 100.0 * part >= minimum * whole
        return np.flatnonzero(passes)

    def _hits(self, block: Block, rows: range, ranked: Ranked, found: TargetAlignments) -> Iterator[QueryHits]:
        """One QueryHits for each of these rows of the queries, also without hits."""
        queries, query = block.queries, ranked.query[found.hit]
        with unchanged(self.database.require_unchanged):
            ids, descriptions = texts_of(self.database, ranked.row[found.hit], self.views.starts)
        evalue2 = Shuffling(self, block).evalues(ranked, found) if self.options.shuffles else None
        edges = np.searchsorted(query, np.arange(rows.start, rows.stop + 1)).tolist()
        for row, begin, end in zip(rows, edges[:-1], edges[1:], strict=True):
            own, hit = slice(begin, end), found.hit[begin:end]
            positions, counts, paths = found.aligned.positions[own], found.aligned.counts[own], found.aligned.paths
            offsets = paths.offsets[begin : end + 1]
            yield QueryHits(
                index=block.first_index + row,
                cut_ordinals=distinct(ranked.ordinal[hit[found.is_cut[hit]]]),
                query_id=queries.ids[row],
                query_description=queries.descriptions[row],
                query=queries.sequence(row),
                query_quality=queries.quality(row),
                alphabet=self.database.alphabet,
                scoring=self.scoring,
                target_ids=ids[own],
                target_descriptions=descriptions[own],
                target_slices=found.slices[own],
                target_lengths=ranked.length[hit],
                ordinal=ranked.ordinal[hit],
                score=self.evaluator.reported(found.aligned.scores[own]),
                scaled_score=found.aligned.scores[own],
                adjustments=found.adjustments[own],
                bits=found.bits[own],
                evalue=found.evalue[own],
                evalue2=None if evalue2 is None else evalue2[own],
                strand=found.strand[own],
                query_start=positions[:, 0],
                query_end=positions[:, 1],
                target_start=positions[:, 2],
                target_end=positions[:, 3],
                paths=Paths(paths.operations[offsets[0] : offsets[-1]], offsets - offsets[0]),
                identities=counts[:, 0],
                positives=counts[:, 1],
                mismatches=counts[:, 2],
                gap_opens=counts[:, 3],
                gaps=counts[:, 4],
                columns=counts[:, 5],
            )


@dataclass(frozen=True)
class Scanned:
    """What the scan of a block found. ranked: the targets, each by its best candidate; candidates: all, in any order.

    has_dropped: bool[n_queries], whether candidates of a query were dropped whose targets may be among the best.
    rescoring: what has rescored them, None if nothing has.
    """

    ranked: Ranked
    candidates: Ranked
    has_dropped: NDArray[np.bool_]
    rescoring: Rescoring | None = None


class CandidateList:
    """Collects the candidates of a block. Where they are many, those of targets outside of the best k are dropped."""

    def __init__(self, search: Search, n_queries: int) -> None:
        self._search, self._parts, self._waiting = search, [empty_ranking()], 0
        self.has_dropped = np.zeros(n_queries, np.bool_)

    def add(self, candidates: Ranked) -> None:
        """Add some that pass the filters."""
        self._parts.append(candidates)
        self._waiting += len(candidates)
        is_pruned = not (self._search.options.needs_alignments or self._search.rescores)
        if self._waiting > PRUNE_CANDIDATES and is_pruned:
            every = Ranked.joined(self._parts)
            is_kept = places_among(self._search.best(rank(every)), every) >= 0
            self.has_dropped[every.query[~is_kept]] |= self._search.finds_targets_again
            self._parts, self._waiting = [every.take(is_kept)], 0

    def scanned(self) -> Scanned:
        """All that were added and not dropped."""
        every = Ranked.joined(self._parts)
        return Scanned(rank(every), every, self.has_dropped)


def _report_keys(
    ranked: Ranked, found: TargetAlignments
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Query, E-value, score and ordinal of each alignment, by which `ranking.report_order` orders them."""
    return ranked.query[found.hit], found.evalue, found.aligned.scores, ranked.ordinal[found.hit]


def _report_of(part: ScanPart, progress: Progress, done: int) -> Progress:
    """A progress function for one part of a scan, after `done` cells of others."""
    return lambda cells: progress(done + cells_reported(part, cells))


def _same_cells(progress: Progress, cells: int) -> Progress:
    """A progress function for work that is done besides the cells that are counted."""
    return lambda _: progress(cells)


def _with_check(progress: Progress | None, check: Callable[[], None]) -> Progress:
    """A progress function that first checks whether the results are still wanted."""

    def report(cells: int) -> None:
        check()
        if progress is not None:
            progress(cells)

    return report


OPTIONS = tuple(field.name for field in fields(SearchOptions) if field.name not in ("include", "exclude"))
"""Options that `exaln.search` takes as arguments."""


@arguments.renamed(**OLD_NAMES)
@arguments.exclusive("options", OPTIONS)
def search(
    queries: Sequences,
    database: Databases,
    *,
    scoring: ScoringLike | None = None,
    evalue: float = 10.0,
    max_target_seqs: int = 500,
    min_bits: float | None = None,
    min_score: int = 1,
    min_identity: float | None = None,
    min_query_coverage: float | None = None,
    min_target_coverage: float | None = None,
    strand: str = "both",
    ids: Ids | None = None,
    exclude_ids: Ids | None = None,
    dbsize: int | None = None,
    max_hsps: int | None = None,
    subject_besthit: bool = False,
    culling_limit: int | None = None,
    statistics: str = "auto",
    seed: int = 1,
    query_mask: str = "none",
    query_masking: str = "hard",
    target_mask: str = "none",
    comp_based_stats: int = 0,
    margin: float = 5.0,
    shuffles: int = 0,
    shuffle_window: int = 0,
    options: SearchOptions | None = None,
    preset: str | None = None,
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    progress: AnyProgress = None,
) -> Hits:
    """The best targets of each query, exactly, with alignments and E-values; a hit is a target with its alignments.

    queries: a string, several, a dict of sequences by id, `Records`, or the pathlib.Path of a file. database: a
    Database, its path, or a FASTA file; several in a list are searched as one. scoring: a Scoring, a BLAST task such as
    "blastp-short", or a matrix by its name or file. Hits are ranked by E-value, then score, then place in the database.
    evalue and all before `options` are those of `SearchOptions`, and can be given together as `options` instead.
    preset: "blast" replaces those that have their default values, and the scoring if it is None, by what blastp and
    blastn do by default; see `presets`. devices (numbers of GPUs) and gpu_memory (bytes on each) need the cuda engine.
    progress: True for a bar, or a function that is called with the number of cells done. The old names max_hits,
    strands and db_residues still work.

    >>> import pathlib, tempfile
    >>> fasta = pathlib.Path(tempfile.mkdtemp()) / "targets.fasta"
    >>> _ = fasta.write_text(">t1\\nPAWHEAE\\n>t2\\nHEAGAWGHEE\\n")
    >>> [(hit.target_id, hit.score, hit.cigar) for hit in search(["HEAGAWGHEE"], fasta)]
    [('t2', 62, '10M'), ('t1', 17, '3M')]
    """
    from exaln.search.hit_source import HitSource
    from exaln.search.hits import Hits

    chosen = SearchOptions(
        evalue,
        max_target_seqs,
        min_bits,
        min_score,
        min_identity,
        min_query_coverage,
        min_target_coverage,
        strand,
        ids,
        exclude_ids,
        dbsize,
        max_hsps,
        subject_besthit,
        culling_limit,
        statistics,
        seed,
        query_mask=query_mask,
        query_masking=query_masking,
        target_mask=target_mask,
        comp_based_stats=comp_based_stats,
        margin=margin,
        shuffles=shuffles,
        shuffle_window=shuffle_window,
    )
    if options is not None:
        chosen = arguments.instance("options", options, SearchOptions)
    running = choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory)
    opened, records = _prepare(queries, database, scoring)
    if preset is not None:
        chosen, task = with_preset(chosen, preset, opened.alphabet)
        scoring = task if scoring is None else scoring
    found = Search(opened, as_scoring(scoring, opened.alphabet), running, chosen)
    with showing(progress, SearchProgress, lambda: found.n_cells(records.n_residues)) as report:
        hits = found.run([records], report)
        cut = CutTargets()
        source = HitSource(records, opened, found.summary(_name(database)))
        collected = Hits.collect(cut.among(hits), source)
    cut.warn()
    return collected


def _name(database: Databases) -> str:
    """The name of a database in reports: as the user gave it."""
    if isinstance(database, Database):
        return database.name
    return os.fspath(database) if isinstance(database, str | os.PathLike) else " ".join(map(_name, database))


def _prepare(queries: Sequences, database: Databases, scoring: ScoringLike | None) -> tuple[Database, Records]:
    """The database, and the queries as records. With a scoring the queries are read in the database's alphabet.

    Raises InputError if the two cannot be compared.
    """
    opened = Database.of(database, "database")
    records = as_records(queries, None if scoring is None else opened.alphabet, "queries", opened.alphabet)
    if not comparable(records.alphabet, opened.alphabet):
        raise InputError(f"the queries are {records.alphabet.name}, the database is {opened.alphabet.name}")
    return opened, records


def scores(
    queries: Sequences,
    database: Databases,
    *,
    scoring: ScoringLike | None = None,
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    progress: AnyProgress = None,
) -> NDArray[np.int32]:
    """Exact local scores of all queries against all targets: int32[n_queries, n_targets], in the order of the input.

    Arguments as in `search`. Without `scoring` the default for the alphabet of the database is used. If the scoring has
    fractions, scores are multiplied by `scoring.scale`. Raises OutOfMemoryError if the result does not fit into memory.

    >>> import pathlib, tempfile
    >>> fasta = pathlib.Path(tempfile.mkdtemp()) / "targets.fasta"
    >>> _ = fasta.write_text(">t1\\nPAWHEAE\\n>t2\\nHEAGAWGHEE\\n")
    >>> scores(["HEAGAWGHEE"], fasta)
    array([[17, 62]], dtype=int32)
    """
    running = choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory)
    opened, records = _prepare(queries, database, scoring)
    rules = as_scoring(scoring, opened.alphabet)
    rules.require_positive("a search")
    with (
        unchanged(opened.require_unchanged),
        showing(progress, ScoringProgress, lambda: records.n_residues * opened.n_residues) as report,
        running.open(opened) as resident,
    ):
        return score_matrix(running, ScanTask(QueryRows.of_sequences(records, rules), resident, progress=report))
