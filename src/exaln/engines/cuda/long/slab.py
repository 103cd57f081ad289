"""A slab, some rows of a region with all columns, on one device or several.

Each device computes a range of columns. A device begins as soon as the one to its left has the first rows of its last
column, which this thread copies from one to the other while the kernels run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from exaln.engines.cuda.long.device_part import DevicePart, SlabTask
from exaln.engines.regions import NOTHING, Checkpoints, EndCell, Region

if TYPE_CHECKING:
    from exaln.engines.cuda.long.device_checkpoints import DeviceCheckpoints
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.regions import Line

POLL_SECONDS = 5e-4
"""Pause between two looks at running kernels, of several devices or of a slab of POLLED_CELLS or more."""

POLLED_CELLS = 1 << 34
PROGRESS_SECONDS = 0.1


class Slab:
    """One slab on the devices of `workspaces`. A device may come more than once."""

    def __init__(self, workspaces: Sequence[Workspace], task: SlabTask) -> None:
        self._task, region = task, task.region
        share = max(1, *(sum(one.device.number == other.device.number for one in workspaces) for other in workspaces))
        cuts = [region.first_column + region.n_columns * i // len(workspaces) for i in range(len(workspaces) + 1)]
        self._parts = [
            DevicePart(workspace, task, Region(region.first_row, region.end_row, *columns), share)
            for workspace, columns in zip(workspaces, pairwise(cuts), strict=True)
        ]

    def run(self, progress: Callable[[int], None] | None) -> EndCell:
        """Compute the slab. Returns its best cell if the task asks for it, else NOTHING.

        Cells that were skipped are added to the task's pruning. If anything is raised, all kernels are cancelled first.
        """
        task = self._task
        try:
            for number, part in enumerate(self._parts):
                part.prepare(is_first=number == 0, is_last=number + 1 == len(self._parts))
            for part in self._parts:
                part.launch()
            self._watch(progress)
            end = NOTHING
            for part in self._parts:
                end = part.end().better(end) if task.finds_end else end
                if task.pruning is not None:
                    task.pruning.cells += part.cells_pruned()
            return end
        except BaseException:
            for part in self._parts:
                part.cancel()
            for part in self._parts:
                part.wait()
            raise

    def fetch(self, checkpoints: Checkpoints, last_row: tuple[Line, Line] | None) -> None:
        """Copy the checkpoints of the slab, and H and F of its last row, to these arrays."""
        for part in self._parts:
            part.fetch(checkpoints, last_row)

    def held_checkpoints(self) -> DeviceCheckpoints:
        """The checkpoints that stay on the device, of which there is one."""
        return self._parts[0].held_checkpoints()

    def _watch(self, progress: Callable[[int], None] | None) -> None:
        """Wait for all devices; meanwhile copy columns from device to device, and report progress."""
        reported, cells = time.monotonic(), self._task.region.cells
        while not all(part.is_done() for part in self._parts):
            for left, right in pairwise(self._parts):
                right.receive(*left.columns_since(right.n_received))
            if progress is not None and time.monotonic() > reported + PROGRESS_SECONDS:
                reported = time.monotonic()
                progress(sum(part.cells_done() for part in self._parts))
            time.sleep(POLL_SECONDS if len(self._parts) > 1 or cells > POLLED_CELLS else 0.0)
        if progress is not None:
            progress(cells)
