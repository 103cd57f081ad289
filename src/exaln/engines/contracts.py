"""The contract of an engine: exact scores of queries against the targets of a database.

Narrow number types, packing, streams and repetitions stay inside the engine. Whatever it does, a score that leaves it
is the optimum, and neither batches nor threads nor devices change a result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.alignments.cigar import Paths, taken
from exaln.engines.regions import Borders, EndCell, Lines, PairTable, Pruning, ReadableLines, Region
from exaln.errors import EngineError, InputError, OutOfMemoryError
from exaln.foundation.resources import available_memory
from exaln.pairwise.long.plan import MOST_BLOCK_BYTES
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS, length_bin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.pairwise.long.traceback import Walker
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.alphabet import Alphabet

Progress = Callable[[int], None]
"""Called now and then with the number of cells done so far."""


PIECE_SCORES = 1 << 18
"""Scores that are cut at a time: where everything passes, the candidates of so many are in memory."""


NEVER_LONG = 1 << 62
"""No pair has so many cells."""


class TargetRows(Protocol):
    """A segment, as engines see it: encoded rows sorted by length. Reading a column checks that it is not damaged."""

    @property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[n_residues]"""
        ...

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]"""
        ...

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64[n_rows]: the place of each target in the input of the database."""
        ...


class Targets(Protocol):
    """A database, as engines see it."""

    @property
    def alphabet(self) -> Alphabet:
        """What the codes mean."""
        ...

    @property
    def segments(self) -> tuple[TargetRows, ...]:
        """All of them, in the order of the manifest."""
        ...

    @property
    def n_targets(self) -> int:
        """Targets in all segments."""
        ...

    @property
    def n_residues(self) -> int:
        """Residues of all targets."""
        ...


@dataclass(frozen=True)
class Placement:
    """A database as an engine holds it, to be used by any number of scans."""

    database: Targets


@dataclass(frozen=True)
class Keep:
    """Which scores leave the engine.

    minimum: int32[n_queries, N_BINS], the least score worth keeping for each query and length bin of the target.
    k: how many best targets per query the caller will ask for, None for all; an engine may use it, and may return more.
    score_bins: 0, or the number of score bins of the histogram wanted; the last bin counts all higher scores.
    """

    minimum: NDArray[np.int32]
    k: int | None = None
    score_bins: int = 0

    @staticmethod
    def everything(n_queries: int) -> Keep:
        """Every target of every query."""
        return Keep(np.zeros((n_queries, N_BINS), np.int32))


@dataclass(frozen=True)
class Histogram:
    """How many targets of each length bin had each score: counts int64[queries, N_BINS, score_bins]."""

    first_query: int
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """Pairs that passed the cut, in any order.

    query: int32[n]; ordinal: int64[n], place of the target in the database; length: int64[n] of it; score: int32[n].
    histogram: of all pairs seen since the last Candidates, those below the cut included; None if it was not asked for.
    """

    query: NDArray[np.int32]
    ordinal: NDArray[np.int64]
    length: NDArray[np.int64]
    score: NDArray[np.int32]
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Pairs:
    """Pairs of a query and a target with their exact scores, all above 0: query, target int64[n], score int32[n]."""

    query: NDArray[np.int64]
    target: NDArray[np.int64]
    score: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class PairList:
    """Pairs of which nothing is known yet: query, target int64[n], rows of two records."""

    query: NDArray[np.int64]
    target: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class Traces:
    """Alignments of pairs: where they lie, their paths, and counts over their columns.

    positions: int64[n, 4], query start and end, target start and end, 0-based half-open.
    counts: int32[n, 6]: identities, positives (equal letters, and pairs that score above 0), mismatches, gap opens, gap
    columns, columns.
    """

    positions: NDArray[np.int64]
    counts: NDArray[np.int32]
    paths: Paths

    def counted_in(self, alphabet: Alphabet) -> Traces:
        """The same alignments with positives as BLAST counts them: of nucleotides, equal letters alone."""
        if not alphabet.is_nucleotide or np.array_equal(self.counts[:, 0], self.counts[:, 1]):
            return self
        counts = self.counts.copy()
        counts[:, 1] = counts[:, 0]
        return Traces(self.positions, counts, self.paths)

    @staticmethod
    def joined(parts: Sequence[Traces]) -> Traces:
        """The alignments of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        return Traces(
            np.concatenate([np.empty((0, 4), np.int64), *(part.positions for part in parts)]),
            np.concatenate([np.empty((0, 6), np.int32), *(part.counts for part in parts)]),
            Paths.joined([part.paths for part in parts]),
        )

    def taken(self, rows: NDArray[np.int64]) -> Traces:
        """The alignments of these rows, in their order."""
        return Traces(self.positions[rows], self.counts[rows], taken(self.paths, rows))


class Engine(ABC):
    """Exact scores on one kind of hardware."""

    name: str
    block_pairs: int = 32 << 20
    """Queries of a search are scanned so many pairs at a time."""
    block_bytes: int = MOST_BLOCK_BYTES
    """Lines of a block of a long pair may take so much: more where they are held, and only some of them travel."""
    long_pairs: tuple[tuple[int, int], ...] = ((NEVER_LONG, NEVER_LONG),)
    """Up to so many pairs, those with more cells than this are sooner done one by one; never, if not said."""
    is_for_pairs: bool = True
    """Whether "auto" may choose the engine for a single pair of sequences."""
    leaves_cpu_idle: bool = False
    """Whether the CPU has time to align while the engine scans, on another thread."""

    @staticmethod
    @abstractmethod
    def unavailable_reason() -> str | None:
        """Why the engine cannot be used here, in one line; None if it can."""

    @staticmethod
    def is_expected() -> bool:
        """Whether this machine looks as if the engine were meant to be used: if it cannot be, "auto" says so."""
        return True

    @abstractmethod
    def describe(self) -> str:
        """What will compute, for logs: "cpu, avx2, 8 threads"."""

    def scan_report(self) -> list[str]:
        """How the last scan went, in lines for --verbose; nothing where there is nothing to tell."""
        return []

    def place(self, database: Targets, budget: int | None = None) -> Placement:
        """Make a database ready for scans, in at most `budget` bytes of the engine's memory."""
        return Placement(database)

    @abstractmethod
    def blocks(
        self, queries: Records, placement: Placement, scoring: Scoring, progress: Progress | None = None
    ) -> Iterator[ScoreBlock]:
        """All exact scores, in blocks of bounded size."""

    @abstractmethod
    def align(self, queries: Records, targets: Records, pairs: Pairs, scoring: Scoring) -> Traces:
        """The local alignment of each pair, by the path rule: it re-scores to the pair's score, or EngineError."""

    @abstractmethod
    def align_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> tuple[NDArray[np.int64], Traces]:
        """Score, int64[n], and alignment of each pair in any mode, by the path rule.

        Where nothing aligns the path is empty, and the positions say where the rule puts it: in local mode at 0.
        """

    @abstractmethod
    def score_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> NDArray[np.int64]:
        """int64[n]: the exact score of each pair in any mode; below 0 where letters that cost must be left over."""

    def long_pair_cells(self, n_pairs: int) -> int:
        """Of so many pairs, those with more cells than this are computed one by one, see `exaln.pairwise.long`."""
        return next(cells for most_pairs, cells in self.long_pairs if n_pairs <= most_pairs)

    def fill_region(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        lines: Lines,
        *,
        progress: Progress | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> EndCell:
        """Compute all cells of a region of a pair's table, and write its lines.

        With `wants_end`, in local mode, the best cell of the region by the path rule, in letters of the whole
        sequences; otherwise (0, 0, 0). Of the mode only `is_local` counts: whether H has the floor 0. What is raised,
        KeyboardInterrupt too, leaves nothing running. progress: cells of this region done so far. pruning: which cells
        may be skipped, in local mode; the best cell is then found if its score is that of `pruning` or more.
        """
        raise EngineError(f"the {self.name} engine cannot divide one pair into regions")

    def hold_lines(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        *,
        progress: Progress | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> tuple[ReadableLines, EndCell] | None:
        """As `fill_region`, but lines are kept in the engine's own memory, to be read in pieces; None: it cannot.

        A walk back through a large region reads few of its lines, and what it does not read need not travel.
        """
        return None

    def least_score(self, pair: PairTable) -> int:
        """What some local alignment of a pair scores, if finding out takes little time beside all its cells; else 0."""
        return 0

    def walker(self, pair: PairTable) -> Walker:
        """What walks a path back through small blocks between lines, until it leaves their region or is complete:
        through the block that it is in, and through as many more as take little time.

        The steps, uint8, from its cell on backwards, and where the path is then.
        """
        raise EngineError(f"the {self.name} engine cannot walk through a region")

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Rows of a table that `fill_region` should get at a time where they are stored: about ten seconds of work."""
        return max(1, 10**11 // max(1, n_columns))

    def scan(
        self,
        queries: Records,
        placement: Placement,
        scoring: Scoring,
        keep: Keep,
        progress: Progress | None = None,
    ) -> Iterator[Candidates]:
        """The candidates of every query, in pieces, in any order."""
        for block in self.blocks(queries, placement, scoring, progress):
            for piece in block.pieces(PIECE_SCORES):
                yield piece.cut(keep)

    def scores(
        self, queries: Records, placement: Placement, scoring: Scoring, progress: Progress | None = None
    ) -> NDArray[np.int32]:
        """int32[n_queries, n_targets] in the order of the input; refused if that cannot fit."""
        n_targets = placement.database.n_targets
        require_memory(len(queries), n_targets)
        scores = np.zeros((len(queries), n_targets), np.int32)
        for block in self.blocks(queries, placement, scoring, progress):
            scores[block.first_query : block.first_query + len(block.scores), block.ordinals] = block.scores
        return scores


@dataclass(frozen=True)
class ScoreBlock:
    """All scores of some queries against some targets.

    scores: int32[queries, targets]; the first row is query `first_query`; ordinals, lengths: int64[targets].
    """

    first_query: int
    scores: NDArray[np.int32]
    ordinals: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def pieces(self, max_scores: int) -> Iterator[ScoreBlock]:
        """The same scores as smaller blocks of at most `max_scores`, views."""
        n_queries, n_targets = self.scores.shape
        columns = max(1, min(n_targets, max_scores))
        rows = max(1, max_scores // columns)
        for row in range(0, n_queries, rows):
            for column in range(0, n_targets, columns):
                own = slice(column, column + columns)
                scores = self.scores[row : row + rows, own]
                yield ScoreBlock(self.first_query + row, scores, self.ordinals[own], self.lengths[own])

    def cut(self, keep: Keep) -> Candidates:
        """What of this block passes the cut."""
        bins = length_bin(self.lengths)
        minimum = keep.minimum[self.first_query : self.first_query + len(self.scores)]
        row, column = np.nonzero(self.scores >= minimum[:, bins])
        return Candidates(
            query=(row + self.first_query).astype(np.int32),
            ordinal=self.ordinals[column],
            length=self.lengths[column],
            score=self.scores[row, column],
            histogram=self._histogram(bins, keep.score_bins) if keep.score_bins else None,
        )

    def _histogram(self, bins: NDArray[np.int64], score_bins: int) -> Histogram:
        counts = np.zeros((len(self.scores), N_BINS, score_bins), np.int64)
        for row, scores in enumerate(self.scores):
            flat = bins * score_bins + np.minimum(scores, score_bins - 1)
            counts[row] = np.bincount(flat, minlength=N_BINS * score_bins).reshape(N_BINS, score_bins)
        return Histogram(self.first_query, counts)


def require_memory(n_queries: int, n_targets: int) -> None:
    """Refuse a matrix of scores that cannot fit, and say what to use instead."""
    needed, free = 4 * n_queries * n_targets, available_memory()
    if needed > free:
        size, limit = f"{needed / 2**30:,.1f} GiB", f"{free / 2**30:,.1f} GiB"
        raise OutOfMemoryError(
            f"{n_queries:,} x {n_targets:,} scores need {size} and {limit} are free; pass fewer queries at a time"
        )


def require_same_alphabet(queries: Records, targets: Targets | Records, scoring: Scoring) -> None:
    """Refuse queries, targets or a scoring whose codes mean different letters."""
    found = "the targets are" if isinstance(targets, Records) else "the database is"
    for what, alphabet in (("the queries are", queries.alphabet), (found, targets.alphabet)):
        if not comparable(alphabet, scoring.alphabet):
            raise InputError(f"{what} {alphabet.name}, but {scoring.name} scores {scoring.alphabet.name}")


def comparable(a: Alphabet, b: Alphabet) -> bool:
    """Whether the codes of two alphabets mean the same; those of DNA and RNA do, T being U."""
    return a == b or (a.is_nucleotide and b.is_nucleotide)
