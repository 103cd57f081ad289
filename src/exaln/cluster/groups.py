"""Merges the hits of units into hits of queries, and yields each group of queries when all its units are done."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from exaln.alignments.query_hits import QueryHits
from exaln.cluster.merge import MergeTree
from exaln.cluster.part_checks import require_possible
from exaln.cluster.part_hits import OF_QUERIES, from_bytes, query_columns
from exaln.cluster.unit_store import Store
from exaln.cluster.units import Group, Unit
from exaln.database.manifest import Manifest
from exaln.database.part import n_places, segments_between
from exaln.errors import EngineError
from exaln.search.spec import SearchSpec
from exaln.sequences.records import Records


class Tiling:
    """Ranges of the line [0, n_places) that do not overlap."""

    def __init__(self, n_places: int) -> None:
        self._n_places, self._ranges, self._covered = n_places, list[tuple[int, int]](), 0

    def add(self, first: int, end: int) -> None:
        """Add a range; ValueError if it overlaps another one or leaves the line."""
        place = bisect(self._ranges, (first, end))
        begins_after = place == 0 or self._ranges[place - 1][1] <= first
        ends_before = place == len(self._ranges) or end <= self._ranges[place][0]
        if not (0 <= first < end <= self._n_places and begins_after and ends_before):
            raise ValueError(f"the residues {first:,} to {end:,} were searched twice, or are not in the database")
        self._ranges.insert(place, (first, end))
        self._covered += end - first

    @property
    def is_whole(self) -> bool:
        """True if the ranges cover the whole line."""
        return self._covered == self._n_places


class GroupResults:
    """The results of each group of queries so far; with a store, every unit is saved there as well.

    Every unit is checked before it is merged. The hits of a group are yielded only when its units cover every residue
    of the database exactly once.
    """

    def __init__(
        self, groups: Sequence[Group], manifest: Manifest, spec: SearchSpec, queries: Records, store: Store | None
    ) -> None:
        self._groups, self._manifest, self._spec, self._queries, self._store = groups, manifest, spec, queries, store
        self._number_of = {group.query_first: number for number, group in enumerate(groups)}
        self._known = [Tiling(n_places(manifest)) for _ in groups]
        self._merged = [Tiling(n_places(manifest)) for _ in groups]
        self._parts = defaultdict[int, MergeTree](lambda: MergeTree(spec))
        self._stored = defaultdict[int, list[Unit]](list)
        self._columns: dict[int, Any] = {}
        self._next = 0
        for unit in store.units if store is not None else []:
            self._known[self._number_of[unit.query_first]].add(unit.first, unit.end)
            self._stored[self._number_of[unit.query_first]].append(unit)

    @property
    def is_finished(self) -> bool:
        """True if all units are done."""
        return all(known.is_whole for known in self._known[self._next :])

    def add(self, unit: Unit, data: bytes) -> None:
        """Add the hits of a unit, as `part_hits.to_bytes` wrote them; ValueError if they cannot be its hits."""
        batch = from_bytes(data)
        self._require_possible(unit, batch)
        number = self._number_of[unit.query_first]
        self._known[number].add(unit.first, unit.end)
        if self._store is not None:
            self._store.add(unit, batch)
        self._merge(unit, batch)

    def ready(self) -> Iterator[QueryHits]:
        """Yield the hits of the next queries in order, as far as their groups are complete."""
        while self._next < len(self._groups) and self._known[self._next].is_whole:
            for unit in self._stored.pop(self._next, []):
                self._merge_stored(unit)
            if not self._merged[self._next].is_whole:
                first, end = self._groups[self._next].query_first, self._groups[self._next].query_end
                raise EngineError(f"queries {first + 1} to {end}: not every target was searched; this is a bug")
            self._columns.pop(self._next, None)
            self._next += 1
            yield from self._parts.pop(self._next - 1).result()

    def _merge_stored(self, unit: Unit) -> None:
        assert self._store is not None
        batch = self._store.batch(unit)
        try:
            self._require_possible(unit, batch)
            self._merge(unit, batch)
        except ValueError as error:
            raise self._store.damaged(unit, str(error)) from None

    def _merge(self, unit: Unit, batch: Any) -> None:
        number = self._number_of[unit.query_first]
        self._merged[number].add(unit.first, unit.end)
        self._parts[number].add(batch)

    def _require_possible(self, unit: Unit, batch: Any) -> None:
        """ValueError if these cannot be hits of the unit: other queries, or targets outside of its segments."""
        number = self._number_of[unit.query_first]
        if number not in self._columns:
            self._columns[number] = query_columns(
                self._queries.rows(unit.query_first, unit.query_end), unit.query_first
            )
        if not batch.select(OF_QUERIES).equals(self._columns[number]):
            raise ValueError("the queries are not those of the search")
        entries = [self._manifest.segments[place] for place in segments_between(self._manifest, unit.first, unit.end)]
        ranges = [(entry.first_ordinal, entry.first_ordinal + entry.rows) for entry in entries]
        require_possible(batch, self._spec, unit.query_first, ranges)
