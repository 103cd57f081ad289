"""Batches of pairs on one device: scores, ends and paths. kernels/pairs.cu describes the kernels.

`PairBatches.fits` says which pairs can be done here: every value certainly fits 16 bits, and the table of one couple
fits the memory. The cpu engine aligns the others.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from exaln.engines.cuda.pairs.collect import Alignments, Scores
from exaln.engines.cuda.pairs.kernels import kernels_of
from exaln.engines.cuda.pairs.plan import (
    PairPlan,
    Room,
    fits_arena,
    fits_numbers,
    head_of,
    plan_pairs,
    tables_of,
)
from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.cuda.pairs.sides import Side, send_shared, used_codes_of
from exaln.engines.cuda.pairs.slots import Slot, slots_of
from exaln.engines.tasks import Bounds
from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.aligned_pairs import AlignedPairs
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.tasks import EncodedSequences
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

Columns = TypeVar("Columns", Scores, Alignments)


class Pairs(NamedTuple):
    """Pairs of sequences. query, target: int64[k], their rows; m, n: int64[k], rows and columns of their tables.

    bounds: of these tables, perhaps among others.
    """

    query: NDArray[np.int64]
    target: NDArray[np.int64]
    m: NDArray[np.int64]
    n: NDArray[np.int64]
    bounds: Bounds

    def taken(self, places: NDArray[np.bool_]) -> Pairs:
        """Some of these pairs."""
        m, n = self.m[places], self.n[places]
        return Pairs(self.query[places], self.target[places], m, n, Bounds.of(m, n))


class PairBatches:
    """Aligns pairs of two sets of sequences on one device, with one scoring, in one mode.

    paths: whether paths are computed, and not scores and ends alone. threads: of the host, for copies.
    """

    def __init__(
        self,
        workspace: Workspace,
        queries: EncodedSequences,
        targets: EncodedSequences,
        scoring: Scoring,
        mode: Mode,
        *,
        paths: bool,
        threads: int,
    ) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._queries, self._targets = queries, targets
        self._scoring, self._mode, self._paths = scoring, mode, paths
        self._tables, self._threads = tables_of(mode, paths=paths), threads
        workspace.begin((), {})
        self._room = Room.within(workspace.room)

    def fits(self, pairs: Pairs) -> NDArray[np.bool_]:
        """bool[k]: which pairs can be aligned here."""
        sizes = pairs.m, pairs.n, pairs.bounds
        fits = fits_numbers(*sizes, self._scoring, self._mode)
        fits &= fits_arena(*sizes, self._tables, self._room)
        return fits

    def align(self, pairs: Pairs) -> AlignedPairs:
        """Align pairs of these sequences, all of which must fit."""
        return self._collected(Alignments(len(pairs.m), self._threads), pairs).result()

    def score(self, pairs: Pairs) -> NDArray[np.int64]:
        """int64[k]: scores of such pairs."""
        return self._collected(Scores(len(pairs.m), self._threads), pairs).result()

    def _collected(self, columns: Columns, pairs: Pairs) -> Columns:
        """Compute all pairs and collect their results in `columns`."""
        query, target, m, n, bounds = pairs
        if not len(m):
            return columns
        room = self._workspace.room
        sides = [Side.of(self._queries, query, int(m.sum()), room), Side.of(self._targets, target, int(n.sum()), room)]
        n_letters, self._head = head_of(self._scoring, used_codes_of(sides, self._threads))
        sends = sides[0].is_sent, sides[1].is_sent
        n_sms = self._device.properties.n_sms
        plan = plan_pairs(m, n, bounds, self._tables, self._room, n_sms, sends, len(self._head))
        self._kernels = kernels_of(self._device, plan, n_letters, self._scoring, self._mode, paths=self._paths)
        slots, sizes = slots_of(self._workspace, plan.n_slots), plan.sizes(paths=self._paths)
        for slot in slots:
            slot.reserve(*sizes)
        self._sides = send_shared(sides, self._workspace, slots)
        self._run(plan, slots, columns)
        return columns

    def _run(self, plan: PairPlan, slots: list[Slot], columns: Scores | Alignments) -> None:
        """Fill and queue one batch after the other. A slot is used again once its batch has been collected."""
        in_flight: deque[int] = deque()
        for number in range(len(plan)):
            if len(in_flight) == len(slots):
                self._collect(plan, in_flight.popleft(), slots, columns)
            self._fill(plan, number, slots[number % len(slots)])
            self._queue(plan, number, slots[number % len(slots)])
            in_flight.append(number)
        while in_flight:
            self._collect(plan, in_flight.popleft(), slots, columns)

    def _fill(self, plan: PairPlan, number: int, slot: Slot) -> None:
        """Write a batch into the block of its slot."""
        from exaln._core import fill_pair_block

        shape = PAIR_SHAPES[plan[number].shape]
        queries, targets = (side.values for side in self._sides)
        slot.block[: len(self._head)] = self._head
        fill_pair_block(
            slot.block,
            plan.rows[number],
            plan.order,
            queries,
            targets,
            (shape.lanes, shape.rows),
            self._tables,
            self._threads,
        )

    def _queue(self, plan: PairPlan, number: int, slot: Slot) -> None:
        """Send a block, launch the kernels, and fetch results and paths."""
        device, batch = self._device, plan[number]
        end = batch.host_bytes(paths=self._paths)
        with slot.queueing():
            device.upload(slot.device_block, slot.block[: batch.results], slot.stream)
            self._kernels[batch.shape].launch(batch, slot, self._sides)
            device.download(slot.block[batch.counters : end], slot.device_block + batch.counters, slot.stream)

    def _collect(self, plan: PairPlan, number: int, slots: list[Slot], columns: Scores | Alignments) -> None:
        """Wait for a batch and take its results.

        EngineError if the score of some path is not that of its pair, which would be a bug.
        """
        batch, slot, device = plan[number], slots[number % len(slots)], self._device
        slot.settle()
        _, n_wrong, n_runs, _ = slot.block[batch.counters : batch.results].view(np.uint32).tolist()
        if n_wrong:
            raise EngineError(f"{device}: {n_wrong} paths do not have their score; please report this")

        def download(runs: NDArray[np.uint32], first: int) -> None:
            with slot.queueing():
                device.download(runs, slot.device_block + batch.runs + 4 * first, slot.stream)
            slot.settle()

        columns.take(plan, number, slot.block, n_runs, download)
