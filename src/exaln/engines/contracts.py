"""What an engine does, as three protocols: scans of a database, pairs, and regions of one long pair.

Narrow number types, packing, streams and repetitions stay inside the engine. Every score that leaves it is the optimum,
and neither batches nor threads nor devices change a result. The reference engine defines what each task means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.database.views import target_ordinals
from exaln.engines.tasks import Candidates, PairTask, Resident, ScanTask, ScoreBlock, SeveralTask
from exaln.errors import OutOfMemoryError
from exaln.foundation.resources import available_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
    from exaln.database.views import TargetView
    from exaln.engines.outline import ScanOutline
    from exaln.engines.regions import PairTable, RegionResult, RegionTask, Traceback


class ScanEngine(Protocol):
    """Exact local scores of queries against all targets of a database."""

    def open(self, view: TargetView, budget: int | None = None) -> Resident:
        """Hold a view ready for scans, in at most `budget` bytes of the engine's own memory."""
        ...

    def scan(self, task: ScanTask) -> Iterator[Candidates]:
        """Yield the candidates of all queries, in pieces, in any order."""
        ...

    def score_blocks(self, task: ScanTask) -> Iterator[ScoreBlock]:
        """Yield all scores, in blocks of bounded size. The cutoff and the first rows of the task are ignored."""
        ...

    def outline(self, task: ScanTask) -> ScanOutline:
        """What a scan would do. Nothing is scored, and no device memory is used."""
        ...


class PairEngine(Protocol):
    """Scores and alignments of many pairs, side by side."""

    def align(self, task: PairTask) -> AlignedPairs:
        """Score and alignment of each pair, by the path rule.

        Where nothing aligns, the path is empty and its position follows from the rule: 0 in local mode. Raises
        EngineError if an alignment does not have the score that the task knows.
        """
        ...

    def align_several(self, task: SeveralTask) -> SeveralAligned:
        """Several alignments of each pair, pair by pair, in the order found; none where no score is high enough."""
        ...

    def score(self, task: PairTask) -> NDArray[np.int64]:
        """int64[n]: the exact score of each pair; it can be negative where ends are not free."""
        ...

    def score_ends(self, task: PairTask, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The best local score of an alignment that ends in each block of `columns` columns, a multiple of 64.

        Returns int64[blocks] for all pairs, and int64[n + 1], the offsets of each.
        """
        ...

    def is_long(self, task: PairTask) -> NDArray[np.bool_]:
        """bool[n]: whether each pair is faster on its own, region by region, than in a batch."""
        ...


class RegionEngine(Protocol):
    """Regions of the table of one long pair, from which `pairwise.long` builds alignments of any length."""

    checkpoint_bytes: int
    """Upper limit in bytes for the checkpoints of a block on the path."""

    def fill(self, task: RegionTask) -> RegionResult:
        """Compute all cells of a region and keep its checkpoints.

        Of the mode only `is_local` matters: whether H is at least 0. After an exception, also a KeyboardInterrupt,
        nothing is left running.
        """
        ...

    def traceback(self, pair: PairTable) -> Traceback:
        """A function that follows a path back through blocks between checkpoints."""
        ...

    def lower_bound(self, pair: PairTable) -> int:
        """A score that some local alignment of the pair reaches, or 0 if none is found quickly."""
        ...

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Rows to fill between two saves to a work directory: about ten seconds of work."""
        ...


@dataclass(frozen=True)
class Tuning:
    """How an engine is used best. scan_pairs: pairs of queries and targets per scan. serves_few_pairs: whether "auto"
    may choose the engine for little work. scans_beside_cpu: whether a scan leaves the CPU free for alignments.
    pair_batches: batches of `pairwise.routing` that the engine takes at a time, because it cuts them further itself.
    windows: parts of a long target that each of its `workers` scores side by side. scores_blocks_of_targets: whether it
    knows `ScanTask.block_columns`.
    """

    scan_pairs: int = 32 << 20
    serves_few_pairs: bool = True
    scans_beside_cpu: bool = False
    pair_batches: int = 1
    windows: int = 64
    workers: int = 1
    scores_blocks_of_targets: bool = True


class Engine(ScanEngine, PairEngine, RegionEngine, Protocol):
    """An engine for one kind of hardware, with all three contracts."""

    name: str
    tuning: Tuning

    @staticmethod
    def unavailable_reason() -> str | None:
        """Why the engine cannot be used here, in one line; None if it can."""
        ...

    @staticmethod
    def is_expected() -> bool:
        """Whether this machine has the hardware. If so, and the engine cannot be used, "auto" warns."""
        return True

    def describe(self) -> str:
        """The engine and its resources, for logs: "cpu, avx2, 8 threads"."""
        ...

    def notes(self) -> list[str]:
        """Advice about the last scan for everybody, as lines."""
        return []

    def scan_report(self) -> list[str]:
        """Details of the last scan, as lines for --verbose."""
        return []


def score_matrix(engine: ScanEngine, task: ScanTask) -> NDArray[np.int32]:
    """int32[n_queries, n_targets]: all scores, with the targets of a stored view in the order of the input.

    Raises OutOfMemoryError if they do not fit into memory.
    """
    n_queries, n_targets = len(task.queries), task.view.n_targets
    _require_memory(n_queries, n_targets)
    scores = np.zeros((n_queries, n_targets), np.int32)
    for block in engine.score_blocks(task):
        ordinals = target_ordinals(task.view, block.rows)
        scores[block.first_query : block.first_query + len(block.scores), ordinals] = block.scores
    return scores


def _require_memory(n_queries: int, n_targets: int) -> None:
    needed, free = 4 * n_queries * n_targets, available_memory()
    if needed > free:
        size, limit = f"{needed / 2**30:,.1f} GiB", f"{free / 2**30:,.1f} GiB"
        raise OutOfMemoryError(
            f"{n_queries:,} x {n_targets:,} scores need {size} and {limit} are free; pass fewer queries at a time"
        )


LENGTH_RATIO, SHORT_LENGTH = 32, 4096
"""A sequence shorter than SHORT_LENGTH and one at least LENGTH_RATIO times as long are not a long pair: the target is
cut into windows, which are aligned as a batch.
"""


def exceeds(task: PairTask, thresholds: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    """bool[n]: whether each pair has more cells than the threshold and is not cut into windows.

    thresholds: (max pairs, cells), ascending; the first that allows the number of pairs applies, and none beyond the
    last.
    """
    rows, columns = task.shapes
    limit = next((cells for most_pairs, cells in thresholds if len(task) <= most_pairs), None)
    if limit is None or task.bounds.most_rows * task.bounds.most_columns <= limit:
        return np.zeros(len(task), np.bool_)
    shorter, longer = np.minimum(rows, columns), np.maximum(rows, columns)
    is_windowed = (shorter < SHORT_LENGTH) & (longer >= LENGTH_RATIO * shorter)
    return np.asarray((rows * columns > limit) & ~is_windowed, np.bool_)
