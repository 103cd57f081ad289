"""A search in units in this process, for --resume without a cluster: each finished unit is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from exaln.alignments.query_hits import QueryHits
from exaln.cluster.groups import GroupResults
from exaln.cluster.part_hits import to_bytes
from exaln.cluster.unit_pool import Pool
from exaln.cluster.unit_search import Resources
from exaln.cluster.unit_store import Store
from exaln.cluster.units import Unit
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.records import Records

NAME = "this process"


class LocalSearch:
    """One search by the engine of this process. location: path or URL of the database. speed: cells per second.

    changed: called with the cells done so far.
    """

    def __init__(
        self,
        resources: Resources,
        spec: SearchSpec,
        location: str,
        queries: Records,
        pool: Pool,
        results: GroupResults,
        store: Store,
        speed: float,
        changed: Callable[[int], None] = lambda cells: None,
    ) -> None:
        self._resources, self._spec, self._location, self._queries = resources, spec, location, queries
        self._pool, self._results, self._store, self._changed = pool, results, store, changed
        self._speed, self._cells_done = speed, 0

    def run(self) -> Iterator[QueryHits]:
        """Yield the hits of each query, in order."""
        try:
            yield from self._results.ready()
            while (unit := self._pool.take(NAME, self._speed, self._speed)) is not None:
                self._search(unit)
                yield from self._results.ready()
        finally:
            self._store.save()

    def _search(self, unit: Unit) -> None:
        started, cells = time.monotonic(), self._pool.cells(unit)
        part = self._resources.part(self._location, self._spec.database_digest, unit.first, unit.end)
        search = Search(part, self._spec.scoring, self._resources.engine, self._spec.options, self._spec.evaluator)
        queries = self._queries.rows(unit.query_first, unit.query_end)
        found = search.run([queries], self._progress, first_index=unit.query_first)
        self._results.add(unit, to_bytes(list(found)))
        self._cells_done += cells
        self._changed(self._cells_done)
        self._speed = (self._speed + cells / max(time.monotonic() - started, 1e-6)) / 2

    def _progress(self, cells: int) -> None:
        self._changed(self._cells_done + cells)
