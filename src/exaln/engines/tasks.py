"""What engines are asked to do, and what they return: scans of a database, and pairs.

QueryRows    queries as rows of scores: sequences that index a matrix, or profiles
Resident     a view of a database that an engine holds ready for scans
ScanTask     queries against a view            -> Candidates, or ScoreBlocks
PairTask     pairs of queries and targets      -> AlignedPairs, or scores
RegionTask   a region of one long pair's table -> see `regions`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from exaln.errors import EngineError, InputError
from exaln.sequences.records import offsets_of, read_only
from exaln.statistics.length_bins import length_bin

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from exaln.database.views import TargetView
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records

Progress = Callable[[int], None]
"""Called now and then with the number of cells done so far."""

PIECE_SCORES = 1 << 18
"""Scores compared with the cutoff at a time, which bounds the candidates in memory if all of them pass."""


@dataclass(frozen=True)
class EncodedSequences:
    """Sequences as codes, uint8, and offsets, int64[n + 1]: sequence i is codes[offsets[i]:offsets[i + 1]]."""

    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each sequence."""
        return read_only(np.diff(self.offsets))

    @property
    def n_residues(self) -> int:
        """Letters of all sequences."""
        return int(self.offsets[-1] - self.offsets[0])

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class QueryRows:
    """Queries as rows of scores, one score for every letter.

    table: int32[n_table_rows, n_letters]. index: unsigned[n_rows], the table row that each row of a query uses.
    offsets: int64[n + 1]; the rows of query i are index[offsets[i]:offsets[i + 1]]. A sequence indexes the matrix of
    the scoring by its codes; a profile has a table row of its own for each position.
    query: int64[n], the input query that each was made from. strand: int8[n], its strand, 1 or -1, or its frame.
    """

    scoring: Scoring
    table: NDArray[np.int32]
    index: NDArray[np.unsignedinteger]
    offsets: NDArray[np.int64]
    query: NDArray[np.int64]
    strand: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of_sequences(
        records: Records,
        scoring: Scoring,
        *,
        query: NDArray[np.int64] | None = None,
        strand: NDArray[np.int8] | None = None,
    ) -> QueryRows:
        """Sequences, scored by a matrix. Raises InputError if the scoring is for another alphabet."""
        require_alphabet("the queries are", records.alphabet, scoring)
        return QueryRows(
            scoring,
            scoring.matrix,
            records.codes,
            records.offsets,
            np.arange(len(records)) if query is None else query,
            np.ones(len(records), np.int8) if strand is None else strand,
        )

    @staticmethod
    def of_profiles(profiles: Sequence[NDArray[np.int32]], scoring: Scoring) -> QueryRows:
        """Profiles, int32[length, n_letters] each: the score of every letter at every position.

        The gap costs are those of the scoring; its matrix is not used.
        """
        n_letters = len(scoring.alphabet.letters)
        if any(profile.ndim != 2 or profile.shape[1] != n_letters for profile in profiles):
            raise InputError(f"a profile needs a score for each of the {n_letters} letters of {scoring.alphabet.name}")
        table = np.concatenate([np.empty((0, n_letters), np.int32), *profiles]).astype(np.int32)
        offsets = offsets_of(len(profile) for profile in profiles)
        index = np.arange(len(table), dtype=np.uint32)
        return QueryRows(scoring, table, index, offsets, np.arange(len(profiles)), np.ones(len(profiles), np.int8))

    def taken(self, places: NDArray[np.int64]) -> QueryRows:
        """Some of the queries, in this order."""
        return self.parts(places, np.zeros(len(places), np.int64), self.lengths[places])

    def parts(self, places: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> QueryRows:
        """Rows [starts, ends) of some of the queries, int64[n] each, as queries of their own."""
        first = self.offsets[places]
        pieces = [
            self.index[begin:end] for begin, end in zip((first + starts).tolist(), (first + ends).tolist(), strict=True)
        ]
        return replace(
            self,
            index=np.concatenate([self.index[:0], *pieces]),
            offsets=offsets_of(map(len, pieces)),
            query=self.query[places],
            strand=self.strand[places],
        )

    @property
    def is_profile(self) -> bool:
        """Whether the rows have scores of their own."""
        return self.table is not self.scoring.matrix

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n]: the number of rows of each query."""
        return read_only(np.diff(self.offsets))

    @property
    def n_rows(self) -> int:
        """Rows of all queries."""
        return int(self.offsets[-1] - self.offsets[0])

    def row_scores(self, query: int) -> NDArray[np.int32]:
        """int32[rows, n_letters]: the score of each letter in each row of a query."""
        rows: NDArray[np.int32] = self.table[self.index[self.offsets[query] : self.offsets[query + 1]]]
        return rows

    def codes(self, engine: str) -> NDArray[np.uint8]:
        """uint8[n_rows]: the codes of sequences. Raises EngineError for profiles. engine: its name, for the message."""
        if self.is_profile:
            raise EngineError(f"the {engine} engine cannot score profiles; use the reference engine")
        return self.index.view(np.uint8)

    def sequence(self, query: int, engine: str) -> NDArray[np.uint8]:
        """The codes of one query; see `codes`."""
        return self.codes(engine)[self.offsets[query] : self.offsets[query + 1]]


class Resident:
    """A view that an engine holds ready for any number of scans; a context manager, which frees its memory."""

    def __init__(self, view: TargetView, budget: int | None = None) -> None:
        self.view, self.budget = view, budget

    @property
    def n_bytes(self) -> int:
        """Bytes of the engine's own memory that it takes now."""
        return 0

    def close(self) -> None:
        """Free the engine's memory."""

    def __enter__(self) -> Resident:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class ScanTask:
    """Queries against all targets of a view, in local mode.

    cutoff: int32[n_queries, N_BINS], the least score of a candidate for each query and length bin of the target; None
    for all scores. first_row: int64[n_queries], the first row of the view that each query is compared with, for scans
    of a triangle; None for all rows. block_columns: 0, or a multiple of 64: each target has a score for each block of
    that many residues, the best of an alignment that ends there, in place of one score. The rows of scores and of
    candidates are then those of `block_starts`. Engines may do without (`Tuning.scores_blocks_of_targets`).
    """

    queries: QueryRows
    resident: Resident
    cutoff: NDArray[np.int32] | None = None
    first_row: NDArray[np.int64] | None = None
    progress: Progress | None = None
    block_columns: int = 0

    def __post_init__(self) -> None:
        assert not self.block_columns or self.first_row is None
        require_alphabet("the database is", self.view.alphabet, self.queries.scoring)

    def score_block(
        self, first_query: int, scores: NDArray[np.int32], first_row: int, lengths: NDArray[np.int64]
    ) -> ScoreBlock:
        """The scores of queries from `first_query` on and of rows from `first_row` on, with these lengths."""
        if not self.block_columns:
            return ScoreBlock(first_query, scores, np.arange(first_row, first_row + len(lengths)), lengths)
        first, end = self.block_starts[first_row], self.block_starts[first_row + len(lengths)]
        n_blocks = np.diff(self.block_starts[first_row : first_row + len(lengths) + 1])
        return ScoreBlock(first_query, scores, np.arange(first, end), np.repeat(lengths, n_blocks))

    @cached_property
    def block_starts(self) -> NDArray[np.int64]:
        """int64[n_targets + 1]: the first block of each row of the view, and the number of all blocks."""
        lengths = [np.diff(segment.offsets) for segment in self.view.segments]
        return offsets_of(-(-np.concatenate([np.empty(0, np.int64), *lengths]) // self.block_columns))

    @property
    def view(self) -> TargetView:
        """The targets."""
        return self.resident.view

    @property
    def scoring(self) -> Scoring:
        """The scoring of the queries."""
        return self.queries.scoring


@dataclass(frozen=True)
class Candidates:
    """Pairs that reach the cutoff, and perhaps others, in any order.

    query: int32[n], a query of the task; row: int64[n], a row of its view; score: int32[n], exact.
    """

    query: NDArray[np.int32]
    row: NDArray[np.int64]
    score: NDArray[np.int32]

    def taken(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Candidates:
        """Some of them, by index or mask."""
        return Candidates(self.query[places], self.row[places], self.score[places])


@dataclass(frozen=True)
class ScoreBlock:
    """All scores of some queries against some targets, or blocks of targets.

    scores: int32[queries, targets]; the first row is query `first_query`. rows: int64[targets], rows of the view, or
    blocks; lengths: int64[targets], of whole targets.
    """

    first_query: int
    scores: NDArray[np.int32]
    rows: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def pieces(self, max_scores: int) -> Iterator[ScoreBlock]:
        """Yield these scores as blocks of at most `max_scores`, without copies."""
        n_queries, n_targets = self.scores.shape
        columns = max(1, min(n_targets, max_scores))
        rows = max(1, max_scores // columns)
        for row in range(0, n_queries, rows):
            for column in range(0, n_targets, columns):
                own = slice(column, column + columns)
                scores = self.scores[row : row + rows, own]
                yield ScoreBlock(self.first_query + row, scores, self.rows[own], self.lengths[own])

    def candidates(self, task: ScanTask) -> Candidates:
        """The pairs of this block that the task asks for."""
        own = slice(self.first_query, self.first_query + len(self.scores))
        passes = np.ones(self.scores.shape, np.bool_)
        if task.cutoff is not None:
            passes = self.scores >= task.cutoff[own][:, length_bin(self.lengths)]
        if task.first_row is not None:
            passes &= self.rows >= task.first_row[own][:, np.newaxis]
        row, column = np.nonzero(passes)
        return Candidates((row + self.first_query).astype(np.int32), self.rows[column], self.scores[row, column])


def candidates_of(blocks: Iterable[ScoreBlock], task: ScanTask) -> Iterator[Candidates]:
    """Yield the candidates of blocks of scores, piece by piece."""
    for block in blocks:
        for piece in block.pieces(PIECE_SCORES):
            yield piece.candidates(task)


class Bounds(NamedTuple):
    """The least and the most rows and columns of some tables, all 0 if there are none."""

    least_rows: int
    most_rows: int
    least_columns: int
    most_columns: int

    @staticmethod
    def of(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Bounds:
        """Bounds of tables with these rows and columns."""
        if not len(rows):
            return Bounds(0, 0, 0, 0)
        return Bounds(int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max()))


class GapCosts(Protocol):
    """What has gap costs. A gap of length k costs gap_open + k * gap_extend; gap_first is that of one residue."""

    @property
    def gap_open(self) -> int: ...
    @property
    def gap_extend(self) -> int: ...
    @property
    def gap_first(self) -> int: ...


@dataclass(frozen=True)
class PairTables:
    """Scores of letters for each pair of a task, and the gap costs of all.

    scores: int32[n, n_letters, n_letters], row: query letter.
    """

    scores: NDArray[np.int32]
    gap_open: int
    gap_extend: int

    @property
    def gap_first(self) -> int:
        """The cost of a gap of one residue."""
        return self.gap_open + self.gap_extend

    def taken(self, places: NDArray[np.int64] | slice) -> PairTables:
        """Those of some pairs."""
        return replace(self, scores=self.scores[places])


@dataclass(frozen=True)
class PairTask:
    """Pairs of queries and targets, each compared on its own, in any mode.

    query, target: int64[n], rows of `queries` and of `targets`. known_scores: int64[n], the exact scores, which the
    alignments must have; None if unknown. forbidden: for each pair int64[k, 2], cells (query letter, target letter)
    that the alignment may not use; None for none. tables: scores of each pair, in local mode, in place of those of the
    queries; None for the latter.
    """

    queries: QueryRows
    targets: Records
    query: NDArray[np.int64]
    target: NDArray[np.int64]
    mode: Mode
    known_scores: NDArray[np.int64] | None = None
    forbidden: tuple[NDArray[np.int64], ...] | None = None
    tables: PairTables | None = None

    def __post_init__(self) -> None:
        require_alphabet("the targets are", self.targets.alphabet, self.queries.scoring)
        assert self.tables is None or (self.mode.is_local and len(self.tables.scores) == len(self.query))

    def __len__(self) -> int:
        return len(self.query)

    @property
    def scoring(self) -> Scoring:
        """The scoring of the queries."""
        return self.queries.scoring

    @property
    def gap_costs(self) -> GapCosts:
        """What has the gap costs of all pairs."""
        return self.tables or self.scoring

    def row_scores(self, pair: int) -> NDArray[np.int32]:
        """int32[rows, n_letters]: the score of each letter in each row of a pair's query."""
        if self.tables is None:
            return self.queries.row_scores(int(self.query[pair]))
        rows: NDArray[np.int32] = self.tables.scores[pair][self.queries.sequence(int(self.query[pair]), "reference")]
        return rows

    @cached_property
    def shapes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[n] each: rows and columns of the tables."""
        return self.queries.lengths[self.query], self.targets.lengths[self.target]

    @cached_property
    def bounds(self) -> Bounds:
        """The least and the most rows and columns of the tables."""
        return Bounds.of(*self.shapes)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """int64[n]: cells of the tables."""
        rows, columns = self.shapes
        return read_only(rows * columns)

    def taken(self, places: NDArray[np.int64] | slice) -> PairTask:
        """Some of these pairs."""
        if isinstance(places, slice) and places.indices(len(self)) == (0, len(self), 1):
            return self
        return replace(
            self,
            query=self.query[places],
            target=self.target[places],
            known_scores=None if self.known_scores is None else self.known_scores[places],
            forbidden=None if self.forbidden is None else self._forbidden_of(places),
            tables=None if self.tables is None else self.tables.taken(places),
        )

    def _forbidden_of(self, places: NDArray[np.int64] | slice) -> tuple[NDArray[np.int64], ...]:
        assert self.forbidden is not None
        if isinstance(places, slice):
            return self.forbidden[places]
        return tuple(self.forbidden[place] for place in places.tolist())

    def require_no_forbidden_cells(self, engine: str) -> None:
        """Raise EngineError if there are any. engine: the name of an engine that does not support them."""
        if self.forbidden is not None:
            raise EngineError(f"the {engine} engine cannot leave out cells of an alignment; use the reference engine")

    def require_one_table(self, engine: str) -> None:
        """Raise EngineError if pairs have tables. engine: the name of an engine that does not support them."""
        if self.tables is not None:
            raise EngineError(f"the {engine} engine has one table for all pairs; use the cpu engine")


@dataclass(frozen=True)
class SeveralTask:
    """Several local alignments of each pair that share no aligned pair of letters (Waterman and Eggert 1987).

    Alignment r of a pair follows the path rule in the table in which no two letters that an earlier one aligned may be
    aligned. most: how many of a pair, at least 1. least: int64[n], the least score of each pair's alignments, at least
    1. ends: if targets are the ends of longer ones.
    """

    pairs: PairTask
    most: int
    least: NDArray[np.int64]
    ends: TargetEnds | None = None

    def __post_init__(self) -> None:
        assert self.pairs.mode.is_local
        assert self.most >= 1
        assert len(self.least) == len(self.pairs)


@dataclass(frozen=True)
class TargetEnds:
    """What is known of targets that are the ends of longer ones, so that little of those has to be computed.

    upper: int64[n], the most that H can be in the column before each, 0 if there is none. margin: int64[n]: no
    alignment ends in so many columns at the beginning. With H = 0 before the first column values are too low, with
    H = upper too high. Further on both tables agree, and from there on the values are those of the longer target,
    whatever pairs of letters are forbidden before. A pair of which an alignment may begin earlier is not certain.
    """

    upper: NDArray[np.int64]
    margin: NDArray[np.int64]

    def taken(self, places: NDArray[np.int64] | slice) -> TargetEnds:
        """Those of some pairs."""
        return TargetEnds(self.upper[places], self.margin[places])


def require_alphabet(what: str, alphabet: Alphabet, scoring: Scoring) -> None:
    """Raise InputError unless a scoring is for this alphabet. what: begins the message, as in "the queries are"."""
    if not comparable(alphabet, scoring.alphabet):
        raise InputError(f"{what} {alphabet.name}, but {scoring.name} scores {scoring.alphabet.name}")


def comparable(a: Alphabet, b: Alphabet) -> bool:
    """Whether two alphabets have the same codes; those of DNA and RNA count as equal, T being U."""
    return a == b or (a.is_nucleotide and b.is_nucleotide)
