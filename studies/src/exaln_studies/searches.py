"""A query against sorted targets on a device, by the kernels that Hains et al. compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.database import Database
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
"""What a letter scores that is not there."""

GROUP_THREADS = 256
ORIGINAL_THREADS = 256
MOST_BLOCKS = 4096
"""Targets of one launch of a block each: bounds the memory of boundaries and wavefronts."""

VERSIONS = ("pointer swap", "register swap", "unrolled", "profile")
BOUNDARIES = ("by one thread", "coalesced", "shared memory")


def scoring() -> Scoring:
    """The paper does not state its scoring: BLOSUM62, and 10/2 in its meaning, exaln 8/2."""
    return Scoring("BLOSUM62", gap_open=8, gap_extend=2)


@dataclass(frozen=True)
class Shape:
    """The improved kernel: constants of kernels/intra_improved.cu."""

    threads: int = 256
    height: int = 4
    width: int = 1
    version: int = 3
    boundary: int = 0
    one_fill: int = 0
    bypass: int = 0

    @property
    def strip(self) -> int:
        """Rows that are computed in one pass."""
        return self.threads * self.height


@dataclass(frozen=True)
class TargetList:
    """Targets sorted by length, as the kernels see them. codes: joined, each from a multiple of 4 on, padded."""

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    records: Records

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def database(self) -> Database:
        """The same targets for an engine, which keeps them on its device from one query to the next."""
        return Database.in_memory([self.records])

    def first_over(self, threshold: int) -> int:
        """The first target that is longer."""
        return int(np.searchsorted(self.lengths, threshold, side="right"))


def sorted_targets(records: Records) -> TargetList:
    """Shortest first."""
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
    """A query on a device, padded to whole strips of so many rows."""

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
        """As the kernels have them."""
        return [*(held.address for held in self._held), *self._rest]


class GpuSearch:
    """Targets on a device, and scores of a query with them."""

    def __init__(self, lab: Lab, targets: TargetList, query: NDArray[np.uint8], costs: Scoring | None = None) -> None:
        self.lab, self.targets, self.query, self.costs = lab, targets, query, costs or scoring()
        self._held = [lab.put(array) for array in (targets.codes, targets.starts, targets.lengths)]
        self._scores = lab.room(4 * max(len(targets), 1))
        self._room: Memory | None = None

    @property
    def arguments(self) -> list[int]:
        """Of the targets, as the kernels have them."""
        return [held.address for held in self._held]

    @cached_property
    def group_size(self) -> int:
        """The paper's s: as many threads as the device holds of the inter-task kernel."""
        kernel = self.lab.kernel("inter_task.cu", "inter_task")
        return self.lab.device.properties.n_sms * self.lab.device.blocks_per_sm(kernel, GROUP_THREADS) * GROUP_THREADS

    def groups(self, end: int) -> list[tuple[int, int]]:
        """Targets 0 .. end - 1 in groups of s, the longest in full groups."""
        size = self.group_size
        firsts = list(range(end % size, end, size))
        return (
            [(first, size) for first in firsts] if end % size == 0 else [(0, end % size), *((f, size) for f in firsts)]
        )

    def inter(self, end: int) -> Callable[[], None]:
        """Launches for the targets before `end`, one per group; they can be repeated."""
        launches = self.group_launches(end)

        def launch() -> None:
            for _, _, one in launches:
                one()

        return launch

    def group_launches(self, end: int) -> list[tuple[int, int, Callable[[], None]]]:
        """The first target, the number of targets, and the launch of each group."""
        kernel = self.lab.kernel("inter_task.cu", "inter_task")
        query = self._query(8)
        groups = self.groups(end)
        longest = max((int(self.targets.lengths[first + n - 1]) for first, n in groups), default=0)
        stride = min(self.group_size, max(end, 1))
        room = self._room_for(8 * stride * (longest + 4))

        def launch(first: int, n: int) -> None:
            tail = [first, n, room.address, stride, self._scores.address]
            self.lab.launch(kernel, -(-n // GROUP_THREADS), GROUP_THREADS, *self.arguments, *query.arguments, *tail)

        return [(first, n, partial(launch, first, n)) for first, n in groups]

    def original(self, first: int, *, bypass: bool = False) -> Callable[[], None]:
        """Launches of the original intra-task kernel for the targets from `first` on."""
        constants = {"threads": ORIGINAL_THREADS, "bypass": int(bypass)}
        kernel = self.lab.kernel("intra_original.cu", "intra_original", **constants)
        query = self._query(1)
        n_blocks = min(MOST_BLOCKS, max(len(self.targets) - first, 1))
        room = self._room_for(4 * 7 * (query.rows + 1) * n_blocks)
        return self._block_each(kernel, ORIGINAL_THREADS, first, query, room)

    def improved(self, first: int, shape: Shape) -> Callable[[], None]:
        """Launches of the improved intra-task kernel for the targets from `first` on."""
        longest = int(self.targets.lengths[-1]) + 4
        shared = 8 * longest if shape.boundary == 2 else 0
        kernel = self.lab.kernel("intra_improved.cu", "intra_improved", shared, **asdict(shape))
        query = self._query(shape.strip)
        n_blocks = min(MOST_BLOCKS, max(len(self.targets) - first, 1))
        room = self._room_for(8 * longest * n_blocks)
        return self._block_each(kernel, shape.threads, first, query, room, longest)

    def scores(self) -> NDArray[np.int32]:
        """What the launches gave, by target."""
        return self.lab.get(self._scores, np.int32, len(self.targets))

    def forget(self) -> None:
        """So that no launch can pass for another one's scores."""
        self.lab.device.fill(self._scores.address, 0xFFFFFFFF, len(self.targets), self.lab.stream)

    def check(
        self, bench: Bench, what: str, launches: Sequence[Callable[[], None]], expected: NDArray[np.int32]
    ) -> None:
        """Run launches that score all targets, or those from a place on, and compare; -1 is expected for the others."""
        self.forget()
        for launch in launches:
            launch()
        bench.check(what, self.scores(), expected)

    def _block_each(
        self, kernel: Kernel, threads: int, first: int, query: GpuQuery, room: Memory, *tail: int
    ) -> Callable[[], None]:
        """The launches hold their room, which another kernel's may have outgrown by the time they run."""
        end = len(self.targets)

        def launch() -> None:
            for begin in range(first, end, MOST_BLOCKS):
                arguments = [*self.arguments, *query.arguments, begin, room.address, *tail, self._scores.address]
                self.lab.launch(kernel, min(MOST_BLOCKS, end - begin), threads, *arguments)

        return launch

    def _query(self, strip: int) -> GpuQuery:
        return GpuQuery(self.lab, self.query, strip, self.costs)

    def _room_for(self, n_bytes: int) -> Memory:
        """Boundaries and wavefronts of one kernel at a time; the memory grows, and is used again."""
        if self._room is None or self._room.n_bytes < n_bytes:
            self.lab.device.synchronize()
            self._room = None
            self._room = self.lab.device.allocate(n_bytes)
        return self._room


class CopiedSearch:
    """The same search with the letters of its targets sent first: all at once, or group by group beside the kernels."""

    def __init__(self, search: GpuSearch) -> None:
        self.search, self.device = search, search.lab.device
        codes = search.targets.codes
        self._pinned = self.device.pinned(len(codes))
        self._pinned.array[: len(codes)] = codes
        self._copies = self.device.stream()
        self._address = search.arguments[0]

    def forget(self) -> None:
        """Overwrite the letters on the device."""
        self.device.fill(self._address, 0, len(self.search.targets.codes) // 4, self.search.lab.stream)
        self.device.synchronize()

    def copy_all(self) -> None:
        """In the stream of the kernels, before them."""
        self._copy(0, len(self.search.targets.codes), self.search.lab.stream)

    def overlapped(self, end: int, intra: Callable[[], object]) -> Callable[[], None]:
        """Groups of the targets before `end`, each scored when its letters are there; then the long targets."""
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
    """All scores, by an engine of exaln."""
    placement = engine.place(targets.database)
    scores: NDArray[np.int32] = engine.scores(Records.of(PROTEIN, [query]), placement, costs or scoring())[0]
    return scores
