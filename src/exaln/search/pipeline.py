"""Queries against a database: scan with a cutoff, rank, align the best, yield the hits query by query.

queries -> blocks -> engine.scan (exact scores, cut to candidates)
        -> E-values, rank, best k -> engine.align (paths of the best) -> QueryHits

Where the engine leaves the CPU idle, a block is scanned while the one before it is aligned and reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs
from exaln.alignments.cigar import Paths
from exaln.alignments.query_hits import QueryHits
from exaln.alignments.strands import positions_as_given, reverse_paths
from exaln.database.database import Database
from exaln.database.gather import gathered
from exaln.database.part import DatabasePart
from exaln.database.row_ranges import query_blocks
from exaln.database.views import segment_starts, target_origins
from exaln.engines.choice import choose_engine
from exaln.engines.contracts import Engine, score_matrix
from exaln.engines.tasks import Candidates, PairTask, QueryRows, ScanTask, comparable
from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.distinct import distinct
from exaln.foundation.mapped_file import read_unchanged, unchanged
from exaln.foundation.prefetch import prefetch
from exaln.foundation.progress import AnyProgress, ScoringProgress, SearchProgress, showing
from exaln.pairwise.routing import align_pairs
from exaln.report.summary import SearchSummary
from exaln.scoring.modes import LOCAL
from exaln.scoring.scoring import Scoring, ScoringLike, as_scoring
from exaln.search.candidate_pruning import LocatedCandidates, Pruner
from exaln.search.evaluation import HitEvaluator, warn_without_statistics
from exaln.search.options import OLD_NAMES, SearchOptions
from exaln.search.ranking import Ranked, is_among_first, rank
from exaln.sequences.inputs import as_records
from exaln.sequences.records import Records
from exaln.sequences.strands import doubled, other_strand, require_strand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Databases
    from exaln.engines.tasks import Progress
    from exaln.search.hits import Hits
    from exaln.search.target_ids import Ids
    from exaln.sequences.inputs import Sequences

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
        self.database, self.scoring, self.engine, self.options = database, scoring, engine, options
        space = database.search_space
        self._evaluator = evaluator or HitEvaluator(
            scoring, options, n_targets=space.n_targets, n_residues=space.n_residues
        )
        self._scanning = scanning or nullcontext()
        self.statistics = self._evaluator.statistics
        require_strand(options.strand, database.alphabet)
        if self.statistics is None:
            warn_without_statistics(scoring)
        self._resident = engine.open(database)
        self._starts = segment_starts(database)

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
            for block, ranked in scanned:
                yield from self._aligned(block, ranked)

    def blocks(self, queries: Iterable[Records], first_index: int = 0) -> Iterator[Block]:
        """The blocks in which these queries are scanned. first_index: see `run`."""
        cells = 0
        for records in queries:
            if not comparable(records.alphabet, self.database.alphabet):
                raise InputError(f"the queries are {records.alphabet.name}, the database {self.database.alphabet.name}")
            for first, end in query_blocks(len(records), self._block_queries()):
                own = records.rows(first, end)
                yield Block(own, first_index + first, cells, self._query_rows(own))
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
        max_pairs = MAX_FILTERED_PAIRS if self.options.needs_alignments else self.engine.tuning.scan_pairs
        return max(1, min(MAX_BLOCK_QUERIES, max_pairs // max(1, self.database.n_targets)))

    def _aligned(self, block: Block, ranked: Ranked) -> Iterator[QueryHits]:
        """The hits of the queries of a block."""
        if self.options.needs_alignments:
            ranked, aligned = self._align_and_filter(block, ranked)
            yield from self._hits(block, range(len(block.queries)), ranked, aligned)
            return
        ranked = self._best(ranked)
        for rows in self._rounds(ranked, len(block.queries)):
            part = ranked.take((ranked.query >= rows.start) & (ranked.query < rows.stop))
            yield from self._hits(block, rows, part, self._align(block, part))

    def _rounds(self, ranked: Ranked, n_queries: int) -> Iterator[range]:
        """Consecutive queries whose hits are aligned together."""
        ends = np.searchsorted(ranked.query, np.arange(n_queries), side="right")
        first = 0
        while first < n_queries:
            done = int(ends[first - 1]) if first else 0
            end = int(np.searchsorted(ends, done + ROUND_ALIGNMENTS, side="right"))
            yield range(first, max(end, first + 1))
            first = max(end, first + 1)

    def _align(self, block: Block, ranked: Ranked) -> AlignedPairs:
        with unchanged(self.database.require_unchanged):
            targets, places = self._gather(ranked.row, texts=False)
        query = self._rows_of(ranked, len(block.queries))
        task = PairTask(block.rows, targets, query, places, LOCAL, known_scores=ranked.score.astype(np.int64))
        aligned = align_pairs(self.engine, task).counted_in(self.database.alphabet)
        return self._on_given_strand(aligned, ranked, block.queries)

    def _align_and_filter(self, block: Block, ranked: Ranked) -> tuple[Ranked, AlignedPairs]:
        """The best k that pass the filters on their alignment. A query that has k of them gets no more alignments."""
        queries = block.queries
        kept, parts = [self._empty()], []
        n_kept = np.zeros(len(queries), np.int64)
        while len(ranked):
            n_waiting = len(distinct(ranked.query))
            is_next = is_among_first(ranked.query, max(1, ROUND_ALIGNMENTS // n_waiting))
            now = ranked.take(is_next)
            aligned = self._align(block, now)
            passing = self._passing(now, aligned, queries)
            kept.append(now.take(passing))
            parts.append(aligned.taken(passing))
            n_kept += np.bincount(kept[-1].query, minlength=len(queries))
            ranked = ranked.take(~is_next & (n_kept[ranked.query] < self.options.max_target_seqs))
        found, alignments = Ranked.joined(kept), AlignedPairs.joined(parts)
        order = np.argsort(found.query, kind="stable")  # each round continues the one before
        order = order[is_among_first(found.query[order], self.options.max_target_seqs)]
        return found.take(order), alignments.taken(order)

    def _query_rows(self, queries: Records) -> QueryRows:
        """The queries on the strands that are asked for; with both, the reverse complements follow all queries."""
        n, both = len(queries), np.repeat(np.array([1, -1], np.int8), len(queries))
        if not self.database.alphabet.is_nucleotide or self.options.strand == "plus":
            return QueryRows.of_sequences(queries, self.scoring)
        if self.options.strand == "minus":
            return QueryRows.of_sequences(other_strand(queries), self.scoring, strand=both[n:])
        return QueryRows.of_sequences(doubled(queries), self.scoring, query=np.arange(2 * n) % n, strand=both)

    def _rows_of(self, ranked: Ranked, n_queries: int) -> NDArray[np.int64]:
        """The query row of each candidate: the one of its strand."""
        return ranked.query + (n_queries if self.n_strands == 2 else 0) * (ranked.strand < 0)

    def _scan(self, block: Block, progress: Progress | None) -> Ranked:
        """All candidates that pass the filters which need no alignment, ranked."""
        pruner = Pruner(self.statistics, block.queries.lengths, self.options.max_target_seqs * self.n_strands)
        parts = [self._empty()]
        waiting = 0
        report = None if progress is None else lambda cells: progress(block.cells_before + cells)
        task = ScanTask(block.rows, self._resident, self._evaluator.cutoff(block.rows.lengths), progress=report)
        scan = self.engine.scan(task)
        with self._scanning, closing(read_unchanged(self.database.require_unchanged, scan)) as found:
            for candidates in found:
                listed = self._listed(self._located(candidates, block.rows))
                promising = listed if self.options.needs_alignments else pruner.prune(listed)
                parts.append(self._passed(promising, block))
                waiting += len(parts[-1])
                if waiting > PRUNE_CANDIDATES and not self.options.needs_alignments:
                    parts, waiting = [self._best(rank(Ranked.joined(parts)))], 0
        return rank(Ranked.joined(parts))

    def _best(self, ranked: Ranked) -> Ranked:
        return ranked.take(is_among_first(ranked.query, self.options.max_target_seqs))

    def _located(self, found: Candidates, rows: QueryRows) -> LocatedCandidates:
        """Candidates with the queries and the targets that they come from."""
        origins = target_origins(self.database, found.row, self._starts)
        query, strand = rows.query[found.query], rows.strand[found.query]
        return LocatedCandidates(query, strand, found.row, origins.ordinal, origins.length, found.score)

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

    def _passed(self, found: LocatedCandidates, block: Block) -> Ranked:
        """The candidates that pass the filters, with bits and E-values."""
        evaluated = self._evaluator.evaluate(found.score, block.queries.lengths[found.query], found.length)
        columns = found.query, found.strand, found.row, found.ordinal, found.length, found.score
        return Ranked(*columns, evaluated.bits, evaluated.evalue).take(evaluated.passes)

    def _empty(self) -> Ranked:
        whole, real = np.empty(0, np.int64), np.empty(0, np.float64)
        return Ranked(whole, np.empty(0, np.int8), whole, whole, whole, np.empty(0, np.int32), real, real)

    def _gather(self, rows: NDArray[np.int64], *, texts: bool) -> tuple[Records, NDArray[np.int64]]:
        """The targets in these rows of the database, each once, and int64[n], the place of each row among them.

        texts: whether ids and descriptions are read.
        """
        unique, places = np.unique(rows, return_inverse=True)
        return gathered(self.database, unique, self._starts, texts=texts), places.astype(np.int64)

    def _on_given_strand(self, aligned: AlignedPairs, ranked: Ranked, queries: Records) -> AlignedPairs:
        """Alignments of reverse complements, in terms of the query as given: the path runs along it."""
        minus = ranked.strand < 0
        if not minus.any():
            return aligned
        positions = positions_as_given(aligned.positions, queries.lengths[ranked.query], minus)
        return replace(aligned, positions=positions, paths=reverse_paths(aligned.paths, minus))

    def _passing(self, ranked: Ranked, aligned: AlignedPairs, queries: Records) -> NDArray[np.int64]:
        """The places of hits that pass the filters on their alignment."""
        options, positions, counts = self.options, aligned.positions, aligned.counts
        checks = (
            (options.min_identity, counts[:, 0], counts[:, 5]),
            (options.min_query_coverage, positions[:, 1] - positions[:, 0], queries.lengths[ranked.query]),
            (options.min_target_coverage, positions[:, 3] - positions[:, 2], ranked.length),
        )
        passes = np.ones(len(ranked), np.bool_)
        for minimum, part, whole in checks:
            if minimum is not None:
                passes &= 100.0 * part >= minimum * whole
        return np.flatnonzero(passes)

    def _hits(self, block: Block, rows: range, ranked: Ranked, aligned: AlignedPairs) -> Iterator[QueryHits]:
        """One QueryHits for each of these rows of the queries, also without hits."""
        queries = block.queries
        with unchanged(self.database.require_unchanged):
            targets, places = self._gather(ranked.row, texts=True)
        ids, descriptions = targets.ids.to_list(), targets.descriptions.to_list()
        edges = np.searchsorted(ranked.query, np.arange(rows.start, rows.stop + 1)).tolist()
        for query, begin, end in zip(rows, edges[:-1], edges[1:], strict=True):
            own = slice(begin, end)
            found = places[own].tolist()
            positions, counts, paths = aligned.positions[own], aligned.counts[own], aligned.paths
            offsets = paths.offsets[begin : end + 1]
            yield QueryHits(
                index=block.first_index + query,
                query_id=queries.ids[query],
                query_description=queries.descriptions[query],
                query=queries.sequence(query),
                query_quality=queries.quality(query),
                alphabet=self.database.alphabet,
                scoring=self.scoring,
                target_ids=[ids[place] for place in found],
                target_descriptions=[descriptions[place] for place in found],
                target_slices=[
                    targets.sequence(place)[start:end].copy()
                    for place, (start, end) in zip(found, positions[:, 2:].tolist(), strict=True)
                ],
                target_lengths=ranked.length[own],
                ordinal=ranked.ordinal[own],
                score=ranked.score[own].astype(np.int64),
                bits=ranked.bits[own],
                evalue=ranked.evalue[own],
                strand=ranked.strand[own],
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
    options: SearchOptions | None = None,
    engine: str = "auto",
    threads: int | None = None,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    progress: AnyProgress = None,
) -> Hits:
    """The best targets of each query, exactly, with alignments and E-values; one hit per target.

    queries: a string, several, a dict of sequences by id, `Records`, or the pathlib.Path of a file. database: a
    Database, its path, or a FASTA file; several in a list are searched as one. scoring: a Scoring, or a matrix by its
    name or file. Hits are ranked by E-value, then score, then place in the database. evalue to dbsize: see
    `SearchOptions`; they can be given together as `options` instead. devices (numbers of GPUs) and gpu_memory (bytes on
    each) need the cuda engine. progress: True for a bar, or a function that is called with the number of cells done.
    The old names max_hits, strands and db_residues still work.

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
    )
    if options is not None:
        chosen = arguments.instance("options", options, SearchOptions)
    running = choose_engine(engine, threads, devices=devices, gpu_memory=gpu_memory)
    opened, records = _prepare(queries, database, scoring)
    found = Search(opened, as_scoring(scoring, opened.alphabet), running, chosen)
    with showing(progress, SearchProgress, lambda: found.n_cells(records.n_residues)) as report:
        hits = found.run([records], report)
        return Hits.collect(hits, HitSource(records, opened, found.summary(_name(database))))


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
