"""Groups of queries on a device, with the score tables and the rows of their strips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.scan.batches import ALIGNMENT
from exaln.engines.cuda.scan.in_flight import GroupOnDevice, QueryGroup

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.letters import FoldedScores
    from exaln.engines.cuda.runtime.device import Memory
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.strips import Strip


class QueriesOnDevice:
    """The last two groups of queries that were used on a device."""

    def __init__(self, workspace: Workspace, folded: FoldedScores) -> None:
        self._workspace, self._device, self._folded = workspace, workspace.device, folded
        self._groups: dict[int, GroupOnDevice] = {}
        self._lane_rows: dict[tuple[int, Sequence[Strip]], Memory] = {}

    def group(self, group: QueryGroup) -> GroupOnDevice:
        """Return a group of queries on the device; it is sent the first time."""
        if group.first not in self._groups:
            while len(self._groups) > 1:
                self._groups.pop(next(iter(self._groups)))
                self._lane_rows.clear()
            self._groups[group.first] = self._upload(group)
        return self._groups[group.first]

    def _upload(self, group: QueryGroup) -> GroupOnDevice:
        device, folded, stream = self._device, self._folded, self._workspace.stream
        arrays: list[NDArray[Any]] = [
            group.codes,
            group.offsets,
            folded.table,
            folded.packed(device.properties.dpx),
            folded.fold,
            np.empty(0, np.int32) if group.cutoff is None else group.cutoff,
        ]
        ends = np.cumsum([-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays]).tolist()
        memory = self._workspace.allocate(ends[-1])
        addresses = [memory.address + begin for begin in (0, *ends[:-1])]
        for address, array in zip(addresses, arrays, strict=True):
            device.upload(address, np.ascontiguousarray(array), stream)
        codes, offsets, table, packed_table, fold, cutoff = addresses
        ready = device.record(device.event(), stream)
        return GroupOnDevice(codes, offsets, table, packed_table, fold, cutoff, memory, ready)

    def lane_rows(self, group: QueryGroup, strips: tuple[Strip, ...]) -> int:
        """Return the address of the query rows of all lanes of all strips; 0 if there are no strips."""
        if not strips:
            return 0
        key = group.first, strips
        if key not in self._lane_rows:
            rows = np.concatenate([strip.lane_rows(group.offsets) for strip in strips])
            self._lane_rows[key] = self._workspace.allocate(rows.nbytes)
            self._device.upload(self._lane_rows[key].address, rows, self._workspace.stream)
        return self._lane_rows[key].address
