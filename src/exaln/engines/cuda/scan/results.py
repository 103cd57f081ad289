"""What a scan is asked for, what it returns for a batch, and where its time went."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.cuda.scan.sizes import Sizes


@dataclass(frozen=True)
class ScanOptions:
    """What a scan returns. cutoff: int32[n_queries, N_BINS], the least scores, or None for all scores.

    progress: whether computed cells are reported.
    """

    cutoff: NDArray[np.int32] | None = None
    progress: bool = False


@dataclass(frozen=True)
class CandidateRows:
    """Candidates of a batch. rows: int32[n, 3] of query in the group, row in the batch, score."""

    rows: NDArray[np.int32]


@dataclass(frozen=True)
class ScoreRows:
    """All scores of some queries of the group, from `first_query` on: int32[queries, rows of the batch]."""

    first_query: int
    scores: NDArray[np.int32]


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch for a group of queries.

    first_row: of the segment in the view. lengths: of the rows of the batch.
    """

    first_query: int
    first_row: int
    rows: BatchRows
    lengths: Sizes
    result: CandidateRows | ScoreRows

    def view_rows(self, places: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return int64[n]: rows of the view, from rows of the batch."""
        return self.first_row + self.rows.segment_rows(places)


@dataclass
class ScanTimes:
    """Where the time of a scan went, in seconds; bytes that were sent to devices, and cells that were computed.

    pack, scan and collect are device times; compile and upload are thread times. long_length: targets above this length
    were scored one by one; in small batches the limit may be less. raw_cells: with padding. kernels: shapes of strips.
    """

    compile: float = 0.0
    upload: float = 0.0
    pack: float = 0.0
    scan: float = 0.0
    collect: float = 0.0
    bytes_sent: int = 0
    cells: int = 0
    rescored: int = 0
    n_long: int = 0
    long_length: int = 0
    raw_cells: int = 0
    kernels: tuple[str, ...] = ()

    def add(self, other: ScanTimes) -> None:
        """Add the times of another thread."""
        for name in (one.name for one in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.kernels = tuple(sorted(set(self.kernels)))
