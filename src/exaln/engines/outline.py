"""The outline of a scan: what an engine would do with a task, without doing it. `exaln explain` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.views import TargetView


@dataclass(frozen=True)
class KernelUse:
    """Targets of some lengths, and the kernel that scores them. shortest, longest, n_residues: of these targets."""

    kernel: str
    n_targets: int
    n_residues: int
    shortest: int
    longest: int


@dataclass(frozen=True)
class ScanOutline:
    """n_batches: launches of kernels over different targets. host_bytes: memory of the engine, without the mapped
    database. device_buffers: bytes on each device, by content. seconds: an estimate; source: what it is based on.
    """

    kernels: tuple[KernelUse, ...]
    n_batches: int
    host_bytes: int
    seconds: float
    source: str
    device_buffers: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def joined(outlines: Sequence[ScanOutline]) -> ScanOutline:
        """Scans of different views, one after the other."""
        buffers: dict[str, int] = {}
        for outline in outlines:
            for name, n_bytes in outline.device_buffers.items():
                buffers[name] = max(buffers.get(name, 0), n_bytes)
        return ScanOutline(
            kernels=tuple(use for outline in outlines for use in outline.kernels),
            n_batches=sum(outline.n_batches for outline in outlines),
            host_bytes=max(outline.host_bytes for outline in outlines),
            seconds=sum(outline.seconds for outline in outlines),
            source=outlines[0].source,
            device_buffers=buffers,
        )

    def scaled(self, factor: float) -> ScanOutline:
        """The outline of `factor` times as much work of the same kind."""
        return replace(self, seconds=self.seconds * factor)


def target_lengths(view: TargetView) -> NDArray[np.int64]:
    """int64[n_targets]: the lengths of all targets of a view, ascending."""
    lengths = [np.diff(segment.offsets) for segment in view.segments]
    # Segments are sorted by length, and a stable sort merges sorted runs.
    return np.sort(np.concatenate([np.empty(0, np.int64), *lengths]), kind="stable")


def kernel_uses(lengths: NDArray[np.int64], kernels: Sequence[tuple[str, int]]) -> tuple[KernelUse, ...]:
    """The targets that each kernel scores. lengths: ascending; kernels: name and number of targets, shortest first.

    >>> kernel_uses(np.array([3, 5, 9]), [("group", 2), ("striped", 1)])[1]
    KernelUse(kernel='striped', n_targets=1, n_residues=9, shortest=9, longest=9)
    """
    uses, begin = [], 0
    for name, n_targets in kernels:
        own = lengths[begin : begin + n_targets]
        begin += n_targets
        if len(own):
            uses.append(KernelUse(name, len(own), int(own.sum()), int(own[0]), int(own[-1])))
    return tuple(uses)
