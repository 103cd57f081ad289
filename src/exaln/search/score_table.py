"""Scores of all pairs as text: query id, target id and score, separated by tabs, in the order of the input.

Memory is bounded: with few targets, many queries are scored at a time; with very many, one query against one segment.
Control characters in ids are written as spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.row_ranges import query_blocks
from exaln.database.views import target_ordinals
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.foundation.mapped_file import read_unchanged, unchanged
from exaln.report.clean import one_line
from exaln.scoring.scoring import Scoring

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Database
    from exaln.database.segment import Segment
    from exaln.engines.contracts import Engine
    from exaln.engines.tasks import Progress
    from exaln.sequences.records import Records

MAX_SCORES = 16 << 20
"""Scores in memory at a time, 4 bytes each, unless one query against one segment has more."""

MAX_LINES = 1 << 16
"""Lines that are written at a time."""


@dataclass(frozen=True)
class SegmentGroup:
    """Consecutive segments of a database, as a view that engines can open."""

    database: Database
    segments: tuple[Segment, ...]
    first_ordinal: int

    @property
    def alphabet(self) -> Any:
        """The alphabet of the database."""
        return self.database.alphabet

    @property
    def n_targets(self) -> int:
        """Targets in these segments."""
        return sum(segment.n_rows for segment in self.segments)

    @property
    def n_residues(self) -> int:
        """Residues in these segments."""
        return sum(segment.n_residues for segment in self.segments)

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a file of these segments has changed since it was opened."""
        for segment in self.segments:
            segment.require_unchanged()


def score_lines(
    queries: Records,
    database: Database,
    scoring: Scoring,
    engine: Engine,
    *,
    minimum: int | None = None,
    progress: Progress | None = None,
) -> Iterator[bytes]:
    """Yield the lines of the table, many at a time: all pairs, or those that score at least `minimum` (scaled)."""
    cells = 0
    for first, end in query_blocks(len(queries), max(1, MAX_SCORES // max(1, database.n_targets))):
        some_queries = queries.rows(first, end)
        for group in _groups(database):
            done = cells
            report = None if progress is None else lambda new, done=done: progress(done + new)
            scores = _group_scores(some_queries, group, scoring, engine, report)
            cells += some_queries.n_residues * group.n_residues
            for row in range(len(some_queries)):
                lines = _query_lines(some_queries.ids[row], group, scores[row], scoring, minimum)
                yield from read_unchanged(group.require_unchanged, lines)


def score_texts(scores: NDArray[np.int32], scoring: Scoring) -> list[str]:
    """Scores as text in the units of the scoring as given: integers without a point, fractions without trailing zeros.

    >>> score_texts(np.array([586, 587], np.int32), Scoring(gap_open=9.5, gap_extend=0.5))
    ['293', '293.5']
    """
    return [f"{scoring.unscale(score):.15g}" for score in scores.tolist()]


def _groups(database: Database) -> list[SegmentGroup]:
    """All segments as one group if the scores of one query against them fit, else each segment on its own."""
    segments = database.segments
    edges = [0, len(segments)] if database.n_targets <= MAX_SCORES else list(range(len(segments) + 1))
    starts = np.concatenate([[0], np.cumsum([segment.n_rows for segment in segments])])
    return [SegmentGroup(database, segments[a:b], int(starts[a])) for a, b in pairwise(edges)]


def _group_scores(
    queries: Records, group: SegmentGroup, scoring: Scoring, engine: Engine, progress: Progress | None
) -> NDArray[np.int32]:
    scores = np.zeros((len(queries), group.n_targets), np.int32)
    with engine.open(group) as resident:
        task = ScanTask(QueryRows.of_sequences(queries, scoring), resident, progress=progress)
        for block in read_unchanged(group.require_unchanged, engine.score_blocks(task)):
            last = block.first_query + len(block.scores)
            places = target_ordinals(group, block.rows) - group.first_ordinal
            scores[block.first_query : last, places] = block.scores
    return scores


def _query_lines(
    query_id: str, group: SegmentGroup, scores: NDArray[np.int32], scoring: Scoring, minimum: int | None
) -> Iterator[bytes]:
    begin = 0
    for segment in group.segments:
        rows = segment.input_order
        of_segment = scores[begin : begin + segment.n_rows]
        begin += segment.n_rows
        if minimum is not None:
            kept = np.flatnonzero(of_segment >= minimum)
            rows, of_segment = rows[kept], of_segment[kept]
        for line in range(0, len(rows), MAX_LINES):
            part = slice(line, line + MAX_LINES)
            yield _lines(query_id, segment, rows[part], _score_column(of_segment[part], scoring))


def _lines(query_id: str, segment: Segment, rows: NDArray[np.int32], scores: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    query, tab, newline, nothing = (pa.scalar(text, pa.large_utf8()) for text in (one_line(query_id), "\t", "\n", ""))
    ids = segment.batch.column("id").take(pa.array(rows))
    if pc.any(pc.match_substring_regex(ids, "[^ -~]")).as_py():
        ids = pa.array([one_line(text) for text in ids.to_pylist()], pa.large_utf8())
    lines = pc.binary_join_element_wise(query, ids, scores, tab)
    return _joined(pc.binary_join_element_wise(lines, nothing, newline))


def _joined(column: Any) -> bytes:
    """All strings of a column, one after the other. The column must be fresh: slices are not supported."""
    _, offsets, text = column.buffers()
    n_bytes = np.frombuffer(offsets, np.int64)[len(column)]
    return bytes(memoryview(text)[:n_bytes])


def _score_column(scores: NDArray[np.int32], scoring: Scoring) -> Any:
    import pyarrow as pa

    if scoring.scale == 1:
        return pa.array(scores).cast(pa.large_utf8())
    values, places = np.unique(scores, return_inverse=True)
    return pa.array(score_texts(values, scoring), pa.large_utf8()).take(pa.array(places))


def best_targets(database: Database, ordinals: Sequence[NDArray[np.int64]]) -> list[list[tuple[str, str]]]:
    """Id and description of the targets with these ordinals, for each query."""
    numbers, rows = database.locate(np.concatenate([*ordinals, np.empty(0, np.int64)]))
    with unchanged(database.require_unchanged):
        texts = [
            (segment.ids_of(own)[0], segment.descriptions_of(own)[0])
            for segment, own in zip([database.segments[n] for n in numbers.tolist()], rows[:, None], strict=True)
        ]
    ends = np.cumsum([0, *(len(some) for some in ordinals)]).tolist()
    return [texts[begin:end] for begin, end in pairwise(ends)]
