"""Scores of a query with sorted targets on a device, by the kernels that Hains et al. compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.database import Database
from exaln.engines.contracts import score_matrix
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records, offsets_of
from exaln_studies.gpu import Lab
from exaln_studies.study import Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.cuda.runtime.device import Kernel, Memory

PAD = -64
"""Score of the padding letter: low enough never to matter."""

GROUP_THREADS = 256
ORIGINAL_THREADS = 256
MAX_BLOCKS = 4096
"""Targets per launch with one block each; bounds the memory of boundary rows and wavefronts."""

VERSIONS = ("pointer swap", "register swap", "unrolled", "profile")
BOUNDARIES = ("by one thread", "coalesced", "shared memory")


def scoring() -> Scoring:
    """The paper does not state its scoring. Here BLOSUM62 with gaps of 10, then 2 per residue (exaln: 8/2)."""
    return Scoring("BLOSUM62", gap_open=8, gap_extend=2)


@dataclass(frozen=True)
class Shape:
    """Constants of the improved kernel, kernels/intra_improved.cu."""

    threads: int = 256
    height: int = 4
    width: int = 1
    version: int = 3
    boundary: int = 0
    one_fill: int = 0
    bypass: int = 0

    @property
    def strip(self) -> int:
        """Rows of a strip."""
        return self.threads * self.height


@dataclass(frozen=True)
class TargetList:
    """Targets sorted by length, in the layout of the kernels.

    codes: all targets joined, each padded and starting at a multiple of 4.
    """

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    records: Records

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def database(self) -> Database:
        """The same targets as a database, which an engine keeps on its device between queries."""
        return Database.in_memory([self.records])

    def first_over(self, threshold: int) -> int:
        """Index of the first target that is longer than the threshold."""
        return int(np.searchsorted(self.lengths, threshold, side="right"))


def sorted_targets(records: Records) -> TargetList:
    """Sort targets by length, shortest first, and pad them."""
    order = np.argsort(records.lengths, kind="stable")
    lengths = records.lengths[order]
    padded = np.maximum(-(-lengths // 4) * 4, 4)
    fill = np.full(4, len(PROTEIN.letters), np.uint8)
    pieces: list[NDArray[np.uint8]] = []
    for row, missing in zip(order.tolist(), (padded - lengths).tolist(), strict=True):
        pieces += records.sequence(row), fill[:missing]
    ordered = Records.of(PROTEIN, pieces[::2])
    return TargetList(np.concatenate(pieces), offsets_of(padded)[:-1], lengths.astype(np.int32), ordered)


class GpuQuery:
    """A query on a device, padded to whole strips of `strip` rows."""

    def __init__(self, lab: Lab, query: NDArray[np.uint8], strip: int, costs: Scoring) -> None:
        n = len(PROTEIN.letters)
        self.rows = max(-(-len(query) // strip) * strip, strip)
        matrix = np.full((n + 1, n + 1), PAD, np.int32)
        matrix[:n, :n] = costs.matrix
        padded = np.full(self.rows, n, np.uint8)
        padded[: len(query)] = query
        profile = np.ascontiguousarray(matrix[:, padded].astype(np.int8))
        self._held = [lab.put(array) for array in (padded, matrix, profile)]
        self._rest = [n + 1, self.rows, costs.gap_first, costs.gap_extend]

    @property
    def arguments(self) -> list[int]:
        """The query's arguments of every kernel."""
        return [*(held.address for held in self._held), *self._rest]


class GpuSearch:
    """Targets on a device, and the launches that score a query with them."""

    def __init__(self, lab: Lab, targets: TargetList, query: NDArray[np.uint8], costs: Scoring | None = None) -> None:
        self.lab, self.targets, self.query, self.costs = lab, targets, query, costs or scoring()
        self._held = [lab.put(array) for array in (targets.codes, targets.starts, targets.lengths)]
        self._scores = lab.zeros(4 * max(len(targets), 1))
        self._memory: Memory | None = None

    @property
    def arguments(self) -> list[int]:
        """The targets' arguments of every kernel."""
        return [held.address for held in self._held]

    @cached_property
    def group_size(self) -> int:
        """The paper's s: number of threads of the inter-task kernel that the device can hold."""
        kernel = self.lab.kernel("inter_task.cu", "inter_task")
        return self.lab.device.properties.n_sms * self.lab.device.blocks_per_sm(kernel, GROUP_THREADS) * GROUP_THREADS

    def groups(self, end: int) -> list[tuple[int, int]]:
        """Groups of s targets among 0 .. end - 1, as (first, number); the longest targets are in full groups."""
        size = self.group_size
        firsts = list(range(end % size, end, size))
        return (
            [(first, size) for first in firsts] if end % size == 0 else [(0, end % size), *((f, size) for f in firsts)]
        )

    def inter(self, end: int) -> Callable[[], None]:
        """Launches of the inter-task kernel for the targets before `end`, one per group; they can be repeated."""
        launches = self.group_launches(end)

        def launch() -> None:
            for _, _, one in launches:
                one()

        return launch

    def group_launches(self, end: int) -> list[tuple[int, int, Callable[[], None]]]:
        """First target, number of targets, and launch of each group."""
        kernel = self.lab.kernel("inter_task.cu", "inter_task")
        query = self._query(8)
        groups = self.groups(end)
        longest = max((int(self.targets.lengths[first + n - 1]) for first, n in groups), default=0)
        stride = min(self.group_size, max(end, 1))
        scratch = self._scratch(8 * stride * (longest + 4))

        def launch(first: int, n: int) -> None:
            tail = [first, n, scratch.address, stride, self._scores.address]
            self.lab.launch(kernel, -(-n // GROUP_THREADS), GROUP_THREADS, *self.arguments, *query.arguments, *tail)

        return [(first, n, partial(launch, first, n)) for first, n in groups]

    def original(self, first: int, *, bypass: bool = False) -> Callable[[], None]:
        """Launches of the original intra-task kernel for the targets from `first`."""
        constants = {"threads": ORIGINAL_THREADS, "bypass": int(bypass)}
        kernel = self.lab.kernel("intra_original.cu", "intra_original", **constants)
        query = self._query(1)
        n_blocks = min(MAX_BLOCKS, max(len(self.targets) - first, 1))
        scratch = self._scratch(4 * 7 * (query.rows + 1) * n_blocks)
        return self._block_each(kernel, ORIGINAL_THREADS, first, query, scratch)

    def improved(self, first: int, shape: Shape) -> Callable[[], None]:
        """Launches of the improved intra-task kernel for the targets from `first`."""
        longest = int(self.targets.lengths[-1]) + 4
        shared = 8 * longest if shape.boundary == 2 else 0
        kernel = self.lab.kernel("intra_improved.cu", "intra_improved", shared, **asdict(shape))
        query = self._query(shape.strip)
        n_blocks = min(MAX_BLOCKS, max(len(self.targets) - first, 1))
        scratch = self._scratch(8 * longest * n_blocks)
        return self._block_each(kernel, shape.threads, first, query, scratch, longest)

    def scores(self) -> NDArray[np.int32]:
        """Scores that the launches computed, by target."""
        return self.lab.get(self._scores, np.int32, len(self.targets))

    def invalidate(self) -> None:
        """Overwrite the scores, so that a launch cannot pass with those of another."""
        self.lab.device.fill(self._scores.address, 0xFFFFFFFF, len(self.targets), self.lab.stream)

    def check(
        self, bench: Bench, what: str, launches: Sequence[Callable[[], None]], expected: NDArray[np.int32]
    ) -> None:
        """Run launches and compare their scores; -1 is expected for targets that they do not score."""
        self.invalidate()
        for launch in launches:
            launch()
        bench.check(what, self.scores(), expected)

    def _block_each(
        self, kernel: Kernel, threads: int, first: int, query: GpuQuery, scratch: Memory, *tail: int
    ) -> Callable[[], None]:
        """Launches with one block per target. They keep a reference to their memory, which later ones may replace."""
        end = len(self.targets)

        def launch() -> None:
            for begin in range(first, end, MAX_BLOCKS):
                arguments = [*self.arguments, *query.arguments, begin, scratch.address, *tail, self._scores.address]
                self.lab.launch(kernel, min(MAX_BLOCKS, end - begin), threads, *arguments)

        return launch

    def _query(self, strip: int) -> GpuQuery:
        return GpuQuery(self.lab, self.query, strip, self.costs)

    def _scratch(self, n_bytes: int) -> Memory:
        """Memory for boundary rows and wavefronts of one kernel at a time; it grows and is reused."""
        if self._memory is None or self._memory.n_bytes < n_bytes:
            self.lab.device.synchronize()
            self._memory = None
            self._memory = self.lab.device.allocate(n_bytes)
        return self._memory


class CopiedSearch:
    """A search that first copies the letters of its targets: all at once, or group by group during the kernels."""

    def __init__(self, search: GpuSearch) -> None:
        self.search, self.device = search, search.lab.device
        codes = search.targets.codes
        self._pinned = self.device.pinned(len(codes))
        self._pinned.array[: len(codes)] = codes
        self._copies = self.device.stream()
        self._address = search.arguments[0]

    def invalidate(self) -> None:
        """Overwrite the letters on the device."""
        self.device.fill(self._address, 0, len(self.search.targets.codes) // 4, self.search.lab.stream)
        self.device.synchronize()

    def copy_all(self) -> None:
        """Copy all letters in the stream of the kernels."""
        self._copy(0, len(self.search.targets.codes), self.search.lab.stream)

    def overlapped(self, end: int, intra: Callable[[], object]) -> Callable[[], None]:
        """A launch that scores each group before `end` once its letters have arrived, and then the long targets."""
        groups = self.search.group_launches(end)
        starts = np.append(self.search.targets.starts, len(self.search.targets.codes)).tolist()
        arrivals = [self.device.event() for _ in range(len(groups) + 1)]

        def launch() -> None:
            stream = self.search.lab.stream
            begun = self.device.record(self.device.event(), stream)
            self.device.let_wait(self._copies, begun)
            for (first, n, compute), arrived in zip(
                [*groups, (end, len(starts) - 1 - end, intra)], arrivals, strict=True
            ):
                self._copy(starts[first], starts[first + n], self._copies)
                self.device.let_wait(stream, self.device.record(arrived, self._copies))
                compute()

        return launch

    def _copy(self, begin: int, end: int, stream: Any) -> None:
        self.device.upload(self._address + begin, self._pinned.array[begin:end], stream)


def expected_scores(
    engine: Engine, query: NDArray[np.uint8], targets: TargetList, costs: Scoring | None = None
) -> NDArray[np.int32]:
    """Scores of all targets, int32[n_targets], computed by an engine of exaln."""
    queries = QueryRows.of_sequences(Records.of(PROTEIN, [query]), costs or scoring())
    scores: NDArray[np.int32] = score_matrix(engine, ScanTask(queries, engine.open(targets.database)))[0]
    return scores
