"""Hits of units become hits of queries: groups are handed out in order, each when all of its units are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from exaln.cluster.merge import MergeTree
from exaln.cluster.parts import from_bytes
from exaln.cluster.pool import Pool
from exaln.cluster.spec import SearchSpec
from exaln.cluster.store import Store
from exaln.cluster.units import Unit
from exaln.query_hits import QueryHits


class GroupResults:
    """What is known of each group of queries; with a store, every unit is kept there as well."""

    def __init__(self, pool: Pool, spec: SearchSpec, store: Store | None) -> None:
        self._pool, self._store = pool, store
        self._n_places = pool.chunks[-1].end
        self._places = [0] * len(pool.groups)
        self._parts = defaultdict[int, MergeTree](lambda: MergeTree(spec))
        self._stored = defaultdict[int, list[Unit]](list)
        self._next = 0
        for unit in store.units if store is not None else []:
            self._stored[pool.group_of(unit)].append(unit)
            self._places[pool.group_of(unit)] += unit.end - unit.first

    @property
    def is_finished(self) -> bool:
        """Whether all units are there."""
        return all(places == self._n_places for places in self._places[self._next :])

    def add(self, unit: Unit, data: bytes) -> None:
        """The hits of a unit, which did not come before."""
        if self._store is not None:
            self._store.add(unit, data)
        number = self._pool.group_of(unit)
        self._places[number] += unit.end - unit.first
        self._parts[number].add(from_bytes(data))

    def ready(self) -> Iterator[QueryHits]:
        """The hits of the queries whose turn it is, as far as they are known."""
        while self._next < len(self._places) and self._places[self._next] == self._n_places:
            for unit in self._stored.pop(self._next, []):
                assert self._store is not None
                self._parts[self._next].add(self._store.batch(unit))
            self._next += 1
            yield from self._parts.pop(self._next - 1).result()
