"""Regions of one long pair's table on GPUs: the entry points of the cuda engine.

A region is computed in slabs of rows, as many rows at a time as the devices have memory for. `slab.py` divides the
columns of a slab among the devices, `device_part.py` runs the kernel on one of them, and `kernel_inputs.py` makes the
arrays that it reads. kernels/long.cu describes the algorithm.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.letters import fold_letters
from exaln.engines.cuda.long.device_checkpoints import CheckpointRequest
from exaln.engines.cuda.long.device_part import MEMORY_SHARE, QUEUES_SHARE, SlabTask
from exaln.engines.cuda.long.kernel_inputs import target_letters
from exaln.engines.cuda.long.slab import Slab
from exaln.engines.cuda.runtime.constants import WARP
from exaln.engines.regions import NOTHING, Boundary, Checkpoints, EndCell, Region, RegionResult, RegionTask
from exaln.sequences.used_letters import used_letters

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.regions import Line

HELD_SHARE = 2
"""Checkpoints stay on a device if they take at most this fraction, 1 / HELD_SHARE, of its free memory."""

MIN_DEVICE_COLUMNS = 1 << 18
"""Columns of a region below which another device is not worth using."""


def fill_region(workspaces: Sequence[Workspace], task: RegionTask, checkpoints: Checkpoints) -> EndCell:
    """Compute a region on these devices, and write its checkpoints. Returns the best cell if the task asks for it."""
    region, boundary, pruning, end = task.region, task.boundary, task.pruning, NOTHING
    if not region.cells:
        return end
    used = workspaces[: max(1, min(len(workspaces), region.n_columns // MIN_DEVICE_COLUMNS))]
    _begin(used)
    whole = _slab_task(task, CheckpointRequest.of(checkpoints))
    memory = min(int(workspace.device.budget * MEMORY_SHARE) for workspace in used)
    for rows in slabs(region, whole.request, memory):
        own = _checkpoints_of(checkpoints, region, rows)
        last_row = None if rows.end_row == region.end_row else _empty_row(region, checkpoints)
        slab_task = replace(
            whole,
            region=rows,
            boundary=_boundary_of(boundary, region, rows),
            request=CheckpointRequest.of(own),
            packs=_may_pack(task),
            keeps_last_row=last_row is not None,
        )
        slab = Slab(used, slab_task)
        end = slab.run(_progress_of(task, rows)).better(end)
        slab.fetch(own, last_row)
        if pruning is not None:
            pruning.best = max(pruning.best, end.score)
        if last_row is not None:
            corner = int(boundary.left_H[rows.end_row - region.first_row - 1])
            boundary = Boundary(*last_row, boundary.left_H, boundary.left_E, corner)
    return end


def hold_checkpoints(workspace: Workspace, task: RegionTask) -> RegionResult | None:
    """Compute a region and keep its checkpoints on this device; None, without computing, if it has no room for them."""
    request = CheckpointRequest(task.rows, task.columns, task.boundary.top_H.dtype)
    if request.n_bytes(task.region) > (workspace.device.budget - workspace.device.used) // HELD_SHARE:
        return None
    _begin([workspace])
    slab = Slab([workspace], replace(_slab_task(task, request), holds=True))
    end = slab.run(task.progress)
    return RegionResult(slab.held_checkpoints(), end)


def slabs(region: Region, request: CheckpointRequest, memory: int) -> Iterator[Region]:
    """The rows of a region in order, as many at a time as fit `memory` bytes of a device with their checkpoints."""
    score = request.score.itemsize
    per_row = 2 * score * (len(request.columns) + 2) + 2
    first = region.first_row

    def n_bytes(end: int) -> int:
        """Tiles, the row above, the longest queue, the last row, and checkpoints; all other queues."""
        n_rows = np.searchsorted(request.rows, end, "right") - np.searchsorted(request.rows, first, "right")
        per_column = 4 + 2 * score * (3 + int(n_rows))
        return per_column * region.n_columns + per_row * (end - first) + memory // QUEUES_SHARE

    while first < region.end_row:
        n_rows = bisect_right(range(1, region.end_row - first + 1), memory, key=lambda n: n_bytes(first + n))
        end = first + max(min(n_rows, region.end_row - first), min(WARP, region.end_row - first))
        yield Region(first, end, region.first_column, region.end_column)
        first = end


def _begin(workspaces: Sequence[Workspace]) -> None:
    for workspace in workspaces:
        workspace.device.activate()
        workspace.begin((), {})


def _slab_task(task: RegionTask, request: CheckpointRequest) -> SlabTask:
    """The whole region as one slab."""
    letters = used_letters(target_letters(task.pair, task.region))
    return SlabTask(
        pair=task.pair,
        folded=fold_letters(task.pair.scoring, letters),
        region=task.region,
        boundary=task.boundary,
        request=request,
        finds_end=task.finds_end and task.pair.mode.is_local,
        pruning=task.pruning,
        packs=_may_pack(task),
    )


def _may_pack(task: RegionTask) -> bool:
    """Whether long_packed.cu may be used: not where the best score is still unknown, as it records new ones slowly."""
    if not (task.finds_end and task.pair.mode.is_local):
        return True
    return task.pruning is not None and task.pruning.best > 0


def _checkpoints_of(checkpoints: Checkpoints, region: Region, slab: Region) -> Checkpoints:
    """The checkpoints of a slab, as views."""
    own = slice(*np.searchsorted(checkpoints.rows, [slab.first_row, slab.end_row], "right"))
    rows = _row_slice(region, slab)
    return Checkpoints(
        rows=checkpoints.rows[own],
        row_H=checkpoints.row_H[own],
        row_F=checkpoints.row_F[own],
        columns=checkpoints.columns,
        column_H=checkpoints.column_H[:, rows],
        column_E=checkpoints.column_E[:, rows],
    )


def _boundary_of(boundary: Boundary, region: Region, slab: Region) -> Boundary:
    """The boundary of a slab. boundary: that of the region, but with the row above the slab and its corner."""
    rows = _row_slice(region, slab)
    return replace(boundary, left_H=boundary.left_H[rows], left_E=boundary.left_E[rows])


def _row_slice(region: Region, slab: Region) -> slice:
    return slice(slab.first_row - region.first_row, slab.end_row - region.first_row)


def _empty_row(region: Region, checkpoints: Checkpoints) -> tuple[Line, Line]:
    score = checkpoints.row_H.dtype
    return np.empty(region.n_columns, score), np.empty(region.n_columns, score)


def _progress_of(task: RegionTask, slab: Region) -> Callable[[int], None] | None:
    """The progress of a slab, reported as progress of the region."""
    progress, done = task.progress, (slab.first_row - task.region.first_row) * task.region.n_columns
    return None if progress is None else lambda cells: progress(done + cells)
