"""Makes the plan of a scan from lengths, device properties and a memory budget. It needs no GPU.

    lengths -> long length -> division into batches -> groups of queries -> strips of each batch -> buffers

The batches of a resident database do not depend on the queries. For a streamed database, strips, division and long
length are fitted to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.letters import fold_letters
from exaln.engines.cuda.runtime.constants import COLUMNS
from exaln.engines.cuda.scan.cache import DatabaseCache, ScanCache, StreamedFit, StreamedKey
from exaln.engines.cuda.scan.division import (
    NO_REQUIREMENTS,
    SCORES_SHARE,
    Division,
    Requirements,
    RowSums,
    divide_resident,
    divide_streamed,
)
from exaln.engines.cuda.scan.long_targets import LENGTH_CLASSES, long_length, streamed_long_length
from exaln.engines.cuda.scan.plan import BatchPlan, QueryRange, ScanPlan, ScanRequest
from exaln.engines.cuda.scan.shapes import fits_packed
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.engines.cuda.scan.stream_layout import stream_tiles
from exaln.engines.cuda.scan.strips import StreamStatistics, Strip, plan_strips

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import DeviceProperties
    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.cuda.scan.cache import SegmentCache
    from exaln.scoring.scoring import Scoring

MAX_GROUP_QUERIES = 512
"""Most queries that are scored together."""

TYPICAL_GROUP_QUERIES = 256
"""Most queries for which a streamed database is divided."""

MAX_RECUTS = 5
"""Rounds in which strips and division of a streamed database are fitted to each other."""

MANY_GROUPS = 8192
"""About the most groups of lanes on any device."""


@dataclass(frozen=True)
class Planner:
    """The rules by which scans are planned. Tests pass their own.

    strips: (query lengths, device, targets) -> strips.
    long_length: (lengths, device) -> length above which targets are long.
    streamed_long_length: (lengths, device, strips, number of batches) -> that length, seconds of the scan.
    divide_resident: (row sums of the segments, budget, number of devices) -> division, or None if it does not fit.
    """

    strips: Callable[[Sequence[int], DeviceProperties, StreamStatistics], Sequence[Strip]] = plan_strips
    long_length: Callable[[Sizes, DeviceProperties], int] = long_length
    streamed_long_length: Callable[[Sizes, DeviceProperties, Sequence[Strip], int], tuple[int, float]] = (
        streamed_long_length
    )
    divide_resident: Callable[[Sequence[RowSums], int, int], Division | None] = divide_resident


def plan_scan(
    segment_lengths: Sequence[Sizes],
    query_lengths: Sequence[int],
    scoring: Scoring,
    properties: DeviceProperties,
    budget: int,
    n_devices: int = 1,
    *,
    is_used: NDArray[np.bool_] | None = None,
    planner: Planner | None = None,
) -> ScanPlan:
    """Return the plan of a scan, without a GPU.

    segment_lengths: of the targets of each segment. properties, budget: of each device. is_used: bool[256], the
    codes of the letters that targets use; by default the whole alphabet.

    >>> from exaln.engines.cuda.runtime.device import DeviceProperties
    >>> from exaln.scoring.scoring import Scoring
    >>> h200 = DeviceProperties(n_sms=132, shared_bytes=232448, dpx=True, arch="sm_90")
    >>> plan = plan_scan([Sizes.of(np.full(100_000, 360))], [144, 375], Scoring(), h200, budget=1 << 30)
    >>> plan.is_resident, len(plan.batches), [use.name for use in plan.kernels]
    (True, 1, ['8 x 48 merged', '8 x 20 merged'])
    >>> [(buffer.name, buffer.n_bytes) for buffer in plan.buffers][0]
    ('residues and offsets', 38800000)
    """
    if is_used is None:
        is_used = np.arange(256) < len(scoring.matrix)
    request = ScanRequest(
        query_lengths=tuple(query_lengths),
        n_letters=fold_letters(scoring, is_used).n_letters,
        can_pack=fits_packed(scoring, properties),
        properties=properties,
        budget=budget,
        n_devices=n_devices,
    )
    return ScanPlanning(request, DatabaseCache.of_lengths(segment_lengths), ScanCache(), planner or Planner()).plan()


class ScanPlanning:
    """Plans one scan. The caches remember what it computes, so that later scans plan less."""

    def __init__(self, request: ScanRequest, database: DatabaseCache, cache: ScanCache, planner: Planner) -> None:
        self._request, self._database, self._cache, self._planner = request, database, cache, planner

    def plan(self) -> ScanPlan:
        """Return the plan for the devices of the request."""
        long = self._long_length()
        division = self._resident_division(long)
        requirements, typical = Requirements(), None
        if division is None:
            requirements, long, typical = self._streamed_fit(long)
            division = self._streamed_division(requirements, long)
        groups = tuple(self._groups(division))
        n_queries = max(map(len, groups), default=0)
        plan = ScanPlan(
            request=self._request,
            target_lengths=self._database.extreme_lengths,
            long_length=long,
            requirements=requirements,
            typical=typical,
            division=division,
            groups=groups,
            scratch={} if division.is_resident else division.largest.scratch(requirements, n_queries),
        )
        return self._with_batches(plan)

    def for_device(self, plan: ScanPlan, properties: DeviceProperties) -> ScanPlan:
        """Return the same plan for a device with other properties: strips and long lengths differ."""
        return self._with_batches(replace(plan, request=replace(plan.request, properties=properties)))

    def _with_batches(self, plan: ScanPlan) -> ScanPlan:
        return replace(plan, batches=tuple(self.batch(plan, rows) for rows in plan.division.batches))

    def batch(self, plan: ScanPlan, rows: BatchRows, long: int | None = None) -> BatchPlan:
        """Return the plan of one batch. long: the length above which targets are long, if it is given."""
        segment = self._database.segments[rows.segment]
        if long is None:
            long = self._batch_long_length(plan, segment, rows)
        targets, long_tiles = self._batch_targets(plan, segment, rows, long)
        strips: tuple[tuple[Strip, ...], ...] = ((),) * len(plan.groups)
        if targets is not None:
            properties = plan.request.properties
            strips = tuple(self._strips(group.lengths, properties, targets) for group in plan.groups)
        return BatchPlan(rows, long, targets, long_tiles, strips)

    def _long_length(self) -> int:
        """Return the length above which targets of the whole database are long."""
        properties = self._request.properties
        if not self._request.can_pack:
            return 0
        return self._database.long_lengths.get(
            properties, lambda: self._planner.long_length(self._database.lengths, properties)
        )

    def _batch_long_length(self, plan: ScanPlan, segment: SegmentCache, rows: BatchRows) -> int:
        """Return that of a batch: in a small batch, all other targets soon wait for a target of moderate length."""
        properties = plan.request.properties
        if not (plan.is_resident and self._request.can_pack) or rows.n_residues == self._database.n_residues:
            return plan.long_length
        return segment.long_lengths.get(
            (properties, rows), lambda: self._planner.long_length(rows.sizes(segment.lengths), properties)
        )

    def _batch_targets(
        self, plan: ScanPlan, segment: SegmentCache, rows: BatchRows, long: int
    ) -> tuple[StreamStatistics | None, int]:
        """Return what strips depend on, or None if no target goes through a stream; and the tiles of long targets."""
        if plan.typical is not None:
            n_long = rows.pieces[-1][1] - segment.row_sums(long).n_short
            return (None, -(-rows.n_residues // COLUMNS)) if n_long > 0 else (plan.typical, 0)
        n_letters = self._request.n_letters if self._request.can_pack else 0
        return segment.statistics.get((rows, long, n_letters), lambda: batch_targets(segment, rows, long, n_letters))

    def _strips(
        self, query_lengths: tuple[int, ...], properties: DeviceProperties, targets: StreamStatistics
    ) -> tuple[Strip, ...]:
        """Return strips that are planned once for all targets of a size class."""
        key = query_lengths, properties, targets.n_letters, size_class(targets)
        return self._cache.strips.get(key, lambda: tuple(self._planner.strips(query_lengths, properties, targets)))

    def _resident_division(self, long: int) -> Division | None:
        """Return the division of the last scan if it still fits: a database cut differently would be sent again."""
        budget, n_devices = self._request.budget, self._request.n_devices
        known = self._database.resident.known((n_devices, long))
        if known is not None and budget >= known.min_budget:
            return known
        division = self._planner.divide_resident(self._database.row_sums(long), budget, n_devices)
        if division is not None:
            self._database.resident.put((n_devices, long), division)
        return division

    @property
    def _typical_queries(self) -> tuple[int, ...]:
        return self._request.query_lengths[:TYPICAL_GROUP_QUERIES]

    def _streamed_fit(self, long: int) -> tuple[Requirements, int, StreamStatistics | None]:
        """Return requirements, long length and typical targets of a streamed database."""
        request = self._request
        if not request.can_pack:
            return NO_REQUIREMENTS, long, None
        key = StreamedKey(
            request.properties, request.budget, request.n_devices, request.n_letters, self._typical_queries
        )
        fit = self._database.fits.get(key, lambda: self._fit_streamed(long))
        return fit.requirements, fit.long_length, fit.typical

    def _fit_streamed(self, long: int) -> StreamedFit:
        """Return the fastest of several tries, in which strips, division and long length nearly agree.

        The first try assumes all requirements. Each later one divides the database for what the strips before need.
        """
        properties = self._request.properties
        tries: dict[StreamedFit, float] = {}
        n_batches = self._n_mixed(Requirements(), long)
        for _ in range(MAX_RECUTS):
            typical = self._typical_targets(n_batches, long)
            strips = self._strips(self._typical_queries, properties, typical)
            requirements = Requirements.of(strips)
            n_batches = self._n_mixed(requirements, long)
            long, seconds = self._planner.streamed_long_length(self._database.lengths, properties, strips, n_batches)
            fit = StreamedFit(requirements, long, typical)
            if fit in tries:
                break
            tries[fit] = seconds
        return min(tries, key=lambda fit: tries[fit])

    def _n_mixed(self, requirements: Requirements, long: int) -> int:
        """Return the number of batches that have targets of all lengths."""
        return max(1, sum(len(rows.pieces) > 1 for rows in self._streamed_division(requirements, long).batches))

    def _typical_targets(self, n_batches: int, long: int) -> StreamStatistics:
        """Return what strips depend on in one of n_batches batches. Half of the batches have longer targets."""
        lengths = self._database.lengths.rows(0, self._database.lengths.n_up_to(long))
        n_tiles = sum(rows.n_tiles for rows in self._database.row_sums(long)) // n_batches + 1
        longest = 0
        if len(lengths):
            sums = lengths.prefix_sums()
            end = sums.first_at_least(np.ceil(sums.total * (1 - 0.5 / LENGTH_CLASSES)).astype(np.int64))
            longest = int(lengths.at(np.maximum(end, 1) - 1))
        return StreamStatistics(len(lengths) // n_batches, n_tiles, n_tiles // 2, longest, self._request.n_letters)

    def _streamed_division(self, requirements: Requirements, long: int) -> Division:
        budget, n_devices, n_queries = self._request.budget, self._request.n_devices, len(self._typical_queries)
        return self._database.streamed.get(
            (long, budget, requirements, n_queries, n_devices),
            lambda: divide_streamed(self._database.row_sums(long), budget, requirements, n_queries, n_devices),
        )

    def _groups(self, division: Division) -> list[QueryRange]:
        """Return groups of as many queries as there is memory for their scores."""
        lengths = self._request.query_lengths
        share = self._request.budget // SCORES_SHARE
        n_most = min(MAX_GROUP_QUERIES, share // (8 * (division.largest.n_rows + 1)))
        n_groups = -(-len(lengths) // max(1, n_most))
        edges = [len(lengths) * number // n_groups for number in range(n_groups + 1)] if n_groups else []
        return [QueryRange(first, end, lengths[first:end]) for first, end in pairwise(edges)]


def batch_targets(
    segment: SegmentCache, rows: BatchRows, long: int, n_letters: int
) -> tuple[StreamStatistics | None, int]:
    """Return what strips depend on in a batch, and the tiles of its long targets. n_letters: 0 without streams."""
    lengths = rows.sizes(segment.lengths)
    n_stream = lengths.n_up_to(long) if n_letters else 0
    long_tiles = lengths.rows(n_stream, len(lengths)).tiles().total
    if not n_stream:
        return None, long_tiles
    in_streams = lengths.rows(0, n_stream)
    singles, pairs = (1 + stream_tiles(in_streams, is_paired=is_paired).total for is_paired in (False, True))
    return StreamStatistics(n_stream, singles, pairs, in_streams.largest, n_letters), long_tiles


def size_class(targets: StreamStatistics) -> tuple[int, int]:
    """Return the size class of targets. All targets of a class share their strips, which are best for some of them.

    The longest target matters only if a group of lanes has less other work than that.
    """
    n_steps = max(targets.longest // COLUMNS, targets.n_tiles_single // MANY_GROUPS)
    return targets.n_tiles_single.bit_length(), n_steps.bit_length()
