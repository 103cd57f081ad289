"""A search on a Dask cluster: assigns units to workers, repeats lost or overdue ones, and merges the results.

Dask carries units to workers and results back. `unit_pool` decides which worker gets which unit, and `ClusterSearch`
what happens when one fails. A unit counts once, with the first result that arrives.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import astuple
from typing import Any

from exaln.alignments.query_hits import QueryHits
from exaln.cluster.groups import GroupResults
from exaln.cluster.simulation import UNITS_IN_FLIGHT
from exaln.cluster.unit_pool import MOST_ATTEMPTS, Pool
from exaln.cluster.unit_search import queries_to_bytes, run_unit
from exaln.cluster.unit_store import Store
from exaln.cluster.units import Unit
from exaln.cluster.workers import Assigned, Workers, WorkerState
from exaln.errors import DatabaseError, EngineError, ExalnError, ExalnWarning, InputError, OutOfMemoryError
from exaln.search.spec import SearchSpec
from exaln.sequences.records import Records

OVERDUE_FACTOR, OVERDUE_S = 3.0, 5.0
"""A unit is overdue when it takes OVERDUE_FACTOR times as long as expected, and at least OVERDUE_S seconds."""

KEPT_MESSAGES = 16
N_TIMES = 5
"""A worker reports when it began a unit, had its data, began and ended computing, and had the result ready."""

ERROR_CLASSES: dict[str, type[ExalnError]] = {
    kind.__name__: kind for kind in (DatabaseError, EngineError, InputError, OutOfMemoryError)
}


class ClusterSearch:
    """One search by the workers of a cluster. location: path or URL of the database, as workers see it.

    changed: called with the cells done and the number of workers, after each round of results.
    """

    def __init__(
        self,
        workers: Workers,
        spec: SearchSpec,
        location: str,
        queries: Records,
        pool: Pool,
        results: GroupResults,
        store: Store | None = None,
        changed: Callable[[int, int], None] = lambda cells, workers: None,
    ) -> None:
        self._workers, self._pool, self._store, self._changed = workers, pool, store, changed
        self._spec_text, self._location, self._queries = json.dumps(spec.to_values()), location, queries
        self._results = results
        self._copies: dict[Unit, list[Assigned]] = {}
        self._owners: dict[str, Assigned] = {}
        self._messages: dict[int, bytes] = {}
        self._cells_done = 0
        if store is not None:
            workers.advice = f"; the same command continues from {store.folder}"

    def run(self) -> Iterator[QueryHits]:
        """Yield the hits of each query, in order."""
        try:
            yield from self._results.ready()
            while not self._results.is_finished:
                for worker in self._workers.refresh():
                    self._lose(worker)
                self._hand_out()
                for ended in self._workers.ended_tasks():
                    if ended.key in self._owners:
                        self._came_back(self._owners.pop(ended.key), ended.result)
                self._changed(self._cells_done, len(self._workers.present))
                yield from self._results.ready()
        finally:
            if self._store is not None:
                self._store.save()

    def _hand_out(self) -> None:
        """Assign units until every worker has UNITS_IN_FLIGHT; an idle worker may get a copy of an overdue unit."""
        workers, total_speed = self._workers.present, self._workers.speed
        for depth in range(UNITS_IN_FLIGHT):
            for worker in workers.values():
                if len(worker.assigned) > depth:
                    continue
                unit = self._pool.take(worker.address, worker.speed, total_speed, workers)
                if unit is None and not worker.assigned:
                    unit = self._overdue(worker)
                if unit is not None:
                    self._assign(unit, worker)

    def _assign(self, unit: Unit, worker: WorkerState) -> None:
        if not worker.assigned:
            worker.heard_at = time.monotonic()
        arguments = (self._spec_text, self._location, astuple(unit), self._message(unit))
        assigned = Assigned(unit, worker, self._workers.submit(run_unit, worker.address, *arguments))
        worker.assigned.append(assigned)
        self._copies.setdefault(unit, []).append(assigned)
        self._owners[assigned.future.key] = assigned

    def _message(self, unit: Unit) -> bytes:
        """The queries of a unit as bytes; the last KEPT_MESSAGES are cached."""
        if unit.query_first not in self._messages:
            while len(self._messages) >= KEPT_MESSAGES:
                self._messages.pop(next(iter(self._messages)))
            self._messages[unit.query_first] = queries_to_bytes(self._queries.rows(unit.query_first, unit.query_end))
        return self._messages[unit.query_first]

    def _overdue(self, idle: WorkerState) -> Unit | None:
        """A unit of a worker that is overdue, unless another worker has a copy already; None if there is none."""
        now = time.monotonic()
        for worker in self._workers.present.values():
            if worker is idle or not worker.assigned:
                continue
            expected = self._pool.cells(worker.assigned[0].unit) / worker.speed
            if now - worker.heard_at < max(OVERDUE_S, OVERDUE_FACTOR * expected):
                continue
            for assigned in worker.assigned:
                if len(self._copies[assigned.unit]) == 1:
                    _warn(f"worker {worker.name} is late; another worker repeats its work")
                    return assigned.unit
        return None

    def _came_back(self, assigned: Assigned, result: dict[str, Any] | None) -> None:
        worker, unit = assigned.worker, assigned.unit
        if assigned not in worker.assigned:
            return  # a copy of it was faster
        worker.assigned.remove(assigned)
        self._copies[unit].remove(assigned)
        worker.heard_at = time.monotonic()
        if result is None:
            self._workers.require_scheduler()
            self._failed(assigned, f"lost by worker {worker.name}", "EngineError")
        elif "error" in result:
            self._failed(assigned, f"{result['message']} (worker {worker.name})", result["error"])
        else:
            self._finished(assigned, result)

    def _finished(self, assigned: Assigned, result: dict[str, Any]) -> None:
        unit, worker = assigned.unit, assigned.worker
        try:
            times = [float(when) for when in result["times"]]
            if len(times) != N_TIMES:
                raise ValueError(f"{len(times)} times")
            self._results.add(unit, result["hits"])
        except (ValueError, KeyError, TypeError) as error:
            self._failed(assigned, f"worker {worker.name} sent a damaged result: {error}", "EngineError")
            return
        for copy in self._copies.pop(unit):
            copy.worker.assigned.remove(copy)
            copy.future.cancel()
        worker.finished(self._pool.cells(unit), times)
        self._cells_done += self._pool.cells(unit)

    def _failed(self, assigned: Assigned, reason: str, kind: str) -> None:
        unit = assigned.unit
        if self._copies[unit]:
            return  # another worker has a copy
        del self._copies[unit]
        n_failures = self._pool.fail(unit, assigned.worker.address)
        if n_failures >= MOST_ATTEMPTS:
            raise ERROR_CLASSES.get(kind, EngineError)(
                f"{unit}: failed {n_failures} times: {reason}{self._workers.advice}"
            )
        _warn(f"{reason}; searching {unit} again")

    def _lose(self, worker: WorkerState) -> None:
        """Return the units of a lost worker: the one it computed counts as failed, those that waited do not."""
        self._pool.forget(worker.address)
        if not worker.assigned:
            _warn(f"worker {worker.name} is gone")
        assigned, worker.assigned = worker.assigned, []
        for place, lost in enumerate(assigned):
            self._owners.pop(lost.future.key, None)
            self._copies[lost.unit].remove(lost)
            lost.future.cancel()
            if place == 0:
                self._failed(lost, f"worker {worker.name} was lost", "EngineError")
            elif not self._copies[lost.unit]:
                del self._copies[lost.unit]
                self._pool.give_back(lost.unit)


def _warn(text: str) -> None:
    warnings.warn(text, ExalnWarning, stacklevel=2)
