"""Which queries are scanned against which view of the database: short targets as they are, long ones as windows.

Queries that are far longer than all short targets are cut into windows as well, by the same bound with query and
target exchanged. Queries with similar spans share windows of targets. Where even the windows of a whole engine would
overlap for the most part, as for queries of a hundred thousand letters, the long targets are scanned whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.views import read_lengths, segment_starts, target_origins
from exaln.database.windows import (
    SPANS_PER_STEP,
    WindowedTargets,
    alignment_spans,
    is_long,
    long_rows,
    short_targets,
    windows_of,
)
from exaln.engines.tasks import ScanTask
from exaln.foundation.distinct import distinct
from exaln.search.candidate_pruning import LocatedCandidates
from exaln.statistics.length_bins import shortest_in_bin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Database
    from exaln.database.masked import MaskedTargets
    from exaln.database.part import DatabasePart
    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import Candidates, Progress, QueryRows, Resident

END_COLUMNS = 1 << 8
"""Residues of a block of a long target: so exactly it is known where alignments end."""

LONG_QUERY = 1 << 16
"""Queries of at least this many letters may be cut into windows."""

LEAST_OVERLAP = 1 << 10
"""No window has less: what is computed twice is little anyway."""

WIDEST_OVERLAP = 3
"""Steps that windows may overlap by; beyond that, targets are scanned whole, which takes as long."""

WHOLE = 0
"""Stands for the overlap of targets that are not cut."""


@dataclass(frozen=True)
class ScanPart:
    """Some queries against a view. places: int64[n], their rows among all queries. cells: of the stored targets.

    Places come several times where queries are cut. windows: the view, if it has windows; is_all: whether it is the
    database itself; else it has the short targets.
    block_columns: not 0 if candidates are blocks of windows, in which alignments end.
    """

    resident: Resident
    rows: QueryRows
    places: NDArray[np.int64]
    cutoff: NDArray[np.int32]
    cells: int
    windows: WindowedTargets | None = None
    is_all: bool = False
    block_columns: int = 0

    def task(self, progress: Progress | None) -> ScanTask:
        """What an engine is asked to do."""
        return ScanTask(self.rows, self.resident, self.cutoff, progress=progress, block_columns=self.block_columns)

    @property
    def has_whole_pairs(self) -> bool:
        """Whether each query is scored once with each target, on each strand."""
        return self.windows is None and len(distinct(self.places)) == len(self.places)

    @property
    def scored_cells(self) -> int:
        """Cells that an engine computes, those of overlaps included."""
        return self.rows.n_rows * self.resident.view.n_residues

    def parts_of_target(self, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[n] each: starts and ends of the parts in which this view has a target of this length; none if it has
        no such targets.
        """
        if not self.is_all and is_long(length) != (self.windows is not None):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.windows is None:
            return np.zeros(1, np.int64), np.full(1, length)
        _, start, end = windows_of(np.array([length]), self.windows.overlap, self.windows.step)
        return start, end


class ScanViews:
    """The views of one database that an engine scans; each is opened when it is first needed."""

    def __init__(self, database: Database | DatabasePart | MaskedTargets, engine: Engine) -> None:
        self.database, self._engine = database, engine
        self._resident = engine.open(database)
        self._windows: dict[tuple[int, int], Resident] = {}

    def parts(self, rows: QueryRows, cutoff: NDArray[np.int32]) -> list[ScanPart]:
        """The parts of a scan of these queries. cutoff: int32[n_queries, N_BINS], as in `ScanTask`."""
        every = np.arange(len(rows))
        if not self._long_residues:
            cells = rows.n_rows * self.database.n_residues
            return divided(ScanPart(self._resident, rows, every, cutoff, cells, is_all=True))
        parts = []
        if self._short.view.n_targets:
            parts += divided(ScanPart(self._short, rows, every, cutoff, rows.n_rows * self._short.view.n_residues))
        long_cutoff = cutoff_of_long_targets(cutoff)
        overlaps = self._overlaps(rows, long_cutoff)
        for overlap in distinct(overlaps).tolist():
            places = np.flatnonzero(overlaps == overlap)
            own = rows if len(places) == len(rows) else rows.taken(places)
            resident, windows = self._windowed(overlap, len(own))
            own_cutoff = np.repeat(long_cutoff[places][:, np.newaxis], cutoff.shape[1], axis=1)
            scores_blocks = self._engine.tuning.scores_blocks_of_targets
            parts.append(
                ScanPart(
                    resident,
                    own,
                    places,
                    own_cutoff,
                    own.n_rows * self._long_residues,
                    windows,
                    block_columns=END_COLUMNS if scores_blocks else 0,
                )
            )
        return parts

    def located(self, task: ScanTask, part: ScanPart, found: Candidates, rows: QueryRows) -> LocatedCandidates:
        """Candidates with the queries and the parts of targets that they come from. rows: all queries."""
        place = part.places[found.query]
        if part.windows is None:
            row, start, end = self._stored_rows(part, found.row), None, None
        elif not part.block_columns:
            row, start, end = part.windows.origins(found.row)
        else:
            window = np.searchsorted(task.block_starts, found.row, side="right") - 1
            row, start, end = part.windows.origins(window)
            start = start + part.block_columns * (found.row - task.block_starts[window])
            end = np.minimum(start + part.block_columns, end)
        origins = target_origins(self.database, row, self.starts)
        return LocatedCandidates(
            rows.query[place],
            rows.strand[place],
            row,
            origins.ordinal,
            origins.length,
            np.zeros(len(row), np.int64) if start is None else start,
            origins.length if end is None else end,
            found.score,
        )

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """int64[n_segments + 1]: the `segment_starts` of the database."""
        return segment_starts(self.database)

    @property
    def has_windows(self) -> bool:
        """Whether targets may be found in several parts."""
        return self._long_residues > 0

    @cached_property
    def _long_residues(self) -> int:
        read_lengths(self.database)
        return sum(int(long_rows(segment)[1].sum()) for segment in self.database.segments)

    @cached_property
    def _short(self) -> Resident:
        return self._engine.open(short_targets(self.database))

    @cached_property
    def _short_starts(self) -> NDArray[np.int64]:
        return segment_starts(self._short.view)

    def _stored_rows(self, part: ScanPart, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: rows of the database, from rows of the view of a part without windows."""
        if part.resident is self._resident:
            return rows
        number = np.searchsorted(self._short_starts, rows, side="right") - 1
        return rows - self._short_starts[number] + self.starts[number]

    def _windowed(self, overlap: int, n_rows: int) -> tuple[Resident, WindowedTargets]:
        step = self._step(overlap, n_rows) if overlap != WHOLE else self._long_residues
        if (overlap, step) not in self._windows:
            self._windows[overlap, step] = self._engine.open(WindowedTargets(self.database, overlap, step))
        resident = self._windows[overlap, step]
        assert isinstance(resident.view, WindowedTargets)
        return resident, resident.view

    def _step(self, overlap: int, n_rows: int) -> int:
        """Columns between the starts of two windows, for this many queries.

        SPANS_PER_STEP overlaps, in windows that fill the engine evenly; fewer if that is done sooner, because it keeps
        more workers busy.
        """
        tuning, n_residues = self._engine.tuning, self._long_residues
        least = max(1, n_residues // (SPANS_PER_STEP * overlap * tuning.windows))
        groups = np.arange(least, least + tuning.workers)
        columns = -(-n_residues // (groups * tuning.windows))
        rounds = -(-groups * n_rows // tuning.workers)
        return max(1, int(columns[np.argmin(rounds * (columns + overlap))]))

    def _overlaps(self, rows: QueryRows, least: NDArray[np.int32]) -> NDArray[np.int64]:
        """int64[n_queries]: the overlap of the windows for each query, WHOLE if windows do not pay.

        Queries share windows whose spans differ by a factor of up to 2.
        """
        spans = spans_of_rows(rows, np.arange(len(rows)), least)
        largest = WIDEST_OVERLAP * self._long_residues // self._engine.tuning.windows
        overlaps = np.zeros(len(rows), np.int64)
        waiting = np.flatnonzero((spans >= 0) & (spans <= largest))
        while len(waiting):
            widest = int(spans[waiting].max())
            is_near = (2 * spans[waiting] > widest) | (widest <= LEAST_OVERLAP)
            overlaps[waiting[is_near]] = _rounded(widest)
            waiting = waiting[~is_near]
        return overlaps


def divided(part: ScanPart) -> list[ScanPart]:
    """The part, with queries that are far longer than all of its targets in a part of their own, cut into windows."""
    rows = part.rows
    is_long = rows.lengths >= LONG_QUERY
    if not is_long.any():
        return [part]
    longest = max((int(np.diff(segment.offsets).max(initial=0)) for segment in part.resident.view.segments), default=0)
    best = longest * max(int(rows.table.max(initial=0)), 0)
    n = len(rows)
    spans = alignment_spans(np.full(n, best), part.cutoff.min(axis=1), np.full(n, longest), rows.scoring)
    steps = np.maximum(SPANS_PER_STEP * spans, LONG_QUERY // 4)
    cut = np.flatnonzero(is_long & (spans >= 0) & (rows.lengths >= 2 * steps))
    if not len(cut):
        return [part]
    pieces = [
        windows_of(rows.lengths[place : place + 1], int(spans[place]), int(steps[place])) for place in cut.tolist()
    ]
    of = np.repeat(cut, [len(piece.row) for piece in pieces])
    start, end = (np.concatenate([getattr(piece, side) for piece in pieces]) for side in ("start", "end"))
    others = np.setdiff1d(np.arange(n), cut)
    return [
        replace(
            part, rows=some, places=part.places[own], cutoff=part.cutoff[own], cells=cells * part.cells // rows.n_rows
        )
        for some, own, cells in (
            (rows.taken(others), others, int(rows.lengths[others].sum())),
            (rows.parts(of, start, end), of, int(rows.lengths[cut].sum())),
        )
        if len(own)
    ]


def cutoff_of_long_targets(cutoff: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32[n_queries]: the least cutoff for any long target. cutoff: int32[n_queries, N_BINS]."""
    is_of_long = is_long(shortest_in_bin(np.arange(1, cutoff.shape[1] + 1)) - 1)  # the longest in each bin
    least: NDArray[np.int32] = cutoff[:, is_of_long].min(axis=1)
    return least


def spans_of_rows(rows: QueryRows, row: NDArray[np.int64], least: NDArray[np.integer]) -> NDArray[np.int64]:
    """int64[n]: the most columns that an alignment of each of these rows spans, as `alignment_spans`. least: its score,
    at least.
    """
    return alignment_spans(_most_scores(rows)[row], least, rows.lengths[row], rows.scoring)


def _rounded(overlap: int) -> int:
    """The overlap or a little more, so that few different windows are made: quarters of powers of 2.

    >>> [_rounded(overlap) for overlap in (5, 1024, 1025, 1300)]
    [1024, 1024, 1280, 1536]
    """
    quarter = max(LEAST_OVERLAP, 1 << (max(overlap, 1).bit_length() - 1)) >> 2
    return max(LEAST_OVERLAP, -(-overlap // quarter) * quarter)


def _most_scores(rows: QueryRows) -> NDArray[np.int64]:
    """int64[n_queries]: for each query, the sum of the best score that each of its letters can have, or of 0."""
    best = np.maximum(rows.table.max(axis=1), 0).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(best[rows.index])])
    sums: NDArray[np.int64] = before[rows.offsets[1:]] - before[rows.offsets[:-1]]
    return sums


def cells_reported(part: ScanPart, cells: int) -> int:
    """Cells of the stored targets that are done when an engine has done `cells` of a part."""
    return cells * part.cells // max(1, part.scored_cells)
